"""What is wrong with a specification, shown where it stands in the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from roadworthy._excerpts import excerpt
from roadworthy.bbsl.syntax import Span
from roadworthy.errors import InputError

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
        begins = problem.span.start - (column - 1)
        text = self.source[begins:].partition("\n")[0].rstrip("\r")
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
