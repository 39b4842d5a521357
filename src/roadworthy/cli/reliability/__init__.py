"""``roadworthy reliability``."""

from __future__ import annotations

from roadworthy.cli import studies
from roadworthy.cli.reliability import check, people
from roadworthy.cli.reliability._group import app

__all__ = ["app", "check", "people"]

app.add_typer(studies.glances)
