"""Questions to z3 and to chance, and how many boxes are enough to answer for any number."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from roadworthy.bbsl import syntax
from roadworthy.bbsl.checking import lazy_z3 as z3
from roadworthy.bbsl.checking.encoding import Encoding
from roadworthy.bbsl.checking.models import FunctionValue, Model, Value, nice_model
from roadworthy.bbsl.checking.symbols import Areas, ExactAreas, Formula, GridAreas, OpaqueAreas, TooManyBoxes
from roadworthy.bbsl.specification import CaseClause, Spec
from roadworthy.bbsl.values import Box, Interval
from roadworthy.seeding import rng_for

_TRIES = 3000
# Lines of the grid on each axis, besides 0.
_STEPS = 10


def guess(
    spec: Spec, wanted: Wanted, *, boxes: int, image: tuple[float, float], seconds: float
) -> Model | None:
    """Return values that make these conditions true and those false, if a few thousand guesses find some."""
    if any(one.parameters for one in spec.functions):
        return None
    rng = rng_for(0, "bbsl", "guess")
    end = time.monotonic() + seconds
    for _ in range(_TRIES):
        if time.monotonic() > end:
            break
        values = {one.name: _value(one.result, rng, boxes, image) for one in spec.functions}
        outcome = spec.evaluate(values, width=image[0], height=image[1])
        held = {label: outcome.applies if label is None else outcome.values[label] for label, _ in wanted}
        if all(held[label] is truth for label, truth in wanted):
            return Model(tuple(FunctionValue(name, (), value) for name, value in values.items()), *image)
    return None


def _value(kind: syntax.Type, rng: np.random.Generator, boxes: int, image: tuple[float, float]) -> Value:
    if kind is syntax.Type.BOOL:
        return bool(rng.integers(2))
    if kind is syntax.Type.REAL:
        return float(rng.integers(0, 11)) / 10
    if kind is syntax.Type.INTERVAL:
        return _interval(rng, image[1])
    if kind is syntax.Type.BB:
        return _box(rng, image)
    return tuple(_box(rng, image) for _ in range(int(rng.integers(0, boxes + 1))))


def _interval(rng: np.random.Generator, size: float) -> Interval:
    low, high = sorted(rng.choice(_STEPS + 1, size=2, replace=False).tolist())
    return Interval(low * size / _STEPS, high * size / _STEPS)


def _box(rng: np.random.Generator, image: tuple[float, float]) -> Box:
    return Box(_interval(rng, image[0]), _interval(rng, image[1]))


Question = Iterable[tuple[CaseClause | syntax.Expression, bool]]
"""Conditions, each with whether it is to be true or false."""

# Sets larger than this are not tried: formulas grow with powers of it.
_MOST_BOXES = 8


class _Unbounded(Exception):  # noqa: N818 - an answer, not an error
    """No number of boxes is known to be enough."""


Around = tuple[syntax.Expression, ...]
"""The sets that are quantified over, around a place."""
Bound = Mapping[str, syntax.Expression]
"""The sets that the variables of quantifiers are taken from."""


def sufficient_sizes(spec: Spec, question: Question) -> dict[str, int] | None:
    """Return how many boxes of each set are enough to answer a question for any number; None if not known.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse('''
        ... exfunction
        ...   cars(): setBB
        ... endexfunction
        ... case stop
        ...   exists x in cars(). (PROJ_y(x) ~ [0, 100])
        ... endcase
        ... ''')
        >>> sufficient_sizes(spec, [(spec.case_blocks[0], True)])
        {'cars': 1}
    """
    sets = {one.name: one for one in spec.functions if one.result is syntax.Type.SET_BB}
    if any(one.parameters for one in sets.values()) or any(
        syntax.Type.SET_BB in one.parameters for one in spec.functions
    ):
        return None
    demands = _Demands(frozenset(sets))
    try:
        for condition, wanted in question:
            lets: dict[str, syntax.Expression] = {}
            if isinstance(condition, CaseClause):
                for let in condition.lets:
                    lets[let.name] = syntax.spelled_out(let.value, lets)
                condition = syntax.spelled_out(condition.condition, lets)
            demands.collect(condition, wanted, (), {})
        sizes = {name: demands.size(name) for name in sets}
    except _Unbounded:
        return None
    return sizes if all(size <= _MOST_BOXES for size in sizes.values()) else None


@dataclass
class _Demands:
    """The boxes that a question points at."""

    sets: frozenset[str]
    found: list[tuple[str, Around]] = field(default_factory=list)
    areas: set[object] = field(default_factory=set)
    sizes: dict[str, int] = field(default_factory=dict)

    def collect(self, expression: syntax.Expression, wanted: bool, around: Around, bound: Bound) -> None:
        """Find what has to be there for an expression to be true, or false."""
        match expression:
            case syntax.Not():
                self.collect(expression.operand, not wanted, around, bound)
            case syntax.Junction():
                for one in expression.operands:
                    self.collect(one, wanted, around, bound)
            case syntax.Quantified():
                inside = {**bound, expression.variable: expression.boxes}
                if (expression.quantifier == "exists") == wanted:
                    self._add(expression.boxes, around)
                else:
                    around = (*around, expression.boxes)
                self.collect(expression.body, wanted, around, inside)
            case _:
                self._collect_atom(expression, around, bound)

    def _collect_atom(self, expression: syntax.Expression, around: Around, bound: Bound) -> None:
        """Add what the areas inside an atom point at, and truth values that are compared."""
        match expression:
            case syntax.Quantified():
                # Inside "a = b" of truth values: either side may be wanted true or false.
                for outcome in (True, False):
                    self.collect(expression, outcome, around, bound)
                return
            case syntax.Ratio():
                for side in (expression.part, expression.whole):
                    self._add_areas(side, bound)
        for part in syntax.children(expression):
            self._collect_atom(part, around, bound)

    def _add(self, boxes: syntax.Expression, around: Around) -> None:
        for part in syntax.walk(boxes):
            if isinstance(part, syntax.FunctionCall) and part.function in self.sets:
                self.found.append((part.function, around))

    def _add_areas(self, boxes: syntax.Expression, bound: Bound) -> None:
        """Add a box with an area for a set and for every set that it is made of, as `OpaqueAreas` does.

        A set that a variable takes part in, itself or through the set of another variable, is another one for
        each box that the variable stands for; wherever it is written again, it is the same.
        """
        variables = _variables(boxes, bound)
        key = _key(boxes, bound, variables)
        if key in self.areas:
            return
        self.areas.add(key)
        self._add(boxes, tuple(bound[name] for name in variables))
        if isinstance(boxes, syntax.Combination):
            self._add_areas(boxes.left, bound)
            self._add_areas(boxes.right, bound)

    def size(self, name: str, above: tuple[str, ...] = ()) -> int:
        """Return how many boxes of a set are pointed at: for all a in A one b in B makes as many as A has."""
        if name in above:
            raise _Unbounded
        if name not in self.sizes:
            total = 0
            for wanted, around in self.found:
                if wanted == name:
                    total += math.prod([self._count(boxes, (*above, name)) for boxes in around])
            self.sizes[name] = total
        return self.sizes[name]

    def _count(self, boxes: syntax.Expression, above: tuple[str, ...]) -> int:
        """Return how many boxes a set has, once those that nothing points at are gone."""
        match boxes:
            case syntax.FunctionCall():
                return self.size(boxes.function, above)
            case syntax.SetLiteral():
                return len(boxes.boxes)
            case syntax.Combination():
                sides = [self._count(one, above) for one in (boxes.left, boxes.right)]
                return sum(sides) if boxes.operator == "union" else math.prod(sides)
        raise _Unbounded


def _variables(boxes: syntax.Expression, bound: Bound) -> tuple[str, ...]:
    """Return the variables of quantifiers that a set depends on: its own, and those of the sets of these."""
    found: dict[str, None] = {}
    waiting = [boxes]
    while waiting:
        for part in syntax.walk(waiting.pop()):
            if isinstance(part, syntax.Name) and part.name in bound and part.name not in found:
                found[part.name] = None
                waiting.append(bound[part.name])
    return tuple(found)


def _key(expression: syntax.Expression, bound: Bound, variables: tuple[str, ...]) -> object:
    """Return what two expressions share that mean the same, whatever their variables are called."""
    if isinstance(expression, syntax.Name):
        taken_from = _key(bound[expression.name], bound, variables)
        return ("variable", variables.index(expression.name), taken_from)
    values = (getattr(expression, one.name) for one in fields(expression))
    own = tuple(value for value in values if isinstance(value, str | int | float))
    parts = (_key(part, bound, variables) for part in syntax.children(expression))
    return (type(expression), own, *parts)


Wanted = Sequence[tuple[str | None, bool]]
"""Labels of cases, or None for the precondition, each with whether it is to hold or not to hold."""

# The image in which areas are tried on a grid, where its size is left open.
_PICTURE = (1000.0, 300.0)


@dataclass(frozen=True)
class SolverLimits:
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
class SolverAnswer:
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


def ask(spec: Spec, wanted: Wanted, limits: SolverLimits) -> SolverAnswer:
    """Return whether some boxes make these conditions true and those false."""
    return _Search(spec, wanted, limits, _Clock(limits.seconds)).answer()


@dataclass(frozen=True)
class _Search:
    """Puts a question to z3 in the ways that there are, the quickest first."""

    spec: Spec
    wanted: Wanted
    limits: SolverLimits
    clock: _Clock

    def answer(self) -> SolverAnswer:
        sizes = sufficient_sizes(self.spec, _conditions(self.spec, self.wanted))
        up_to = None if sizes is not None else self.limits.boxes
        linear = self._attempt(self.limits.boxes if sizes is None else sizes, OpaqueAreas())
        outcome = linear.check(self.clock)
        if outcome is False:
            return SolverAnswer(False, up_to=up_to)
        if not linear.encoding.areas.used or self.clock.stopped:
            return linear.answer(outcome, self.clock)
        if not linear.encoding.areas.multiplied:
            return self._on_a_grid() or self._exactly()
        # Not even a grid makes this linear. Half of the time is for guesses, the other half for z3.
        image, seconds = self.limits.image or _PICTURE, self.clock.milliseconds / 1000 / 2
        model = guess(self.spec, self.wanted, boxes=self.limits.boxes, image=image, seconds=seconds)
        return SolverAnswer(True, model=model) if model else self._exactly()

    @property
    def _sets(self) -> list[str]:
        return [one.name for one in self.spec.functions if one.result is syntax.Type.SET_BB]

    def _attempt(
        self, boxes: int | dict[str, int], areas: Areas, image: tuple[float, float] | None = None
    ) -> _Attempt:
        sizes = dict.fromkeys(self._sets, boxes) if isinstance(boxes, int) else boxes
        encoding = Encoding(self.spec, sizes, areas, image or self.limits.image)
        return _Attempt(encoding, [_formula(encoding, label, outcome) for label, outcome in self.wanted])

    def _on_a_grid(self) -> SolverAnswer | None:
        picture = self.limits.image or _PICTURE
        # Few boxes first: a picture with one box says more than one with three.
        for boxes in sorted({1, self.limits.boxes}) if self._sets else [0]:
            attempt = self._attempt(boxes, GridAreas(*_lines(self.spec, picture)), picture)
            if attempt.check(self.clock):
                return attempt.answer(True, self.clock)
            if self.clock.stopped:
                return SolverAnswer(None, reason=self.clock.reason)
        return None

    def _exactly(self) -> SolverAnswer:
        # As many boxes as can be written out.
        for boxes in range(self.limits.boxes, 0, -1):
            try:
                attempt = self._attempt(boxes, ExactAreas())
            except TooManyBoxes:
                continue
            outcome = attempt.check(self.clock)
            if outcome is False:
                return SolverAnswer(False, up_to=boxes if self._sets else None)
            return attempt.answer(outcome, self.clock)
        return SolverAnswer(None, reason="areas of unions of so many boxes are too much to write out")


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

    def __init__(self, encoding: Encoding, goal: list[Formula]) -> None:
        self.encoding = encoding
        self.goal = goal

    def check(self, clock: _Clock) -> bool | None:
        """Return whether the question can be satisfied; None when z3 does not find out."""
        self.solver = z3.Solver()
        self.solver.set("timeout", clock.milliseconds)
        self.solver.add(*self.encoding.known, *self.goal)
        outcome = self.solver.check()
        return True if outcome == z3.sat else False if outcome == z3.unsat else None

    def answer(self, outcome: bool | None, clock: _Clock) -> SolverAnswer:
        """Return the answer where the question can be satisfied, or nobody knows."""
        if outcome is None or (self.encoding.areas.used and isinstance(self.encoding.areas, OpaqueAreas)):
            return SolverAnswer(None, reason=clock.reason)
        # What is shown may be made nicer even where the answer took all the time there was.
        return SolverAnswer(True, nice_model(self.solver, self.encoding, max(1.0, clock.milliseconds / 1000)))


def _formula(encoding: Encoding, label: str | None, outcome: bool) -> Formula:
    value = encoding.precondition if label is None else encoding.cases[label]
    return value.true if outcome else value.false


def _conditions(spec: Spec, wanted: Wanted) -> list[tuple[CaseClause | syntax.Expression, bool]]:
    found: list[tuple[CaseClause | syntax.Expression, bool]] = []
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
        if isinstance(part, syntax.RealNumber)
    }
    across = {width * step / 10 for step in range(11)} | numbers
    up = {height * step / 12 for step in range(13)} | numbers
    return sorted(across), sorted(up)
