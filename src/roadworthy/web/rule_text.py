"""A rule while it is typed: its reading in plain words, the roles of its words, or what is not understood."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

from roadworthy.errors import InputError, RuleError
from roadworthy.rules import Rule, parse, parse_all
from roadworthy.rules.generation import plan_for
from roadworthy.rules.language.nouns import is_environment, noun_phrase
from roadworthy.rules.language.outcome_phrases import read_items
from roadworthy.rules.language.phrases import prepositional
from roadworthy.rules.language.quantities import quantities
from roadworthy.rules.language.words import Words, analysed
from roadworthy.web.settings import WORDS

_LIKE = 0.7


@dataclass(frozen=True, slots=True)
class RoleSpan:
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


def utf16(text: str, marks: Iterable[RoleSpan]) -> list[RoleSpan]:
    """Return marks with places as JavaScript counts them, in which some signs are two.

    Example:
        >>> utf16("🚗 car", [RoleSpan(2, 5, "object")])
        [RoleSpan(start=3, stop=6, role='object')]
    """
    return [RoleSpan(_units(text[: one.start]), _units(text[: one.stop]), one.role) for one in marks]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


ROLES = WORDS["rule"]
"""The roles with what the page says of each."""


def roles_of(rule: Rule) -> list[RoleSpan]:
    """Return which characters of a rule play which role, in their order.

    Example:
        >>> from roadworthy.rules import parse
        >>> rule = parse("If a pedestrian appears on the roadside, the car should slow down at least 30%.")
        >>> [(rule.text[one.start : one.stop], one.role) for one in roles_of(rule)][:3]
        [('a pedestrian', 'object'), ('appears', 'condition'), ('on the roadside', 'place')]
    """
    words = analysed(rule.text)
    marks: list[RoleSpan] = []
    nouns: set[str] = set()
    for block in rule.blocks:
        condition, outcome = (_within(words, spans) for spans in (block.condition, block.outcome))
        nouns |= {word.lemma for word in condition if word.pos in ("NOUN", "PROPN")}
        marks += _of_condition(condition)
        marks += _of_outcome(outcome, nouns)
    return _joined(sorted(marks, key=lambda one: one.start))


def _within(words: Words, spans: Sequence[tuple[int, int]]) -> Words:
    return Words(
        words.text, tuple(word for word in words if any(a <= word.start and word.stop <= b for a, b in spans))
    )


def _of_condition(words: Words) -> Iterator[RoleSpan]:
    at = 0
    while at < len(words):
        role, stop = _phrase(words, at)
        yield RoleSpan(*words[at:stop].span, role)
        at = stop


def _phrase(words: Words, at: int) -> tuple[str, int]:
    """Return the role of what begins at a word of a condition, and where it ends."""
    try:
        if (phrase := prepositional(words, at)) is not None:
            thing = phrase[0].thing
            weather = thing is not None and is_environment(thing.element)
            return "object" if weather else "place", phrase[1]
        # "It rains" tells what happens, and "rain" is a noun as well.
        if words[at].pos != "VERB" and (noun := noun_phrase(words, at)) is not None:
            return "object", noun[1]
    except RuleError:
        pass
    return "condition", at + 1


def _of_outcome(words: Words, mentioned: set[str]) -> Iterator[RoleSpan]:
    amounts: set[int] = set()
    with suppress(RuleError):
        for item in read_items(words, mentioned=mentioned):
            if item.kind in ("modifier", "quantity"):
                amounts |= set(range(item.first, item.last + 1))
    for found in quantities(words):
        amounts |= set(range(found.first, found.last + 1))
    for number in range(len(words)):
        yield RoleSpan(*words[number : number + 1].span, "quantity" if number in amounts else "outcome")


def _joined(marks: Sequence[RoleSpan]) -> list[RoleSpan]:
    """Return neighbours of one role as one, where nothing but a space lies between them."""
    found: list[RoleSpan] = []
    for one in marks:
        if found and found[-1].role == one.role and 0 <= one.start - found[-1].stop <= 1:
            found[-1] = RoleSpan(found[-1].start, one.stop, one.role)
        else:
            found.append(one)
    return found


@dataclass(frozen=True, slots=True)
class _Changed:
    """A text in which a suggestion was put, and where it stands."""

    suggestion: str
    text: str
    start: int
    stop: int


def read_rule(text: str) -> dict[str, Any]:
    """Return what the page shows of a rule.

    The answer has ``state``: "empty", "read", "refused" (with ``trouble``) or "untried", for a rule that is
    understood and whose change nothing here can make (with ``reason``).

    Example:
        >>> read_rule("If it rains, slow down.")["blocks"][0]["changes"]
        ['the weather becomes rainy']
        >>> read_rule("If a pedestrain appears, slow down.")["trouble"]["fixes"][0]["label"]
        'pedestrian'
    """
    if not text.strip():
        return {"state": "empty"}
    try:
        rule = parse(text)
    except RuleError as error:
        return {"state": "refused", "trouble": asdict(_trouble_of(error))}
    answer: dict[str, Any] = {
        "state": "read",
        "marks": [asdict(one) for one in utf16(text, roles_of(rule))],
        "words": [
            {"start": one.start, "stop": one.stop, "gives": one.role}
            for one in utf16(text, (RoleSpan(*run.span, run.gives) for run in rule.words))
        ],
        "blocks": _blocks(rule),
        "outputs": sorted({block.expectation.output for block in rule.blocks}),
        "notes": list(rule.notes),
    }
    try:
        plan_for(rule).over(0.0)
    except InputError as error:
        answer |= {"state": "untried", "reason": str(error.__cause__ or error)}
    return answer


def _blocks(rule: Rule) -> list[dict[str, Any]]:
    return [
        {
            "changes": [str(change) for change in block.changes],
            "expectation": block.expected,
            "formula": block.formula,
            "output": block.expectation.output,
            "before": "the original frame" if number == 0 else "the picture of the previous part",
            "inference": list(block.inference),
        }
        for number, block in enumerate(rule.blocks)
    ]


def _trouble_of(error: RuleError) -> Trouble:
    """Return a refusal with the changes that mend it: each was tried, and more is understood after it.

    Where a suggestion is a word that was mistyped, it is the only kind that is offered: others would put a
    word in that has nothing to do with what was meant.
    """
    fixes = _mending(error, _spelled(error)) or _mending(error, _used(error))
    (place,) = utf16(error.text, [RoleSpan(*error.span, "")])
    examples = tuple(one for one in error.suggestions if one not in fixes)
    return Trouble(error.reason, place.start, place.stop, tuple(fixes.values()), examples)


def _spelled(error: RuleError) -> Iterator[_Changed]:
    """Yield the text with each suggestion in the place of the word that is most like it."""
    for suggestion in error.suggestions:
        if (word := nearest_word(error.text, *error.span, suggestion)) is not None:
            yield _put(error.text, *word, suggestion, suggestion)


def _used(error: RuleError) -> Iterator[_Changed]:
    """Yield the text with each suggestion in the place of what is at fault, or after it."""
    text, (start, stop) = error.text, error.span
    for suggestion in error.suggestions:
        if suggestion.startswith("then "):
            end = start + len(text[start:stop].rstrip(" \n.,;"))
            ended = text[stop:].lstrip().startswith((".", "!", ";"))
            yield _put(text, end, stop, suggestion, f", {suggestion}{'' if ended else '.'}")
        else:
            yield _put(text, start, stop, suggestion, suggestion)


def _put(text: str, start: int, stop: int, suggestion: str, words: str) -> _Changed:
    return _Changed(suggestion, text[:start] + words + text[stop:], start, start + len(words))


def _mending(error: RuleError, changes: Iterable[_Changed]) -> dict[str, Fix]:
    """Return those changes after which a text is a rule, or what is wrong in it lies elsewhere."""
    tried = list(changes)
    found = {}
    # All at once, which takes half the time: half-typed rules have many, and somebody waits.
    for one, read in zip(tried, parse_all([one.text for one in tried]), strict=True):
        elsewhere = isinstance(read, RuleError) and (
            read.reason != error.reason and (read.span[1] <= one.start or read.span[0] >= one.stop)
        )
        if elsewhere or not isinstance(read, RuleError):
            found[one.suggestion] = Fix(one.suggestion, one.text)
    return found
