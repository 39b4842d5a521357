"""Symbolic values of BBSL for Z3: reals, intervals, boxes, sets of boxes, and their areas.

An end of an interval is a term of z3; a truth value is a pair of formulas, one for "true", one for "false",
because a condition may have no value (an empty intersection, a share of an area that is 0).

The area of a set is the area of the union of its boxes: a polynomial of second degree on each of very many
pieces, which no solver likes. So a question is first asked with less, and then with more:

- `OpaqueAreas`: an area is an unknown number of which only linear facts are said: it is above 0 exactly where
  a box of the set has an area, an intersection is no larger than either side (of two boxes: smaller than one
  exactly where it sticks out of the other), a union no smaller. What cannot happen even then cannot happen at
  all.
- `GridAreas`: corners lie on the lines of a grid, and an area is the sum of the cells covered: linear.
  What can happen there can happen.
- `ExactAreas`: the area itself by inclusion and exclusion. Nothing is lost, but answers may take long.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from operator import eq, ge, gt, le, lt
from typing import Any, TypeAlias

from roadworthy.bbsl.checking import lazy_z3 as z3
from roadworthy.bbsl.syntax import turned

Term: TypeAlias = Any
"""A number of z3, whose Python interface has no types."""
Formula: TypeAlias = Any
"""A truth value of z3."""


def conjunction(formulas: Iterable[Formula]) -> Formula:
    """Return "all of these", kept small: z3 is given formulas, not riddles."""
    kept = [one for one in formulas if not z3.is_true(one)]
    if any(map(z3.is_false, kept)):
        return z3.BoolVal(False)
    return kept[0] if len(kept) == 1 else z3.And(kept) if kept else z3.BoolVal(True)


def disjunction(formulas: Iterable[Formula]) -> Formula:
    """Return "one of these"."""
    kept = [one for one in formulas if not z3.is_false(one)]
    if any(map(z3.is_true, kept)):
        return z3.BoolVal(True)
    return kept[0] if len(kept) == 1 else z3.Or(kept) if kept else z3.BoolVal(False)


def negation(formula: Formula) -> Formula:
    """Return "not this"."""
    if z3.is_true(formula):
        return z3.BoolVal(False)
    return z3.BoolVal(True) if z3.is_false(formula) else z3.Not(formula)


def maximum(first: Term, second: Term) -> Term:
    """Return the larger of two terms."""
    return first if first is second else z3.If(first >= second, first, second)


def minimum(first: Term, second: Term) -> Term:
    """Return the smaller of two terms."""
    return first if first is second else z3.If(first <= second, first, second)


@dataclass(frozen=True, eq=False)
class SymbolicBool:
    """A truth value with three outcomes: where both formulas are false it has none."""

    true: Formula
    false: Formula

    @classmethod
    def of(cls, formula: Formula, defined: Formula | None = None) -> SymbolicBool:
        """Return a truth value that has an outcome where ``defined`` holds."""
        known = z3.BoolVal(True) if defined is None else defined
        return cls(conjunction([known, formula]), conjunction([known, negation(formula)]))

    def __invert__(self) -> SymbolicBool:
        return SymbolicBool(self.false, self.true)

    @staticmethod
    def every(parts: Sequence[SymbolicBool]) -> SymbolicBool:
        """Return the conjunction (Kleene): false as soon as one part is."""
        return SymbolicBool(conjunction(one.true for one in parts), disjunction(one.false for one in parts))

    @staticmethod
    def some(parts: Sequence[SymbolicBool]) -> SymbolicBool:
        """Return the disjunction (Kleene): true as soon as one part is."""
        return SymbolicBool(disjunction(one.true for one in parts), conjunction(one.false for one in parts))


@dataclass(frozen=True, eq=False)
class SymbolicReal:
    """A number, as a fraction: comparing two fractions needs no division."""

    numerator: Term
    denominator: Term | None
    defined: Formula


@dataclass(frozen=True, eq=False)
class SymbolicInterval:
    """An interval, lower ≤ upper unless it is empty: what two intervals that do not meet have in common."""

    lower: Term
    upper: Term
    filled: Formula
    defined: Formula

    @classmethod
    def point(cls, place: SymbolicReal) -> SymbolicInterval:
        """Return a number as the interval of this one number."""
        return cls(place.numerator, place.numerator, z3.BoolVal(True), place.defined)

    @property
    def end(self) -> SymbolicReal:
        """The lower end as a number: what an end of a projection is where a number is asked for."""
        return SymbolicReal(self.lower, None, self.defined)

    def meets(self, other: SymbolicInterval) -> Formula:
        """Return whether two intervals share a point; touching counts (Definition 6)."""
        touch = [other.lower <= self.upper, self.lower <= other.upper]
        return conjunction([self.filled, other.filled, *touch])


@dataclass(frozen=True, eq=False)
class SymbolicBox:
    """A bounding box: two intervals."""

    x: SymbolicInterval
    y: SymbolicInterval

    @property
    def filled(self) -> Formula:
        """Whether neither interval is empty."""
        return conjunction([self.x.filled, self.y.filled])

    @property
    def defined(self) -> Formula:
        """Whether both intervals have a value."""
        return conjunction([self.x.defined, self.y.defined])

    @property
    def has_area(self) -> Formula:
        """Whether the box is more than a line or a point."""
        return conjunction([self.x.lower < self.x.upper, self.y.lower < self.y.upper])


@dataclass(frozen=True, eq=False)
class Member:
    """A box that belongs to a set where ``present`` holds."""

    present: Formula
    box: SymbolicBox


@dataclass(frozen=True, eq=False)
class SymbolicSet:
    """A set of boxes.

    Attributes:
        members: Its boxes, each with the condition that it belongs to the set.
        defined: Where the set has a value.
        parts: Sets that hold all of its area, as an intersection is inside both of its sides.
        covers: Sets whose area it holds, as a union holds both of its sides.
    """

    members: tuple[Member, ...]
    defined: Formula
    parts: tuple[SymbolicSet, ...] = ()
    covers: tuple[SymbolicSet, ...] = ()


def limited(value: Symbolic, where: Formula) -> Symbolic:
    """Return a value that is there only where a formula holds."""
    if isinstance(value, SymbolicBool):
        return SymbolicBool(conjunction([where, value.true]), conjunction([where, value.false]))
    if isinstance(value, SymbolicBox):
        sides = (limited(side, where) for side in (value.x, value.y))
        return SymbolicBox(*sides)  # type: ignore[arg-type]  # both are intervals
    return replace(value, defined=conjunction([where, value.defined]))


Symbolic = SymbolicBool | SymbolicReal | SymbolicInterval | SymbolicBox | SymbolicSet


def terms(value: Symbolic) -> list[Term]:
    """Return the terms of z3 that a value is made of."""
    match value:
        case SymbolicBool():
            return [value.true]
        case SymbolicReal():
            return [value.numerator, *([] if value.denominator is None else [value.denominator])]
        case SymbolicInterval():
            return [value.lower, value.upper]
        case SymbolicBox():
            return [*terms(value.x), *terms(value.y)]
    return [term for member in value.members for term in (member.present, *terms(member.box))]


def key(value: Symbolic) -> tuple[int, ...]:
    """Return what tells a value apart from others: the numbers of its terms."""
    return tuple(term.get_id() for term in terms(value))


def intersection(first: SymbolicInterval, second: SymbolicInterval) -> SymbolicInterval:
    """Return what two intervals share, which may be nothing."""
    lower, upper = maximum(first.lower, second.lower), minimum(first.upper, second.upper)
    return SymbolicInterval(lower, upper, first.meets(second), conjunction([first.defined, second.defined]))


def related(operator: str, left: Any, right: Any) -> SymbolicBool:
    """Return whether a relation of BBSL holds (Definitions 3 to 6) of values that it is defined on."""
    if isinstance(left, SymbolicBool):
        same = disjunction([conjunction([left.true, right.true]), conjunction([left.false, right.false])])
        known = conjunction([z3.Or(left.true, left.false), z3.Or(right.true, right.false)])
        return SymbolicBool.of(same, known)
    if operator in ("<=", ">=", "in") and isinstance(left, SymbolicInterval):
        left = left.end
    if operator in ("<=", ">=") and isinstance(right, SymbolicInterval):
        right = right.end
    defined = conjunction([left.defined, right.defined])
    if isinstance(left, SymbolicReal) and isinstance(right, SymbolicReal):
        return SymbolicBool.of(_compared(operator, left, right), defined)
    if operator == "in":
        above = _compared(">=", left, SymbolicReal(right.lower, None, right.filled))
        below = _compared("<=", left, SymbolicReal(right.upper, None, right.filled))
        return SymbolicBool.of(conjunction([right.filled, above, below]), defined)
    operator, left, right = turned(operator, left, right)
    left, right = (
        SymbolicInterval.point(one) if isinstance(one, SymbolicReal) else one for one in (left, right)
    )
    return SymbolicBool.of(_POSITIONS[operator](left, right), defined)


def _compared(operator: str, left: SymbolicReal, right: SymbolicReal) -> Formula:
    # Denominators are areas, which are above 0 where the fraction is defined.
    first = left.numerator if right.denominator is None else left.numerator * right.denominator
    second = right.numerator if left.denominator is None else right.numerator * left.denominator
    return _REALS[operator](first, second)


_REALS: dict[str, Callable[[Term, Term], Formula]] = {"<": lt, ">": gt, "=": eq, "<=": le, ">=": ge}


def _on_each_side(relation: Callable[[Any, Any], Formula]) -> Callable[[Any, Any], Formula]:
    """Return a relation of intervals as one that boxes have where both their sides have it."""

    def extended(a: Any, b: Any) -> Formula:
        return (
            conjunction([relation(a.x, b.x), relation(a.y, b.y)])
            if isinstance(a, SymbolicBox)
            else relation(a, b)
        )

    return extended


@_on_each_side
def _inside(a: SymbolicInterval, b: SymbolicInterval) -> Formula:
    return disjunction([negation(a.filled), conjunction([b.filled, b.lower <= a.lower, a.upper <= b.upper])])


@_on_each_side
def _equal(a: SymbolicInterval, b: SymbolicInterval) -> Formula:
    same = conjunction([a.filled, b.filled, a.lower == b.lower, a.upper == b.upper])
    return disjunction([conjunction([negation(a.filled), negation(b.filled)]), same])


_POSITIONS: dict[str, Callable[[Any, Any], Formula]] = {
    "<": lambda a, b: disjunction([negation(a.filled), negation(b.filled), a.upper < b.lower]),
    "=": _equal,
    "overlaps": _on_each_side(SymbolicInterval.meets),
    "subseteq": _inside,
    "subset": lambda a, b: conjunction([_inside(a, b), negation(_equal(a, b))]),
}


# Boxes of one union: inclusion and exclusion has 2^n - 1 terms.
_MOST_EXACT = 6


class TooManyBoxes(Exception):  # noqa: N818 - it ends one attempt, not the check
    """A union of more boxes than inclusion and exclusion can be written out for."""


class Areas(ABC):
    """Makes terms for areas; what has to be said about them is in ``facts``.

    ``multiplied`` is set where an area is multiplied with what is no plain number, as comparing two shares
    does.
    """

    def __init__(self) -> None:
        self.facts: list[Formula] = []
        self.multiplied = False
        self._known: dict[tuple[int, ...], tuple[SymbolicSet, Term]] = {}

    def area(self, boxes: SymbolicSet) -> Term:
        """Return the area of the union of a set of boxes; the same for the same boxes."""
        numbers = key(boxes)
        if numbers not in self._known:
            # The set is kept as well: z3 gives the numbers of terms that are gone to others.
            self._known[numbers] = boxes, self._area(boxes)
        return self._known[numbers][1]

    @property
    def used(self) -> bool:
        """Whether any area was asked for."""
        return bool(self._known)

    @abstractmethod
    def _area(self, boxes: SymbolicSet) -> Term: ...

    def corner(self, term: Term, axis: str) -> None:  # noqa: B027 - only a grid cares
        """Take note of a coordinate of a box; an intersection has none but those of its boxes."""


class OpaqueAreas(Areas):
    """Areas of which only linear facts are known."""

    def _area(self, boxes: SymbolicSet) -> Term:
        term: Term = z3.FreshReal("area")
        some = disjunction(conjunction([one.present, one.box.has_area]) for one in boxes.members)
        self.facts += [term >= 0, (term > 0) == some]
        self.facts += [term <= self.area(whole) for whole in boxes.parts]
        if boxes.parts and all(map(_is_one_box, boxes.parts)):
            # Two boxes share less than all of one exactly where it has an area and sticks out of the other.
            for whole, other in (boxes.parts, boxes.parts[::-1]):
                box = whole.members[0].box
                inside = related("subseteq", box, other.members[0].box).true
                sticks_out = conjunction([box.has_area, negation(inside)])
                self.facts.append((term < self.area(whole)) == sticks_out)
        if boxes.covers:
            inside = [self.area(part) for part in boxes.covers]
            self.facts += [*(term >= one for one in inside), term <= z3.Sum(inside)]
        return term


def _is_one_box(boxes: SymbolicSet) -> bool:
    """Whether a set has one box whatever comes from outside, as ``{vehicle()}`` has.

    What is said of a set from outside must stay true when boxes are left out of it, on which proofs for any
    number of boxes rest; so nothing may be said of such a set because it has one box at the moment.
    """
    return len(boxes.members) == 1 and bool(z3.is_true(boxes.members[0].present))


class ExactAreas(Areas):
    """Areas by inclusion and exclusion."""

    def _area(self, boxes: SymbolicSet) -> Term:
        if len(boxes.members) > _MOST_EXACT:
            raise TooManyBoxes
        counts = range(1, len(boxes.members) + 1)
        several = (some for count in counts for some in combinations(boxes.members, count))
        terms = [_shared(some) * (1 if len(some) % 2 else -1) for some in several]
        return z3.Sum(terms) if terms else z3.RealVal(0)


def _shared(members: Sequence[Member]) -> Term:
    """Return the area that all of these boxes share; 0 where one is absent or they share none."""
    first = members[0].box
    left, right, low, high = first.x.lower, first.x.upper, first.y.lower, first.y.upper
    for member in members[1:]:
        left, right = maximum(left, member.box.x.lower), minimum(right, member.box.x.upper)
        low, high = maximum(low, member.box.y.lower), minimum(high, member.box.y.upper)
    present = conjunction([one.present for one in members])
    return z3.If(conjunction([present, left < right, low < high]), (right - left) * (high - low), 0)


class GridAreas(Areas):
    """Areas of boxes whose corners lie on the lines of a grid.

    Args:
        across: Where the upright lines are, in rising order.
        up: Where the level lines are, in rising order.
    """

    def __init__(self, across: Sequence[float], up: Sequence[float]) -> None:
        super().__init__()
        self._lines = {"x": list(across), "y": list(up)}

    def corner(self, term: Term, axis: str) -> None:
        """Put a coordinate on a line."""
        self.facts.append(disjunction(term == place for place in self._lines[axis]))

    def _area(self, boxes: SymbolicSet) -> Term:
        columns = list(zip(self._lines["x"], self._lines["x"][1:], strict=False))
        rows = list(zip(self._lines["y"], self._lines["y"][1:], strict=False))
        wide = [[_covers(one.box.x, *ends) for ends in columns] for one in boxes.members]
        tall = [[_covers(one.box.y, *ends) for ends in rows] for one in boxes.members]
        cells = []
        for i, (left, right) in enumerate(columns):
            for j, (low, high) in enumerate(rows):
                covered = disjunction(
                    conjunction([one.present, across[i], up[j]])
                    for one, across, up in zip(boxes.members, wide, tall, strict=True)
                )
                cells.append(z3.If(covered, z3.RealVal((right - left) * (high - low)), z3.RealVal(0)))
        return z3.Sum(cells)


def _covers(side: SymbolicInterval, lower: float, upper: float) -> Formula:
    return conjunction([side.lower <= lower, side.upper >= upper])
