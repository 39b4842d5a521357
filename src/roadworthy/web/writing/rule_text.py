"""A rule while it is typed: its reading in plain words, or what is not understood and what would be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from roadworthy.errors import InputError, RuleError
from roadworthy.rules import Rule, parse, parse_all
from roadworthy.rules.generation import plan_for
from roadworthy.web.writing.roles import roles_of
from roadworthy.web.writing.spans import Fix, Mark, Trouble, nearest_word, utf16

__all__ = ["read_rule"]


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
        return {"state": "refused", "trouble": _trouble_of(error).as_dict()}
    answer: dict[str, Any] = {
        "state": "read",
        "marks": [asdict(one) for one in utf16(text, roles_of(rule))],
        "blocks": _blocks(rule),
        "outputs": sorted({block.expectation.output for block in rule.blocks}),
        "notes": list(rule.notes),
    }
    try:
        plan_for(rule)
    except InputError as error:
        answer |= {"state": "untried", "reason": str(error.__cause__ or error)}
    return answer


def _blocks(rule: Rule) -> list[dict[str, Any]]:
    return [
        {
            "changes": [str(change) for change in block.changes],
            "expectation": str(block.expectation),
            "formula": block.expectation.formula,
            "output": block.expectation.output,
            "before": "the frame as it is" if number == 0 else "the picture of the part before",
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
    (place,) = utf16(error.text, [Mark(*error.span, "")])
    examples = tuple(one for one in error.suggestions if one not in fixes)
    return Trouble(error.reason, place.start, place.stop, tuple(fixes.values()), examples)


def _spelled(error: RuleError) -> Iterator[_Changed]:
    """Yield the text with each suggestion in the place of the word that is most like it."""
    for suggestion in error.suggestions:
        word = nearest_word(error.text, *error.span, suggestion)
        if word is not None:
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
