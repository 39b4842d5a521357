"""``roadworthy driving``: a file for each command."""

from __future__ import annotations

from roadworthy.cli import studies
from roadworthy.cli.driving import drive, metrics, mutate, oracle
from roadworthy.cli.driving._group import app

__all__ = ["app", "drive", "metrics", "mutate", "oracle"]

app.add_typer(studies.clips, name="rate")
