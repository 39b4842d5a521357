"""Where a command writes that was not told where: its usual folder, or the next that is free."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer

from roadworthy._files import is_free, numbered
from roadworthy.cli._console import console


def free_folder(usual: Path, *, resume: bool | None = None) -> Path:
    """Return the usual folder of a command, or the next that is free; say so where it is another.

    So a command that is given twice never stops at what it wrote the first time, and never overwrites it.

    Args:
        usual: Where the command writes when it is not told where.
        resume: Whether it goes on with what it wrote the last time; None where it cannot.
    """
    if resume:
        last = _last_written(usual)
        if last != usual:
            _say(f"Going on with {last}, the last one; --out FOLDER names another.")
        return last
    found = next(one for one in numbered(usual) if is_free(one))
    if found != usual:
        otherwise = "" if resume is None else f", --resume goes on with {_last_written(usual)}"
        _say(f"{usual} has something in it: writing to {found}. --out FOLDER names another{otherwise}.")
    return found


def _last_written(usual: Path) -> Path:
    """Return the last folder of a row of numbers that has something in it; the usual one if none has."""
    return [usual, *takewhile(lambda one: not is_free(one), numbered(usual))][-1]


def _say(line: str) -> None:
    # Not among the results: they may be read by a script.
    console(stderr=True).print(line, markup=False, soft_wrap=True)


def next_free(context: typer.Context, parameter: typer.CallbackParam, value: Path) -> Path:
    """Return the folder of an option: as it was given, or the next that is free if it was left out."""
    name = parameter.name
    if context.resilient_parsing or name is None:
        return value
    source = context.get_parameter_source(name)
    # By its name: typer has a copy of click of its own, or uses the other, depending on the version.
    if source is None or source.name != "DEFAULT":
        return value
    known = {one.name for one in context.command.params}
    # What was given is read before what was left out, so it is known here whether --resume was.
    return free_folder(value, resume=bool(context.params.get("resume")) if "resume" in known else None)


Out = Annotated[
    Path,
    typer.Option(
        metavar="FOLDER",
        help="Where everything is written; must be new. The next free one if left out.",
        callback=next_free,
    ),
]
"""The folder that a command writes to: new or empty, and its usual one, or the next, if left out."""
