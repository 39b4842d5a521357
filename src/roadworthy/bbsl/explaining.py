"""What to say where the parser stopped: what was expected, what came, and what was probably meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from roadworthy.bbsl.problems import Problem
from roadworthy.bbsl.syntax import Span
from roadworthy.bbsl.tree_building import token_span

if TYPE_CHECKING:
    from lark import UnexpectedInput
    from lark.lexer import TerminalDef

__all__ = ["BRACKETS", "explained"]

BRACKETS = {"LPAR": "(", "RPAR": ")", "LSQB": "[", "RSQB": "]", "LBRACE": "{", "RBRACE": "}"}
"""How brackets are written, by the names of their terminals."""

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


def explained(error: UnexpectedInput, text: str, terminals: Iterable[TerminalDef]) -> Problem:
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
            return Problem(_COMMENT, Span(offset - 1, offset + 1))
        return Problem(
            f"{text[offset]!r} has no meaning here{_sign_hint(text, offset)}", Span(offset, offset + 1)
        )
    assert isinstance(error, UnexpectedToken)
    token: Any = error.token
    possible = set(error.accepts or error.expected)
    expected = _listed(possible, terminals)
    if token.type == "$END":
        end = len(text.rstrip())
        return Problem(f"the text ends too soon: expected {expected}", Span(end, end))
    if token.type == "LPAR" and text.startswith("(*", offset):
        return Problem(_COMMENT, Span(offset, offset + 2))
    bounds = _NO_BOUNDS.search(text, 0, offset)
    if bounds and "COMPARISON" in possible:
        span = Span(bounds.start("bounds"), bounds.end("bounds"))
        return Problem(
            "bounds must be two whole numbers of frames, such as [0, 3]; 'previous' has none", span
        )
    hint = _token_hint(token, possible, text)
    return Problem(f"expected {expected}, got {token.value!r}{hint}", token_span(token))


_COMMENT = "this comment is never closed: expected '*)'"
_ARITHMETIC = ": there is no arithmetic; let an external function compute"
_NO_BOUNDS = re.compile(r"\b(always|eventually|until|previous)\s*(?P<bounds>\[[^\[\]]*\])\s*\Z")


def _token_hint(token: Any, possible: set[str], text: str) -> str:
    """Return what was probably meant by a word or sign that cannot stand where it stands."""
    if token.type == "NUMBER" and token.value.startswith("-"):
        return _ARITHMETIC
    if "NAME" in possible and "NUMBER" not in possible and _WORD.fullmatch(token.value):
        # After "exfunction" this may also be a word that ends the block; a name has parentheses there.
        called = text[token.end_pos :].lstrip().startswith("(")
        return (
            ": this word belongs to the language and cannot be a name" if called or len(possible) == 1 else ""
        )
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
    words += sorted(_WORDS.get(name) or repr(_spelled(name, terminals)) for name in wanted)
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


def _spelled(name: str, terminals: Iterable[TerminalDef]) -> str:
    """Return how a terminal is written: its first spelling."""
    if name in BRACKETS:
        return BRACKETS[name]
    pattern = next(one.pattern for one in terminals if one.name == name)
    return re.split(r"\\b|\||\(\?", pattern.value)[0]
