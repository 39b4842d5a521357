"""Drives: time-stamped signals and events, whoever recorded them."""

from __future__ import annotations

from roadworthy.driving.drives.drive import EVENTS, FATAL_EVENTS, Drive, derivative

__all__ = ["EVENTS", "FATAL_EVENTS", "Drive", "derivative"]
