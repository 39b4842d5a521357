"""The group of commands about BBSL, and the options that several of them take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roadworthy.cli._commands import Group

HELP = "Specify object detection formally, prove specifications sound, and test detectors with them."

app = typer.Typer(cls=Group, no_args_is_help=True, help=HELP)

SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="A file with a specification in BBSL.")]
Bind = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A YAML file that binds external functions; see docs/bbsl.md."),
]
