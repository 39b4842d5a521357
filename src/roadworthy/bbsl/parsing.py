"""From text to the tree of a specification, and what to say where the parser stops."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from roadworthy._files import read_text
from roadworthy.bbsl import syntax
from roadworthy.bbsl.specification import CaseClause, ExternalFunction, Let, Spec

if TYPE_CHECKING:
    from lark import Lark, Token, Tree, UnexpectedInput
    from lark.lexer import TerminalDef


BRACKETS = {"LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]", "LBRACE": "{", "RBRACE": "}"}
"""How brackets are written, by the names of their terminals."""

_WORD = re.compile(r"[^\W\d]\w*")
_OPERANDS = {"NUMBER", "NAME", "PROJECTION", "LPAR"}


def explained(
    error: UnexpectedInput, text: str, terminals: Iterable[TerminalDef]
) -> syntax.SpecificationProblem:
    """Say what was expected where the parser stopped.

    Args:
        error: What the parser says.
        text: The specification.
        terminals: The words and signs of the grammar.
    """
    from lark import UnexpectedCharacters, UnexpectedToken

    offset = error.pos_in_stream or 0
    if isinstance(error, UnexpectedCharacters):
        if text.startswith("*", offset) and text.startswith("(", offset - 1):
            return syntax.SpecificationProblem(_COMMENT, syntax.Span(offset - 1, offset + 1))
        told = f"{text[offset]!r} has no meaning here{_sign_hint(text, offset)}"
        return syntax.SpecificationProblem(told, syntax.Span(offset, offset + 1))
    assert isinstance(error, UnexpectedToken)
    token: Any = error.token
    possible = set(error.accepts or error.expected)
    expected = _listed(possible, terminals)
    if token.type == "$END":
        end = syntax.Span(len(text.rstrip()), len(text.rstrip()))
        return syntax.SpecificationProblem(f"the text ends too soon: expected {expected}", end)
    if token.type == "LPAR" and text.startswith("(*", offset):
        return syntax.SpecificationProblem(_COMMENT, syntax.Span(offset, offset + 2))
    bounds = _NO_BOUNDS.search(text, 0, offset)
    if bounds and "COMPARISON" in possible:
        span = syntax.Span(bounds.start("bounds"), bounds.end("bounds"))
        return syntax.SpecificationProblem(
            "bounds must be two whole numbers of frames, such as [0, 3]; 'previous' has none", span
        )
    hint = _token_hint(token, possible, text)
    return syntax.SpecificationProblem(f"expected {expected}, got {token.value!r}{hint}", token_span(token))


_COMMENT = "this comment is never closed: expected '*)'"
_ARITHMETIC = ": there is no arithmetic; let an external function compute"
_NO_BOUNDS = re.compile(r"\b(always|eventually|until|previous)\s*(?P<bounds>\[[^\[\]]*\])\s*\Z")


def _token_hint(token: Any, possible: set[str], text: str) -> str:
    """Return what was probably meant by a word or sign that cannot stand where it stands."""
    if token.type == "NUMBER" and token.value.startswith("-"):
        return _ARITHMETIC
    if "NAME" in possible and "NUMBER" not in possible and _WORD.fullmatch(token.value):
        # After "exfunction" this may also be a word that ends the block; a name has parentheses there.
        refused = text[token.end_pos :].lstrip().startswith("(") or len(possible) == 1
        return ": this word belongs to the language and cannot be a name" if refused else ""
    if "LET" in possible:
        if token.type == "ENDCASE":
            return _label_hint(text, token.start_pos)
        return ": a label with such signs in it stands between quotation marks"
    return ""


def _label_hint(text: str, offset: int) -> str:
    """Return where a label ends, when one of several words may have swallowed the condition on its line."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset].rpartition("endcase")[2]
    found = re.search(r"\bcase\b(.*)", line)
    words = found[1].split() if found else []
    label = " ".join(words)
    return f"; all of {label!r} is the label: end it with a colon, or with its line" if len(words) > 1 else ""


