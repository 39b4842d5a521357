"""What commands share that use data sets: options, opening them, reading some frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._console import parse_options, tracked
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.frames import Frame


AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON document.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="KEY=VALUE", help="An option of the data set; repeatable."),
]
Data = Annotated[
    str, typer.Option("--data", "-d", metavar="DATA", help="The data set: its name, or name:path.")
]
Sample = Annotated[
    int | None,
    typer.Option(
        "--sample", "-n", metavar="N", help="How many frames, spread over the data set; all if left out."
    ),
]
FewFrames = Annotated[
    int, typer.Option("--sample", "-n", metavar="N", help="How many frames, spread over the data set.")
]


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


def spread_frames(dataset: Dataset, count: int) -> tuple[list[Frame], dict[int, str]]:
    """Return some frames, spread over a data set, and why others could not be read, by their index.

    With ``on_error=skip``, the next frame that can be read stands in for one that cannot.

    Raises:
        InputError: There are no frames, a frame cannot be read and the data set skips none, or no frame can
            be read.
    """
    if not len(dataset):
        raise InputError(f"{dataset.name} has no frames to show")
    from roadworthy.datasets import spread

    starts = spread(len(dataset), count)
    ends = [*starts[1:], len(dataset)]
    frames: list[Frame] = []
    bad: dict[int, str] = {}
    for start, end in tracked(list(zip(starts, ends, strict=True)), "Reading frames"):
        for index in range(start, end):
            try:
                frames.append(dataset[index])
                break
            except InputError as error:
                if getattr(dataset, "on_error", "raise") == "raise":
                    raise type(error)(f"{error}{_hint(dataset)}") from error
                bad[index] = str(error)
    if not frames:
        raise InputError(
            f"none of the {len(bad)} frames of {dataset.name} can be read, so there is nothing to draw; "
            f"the first: {bad[0]}"
        )
    return frames, bad


def _hint(dataset: Dataset) -> str:
    from roadworthy.datasets import options_of

    can_skip = any(one.name == "on_error" for one in options_of(type(dataset)))
    return "; -o on_error=skip shows the frames that can be read" if can_skip else ""
