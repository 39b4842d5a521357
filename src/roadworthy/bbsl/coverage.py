"""What test frames cover of a specification: its conditions, and the borders between its cases.

The paper leaves this open ("coverage on the position on the image and coverage on the conditions of the
specification"). Here:

- a **case** is covered when an input leads to it;
- an **atom**, a single relation inside a condition, is covered when it was true for one input and false for
  another;
- its **border** is covered when inputs came near to it from both sides: within some pixels, true and false;
- a **position**, a cell of a grid over the image, is covered when an object stood in it: the middle of its
  lower edge, where a thing touches the road.

z3 looks for the box nearest to a given one (by its edge that moves most) for which the specification says
something else. Where conditions compare edges it is exact up to the tolerance; where they share areas z3
may run out of time, and what it found so far is returned.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.bbsl.checking import lazy_z3 as z3
from roadworthy.bbsl.checking import symbols
from roadworthy.bbsl.checking.encoding import Encoding
from roadworthy.bbsl.checking.models import box_of
from roadworthy.bbsl.evaluation import Evaluator
from roadworthy.bbsl.margins import Margin, MarginContext, Margins
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.syntax import Expression, Junction, Not, Quantified, TruthConstant, Type
from roadworthy.bbsl.testing import Corners, judge, labels_of
from roadworthy.bbsl.values import Box, Coordinates, Interval, Value
from roadworthy.errors import InputError, check_number
from roadworthy.frames import Frame


@dataclass
class AtomCoverage:
    """How one relation of a condition was tried.

    Attributes:
        case: The case whose condition it is in; empty for the precondition.
        text: How it is written.
        true: How often it held.
        false: How often it did not.
        unknown: How often it had no value.
        nearest_true: The smallest distance from its border at which it held, in pixels.
        nearest_false: The smallest distance at which it did not hold.
    """

    case: str
    text: str
    true: int = 0
    false: int = 0
    unknown: int = 0
    nearest_true: float = math.inf
    nearest_false: float = math.inf

    @property
    def covered(self) -> bool:
        """Whether it was true once and false once."""
        return self.true > 0 and self.false > 0

    def border_covered(self, near: float) -> bool:
        """Whether its border was approached from both sides, up to so many pixels."""
        return self.nearest_true <= near and self.nearest_false <= near

    @property
    def has_border(self) -> bool:
        """Whether it has one that boxes can approach: a truth value from outside has none."""
        return not (self.true or self.false) or math.isfinite(min(self.nearest_true, self.nearest_false))

    def add(self, margin: Margin, held: bool | None) -> None:
        """Take note of one evaluation."""
        if margin is None or held is None:
            self.unknown += 1
        elif held:
            self.true += 1
            self.nearest_true = min(self.nearest_true, abs(margin))
        else:
            self.false += 1
            self.nearest_false = min(self.nearest_false, abs(margin))


@dataclass
class SpecCoverage:
    """What test data has tried of a specification so far.

    Args:
        spec: The specification.
        near: How many pixels from a border is near it.
        grid: Rows and columns of the grid over the image.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse("exfunction v(): bb endexfunction case stop PROJ_y(v()) ~ [0, 100] endcase")
        >>> coverage = SpecCoverage(spec, near=5.0)
        >>> coverage.add({"v": [600, 180, 700, 300]}, moving=["v"], height=375, width=1242)
        >>> coverage.add({"v": [600, 80, 700, 272]}, moving=["v"], height=375, width=1242)
        >>> [(one.text, one.true, one.false, one.nearest_false) for one in coverage.atoms]
        [('PROJ_y(v()) ~ [0, 100]', 1, 1, 3.0)]
        >>> coverage.condition_share, coverage.border_share
        (1.0, 0.0)
    """

    spec: Spec
    near: float = 5.0
    grid: tuple[int, int] = (5, 12)
    inputs: int = 0
    cases: dict[str, int] = field(init=False)
    outside: int = 0
    positions: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        check_number("near", self.near, least=0)
        if min(self.grid) < 1:
            raise InputError(f"the grid must have a row and a column or more, got {self.grid}")
        self.spec.check_types()
        if self.spec.is_temporal:
            raise InputError("coverage looks at one frame, but the specification speaks of several")
        self.cases = dict.fromkeys(self.spec.labels, 0)
        self.positions = np.zeros(self.grid, np.int64)
        self._atoms = {id(part): AtomCoverage(case, self._text(part)) for case, part in self._parts()}

    def _parts(self) -> Iterator[tuple[str, Expression]]:
        if self.spec.precondition is not None:
            yield from (("", part) for part in _atoms(self.spec.precondition))
        for case in self.spec.case_blocks:
            yield from ((case.label, part) for part in _atoms(case.condition))

    def _text(self, part: Expression) -> str:
        return " ".join(self.spec.source[part.span.start : part.span.stop].split()) or repr(part)

    @property
    def atoms(self) -> tuple[AtomCoverage, ...]:
        """The relations of the conditions, in the order of the text."""
        return tuple(self._atoms.values())

    def add(
        self,
        bindings: Mapping[str, Any],
        *,
        moving: list[str] | tuple[str, ...],
        height: float,
        width: float,
        place: tuple[float, float] | None = None,
    ) -> None:
        """Take note of one input.

        Args:
            bindings: The values of the external functions, as for `Spec.cases`.
            moving: The functions whose boxes are detected: what distances are measured by.
            height: The height of the image.
            width: Its width.
            place: Where the object stands, x and y in pixels; not counted when left out.
        """
        evaluator = Evaluator(self.spec.prepared, bindings, Coordinates(height, width))
        read = _Recording(evaluator, moving, self._atoms)
        self.inputs += 1
        if place is not None:
            cell = np.array([place[1] / height, place[0] / width]) * self.grid
            row, column = np.clip(cell.astype(int), 0, np.subtract(self.grid, 1))
            self.positions[row, column] += 1
        if self.spec.precondition is not None:
            read.condition(self.spec.precondition, MarginContext())
            if evaluator.condition(self.spec.precondition, {}) is not True:
                self.outside += 1
                return
        for case in self.spec.case_blocks:
            read.case(case)
            if evaluator.case(case):
                self.cases[case.label] += 1

    @property
    def case_share(self) -> float:
        """The share of cases that an input led to."""
        return sum(count > 0 for count in self.cases.values()) / max(len(self.cases), 1)

    @property
    def condition_share(self) -> float:
        """The share of atoms that were true and false."""
        return sum(one.covered for one in self.atoms) / max(len(self.atoms), 1)

    @property
    def border_share(self) -> float:
        """The share of borders that were approached from both sides."""
        borders = [one for one in self.atoms if one.has_border]
        return sum(one.border_covered(self.near) for one in borders) / max(len(borders), 1)

    @property
    def position_share(self) -> float:
        """The share of the grid's cells in which an object stood."""
        return float((self.positions > 0).mean())

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "inputs": self.inputs,
            "outside": self.outside,
            "cases": {"share": self.case_share, "counts": dict(self.cases)},
            "conditions": {
                "share": self.condition_share,
                "atoms": [
                    {
                        **asdict(one),
                        "nearest_true": _finite(one.nearest_true),
                        "nearest_false": _finite(one.nearest_false),
                        "border_covered": one.border_covered(self.near) if one.has_border else None,
                    }
                    for one in self.atoms
                ],
            },
            "borders": {"share": self.border_share, "near": self.near},
            "positions": {"share": self.position_share, "counts": self.positions.tolist()},
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _atoms(expression: Expression) -> Iterator[Expression]:
    """Yield the relations and truth values that a condition is made of."""
    match expression:
        case Junction():
            for one in expression.operands:
                yield from _atoms(one)
        case Not():
            yield from _atoms(expression.operand)
        case Quantified():
            yield from _atoms(expression.body)
        case TruthConstant():
            return
        case _:
            yield expression