def _sign_hint(text: str, offset: int) -> str:
    """Return what to write instead of a sign that has no meaning."""
    if text[offset] == "≠" or text.startswith("!=", offset):
        return ": write not (a = b)"
    if text[offset] == '"':
        return ": expected a label between two quotation marks on one line, after 'case'"
    return _ARITHMETIC if text[offset] in "+-*/" else ""


def _listed(names: Iterable[str], terminals: Iterable[TerminalDef]) -> str:
    """Return what could have come, in words, the long list of what an expression may begin with cut short."""
    wanted = set(names)
    words = []
    if wanted >= _OPERANDS:
        words.append("an expression")
        wanted -= _BEGINNINGS
    elif "COMPARISON" in wanted:
        words.append("a relation or operator")
        wanted -= _BETWEEN
    words += sorted(syntax.WORDS["terminals"].get(name) or repr(_spelled(name, terminals)) for name in wanted)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


_BEGINNINGS = {
    "NUMBER", "NAME", "PROJECTION", "LPAR", "LSQB", "LBRACE", "TRUE", "FALSE", "IMG", "_NOT", "FORALL",
    "EXISTS", "ALWAYS", "EVENTUALLY", "PREVIOUS", "_WIDTH", "_RATIO",
}  # fmt: skip
_BETWEEN = {"COMPARISON", "ELEMENT", "_AND", "_OR", "UNTIL", "_UNION", "_INTERSECTION"}


def _spelled(name: str, terminals: Iterable[TerminalDef]) -> str:
    """Return how a terminal is written: its first spelling."""
    if name in BRACKETS:
        return BRACKETS[name]
    return re.split(r"\\b|\||\(\?", next(one.pattern for one in terminals if one.name == name).value)[0]


# The names of symbols.
_NAMES = {symbol: name for name, symbol in syntax.SYMBOLS.items()} | {"~": "overlaps", "∼": "overlaps"}


