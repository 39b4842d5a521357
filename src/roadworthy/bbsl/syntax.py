"""The syntax tree of BBSL, and what is wrong in a text, with the words underlined.

Two trees are equal when they say the same: places take no part in comparison. Trees are at most `MAX_DEPTH`
levels deep (the parser refuses deeper ones), so that walking one by recursion is safe. What the parts mean is
defined in `roadworthy.bbsl.evaluation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, dataclass_transform

from roadworthy._yaml import read_yaml
from roadworthy.errors import InputError, excerpt

MAX_DEPTH = 100
"""How many levels a tree may have: evaluation, printing and comparison recurse."""

Operator = Literal[
    "<", ">", "=", "<=", ">=", "overlaps", "subset", "superset", "subseteq", "superseteq", "in"
]
"""The relations, by their ASCII spelling."""

_MIRRORED: dict[str, Operator] = {">": "<", ">=": "<=", "superset": "subset", "superseteq": "subseteq"}


def turned(operator: str, left: Any, right: Any) -> tuple[str, Any, Any]:
    """Return a relation with its sides exchanged where it is another one that way, as > is <.

    Example:
        >>> turned(">", 1, 2), turned("=", 1, 2)
        (('<', 2, 1), ('=', 1, 2))
    """
    return (_MIRRORED[operator], right, left) if operator in _MIRRORED else (operator, left, right)


WORDS: Mapping[str, Any] = read_yaml(
    Path(__file__).with_name("words.yaml"), "file of words", "symbols, terminals and findings"
).data
"""How parts of the language, and what is found out about it, are written."""

SYMBOLS: Mapping[str, str] = WORDS["symbols"]
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


NOWHERE = Span()
"""The place of what was not read from a text."""


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class SyntaxPart:
    """What stands somewhere in the text; its subclasses are frozen dataclasses."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True)(cls)


class Expression(SyntaxPart):
    """A part of a condition that has a value."""


class RealNumber(Expression):
    """A real number: ``0.3``."""

    value: float


class TruthConstant(Expression):
    """``true`` or ``false``."""

    value: bool


class Name(Expression):
    """A name that a ``let`` or a quantifier binds."""

    name: str


class ImageBox(Expression):
    """``IMG``: the box of the whole image."""


class FunctionCall(Expression):
    """The value of an external function: ``stoppingDistance()``, ``laneAt(x)``."""

    function: str
    arguments: tuple[Expression, ...] = ()


class IntervalLiteral(Expression):
    """``[lower, upper]`` of two reals."""

    lower: Expression
    upper: Expression


class BoxLiteral(Expression):
    """``(x, y)``: the box of two intervals."""

    x: Expression
    y: Expression


class SetLiteral(Expression):
    """``{a, b}``: a set of boxes."""

    boxes: tuple[Expression, ...]


class AxisProjection(Expression):
    """``PROJ_x(box)``, or an end of it, which is a point interval: ``PROJ_y.lower(box)`` (Definition 7)."""

    axis: Literal["x", "y"]
    box: Expression
    end: Literal["lower", "upper"] | None = None


class Width(Expression):
    """``w(interval)``: upper end minus lower end."""

    interval: Expression


class Ratio(Expression):
    """``RAT(part, whole)``: the area of a set of boxes divided by that of another."""

    part: Expression
    whole: Expression


class Combination(Expression):
    """``a ∪ b`` of two sets of boxes, ``a ∩ b`` of two sets of boxes or two intervals."""

    operator: Literal["union", "intersection"]
    left: Expression
    right: Expression


class BoxRelation(Expression):
    """Two values compared: ``PROJ_y(a) ≈ stoppingDistance``."""

    operator: Operator
    left: Expression
    right: Expression


class Not(Expression):
    """``not a``."""

    operand: Expression


class Junction(Expression):
    """``a and b and c``, ``a or b or c``: two operands or more."""

    operator: Literal["and", "or"]
    operands: tuple[Expression, ...]


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


class Timed(Expression):
    """``always[0, 3] a``: a holds in every one of these frames; ``eventually[0, 3] a``: in one at least."""

    operator: Literal["always", "eventually"]
    operand: Expression
    bounds: Bounds = Bounds()


