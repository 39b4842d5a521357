"""What commands that train networks share: options, and the folder that a training is written to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from roadworthy.cli._console import console, make_folder

Device = Annotated[str, typer.Option(metavar="DEVICE", help="cpu, cuda:0, …; auto: a GPU if there is one.")]
Precision = Annotated[
    str, typer.Option(metavar="HOW", help="auto: mixed on a GPU; float32: never mixed; bfloat16: always.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the training in the folder.")]
Workers = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="Processes that read; all cores if left out.")
]


def processes(given: int | None) -> int:
    """Return how many processes read: as many as were asked for, or one per core."""
    return (os.cpu_count() or 1) if given is None else given


@contextmanager
def training_folder(path: Path, checkpoint: str, state: str) -> Iterator[Path]:
    """Make the folder of a training, leave no empty one behind, and say how to go on after Ctrl-C.

    Args:
        path: The folder.
        checkpoint: The file in it that a training goes on from.
        state: What is in that file, for people.
    """
    folder = make_folder(path)
    try:
        yield folder
    except KeyboardInterrupt:
        if (folder / checkpoint).is_file():
            hint = f"Stopped. {folder} has {state}: go on with --resume --out {folder}"
            console(stderr=True).print(hint, markup=False, soft_wrap=True)
        raise
    finally:
        with suppress(OSError):  # a folder that holds something stays
            folder.rmdir()
