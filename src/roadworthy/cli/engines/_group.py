"""The group of commands about image engines, and what several of them take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Group

if TYPE_CHECKING:
    from roadworthy.transforms.learned import LearnedEngine


HELP = "Look at image engines, use and compare learned ones, train and import your own."

app = typer.Typer(cls=Group, no_args_is_help=True, help=HELP)

FILE = Path("engines.yaml")

Which = Annotated[
    str,
    typer.Argument(
        metavar="ENGINE",
        help="A learned engine: its folder, or the name of one that is shipped; see `engines list`.",
    ),
]
File = Annotated[Path, typer.Option(metavar="FILE", help="The engines file.")]


@app.callback()
def _group() -> None:
    """Look at image engines, use and compare learned ones, train and import your own."""


def opened_engine(which: str, *, device: str = "cpu") -> LearnedEngine:
    """Open a learned engine.

    Raises:
        InputError: There is none, or the device is unknown.
    """
    from roadworthy.errors import InputError
    from roadworthy.transforms.learned import LearnedEngine

    if device not in ("cpu", "cuda"):
        raise InputError(f"--device must be cpu or cuda, got {device!r}")
    return LearnedEngine.open(which, device=device)  # type: ignore[arg-type]  # mypy does not narrow by `in`
