"""Oracles of driving quality: thresholds that a good driver keeps and as many bad ones as possible do not."""

from __future__ import annotations

from roadworthy.driving.oracles.fitting import Direction, Oracle, fit_oracle
from roadworthy.driving.oracles.smtlib import to_smtlib

__all__ = ["Direction", "Oracle", "fit_oracle", "to_smtlib"]
