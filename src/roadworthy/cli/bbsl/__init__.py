"""``roadworthy bbsl``."""

from __future__ import annotations

from roadworthy.cli.bbsl import specs, trying
from roadworthy.cli.bbsl._group import app

__all__ = ["app", "specs", "trying"]
