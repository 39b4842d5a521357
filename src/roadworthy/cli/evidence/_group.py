"""The group of commands about evidence, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from roadworthy.cli._commands import Group
from roadworthy.cli._console import console

HELP = (
    "Bundle what a run shows, check that nothing was changed and that it reproduces, hand it to other tools."
)

app = typer.Typer(cls=Group, no_args_is_help=True, help=HELP)

Suite = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The suite where it stands, if it names files beside it; else the copy in the run is read.",
    ),
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]


@app.callback()
def _group() -> None:
    """Bundle what a run shows, check that nothing was changed and that it reproduces, export it."""


@contextmanager
def told() -> Iterator[Callable[[str, int], None]]:
    """Give what says on a terminal how far the work has come; nothing is said in a pipe."""
    err = console(stderr=True)
    if not err.is_terminal:
        yield lambda *_: None
        return
    with err.status("Opening the run") as status:
        yield lambda what, done: status.update(f"{what}: {done:,}")
