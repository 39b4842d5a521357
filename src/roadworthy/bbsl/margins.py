"""How far a condition is from its border, in pixels: the quantitative reading of a specification.

The margin of a condition is positive where it holds and negative where it does not; at exactly 0 either may
be. No error of the edges of the moving boxes below its size changes whether the condition holds. It is built
as in the quantitative semantics of signal temporal logic: the smallest of an ``and``, the largest of an
``or``, the opposite of a ``not``. So it is a safe distance, not always the largest one: ``a and not a`` has
the margin of the nearer border, though no error makes it true; `roadworthy.bbsl.coverage` finds the
nearest box that makes a difference.

What does not change with an edge (a truth value from outside, a number that is compared with another) has an
infinite margin. Where boxes or intervals are intersected, an error that makes them begin to meet may change
everything, so no margin is larger than that. A share of an area is turned into pixels to first order: the
change of the share that moving every edge by one pixel can make at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from roadworthy.bbsl import syntax
from roadworthy.bbsl.evaluation import Evaluator, as_interval, as_number
from roadworthy.bbsl.specification import CaseClause
from roadworthy.bbsl.values import EMPTY, Box, Interval, Value, area

Margin = float | None
"""A margin; None where a condition has no value."""


def opposite(margin: Margin) -> Margin:
    """Return the margin of "not"."""
    return None if margin is None else -margin


def all_of(margins: Iterable[Margin]) -> Margin:
    """Return the margin of "and": the smallest; unknown where a part is unknown and none is false.

    Example:
        >>> all_of([3.0, 1.5]), all_of([3.0, None]), all_of([-2.0, None])
        (1.5, None, -2.0)
    """
    smallest, unknown = math.inf, False
    for margin in margins:
        if margin is None:
            unknown = True
        else:
            smallest = min(smallest, margin)
    return None if unknown and smallest >= 0 else smallest


def any_of(margins: Iterable[Margin]) -> Margin:
    """Return the margin of "or": the largest; unknown where a part is unknown and none is true."""
    return opposite(all_of(map(opposite, margins)))


JOINT = {
    **dict.fromkeys(("and", "forall", "always"), all_of),
    **dict.fromkeys(("or", "exists", "eventually"), any_of),
}
"""How the margins of parts make that of the whole, by the word that joins them."""


@dataclass(frozen=True)
class MarginContext:
    """What names stand for.

    Attributes:
        values: The values that lets and quantifiers bind.
        lets: What the values of lets are computed from.
        rates: By how many pixels the boxes of quantifiers change when every moving edge is off by one.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    lets: Mapping[str, syntax.Expression] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)

    def with_box(self, name: str, box: Box, rate: float) -> MarginContext:
        """Return the context inside a quantifier."""
        return replace(self, values={**self.values, name: box}, rates={**self.rates, name: rate})


