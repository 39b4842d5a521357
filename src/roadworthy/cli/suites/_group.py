"""The group of commands about the files of suites."""

from __future__ import annotations

import typer

from roadworthy.cli._commands import Group

HELP = "Check the files of suites, and get the JSON Schema for your editor. `roadworthy run` runs them."

app = typer.Typer(cls=Group, no_args_is_help=True, help=HELP)


@app.callback()
def _group() -> None:
    """Check the files of suites, and get the JSON Schema for your editor. `roadworthy run` runs them."""