class _Recording(Margins):
    """Takes note of every atom that is read."""

    def __init__(
        self, evaluator: Evaluator, moving: list[str] | tuple[str, ...], atoms: dict[int, AtomCoverage]
    ) -> None:
        super().__init__(evaluator, moving)
        self._atoms = atoms

    def condition(self, part: Expression, context: MarginContext) -> Margin:
        """Return the margin of a condition."""
        margin = super().condition(part, context)
        if id(part) in self._atoms and not isinstance(part, Junction | Not | Quantified):
            self._atoms[id(part)].add(margin, self._evaluator.condition(part, context.values))
        return margin


@dataclass(frozen=True)
class BorderChange:
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
) -> list[BorderChange]:
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
        raise InputError("nearest_changes looks at one frame, but the specification speaks of several")
    if any(one.parameters for one in spec.prepared.functions.values()):
        raise InputError("a function takes arguments, and what it says of a box that moves is not known")
    declared = {one.name: one for one in spec.functions}
    if function not in declared or declared[function].result is not Type.BB:
        raise InputError(f"{function!r} must be an external function of type bb")
    before = labels_of(spec.evaluate(bindings, height=height, width=width))
    others = [label for label in dict.fromkeys(spec.labels) if label not in before]
    search = _BorderSearch(spec, bindings, function, height, width, tolerance, seconds)
    changes = [search.nearest(label, before) for label in others]
    return sorted((one for one in changes if one is not None), key=lambda one: one.distance)


