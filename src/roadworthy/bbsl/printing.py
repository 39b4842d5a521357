"""Expressions as text, with no more brackets than they need."""

from __future__ import annotations

import re
from functools import lru_cache

from roadworthy.bbsl.syntax import (
    SYMBOLS,
    Always,
    And,
    Bounds,
    BoxLiteral,
    Call,
    Combination,
    Eventually,
    Expression,
    Image,
    IntervalLiteral,
    Name,
    Not,
    Number,
    Or,
    Previous,
    Projection,
    Quantified,
    Ratio,
    Relation,
    SetLiteral,
    Truth,
    Until,
    Width,
)

__all__ = ["Printer"]

_ASCII = {"overlaps": "~", "intersection": "intersect"}

# How tightly the parts bind, the tightest last.
_OR, _AND, _UNTIL, _UNARY, _RELATION, _UNION, _INTERSECTION, _ATOM = range(8)


class Printer:
    """Writes expressions in one line.

    Args:
        ascii: Whether symbols are spelled in ASCII.

    Example:
        >>> Printer().expression(Relation("<=", Number(0.5), Ratio(Name("a"), Name("b"))))
        '0.5 ≤ RAT(a, b)'
    """

    def __init__(self, *, ascii: bool = False) -> None:
        self._ascii = ascii

    def _sign(self, name: str) -> str:
        return _ASCII.get(name, name) if self._ascii else SYMBOLS.get(name, name)

    def label(self, label: str) -> str:
        """Return a label, between quotation marks where it would not be read otherwise."""
        return label if _plain_label().fullmatch(label) else f'"{label}"'

    def needs_brackets(self, outer: Expression, operand: Expression) -> bool:
        """Whether an operand of and, or must stand in brackets."""
        return self._level(operand) <= (_OR if isinstance(outer, Or) else _AND)

    def quantifiers(self, part: Quantified) -> tuple[str, Expression]:
        """Return quantifiers that follow each other, up to the dot, and what they are said of."""
        texts = []
        body: Expression = part
        while isinstance(body, Quantified):
            sign = self._sign(body.quantifier)
            # A word is set apart from the name after it; a symbol is not.
            sign += " " if self._ascii else ""
            texts.append(f"{sign}{body.variable} {self._sign('in')} {self._at(body.boxes, _UNION)}")
            body = body.body
        return f"{', '.join(texts)}.", body

    def expression(self, part: Expression) -> str:
        """Return an expression in one line."""
        match part:
            case Number():
                return (
                    str(int(part.value))
                    if part.value.is_integer() and abs(part.value) < 1e15
                    else repr(part.value)
                )
            case Truth():
                return "true" if part.value else "false"
            case Name():
                return part.name
            case Image():
                return "IMG"
            case Call():
                return f"{part.function}({self._list(*part.arguments)})"
            case IntervalLiteral():
                return f"[{self._list(part.lower, part.upper)}]"
            case BoxLiteral():
                return f"({self._list(part.x, part.y)})"
            case SetLiteral():
                return f"{{{self._list(*part.boxes)}}}"
            case Projection():
                end = f".{part.end}" if part.end else ""
                return f"PROJ_{part.axis}{end}({self.expression(part.box)})"
            case Width():
                return f"w({self.expression(part.interval)})"
            case Ratio():
                return f"RAT({self._list(part.part, part.whole)})"
            case Combination():
                level = _UNION if part.operator == "union" else _INTERSECTION
                left, right = self._at(part.left, level), self._at(part.right, level + 1)
                return f"{left} {self._sign(part.operator)} {right}"
            case Relation():
                left, right = self._at(part.left, _UNION), self._at(part.right, _UNION)
                text = f"{left} {self._sign(part.operator)} {right}"
                return f"({text})" if self._ends_lets(part) else text
        return self._condition(part)

    def _condition(self, part: Expression) -> str:
        match part:
            case And():
                return " and ".join(self._at(one, _UNTIL) for one in part.operands)
            case Or():
                return " or ".join(self._at(one, _AND) for one in part.operands)
            case Quantified():
                prefix, body = self.quantifiers(part)
                return f"{prefix} ({self.expression(body)})"
            case Not():
                return f"not {self._said_of(part.operand)}"
            case Previous():
                return f"previous {self._said_of(part.operand)}"
            case Always():
                return f"always{_bounds(part.bounds)} {self._after_bounds(part.operand)}"
            case Eventually():
                return f"eventually{_bounds(part.bounds)} {self._after_bounds(part.operand)}"
            case Until():
                right = self._at(part.right, _UNTIL)
                right = f"({right})" if right.startswith("[") else right
                return f"{self._at(part.left, _UNARY)} until{_bounds(part.bounds)} {right}"
        raise TypeError(f"expected an expression, got {type(part).__name__}")

    def _said_of(self, operand: Expression) -> str:
        """Return what not, always, eventually or previous is said of; a relation stands in brackets."""
        text = self.expression(operand)
        return f"({text})" if self._level(operand) not in (_UNARY, _ATOM) else text

    def _after_bounds(self, operand: Expression) -> str:
        text = self._said_of(operand)
        return f"({text})" if text.startswith("[") else text

    def _list(self, *parts: Expression) -> str:
        return ", ".join(map(self.expression, parts))

    def _at(self, part: Expression, level: int) -> str:
        text = self.expression(part)
        return f"({text})" if self._level(part) < level else text

    def _ends_lets(self, part: Relation) -> bool:
        """Whether a relation is spelled with the word that also ends the bindings of let: it has brackets."""
        return self._ascii and part.operator == "in"

    def _level(self, part: Expression) -> int:
        match part:
            case Or():
                return _OR
            case And():
                return _AND
            case Until():
                return _UNTIL
            case Not() | Always() | Eventually() | Previous() | Quantified():
                return _UNARY
            case Relation():
                return _ATOM if self._ends_lets(part) else _RELATION
            case Combination():
                return _UNION if part.operator == "union" else _INTERSECTION
        return _ATOM


def _bounds(bounds: Bounds) -> str:
    if bounds == Bounds():
        return ""
    return f"[{bounds.lower}, {'inf' if bounds.upper is None else bounds.upper}]"


@lru_cache(maxsize=1)
def _plain_label() -> re.Pattern[str]:
    from roadworthy.bbsl.parsing import grammar

    pattern = next(one.pattern for one in grammar().terminals if one.name == "LABEL")
    return re.compile(rf'(?!")(?:{pattern.to_regexp()})')
