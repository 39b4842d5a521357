"""What is wrong with a suite, shown where it stands in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from roadworthy._excerpts import excerpt
from roadworthy._yaml import Place, Span, YamlFile
from roadworthy.errors import InputError, RuleError

__all__ = ["Complaint", "SuiteError", "about_rule", "complain"]

_MOST = 30


@dataclass(frozen=True)
class Complaint:
    """One thing that is wrong.

    Attributes:
        message: What was expected, what came, and what to do.
        line: On which line, counted from 1; 0 where it is about the whole file.
        shown: The message with the place and the line underlined.
    """

    message: str
    line: int
    shown: str


class SuiteError(InputError):
    """A suite is wrong in one place or several; the first 30 are shown, with their lines underlined.

    Args:
        complaints: What is wrong, at least one.

    Example:
        >>> print(SuiteError([Complaint("it has no requirements", 0, "night.yaml: it has no requirements")]))
        night.yaml: it has no requirements
    """

    def __init__(self, complaints: Iterable[Complaint]) -> None:
        self.complaints = tuple(sorted(complaints, key=lambda one: one.line))
        shown = [one.shown for one in self.complaints[:_MOST]]
        if len(self.complaints) > _MOST:
            shown.append(f"… and {len(self.complaints) - _MOST} more")
        super().__init__("\n".join(shown))

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.complaints,)


def complain(file: YamlFile, place: Place, message: str, *, key: bool = False) -> Complaint:
    """Return a complaint about a place of a file, or about the nearest one around it.

    Args:
        file: The file.
        place: The keys that lead to what is wrong.
        message: What is wrong.
        key: Whether the key is wrong, not its value.
    """
    found = place
    while found and found not in file.places:
        found = found[:-1]
    if not found:
        return Complaint(message, 0, f"{file.path}: {message}")
    written = file.places[found]
    # A value that is missing, or a block of many lines, is best pointed at by its key.
    whole = written.value.line < written.value.end_line and written.value.end_column <= written.value.column
    about_key = written.key is not None and (key or found != place or whole)
    return _shown(file, written.key if about_key and written.key else written.value, message)


def about_rule(file: YamlFile, place: Place, error: RuleError) -> Complaint:
    """Return a complaint about a rule, with the words underlined that the reader of rules does not know."""
    nearest = f"; understood are: {', '.join(error.suggestions)}" if error.suggestions else ""
    message = f"{error.reason}{nearest}"
    written = file.places.get(place)
    if written is None:
        return complain(file, place, message)
    words = error.text[slice(*error.span)]
    for number in range(written.value.line, written.value.end_line + 1):
        text = _line(file, number)
        start = text.find(words, written.value.column if number == written.value.line else 0)
        if words.strip() and start >= 0:
            return _shown(file, Span(number, start, number, start + len(words)), message)
    return complain(file, place, f"{message}: {words!r}")


def _shown(file: YamlFile, span: Span, message: str) -> Complaint:
    text = _line(file, span.line)
    stop = span.end_column if span.end_line == span.line else len(text.rstrip())
    width = max(1, stop - span.column)
    return Complaint(
        message, span.line, excerpt(str(file.path), message, text, span.line, span.column + 1, width)
    )


def _line(file: YamlFile, number: int) -> str:
    lines = _lines(file.text)
    return lines[number - 1] if number <= len(lines) else ""


@lru_cache(maxsize=1)
def _lines(text: str) -> list[str]:
    # As YAML counts them: other separators of str.splitlines do not end a line there.
    return re.split(r"\r\n|\r|\n|\x85|\u2028|\u2029", text)
