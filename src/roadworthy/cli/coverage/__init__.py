"""``roadworthy coverage``."""

from __future__ import annotations

from roadworthy.cli.coverage import measuring, search, studies
from roadworthy.cli.coverage._group import app

__all__ = ["app", "measuring", "search", "studies"]

app.add_typer(studies.app, name="study")