class Margins:
    """Gives the margins of conditions in one frame.

    Args:
        evaluator: Gives the values.
        moving: The external functions whose boxes may be off.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> from roadworthy.bbsl.values import Coordinates
        >>> spec = parse("exfunction v(): bb endexfunction case stop PROJ_y(v()) ~ [0, 100] endcase")
        >>> evaluator = Evaluator(spec.prepared, {"v": [600, 180, 700, 300]}, Coordinates(375))
        >>> Margins(evaluator, ["v"]).case(spec.case_blocks[0])
        25.0
    """

    def __init__(self, evaluator: Evaluator, moving: Iterable[str]) -> None:
        self._evaluator = evaluator
        self._moving = frozenset(moving)

    def context(self, case: CaseClause) -> MarginContext:
        """Return what the lets of a case bind."""
        return MarginContext(self._evaluator.scope(case), {let.name: let.value for let in case.lets})

    def case(self, case: CaseClause) -> Margin:
        """Return the margin of a case's condition."""
        return self.condition(case.condition, self.context(case))

    def condition(self, part: syntax.Expression, context: MarginContext) -> Margin:
        """Return the margin of a condition."""
        match part:
            case syntax.Not():
                return opposite(self.condition(part.operand, context))
            case syntax.Junction():
                together = JOINT[part.operator]([self.condition(one, context) for one in part.operands])
                return self._decided(part, together, context)
            case syntax.Quantified():
                return self._decided(part, self._quantified(part, context), context)
            case syntax.BoxRelation():
                return self._relation(part, context)
            case syntax.Name() if part.name in context.lets:
                return self.condition(context.lets[part.name], context)
        held = self._evaluator.condition(part, context.values)
        return None if held is None else math.inf if held else -math.inf

    def _decided(self, part: syntax.Expression, margin: Margin, context: MarginContext) -> Margin:
        """Return a margin, also where a part on its very border decides: 0 does not tell true from false."""
        if margin is None and self._evaluator.condition(part, context.values) is not None:
            return 0.0
        return margin

    def _quantified(self, part: syntax.Quantified, context: MarginContext) -> Margin:
        if self._evaluator.value(part.boxes, context.values) is None:
            return None
        rate = self.rate(part.boxes, context)
        inside = [
            self.condition(part.body, context.with_box(part.variable, box, rate))
            for box in self._boxes(part.boxes, context)
        ]
        margin = JOINT[part.quantifier](inside)
        limit = self._limit(part.boxes, context)
        return None if margin is None else min(max(margin, -limit), limit)

    def _relation(self, part: syntax.BoxRelation, context: MarginContext) -> Margin:
        held = self._evaluator.condition(part, context.values)
        if held is None:
            return None
        left, right = (self._evaluator.value(one, context.values) for one in (part.left, part.right))
        if isinstance(left, bool):
            first, second = self.condition(part.left, context), self.condition(part.right, context)
            return any_of([all_of([first, second]), all_of([opposite(first), opposite(second)])])
        rate = self.rate(part.left, context) + self.rate(part.right, context)
        distance = abs(_distance(part.operator, left, right)) / rate if rate else math.inf
        distance = min(distance, self._limit(part.left, context), self._limit(part.right, context))
        return distance if held else -distance

    def rate(self, part: syntax.Expression, context: MarginContext) -> float:
        """Return by how much a value changes at most when every moving edge is off by a pixel."""
        match part:
            case syntax.Name() if part.name in context.lets:
                return self.rate(context.lets[part.name], context)
            case syntax.Name():
                return context.rates.get(part.name, 0.0)
            case syntax.FunctionCall():
                # What a function makes of a box that moves is not known; it is taken as it is.
                return float(part.function in self._moving)
            case syntax.Width():
                return 2 * self.rate(part.interval, context)
            case syntax.Ratio():
                return self._rate_of_ratio(part, context)
        return max((self.rate(one, context) for one in syntax.children(part)), default=0.0)

    def _rate_of_ratio(self, part: syntax.Ratio, context: MarginContext) -> float:
        share = self._evaluator.value(part, context.values)
        if not isinstance(share, float):
            return 0.0
        borders = []
        for one in (part.part, part.whole):
            boxes = self._boxes(one, context) if self.rate(one, context) else []
            borders.append(2 * sum(box.x.upper - box.x.lower + box.y.upper - box.y.lower for box in boxes))
        return (borders[0] + share * borders[1]) / area(self._boxes(part.whole, context))

    def _boxes(self, part: syntax.Expression, context: MarginContext) -> list[Box]:
        boxes = self._evaluator.value(part, context.values)
        return [box for box in boxes if isinstance(box, Box)] if isinstance(boxes, tuple) else []

    def _limit(self, part: syntax.Expression, context: MarginContext, *, areas: bool = False) -> float:
        """Return how far edges may be off before something inside an expression comes to be, or is no more.

        An intersection comes to be where two boxes or intervals begin to meet, and an interval of computed
        ends is none where these cross. An area changes little where two boxes part, so that does not count
        inside a share of areas.
        """
        match part:
            case syntax.Name() if part.name in context.lets:
                return self._limit(context.lets[part.name], context, areas=areas)
            case syntax.Ratio():
                areas = True
        inside = [self._limit(one, context, areas=areas) for one in syntax.children(part)]
        rate = sum(self.rate(one, context) for one in syntax.children(part))
        if isinstance(part, syntax.Combination) and part.operator == "intersection" and rate:
            left, right = (self._evaluator.value(one, context.values) for one in (part.left, part.right))
            depths = [_distance("overlaps", a, b) for a, b in product(_members(left), _members(right))]
            inside += [abs(depth) / rate for depth in depths if depth < 0 or not areas]
        if isinstance(part, syntax.IntervalLiteral) and rate:
            ends = (self._evaluator.value(one, context.values) for one in (part.lower, part.upper))
            lower, upper = (None if end is None else as_number(end) for end in ends)
            inside += [] if lower is None or upper is None else [abs(upper - lower) / rate]
        return min(inside, default=math.inf)


def _members(value: Value) -> Sequence[Value]:
    """Return the boxes of a set; an interval alone; nothing where there is no value."""
    if value is None:
        return ()
    return (value,) if isinstance(value, Interval) else value if isinstance(value, tuple) else ()


def _distance(operator: str, left: Value, right: Value) -> float:
    """Return how far two values are from where the relation begins or ends to hold."""
    numbers = not isinstance(left, Box | Interval) and not isinstance(right, Interval)
    if numbers or operator in ("<=", ">=", "in"):
        return _real_distance(operator, left, right)
    operator, left, right = syntax.turned(operator, left, right)
    if isinstance(left, Box) and isinstance(right, Box):
        sides = list(zip(left, right, strict=True))
    else:
        sides = [(as_interval(left), as_interval(right))]
    distances = [_interval_distance(operator, a, b) for a, b in sides]
    return min(*distances, max(_apart(a, b) for a, b in sides)) if operator == "subset" else min(distances)


def _real_distance(operator: str, left: Value, right: Value) -> float:
    number = as_number(left)
    if isinstance(right, Interval) and operator == "in":
        return min(number - right.lower, right.upper - number)
    return number - as_number(right)


def _interval_distance(operator: str, a: Interval, b: Interval) -> float:
    if EMPTY in (a, b):
        return math.inf
    match operator:
        case "<":
            return b.lower - a.upper
        case "=":
            return -_apart(a, b)
        case "overlaps":
            return min(a.upper - b.lower, b.upper - a.lower)
    return min(a.lower - b.lower, b.upper - a.upper)  # within, or strictly so


def _apart(a: Interval, b: Interval) -> float:
    return max(abs(a.lower - b.lower), abs(a.upper - b.upper))
