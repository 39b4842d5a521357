"""What a specification says of many frames at once, with arrays; the same as `evaluation` says of each.

A row of the arrays is a frame, or an object where a specification over one box is tried on every object.
Inside a quantifier a row is a frame together with one of its boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.bbsl import arrays, syntax
from roadworthy.bbsl.evaluation import Evaluator, Prepared, projection, require_one_frame
from roadworthy.bbsl.specification import CaseClause, ExternalFunction, Spec
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
    coordinates = arrays.ArrayCoordinates(prepared.functions, bindings, height, width, count)
    rows = _Rows(prepared, bindings, coordinates, np.arange(coordinates.count))
    applies = rows.condition(spec.precondition or syntax.TruthConstant(True))
    values = {}
    for case in spec.case_blocks:
        held = rows.case(case)
        # Where the specification does not apply it says nothing, neither true nor false.
        both = arrays.Kleene(held.true & applies.true, held.false & applies.true)
        values[case.label] = both.numbers(coordinates.count)
    return Outcomes(applies.numbers(coordinates.count), values)


@dataclass
class _Rows:
    """Values in rows: frames, or the boxes of sets inside a quantifier.

    Attributes:
        prepared: What is known of the specification.
        bindings: What functions are bound to.
        coordinates: What turns that into values.
        frames: Of each row the row of the outer context that it belongs to; of the outermost, the frame.
        outer: The rows around a quantifier.
    """

    prepared: Prepared
    bindings: Mapping[str, Any]
    coordinates: arrays.ArrayCoordinates
    frames: arrays.Rows
    outer: _Rows | None = None
    _functions: dict[str, arrays.Many] = field(default_factory=dict)
    _names: dict[str, arrays.Many] = field(default_factory=dict)

    def case(self, case: CaseClause) -> arrays.Kleene:
        """Say whether a case holds."""
        self._names = {}
        for let in case.lets:
            self._names[let.name] = self.value(let.value)
        return self.condition(case.condition)

    def condition(self, part: syntax.Expression) -> arrays.Kleene:
        """Say whether a condition holds."""
        value = self.value(part)
        assert isinstance(value, arrays.Kleene)  # the types were checked
        return value

    def value(self, part: syntax.Expression) -> arrays.Many:
        """Return the values of an expression."""
        match part:
            case syntax.RealNumber():
                return arrays.Intervals.points(np.asarray(part.value))
            case syntax.TruthConstant():
                return arrays.Kleene.constant(part.value)
            case syntax.Name():
                return self._named(part.name)
            case syntax.ImageBox():
                return self.coordinates.image().taken(self._roots())
            case syntax.FunctionCall():
                return self._call(part)
            case syntax.Not():
                return ~self.condition(part.operand)
            case syntax.Junction():
                joint = and_ if part.operator == "and" else or_
                return reduce(joint, (self.condition(one) for one in part.operands))
            case syntax.Quantified():
                return self._quantified(part)
            case syntax.SetLiteral():
                return self._set([self.value(one) for one in part.boxes])
        return _COMPUTED[type(part)](part, *(self.value(one) for one in syntax.children(part)))

    def _named(self, name: str) -> arrays.Many:
        if name not in self._names:
            assert self.outer is not None  # the types were checked
            self._names[name] = self.outer._named(name).taken(self.frames)
        return self._names[name]

    def _roots(self) -> arrays.Rows:
        return self.frames if self.outer is None else self.outer._roots()[self.frames]

    def _call(self, part: syntax.FunctionCall) -> arrays.Many:
        function = self.prepared.functions[part.function]
        if function.parameters:
            return self._call_rows(function, [self.value(one) for one in part.arguments])
        if function.name not in self._functions:
            self._functions[function.name] = (
                self.coordinates.value(function, self.prepared.axes["function", function.name])
                if self.outer is None
                else self.outer._call(part).taken(self.frames)
            )
        return self._functions[function.name]

    def _call_rows(self, function: ExternalFunction, arguments: list[arrays.Many]) -> arrays.Many:
        """Ask a function with parameters row by row: what users write takes one box, not arrays."""
        heights, widths = self.coordinates.height, self.coordinates.width
        typed = list(zip(arguments, function.parameters, strict=True))
        answers: list[Value] = []
        for row, frame in enumerate(self._roots()):
            height = None if heights is None else float(heights[frame] if heights.ndim else heights)
            width = None if widths is None else float(widths[frame] if widths.ndim else widths)
            caller = Evaluator(self.prepared, self.bindings, Coordinates(height, width))
            answers.append(caller.call(function, [arrays.one_value(one, row, kind) for one, kind in typed]))
        return arrays.many_values(answers, function.result)

    def _quantified(self, part: syntax.Quantified) -> arrays.Kleene:
        sets = self.value(part.boxes)
        assert isinstance(sets, arrays.Sets)  # the types were checked
        owners, count = sets.owners(), len(sets.counts)
        inner = _Rows(self.prepared, self.bindings, self.coordinates, owners, self)
        inner._names[part.variable] = sets.boxes
        held = inner.condition(part.body)
        true = np.bincount(owners[np.broadcast_to(held.true, owners.shape)], minlength=count)
        false = np.bincount(owners[np.broadcast_to(held.false, owners.shape)], minlength=count)
        if part.quantifier == "forall":
            return arrays.Kleene((true == sets.counts) & sets.known, false > 0)
        return arrays.Kleene(true > 0, (false == sets.counts) & sets.known)

    def _set(self, boxes: list[Any]) -> arrays.Sets:
        count = len(self.frames)
        nothing = arrays.Intervals(np.zeros(0), np.zeros(0))
        none = arrays.BoxArrays(nothing, nothing)
        empty = arrays.Sets(none, np.zeros(count, np.intp), np.ones(count, np.bool_))
        return arrays.joined([empty, *(_single(box, count) for box in boxes)])


def _single(box: arrays.BoxArrays, count: int) -> arrays.Sets:
    """Return the sets that hold one box each; not known where the box is not."""
    ends = (box.x.lower, box.x.upper, box.y.lower, box.y.upper)
    left, right, low, high = (np.broadcast_to(one, count) for one in ends)
    whole = arrays.BoxArrays(arrays.Intervals(left, right), arrays.Intervals(low, high))
    known = ~np.isnan(whole.x.lower)
    return arrays.Sets(whole.taken(np.flatnonzero(known)), known.astype(np.intp), known)


def _literal(_: syntax.Expression, lower: arrays.Intervals, upper: arrays.Intervals) -> arrays.Intervals:
    low, high = np.broadcast_arrays(lower.lower, upper.lower)
    known = low <= high
    return arrays.Intervals(np.where(known, low, np.nan), np.where(known, high, np.nan))


def _box(_: syntax.Expression, x: arrays.Intervals, y: arrays.Intervals) -> arrays.BoxArrays:
    # A side without a value compares as false, and so does an empty one.
    missing = ~((x.lower <= x.upper) & (y.lower <= y.upper))
    ends = (np.where(missing, np.nan, one) for one in (x.lower, x.upper, y.lower, y.upper))
    left, right, low, high = ends
    return arrays.BoxArrays(arrays.Intervals(left, right), arrays.Intervals(low, high))


def _ratio(_: syntax.Expression, part: arrays.Sets, whole: arrays.Sets) -> arrays.Intervals:
    size = arrays.areas(whole)
    return arrays.Intervals.points(arrays.areas(part) / np.where(size > 0, size, np.nan))


def _combination(part: syntax.Combination, left: Any, right: Any) -> arrays.Many:
    if isinstance(left, arrays.Intervals):
        return left.meet(right)
    return arrays.joined([left, right]) if part.operator == "union" else arrays.common(left, right)


def _relation(part: syntax.BoxRelation, left: Any, right: Any) -> arrays.Kleene:
    operator, left, right = syntax.turned(part.operator, left, right)
    held: arrays.Kleene = getattr(left, _RELATIONS[operator])(right)
    return held & ~left.same(right) if operator == "subset" else held


# The methods of arrays; reals lie in intervals as points do.
_RELATIONS = {
    "=": "same",
    "<": "below",
    "<=": "at_most",
    "overlaps": "overlaps",
    **dict.fromkeys(("subseteq", "subset", "in"), "within"),
}


# What is compared and joined has these types, because they were checked.
_COMPUTED: dict[type[syntax.Expression], Callable[..., arrays.Many]] = {
    syntax.AxisProjection: projection,
    syntax.Width: lambda _, interval: arrays.Intervals.points(
        np.maximum(interval.upper - interval.lower, 0.0)
    ),
    syntax.Ratio: _ratio,
    syntax.IntervalLiteral: _literal,
    syntax.BoxLiteral: _box,
    syntax.Combination: _combination,
    syntax.BoxRelation: _relation,
}
