"""Along which axis the intervals of external functions lie.

An interval comes in pixels of the image, where y points down, and must be turned when it lies along y. Its
type does not say so; what it is compared with does: ``PROJ_y(vehicle()) ≈ stoppingDistance()``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from roadworthy.bbsl.specification import Case, Spec
from roadworthy.bbsl.syntax import (
    BoxLiteral,
    Call,
    Combination,
    Expression,
    IntervalLiteral,
    Name,
    Projection,
    Relation,
    Type,
    walk,
)

__all__ = ["Axis", "Slot", "find_axes"]

Axis = Literal["x", "y", "both", "open"]
"""``both``: compared with intervals of both axes. ``open``: compared with none."""

Slot = tuple[str, ...]
"""What lies on an axis: ("function", name), ("parameter", name, index), ("let", case, name), ("axis", x)."""


def find_axes(spec: Spec) -> Mapping[Slot, Axis]:
    """Return the axis of the interval that each function returns, and of those that it takes.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse('''
        ... exfunction vehicle(): bb  near(): interval endexfunction
        ... case stop PROJ_y(vehicle()) ~ near() endcase
        ... ''')
        >>> find_axes(spec)["function", "near"]
        'y'
    """
    search = _Search(spec)
    for case in spec.case_blocks:
        search.read_case(case)
    if spec.precondition is not None:
        search.read(spec.precondition, "")
    slots: list[Slot] = []
    for function in spec.functions:
        slots.append(("function", function.name))
        slots += [("parameter", function.name, str(index)) for index in range(len(function.parameters))]
    return {slot: search.axis(slot) for slot in slots}


class _Search:
    """Puts together what is compared, then asks on which axis each heap lies."""

    def __init__(self, spec: Spec) -> None:
        self._results = {one.name: one.result for one in spec.functions}
        self._parameters = {one.name: one.parameters for one in spec.functions}
        self._links: dict[Slot, set[Slot]] = {}

    def read_case(self, case: Case) -> None:
        """Take in what a case compares."""
        for let in case.lets:
            self.read(let.value, case.label)
            # A real may be an end of a projection, and then what it is compared with lies on that axis too.
            if let.type in (Type.INTERVAL, Type.REAL):
                self._link([("let", case.label, let.name), *self._slots(let.value, case.label)])
        self.read(case.condition, case.label)

    def read(self, expression: Expression, case: str) -> None:
        """Take in what an expression compares."""
        for part in walk(expression):
            match part:
                case Relation():
                    self._link([*self._slots(part.left, case), *self._slots(part.right, case)])
                case Combination():
                    self._link(self._slots(part, case))
                case BoxLiteral():
                    self._link([("axis", "x"), *self._slots(part.x, case)])
                    self._link([("axis", "y"), *self._slots(part.y, case)])
                case Call():
                    for index, argument in enumerate(part.arguments):
                        if self._parameters[part.function][index] is Type.INTERVAL:
                            self._link(
                                [("parameter", part.function, str(index)), *self._slots(argument, case)]
                            )

    def _slots(self, expression: Expression, case: str) -> list[Slot]:
        """Return what must lie on one axis for an expression to mean something."""
        match expression:
            case Projection():
                return [("axis", expression.axis)]
            case Call() if self._results[expression.function] is Type.INTERVAL:
                return [("function", expression.function)]
            case Name():
                return [("let", case, expression.name)]
            case Combination():
                return [*self._slots(expression.left, case), *self._slots(expression.right, case)]
            case IntervalLiteral():
                return [*self._slots(expression.lower, case), *self._slots(expression.upper, case)]
        return []

    def _link(self, slots: list[Slot]) -> None:
        for slot in slots:
            # An axis ends the search: what lies on x is not thereby compared with all else on x.
            if slot[0] != "axis":
                self._links.setdefault(slot, set()).update(slots)

    def axis(self, slot: Slot) -> Axis:
        """Return the axis that is reached from something by what it is compared with."""
        seen, waiting = {slot}, [slot]
        while waiting:
            for one in self._links.get(waiting.pop(), ()):
                if one not in seen:
                    seen.add(one)
                    waiting.append(one)
        on_x, on_y = ("axis", "x") in seen, ("axis", "y") in seen
        if on_x and on_y:
            return "both"
        return "x" if on_x else "y" if on_y else "open"
