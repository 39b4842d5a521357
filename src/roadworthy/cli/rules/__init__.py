"""``roadworthy rules``: reading and running rules, a file for each command."""

from __future__ import annotations

from roadworthy.cli import studies
from roadworthy.cli.rules import parsing, run, truth
from roadworthy.cli.rules._group import app

__all__ = ["app", "parsing", "run", "truth"]

app.add_typer(studies.pairs)
