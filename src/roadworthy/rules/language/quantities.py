"""Numbers with their units, fractions, percentages and ranges in a run of words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from roadworthy.rules.expectation import Output, Quantity
from roadworthy.rules.language.numbers import read_number
from roadworthy.rules.language.tokens import Token, tokens
from roadworthy.rules.language.words import Words

__all__ = ["Found", "quantities", "with_quantities"]

Kind: TypeAlias = Literal["number", "share", "speed", "steering"]

EXAMPLES = {
    "number": ("30%", "a third", "5 km/h", "3 degrees"),
    "share": ("30%", "a third"),
    "speed": ("30%", "5 km/h", "10 mph", "2 m/s"),
    "steering": ("30%", "3 degrees", "0.1 radians"),
}
ANY = EXAMPLES["number"]

LENGTHS = {
    "km": ("km", "kilometre", "kilometres", "kilometer", "kilometers"),
    "mile": ("mi", "mile", "miles"),
    "m": ("m", "metre", "metres", "meter", "meters"),
}
TIMES = {"hour": ("h", "hr", "hour"), "second": ("s", "sec", "second")}
KMH, MPH = 1 / 3.6, 0.44704
UNITS: dict[str, tuple[Kind, float]] = {
    **dict.fromkeys(("%", "percent", "per cent", "pct"), ("share", 0.01)),
    **dict.fromkeys(("km/h", "km/hr", "km/hour", "kmh", "kph", "kmph"), ("speed", KMH)),
    **dict.fromkeys(("mph", "mi/h"), ("speed", MPH)),
    **dict.fromkeys(("m/s", "m/sec", "mps"), ("speed", 1.0)),
    **dict.fromkeys(("degree", "degrees", "deg", "°"), ("steering", 1.0)),
    **dict.fromkeys(("radian", "radians", "rad"), ("steering", math.degrees(1))),
    "times": ("share", 1.0),
    **{
        f"{length} {per} {time}": ("speed", factor)
        for lengths, times, factor in (("km", "hour", KMH), ("mile", "hour", MPH), ("m", "second", 1.0))
        for length in LENGTHS[lengths]
        for per in ("per", "an", "a", "/")
        for time in TIMES[times]
    },
}
LONGEST_UNIT = max(len(unit.split()) for unit in UNITS)
OTHER_UNITS = frozenset(unit for group in (LENGTHS, TIMES) for units in group.values() for unit in units) | {
    "cm", "yard", "yards", "foot", "feet", "ft", "hours", "minute", "minutes", "min", "seconds", "kg",
    "kilogram", "kilograms", "ton", "tons", "knot", "knots", "hz", "fps", "g", "points",
}  # fmt: skip
"""Known, but no unit of what models predict."""

NO_NUMBERS = frozenset(["nan", "inf", "infinity", "infinite"])


@dataclass(frozen=True, slots=True)
class Found:
    """A quantity in a run of words.

    Attributes:
        words: The words.
        kind: What it is a quantity of; "number" without a unit.
        value: In m/s, degrees or as a share; the lower end of a range.
        upper: The upper end of a range.
        number: What is written before the unit.
        first: The number, in the run, of its first word.
        last: The number of its last one.
    """

    words: Words
    kind: Kind
    value: float
    upper: float | None
    number: str
    first: int
    last: int

    def as_quantities(self, output: Output) -> tuple[Quantity, Quantity | None]:
        """Return the quantity of an output, or the two ends of a range.

        A number without a unit is in the output's own: m/s or degrees.

        Raises:
            RuleError: It is a quantity of something else.
        """
        if self.kind not in ("number", "share", output):
            raise self.words.refuse(f"'{self.words}' is no quantity of {output}", EXAMPLES[output])
        relative = self.kind == "share"
        upper = None if self.upper is None else Quantity(self.upper, relative)
        return Quantity(self.value, relative), upper


def quantities(words: Words) -> list[Found]:
    """Return the quantities in a run of words.

    Example:
        >>> from roadworthy.rules.language.words import analysed
        >>> (found,) = quantities(analysed("slow down by at least twenty-five percent"))
        >>> found.kind, found.value
        ('share', 0.25)

    Raises:
        RuleError: Something looks like a quantity but cannot be read.
    """
    return [one for one in with_quantities(words) if isinstance(one, Found)]


def with_quantities(words: Words) -> list[Token | Found]:
    """Return the tokens of a run with each quantity as one piece.

    Raises:
        RuleError: Something looks like a quantity but cannot be read.
    """
    return _Reader(words).read()


@dataclass(frozen=True, slots=True)
class _Amount:
    """A number as it is written, its unit, and the token after it."""

    text: str
    value: float
    kind: Kind
    factor: float
    stop: int


class _Reader:
    def __init__(self, words: Words) -> None:
        self.words = words
        self.tokens = tokens(words)
        self.texts = [token.text for token in self.tokens]

    def text(self, place: int) -> str:
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def run(self, start: int, stop: int) -> Words:
        return self.words[self.tokens[start].first : self.tokens[min(stop, len(self.tokens)) - 1].last + 1]

    def read(self) -> list[Token | Found]:
        pieces: list[Token | Found] = []
        place = 0
        while place < len(self.tokens):
            found, stop = self.quantity(place)
            if found is not None:
                self.check_neighbours(place, stop)
                pieces.append(found)
            else:
                self.check_alone(place)
                pieces.append(self.tokens[place])
            place = stop
        return pieces

    def check_alone(self, place: int) -> None:
        text = self.text(place)
        if text == "%":
            raise self.run(place, place + 1).refuse("a number is needed before '%'", ANY)
        if text in NO_NUMBERS:
            raise self.run(place, place + 1).refuse(f"'{text}' is not a number that can be used", ANY)

    def check_neighbours(self, start: int, stop: int) -> None:
        """Refuse what stands around a quantity and would change it."""
        before, after = self.text(start - 1), self.text(stop)
        if before in ("-", "minus", "negative"):
            raise self.run(start - 1, stop).refuse(
                "a quantity is not negative: say increase or decrease, left or right", ANY
            )
        if after in ("%", "percent", "per", "pct", "°"):
            raise self.run(start, stop + 1).refuse(f"'{after}' stands after a quantity that is complete", ANY)
        if after == "," and self.text(stop + 1).isdigit() and self.tokens[stop + 1].glued:
            right = f"{self.text(start)}.{self.text(stop + 1)}"
            raise self.run(start, stop + 2).refuse(f"decimals are written with a point, as in {right}", ANY)
        if stop < len(self.tokens) and (self.amount(stop) or (self.tokens[stop].glued and after.isalnum())):
            if self.text(stop)[:1].isdigit() or self.text(stop)[:1] == ".":
                reason = "these numbers cannot be read as one number"
            elif self.tokens[stop].glued:
                reason = f"'{self.run(start, stop + 1)}' has no unit that is known"
            else:
                return
            raise self.run(start, stop + 1).refuse(reason, ANY)

    def quantity(self, start: int) -> tuple[Found | None, int]:
        """Return the quantity at a token, if there is one, and the token after it."""
        between = self.text(start) == "between"
        place = start + between
        low = self.amount(place)
        if low is None:
            return None, start + 1
        if self.text(start - 1) == "from":
            raise self.run(start - 1, low.stop).refuse(
                "'from' names a prediction before the change, which a rule cannot choose",
                ("to 30 km/h", "by at least 30%"),
            )
        joint = self.text(low.stop)
        high = (
            self.amount(low.stop + 1) if joint in (("and", "-", "to") if between else ("-", "to")) else None
        )
        if high is None:
            if between:
                raise self.run(start, low.stop).refuse(
                    "a second quantity is needed after 'between'", ("between 10% and 40%",)
                )
            return self.found(start, low, low), low.stop
        if joint == "to" and low.kind in ("speed", "steering"):
            raise self.run(start, high.stop).refuse(
                f"this can be a range or a new value: say 'between {self.run(place, low.stop)} and "
                f"{self.run(low.stop + 1, high.stop)}' or 'to {self.run(low.stop + 1, high.stop)}'",
                ("between 10 and 20 km/h", "to 20 km/h"),
            )
        return self.found(start, low, high), high.stop

    def found(self, start: int, low: _Amount, high: _Amount) -> Found:
        words = self.run(start, high.stop)
        unit = high if high.kind != "number" else low
        if "number" not in (low.kind, high.kind) and low.kind != high.kind:
            raise words.refuse("the two ends have different units", ("between 10% and 40%",))
        ends = [end.value * (unit.factor if end.kind == "number" else end.factor) for end in (low, high)]
        if ends[0] > ends[1]:
            smaller = f"'{low.text}' is more than '{high.text}': name the smaller end first"
            raise words.refuse(smaller, ("between 10% and 40%",))
        first, last = self.tokens[start].first, self.tokens[high.stop - 1].last
        if low is high:
            return Found(words, unit.kind, ends[0], None, low.text, first, last)
        return Found(words, unit.kind, ends[0], ends[1], f"{low.text} to {high.text}", first, last)

    def amount(self, start: int) -> _Amount | None:
        """Return a number and its unit."""
        try:
            number = read_number(self.texts, start)
        except ZeroDivisionError:
            raise self.run(start, start + 3).refuse("nothing can be divided by 0", ANY) from None
        if number is None:
            return None
        value, fraction, stop = number
        text = " ".join(token.text for token in self.tokens[start:stop]).replace(" / ", "/")
        place = stop + (fraction and self.text(stop) in ("a", "an", "of"))  # half a degree
        for length in range(LONGEST_UNIT, 0, -1):
            name = " ".join(self.text(place + step) for step in range(length))
            if name in UNITS:
                if fraction and "/" in text and UNITS[name][0] == "share":
                    raise self.run(start, place + length).refuse(
                        "this can be a fraction or a percentage", ANY
                    )
                return _Amount(text, value, *UNITS[name], place + length)
        if fraction:
            return _Amount(text, value, "share", 1.0, stop)
        if self.text(stop) in OTHER_UNITS:
            raise self.run(start, stop + 1).refuse(
                f"'{self.text(stop)}' is no unit of speed or steering", EXAMPLES["number"]
            )
        if text == "one":
            return None  # "one should slow down", "the first one"
        return _Amount(text, value, "number", 1.0, stop)
