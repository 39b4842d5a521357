"""The group of commands about models, and what several of them take."""

from __future__ import annotations

from typing import Annotated

import typer

from roadworthy.cli._commands import Group
from roadworthy.cli._datasets import Data

__all__ = ["Data", "ModelOptions", "Reference", "app"]

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
