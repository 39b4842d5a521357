"""The words in which people say what should come of a change, and the base forms of their verbs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from roadworthy._yaml import read_yaml
from roadworthy.rules.language.lexicon import filled

FILE = read_yaml(Path(__file__).with_suffix(".yaml"), "file of words", "'meanings:'").data
DOUBLED = frozenset(FILE["doubled"].split())


def _regular(verb: str) -> tuple[str, ...]:
    if verb.endswith("e"):
        return f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"
    stem = verb + verb[-1] if verb in DOUBLED else verb
    return f"{verb}{'es' if verb.endswith(('s', 'sh', 'ch', 'x', 'o')) else 's'}", f"{stem}ed", f"{stem}ing"


FORMS: dict[str, str] = {form: verb for verb in FILE["regular"].split() for form in _regular(verb)}
for _verb, *_past in (entry.split() for entry in FILE["irregular"].split(",")):
    _third_person, _, _gerund = _regular(_verb)
    FORMS |= dict.fromkeys([_third_person, _gerund, *_past], _verb)
FORMS |= {form: verb for verb, forms in FILE["odd"].items() for form in forms.split()}
del FORMS["steering"]  # is what a model predicts
VERBS = frozenset(FORMS.values())


def base_form(word: str) -> str:
    """Return the base form of a verb that is known, and any other word as it is.

    Example:
        >>> base_form("slowing"), base_form("fell"), base_form("slower")
        ('slow', 'fall', 'slower')
    """
    return FORMS.get(word, word)


def is_gerund(word: str) -> bool:
    """Say whether a word is the -ing form of a verb that is known.

    Example:
        >>> is_gerund("braking"), is_gerund("during")
        (True, False)
    """
    return word in FORMS and word.endswith("ing")


QUANTITY = "<q>"

_PARTS = FILE["parts"] | {"ACTING": rf"(?:{'|'.join(sorted(VERBS))})\b"}

REASONS: dict[str, str] = FILE["reasons"]
"""Why words of some kinds cannot be part of an expectation."""


@dataclass(frozen=True, slots=True)
class WordMeaning:
    """Words with one meaning.

    Attributes:
        kind: What part they play in a then-part.
        value: Which of the things of that kind they are.
        output: The output that they speak of, where that is clear.
        pattern: The words.
    """

    kind: str
    value: str
    output: str | None
    pattern: re.Pattern[str]


def _meanings(is_: str, words: str) -> Iterator[WordMeaning]:
    kind, value, output = (*is_.split(", "), "", "")[:3]
    for line in filled(words, _PARTS).splitlines():
        yield WordMeaning(kind, value, output or None, re.compile(rf"(?:{line})(?!\S)"))


LEXICON = tuple(one for entry in FILE["meanings"] for one in _meanings(entry["is"], entry["words"]))
WORDS = frozenset(word for one in LEXICON for word in re.findall("[a-z]{4,}", one.pattern.pattern))


@lru_cache(maxsize=1024)
def nearest(word: str) -> tuple[str, ...]:
    """Return the known words that are spelled most like a word.

    Example:
        >>> nearest("decelarate")
        ('decelerate',)
    """
    return tuple(get_close_matches(word, WORDS - {word}, n=2, cutoff=0.75))
