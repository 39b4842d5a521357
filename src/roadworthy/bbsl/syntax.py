"""The abstract syntax of BBSL: what a specification is made of, with the place of every part in its text.

Two trees are equal when they say the same: places take no part in comparison. Trees are at most `MAX_DEPTH`
levels deep (the parser refuses deeper ones), so that walking one by recursion is safe. What the parts mean is
defined in `roadworthy.bbsl.evaluation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from roadworthy.bbsl.batches import Outcomes
    from roadworthy.bbsl.checking import CheckResult
    from roadworthy.bbsl.evaluation import Outcome, Prepared

__all__ = [
    "MAX_DEPTH",
    "SYMBOLS",
    "Always",
    "And",
    "Bounds",
    "BoxLiteral",
    "Call",
    "Case",
    "Combination",
    "Eventually",
    "Expression",
    "ExternalFunction",
    "Image",
    "IntervalLiteral",
    "Let",
    "Name",
    "Not",
    "Number",
    "Operator",
    "Or",
    "Previous",
    "Projection",
    "Quantified",
    "Ratio",
    "Relation",
    "SetLiteral",
    "Span",
    "Spec",
    "Truth",
    "Type",
    "Until",
    "Width",
    "children",
    "is_temporal",
    "walk",
]

MAX_DEPTH = 100
"""How many levels a tree may have: evaluation, printing and comparison recurse."""

Operator = Literal[
    "<", ">", "=", "<=", ">=", "overlaps", "subset", "superset", "subseteq", "superseteq", "in"
]
"""The relations, by their ASCII spelling."""

SYMBOLS = {
    "<=": "≤",
    ">=": "≥",
    "overlaps": "≈",
    "subset": "⊂",
    "superset": "⊃",
    "subseteq": "⊆",
    "superseteq": "⊇",
    "in": "∈",
    "union": "∪",
    "intersection": "∩",
    "forall": "∀",
    "exists": "∃",
}
"""The symbols of relations, operators and quantifiers that have one."""


class Type(StrEnum):
    """The types of values, as they are written in a specification."""

    BOOL = "bool"
    REAL = "real"
    INTERVAL = "interval"
    BB = "bb"
    SET_BB = "setBB"


@dataclass(frozen=True, slots=True)
class Span:
    """Where something stands in the text: its first character, and the one after its last."""

    start: int = 0
    stop: int = 0


_NOWHERE = Span()


@dataclass(frozen=True)
class Expression:
    """A part of a condition that has a value."""

    span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Number(Expression):
    """A real number: ``0.3``."""

    value: float


@dataclass(frozen=True)
class Truth(Expression):
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True)
class Name(Expression):
    """A name that a ``let`` or a quantifier binds."""

    name: str


@dataclass(frozen=True)
class Image(Expression):
    """``IMG``: the box of the whole image."""


@dataclass(frozen=True)
class Call(Expression):
    """The value of an external function: ``stoppingDistance()``, ``laneAt(x)``."""

    function: str
    arguments: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class IntervalLiteral(Expression):
    """``[lower, upper]`` of two reals."""

    lower: Expression
    upper: Expression


@dataclass(frozen=True)
class BoxLiteral(Expression):
    """``(x, y)``: the box of two intervals."""

    x: Expression
    y: Expression


@dataclass(frozen=True)
class SetLiteral(Expression):
    """``{a, b}``: a set of boxes."""

    boxes: tuple[Expression, ...]


@dataclass(frozen=True)
class Projection(Expression):
    """``PROJ_x(box)``, or an end of it, which is a point interval: ``PROJ_y.lower(box)`` (Definition 7)."""

    axis: Literal["x", "y"]
    box: Expression
    end: Literal["lower", "upper"] | None = None


@dataclass(frozen=True)
class Width(Expression):
    """``w(interval)``: upper end minus lower end."""

    interval: Expression


@dataclass(frozen=True)
class Ratio(Expression):
    """``RAT(part, whole)``: the area of a set of boxes divided by that of another."""

    part: Expression
    whole: Expression


@dataclass(frozen=True)
class Combination(Expression):
    """``a ∪ b`` of two sets of boxes, ``a ∩ b`` of two sets of boxes or two intervals."""

    operator: Literal["union", "intersection"]
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Relation(Expression):
    """Two values compared: ``PROJ_y(a) ≈ stoppingDistance``."""

    operator: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Not(Expression):
    """``not a``."""

    operand: Expression


@dataclass(frozen=True)
class And(Expression):
    """``a and b and c``: two operands or more."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Or(Expression):
    """``a or b or c``: two operands or more."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Quantified(Expression):
    """``forall x ∈ boxes. (body)`` or ``exists``; two quantifiers in a row are two of these, nested."""

    quantifier: Literal["forall", "exists"]
    variable: str
    boxes: Expression
    body: Expression


@dataclass(frozen=True)
class Bounds:
    """``[lower, upper]`` in frames from now, both included; an upper of None (written ``inf``) has no end."""

    lower: int = 0
    upper: int | None = None


@dataclass(frozen=True)
class Always(Expression):
    """``always[0, 3] a``: a holds in every one of these frames."""

    operand: Expression
    bounds: Bounds = Bounds()


@dataclass(frozen=True)
class Eventually(Expression):
    """``eventually[0, 3] a``: a holds in one of these frames at least."""

    operand: Expression
    bounds: Bounds = Bounds()


@dataclass(frozen=True)
class Until(Expression):
    """``a until[0, 3] b``: b holds in one of these frames, and a in every frame from now to before it."""

    left: Expression
    right: Expression
    bounds: Bounds = Bounds()


@dataclass(frozen=True)
class Previous(Expression):
    """``previous a``: a held in the frame before."""

    operand: Expression


@dataclass(frozen=True)
class ExternalFunction:
    """A function that the specification gets from outside: ``laneAt(real): setBB``."""

    name: str
    parameters: tuple[Type, ...]
    result: Type
    span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Let:
    """A name for a value, seen by the bindings after it and by the condition of its case."""

    name: str
    type: Type
    value: Expression
    span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Case:
    """A reaction, and when the system should react so."""

    label: str
    lets: tuple[Let, ...]
    condition: Expression
    span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Spec:
    """A specification: functions from outside, the condition under which it applies, and its cases.

    Attributes:
        functions: The external functions.
        precondition: When the specification applies; None when it always does.
        case_blocks: The cases, in the order of the text.
        source: The text, which every span points into.
        path: The file it came from; None when it came from none.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse('''
        ... exfunction
        ...   vehicle(): bb
        ... endexfunction
        ... case stop
        ...   PROJ_y(vehicle()) ~ [0, 100]
        ... endcase
        ... case NOT stop
        ...   not (PROJ_y(vehicle()) ~ [0, 100])
        ... endcase
        ... ''')
        >>> spec.labels
        ('stop', 'NOT stop')
        >>> spec.cases({"vehicle": [600, 180, 700, 300]}, height=375)
        {'stop'}
    """

    functions: tuple[ExternalFunction, ...]
    precondition: Expression | None
    case_blocks: tuple[Case, ...]
    source: str = field(default="", compare=False, repr=False, kw_only=True)
    path: str | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the cases (the C of Definition 9), in the order of the text."""
        return tuple(case.label for case in self.case_blocks)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The precondition, the values of all lets and all conditions, in the order of the text."""
        before = () if self.precondition is None else (self.precondition,)
        in_cases = ((*(let.value for let in case.lets), case.condition) for case in self.case_blocks)
        return (*before, *chain.from_iterable(in_cases))

    @cached_property
    def is_temporal(self) -> bool:
        """Whether a condition speaks of other frames than the one at hand."""
        return any(map(is_temporal, self.expressions))

    @cached_property
    def prepared(self) -> Prepared:
        """What evaluation needs to know, worked out once.

        Raises:
            SpecificationError: Names are not bound or types are wrong.
        """
        from roadworthy.bbsl.evaluation import prepare

        return prepare(self)

    def check_types(self) -> None:
        """Check that every name is bound and every part has the right type.

        Raises:
            SpecificationError: Shows every place where that is not so.

        Example:
            >>> from roadworthy.bbsl import parse
            >>> parse("case go vehicle() ~ IMG endcase").check_types()
            Traceback (most recent call last):
            ...
            roadworthy.bbsl.problems.SpecificationError: <specification>:1:9: no external function is ...
              1 | case go vehicle() ~ IMG endcase
                |         ^^^^^^^^^
        """
        _ = self.prepared

    def cases(
        self, bindings: Mapping[str, Any], *, height: float | None = None, width: float | None = None
    ) -> set[str]:
        """Return the labels of the cases that hold in one frame.

        The set is empty where no case holds, where the precondition does not hold, and where that is not
        known; `evaluate` tells these apart.

        Args:
            bindings: For each external function its value, or a callable that takes its arguments; boxes as
                x1, y1, x2, y2 and intervals as pairs, in image pixels with y down; None where there is no
                value.
            height: The height of the image in pixels, to turn y upward.
            width: The width of the image in pixels; needed for IMG alone.

        Raises:
            SpecificationError: The specification has names that are not bound or wrong types.
            InputError: A function is unbound, or a value is none of its type.
        """
        return self.evaluate(bindings, height=height, width=width).cases

    def evaluate(
        self, bindings: Mapping[str, Any], *, height: float | None = None, width: float | None = None
    ) -> Outcome:
        """Say whether the specification applies to one frame, and of each case whether it holds.

        Arguments and errors are those of `cases`.
        """
        from roadworthy.bbsl.evaluation import evaluate

        return evaluate(self, bindings, height=height, width=width)

    def evaluate_many(
        self, bindings: Mapping[str, Any], *, height: Any = None, width: Any = None, count: int | None = None
    ) -> Outcomes:
        """Say the same for many frames at once; see `roadworthy.bbsl.batches.evaluate_many`."""
        from roadworthy.bbsl.batches import evaluate_many

        return evaluate_many(self, bindings, height=height, width=width, count=count)

    def check(
        self, *, boxes: int = 3, seconds: float = 10.0, image: tuple[float, float] | None = None
    ) -> CheckResult:
        """Say whether the specification is exhaustive, exclusionary and non-redundant (Definition 10).

        See `roadworthy.bbsl.checking.check`.
        """
        from roadworthy.bbsl.checking import check

        return check(self, boxes=boxes, seconds=seconds, image=image)

    def format(self, *, ascii: bool = False) -> str:
        """Return the specification in its canonical form, comments and all."""
        from roadworthy.bbsl.formatting import format_spec

        return format_spec(self, ascii=ascii)


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions directly inside another, in the order of the text.

    Example:
        >>> children(Relation("<", Number(1), Number(2)))
        (Number(value=1), Number(value=2))
    """
    found: list[Expression] = []
    for one in fields(expression):
        value = getattr(expression, one.name)
        found += [
            part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, Expression)
        ]
    return tuple(found)


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and everything inside it, outer before inner, left before right.

    Example:
        >>> [type(part).__name__ for part in walk(Not(Truth(True)))]
        ['Not', 'Truth']
    """
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(reversed(children(part)))


def is_temporal(expression: Expression) -> bool:
    """Whether an expression speaks of other frames than the one at hand.

    Example:
        >>> is_temporal(Not(Previous(Truth(True))))
        True
    """
    return any(isinstance(part, (Always, Eventually, Until, Previous)) for part in walk(expression))
