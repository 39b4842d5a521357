"""The nearest box that makes a difference: test cases on the border, and errors that flip a verdict.

z3 looks for the box nearest to a given one (by its edge that moves most) for which the specification says
something else. Where conditions compare edges it is exact up to the tolerance; where they share areas z3
may run out of time, and what it found so far is returned.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from roadworthy.bbsl.checking.areas import ExactAreas, TooManyBoxes
from roadworthy.bbsl.checking.encoding import Encoding
from roadworthy.bbsl.checking.models import number_of
from roadworthy.bbsl.checking.symbols import (
    Formula,
    Symbolic,
    SymbolicBool,
    SymbolicBox,
    SymbolicInterval,
    SymbolicReal,
    Term,
    conjunction,
)
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.syntax import Type
from roadworthy.bbsl.testing.judging import Corners, judge, labels_of
from roadworthy.bbsl.values import Box, Coordinates, Interval, Value
from roadworthy.errors import InputError
from roadworthy.frames import Frame


@dataclass(frozen=True)
class Change:
    """The nearest box that leads to another case.

    Attributes:
        before: The cases that the given box leads to.
        after: The cases that the nearest box leads to.
        box: The nearest box, x1, y1, x2, y2 in pixels, y down.
        distance: How far the edge that moves most has moved, in pixels.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    box: Corners
    distance: float


def nearest_changes(
    spec: Spec,
    bindings: Mapping[str, Any],
    function: str,
    *,
    height: float,
    width: float,
    tolerance: float = 0.01,
    seconds: float = 5.0,
) -> list[Change]:
    """Return for every case that a box does not lead to the nearest box that leads to it, the nearest first.

    Args:
        spec: The specification.
        bindings: The values of the external functions, as for `Spec.cases`.
        function: The one whose box is moved.
        height: The height of the image.
        width: Its width.
        tolerance: How exact the distance is, in pixels.
        seconds: The most time for one case.

    Raises:
        InputError: The function gives no box, a function takes arguments, or the specification speaks of
            several frames.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse('''
        ... exfunction v(): bb endexfunction
        ... case stop PROJ_y(v()) ~ [0, 100] endcase
        ... case NOT stop PROJ_y(v()) > [0, 100] endcase
        ... ''')
        >>> changes = nearest_changes(spec, {"v": [600, 180, 700, 300]}, "v", height=375, width=1242)
        >>> [(one.after, round(one.distance, 1), round(one.box[3], 1)) for one in changes]
        [(('NOT stop',), 25.0, 275.0)]
    """
    spec.check_types()
    if spec.is_temporal:
        raise InputError(
            "the nearest box is looked for in one frame, but the specification speaks of several"
        )
    if any(one.parameters for one in spec.prepared.functions.values()):
        raise InputError("a function takes arguments, and what it says of a box that moves is not known")
    declared = {one.name: one for one in spec.functions}
    if function not in declared or declared[function].result is not Type.BB:
        raise InputError(f"{function!r} must be an external function of type bb")
    before = labels_of(spec.evaluate(bindings, height=height, width=width))
    others = [label for label in dict.fromkeys(spec.labels) if label not in before]
    search = _Search(spec, bindings, function, Coordinates(height, width), tolerance, seconds)
    found = [search.nearest(label, before) for label in others]
    return sorted((one for one in found if one is not None), key=lambda one: one.distance)


class _Search:
    """Looks for the nearest box; everything but the one box is pinned."""

    def __init__(
        self,
        spec: Spec,
        bindings: Mapping[str, Any],
        function: str,
        coordinates: Coordinates,
        tolerance: float,
        seconds: float,
    ) -> None:
        self._spec = spec
        self._bindings = bindings
        self._function = function
        self._coordinates = coordinates
        self._tolerance = tolerance
        self._seconds = seconds
        axes = spec.prepared.axes
        self._values = {
            one.name: coordinates.inward(
                bindings.get(one.name), one.result, one.name, axes["function", one.name]
            )
            for one in spec.prepared.functions.values()
        }
        start = self._values.get(function)
        if not isinstance(start, Box):
            raise InputError(f"{function}() has no box to start from")
        self._start = start

    def nearest(self, label: str, before: tuple[str, ...]) -> Change | None:
        """Return the nearest box for which a case holds; None when none is there, or found in time."""
        import z3

        sizes = {
            name: len(value)
            for name, value in self._values.items()
            if isinstance(value, tuple) and not isinstance(value, Box | Interval)
        }
        assert self._coordinates.width is not None
        assert self._coordinates.height is not None
        try:
            encoding = Encoding(
                self._spec,
                sizes,
                ExactAreas(),
                (float(self._coordinates.width), float(self._coordinates.height)),
            )
        except TooManyBoxes:
            return None
        moved = next(one.value for one in encoding.applications if one.function == self._function)
        assert isinstance(moved, SymbolicBox)
        solver = z3.Solver()
        solver.add(*encoding.known, encoding.precondition.true, encoding.cases[label].true)
        for one in encoding.applications:
            if one.function != self._function and one.function in self._values:
                solver.add(pinned(one.value, self._values[one.function]))
        best = self._descend(solver, moved)
        if best is None:
            return None
        box = self._coordinates.outward(best)
        x1, y1, x2, y2 = (float(one) for one in box)
        values = {**self._bindings, self._function: best}
        after = labels_of(
            self._spec.evaluate(values, height=self._coordinates.height, width=self._coordinates.width)
        )
        # What z3 found must stand evaluation.
        return Change(before, after, (x1, y1, x2, y2), _moved(self._start, best)) if label in after else None

    def _descend(self, solver: Any, moved: SymbolicBox) -> Box | None:
        """Halve the distance that is left until no nearer box is found."""
        import z3

        end = time.monotonic() + self._seconds
        best: Box | None = None
        low, high = 0.0, float("inf")
        while high - low > self._tolerance:
            left = int(1000 * (end - time.monotonic()))
            if left <= 0:
                break
            limit = 4096.0 if best is None else (low + high) / 2
            solver.push()
            solver.set("timeout", left)
            solver.add(*_within(moved, self._start, limit))
            outcome = solver.check()
            if outcome == z3.sat:
                best = _box_of(solver.model(), moved)
                high = min(limit, _moved(self._start, best))
            elif outcome == z3.unsat and best is not None:
                low = limit
            else:
                solver.pop()
                break
            solver.pop()
        return None if best is None else self._settled(solver, moved, best, end)

    def _settled(self, solver: Any, moved: SymbolicBox, best: Box, end: float) -> Box:
        """Put back every edge that need not move."""
        import z3

        solver.add(*_within(moved, self._start, _moved(self._start, best)))
        for term, place in zip(_ends(moved), (*self._start.x, *self._start.y), strict=True):
            solver.push()
            solver.set("timeout", max(1, int(1000 * (end - time.monotonic()))))
            solver.add(term == _exact(place))
            if solver.check() == z3.sat:
                # It stays put while the next edges are tried.
                best = _box_of(solver.model(), moved)
            else:
                solver.pop()
        return best


