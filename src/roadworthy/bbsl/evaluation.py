"""What a specification says of one frame: the f of Definition 9.

Where an external function has no value for a frame, what depends on it may have none either: ``and``, ``or``,
``not`` and the quantifiers follow Kleene's strong logic, so that ``false and unknown`` is still false. No
value also has RAT where its second set has no area, an interval of computed ends that are the wrong way
round, a box with an empty side, and a function of an empty interval.

This module says it for one frame, as plainly as the definitions do; `roadworthy.bbsl.batches` says the same
for millions at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from roadworthy.bbsl import syntax
from roadworthy.bbsl.specification import CaseClause, ExternalFunction, Spec
from roadworthy.bbsl.type_checking import Axis, Slot, find_axes, find_problems
from roadworthy.bbsl.values import (
    EMPTY,
    Box,
    Coordinates,
    Interval,
    Value,
    area,
    common_boxes,
    meet,
    overlap,
    within,
)
from roadworthy.errors import InputError


@dataclass(frozen=True)
class SpecificationOutcome:
    """What a specification says of one frame.

    Attributes:
        applies: Whether the precondition holds; None when that is not known. Where it does not hold, or is
            not known, the specification says nothing.
        values: Whether each case holds; None when that is not known, and wherever `applies` is not True.

    Example:
        >>> SpecificationOutcome(True, {"stop": True, "NOT stop": None}).cases
        {'stop'}
    """

    applies: bool | None
    values: Mapping[str, bool | None]

    @property
    def cases(self) -> set[str]:
        """The labels of the cases that hold."""
        return {label for label, value in self.values.items() if value}

    @property
    def unknown(self) -> set[str]:
        """The labels of the cases that may hold or not, where the precondition holds."""
        return {label for label, value in self.values.items() if self.applies and value is None}


@dataclass(frozen=True)
class Prepared:
    """A specification without type errors, and what must be known to evaluate it.

    Attributes:
        functions: The external functions that it uses.
        axes: Along which axis their intervals lie.
    """

    functions: Mapping[str, ExternalFunction]
    axes: Mapping[Slot, Axis]

    def check_bound(self, bound: Iterable[str]) -> None:
        """Check that every function that is used is bound to something.

        Raises:
            InputError: One is not.
        """
        given = set(bound)
        missing = [name for name in self.functions if name not in given]
        if missing:
            hints = "".join(syntax.nearest(name, given) for name in missing[:1])
            names = ", ".join(f"{name}()" for name in missing)
            raise InputError(f"every function that is used must be bound; nothing is bound to {names}{hints}")


def prepare(spec: Spec) -> Prepared:
    """Check the types of a specification and look up what evaluating it needs.

    Raises:
        SpecificationError: Names are not bound or types are wrong; shows every place.
    """
    problems = find_problems(spec)
    if problems:
        raise syntax.SpecificationError(problems, spec.source, spec.path)
    parts = (part for whole in spec.expressions for part in syntax.walk(whole))
    used = {part.function for part in parts if isinstance(part, syntax.FunctionCall)}
    return Prepared({one.name: one for one in spec.functions if one.name in used}, find_axes(spec))


def require_one_frame(spec: Spec) -> None:
    """Check that a specification speaks of the frame at hand alone.

    Raises:
        InputError: It speaks of several.
    """
    if spec.is_temporal:
        raise InputError("the specification speaks of several frames: use bbsl.tracks.evaluate_track")


def evaluate(
    spec: Spec, bindings: Mapping[str, Any], *, height: float | None = None, width: float | None = None
) -> SpecificationOutcome:
    """Say whether a specification applies to one frame, and which of its cases hold.

    Args:
        spec: The specification.
        bindings: For each external function its value, or a callable that takes its arguments; boxes and
            intervals in image pixels, None or NaN where there is no value.
        height: The height of the image in pixels, to turn y upward.
        width: The width of the image in pixels, for IMG.

    Raises:
        InputError: A function is unbound, or a value is none of its type.
    """
    require_one_frame(spec)
    evaluator = Evaluator(spec.prepared, bindings, Coordinates(height, width))
    applies = evaluator.condition(spec.precondition or syntax.TruthConstant(True), {})
    if applies is not True:
        return SpecificationOutcome(applies, dict.fromkeys(spec.labels))
    return SpecificationOutcome(True, {case.label: evaluator.case(case) for case in spec.case_blocks})


class Evaluator:
    """Gives the values of expressions in one frame.

    Args:
        prepared: What is known about the specification.
        bindings: The external functions, as for `evaluate`.
        coordinates: Those of the image.
    """

    def __init__(self, prepared: Prepared, bindings: Mapping[str, Any], coordinates: Coordinates) -> None:
        prepared.check_bound(bindings)
        self._prepared = prepared
        self._bindings = bindings
        self._coordinates = coordinates
        self._known: dict[str, Value] = {}

    def case(self, case: CaseClause) -> bool | None:
        """Say whether a case holds; None when that is not known."""
        return self.condition(case.condition, self.scope(case))

    def scope(self, case: CaseClause) -> dict[str, Value]:
        """Return the values that the lets of a case bind."""
        scope: dict[str, Value] = {}
        for let in case.lets:
            scope[let.name] = _as_type(self.value(let.value, scope), let.type)
        return scope

    def condition(self, part: syntax.Expression, scope: Mapping[str, Value]) -> bool | None:
        """Say whether a condition holds; None when that is not known."""
        value = self.value(part, scope)
        assert value is None or isinstance(value, bool)  # the types were checked
        return value

    def value(self, part: syntax.Expression, scope: Mapping[str, Value]) -> Value:
        """Return the value of an expression; None when there is none."""
        match part:
            case syntax.RealNumber() | syntax.TruthConstant():
                return part.value
            case syntax.Name():
                return scope[part.name]
            case syntax.ImageBox():
                return self._coordinates.image()
            case syntax.FunctionCall():
                return self._call(part, scope)
            case syntax.Not():
                held = self.condition(part.operand, scope)
                return None if held is None else not held
            case syntax.Junction():
                joint = _all if part.operator == "and" else _any
                return joint(self.condition(operand, scope) for operand in part.operands)
            case syntax.Quantified():
                return self._quantified(part, scope)
        # Everything else has no value where a part of it has none.
        parts = [self.value(one, scope) for one in syntax.children(part)]
        return None if any(one is None for one in parts) else _COMPUTED[type(part)](part, *parts)

    def _call(self, part: syntax.FunctionCall, scope: Mapping[str, Value]) -> Value:
        function = self._prepared.functions[part.function]
        if not function.parameters and function.name in self._known:
            return self._known[function.name]
        arguments = [
            _as_type(self.value(one, scope), kind)
            for one, kind in zip(part.arguments, function.parameters, strict=True)
        ]
        value = self.call(function, arguments)
        if not function.parameters:
            self._known[function.name] = value
        return value

    def call(self, function: ExternalFunction, arguments: list[Value]) -> Value:
        """Return the value of an external function; None where an argument has none, or is an empty interval.

        Raises:
            InputError: The function takes arguments and is bound to no callable, or returns a wrong value.
        """
        name = function.name
        if any(one is None or one == EMPTY for one in arguments):
            return None
        bound = self._bindings[name]
        if callable(bound):
            axes = (self._prepared.axes["parameter", name, str(index)] for index in range(len(arguments)))
            bound = bound(*map(self._coordinates.outward, arguments, axes))
        elif function.parameters:
            raise InputError(f"{name}() takes arguments: bind it to a callable, got {bound!r}")
        return self._coordinates.inward(bound, function.result, name, self._prepared.axes["function", name])

    def _quantified(self, part: syntax.Quantified, scope: Mapping[str, Value]) -> bool | None:
        boxes = self.value(part.boxes, scope)
        if boxes is None:
            return None
        assert isinstance(boxes, tuple)  # the types were checked
        held = (self.condition(part.body, {**scope, part.variable: box}) for box in boxes)
        return _all(held) if part.quantifier == "forall" else _any(held)


def _all(held: Iterable[bool | None]) -> bool | None:
    known = True
    for one in held:
        if one is False:
            return False
        known = known and one is not None
    return True if known else None


def _any(held: Iterable[bool | None]) -> bool | None:
    found = _all(None if one is None else not one for one in held)
    return None if found is None else not found


def _as_type(value: Value, kind: syntax.Type) -> Value:
    """Return an end of a projection as a real where one is asked for."""
    return value.lower if kind is syntax.Type.REAL and isinstance(value, Interval) else value


def as_number(value: Any) -> float:
    """Return a real, also where it is the end of a projection."""
    return float(value.lower if isinstance(value, Interval) else value)


def as_interval(value: Any) -> Any:
    """Return a real as a point interval; everything else as it is."""
    return Interval(value, value) if type(value) in (float, int) else value


def projection(part: syntax.AxisProjection, box: Any) -> Any:
    """Return a side of a box, or of arrays of boxes, or an end of it as a point interval (Definition 7)."""
    side = box.x if part.axis == "x" else box.y
    if part.end is None:
        return side
    end = side.lower if part.end == "lower" else side.upper
    return type(side)(end, end)


def _literal(_: syntax.Expression, lower: Any, upper: Any) -> Interval | None:
    ends = Interval(as_number(lower), as_number(upper))
    return ends if ends.lower <= ends.upper else None


def _ratio(_: syntax.Expression, part: Any, whole: Any) -> float | None:
    size = area(whole)
    return area(part) / size if size > 0 else None


def _combination(part: syntax.Combination, left: Any, right: Any) -> Value:
    if isinstance(left, Interval):
        return meet(left, right)
    return tuple(left) + tuple(right) if part.operator == "union" else common_boxes(left, right)


def _relation(part: syntax.BoxRelation, left: Any, right: Any) -> bool:
    operator, left, right = syntax.turned(part.operator, left, right)
    if operator == "<=":
        return as_number(left) <= as_number(right)
    if operator == "in":
        return bool(right.lower <= as_number(left) <= right.upper)
    if isinstance(left, Interval) or isinstance(right, Interval):
        left, right = as_interval(left), as_interval(right)
    if operator == "=":
        return bool(left == right)
    if operator == "<":
        return bool(left.upper < right.lower if isinstance(left, Interval) else left < right)
    relation = overlap if operator == "overlaps" else within
    sides = [(left, right)] if isinstance(left, Interval) else [(left.x, right.x), (left.y, right.y)]
    return all(relation(one, other) for one, other in sides) and (operator != "subset" or bool(left != right))


_COMPUTED: dict[type[syntax.Expression], Callable[..., Value]] = {
    syntax.AxisProjection: projection,
    syntax.Width: lambda _, interval: max(0.0, interval.upper - interval.lower),
    syntax.Ratio: _ratio,
    syntax.IntervalLiteral: _literal,
    syntax.BoxLiteral: lambda _, x, y: None if EMPTY in (x, y) else Box(x, y),
    syntax.SetLiteral: lambda _, *boxes: boxes,
    syntax.Combination: _combination,
    syntax.BoxRelation: _relation,
}
