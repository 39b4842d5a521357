"""Then-parts about what models see and plan: detections, labels and paths."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from roadworthy._yaml import read_yaml
from roadworthy.errors import OntologyError
from roadworthy.ontology import Element, Ontology, ontology
from roadworthy.rules.gauges import ANYTHING, plural, thing_phrase
from roadworthy.rules.language.lexicon import SETS, filled
from roadworthy.rules.language.quantities import QuantityMatch, Token

_DETERMINER = re.compile(r"(?:all(?: of)? (?:the |those )?|the |an? |every |each |any |those |these |its )?")
_ADDED = re.compile(r"(?:(?:newly )?(?:added|inserted|new|additional) )?")
_PRONOUN = re.compile(r"(?:it|him|her|them|he|she|they)(?!\S)")
_ANYTHING = re.compile(r"(?:everything|anything|things?|objects?)(?!\S)")
_FILE = read_yaml(Path(__file__).with_suffix(".yaml"), "file of words", "'verbs:'").data
_AFTER = re.compile("|".join(f" (?P<{which}>{words})(?!\\S)" for which, words in _FILE["after"].items()))
_VERBS, _NOUNS = (
    [(kind, filled(words, _FILE["parts"])) for kind, words in _FILE[key]] for key in ("verbs", "nouns")
)
_SPEAKS = re.compile(filled(_FILE["speaks"], _FILE["parts"]))
SEEN = re.compile(_FILE["parts"]["SEEN"])

_SINGULAR = ("man", "woman", "person", "kid", "cyclist")
LEAST = {"overlap": 0.5, "kept": 0.9, "labelled": 0.5, "stop": 0.0, "collision": 0.0, "lane": 0.0}
"""What is asked for where no number is said."""


@dataclass(frozen=True)
class Sight:
    """What some words measure.

    Attributes:
        kind: "perceive" for a whole predicate, "output" for what one is said of.
        output: What is measured.
        stop: The piece after the last of the words.
        found: The quantity among them.
        trouble: Why they cannot be tested; empty where they can.
    """

    kind: str
    output: str
    stop: int
    found: QuantityMatch | None = None
    trouble: str = ""


@dataclass(frozen=True)
class _Thing:
    word: str
    which: str
    stop: int  # the character after it
    trouble: str = ""


def read_sight(
    pieces: Sequence[Token | QuantityMatch], bases: Sequence[str], place: int, added: Collection[str]
) -> Sight | None:
    """Return what the words from a place on measure, where they speak of sights or paths.

    Args:
        pieces: The words and quantities of a then-part.
        bases: Their base forms.
        place: Where to begin.
        added: The elements that the rule adds.
    """
    text = " ".join(bases[place:])
    if not _SPEAKS.search(text):
        return None
    best: tuple[int, str, str, tuple[_Thing, ...]] | None = None
    for role, forms in (("perceive", _VERBS), ("output", _NOUNS)):
        for kind, form in forms:
            found = _matched(form, text, added)
            if found is not None and (best is None or found[0] > best[0]):
                best = found[0], role, kind, found[1]
    if best is None:
        return None
    length, role, kind, things = best
    stop = place + len(text[:length].split())
    thing = things[0] if things else _Thing(ANYTHING, "seen", 0)
    amounts = [one for one in pieces[place:stop] if isinstance(one, QuantityMatch)]
    if kind == "kept" and thing.which == "added":
        kind = "labelled"  # it was not there before
    trouble = thing.trouble
    if (
        role == "perceive"
        and text.startswith("not ")
        and kind == "overlap"
        and not re.match(filled("not {STILL}{LOST}", _FILE["parts"]), text)
    ):
        number = f"'the number of detected {plural(thing.word)}'"
        trouble = f"what must not be detected is asked by its number: {number}"
    if kind == "overlap" and text.startswith("not ") and re.search(r"\b(?:all|every|each)\b", text[:length]):
        trouble = "is none to be missed, or not all? say what must be detected"
    if kind == "confidence" and text.startswith("its ") and added:
        trouble = "whose confidence this is, is not said: 'the confidence of the added …'"
    if kind == "kept" and text.startswith("all "):
        trouble = "no network labels all: say how much, 'at least 95% of the'"
    if kind in ("overlap", "confidence", "count") and thing.word in ("sky", "terrain", "road", "sidewalk"):
        trouble = f"a detector has no box of the {thing.word}"
    if kind in ("kept", "count") and thing.which == "ahead":
        trouble = "what is ahead is not told apart here: say 'the road', or 'the number of detected vehicles'"
    placed = ("labelled", "clearance", *(["collision"] if thing.word != ANYTHING else []))
    if kind in placed and thing.which != "added" and not trouble:
        trouble = f"where the {thing.word} is, is known only of what is added"
    return Sight(role, _output(kind, thing), stop, amounts[0] if amounts else None, trouble)


def _output(kind: str, thing: _Thing) -> str:
    phrase = thing_phrase(thing.word, thing.which)
    # Of what is painted on the road there is one ahead.
    there = f"the {thing.word}" if thing.which == "seen" else phrase
    return {
        "count": f"number of detected {plural(thing.word)}",
        "overlap": f"overlap of {phrase}",
        "confidence": f"confidence of {phrase}",
        "kept": f"share of the {thing.word} that stays {thing.word}",
        "labelled": f"share of {phrase} that is labelled so",
        "offset": "distance from the path before",
        "clearance": f"distance of the path from {phrase}",
        "stop": f"distance of the stop from {there}",
        "collision": f"distance from {phrase if thing.which == 'added' else 'others'}",
        "lane": "distance from the lines of the lane",
        "headway": "time behind the vehicle ahead",
    }[kind]


@lru_cache(maxsize=64)
def _parts(form: str) -> tuple[str | re.Pattern[str], ...]:
    """Return the things of a form, a letter each, and the words between them."""
    parts = filter(None, re.split(r"\b([TNS])\b", form))
    return tuple(one if one in ("T", "N", "S") else re.compile(one) for one in parts)


def _matched(form: str, text: str, added: Collection[str]) -> tuple[int, tuple[_Thing, ...]] | None:
    """Return how far a form reaches in a text, and the things in it."""
    ends: list[tuple[int, tuple[_Thing, ...]]] = [(0, ())]
    for part in _parts(form):
        after: list[tuple[int, tuple[_Thing, ...]]] = []
        for end, things in ends:
            if isinstance(part, str):
                thing = _thing(text, end, added)
                same = thing is not None and (part != "S" or (bool(things) and thing.word == things[0].word))
                if thing is not None and same:
                    after.append((thing.stop, (*things, thing) if part != "S" else things))
            else:
                found = part.match(text, end)
                if found is not None:
                    after.append((found.end(), things))
        ends = after
    whole = [one for one in ends if one[0] and text[one[0] : one[0] + 1] in ("", " ")]
    return max(whole, key=lambda one: one[0], default=None)


def _thing(text: str, start: int, added: Collection[str]) -> _Thing | None:
    """Return the things that words name from a place on."""
    if found := _PRONOUN.match(text, start):
        known = sorted(set(added))
        many, person = found[0] in ("they", "them"), found[0] not in ("they", "them", "it")
        agrees = len(known) == 1 and many == (len(added) > 1) and (not person or is_person(known[0]))
        if agrees:
            return _Thing(known[0], "added", found.end())
        trouble = f"'{found[0]}' is not one thing that was added: name what is meant"
        return _Thing(ANYTHING, "seen", found.end(), trouble)
    determiner = _DETERMINER.match(text, start)
    assert determiner is not None
    new = _ADDED.match(text, determiner.end())
    assert new is not None
    begin = new.end()
    if found := _ANYTHING.match(text, begin):
        word, end, trouble = ANYTHING, found.end(), ""
    else:
        named = _noun(text, begin)
        if named is None:
            return None
        word, end, trouble = named
    after = _AFTER.match(text, end)
    group = after.lastgroup if after else None
    brought = word != ANYTHING and _is_added(word, added)
    # "The cars" where one was added are others, too.
    many = bool(determiner[0]) and text[begin:end].endswith("s") and text[begin:end] != word
    count = sum(_is_added(word, [one]) for one in added)
    single = text[begin:end] in (word, *_SINGULAR) and not determiner[0].startswith(("all", "every", "each"))
    many &= count == 1
    many |= determiner[0].startswith(("all", "every", "each", "any"))
    if new[0] or group == "added":
        which = "added"
        if not added:
            trouble = "nothing is added by this rule"
        elif count == 1 and text[begin:end] == plural(word):
            trouble = f"one {word} is added, and no more"
    elif group in ("ahead", "seen"):
        if group == "ahead" and brought:
            trouble = f"say 'the added {word}', or what was ahead before"
        elif group == "ahead" and text[begin:end] == plural(word):
            trouble = f"one {word} ahead can be told apart, and not several"
        which = str(group)
    elif brought and many:
        which, trouble = "seen", f"say 'the added {word}', or 'the {plural(word)} that were there before'"
    else:
        which = "added" if brought else "seen"
        alike = [name for name in added if word != ANYTHING and _is_alike(word, name)]
        if single and alike and not brought:
            trouble = f"say 'the added {alike[0]}', or 'the {plural(word)} that were there before'"
    if which == "added" and count > 1 and single:
        trouble = f"which {word} is meant is not said: say 'the {plural(word)}'"
    return _Thing(word, which, after.end() if after else end, trouble)


@lru_cache(maxsize=4096)
def _resolved(known: Ontology, words: str) -> tuple[Element, Mapping[str, str]] | None:
    """Return what words name, or nothing; what is like them is sought at length, and once."""
    try:
        return known.resolve_with_properties(words)
    except OntologyError:
        return None


def _noun(text: str, start: int) -> tuple[str, int, str] | None:
    """Return the word of the ontology from a place on, its end, and what is lost."""
    tokens = text[start:].split(" ")[:3]
    for count in range(len(tokens), 0, -1):
        words = " ".join(tokens[:count])
        resolved = _resolved(ontology(), words)
        if resolved is None:
            continue
        element, properties = resolved
        if ontology().condition_of(element.name) is not None:
            return None
        word = ontology().word_for(element.name, properties)
        told = dict(ontology().resolve_with_properties(word)[1])
        rest = [value for key, value in properties.items() if told.get(key) != value]
        trouble = f"models tell classes, and not what is {', '.join(rest)}" if rest else ""
        return word, start + len(words), trouble
    return None


def is_person(word: str) -> bool:
    """Return whether a word of the ontology names people."""
    return ontology().resolve_with_properties(word)[0].name in SETS["people"]


def _is_alike(word: str, name: str) -> bool:
    first, second = (ontology().resolve_with_properties(one)[0].name for one in (word, name))
    return ontology().is_a(first, second) or ontology().is_a(second, first)


def _is_added(word: str, added: Collection[str]) -> bool:
    if word == ANYTHING:
        return False
    named, said = ontology().resolve_with_properties(word)
    known = map(ontology().resolve_with_properties, added)
    return any(ontology().is_a(one.name, named.name) and said.items() <= its.items() for one, its in known)
