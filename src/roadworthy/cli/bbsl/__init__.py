"""``roadworthy bbsl``: a file for each command."""

from __future__ import annotations

from roadworthy.cli.bbsl._group import app

__all__ = ["app"]
