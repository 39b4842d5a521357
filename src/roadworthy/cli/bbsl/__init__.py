"""``roadworthy bbsl``: a file for each command."""

from __future__ import annotations

from roadworthy.cli.bbsl import check, cover, draw, fmt, trying
from roadworthy.cli.bbsl._group import app

__all__ = ["app", "check", "cover", "draw", "fmt", "trying"]
