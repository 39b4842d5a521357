"""Oracles of driving quality: thresholds that a good driver keeps and as many bad ones as possible do not."""

from __future__ import annotations

from roadworthy.driving.oracles.false_alarms import FalseAlarmBound
from roadworthy.driving.oracles.fitting import Direction, Oracle, fit_oracle, given_up
from roadworthy.driving.oracles.smtlib import to_smtlib
from roadworthy.driving.oracles.sweeping import OracleRow, OracleTable, sweep_oracles

__all__ = [
    "Direction",
    "FalseAlarmBound",
    "Oracle",
    "OracleRow",
    "OracleTable",
    "fit_oracle",
    "given_up",
    "sweep_oracles",
    "to_smtlib",
]
