"""What commands about people's answers share: options, and how results are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from roadworthy.cli._console import console, parse_options, tracked
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.reliability.human import Bins, HumanData, Threshold, UnchangedAccuracy

T = TypeVar("T")


SYMBOLS = {"correctness": "t_c", "prediction": "t_p"}

_ANSWERS = typer.Argument(
    metavar="PATH",
    help="A CSV file of binned or single answers, a folder of binned ones, or an experiment's folder.",
)
Answers = Annotated[Path, _ANSWERS]
MaybeAnswers = Annotated[Path | None, _ANSWERS]
RuleName = Annotated[
    str,
    typer.Option(
        "--rule",
        metavar="NAME",
        help="How a threshold is read off: imagenet or cifar10 (as published), released, text, or careful.",
    ),
]
OnOriginals = Annotated[
    float | None,
    typer.Option(
        "--originals",
        metavar="SHARE",
        help="The share of right answers on images without a change; from the data if left out.",
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--transform", "-t", metavar="NAME", help="Only this transformation; repeatable."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME=COLUMN",
        help="What a column of single answers is called in the file, such as answer=human_label; repeatable.",
    ),
]
AnswersFrom = Annotated[
    list[Path] | None,
    typer.Option(
        "--answers",
        metavar="FILE",
        help="Answers to an experiment, if they are not in its answers.csv; repeatable.",
    ),
]
Width = Annotated[
    float | None,
    typer.Option(
        metavar="Δv",
        help="Width of the intervals for single answers; wider ones need fewer answers. 0.01 if left out.",
    ),
]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw them, as .png or .svg.")]


def opened_answers(
    path: Path,
    columns: Sequence[str] | None,
    files: Sequence[Path] | None,
    only: Sequence[str] | None,
    width: float | None,
) -> HumanData:
    """Read the answers that a command is about."""
    from roadworthy.studies import read_human_answers

    named = {
        name: str(column)
        for name, column in parse_options(columns or (), "--column answer=human_label").items()
    }
    return read_human_answers(path, columns=named, answers=tuple(files or ()), width=width).only(only or ())


def given_originals(share: float | None) -> UnchangedAccuracy | None:
    """Return how people do on originals, as written on the command line."""
    from roadworthy.reliability.human import UnchangedAccuracy

    return None if share is None else UnchangedAccuracy(share, None, "--originals")


def threshold_document(one: Threshold) -> dict[str, object]:
    """Return a threshold with all that it rests on, for scripts."""
    return {
        "transformation": one.bins.transformation,
        "requirement": one.bins.requirement,
        "symbol": SYMBOLS[one.bins.requirement],
        "threshold": one.value,
        "found": one.found,
        "published": one.bins.published,
        "spread": one.spread,
        "interval": one.interval,
        "confidence": one.confidence if one.spread else None,
        "stable": one.stable,
        "baseline": one.baseline,
        "dispersion": one.dispersion,
        "degrees_of_freedom": float(one.fit.degrees[0]),
        "intervals": len(one.bins),
        "answers": int(one.bins.counts.sum()),
        "source": one.bins.source,
    }


def each_of(data: HumanData, what: str, find: Callable[[Bins], T]) -> tuple[list[T], HumanData]:
    """Find something for each transformation, and note why it cannot be found for some.

    Raises:
        InputError: It can be found for none.
    """
    found: list[T] = []
    troubles: list[InputError] = []
    for one in tracked(data.bins, what):
        try:
            found.append(find(one))
        except InputError as error:
            if len(data.bins) == 1:
                raise
            symbol = SYMBOLS[one.requirement]
            troubles.append(InputError(f"{one.transformation}, {symbol}: {error}"))
    if troubles and not found:
        raise troubles[0]
    return found, replace(data, without=(*data.without, *map(str, troubles)))


def print_left_out(data: HumanData) -> None:
    """Say what was not counted."""
    shell = console()
    if data.collected is not None:
        found = data.collected
        shell.print(f"{len(found.answers)} answers of {found.raters} people; {found.missing} missing or late")
        for rater, reason in found.left_out.items():
            shell.print(f"left out: {rater}, {reason}", markup=False, soft_wrap=True)
    for line in data.without:
        shell.print(f"not counted: {line}", markup=False, soft_wrap=True)
