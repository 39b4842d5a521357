"""The group of commands about models, and what several of them take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Group
from roadworthy.cli._console import parse_options
from roadworthy.cli._datasets import Data, opened

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.models import SystemUnderTest

__all__ = ["Data", "ModelOptions", "Reference", "app", "history_of", "opened_for"]

app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Try models, train reference networks, evaluate and export them."
)

Reference = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="The model: kind:path, a model.yaml, or a name. See `roadworthy list models`.",
    ),
]
ModelOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--model-option",
        "-m",
        metavar="KEY=VALUE",
        help="An option of the model, or a key of model.yaml such as input.width; repeatable.",
    ),
]


@app.callback()
def _group() -> None:
    """Try models, train reference networks, evaluate and export them."""


def history_of(system: SystemUnderTest) -> int | None:
    """Return how many earlier frames a system wants; None if it looks at none."""
    from roadworthy.models import history_of as wanted

    return wanted(system) or None


def opened_for(reference: str, given: list[str] | None, history: int | None) -> Dataset:
    """Open a data set for a network that sees so many earlier frames."""
    # Frames of drives have their history before them; single ones must be read with it.
    drives = "sequence" in parse_options(given or [])
    return opened(reference, given, history=None if drives else history)
