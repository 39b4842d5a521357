"""The group of commands about data, and the argument that all of them take."""

from __future__ import annotations

from typing import Annotated

import typer

from roadworthy.cli._commands import Group

app = typer.Typer(cls=Group, no_args_is_help=True, help="Look at data sets, check them and convert them.")

Reference = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="The data set: its name, or name:path. See `roadworthy list datasets`."
    ),
]


@app.callback()
def _group() -> None:
    """Look at data sets, check them and convert them."""
