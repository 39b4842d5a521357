"""``roadworthy data``: looking at data sets, checking them and converting them, a file for each command."""

from __future__ import annotations

from roadworthy.cli.data import check, export, show
from roadworthy.cli.data._group import app

__all__ = ["app", "check", "export", "show"]
