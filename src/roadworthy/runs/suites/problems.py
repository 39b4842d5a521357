"""What is wrong with a suite, shown where it stands in the file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
    return Complaint(*file.problem(message, written.key if about_key and written.key else written.value))


def about_rule(file: YamlFile, place: Place, error: RuleError) -> Complaint:
    """Return a complaint about a rule, with the words underlined that the reader of rules does not know."""
    nearest = f"; understood are: {', '.join(error.suggestions)}" if error.suggestions else ""
    message = f"{error.reason}{nearest}"
    written = file.places.get(place)
    if written is None:
        return complain(file, place, message)
    words = error.text[slice(*error.span)]
    for number in range(written.value.line, written.value.end_line + 1):
        text = file.line(number)
        start = text.find(words, written.value.column if number == written.value.line else 0)
        if words.strip() and start >= 0:
            return Complaint(*file.problem(message, Span(number, start, number, start + len(words))))
    return complain(file, place, f"{message}: {words!r}")
