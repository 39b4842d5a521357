"""The area of a set of boxes as a term of z3, in three ways.

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
from collections.abc import Sequence
from itertools import combinations

from roadworthy.bbsl.checking.symbols import (
    Formula,
    Member,
    SymbolicBox,
    SymbolicSet,
    Term,
    conjunction,
    disjunction,
    maximum,
    minimum,
    negation,
    related,
)

_MOST_EXACT = 6
"""Boxes of one union: inclusion and exclusion has 2^n - 1 terms."""


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
        key = boxes.key
        if key not in self._known:
            # The set is kept as well: z3 gives the numbers of terms that are gone to others.
            self._known[key] = boxes, self._area(boxes)
        return self._known[key][1]

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
        import z3

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
    import z3

    return len(boxes.members) == 1 and bool(z3.is_true(boxes.members[0].present))


class ExactAreas(Areas):
    """Areas by inclusion and exclusion."""

    def _area(self, boxes: SymbolicSet) -> Term:
        import z3

        if len(boxes.members) > _MOST_EXACT:
            raise TooManyBoxes
        terms = [
            _shared(chosen) * (1 if count % 2 else -1)
            for count in range(1, len(boxes.members) + 1)
            for chosen in combinations(boxes.members, count)
        ]
        return z3.Sum(terms) if terms else z3.RealVal(0)


def _shared(members: Sequence[Member]) -> Term:
    """Return the area that all of these boxes share; 0 where one is absent or they share none."""
    import z3

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
        import z3

        columns = list(zip(self._lines["x"], self._lines["x"][1:], strict=False))
        rows = list(zip(self._lines["y"], self._lines["y"][1:], strict=False))
        spans = [self._spans(one.box, columns, rows) for one in boxes.members]
        cells = []
        for i, (left, right) in enumerate(columns):
            for j, (low, high) in enumerate(rows):
                covered = disjunction(
                    conjunction([one.present, wide[i], tall[j]])
                    for one, (wide, tall) in zip(boxes.members, spans, strict=True)
                )
                cells.append(z3.If(covered, z3.RealVal((right - left) * (high - low)), z3.RealVal(0)))
        return z3.Sum(cells)

    @staticmethod
    def _spans(
        box: SymbolicBox, columns: Sequence[tuple[float, float]], rows: Sequence[tuple[float, float]]
    ) -> tuple[list[Formula], list[Formula]]:
        wide = [conjunction([box.x.lower <= left, box.x.upper >= right]) for left, right in columns]
        tall = [conjunction([box.y.lower <= low, box.y.upper >= high]) for low, high in rows]
        return wide, tall
