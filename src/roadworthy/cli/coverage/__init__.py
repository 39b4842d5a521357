"""``roadworthy coverage``: a file for each command."""

from __future__ import annotations

from roadworthy.cli.coverage._group import app

__all__ = ["app"]
