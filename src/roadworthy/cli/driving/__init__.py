"""``roadworthy driving``."""

from __future__ import annotations

from roadworthy.cli import studies
from roadworthy.cli.driving import drive, quality
from roadworthy.cli.driving._group import app

__all__ = ["app", "drive", "quality"]

app.add_typer(studies.clips, name="rate")
