"""Options and arguments that several commands take, each declared once, and what reads their values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roadworthy.errors import InputError

Seed = Annotated[int, typer.Option(metavar="N", help="The seed of all random numbers.")]
Picture = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="The picture; named after its subject if left out."),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]
AllowCommands = Annotated[
    bool, typer.Option("--allow-commands", help="Let image engines run programs and code.")
]

Batch = Annotated[int, typer.Option("--batch", metavar="N", help="Images at a time.")]
Rate = Annotated[float, typer.Option("--lr", metavar="RATE", help="Adam's learning rate.")]
Small = Annotated[bool, typer.Option("--small", help="Small networks: to try it out, or for a small GPU.")]
ValidationShare = Annotated[
    float, typer.Option("--val-share", metavar="SHARE", help="The part of the data for validation.")
]


def check_within(name: str, value: float | None, low: float, high: float | None = None) -> None:
    """Refuse the value of an option that is out of range; None is one that was left out.

    Raises:
        InputError: It is too small or too large.
    """
    if value is None or (value >= low and (high is None or value <= high)):
        return
    span = f"{low} or more" if high is None else f"between {low} and {high}"
    raise InputError(f"{name} must be {span}, got {value}")


def words(text: str | None) -> list[str] | None:
    """Return words that are joined by commas; None where they were left out.

    Example:
        >>> words("car, van")
        ['car', 'van']
    """
    return None if text is None else [word for one in text.split(",") if (word := one.strip())]