class _Builder:
    def spec(self, tree: Tree[Token], source: str, path: str | None) -> Spec:
        functions: tuple[ExternalFunction, ...] = ()
        precondition: syntax.Expression | None = None
        cases: list[CaseClause] = []
        for part in cast("list[Tree[Token]]", tree.children):
            if part.data == "functions":
                functions = tuple(self._function(cast("Tree[Token]", one)) for one in part.children)
            elif part.data == "precondition":
                inside = [one for one in part.children if not _is_token(one, "NONE")]
                precondition = self.expression(inside[0]) if inside else None
            else:
                cases.append(self._case(part))
        return Spec(functions, precondition, tuple(cases), source=source, path=path)

    def _function(self, tree: Tree[Token]) -> ExternalFunction:
        name, *types = cast("list[Token]", tree.children)
        *parameters, result = (syntax.Type(one.value) for one in types)
        return ExternalFunction(str(name.value), tuple(parameters), result, span=token_span(name))

    def _case(self, tree: Tree[Token]) -> CaseClause:
        label = cast("Token", tree.children[0])
        lets: tuple[Let, ...] = ()
        if len(tree.children) == 3:
            lets = tuple(map(self._let, cast("Tree[Token]", tree.children[1]).children[:-1]))
        words = " ".join(label.value.strip('"').split())
        if not words:
            raise _Refused("the label of a case must not be blank", token_span(label))
        return CaseClause(words, lets, self.expression(tree.children[-1]), span=token_span(label))

    def _let(self, tree: Any) -> Let:
        name, kind, value = tree.children
        return Let(str(name.value), syntax.Type(kind.value), self.expression(value), span=token_span(name))

    def expression(self, node: Any) -> syntax.Expression:
        if _is_token(node):
            return self._leaf(node)
        span = syntax.Span(node.meta.start_pos, node.meta.end_pos)
        parts = [one for one in node.children if not _is_token(one) or one.type in _LEAVES]
        signs = [one for one in node.children if _is_token(one) and one.type not in _LEAVES]
        match str(node.data):
            case "or_" | "and_" as rule:
                joint: Literal["and", "or"] = "or" if rule == "or_" else "and"
                return syntax.Junction(joint, tuple(map(self.expression, parts)), span=span)
            case "not_":
                return syntax.Not(self.expression(parts[0]), span=span)
            case "until" | "unary":
                return self._over_time(signs, [self.expression(one) for one in parts], span)
            case "quantified":
                return self._quantified(parts, span)
            case "relation" | "relation_without_in":
                text = signs[0].value
                left, right = map(self.expression, parts)
                operator = cast("syntax.Operator", _NAMES.get(text, text))
                return syntax.BoxRelation(operator, left, right, span=span)
            case "union" | "intersection" as operator:
                left, right = map(self.expression, parts)
                return syntax.Combination(operator, left, right, span=span)
            case "call":
                function, *arguments = parts
                given = tuple(map(self.expression, arguments))
                return syntax.FunctionCall(str(function.value), given, span=span)
            case "projection":
                return self._projection(signs[0].value, self.expression(parts[0]), span)
            case "width":
                return syntax.Width(self.expression(parts[0]), span=span)
            case "set":
                return syntax.SetLiteral(tuple(map(self.expression, parts)), span=span)
            case "ratio" | "interval" | "box" as kind:
                first, second = map(self.expression, parts)
                return _OF_TWO[kind](first, second, span=span)
        raise AssertionError(f"the grammar has a rule {node.data!r} that is not built")  # pragma: no cover

    def _leaf(self, token: Token) -> syntax.Expression:
        span = token_span(token)
        match token.type:
            case "NUMBER":
                value = float(token.value)
                if not math.isfinite(value):
                    raise _Refused("this number is too large", span)
                return syntax.RealNumber(value, span=span)
            case "TRUE" | "FALSE":
                return syntax.TruthConstant(token.type == "TRUE", span=span)
            case "IMG":
                return syntax.ImageBox(span=span)
        return syntax.Name(str(token.value), span=span)

    def _over_time(
        self, signs: list[Token], operands: list[syntax.Expression], span: syntax.Span
    ) -> syntax.Expression:
        bounds = syntax.Bounds()
        if len(signs) == 2:
            lower, upper = re.findall(r"\d+|inf|∞", signs[1].value)
            if max(len(lower), len(upper)) > 9:
                raise _Refused("bounds must be below 1,000,000,000 frames", token_span(signs[1]))
            bounds = syntax.Bounds(int(lower), int(upper) if upper.isdigit() else None)
            if bounds.upper is not None and bounds.upper < bounds.lower:
                raise _Refused(f"bounds must not end before they begin: {signs[1]}", token_span(signs[1]))
        operator = signs[0].type
        if operator == "UNTIL":
            return syntax.Until(operands[0], operands[1], bounds, span=span)
        if operator == "PREVIOUS":
            return syntax.Previous(operands[0], span=span)
        word: Literal["always", "eventually"] = "always" if operator == "ALWAYS" else "eventually"
        return syntax.Timed(word, operands[0], bounds, span=span)

    def _quantified(self, parts: list[Any], span: syntax.Span) -> syntax.Expression:
        *quantifiers, body = parts
        made = self.expression(body)
        for tree in reversed(quantifiers):
            sign, name, _, boxes = tree.children
            operator: Any = "forall" if sign.type == "FORALL" else "exists"
            whole = syntax.Span(tree.meta.start_pos, span.stop)
            made = syntax.Quantified(operator, str(name.value), self.expression(boxes), made, span=whole)
        return made

    @staticmethod
    def _projection(text: str, box: syntax.Expression, span: syntax.Span) -> syntax.AxisProjection:
        end = re.search(r"(?P<lower>lower|L|\u0332)|upper|U|\u0305", text[len("PROJ") :])
        which: Any = None if end is None else "lower" if end["lower"] else "upper"
        return syntax.AxisProjection("y" if "y" in text else "x", box, which, span=span)


_OF_TWO = {"ratio": syntax.Ratio, "interval": syntax.IntervalLiteral, "box": syntax.BoxLiteral}
_LEAVES = {"NUMBER", "NAME", "TRUE", "FALSE", "IMG"}


def _is_token(node: object, kind: str | None = None) -> bool:
    from lark import Token

    return isinstance(node, Token) and kind in (None, node.type)


