"""The group of commands about reliability, and the options that several of them take."""

from __future__ import annotations

import typer

from roadworthy.cli._commands import Group

HELP = "Check that a model still sees what a human still sees."

app = typer.Typer(cls=Group, no_args_is_help=True, help=HELP)
