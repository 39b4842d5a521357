"""Words as a reader of quantities needs them: numbers, units and signs each on their own."""

from __future__ import annotations

import re
from dataclasses import dataclass

from roadworthy.rules.language.words import Words

__all__ = ["FRACTIONS", "Token", "tokens"]

FRACTIONS = {"½": 0.5, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 0.25, "¾": 0.75, "⅕": 0.2}
"""Signs that are fractions."""

TOKEN = re.compile(
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?|\.\d+"
    r"|(?:km/(?:hour|hr|h)|mi/h|m/(?:sec|s))(?![^\W\d_])"
    r"|[^\W\d_]+(?:'[^\W\d_]+)?|\S"
)
CONTRACTIONS = {
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
}
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
