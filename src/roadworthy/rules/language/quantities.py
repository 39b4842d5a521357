"""Numbers in digits, words and fractions, with their units, percentages and ranges."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from roadworthy._yaml import read_yaml
from roadworthy.rules.expectation import Output, Quantity
from roadworthy.rules.gauges import gauge_of
from roadworthy.rules.language.words import Words

_FILE = read_yaml(Path(__file__).with_suffix(".yaml"), "file of units", "'units:'").data
FRACTIONS = {"½": 0.5, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 0.25, "¾": 0.75, "⅕": 0.2}
"""Signs that are fractions."""

TOKEN = re.compile(
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?|\.\d+"
    r"|m/s(?:²|\^?2)(?!\w)|(?:km/(?:hour|hr|h)|mi/h|m/(?:sec|s))(?![^\W\d_])"
    r"|[^\W\d_]+(?:'[^\W\d_]+)?|\S"
)
CONTRACTIONS = {word: tuple(text.split()) for word, text in _FILE["contractions"].items()}
SHORT_FORMS = {"'s": "'s", "'re": "be", "'ll": "will", "'ve": "have", "'d": "would", "'m": "be"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or sign; units stay whole, contractions come apart, hyphens inside words are gone.

    Attributes:
        text: In lower case.
        first: The number, in the run, of the first word that it is part of.
        last: The number of the last one.
        glued: Whether nothing stands between it and the token before.
    """

    text: str
    first: int
    last: int
    glued: bool = False


def tokens(words: Words) -> list[Token]:
    """Return the tokens of a run, which need not be those of the grammar.

    Example:
        >>> from roadworthy.rules.language.words import analysed
        >>> [token.text for token in tokens(analysed("the ego-vehicle can't go 20km/h"))]
        ['the', 'ego', 'vehicle', 'can', 'not', 'go', '20', 'km/h']
    """
    text, owner, end = "", [], None
    for number, word in enumerate(words):
        if end is not None and end != word.start:
            text, owner = text + " ", [*owner, number]
        text, end = text + word.text, word.stop
        owner += [number] * len(word.text)
    # One character for one, so that places stay what they are.
    text = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    text = text.translate(str.maketrans("’‘–—−\u00a0", "''--- "))
    found: list[Token] = []
    for match in TOKEN.finditer(text):
        start, stop = match.span()
        if match[0] == "-" and _inside_a_word(text, start):
            continue
        place = owner[start], owner[stop - 1]
        glued = start > 0 and not text[start - 1].isspace()
        parts = _apart(match[0])
        found += [Token(part, *place, glued or position > 0) for position, part in enumerate(parts)]
    return found


def _inside_a_word(text: str, place: int) -> bool:
    """Say whether a hyphen joins two words, or a number and its unit."""
    if not 0 < place < len(text) - 1:
        return False
    before, after = text[place - 1], text[place + 1]
    return before.isalnum() and after.isalpha() and after not in FRACTIONS


def _apart(text: str) -> tuple[str, ...]:
    if text in CONTRACTIONS:
        return CONTRACTIONS[text]
    if text.endswith("n't"):
        return text[:-3], "not"
    word, mark, ending = text.partition("'")
    if word and mark and mark + ending in SHORT_FORMS:
        return word, SHORT_FORMS[mark + ending]
    return (text,)


SMALL = {word: value for value, word in enumerate(_FILE["small"].split())} | {
    word: 10 * value for value, word in enumerate(_FILE["tens"].split(), start=2)
}
LARGE = {"hundred": 100, "thousand": 1000}
PARTS: dict[str, int] = _FILE["parts"] | {"halves": 2}
PARTS |= {word + "s": value for word, value in PARTS.items() if word not in ("half", "halves")}
MULTIPLES = {"twice": 2.0, "thrice": 3.0}


class WordedNumber(NamedTuple):
    """A number among words.

    Attributes:
        value: The number.
        fraction: Whether it is a fraction or a multiple, which can stand for a share.
        stop: The word after it.
    """

    value: float
    fraction: bool
    stop: int


def read_number(words: Sequence[str], start: int) -> WordedNumber | None:
    """Return the number that begins at a word, if there is one.

    Example:
        >>> read_number(["by", "two", "thirds", "at", "least"], 1)
        WordedNumber(value=0.6666666666666666, fraction=True, stop=3)

    Raises:
        ZeroDivisionError: A fraction has nothing below its line.
    """

    def word(place: int) -> str:
        return words[place] if place < len(words) else ""

    text = word(start)
    for table in (FRACTIONS, MULTIPLES, {"half": 0.5}):
        if text in table:
            return WordedNumber(table[text], True, start + 1)
    if text[:1].isdecimal() or (text[:1] == "." and len(text) > 1):
        value, stop = float(text.replace(",", "")), start + 1
        if word(stop) == "/" and word(stop + 1)[:1].isdecimal():
            return WordedNumber(value / float(word(stop + 1)), True, stop + 2)
    elif text in ("a", "an") and word(start + 1) in PARTS:
        value, stop = 1.0, start + 1
    else:
        spelled = _spelled(words, start)
        if spelled is None:
            return None
        value, stop = spelled
    if word(stop) in PARTS:
        return WordedNumber(value / PARTS[word(stop)], True, stop + 1)
    if (word(stop), word(stop + 1)) == ("and", "a") and word(stop + 2) in PARTS:
        return WordedNumber(value + 1 / PARTS[word(stop + 2)], False, stop + 3)
    return WordedNumber(value, False, stop)


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


