"""``roadworthy rules``: reading and running rules."""

from __future__ import annotations

from roadworthy.cli.rules import combining, reading, run, study
from roadworthy.cli.rules._group import app

__all__ = ["app", "combining", "reading", "run", "study"]