def _exact(number: float) -> Term:
    import z3

    return z3.RealVal(Fraction(number))


def _within(moved: SymbolicBox, start: Box, limit: float) -> list[Formula]:
    return [
        close
        for term, place in zip(_ends(moved), (*start.x, *start.y), strict=True)
        for close in (term - _exact(place) <= _exact(limit), _exact(place) - term <= _exact(limit))
    ]


def _ends(box: SymbolicBox) -> tuple[Term, ...]:
    return (box.x.lower, box.x.upper, box.y.lower, box.y.upper)


def _moved(one: Box, other: Box) -> float:
    return max(abs(a - b) for a, b in zip((*one.x, *one.y), (*other.x, *other.y), strict=True))


def _box_of(model: Any, box: SymbolicBox) -> Box:
    ends = [number_of(model, one) for one in _ends(box)]
    return Box(Interval(ends[0], ends[1]), Interval(ends[2], ends[3]))


def pinned(symbolic: Symbolic, value: Value) -> Formula:
    """Return the formula that a symbolic value is the one that is known.

    Raises:
        InputError: There is none.
    """
    if value is None:
        raise InputError("every function must have a value to look for the nearest box")
    match symbolic:
        case SymbolicBool():
            return symbolic.true if value else symbolic.false
        case SymbolicReal():
            return symbolic.numerator == _exact(_number(value))
        case SymbolicInterval():
            assert isinstance(value, Interval)
            return conjunction([symbolic.lower == _exact(value.lower), symbolic.upper == _exact(value.upper)])
        case SymbolicBox():
            assert isinstance(value, Box)
            places = zip(_ends(symbolic), (*value.x, *value.y), strict=True)
            return conjunction(term == _exact(place) for term, place in places)
    assert isinstance(value, tuple)
    pairs: Sequence[tuple[Any, Any]] = list(zip(symbolic.members, value, strict=True))
    return conjunction(one for member, box in pairs for one in (member.present, pinned(member.box, box)))


def _number(value: Value) -> float:
    assert isinstance(value, int | float)
    return float(value)


@dataclass(frozen=True)
class _Near:
    """An object near a border."""

    margin: float
    frame: str
    number: int
    values: Mapping[str, Any]
    size: Mapping[str, float]


class BorderObjects:
    """Keeps, for every case, the objects that are nearest to a border.

    Args:
        spec: The specification.
        function: The external function that stands for the object.
        moving: The functions whose boxes are detected.
        count: How many objects are kept for each case.
    """

    def __init__(self, spec: Spec, function: str, moving: tuple[str, ...], count: int) -> None:
        self._spec, self._function, self._moving, self._count = spec, function, moving, count
        self._kept: dict[tuple[str, ...], list[_Near]] = {}

    def add(self, frame: Frame, number: int, values: Mapping[str, Any]) -> None:
        """Take an object of a frame into account, with the values of all functions."""
        size = {"height": float(frame.height), "width": float(frame.width)}
        row = judge(self._spec, values, values, moving=self._moving, height=frame.height, width=frame.width)
        if row.passed is None or not math.isfinite(row.margin):
            return
        kept = [_Near(row.margin, frame.id, number, values, size), *self._kept.get(row.expected, [])]
        self._kept[row.expected] = sorted(kept, key=lambda one: one.margin)[: self._count]

    def changes(self) -> list[dict[str, Any]]:
        """Return the nearest boxes that lead to other cases, case by case, the nearest object first."""
        return [
            {
                "frame": one.frame,
                "object": one.number,
                "before": list(change.before),
                "after": list(change.after),
                "box": list(change.box),
                "distance": change.distance,
            }
            for kept in self._kept.values()
            for one in kept
            for change in nearest_changes(self._spec, one.values, self._function, **one.size)
        ]
