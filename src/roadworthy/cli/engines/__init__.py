"""``roadworthy engines``: learned image engines and those of users, a file for each command."""

from __future__ import annotations

from roadworthy.cli.engines import comparing, exporting, importing, looking, train, trying, using
from roadworthy.cli.engines._group import app

__all__ = ["app", "comparing", "exporting", "importing", "looking", "train", "trying", "using"]

app.add_typer(train.app, name="train")
