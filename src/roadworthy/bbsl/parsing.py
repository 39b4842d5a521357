"""From text to the tree of a specification."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy._files import read_text
from roadworthy.bbsl.problems import Problem, SpecificationError
from roadworthy.bbsl.syntax import MAX_DEPTH, Span, Spec
from roadworthy.bbsl.tree_building import build, token_span

if TYPE_CHECKING:
    from lark import Lark, Token, Tree, UnexpectedInput

__all__ = ["grammar", "load", "parse"]

_OPENING = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
_SIGNS = {"LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]", "LBRACE": "{", "RBRACE": "}"}
_WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "TYPE": "a type (bool, real, interval, bb or setBB)",
    "LABEL": "the label of the case",
    "COMPARISON": "a relation such as <, = or ≈",
    "PROJECTION": "PROJ_x or PROJ_y",
    "BOUNDS": "bounds such as [0, 3]",
    "$END": "the end of the specification",
}
_WORD = re.compile(r"[^\W\d]\w*")
_OPERANDS = {"NUMBER", "NAME", "PROJECTION", "LPAR"}


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
        roadworthy.bbsl.problems.SpecificationError: <specification>:1:9: this '(' is never closed
          1 | case go (true endcase
            |         ^
    """
    from lark import UnexpectedInput

    try:
        tree = grammar().parse(text)
        _check_depth(tree)
        spec = build(tree, text, path)
    except UnexpectedInput as error:
        raise SpecificationError([_explained(error, text)], text, path) from None
    except _Refused as error:
        raise SpecificationError([error.problem], text, path) from None
    if not spec.case_blocks:
        message = "the specification has no case: expected at least one 'case LABEL … endcase'"
        raise SpecificationError([Problem(message, Span(len(text.rstrip()), len(text.rstrip())))], text, path)
    return spec


def load(path: str | PathLike[str]) -> Spec:
    """Read the specification in a file.

    Raises:
        InputError: There is no such file, or it is no text.
        SpecificationError: It is not written in BBSL.
    """
    return parse(read_text(Path(path)), path=fspath(path))


class _Refused(Exception):  # noqa: N818 - it carries a problem to `parse` and never leaves this module
    def __init__(self, message: str, span: Span) -> None:
        self.problem = Problem(message, span)


class _Brackets:
    """Looks at brackets between lexer and parser, which would only say that something else was expected."""

    always_accept = ()

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Pass every token on."""
        opened: list[Token] = []
        for token in stream:
            if token.type in _OPENING:
                opened.append(token)
                if len(opened) > MAX_DEPTH:
                    raise _Refused(f"brackets are nested more than {MAX_DEPTH} deep", token_span(token))
            elif token.type in _OPENING.values():
                if not opened:
                    raise _Refused(f"this {token.value!r} closes nothing", token_span(token))
                before = opened.pop()
                if _OPENING[before.type] != token.type:
                    wanted = _SIGNS[_OPENING[before.type]]
                    raise _Refused(
                        f"this {before.value!r} is closed by {token.value!r}: expected {wanted!r}",
                        token_span(before),
                    )
            elif token.type in _ENDS and opened:
                raise _Refused(f"this {opened[-1].value!r} is never closed", token_span(opened[-1]))
            yield token
        if opened:
            raise _Refused(f"this {opened[-1].value!r} is never closed", token_span(opened[-1]))


_ENDS = {
    "ENDCASE",
    "ENDPRECONDITION",
    "ENDCONDITION",
    "CASE",
    "PRECONDITION",
    "CONDITION",
    "EXFUNCTION",
    "ENDEXFUNCTION",
}


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
    for _ in range(MAX_DEPTH + 1):
        level = [child for one in level for child in one.children if isinstance(child, Tree)]
    if level:
        meta = level[0].meta
        raise _Refused(f"this is nested more than {MAX_DEPTH} deep", Span(meta.start_pos, meta.end_pos))


def _explained(error: UnexpectedInput, text: str) -> Problem:
    """Say what was expected where the parser stopped."""
    from lark import UnexpectedCharacters, UnexpectedToken

    offset = error.pos_in_stream or 0
    if isinstance(error, UnexpectedCharacters):
        if text.startswith("*", offset) and text.startswith("(", offset - 1):
            return Problem("this comment is never closed: expected '*)'", Span(offset - 1, offset + 1))
        return Problem(f"{text[offset]!r} has no meaning here{_hint(text, offset)}", Span(offset, offset + 1))
    assert isinstance(error, UnexpectedToken)
    token: Any = error.token
    expected = _listed(error.accepts or error.expected)
    if token.type == "$END":
        end = len(text.rstrip())
        return Problem(f"the text ends too soon: expected {expected}", Span(end, end))
    if _WORD.fullmatch(token.value) and set(error.accepts or error.expected) <= {"NAME"}:
        expected += " (this word belongs to the language and cannot be one)"
    if token.type == "LPAR" and text.startswith("(*", offset):
        return Problem("this comment is never closed: expected '*)'", Span(offset, offset + 2))
    hint = _ARITHMETIC if token.type == "NUMBER" and token.value.startswith("-") else ""
    if token.type == "ENDCASE" and "LET" in (error.accepts or error.expected):
        label = " ".join(text[:offset].rpartition("case")[2].split())
        hint = f"; all of {label!r} is the label, which ends with its line or at a colon"
    return Problem(f"expected {expected}, got {token.value!r}{hint}", token_span(token))


_ARITHMETIC = ": there is no arithmetic; let an external function compute"


def _hint(text: str, offset: int) -> str:
    """Return what to write instead of a sign that has no meaning."""
    if text[offset] == "≠" or text.startswith("!=", offset):
        return ": write not (a = b)"
    if text[offset] == '"':
        return ": expected a label between two quotation marks on one line, after 'case'"
    return _ARITHMETIC if text[offset] in "+-*/" else ""


def _listed(names: Any) -> str:
    """Return what could have come, in words, the long list of what an expression may begin with cut short."""
    wanted = set(names)
    words = []
    if wanted >= _OPERANDS:
        words.append("an expression")
        wanted -= {name for name in wanted if name in _BEGINNINGS}
    elif "COMPARISON" in wanted:
        words.append("a relation or operator")
        wanted -= _BETWEEN
    words += sorted(_WORDS.get(name) or repr(_spelled(name)) for name in wanted)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


_BEGINNINGS = {
    "NUMBER",
    "NAME",
    "PROJECTION",
    "LPAR",
    "LSQB",
    "LBRACE",
    "TRUE",
    "FALSE",
    "IMG",
    "_NOT",
    "FORALL",
    "EXISTS",
    "ALWAYS",
    "EVENTUALLY",
    "PREVIOUS",
    "_WIDTH",
    "_RATIO",
}
_BETWEEN = {"COMPARISON", "ELEMENT", "_AND", "_OR", "UNTIL", "_UNION", "_INTERSECTION"}


def _spelled(name: str) -> str:
    """Return how a terminal is written: its first spelling."""
    if name in _SIGNS:
        return _SIGNS[name]
    pattern = next(one.pattern for one in grammar().terminals if one.name == name)
    return re.split(r"\\b|\||\(\?", pattern.value)[0]
