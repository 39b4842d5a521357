"""Drives: time-stamped signals and events, whoever recorded them."""

from __future__ import annotations

from roadworthy.driving.drives.drive import EVENTS, SIGNALS, Drive
from roadworthy.driving.drives.smoothing import derivative

__all__ = ["EVENTS", "SIGNALS", "Drive", "derivative"]
