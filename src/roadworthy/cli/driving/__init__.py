"""``roadworthy driving``."""

from __future__ import annotations

from roadworthy.cli.driving import drive, quality, rate
from roadworthy.cli.driving._group import app

__all__ = ["app", "drive", "quality", "rate"]
