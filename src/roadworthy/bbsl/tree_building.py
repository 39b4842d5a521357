"""From lark's trees to the abstract syntax."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, cast

from roadworthy.bbsl.problems import Problem, SpecificationError
from roadworthy.bbsl.specification import Case, ExternalFunction, Let, Spec
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
    Operator,
    Or,
    Previous,
    Projection,
    Quantified,
    Ratio,
    Relation,
    SetLiteral,
    Span,
    Truth,
    Type,
    Until,
    Width,
)

if TYPE_CHECKING:
    from lark import Token, Tree

__all__ = ["build", "token_span"]

_NAMES = {symbol: name for name, symbol in SYMBOLS.items()} | {"~": "overlaps", "∼": "overlaps"}
"""The names of symbols."""


def build(tree: Tree[Token], source: str, path: str | None) -> Spec:
    """Return the specification that a tree of the grammar stands for.

    Raises:
        SpecificationError: A label is blank, a number too large, or bounds end before they begin.
    """
    return _Builder(source, path).spec(tree)


class _Builder:
    def __init__(self, source: str, path: str | None) -> None:
        self._source = source
        self._path = path

    def _refuse(self, message: str, span: Span) -> SpecificationError:
        return SpecificationError([Problem(message, span)], self._source, self._path)

    def spec(self, tree: Tree[Token]) -> Spec:
        functions: tuple[ExternalFunction, ...] = ()
        precondition: Expression | None = None
        cases: list[Case] = []
        for part in cast("list[Tree[Token]]", tree.children):
            if part.data == "functions":
                functions = tuple(self._function(cast("Tree[Token]", one)) for one in part.children)
            elif part.data == "precondition":
                inside = [one for one in part.children if not _is_token(one, "NONE")]
                precondition = self.expression(inside[0]) if inside else None
            else:
                cases.append(self._case(part))
        return Spec(functions, precondition, tuple(cases), source=self._source, path=self._path)

    def _function(self, tree: Tree[Token]) -> ExternalFunction:
        name, *types = cast("list[Token]", tree.children)
        *parameters, result = (Type(one.value) for one in types)
        return ExternalFunction(str(name.value), tuple(parameters), result, span=token_span(name))

    def _case(self, tree: Tree[Token]) -> Case:
        label = cast("Token", tree.children[0])
        lets: tuple[Let, ...] = ()
        if len(tree.children) == 3:
            lets = tuple(self._let(one) for one in cast("Tree[Token]", tree.children[1]).children[:-1])
        words = " ".join(label.value.strip('"').split())
        if not words:
            raise self._refuse("the label of a case must not be blank", token_span(label))
        return Case(words, lets, self.expression(tree.children[-1]), span=token_span(label))

    def _let(self, tree: Any) -> Let:
        name, kind, value = tree.children
        return Let(str(name.value), Type(kind.value), self.expression(value), span=token_span(name))

    def expression(self, node: Any) -> Expression:
        if _is_token(node):
            return self._leaf(node)
        span = Span(node.meta.start_pos, node.meta.end_pos)
        parts = [one for one in node.children if not _is_token(one) or one.type in _LEAVES]
        signs = [one for one in node.children if _is_token(one) and one.type not in _LEAVES]
        match str(node.data):
            case "or_":
                return Or(tuple(map(self.expression, parts)), span=span)
            case "and_":
                return And(tuple(map(self.expression, parts)), span=span)
            case "not_":
                return Not(self.expression(parts[0]), span=span)
            case "until" | "unary":
                return self._over_time(signs, [self.expression(one) for one in parts], span)
            case "quantified":
                return self._quantified(parts, span)
            case "relation" | "relation_without_in":
                text = signs[0].value
                left, right = map(self.expression, parts)
                return Relation(cast("Operator", _NAMES.get(text, text)), left, right, span=span)
            case "union" | "intersection" as operator:
                left, right = map(self.expression, parts)
                return Combination(operator, left, right, span=span)
            case "call":
                function, *arguments = parts
                return Call(str(function.value), tuple(map(self.expression, arguments)), span=span)
            case "projection":
                return self._projection(signs[0].value, self.expression(parts[0]), span)
            case "width":
                return Width(self.expression(parts[0]), span=span)
            case "set":
                return SetLiteral(tuple(map(self.expression, parts)), span=span)
            case "ratio" | "interval" | "box" as kind:
                first, second = map(self.expression, parts)
                made = {"ratio": Ratio, "interval": IntervalLiteral, "box": BoxLiteral}[kind]
                return made(first, second, span=span)
        raise AssertionError(f"the grammar has a rule {node.data!r} that is not built")  # pragma: no cover

    def _leaf(self, token: Token) -> Expression:
        span = token_span(token)
        match token.type:
            case "NUMBER":
                value = float(token.value)
                if not math.isfinite(value):
                    raise self._refuse("this number is too large", span)
                return Number(value, span=span)
            case "TRUE" | "FALSE":
                return Truth(token.type == "TRUE", span=span)
            case "IMG":
                return Image(span=span)
        return Name(str(token.value), span=span)

    def _over_time(self, signs: list[Token], operands: list[Expression], span: Span) -> Expression:
        bounds = Bounds()
        if len(signs) == 2:
            lower, upper = re.findall(r"\d+|inf|∞", signs[1].value)
            if max(len(lower), len(upper)) > 9:
                raise self._refuse("bounds must be below 1,000,000,000 frames", token_span(signs[1]))
            bounds = Bounds(int(lower), int(upper) if upper.isdigit() else None)
            if bounds.upper is not None and bounds.upper < bounds.lower:
                raise self._refuse(
                    f"bounds must not end before they begin, got {signs[1].value}", token_span(signs[1])
                )
        operator = signs[0].type
        if operator == "UNTIL":
            return Until(operands[0], operands[1], bounds, span=span)
        if operator == "PREVIOUS":
            return Previous(operands[0], span=span)
        return (Always if operator == "ALWAYS" else Eventually)(operands[0], bounds, span=span)

    def _quantified(self, parts: list[Any], span: Span) -> Expression:
        *quantifiers, body = parts
        made = self.expression(body)
        for tree in reversed(quantifiers):
            sign, name, _, boxes = tree.children
            inner = Span(tree.meta.start_pos, span.stop)
            made = Quantified(
                "forall" if sign.type == "FORALL" else "exists",
                str(name.value),
                self.expression(boxes),
                made,
                span=inner,
            )
        return made

    @staticmethod
    def _projection(text: str, box: Expression, span: Span) -> Projection:
        end = re.search(r"(?P<lower>lower|L|\u0332)|upper|U|\u0305", text[len("PROJ") :])
        return Projection(
            "y" if "y" in text else "x",
            box,
            None if end is None else "lower" if end["lower"] else "upper",
            span=span,
        )


_LEAVES = {"NUMBER", "NAME", "TRUE", "FALSE", "IMG"}


def _is_token(node: object, kind: str | None = None) -> bool:
    from lark import Token

    return isinstance(node, Token) and kind in (None, node.type)


def token_span(token: Token) -> Span:
    """Return where a token stands in the text."""
    start = token.start_pos or 0
    return Span(start, start + len(token.value))
