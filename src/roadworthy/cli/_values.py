"""Values as people write them on the command line: shares, sizes, numbers of workers."""

from __future__ import annotations

import os
import re
from typing import Annotated

import typer

from roadworthy.errors import InputError

_FEW = 200  # images: making so many takes no longer than starting processes
_MOST_PROCESSES = 8
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", help="Processes that make images; all cores if left out."),
]


def share(name: str, text: str) -> float:
    """Return a share that is written as 10% or 0.1.

    Example:
        >>> share("--allow", "10%"), share("--allow", "0.1")
        (0.1, 0.1)
    """
    from roadworthy.runs.suites.forms import read_share

    try:
        return read_share(text)
    except ValueError:
        raise InputError(f"{name} must be a share such as 10% or 0.1, got {text!r}") from None


def image_size(text: str) -> tuple[int, int]:
    """Return width and height.

    Example:
        >>> image_size("1242x375")
        (1242, 375)
    """
    return two_numbers(text, "a size is written WIDTHxHEIGHT, such as 1242x375")


def two_numbers(text: str, rule: str) -> tuple[int, int]:
    """Return two whole numbers above 0 with an x between them.

    Raises:
        InputError: They are not written so; begins with the rule.
    """
    found = re.fullmatch(r"\s*(\d+)\s*[x×]\s*(\d+)\s*", text)
    if not found or not int(found[1]) or not int(found[2]):
        raise InputError(f"{rule}, got {text!r}")
    return int(found[1]), int(found[2])


def processes_for(asked: int | None, images: int) -> int:
    """Return how many processes make images: one for few of them."""
    if asked is not None:
        if asked < 1:
            raise InputError(f"--workers must be 1 or more, got {asked}")
        return asked
    return 1 if images <= _FEW else min(_MOST_PROCESSES, os.cpu_count() or 1)
