"""Questions to z3: can these conditions be true, and those false, at the same time?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from roadworthy.bbsl import syntax
from roadworthy.bbsl.checking.areas import Areas, ExactAreas, GridAreas, OpaqueAreas, TooManyBoxes
from roadworthy.bbsl.checking.encoding import Encoding
from roadworthy.bbsl.checking.models import Model, nice_model
from roadworthy.bbsl.checking.sampling import guess
from roadworthy.bbsl.checking.small_models import set_functions, sufficient_sizes
from roadworthy.bbsl.checking.symbols import Formula
from roadworthy.bbsl.specification import Case, Spec

__all__ = ["Answer", "Limits", "Wanted", "ask"]

Wanted = Sequence[tuple[str | None, bool]]
"""Labels of cases, or None for the precondition, each with whether it is to hold or not to hold."""

_PICTURE = (1000.0, 300.0)
"""The image in which areas are tried on a grid, where its size is left open."""


@dataclass(frozen=True)
class Limits:
    """How far a question is followed.

    Attributes:
        boxes: The most boxes of a set that are tried where no number is known to be enough for all.
        seconds: The most time for one question.
        image: Width and height of the image; any size when None.
    """

    boxes: int = 3
    seconds: float = 10.0
    image: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """What was found out about a question.

    Attributes:
        possible: True with a model, False when no values do it, None when it is not known.
        model: Values that do it.
        up_to: Of a False: None when it holds for any number of boxes, else for up to so many in each set.
        reason: Why it is not known.
    """

    possible: bool | None
    model: Model | None = None
    up_to: int | None = None
    reason: str = ""


def ask(spec: Spec, wanted: Wanted, limits: Limits) -> Answer:
    """Return whether some boxes make these conditions true and those false."""
    clock = _Clock(limits.seconds)
    names = set_functions(spec)
    sizes = sufficient_sizes(spec, _conditions(spec, wanted))
    up_to = None if sizes is not None else limits.boxes
    if sizes is None:
        sizes = dict.fromkeys(names, limits.boxes)
    linear = _Attempt(spec, sizes, OpaqueAreas(), limits, wanted)
    outcome = linear.check(clock)
    if outcome is False:
        return Answer(False, up_to=up_to)
    if not linear.encoding.areas.used or clock.stopped:
        return linear.answer(outcome, clock)
    if linear.encoding.areas.multiplied:
        # Not even a grid makes this linear.
        model = guess(
            spec,
            list(wanted),
            boxes=limits.boxes,
            image=limits.image or _PICTURE,
            seconds=clock.milliseconds / 1000 / 2,  # the other half is for z3
        )
        return Answer(True, model=model) if model else _exactly(spec, wanted, limits, clock, names)
    found = _on_a_grid(spec, wanted, limits, clock, names)
    return found or _exactly(spec, wanted, limits, clock, names)


def _on_a_grid(
    spec: Spec, wanted: Wanted, limits: Limits, clock: _Clock, names: Sequence[str]
) -> Answer | None:
    # Few boxes first: a picture with one box says more than one with three.
    for boxes in sorted({1, limits.boxes}) if names else [0]:
        picture = limits.image or _PICTURE
        areas = GridAreas(*_lines(spec, picture))
        on_it = replace(limits, image=picture)
        attempt = _Attempt(spec, dict.fromkeys(names, boxes), areas, on_it, wanted)
        if attempt.check(clock):
            return attempt.answer(True, clock)
        if clock.stopped:
            return Answer(None, reason=clock.reason)
    return None


def _exactly(spec: Spec, wanted: Wanted, limits: Limits, clock: _Clock, names: Sequence[str]) -> Answer:
    # As many boxes as can be written out.
    for boxes in range(limits.boxes, 0, -1):
        try:
            attempt = _Attempt(spec, dict.fromkeys(names, boxes), ExactAreas(), limits, wanted)
        except TooManyBoxes:
            continue
        outcome = attempt.check(clock)
        if outcome is False:
            return Answer(False, up_to=boxes if names else None)
        return attempt.answer(outcome, clock)
    return Answer(None, reason="areas of unions of so many boxes are too much to write out")


class _Clock:
    """What is left of the time for a question."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def stopped(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self._end

    @property
    def reason(self) -> str:
        """What to say when there is no answer."""
        return f"no answer within {self.seconds:g} s"

    @property
    def milliseconds(self) -> int:
        """How many are left; at least one, because 0 means "no limit" to z3."""
        return max(1, int(1000 * (self._end - time.monotonic())))


class _Attempt:
    """One encoding of a question."""

    def __init__(
        self, spec: Spec, sizes: dict[str, int], areas: Areas, limits: Limits, wanted: Wanted
    ) -> None:
        self.encoding = Encoding(spec, sizes, areas, limits.image)
        self.goal = [_formula(self.encoding, label, outcome) for label, outcome in wanted]

    def check(self, clock: _Clock) -> bool | None:
        """Return whether the question can be satisfied; None when z3 does not find out."""
        import z3

        self.solver = z3.Solver()
        self.solver.set("timeout", clock.milliseconds)
        self.solver.add(*self.encoding.known, *self.goal)
        outcome = self.solver.check()
        return True if outcome == z3.sat else False if outcome == z3.unsat else None

    def answer(self, outcome: bool | None, clock: _Clock) -> Answer:
        """Return the answer where the question can be satisfied, or nobody knows."""
        if outcome is None or (self.encoding.areas.used and isinstance(self.encoding.areas, OpaqueAreas)):
            return Answer(None, reason=clock.reason)
        # What is shown may be made nicer even where the answer took all the time there was.
        return Answer(True, model=nice_model(self.solver, self.encoding, max(1.0, clock.milliseconds / 1000)))


def _formula(encoding: Encoding, label: str | None, outcome: bool) -> Formula:
    value = encoding.precondition if label is None else encoding.cases[label]
    return value.true if outcome else value.false


def _conditions(spec: Spec, wanted: Wanted) -> list[tuple[Case | syntax.Expression, bool]]:
    found: list[tuple[Case | syntax.Expression, bool]] = []
    for label, outcome in wanted:
        if label is not None:
            found += [(case, outcome) for case in spec.case_blocks if case.label == label]
        elif spec.precondition is not None:
            found.append((spec.precondition, outcome))
    return found


def _lines(spec: Spec, image: tuple[float, float]) -> tuple[list[float], list[float]]:
    """Return the lines of the grid; numbers that stand in the specification are among them."""
    width, height = image
    numbers = {
        float(part.value)
        for case in spec.case_blocks
        for expression in (case.condition, *(let.value for let in case.lets))
        for literal in syntax.walk(expression)
        if isinstance(literal, syntax.IntervalLiteral)
        for part in syntax.walk(literal)
        if isinstance(part, syntax.Number)
    }
    across = {width * step / 10 for step in range(11)} | numbers
    up = {height * step / 12 for step in range(13)} | numbers
    return sorted(across), sorted(up)
