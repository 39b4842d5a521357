"""``roadworthy rules``: reading and running rules."""

from __future__ import annotations

from roadworthy.cli import studies
from roadworthy.cli.rules import reading, run
from roadworthy.cli.rules._group import app

__all__ = ["app", "reading", "run"]

app.add_typer(studies.pairs)
