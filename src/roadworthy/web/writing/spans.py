"""Places in a text, as the page marks them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

__all__ = ["Fix", "Mark", "Trouble", "nearest_word", "utf16"]

_LIKE = 0.7


@dataclass(frozen=True, slots=True)
class Mark:
    """Some characters of a text, and what they are: a role, which the page has a colour for."""

    start: int
    stop: int
    role: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change of the text that the page offers.

    Attributes:
        label: What is put in.
        text: The whole text after it.
    """

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that is not understood.

    Attributes:
        reason: What is wrong, in words.
        start: The first character at fault.
        stop: The one after the last.
        fixes: Changes after which more is understood, the best first.
        examples: What else would be understood in that place.
    """

    reason: str
    start: int
    stop: int
    fixes: tuple[Fix, ...] = ()
    examples: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)


def nearest_word(text: str, start: int, stop: int, wanted: str) -> tuple[int, int] | None:
    """Return the word between two places that is most like another; None where none is.

    Example:
        >>> nearest_word("a pedestrian apears on the road", 13, 31, "appears")
        (13, 19)
    """
    best: tuple[float, int, int] | None = None
    at = start
    for word in text[start:stop].split():
        begin = text.index(word, at)
        at = begin + len(word)
        like = SequenceMatcher(None, word.lower(), wanted.lower()).ratio()
        if like >= _LIKE and (best is None or like > best[0]):
            best = like, begin, at
    return None if best is None else best[1:]


def utf16(text: str, marks: Iterable[Mark]) -> list[Mark]:
    """Return marks with places as JavaScript counts them, in which some signs are two.

    Example:
        >>> utf16("🚗 car", [Mark(2, 5, "object")])
        [Mark(start=3, stop=6, role='object')]
    """
    return [Mark(_units(text[: one.start]), _units(text[: one.stop]), one.role) for one in marks]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
