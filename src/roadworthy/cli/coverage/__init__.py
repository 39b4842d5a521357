"""``roadworthy coverage``: a file for each command."""

from __future__ import annotations

from roadworthy.cli.coverage import measure, retrain, search, study
from roadworthy.cli.coverage._group import app

__all__ = ["app", "measure", "retrain", "search", "study"]

app.add_typer(study.app, name="study")
