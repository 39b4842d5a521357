"""How many boxes are enough: when a search with few boxes says something about any number of them.

Let a question be satisfied by sets of any size. Keep of each set only the boxes that the existential
quantifiers of the question point at (one for each, and one for each choice of the universal quantifiers
around it) and throw the others away. What holds for all boxes of a set still holds for fewer, so the question
is still satisfied. So if it is not satisfied by sets of that size, it is satisfied by none. This works as
long as existential quantifiers do not go round in a circle (for all a in A there is a b in B, and for all b
in B there is an a in A), and as long as a set takes part only through its single boxes. An area takes part as
a whole; but the linear facts that `OpaqueAreas` knows speak of single boxes again ("if the area is above 0, a
box has an area": one more).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields

from roadworthy.bbsl import syntax
from roadworthy.bbsl.specification import Case, Spec

__all__ = ["Question", "set_functions", "sufficient_sizes"]

Question = Iterable[tuple[Case | syntax.Expression, bool]]
"""Conditions, each with whether it is to be true or false."""

_MOST_BOXES = 8
"""Sets larger than this are not tried: formulas grow with powers of it."""


def set_functions(spec: Spec) -> tuple[str, ...]:
    """Return the external functions that give sets of boxes."""
    return tuple(one.name for one in spec.functions if one.result is syntax.Type.SET_BB)


class _Unbounded(Exception):  # noqa: N818 - an answer, not an error
    """No number of boxes is known to be enough."""


Lets = Mapping[str, syntax.Expression]
Around = tuple[tuple[syntax.Expression, Lets], ...]
"""The sets that are quantified over, around a place, each with the lets that it is read with."""
Bound = Mapping[str, tuple[syntax.Expression, Lets]]
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
            if isinstance(condition, Case):
                for let in condition.lets:
                    lets[let.name] = let.value
                condition = condition.condition
            demands.collect(condition, wanted, (), lets, {})
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

    def collect(
        self, expression: syntax.Expression, wanted: bool, around: Around, lets: Lets, bound: Bound
    ) -> None:
        """Find what has to be there for an expression to be true, or false."""
        match expression:
            case syntax.Not():
                self.collect(expression.operand, not wanted, around, lets, bound)
            case syntax.And() | syntax.Or():
                for one in expression.operands:
                    self.collect(one, wanted, around, lets, bound)
            case syntax.Quantified():
                here = (expression.boxes, lets)
                inside = {**bound, expression.variable: here}
                if (expression.quantifier == "exists") == wanted:
                    self._add(expression.boxes, around, lets)
                    self.collect(expression.body, wanted, around, lets, inside)
                else:
                    self.collect(expression.body, wanted, (*around, here), lets, inside)
            case syntax.Name() if expression.name in lets:
                self.collect(lets[expression.name], wanted, around, lets, bound)
            case _:
                self._collect_atom(expression, around, lets, bound)

    def _collect_atom(self, expression: syntax.Expression, around: Around, lets: Lets, bound: Bound) -> None:
        """Add what the areas inside an atom point at, and truth values that are compared."""
        match expression:
            case syntax.Quantified():
                # Inside "a = b" of truth values: either side may be wanted true or false.
                for outcome in (True, False):
                    self.collect(expression, outcome, around, lets, bound)
                return
            case syntax.Name() if expression.name in lets:
                self._collect_atom(lets[expression.name], around, lets, bound)
            case syntax.Ratio():
                for side in (expression.part, expression.whole):
                    self._add_areas(side, lets, bound)
        for part in syntax.children(expression):
            self._collect_atom(part, around, lets, bound)

    def _add(self, boxes: syntax.Expression, around: Around, lets: Lets) -> None:
        for part in _walk(boxes, lets):
            if isinstance(part, syntax.Call) and part.function in self.sets:
                self.found.append((part.function, around))

    def _add_areas(self, boxes: syntax.Expression, lets: Lets, bound: Bound) -> None:
        """Add a box with an area for a set and for every set that it is made of, as `OpaqueAreas` does.

        A set that a variable takes part in, itself or through the set of another variable, is another one for
        each box that the variable stands for; wherever it is written again, it is the same.
        """
        if isinstance(boxes, syntax.Name) and boxes.name in lets:
            self._add_areas(lets[boxes.name], lets, bound)
            return
        variables = _variables(boxes, lets, bound)
        key = _key(boxes, lets, bound, variables)
        if key in self.areas:
            return
        self.areas.add(key)
        self._add(boxes, tuple(bound[name] for name in variables), lets)
        if isinstance(boxes, syntax.Combination):
            self._add_areas(boxes.left, lets, bound)
            self._add_areas(boxes.right, lets, bound)

    def size(self, name: str, above: tuple[str, ...] = ()) -> int:
        """Return how many boxes of a set are pointed at: for all a in A one b in B makes as many as A has."""
        if name in above:
            raise _Unbounded
        if name not in self.sizes:
            total = 0
            for wanted, around in self.found:
                if wanted == name:
                    counts = [self._count(boxes, lets, (*above, name)) for boxes, lets in around]
                    total += math.prod(counts)
            self.sizes[name] = total
        return self.sizes[name]

    def _count(self, boxes: syntax.Expression, lets: Lets, above: tuple[str, ...]) -> int:
        """Return how many boxes a set has, once those that nothing points at are gone."""
        match boxes:
            case syntax.Name() if boxes.name in lets:
                return self._count(lets[boxes.name], lets, above)
            case syntax.Call():
                return self.size(boxes.function, above)
            case syntax.SetLiteral():
                return len(boxes.boxes)
            case syntax.Combination():
                sides = [self._count(one, lets, above) for one in (boxes.left, boxes.right)]
                return sum(sides) if boxes.operator == "union" else math.prod(sides)
        raise _Unbounded


def _walk(expression: syntax.Expression, lets: Lets) -> Iterator[syntax.Expression]:
    for part in syntax.walk(expression):
        yield part
        if isinstance(part, syntax.Name) and part.name in lets:
            yield from _walk(lets[part.name], lets)


def _variables(boxes: syntax.Expression, lets: Lets, bound: Bound) -> tuple[str, ...]:
    """Return the variables of quantifiers that a set depends on: its own, and those of the sets of these."""
    found: dict[str, None] = {}
    waiting = [(boxes, lets)]
    while waiting:
        for part in _walk(*waiting.pop()):
            if isinstance(part, syntax.Name) and part.name in bound and part.name not in found:
                found[part.name] = None
                waiting.append(bound[part.name])
    return tuple(found)


def _key(expression: syntax.Expression, lets: Lets, bound: Bound, variables: tuple[str, ...]) -> object:
    """Return what two expressions share that mean the same, whatever their variables are called."""
    if isinstance(expression, syntax.Name):
        if expression.name in lets:
            return _key(lets[expression.name], lets, bound, variables)
        boxes, around = bound[expression.name]
        return ("variable", variables.index(expression.name), _key(boxes, around, bound, variables))
    own = tuple(
        value
        for one in fields(expression)
        if isinstance(value := getattr(expression, one.name), str | int | float)
    )
    parts = (_key(part, lets, bound, variables) for part in syntax.children(expression))
    return (type(expression), own, *parts)
