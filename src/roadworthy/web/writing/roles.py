"""The roles that the words of a rule play: condition, object, place, outcome, quantity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roadworthy.errors import RuleError
from roadworthy.rules.language.nouns import Thing, is_environment, noun_phrase
from roadworthy.rules.language.outcome_parts import parts
from roadworthy.rules.language.phrases import prepositional
from roadworthy.rules.language.quantities import quantities
from roadworthy.rules.language.words import Words, analysed
from roadworthy.rules.reading import Rule
from roadworthy.web.writing.spans import Mark

__all__ = ["ROLES", "roles_of"]

ROLES = {
    "condition": "what happens",
    "object": "to what",
    "place": "where",
    "outcome": "what should come of it",
    "quantity": "how much",
}
"""The roles with what the page says of each."""


def roles_of(rule: Rule) -> list[Mark]:
    """Return which characters of a rule play which role, in their order.

    Example:
        >>> from roadworthy.rules import parse
        >>> rule = parse("If a pedestrian appears on the roadside, the car should slow down at least 30%.")
        >>> [(rule.text[one.start : one.stop], one.role) for one in roles_of(rule)][:3]
        [('a pedestrian', 'object'), ('appears', 'condition'), ('on the roadside', 'place')]
    """
    words = analysed(rule.text)
    marks: list[Mark] = []
    nouns: set[str] = set()
    for block in rule.blocks:
        condition, outcome = (_within(words, spans) for spans in (block.condition, block.outcome))
        nouns |= {word.lemma for word in condition if word.pos in ("NOUN", "PROPN")}
        marks += _of_condition(condition)
        marks += _of_outcome(outcome, nouns)
    return _joined(sorted(marks, key=lambda one: one.start))


def _within(words: Words, spans: Sequence[tuple[int, int]]) -> Words:
    return Words(
        words.text,
        tuple(word for word in words if any(a <= word.start and word.stop <= b for a, b in spans)),
    )


def _of_condition(words: Words) -> Iterator[Mark]:
    at = 0
    while at < len(words):
        role, stop = _phrase(words, at)
        yield Mark(*words[at:stop].span, role)
        at = stop


def _phrase(words: Words, at: int) -> tuple[str, int]:
    """Return the role of what begins at a word of a condition, and where it ends."""
    try:
        if (phrase := prepositional(words, at)) is not None:
            return ("object" if _is_weather(phrase[0].thing) else "place"), phrase[1]
        # "It rains" tells what happens, and "rain" is a noun as well.
        if words[at].pos != "VERB" and (noun := noun_phrase(words, at)) is not None:
            return "object", noun[1]
    except RuleError:
        pass
    return "condition", at + 1


def _is_weather(thing: Thing | None) -> bool:
    return thing is not None and is_environment(thing.element)


def _of_outcome(words: Words, mentioned: set[str]) -> Iterator[Mark]:
    amounts: set[int] = set()
    try:
        for part in parts(words, mentioned=mentioned):
            for item in part.of("modifier", "quantity"):
                amounts |= set(range(item.first, item.last + 1))
    except RuleError:
        pass
    for found in quantities(words):
        amounts |= set(range(found.first, found.last + 1))
    for number in range(len(words)):
        role = "quantity" if number in amounts else "outcome"
        yield Mark(*words[number : number + 1].span, role)


def _joined(marks: Sequence[Mark]) -> list[Mark]:
    """Return neighbours of one role as one, where nothing but a space lies between them."""
    found: list[Mark] = []
    for one in marks:
        if found and found[-1].role == one.role and 0 <= one.start - found[-1].stop <= 1:
            found[-1] = Mark(found[-1].start, one.stop, one.role)
        else:
            found.append(one)
    return found
