"""``roadworthy reliability``."""

from __future__ import annotations

from roadworthy.cli.reliability import check, people, plan, rank
from roadworthy.cli.reliability._group import app

__all__ = ["app", "check", "people", "plan", "rank"]
