"""The group of commands about rules, and the options that several of them take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roadworthy.cli._commands import Group

HELP = "Read testing rules in plain English, run them on models, and look at what violates them."

app = typer.Typer(cls=Group, no_args_is_help=True, help=HELP)

Rules = Annotated[
    list[str] | None, typer.Option("--rule", "-r", metavar="SENTENCE", help="A rule; repeatable.")
]
RulesFile = Annotated[
    list[Path] | None, typer.Option("--rules", metavar="FILE", help="A file of rules; repeatable.")
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="A model: a name, kind:path or a model.yaml; repeatable. dave2 if left out.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed makes the same images.")]
Same = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OUTPUT=DELTA",
        help="How far answers that are the same may differ: steering=1.39 (degrees), speed=10%; repeatable.",
    ),
]
Engines = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A YAML file of image engines; or shipped, for the learned ones that come with Roadworthy, on "
        "frames of the built-in world.",
    ),
]
CutOuts = Annotated[
    str,
    typer.Option(
        "--gallery", metavar="FOLDERS", help="Galleries of cut-outs, joined by commas; see `gallery harvest`."
    ),
]
Traffic = Annotated[
    str, typer.Option(metavar="SIDE", help="The side that one drives on, where signs stand: right or left.")
]
