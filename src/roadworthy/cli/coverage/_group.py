"""The group of commands about coverage, and what several of them take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from roadworthy.cli._commands import Group
from roadworthy.cli.options import history_of, opened
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.models import SystemUnderTest
    from roadworthy.papers.deeptest.seeds import SeedImages

IDLE_TRAINING = (
    "--training is for multisection, boundary, strong-activation and the surprises: name one of them with "
    "-c, or leave it out"
)
app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Measure what images make a network do, search for changes that break it, and retrain it.",
)


def seed_images(
    reference: str,
    options: list[str] | None,
    systems: Sequence[SystemUnderTest],
    *,
    sample: int,
    part: str | None,
    seed: int,
) -> SeedImages:
    """Open a data set and draw seed images from it.

    Raises:
        InputError: There are no frames, or a number is out of range.
    """
    from roadworthy.papers.deeptest.seeds import SeedImages

    if sample < 0:
        raise InputError(f"--sample must be 0 or more, got {sample}")
    history = max((history_of(one) or 0 for one in systems), default=0)
    # Data that is made is made in the number that is used.
    count = sample if sample and part is None else None
    data = opened(reference, options, count=count, history=history or None)
    return SeedImages.draw(data, sample, part=part, seed=seed, history=history, count=count)
