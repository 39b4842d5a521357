"""The group of commands that repeat DeepTest's studies, and the options that several of them take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from roadworthy.cli._commands import Group
from roadworthy.cli.options import Data

__all__ = [
    "Batch",
    "Counting",
    "Data",
    "Models",
    "Out",
    "Part",
    "Sample",
    "Scaling",
    "Seed",
    "Threshold",
    "Transformations",
    "app",
]

HELP = "Repeat DeepTest's studies on your network and data: a table and a figure for each question."

app = typer.Typer(cls=Group, no_args_is_help=True, help=HELP)

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="A network: a name, kind:path or a model.yaml; repeatable. dave2 if left out.",
    ),
]
Part = Annotated[
    str | None,
    typer.Option(
        "--frames",
        metavar="FROM:TO",
        help="Only these frames, by their numbers, such as 3600: to leave out those of the training.",
    ),
]
Sample = Annotated[
    int,
    typer.Option("--sample", "-n", metavar="N", help="How many seed images, drawn at random; 0 for all."),
]
Transformations = Annotated[
    list[str] | None,
    typer.Option(
        "--transform",
        "-t",
        metavar="NAME",
        help="simple, composite, deeptest, a transform, or one with its parameters; repeatable.",
    ),
]
Counting = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="What counts as a neuron: distinct, or deeptest as the public code does."
    ),
]
Threshold = Annotated[float, typer.Option(metavar="NUMBER", help="Above which a neuron is activated.")]
Scaling = Annotated[
    Literal["outputs", "neurons", "none"],
    typer.Option(help="What a neuron's number is scaled by, within its layer, before."),
]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed draws and makes the same images.")]
Batch = Annotated[int, typer.Option(metavar="N", help="Images that a network sees at a time.")]
Out = Annotated[
    Path, typer.Option(metavar="FOLDER", help="Where tables (CSV), figures (PNG) and JSON are written.")
]


@app.callback()
def _group() -> None:
    """Repeat DeepTest's studies on your network and data: a table and a figure for each question."""