def token_span(token: Token) -> syntax.Span:
    """Return where a token stands in the text."""
    start = token.start_pos or 0
    return syntax.Span(start, start + len(token.value))


_OPENING = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}


def parse(text: str, *, path: str | None = None) -> Spec:
    """Read a specification. Names and types are not looked at; `Spec.check_types` does that.

    Args:
        text: The specification.
        path: The file it came from, for messages.

    Raises:
        SpecificationError: It is not written in BBSL; shows where.

    Example:
        >>> parse("case go true endcase").labels
        ('go',)
        >>> parse("case go (true endcase")
        Traceback (most recent call last):
        ...
        roadworthy.bbsl.syntax.SpecificationError: <specification>:1:9: this '(' is never closed
          1 | case go (true endcase
            |         ^
    """
    from lark import UnexpectedInput

    try:
        tree = grammar().parse(text)
        _check_depth(tree)
        spec = _Builder().spec(tree, text, path)
        if not spec.case_blocks:
            end = len(text.rstrip())
            message = "the specification has no case: expected at least one 'case LABEL … endcase'"
            raise _Refused(message, syntax.Span(end, end))
    except UnexpectedInput as error:
        problem = explained(error, text, grammar().terminals)
    except _Refused as error:
        problem = error.problem
    else:
        return spec
    raise syntax.SpecificationError([problem], text, path)


def load(path: str | PathLike[str]) -> Spec:
    """Read the specification in a file.

    Raises:
        InputError: There is no such file, or it is no text.
        SpecificationError: It is not written in BBSL.
    """
    return parse(read_text(Path(path)), path=fspath(path))


class _Refused(Exception):  # noqa: N818 - it carries a problem to `parse` and never leaves this module
    def __init__(self, message: str, span: syntax.Span) -> None:
        self.problem = syntax.SpecificationProblem(message, span)


class _Brackets:
    """Looks at brackets between lexer and parser, which would only say that something else was expected."""

    always_accept = ()

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Pass every token on."""
        opened: list[Token] = []
        for token in stream:
            if token.type in _OPENING:
                opened.append(token)
                if len(opened) > syntax.MAX_DEPTH:
                    raise _Refused(f"brackets nested more than {syntax.MAX_DEPTH} deep", token_span(token))
            elif token.type in _OPENING.values():
                if not opened:
                    raise _Refused(f"this {token.value!r} closes nothing", token_span(token))
                before = opened.pop()
                if _OPENING[before.type] != token.type:
                    wanted = BRACKETS[_OPENING[before.type]]
                    message = f"this {before.value!r} is closed by {token.value!r}: expected {wanted!r}"
                    raise _Refused(message, token_span(before))
            elif token.type in _ENDS and opened:
                raise _Refused(f"this {opened[-1].value!r} is never closed", token_span(opened[-1]))
            yield token
        if opened:
            raise _Refused(f"this {opened[-1].value!r} is never closed", token_span(opened[-1]))


_ENDS = {
    "ENDCASE", "ENDPRECONDITION", "ENDCONDITION", "CASE", "PRECONDITION", "CONDITION", "EXFUNCTION",
    "ENDEXFUNCTION",
}  # fmt: skip


@lru_cache(maxsize=1)
def grammar() -> Lark:
    """Return the parser of BBSL's grammar."""
    from lark import Lark

    text = Path(__file__).with_name("grammar.lark").read_text("utf-8")
    return Lark(text, parser="lalr", propagate_positions=True, maybe_placeholders=False, postlex=_Brackets())


def _check_depth(tree: Tree[Token]) -> None:
    """Refuse what recursion could not walk; without recursion, of course."""
    from lark import Tree

    level: list[Tree[Token]] = [tree]
    for _ in range(syntax.MAX_DEPTH + 1):
        level = [child for one in level for child in one.children if isinstance(child, Tree)]
    if level:
        span = syntax.Span(level[0].meta.start_pos, level[0].meta.end_pos)
        raise _Refused(f"this is nested more than {syntax.MAX_DEPTH} deep", span)
