"""``roadworthy rules``: reading and running rules, a file for each command."""

from __future__ import annotations

from roadworthy.cli.rules import parsing, run, study, truth
from roadworthy.cli.rules._group import app

__all__ = ["app", "parsing", "run", "study", "truth"]
