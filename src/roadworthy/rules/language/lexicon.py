"""The words that rules about scenes are made of, each with what it means: the explicit lists that win.

Nouns that are not here are looked up in the ontology and then in WordNet; other verbs are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from roadworthy._yaml import read_yaml
from roadworthy.rules.reading import Comparative, Position


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text.

    Example:
        >>> sorted(words_of("rain snow"))
        ['rain', 'snow']
    """
    return frozenset(text.split())


def phrases_of(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the phrases of a text, which commas part, each as its words; the longest first.

    Example:
        >>> phrases_of("in, in front of")
        (('in', 'front', 'of'), ('in',))
    """
    return tuple(sorted((tuple(phrase.split()) for phrase in text.split(",")), key=len, reverse=True))


def filled(pattern: str, parts: Mapping[str, str]) -> str:
    """Return a pattern with the parts that it names.

    Example:
        >>> filled("{A}c", {"A": "a{B}", "B": "b"})
        'abc'
    """
    return re.sub(r"\{([A-Z_]+)\}", lambda name: filled(parts[name[1]], parts), pattern)


def refused_of(file: Mapping[str, Any]) -> list[tuple[re.Pattern[str], list[str]]]:
    """Return the patterns of what a file of words refuses, each with its reason and what is suggested."""
    parts = file["refused parts"]
    return [(re.compile(filled(said, parts), re.IGNORECASE), told) for said, told in file["refused"].items()]


def refusals(table: Sequence[tuple[re.Pattern[str], list[str]]], text: str) -> Iterator[tuple[Any, ...]]:
    """Yield where a text has what a table refuses, with the reason and what is suggested."""
    for pattern, told in table:
        for found in pattern.finditer(text):
            yield (*found.span("wrong" if pattern.groupindex else 0), *told)


FILE = read_yaml(Path(__file__).with_suffix(".yaml"), "file of words", "'nouns:'").data
REFUSED = refused_of(FILE)
"""What words of a condition say together that cannot be shown, and why."""
SETS = {name: words_of(text) for name, text in FILE["sets"].items()}


def _meanings(key: str) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return what phrases mean: an element and its properties."""
    found: dict[str, tuple[str, Mapping[str, str]]] = {}
    for one in FILE[key]:
        properties = {name: value for name, value in one.items() if name not in ("means", "phrases")}
        found |= {" ".join(phrase): (one["means"], properties) for phrase in phrases_of(one["phrases"])}
    return found


def _by_word(key: str) -> dict[str, Any]:
    return {word: meaning for meaning, words in FILE[key].items() for word in words.split()}


MARKERS = phrases_of(FILE["markers"])
"""What opens a condition, longest first. "Should" does at the start of a sentence: "should a car appear"."""

NOUNS = _meanings("nouns")
"""Nouns that rules use in a sense of their own, or that the ontology does not have."""

LINES = {"edge": "edge", "middle": "centre", "centre": "centre", "center": "centre"}
"""Which lines are meant, by where on the road they are."""


AMOUNTS: Mapping[tuple[str, ...], tuple[int, str]] = {
    phrase: (one.get("count", 0), one.get("which", ""))
    for one in FILE["amounts"]
    for phrase in phrases_of(one["phrases"])
}
"""How many things come, at least, and which of those that are there are meant."""
POSES = {
    element: {pose: re.compile(verb, re.IGNORECASE) for pose, verb in FILE[key].items()}
    for element, key in (("pedestrian", "poses"), ("vehicle", "poses of vehicles"))
}
"""What people and vehicles do, by the words from the noun on that say so."""

VALUES: Mapping[str, tuple[str, str]] = {
    word: (key, value or word)
    for key, entries in FILE["values"].items()
    for word, _, value in (entry.partition("=") for entry in entries.split())
}
"""Adjectives that are values of properties."""

LEVELS: Mapping[str, str] = _by_word("levels")
NOMINALS: Mapping[str, str] = _by_word("nominals")
"""Nouns that stand for a change: "the removal of the lane lines"."""

PHRASAL = frozenset((verb, one) for verb, text in FILE["phrasal verbs"].items() for one in text.split())
"""Verbs with the particles they may have; with any other they mean something else: "breaks down"."""
WEATHER_VERBS = _meanings("weather verbs")

COMPARATIVES: Mapping[str, Comparative] = _by_word("comparatives")
AMOUNTS_OF_WEATHER: Mapping[str, Comparative] = _by_word("amounts of weather")


def _places(key: str) -> tuple[tuple[tuple[str, ...], Position | None], ...]:
    """Return phrases with the position they stand for, longest first."""
    found = [
        (phrase, None if place == "nowhere" else place)
        for place, text in FILE[key].items()
        for phrase in phrases_of(text)
    ]
    return tuple(sorted(found, key=lambda one: -len(one[0])))


ADVERB_PLACES, PREPOSITIONS = _places("adverbs of place"), _places("positions")
"""Prepositions with the position they stand for, longest first."""

SUCH_AS = {kind: tuple(one["such as"]) for kind, one in FILE["conditions"].items()}
"""What is suggested where it is not said what a condition becomes."""
ENDINGS = {kind: tuple(one["ends"]) for kind, one in FILE["conditions"].items()}
"""What cannot be changed into its absence, and what to write instead."""
"""What stands for a noun that was named before: "a red one"."""
WEIGHTLESS = (
    SETS["fillers"]
    | SETS["plain adjectives"]
    | words_of("a an the this that these those any such its his her their my your our hand")
)
"""What may stand in a condition and gives nothing to its reading."""
