"""From text to the tree of a specification."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy._files import read_text
from roadworthy.bbsl.explaining import BRACKETS, explained
from roadworthy.bbsl.problems import Problem, SpecificationError
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.syntax import MAX_DEPTH, Span
from roadworthy.bbsl.tree_building import build, token_span

if TYPE_CHECKING:
    from lark import Lark, Token, Tree

__all__ = ["grammar", "load", "parse"]

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
        raise SpecificationError([explained(error, text, grammar().terminals)], text, path) from None
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
                    wanted = BRACKETS[_OPENING[before.type]]
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