class Until(Expression):
    """``a until[0, 3] b``: b holds in one of these frames, and a in every frame from now to before it."""

    left: Expression
    right: Expression
    bounds: Bounds = Bounds()


class Previous(Expression):
    """``previous a``: a held in the frame before."""

    operand: Expression


def children(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions directly inside another, in the order of the text.

    Example:
        >>> children(BoxRelation("<", RealNumber(1), RealNumber(2)))
        (RealNumber(value=1), RealNumber(value=2))
    """
    found: list[Expression] = []
    for one in fields(expression):
        value = getattr(expression, one.name)
        parts = value if isinstance(value, tuple) else (value,)
        found += [part for part in parts if isinstance(part, Expression)]
    return tuple(found)


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and everything inside it, outer before inner, left before right.

    Example:
        >>> [type(part).__name__ for part in walk(Not(TruthConstant(True)))]
        ['Not', 'TruthConstant']
    """
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(reversed(children(part)))


def spelled_out(expression: Expression, lets: Mapping[str, Expression]) -> Expression:
    """Return an expression with their values in place of the names that lets bind.

    Example:
        >>> spelled_out(Not(Name("far")), {"far": TruthConstant(True)})
        Not(operand=TruthConstant(value=True))
    """
    if isinstance(expression, Name):
        return lets.get(expression.name, expression)
    changed: dict[str, Any] = {}
    for one in fields(expression):
        value = getattr(expression, one.name)
        if isinstance(value, Expression):
            changed[one.name] = spelled_out(value, lets)
        elif isinstance(value, tuple):
            changed[one.name] = tuple(spelled_out(part, lets) for part in value)
    return replace(expression, **changed)


def is_temporal(expression: Expression) -> bool:
    """Whether an expression speaks of other frames than the one at hand.

    Example:
        >>> is_temporal(Not(Previous(TruthConstant(True))))
        True
    """
    return any(isinstance(part, (Timed, Until, Previous)) for part in walk(expression))


_MOST = 50


@dataclass(frozen=True)
class SpecificationProblem:
    """One thing that is wrong, and where.

    Attributes:
        message: What was expected, what came, and what to do.
        span: The characters of the text that are at fault.
    """

    message: str
    span: Span


class SpecificationError(InputError):
    r"""A specification is wrong in one place or several; the first 50 are shown, with their lines underlined.

    Args:
        problems: What is wrong, at least one.
        source: The text of the specification.
        path: The file it came from.

    Example:
        >>> text = "case stop\n  vehicel() ≈ IMG\nendcase"
        >>> problem = SpecificationProblem("no function is called 'vehicel'", Span(12, 19))
        >>> print(SpecificationError([problem], text))
        <specification>:2:3: no function is called 'vehicel'
          2 |   vehicel() ≈ IMG
            |   ^^^^^^^
    """

    def __init__(
        self, problems: Iterable[SpecificationProblem], source: str, path: str | None = None
    ) -> None:
        self.problems = tuple(problems)
        self.source = source
        self.path = path
        shown = [self._shown(problem) for problem in self.problems[:_MOST]]
        if len(self.problems) > _MOST:
            shown.append(f"… and {len(self.problems) - _MOST} more")
        super().__init__("\n".join(shown))

    def _shown(self, problem: SpecificationProblem) -> str:
        line, column = place(self.source, problem.span.start)
        text = self.source[problem.span.start - (column - 1) :].partition("\n")[0].rstrip("\r")
        width = problem.span.stop - problem.span.start
        return excerpt(self.path or "<specification>", problem.message, text, line, column, width)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.problems, self.source, self.path)


def place(source: str, offset: int) -> tuple[int, int]:
    r"""Return line and column of a character of a text, both counted from 1.

    Example:
        >>> place("one\ntwo", 5)
        (2, 2)
    """
    before = source[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint at the known name that is most like one that is unknown; nothing where none is.

    Example:
        >>> nearest("lVehicle", ["Vehicle", "VehicleExists"])
        "; did you mean 'Vehicle'?"
    """
    found = get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""
