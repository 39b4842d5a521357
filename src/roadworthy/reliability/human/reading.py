"""Answers of people in whichever form they come: counted, one by one, or collected in an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import get_args

from roadworthy._tables import Table
from roadworthy.errors import InputError, suggest
from roadworthy.reliability.human.answers import (
    WIDTH,
    Bins,
    HumanAnswer,
    bins_of,
    read_answers,
    read_bins,
    transformation_word,
    transformations_of,
)
from roadworthy.visual_change.tolerance import Preserved


@dataclass(frozen=True)
class Collected:
    """What came back from an experiment.

    Attributes:
        answers: The answers that count.
        raters: How many people gave them.
        left_out: Who does not count, and why.
        missing: How many images of batches that were begun have no answer.
    """

    answers: tuple[HumanAnswer, ...]
    raters: int
    left_out: dict[str, str]
    missing: int

    def lines(self) -> list[str]:
        """Return how many answers of how many people there are, then who was left out."""
        answers = f"{len(self.answers)} answers of {self.raters} people; {self.missing} missing or late"
        return [answers, *(f"left out: {rater}, {reason}" for rater, reason in self.left_out.items())]


@dataclass(frozen=True)
class HumanData:
    """Answers of people, counted for every transformation.

    Attributes:
        bins: The counts, of t_c and t_p.
        answers: The single answers, where they are known.
        collected: What was left out of an experiment, where it is one.
        without: What could not be counted, and why.
    """

    bins: tuple[Bins, ...]
    answers: tuple[HumanAnswer, ...] = ()
    collected: Collected | None = None
    without: tuple[str, ...] = ()

    def only(self, transformations: Sequence[str]) -> HumanData:
        """Return the counts of some transformations only; all where none is named.

        Raises:
            InputError: There are no answers about one of them.
        """
        known = {one.transformation for one in self.bins}
        wanted = {transformation_word(one): one for one in transformations}
        for word, written in wanted.items():
            if word not in known:
                raise InputError(f"there are no answers about {written!r}: {suggest(word, known)}")
        kept = tuple(one for one in self.bins if not wanted or one.transformation in wanted)
        return HumanData(kept, self.answers, self.collected, self.without)

    def not_counted(self, troubles: Sequence[str] = ()) -> list[str]:
        """Return what people read about answers that do not count, and other troubles with them."""
        lines = [] if self.collected is None else self.collected.lines()
        return lines + [f"not counted: {line}" for line in (*self.without, *troubles)]


def read_human(
    path: str | PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    collected: Collected | None = None,
    width: float | None = None,
) -> HumanData:
    """Read answers of people.

    Args:
        path: A CSV file of binned or single answers; or a folder of files of binned answers.
        columns: What columns of single answers are called, where they have other names.
        collected: The answers to an experiment, if the path is that of one.
        width: The width of the intervals of visual change, for single answers; 0.01 when left out.

    Raises:
        InputError: There is no such thing; names file and line.
    """
    place = Path(path).expanduser()
    if collected is not None:
        return _counted(collected.answers, str(place), collected, width)
    if place.is_file() and (columns or "answer" in Table.read(place).columns):
        return _counted(read_answers(place, columns), place.name, None, width)
    if width is not None:
        raise InputError("the width of intervals can be chosen for single answers only: these are binned")
    if place.is_dir():
        files = sorted(place.glob("*.csv"))
        if not files:
            raise InputError(f"{place} must hold CSV files of binned answers or an experiment, found neither")
        return HumanData(tuple(read_bins(file) for file in files))
    if not place.is_file():
        raise InputError(f"expected a CSV file of answers or a folder, found nothing at {place}")
    return HumanData((read_bins(place),))


def _counted(
    answers: Sequence[HumanAnswer], source: str, collected: Collected | None, width: float | None
) -> HumanData:
    found, without = [], []
    for name in transformations_of(answers):
        for requirement in get_args(Preserved):
            try:
                found.append(bins_of(answers, name, requirement, source=source, width=width or WIDTH))
            except InputError as error:
                without.append(f"{name}, {requirement}: {error}")
    if not found:
        raise InputError(f"{source}: {without[0] if without else 'no answers about changed images'}")
    return HumanData(tuple(found), tuple(answers), collected, tuple(without))
