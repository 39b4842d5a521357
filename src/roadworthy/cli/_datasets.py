"""What commands share that use data sets: options, opening them, reading some frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._console import parse_options

if TYPE_CHECKING:
    from roadworthy.cases import Dataset


AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON document.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="KEY=VALUE", help="An option of the data set; repeatable."),
]
Data = Annotated[str, typer.Option("--data", "-d", metavar="DATA", help="The data: a name, or name:path.")]
Sample = Annotated[
    int | None,
    typer.Option("--sample", "-n", metavar="N", help="Frames, spread over the data; all if left out."),
]
FewFrames = Annotated[int, typer.Option("--sample", "-n", metavar="N", help="Frames, spread over the data.")]


def opened(reference: str, given: list[str] | None, **wanted: object) -> Dataset:
    """Open a data set with the options of the command line.

    Args:
        reference: Its name, or name:path.
        given: Options written as key=value; they go before those wanted.
        wanted: What the command would like; left out where it is None or the data set has no such option.
    """
    from roadworthy.datasets import load_fitting

    return load_fitting(reference, options=parse_options(given or []), **wanted)


def counted(shown: int, total: int) -> str:
    """Return how many of the frames are used, in words.

    Example:
        >>> counted(1, 1), counted(9, 4500)
        ('1 frame', '9 of 4500 frames')
    """
    noun = "frame" if total == 1 else "frames"
    return f"{total} {noun}" if shown == total else f"{shown} of {total} {noun}"
