"""Numbers in digits, words and fractions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from roadworthy.rules.language.tokens import FRACTIONS

__all__ = ["Number", "read_number"]

ONES = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SMALL = {word: value for value, word in enumerate(ONES + TEENS)} | {
    word: 10 * value for value, word in enumerate(TENS, start=2)
}
LARGE = {"hundred": 100, "thousand": 1000}
PARTS = {"half": 2, "halves": 2, "quarter": 4, "fourth": 4, "third": 3, "fifth": 5, "sixth": 6, "eighth": 8}
PARTS |= {"tenth": 10, "twentieth": 20}
PARTS |= {word + "s": value for word, value in PARTS.items() if word not in ("half", "halves")}
MULTIPLES = {"twice": 2.0, "thrice": 3.0}


class Number(NamedTuple):
    """A number among words.

    Attributes:
        value: The number.
        fraction: Whether it is a fraction or a multiple, which can stand for a share.
        stop: The word after it.
    """

    value: float
    fraction: bool
    stop: int


def read_number(words: Sequence[str], start: int) -> Number | None:
    """Return the number that begins at a word, if there is one.

    Example:
        >>> read_number(["by", "two", "thirds", "at", "least"], 1)
        Number(value=0.6666666666666666, fraction=True, stop=3)

    Raises:
        ZeroDivisionError: A fraction has nothing below its line.
    """

    def word(place: int) -> str:
        return words[place] if place < len(words) else ""

    text = word(start)
    for table in (FRACTIONS, MULTIPLES, {"half": 0.5}):
        if text in table:
            return Number(table[text], True, start + 1)
    if text[:1].isdecimal() or (text[:1] == "." and len(text) > 1):
        value, stop = float(text.replace(",", "")), start + 1
        if word(stop) == "/" and word(stop + 1)[:1].isdecimal():
            return Number(value / float(word(stop + 1)), True, stop + 2)
    elif text in ("a", "an") and word(start + 1) in PARTS:
        value, stop = 1.0, start + 1
    else:
        spelled = _spelled(words, start)
        if spelled is None:
            return None
        value, stop = spelled
    if word(stop) in PARTS:
        return Number(value / PARTS[word(stop)], True, stop + 1)
    if (word(stop), word(stop + 1)) == ("and", "a") and word(stop + 2) in PARTS:
        return Number(value + 1 / PARTS[word(stop + 2)], False, stop + 3)
    return Number(value, False, stop)


def _spelled(words: Sequence[str], start: int) -> tuple[float, int] | None:
    """Return a number in words, and the word after it."""

    def word(place: int) -> str:
        return words[place] if place < len(words) else ""

    total, group, place = 0, 0, start
    if word(start) in ("a", "an") and word(start + 1) in LARGE:
        group, place = 1, start + 1
    elif word(start) not in SMALL:
        return None
    while True:
        text = word(place)
        if text in SMALL and _goes_on(group, SMALL[text], place > start):
            group += SMALL[text]
        elif text in LARGE and group:
            total, group = (total + group * 1000, 0) if text == "thousand" else (total, group * 100)
        elif text == "point" and SMALL.get(word(place + 1), 10) < 10:
            return _with_decimals(total + group, words, place + 1)
        elif not (text == "and" and word(place - 1) in LARGE and word(place + 1) in SMALL):
            return float(total + group), place
        place += 1


def _goes_on(group: int, value: int, later: bool) -> bool:
    """Say whether a word goes on with a number: one after twenty, anything small after hundred."""
    if group % 100 >= 20 and group % 10 == 0:
        return 0 < value < 10
    return group % 100 == 0 and not (later and value == 0)


def _with_decimals(whole: int, words: Sequence[str], place: int) -> tuple[float, int]:
    digits = ""
    while place < len(words) and SMALL.get(words[place], 10) < 10:
        digits += str(SMALL[words[place]])
        place += 1
    return float(f"{whole}.{digits}"), place