Kind: TypeAlias = Literal["number", "share", "speed", "steering", "acceleration", "length", "time"]

EXAMPLES = {kind: tuple(text.split(", ")) for kind, text in _FILE["examples"].items()}
ANY = EXAMPLES["number"]
UNITS: dict[str, tuple[Kind, float]] = {
    " ".join(words): (one["of"], one["is"])
    for one in _FILE["units"]
    for phrase in one["words"].split(", ")
    for words in product(*(place.split("|") for place in phrase.split()))
}
LONGEST_UNIT = max(len(unit.split()) for unit in UNITS)
OTHER_UNITS = frozenset(_FILE["other units"].split())
"""Known, but no unit of what models predict."""

_OF_UNITS = {"m": "length", "s": "time"}
NO_NUMBERS = frozenset(["nan", "inf", "infinity", "infinite"])


@dataclass(frozen=True, slots=True)
class QuantityMatch:
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

        Raises:
            RuleError: It is a quantity of something else.
        """
        gauge = gauge_of(output)
        own = _OF_UNITS.get(gauge.unit, output if output in EXAMPLES else "number")
        if self.kind not in ("number", "share", own):
            raise self.words.refuse(f"'{self.words}' is no quantity of {output}", EXAMPLES[own])
        if self.kind == "number" != own and self.value:
            raise self.words.refuse(f"of what is '{self.words}'? it has no unit", EXAMPLES[own])
        relative = self.kind == "share"
        upper = None if self.upper is None else Quantity(self.upper, relative)
        return Quantity(self.value, relative), upper


def quantities(words: Words) -> list[QuantityMatch]:
    """Return the quantities in a run of words.

    Example:
        >>> from roadworthy.rules.language.words import analysed
        >>> (found,) = quantities(analysed("slow down by at least twenty-five percent"))
        >>> found.kind, found.value
        ('share', 0.25)

    Raises:
        RuleError: Something looks like a quantity but cannot be read.
    """
    return [one for one in with_quantities(words) if isinstance(one, QuantityMatch)]


def with_quantities(words: Words) -> list[Token | QuantityMatch]:
    """Return the tokens of a run with each quantity as one piece.

    Raises:
        RuleError: Something looks like a quantity but cannot be read.
    """
    return _QuantityReader(words).read()


@dataclass(frozen=True, slots=True)
class _Amount:
    """A number as it is written, its unit, and the token after it."""

    text: str
    value: float
    kind: Kind
    factor: float
    stop: int


class _QuantityReader:
    def __init__(self, words: Words) -> None:
        self.words = words
        self.tokens = tokens(words)
        self.texts = [token.text for token in self.tokens]

    def text(self, place: int) -> str:
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def run(self, start: int, stop: int) -> Words:
        return self.words[self.tokens[start].first : self.tokens[min(stop, len(self.tokens)) - 1].last + 1]

    def read(self) -> list[Token | QuantityMatch]:
        pieces: list[Token | QuantityMatch] = []
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
            reason = "a quantity is not negative: say increase or decrease, left or right"
            raise self.run(start - 1, stop).refuse(reason, ANY)
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

    def quantity(self, start: int) -> tuple[QuantityMatch | None, int]:
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
        joints = ("and", "-", "to") if between else ("-", "to")
        high = self.amount(low.stop + 1) if joint in joints else None
        if high is None:
            if between:
                reason = "a second quantity is needed after 'between'"
                raise self.run(start, low.stop).refuse(reason, ("between 10% and 40%",))
            return self.found(start, low, low), low.stop
        if joint == "to" and low.kind in ("speed", "steering"):
            raise self.run(start, high.stop).refuse(
                f"this can be a range or a new value: say 'between {self.run(place, low.stop)} and "
                f"{self.run(low.stop + 1, high.stop)}' or 'to {self.run(low.stop + 1, high.stop)}'",
                ("between 10 and 20 km/h", "to 20 km/h"),
            )
        return self.found(start, low, high), high.stop

    def found(self, start: int, low: _Amount, high: _Amount) -> QuantityMatch:
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
            return QuantityMatch(words, unit.kind, ends[0], None, low.text, first, last)
        return QuantityMatch(words, unit.kind, ends[0], ends[1], f"{low.text} to {high.text}", first, last)

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
                # "Half %" says neither "half" nor "half a percent".
                if fraction and UNITS[name][0] == "share" and ("/" in text or name == "%"):
                    reason = "this can be a fraction or a percentage"
                    raise self.run(start, place + length).refuse(reason, ANY)
                return _Amount(text, value, *UNITS[name], place + length)
        if fraction:
            return _Amount(text, value, "share", 1.0, stop)
        if self.text(stop) in OTHER_UNITS:
            reason = f"'{self.text(stop)}' is no unit of speed or steering"
            raise self.run(start, stop + 1).refuse(reason, EXAMPLES["number"])
        if text == "one":
            return None  # "one should slow down", "the first one"
        return _Amount(text, value, "number", 1.0, stop)
