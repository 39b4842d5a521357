"""From a model of z3 to boxes that a person can look at: inside the image, round numbers, few of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import TypeVar

from roadworthy.bbsl.checking import lazy_z3 as z3
from roadworthy.bbsl.checking import symbols
from roadworthy.bbsl.checking.encoding import Encoding
from roadworthy.bbsl.values import Box, Interval

Value = bool | float | Interval | Box | tuple[Box, ...]

Kind = TypeVar("Kind", bound=symbols.Symbolic)
_STEP = 25  # pixels: what corners are multiples of, where they can be
_PICTURE = (1242, 375)  # the size of KITTI's images, and of the paper's
_PATIENCE = 2000  # milliseconds for one wish


@dataclass(frozen=True)
class FunctionValue:
    """An external function, what it was called with, and its value."""

    function: str
    arguments: tuple[Value, ...]
    value: Value


@dataclass(frozen=True)
class Model:
    """Values of the external functions, y upward, and the size of the image."""

    calls: tuple[FunctionValue, ...]
    width: float
    height: float


def nice_model(solver: z3.Solver, encoding: Encoding, seconds: float) -> Model:
    """Return values for a question that was just found to be satisfied, as round as time allows."""
    end = time.monotonic() + seconds
    found = solver.model()
    for wish in _wishes(encoding):
        left = int(1000 * (end - time.monotonic()))
        if left <= 0:
            break
        solver.push()
        solver.set("timeout", min(left, _PATIENCE))
        solver.add(*wish)
        if solver.check() == z3.sat:
            found = solver.model()
            break
        solver.pop()
    return _read(found, encoding)


def _wishes(encoding: Encoding) -> Iterator[list[symbols.Formula]]:
    """Yield what would make a good picture, the best first."""
    inside = _inside(encoding)
    good = [*inside, *_round(encoding, _STEP), *_at_least(encoding, 2 * _STEP)]
    # Few boxes, but one in each set if it can be: an empty picture says little.
    sets = _values(encoding, symbols.SymbolicSet)
    filled = [one.members[0].present for one in sets if one.members]
    members = [member for one in sets for member in one.members]
    for count in range(len(filled), len(members) + 1):
        most = [z3.PbLe([(one.present, 1) for one in members], count)] if members else []
        few = [*good, *filled, *most]
        yield [*few, *_apart(encoding)]
        yield few
    yield good
    yield [*inside, *_round(encoding, 5), *_at_least(encoding, 5)]
    yield inside
    yield _round(encoding, 1)


def _values(encoding: Encoding, kind: type[Kind]) -> list[Kind]:
    """Return the values of one kind that functions have."""
    return [one.value for one in encoding.applications if isinstance(one.value, kind)]


def _boxes(encoding: Encoding) -> list[symbols.SymbolicBox]:
    members = (member for one in _values(encoding, symbols.SymbolicSet) for member in one.members)
    return [*_values(encoding, symbols.SymbolicBox), *(member.box for member in members)]


def _intervals(encoding: Encoding) -> list[symbols.SymbolicInterval]:
    single = _values(encoding, symbols.SymbolicInterval)
    return [*single, *(side for box in _boxes(encoding) for side in (box.x, box.y))]


def _round(encoding: Encoding, step: int) -> list[symbols.Formula]:
    """Wish for corners that are multiples of a step, and numbers that are tenths."""
    ends = [end for one in _intervals(encoding) for end in (one.lower, one.upper)]
    numbers = [one.numerator for one in _values(encoding, symbols.SymbolicReal)]
    return [
        *(end == z3.ToReal(z3.FreshInt("multiple")) * step for end in ends),
        *(number * 10 == z3.ToReal(z3.FreshInt("tenths")) for number in numbers),
    ]


def _at_least(encoding: Encoding, width: int) -> list[symbols.Formula]:
    """Wish for intervals and boxes that can be seen."""
    return [one.upper - one.lower >= width for one in _intervals(encoding)]


def _apart(encoding: Encoding) -> list[symbols.Formula]:
    """Wish for boxes whose names do not stand on top of each other, and which are wide enough for them."""
    boxes = _boxes(encoding)
    wishes: list[symbols.Formula] = []
    for one, other in combinations(boxes, 2):
        tops = one.y.upper - other.y.upper
        lefts = one.x.lower - other.x.lower
        wishes += [z3.Or(tops >= _STEP, -tops >= _STEP), z3.Or(lefts >= _STEP, -lefts >= _STEP)]
    return [*wishes, *(box.x.upper - box.x.lower >= 8 * _STEP for box in boxes)]


def _inside(encoding: Encoding) -> list[symbols.Formula]:
    """Wish for boxes inside an image of a usual size."""
    width, height = encoding.size
    wishes: list[symbols.Formula] = []
    if encoding.image is None and not encoding.areas.used:
        wishes += [width == _PICTURE[0], height == _PICTURE[1]]
    for box in _boxes(encoding):
        wishes += [box.x.lower >= 0, box.x.upper <= width, box.y.lower >= 0, box.y.upper <= height]
    for one in _values(encoding, symbols.SymbolicInterval):
        wishes += [one.lower >= 0, one.upper <= height]
    return wishes


def number_of(model: z3.ModelRef, term: symbols.Term) -> float:
    """Return the value of a term in a model; of an irrational root twenty places."""
    found = model.eval(term, model_completion=True)
    if z3.is_algebraic_value(found):
        found = found.approx(20)
    return float(Fraction(found.numerator_as_long(), found.denominator_as_long()))


def box_of(model: z3.ModelRef, box: symbols.SymbolicBox) -> Box:
    """Return the box that a symbolic one is in a model."""
    ends = [number_of(model, one) for one in symbols.terms(box)]
    return Box(Interval(*ends[:2]), Interval(*ends[2:]))


def _value_of(model: z3.ModelRef, symbolic: symbols.Symbolic) -> Value:
    match symbolic:
        case symbols.SymbolicBool():
            return _holds(model, symbolic.true)
        case symbols.SymbolicSet():
            return tuple(box_of(model, one.box) for one in symbolic.members if _holds(model, one.present))
        case symbols.SymbolicBox():
            return box_of(model, symbolic)
    numbers = [number_of(model, one) for one in symbols.terms(symbolic)]
    if isinstance(symbolic, symbols.SymbolicInterval):
        return Interval(*numbers)
    numerator, below, *_ = (*numbers, 1.0)
    return numerator / below if below else float("nan")


def _holds(model: z3.ModelRef, formula: symbols.Formula) -> bool:
    return bool(model.eval(formula, model_completion=True))


def _read(model: z3.ModelRef, encoding: Encoding) -> Model:
    read = partial(_value_of, model)
    calls = [
        FunctionValue(one.function, tuple(map(read, one.arguments)), read(one.value))
        for one in encoding.applications
    ]
    width, height = (number_of(model, one) for one in encoding.size)
    return Model(tuple(calls), width, height)
