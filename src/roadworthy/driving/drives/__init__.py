"""Drives: time-stamped signals and events, whoever recorded them."""

from __future__ import annotations

from roadworthy.driving.drives.drive import EVENTS, FATAL_EVENTS, SIGNALS, Drive, derivative

__all__ = ["EVENTS", "FATAL_EVENTS", "SIGNALS", "Drive", "derivative"]
