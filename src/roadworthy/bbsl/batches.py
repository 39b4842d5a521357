"""What a specification says of many frames at once, with arrays; the same as `evaluation` says of each.

A row of the arrays is a frame, or an object where a specification over one box is tried on every object.
Inside a quantifier a row is a frame together with one of its boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.bbsl.arrays import (
    ArrayCoordinates,
    BoxArrays,
    Intervals,
    Kleene,
    Many,
    Reals,
    Rows,
    Sets,
    areas,
    common,
    joined,
    many_values,
    one_value,
)
from roadworthy.bbsl.evaluation import Evaluator, Prepared, require_one_frame
from roadworthy.bbsl.specification import CaseClause, ExternalFunction, Spec
from roadworthy.bbsl.syntax import (
    And,
    AxisProjection,
    BoxLiteral,
    BoxRelation,
    Combination,
    Disjunction,
    Expression,
    FunctionCall,
    ImageBox,
    IntervalLiteral,
    Name,
    Not,
    Operator,
    Quantified,
    Ratio,
    RealNumber,
    SetLiteral,
    TruthConstant,
    Type,
    Width,
    children,
)
from roadworthy.bbsl.values import Coordinates, Value


@dataclass(frozen=True)
class Outcomes:
    """What a specification says of many frames. In every array 1 is true, 0 false, and -1 not known.

    Attributes:
        applies: Whether the precondition holds, int8 of shape (n,).
        values: Whether each case holds, int8 of shape (n,); -1 wherever the precondition does not hold.
    """

    applies: NDArray[np.int8]
    values: Mapping[str, NDArray[np.int8]]

    def __len__(self) -> int:
        return len(self.applies)

    def cases(self, row: int) -> set[str]:
        """Return the labels of the cases that hold in one row."""
        return {label for label, held in self.values.items() if held[row] == 1}


def evaluate_many(
    spec: Spec,
    bindings: Mapping[str, Any],
    *,
    height: Any = None,
    width: Any = None,
    count: int | None = None,
) -> Outcomes:
    """Say of many frames whether a specification applies, and which of its cases hold.

    Args:
        spec: The specification.
        bindings: For each external function its values, one for each frame or one for all: bool of shape (n,)
            or (), real (n,) or (), interval (n, 2) or (2,), bb (n, 4) or (4,). A setBB is a list with an
            array of shape (k, 4) for each frame, or one array for all frames, or `RaggedBoxes`. NaN (for a
            set: None) where there is no value. A function with arguments is a callable, called once for each
            row.
        height: The height of the images in pixels, one for all or one for each.
        width: Their width, for IMG.
        count: The number of frames, where all bindings are the same for all frames.

    Raises:
        InputError: A function is unbound, values do not fit together, or are none of their type.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> text = "exfunction vehicle(): bb endexfunction case stop PROJ_y(vehicle()) ~ [0, 100] endcase"
        >>> spec = parse(text)
        >>> boxes = [[600, 180, 700, 300], [600, 180, 700, 200], [np.nan] * 4]
        >>> evaluate_many(spec, {"vehicle": boxes}, height=375).values["stop"].tolist()
        [1, 0, -1]
    """
    require_one_frame(spec)
    prepared = spec.prepared
    prepared.check_bound(bindings)
    coordinates = ArrayCoordinates(prepared.functions, bindings, height, width, count)
    rows = _Rows(prepared, bindings, coordinates, np.arange(coordinates.count))
    applies = Kleene.constant(True) if spec.precondition is None else rows.condition(spec.precondition)
    values = {}
    for case in spec.case_blocks:
        held = rows.case(case)
        # Where the specification does not apply it says nothing, neither true nor false.
        values[case.label] = Kleene(held.true & applies.true, held.false & applies.true).numbers(
            coordinates.count
        )
    return Outcomes(applies.numbers(coordinates.count), values)


class _Rows:
    """Gives the values of expressions in every row."""

    def __init__(
        self,
        prepared: Prepared,
        bindings: Mapping[str, Any],
        coordinates: ArrayCoordinates,
        frames: Rows,
        outer: _Rows | None = None,
    ) -> None:
        self._prepared = prepared
        self._bindings = bindings
        self._coordinates = coordinates
        # Of each row the row of the outer context that it belongs to; of the outermost, the frame.
        self._frames = frames
        self._outer = outer
        self._functions: dict[str, Many] = {}
        self._names: dict[str, Many] = {}

    def case(self, case: CaseClause) -> Kleene:
        """Say whether a case holds."""
        self._names = {}
        for let in case.lets:
            self._names[let.name] = _as_type(self.value(let.value), let.type)
        return self.condition(case.condition)

    def condition(self, part: Expression) -> Kleene:
        """Say whether a condition holds."""
        value = self.value(part)
        assert isinstance(value, Kleene)  # the types were checked
        return value

    def value(self, part: Expression) -> Many:
        """Return the values of an expression."""
        match part:
            case RealNumber():
                return Reals(np.asarray(part.value))
            case TruthConstant():
                return Kleene.constant(part.value)
            case Name():
                return self._named(part.name)
            case ImageBox():
                return self._coordinates.image().taken(self._roots())
            case FunctionCall():
                return self._call(part)
            case Not():
                return ~self.condition(part.operand)
            case And():
                return reduce(and_, (self.condition(one) for one in part.operands))
            case Disjunction():
                return reduce(or_, (self.condition(one) for one in part.operands))
            case Quantified():
                return self._quantified(part)
            case SetLiteral():
                return self._set([self.value(one) for one in part.boxes])
        return _COMPUTED[type(part)](part, *(self.value(one) for one in children(part)))

    def _named(self, name: str) -> Many:
        if name not in self._names:
            assert self._outer is not None  # the types were checked
            self._names[name] = self._outer._named(name).taken(self._frames)
        return self._names[name]

    def _roots(self) -> Rows:
        return self._frames if self._outer is None else self._outer._roots()[self._frames]

    def _call(self, part: FunctionCall) -> Many:
        function = self._prepared.functions[part.function]
        if function.parameters:
            return self._call_rows(function, [self.value(one) for one in part.arguments])
        if function.name not in self._functions:
            self._functions[function.name] = (
                self._coordinates.value(function, self._prepared.axes["function", function.name])
                if self._outer is None
                else self._outer._call(part).taken(self._frames)
            )
        return self._functions[function.name]

    def _call_rows(self, function: ExternalFunction, arguments: list[Many]) -> Many:
        """Ask a function with parameters row by row: what users write takes one box, not arrays."""
        heights, widths = self._coordinates.height, self._coordinates.width
        typed = [_as_type(one, kind) for one, kind in zip(arguments, function.parameters, strict=True)]
        answers: list[Value] = []
        for row, frame in enumerate(self._roots()):
            height = None if heights is None else float(heights[frame] if heights.ndim else heights)
            width = None if widths is None else float(widths[frame] if widths.ndim else widths)
            caller = Evaluator(self._prepared, self._bindings, Coordinates(height, width))
            answers.append(caller.call(function, [one_value(argument, row) for argument in typed]))
        return many_values(answers, function.result)

    def _quantified(self, part: Quantified) -> Kleene:
        sets = self.value(part.boxes)
        assert isinstance(sets, Sets)  # the types were checked
        owners, count = sets.owners(), len(sets.counts)
        inner = _Rows(self._prepared, self._bindings, self._coordinates, owners, self)
        inner._names[part.variable] = sets.boxes
        held = inner.condition(part.body)
        true = np.bincount(owners[np.broadcast_to(held.true, owners.shape)], minlength=count)
        false = np.bincount(owners[np.broadcast_to(held.false, owners.shape)], minlength=count)
        if part.quantifier == "forall":
            return Kleene((true == sets.counts) & sets.known, false > 0)
        return Kleene(true > 0, (false == sets.counts) & sets.known)

    def _set(self, boxes: list[Many]) -> Sets:
        count = len(self._frames)
        singles = [_single(box, count) for box in boxes]
        nothing = Intervals(np.zeros(0), np.zeros(0))
        empty = Sets(BoxArrays(nothing, nothing), np.zeros(count, np.intp), np.ones(count, np.bool_))
        return joined([empty, *singles])


def _single(box: Many, count: int) -> Sets:
    """Return the sets that hold one box each; not known where the box is not."""
    assert isinstance(box, BoxArrays)
    ends = (box.x.lower, box.x.upper, box.y.lower, box.y.upper)
    left, right, low, high = (np.broadcast_to(one, count) for one in ends)
    whole = BoxArrays(Intervals(left, right), Intervals(low, high))
    known = ~whole.missing()
    return Sets(whole.taken(np.flatnonzero(known)), known.astype(np.intp), known)


def _as_type(value: Many, kind: Type) -> Many:
    """Return ends of projections as reals where those are asked for."""
    return Reals(value.lower) if kind is Type.REAL and isinstance(value, Intervals) else value


def _as_reals(value: Many) -> Reals:
    found = _as_type(value, Type.REAL)
    assert isinstance(found, Reals)
    return found


def _projection(part: Expression, box: Many) -> Intervals:
    assert isinstance(part, AxisProjection)
    assert isinstance(box, BoxArrays)
    side = box.x if part.axis == "x" else box.y
    if part.end is None:
        return side
    end = side.lower if part.end == "lower" else side.upper
    return Intervals(end, end)


def _width(_: Expression, interval: Many) -> Reals:
    assert isinstance(interval, Intervals)
    return Reals(np.maximum(interval.upper - interval.lower, 0.0))


def _literal(_: Expression, lower: Many, upper: Many) -> Intervals:
    low, high = np.broadcast_arrays(_as_reals(lower).value, _as_reals(upper).value)
    known = low <= high
    return Intervals(np.where(known, low, np.nan), np.where(known, high, np.nan))


def _box(_: Expression, x: Many, y: Many) -> BoxArrays:
    assert isinstance(x, Intervals)
    assert isinstance(y, Intervals)
    # A side without a value compares as false, and so does an empty one.
    missing = ~((x.lower <= x.upper) & (y.lower <= y.upper))
    x, y = (
        Intervals(np.where(missing, np.nan, one.lower), np.where(missing, np.nan, one.upper))
        for one in (x, y)
    )
    return BoxArrays(x, y)


def _ratio(_: Expression, part: Many, whole: Many) -> Reals:
    assert isinstance(part, Sets)
    assert isinstance(whole, Sets)
    size = areas(whole)
    size = np.where(size > 0, size, np.nan)
    return Reals(areas(part) / size)


def _combination(part: Expression, left: Many, right: Many) -> Many:
    assert isinstance(part, Combination)
    if isinstance(left, Intervals):
        assert isinstance(right, Intervals)
        return left.meet(right)
    assert isinstance(left, Sets)
    assert isinstance(right, Sets)
    return joined([left, right]) if part.operator == "union" else common(left, right)


def _relation(part: Expression, left: Many, right: Many) -> Kleene:
    assert isinstance(part, BoxRelation)
    operator = part.operator
    if operator in (">", ">=", "superset", "superseteq"):
        left, right = right, left
        operator = _MIRRORED[operator]
    if operator == "<=":
        return _as_reals(left).below(_as_reals(right), strictly=False)
    if operator == "in":
        left = Intervals(_as_reals(left).value, _as_reals(left).value)
        operator = "subseteq"
    if isinstance(left, Reals) and isinstance(right, Reals):
        return left.same(right) if operator == "=" else left.below(right, strictly=True)
    if isinstance(left, Kleene):
        assert isinstance(right, Kleene)
        return left.same(right)
    if isinstance(left, (Reals, Intervals)):
        return _positions(operator, _as_intervals(left), _as_intervals(right))
    return _positions(operator, left, right)


def _positions(operator: str, left: Any, right: Any) -> Kleene:
    """Compare two intervals, or two boxes."""
    match operator:
        case "=":
            held = left.same(right)
        case "<":
            held = left.below(right)
        case "overlaps":
            held = left.overlaps(right)
        case "subseteq":
            held = left.within(right)
        case _:
            held = left.within(right) & ~left.same(right)
    assert isinstance(held, Kleene)
    return held


def _as_intervals(value: Many) -> Intervals:
    if isinstance(value, Reals):
        return Intervals(value.value, value.value)
    assert isinstance(value, Intervals)
    return value


_MIRRORED: dict[str, Operator] = {">": "<", ">=": "<=", "superset": "subset", "superseteq": "subseteq"}

_COMPUTED: dict[type[Expression], Callable[..., Many]] = {
    AxisProjection: _projection,
    Width: _width,
    Ratio: _ratio,
    IntervalLiteral: _literal,
    BoxLiteral: _box,
    Combination: _combination,
    BoxRelation: _relation,
}
