"""The group of commands about bbsl, and the options that several of them take."""

from __future__ import annotations

import typer

from roadworthy.cli._commands import Group

__all__ = ["app"]

HELP = "Specify object detection formally, prove specifications sound, and test detectors with them."

app = typer.Typer(cls=Group, no_args_is_help=True, help=HELP)
