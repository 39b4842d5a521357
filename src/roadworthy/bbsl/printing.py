"""Specifications as text: expressions without needless brackets, and one canonical form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from roadworthy.bbsl import syntax
from roadworthy.bbsl.specification import CaseClause, Spec

_ASCII = {"overlaps": "~", "intersection": "intersect"}

# How tightly the parts bind, the tightest last.
_OR, _AND, _UNTIL, _UNARY, _RELATION, _UNION, _INTERSECTION, _ATOM = range(8)
_SAID_OF_ONE = (syntax.Not, syntax.Timed, syntax.Previous, syntax.Quantified)
_LEVELS: dict[type[syntax.Expression], int] = {syntax.Until: _UNTIL, **dict.fromkeys(_SAID_OF_ONE, _UNARY)}


class Printer:
    """Writes expressions in one line.

    Args:
        ascii: Whether symbols are spelled in ASCII.

    Example:
        >>> ratio = syntax.Ratio(syntax.Name("a"), syntax.Name("b"))
        >>> Printer().expression(syntax.BoxRelation("<=", syntax.RealNumber(0.5), ratio))
        '0.5 ≤ RAT(a, b)'
    """

    def __init__(self, *, ascii: bool = False) -> None:
        self._ascii = ascii

    def _sign(self, name: str) -> str:
        return _ASCII.get(name, name) if self._ascii else syntax.SYMBOLS.get(name, name)

    def label(self, label: str) -> str:
        """Return a label, between quotation marks where it would not be read otherwise."""
        return label if _plain_label().fullmatch(label) else f'"{label}"'

    def needs_brackets(self, outer: syntax.Expression, operand: syntax.Expression) -> bool:
        """Whether an operand of and, or must stand in brackets."""
        return self._level(operand) <= self._level(outer)

    def quantifiers(self, part: syntax.Quantified) -> tuple[str, syntax.Expression]:
        """Return quantifiers that follow each other, up to the dot, and what they are said of."""
        texts = []
        body: syntax.Expression = part
        while isinstance(body, syntax.Quantified):
            sign = self._sign(body.quantifier)
            # A word is set apart from the name after it; a symbol is not.
            sign += " " if self._ascii else ""
            texts.append(f"{sign}{body.variable} {self._sign('in')} {self._at(body.boxes, _UNION)}")
            body = body.body
        return f"{', '.join(texts)}.", body

    def expression(self, part: syntax.Expression) -> str:
        """Return an expression in one line."""
        match part:
            case syntax.RealNumber():
                whole = part.value.is_integer() and abs(part.value) < 1e15
                return str(int(part.value)) if whole else repr(part.value)
            case syntax.TruthConstant():
                return "true" if part.value else "false"
            case syntax.Name():
                return part.name
            case syntax.ImageBox():
                return "IMG"
            case syntax.FunctionCall():
                return f"{part.function}({self._list(*part.arguments)})"
            case syntax.IntervalLiteral():
                return f"[{self._list(part.lower, part.upper)}]"
            case syntax.BoxLiteral():
                return f"({self._list(part.x, part.y)})"
            case syntax.SetLiteral():
                return f"{{{self._list(*part.boxes)}}}"
            case syntax.AxisProjection():
                end = f".{part.end}" if part.end else ""
                return f"PROJ_{part.axis}{end}({self.expression(part.box)})"
            case syntax.Width():
                return f"w({self.expression(part.interval)})"
            case syntax.Ratio():
                return f"RAT({self._list(part.part, part.whole)})"
            case syntax.Combination():
                level = _UNION if part.operator == "union" else _INTERSECTION
                left, right = self._at(part.left, level), self._at(part.right, level + 1)
                return f"{left} {self._sign(part.operator)} {right}"
            case syntax.BoxRelation():
                left, right = self._at(part.left, _UNION), self._at(part.right, _UNION)
                text = f"{left} {self._sign(part.operator)} {right}"
                return f"({text})" if self._ends_lets(part) else text
        return self._condition(part)

    def _condition(self, part: syntax.Expression) -> str:
        match part:
            case syntax.Junction():
                inner = self._level(part) + 1
                return f" {part.operator} ".join(self._at(one, inner) for one in part.operands)
            case syntax.Quantified():
                prefix, body = self.quantifiers(part)
                return f"{prefix} ({self.expression(body)})"
            case syntax.Not() | syntax.Previous():
                return f"{type(part).__name__.lower()} {self._said_of(part.operand)}"
            case syntax.Timed():
                return part.operator + _after_bounds(part.bounds, self._said_of(part.operand))
            case syntax.Until():
                right = self._at(part.right, _UNTIL)
                return f"{self._at(part.left, _UNARY)} until{_after_bounds(part.bounds, right)}"
        raise TypeError(f"expected an expression, got {type(part).__name__}")

    def _said_of(self, operand: syntax.Expression) -> str:
        """Return what not, always, eventually or previous is said of; a relation stands in brackets."""
        text = self.expression(operand)
        return f"({text})" if self._level(operand) not in (_UNARY, _ATOM) else text

    def _list(self, *parts: syntax.Expression) -> str:
        return ", ".join(map(self.expression, parts))

    def _at(self, part: syntax.Expression, level: int) -> str:
        text = self.expression(part)
        return f"({text})" if self._level(part) < level else text

    def _ends_lets(self, part: syntax.BoxRelation) -> bool:
        """Whether a relation is spelled with the word that also ends the bindings of let: it has brackets."""
        return self._ascii and part.operator == "in"

    def _level(self, part: syntax.Expression) -> int:
        if isinstance(part, syntax.BoxRelation):
            return _ATOM if self._ends_lets(part) else _RELATION
        if isinstance(part, syntax.Combination):
            return _UNION if part.operator == "union" else _INTERSECTION
        if isinstance(part, syntax.Junction):
            return _OR if part.operator == "or" else _AND
        return _LEVELS.get(type(part), _ATOM)


def _after_bounds(bounds: syntax.Bounds, text: str) -> str:
    """Return bounds and what they are said of, in brackets where it could be read as bounds itself."""
    upper = "inf" if bounds.upper is None else bounds.upper
    said = "" if bounds == syntax.Bounds() else f"[{bounds.lower}, {upper}]"
    return f"{said} ({text})" if text.startswith("[") else f"{said} {text}"


@lru_cache(maxsize=1)
def _plain_label() -> re.Pattern[str]:
    from roadworthy.bbsl.parsing import grammar

    pattern = next(one.pattern for one in grammar().terminals if one.name == "LABEL")
    return re.compile(rf'(?!")(?:{pattern.to_regexp()})')


WIDTH = 88
_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|\(\*.*?\*\)', re.DOTALL)


def format_spec(spec: Spec, *, ascii: bool = False) -> str:
    r"""Return a specification in its canonical form. Formatting it again changes nothing.

    Comments stay before or beside what they stood before or beside. One from the middle of an expression
    moves to the end of its line.

    Args:
        spec: The specification; comments are taken from its source.
        ascii: Whether symbols are spelled in ASCII.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> print(format_spec(parse("case go  1∈[0,2]and(true) // sure\nendcase")), end="")
        precondition
          [none]
        endprecondition
        <BLANKLINE>
        case go
          1 ∈ [0, 2] and true  // sure
        endcase
    """
    return _Page(spec, Printer(ascii=ascii)).text()


@dataclass(frozen=True)
class _Comment:
    start: int
    text: str
    alone: bool  # nothing stands before it on its line


@dataclass(frozen=True)
class _Line:
    """A line of an expression; the offset is where what it shows begins in the source."""

    offset: int
    text: str

    def moved(self, indent: str, before: str = "") -> _Line:
        return _Line(self.offset, f"{indent}{before}{self.text}")


class _Page:
    """Collects lines, and puts every comment before the first line that shows something after it."""

    def __init__(self, spec: Spec, printer: Printer) -> None:
        self._spec = spec
        self._printer = printer
        self._lines: list[str] = []
        self._comments = list(_comments(spec.source))
        # Blanks in place of comments and quoted labels: all offsets stay.
        self._bare = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), spec.source)
        # Up to here the source is on the page; block words are looked for from here on.
        self._offset = 0

    def text(self) -> str:
        """Return the whole page."""
        spec = self._spec
        if spec.functions or self._found("exfunction", header=True) is not None:
            self._begin("exfunction", self._found("exfunction", header=True))
            for function in spec.functions:
                types = ", ".join(function.parameters)
                self._put(f"  {function.name}({types}): {function.result}", function.span.start)
            self._end("endexfunction", self._found("endexfunction"))
        self._precondition()
        for case in spec.case_blocks:
            self._case(case)
        self._flush(len(spec.source) + 1, "")
        return "\n".join(line.rstrip() for line in self._lines) + "\n"

    def _precondition(self) -> None:
        # One that is not written is shown nevertheless: it says that the specification always applies.
        self._begin("precondition", self._found("(pre)?condition", header=True))
        lines = [_Line(self._offset, "none")]
        if self._spec.precondition is not None:
            lines = self._layout(self._spec.precondition, WIDTH - 4)
        for index, line in enumerate(lines):
            opening = "  [" if index == 0 else "   "
            closing = "]" if index == len(lines) - 1 else ""
            self._put(f"{opening}{line.text}{closing}", line.offset)
        self._end("endprecondition", self._found("end(pre)?condition", header=True))

    def _case(self, case: CaseClause) -> None:
        self._begin(f"case {self._printer.label(case.label)}", self._found("case"))
        for index, let in enumerate(case.lets):
            opening = "  let " if index == 0 else "      "
            closing = " in" if index == len(case.lets) - 1 else ","
            value = self._printer.expression(let.value)
            self._put(f"{opening}{let.name}: {let.type} = {value}{closing}", let.span.start)
        for line in self._layout(case.condition, WIDTH - 2, self._interrupted(case.condition)):
            self._put(f"  {line.text}", line.offset)
        self._end("endcase", self._found("endcase"))

    def _layout(self, part: syntax.Expression, width: int, broken: bool = False) -> list[_Line]:
        """Return the lines of an expression: one if it fits, else one for each operand."""
        whole = self._printer.expression(part)
        if len(whole) <= width and not broken:
            return [_Line(part.span.start, whole)]
        match part:
            case syntax.Junction():
                lines = []
                for index, operand in enumerate(part.operands):
                    before = f"{part.operator} " if index else ""
                    inner = self._operand(part, operand, width - len(before))
                    lines.append(inner[0].moved("", before))
                    lines += inner[1:]
                return lines
            case syntax.Not():
                return self._bracketed("not (", part.operand, part.span.start, width)
            case syntax.Quantified():
                prefix, body = self._printer.quantifiers(part)
                return self._bracketed(f"{prefix} (", body, part.span.start, width)
        return [_Line(part.span.start, whole)]

    def _operand(self, outer: syntax.Expression, operand: syntax.Expression, width: int) -> list[_Line]:
        if not self._printer.needs_brackets(outer, operand):
            return self._layout(operand, width)
        if len(self._printer.expression(operand)) + 2 <= width:
            return [_Line(operand.span.start, f"({self._printer.expression(operand)})")]
        return self._bracketed("(", operand, operand.span.start, width)

    def _bracketed(self, opening: str, inner: syntax.Expression, offset: int, width: int) -> list[_Line]:
        lines = [line.moved("  ") for line in self._layout(inner, width - 2)]
        return [_Line(offset, opening), *lines, _Line(lines[-1].offset, ")")]

    def _interrupted(self, part: syntax.Expression) -> bool:
        """Whether a comment stands between operands, so that they must stand on lines of their own."""
        if not isinstance(part, syntax.Junction):
            return False
        last = part.operands[-1].span.start
        return any(part.span.start < one.start < last for one in self._comments)

    def _found(self, word: str, *, header: bool = False) -> int | None:
        """Return where the next such word of the language stands, in the header before the first case."""
        match = re.compile(rf"\b{word}\b").search(self._bare, self._offset)
        first = re.compile(r"\bcase\b").search(self._bare)
        if match is None or (header and first is not None and first.start() < match.start()):
            return None
        return match.start()

    def _begin(self, text: str, offset: int | None) -> None:
        """Begin a block, after a blank line."""
        offset = self._offset if offset is None else offset
        while self._lines and self._has_comment(offset) and not self._comments[0].alone:
            self._beside(self._comments.pop(0))
        if self._lines:
            self._lines.append("")
        self._put(text, offset, indent="")

    def _end(self, word: str, offset: int | None) -> None:
        """End a block."""
        self._flush(self._offset if offset is None else offset, "  ")
        self._lines.append(word)
        if offset is not None:
            self._offset = offset + 1

    def _put(self, text: str, offset: int, indent: str = "  ") -> None:
        self._flush(offset, indent)
        self._lines.append(text)
        self._offset = max(self._offset, offset)

    def _flush(self, offset: int, indent: str) -> None:
        """Put the comments that stand before an offset on the page."""
        while self._has_comment(offset):
            one = self._comments.pop(0)
            if one.alone or not self._lines:
                self._lines.append(f"{indent}{one.text}")
            else:
                self._beside(one)

    def _has_comment(self, offset: int) -> bool:
        return bool(self._comments) and self._comments[0].start < offset

    def _beside(self, comment: _Comment) -> None:
        """Put a comment at the end of the last line, unless one there already runs to the end of it."""
        if "//" in self._lines[-1]:
            self._lines.append(f"  {comment.text}")
        else:
            self._lines[-1] += f"  {comment.text}"


def _comments(source: str) -> Iterator[_Comment]:
    for found in _COMMENT.finditer(source):
        if not found[0].startswith('"'):
            line = source[source.rfind("\n", 0, found.start()) + 1 : found.start()]
            yield _Comment(found.start(), found[0].rstrip(), not line.replace("\ufeff", "").strip())
