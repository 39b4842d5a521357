"""Oracles of driving quality: thresholds that a good driver keeps and as many bad ones as possible do not."""

from __future__ import annotations

from roadworthy.driving.oracles.false_alarms import FalseAlarmBound
from roadworthy.driving.oracles.fitting import Direction, Oracle, fit_oracle
from roadworthy.driving.oracles.smtlib import to_smtlib
from roadworthy.driving.oracles.sweeping import OracleTable, sweep_oracles

__all__ = [
    "Direction",
    "FalseAlarmBound",
    "Oracle",
    "OracleTable",
    "fit_oracle",
    "sweep_oracles",
    "to_smtlib",
]
