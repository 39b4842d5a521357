"""What the commands about data share: the group, its arguments and how a data set is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Group
from roadworthy.cli._console import parse_options

if TYPE_CHECKING:
    from roadworthy.cases import Dataset

__all__ = ["Options", "Reference", "app", "listed", "opened"]

app = typer.Typer(cls=Group, no_args_is_help=True, help="Look at data sets, check them and convert them.")

Reference = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="The data set: its name, or name:path. See `roadworthy list datasets`."
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="KEY=VALUE", help="An option of the data set; repeatable."),
]


@app.callback()
def _group() -> None:
    """Look at data sets, check them and convert them."""


def opened(reference: str, given: list[str] | None, count: int | None = None, **more: object) -> Dataset:
    """Open a data set with the options of the command line.

    Args:
        reference: Its name, or name:path.
        given: Options written as key=value.
        count: How many frames will be used, where that is known.
        more: Options that the command itself adds.
    """
    from roadworthy.datasets import load, options_of
    from roadworthy.registry import datasets

    options = {**parse_options(given or []), **more}
    reader = datasets.get(reference.partition(":")[0])
    # Data that is made is made in the number that is used: its conditions cycle from frame to frame, and
    # every n-th of more frames could show the same ones again and again.
    if count is not None and any(one.name == "count" for one in options_of(reader)):
        options = {"count": count, **options}
    return load(reference, **options)


def listed(values: dict[str, str]) -> str:
    """Return names with their values in one line."""
    return ", ".join(f"{name} {value}" for name, value in values.items())
