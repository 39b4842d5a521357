"""How much of a specification test data tries: its cases, its conditions, their borders, and the image.

The paper leaves this open ("coverage on the position on the image and coverage on the conditions of the
specification"). Here:

- a **case** is covered when an input leads to it;
- an **atom**, a single relation inside a condition, is covered when it was true for one input and false for
  another;
- its **border** is covered when inputs came near to it from both sides: within some pixels, true and false;
- a **position**, a cell of a grid over the image, is covered when an object stood in it: the middle of its
  lower edge, where a thing touches the road.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.bbsl.evaluation import Evaluator
from roadworthy.bbsl.margins import Margin, MarginContext, Margins
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.syntax import And, Disjunction, Expression, Not, Quantified, TruthConstant
from roadworthy.bbsl.values import Coordinates
from roadworthy.errors import InputError


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
        tried = self.true + self.false
        return not tried or math.isfinite(min(self.nearest_true, self.nearest_false))

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
        if not self.near >= 0:
            raise InputError(f"near must be 0 pixels or more, got {self.near}")
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
            self._stand(place, width, height)
        if self.spec.precondition is not None:
            read.condition(self.spec.precondition, MarginContext())
            if evaluator.condition(self.spec.precondition, {}) is not True:
                self.outside += 1
                return
        for case in self.spec.case_blocks:
            read.case(case)
            if evaluator.case(case):
                self.cases[case.label] += 1

    def _stand(self, place: tuple[float, float], width: float, height: float) -> None:
        rows, columns = self.grid
        row = int(np.clip(place[1] / height * rows, 0, rows - 1))
        column = int(np.clip(place[0] / width * columns, 0, columns - 1))
        self.positions[row, column] += 1

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
                        "case": one.case,
                        "text": one.text,
                        "true": one.true,
                        "false": one.false,
                        "unknown": one.unknown,
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
        case And() | Disjunction():
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
        if id(part) in self._atoms and not isinstance(part, And | Disjunction | Not | Quantified):
            held = self._evaluator.condition(part, context.values)
            self._atoms[id(part)].add(margin, held)
        return margin
