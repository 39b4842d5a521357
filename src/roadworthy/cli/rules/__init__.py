"""``roadworthy rules``: reading and running rules, a file for each command."""

from __future__ import annotations

from roadworthy.cli import studies
from roadworthy.cli.rules import combining, parsing, run, truth
from roadworthy.cli.rules._group import app

__all__ = ["app", "combining", "parsing", "run", "truth"]

app.add_typer(studies.pairs)