@dataclass(frozen=True)
class _BorderSearch:
    """Looks for the nearest box; everything but the one box is pinned."""

    spec: Spec
    bindings: Mapping[str, Any]
    function: str
    height: float
    width: float
    tolerance: float
    seconds: float

    @cached_property
    def _values(self) -> dict[str, Value]:
        prepared = self.spec.prepared
        evaluator = Evaluator(prepared, self.bindings, Coordinates(self.height, self.width))
        return {name: evaluator.call(one, []) for name, one in prepared.functions.items()}

    @cached_property
    def _start(self) -> Box:
        start = self._values.get(self.function)
        if not isinstance(start, Box):
            raise InputError(f"{self.function}() has no box to start from")
        return start

    def nearest(self, label: str, before: tuple[str, ...]) -> BorderChange | None:
        """Return the nearest box for which a case holds; None when none is there, or found in time."""
        tuples = ((name, value) for name, value in self._values.items() if isinstance(value, tuple))
        sizes = {name: len(value) for name, value in tuples if not isinstance(value, Box | Interval)}
        image = (float(self.width), float(self.height))
        try:
            encoding = Encoding(self.spec, sizes, symbols.ExactAreas(), image)
        except symbols.TooManyBoxes:
            return None
        moved = next(one.value for one in encoding.applications if one.function == self.function)
        assert isinstance(moved, symbols.SymbolicBox)
        solver = z3.Solver()
        solver.add(*encoding.known, encoding.precondition.true, encoding.cases[label].true)
        for one in encoding.applications:
            if one.function != self.function and one.function in self._values:
                solver.add(pinned(one.value, self._values[one.function]))
        best = self._descend(solver, moved)
        if best is None:
            return None
        x1, y1, x2, y2 = map(float, Coordinates(self.height).outward(best))
        values = {**self.bindings, self.function: best}
        after = labels_of(self.spec.evaluate(values, height=self.height, width=self.width))
        # What z3 found must stand evaluation.
        if label not in after:
            return None
        return BorderChange(before, after, (x1, y1, x2, y2), _moved(self._start, best))

    def _descend(self, solver: Any, moved: symbols.SymbolicBox) -> Box | None:
        """Halve the distance that is left until no nearer box is found."""
        end = time.monotonic() + self.seconds
        best: Box | None = None
        low, high = 0.0, float("inf")
        while high - low > self.tolerance:
            left = int(1000 * (end - time.monotonic()))
            if left <= 0:
                break
            limit = 4096.0 if best is None else (low + high) / 2
            solver.push()
            solver.set("timeout", left)
            solver.add(*_within(moved, self._start, limit))
            outcome = solver.check()
            if outcome == z3.sat:
                best = box_of(solver.model(), moved)
                high = min(limit, _moved(self._start, best))
            elif outcome == z3.unsat and best is not None:
                low = limit
            else:
                solver.pop()
                break
            solver.pop()
        return None if best is None else self._settled(solver, moved, best, end)

    def _settled(self, solver: Any, moved: symbols.SymbolicBox, best: Box, end: float) -> Box:
        """Put back every edge that need not move."""
        solver.add(*_within(moved, self._start, _moved(self._start, best)))
        for term, place in zip(symbols.terms(moved), (*self._start.x, *self._start.y), strict=True):
            solver.push()
            solver.set("timeout", max(1, int(1000 * (end - time.monotonic()))))
            solver.add(term == _exact(place))
            if solver.check() == z3.sat:
                # It stays put while the next edges are tried.
                best = box_of(solver.model(), moved)
            else:
                solver.pop()
        return best


def _exact(number: float) -> symbols.Term:
    return z3.RealVal(Fraction(number))


def _within(moved: symbols.SymbolicBox, start: Box, limit: float) -> list[symbols.Formula]:
    most, places = _exact(limit), map(_exact, (*start.x, *start.y))
    pairs = zip(symbols.terms(moved), places, strict=True)
    return [close for term, place in pairs for close in (term - place <= most, place - term <= most)]


def _moved(one: Box, other: Box) -> float:
    return max(abs(a - b) for a, b in zip((*one.x, *one.y), (*other.x, *other.y), strict=True))


def pinned(symbolic: symbols.Symbolic, value: Value) -> symbols.Formula:
    """Return the formula that a symbolic value is the one that is known.

    Raises:
        InputError: There is none.
    """
    if value is None:
        raise InputError("every function must have a value to look for the nearest box")
    if isinstance(symbolic, symbols.SymbolicBool):
        return symbolic.true if value else symbolic.false
    if isinstance(symbolic, symbols.SymbolicSet):
        pairs: Any = zip(symbolic.members, value, strict=True)  # type: ignore[arg-type]  # a set too
        return symbols.conjunction(
            one for member, box in pairs for one in (member.present, pinned(member.box, box))
        )
    pairs = zip(symbols.terms(symbolic), np.ravel(value).tolist(), strict=True)
    return symbols.conjunction(term == _exact(place) for term, place in pairs)


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
            {"frame": one.frame, "object": one.number, **asdict(change)}
            for kept in self._kept.values()
            for one in kept
            for change in nearest_changes(self._spec, one.values, self._function, **one.size)
        ]
