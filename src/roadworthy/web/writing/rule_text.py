"""A rule while it is typed: its reading in plain words, or what is not understood and what would be."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from roadworthy.errors import InputError, RuleError
from roadworthy.rules import Rule, parse
from roadworthy.rules.generation import plan_for
from roadworthy.web.writing.roles import roles_of
from roadworthy.web.writing.spans import Fix, Mark, Trouble, nearest_word, utf16

__all__ = ["read_rule", "trouble_of"]


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
        return {"state": "refused", "trouble": trouble_of(error).as_dict()}
    answer: dict[str, Any] = {
        "state": "read",
        "marks": [asdict(one) for one in utf16(text, roles_of(rule))],
        "blocks": _blocks(rule),
        "outputs": sorted({block.expectation.output for block in rule.blocks}),
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


def trouble_of(error: RuleError) -> Trouble:
    """Return a refusal with the changes that mend it: each was tried, and more is understood after it.

    Where a suggestion is a word that was mistyped, it is the only kind that is offered: others would put a
    word in that has nothing to do with what was meant.
    """
    spelled: dict[str, Fix] = {}
    others: dict[str, Fix] = {}
    for suggestion in error.suggestions:
        word = nearest_word(error.text, *error.span, suggestion)
        if word is not None:
            changed = _put(error.text, *word, suggestion)
            if _mends(error, *changed):
                spelled[suggestion] = Fix(suggestion, changed[0])
                continue
        changed = _used(error, suggestion)
        if not spelled and _mends(error, *changed):
            others[suggestion] = Fix(suggestion, changed[0])
    fixes = spelled or others
    (place,) = utf16(error.text, [Mark(*error.span, "")])
    examples = tuple(one for one in error.suggestions if one not in fixes)
    return Trouble(error.reason, place.start, place.stop, tuple(fixes.values()), examples)


def _used(error: RuleError, suggestion: str) -> tuple[str, int, int]:
    """Return the text with a suggestion in the place of what is at fault, or after it."""
    text, (start, stop) = error.text, error.span
    if not suggestion.startswith("then "):
        return _put(text, start, stop, suggestion)
    end = start + len(text[start:stop].rstrip(" \n.,;"))
    ended = text[stop:].lstrip().startswith((".", "!", ";"))
    return _put(text, end, stop, f", {suggestion}{'' if ended else '.'}")


def _put(text: str, start: int, stop: int, words: str) -> tuple[str, int, int]:
    """Return a text with other words between two places, and where these are."""
    return text[:start] + words + text[stop:], start, start + len(words)


def _mends(error: RuleError, text: str, start: int, stop: int) -> bool:
    """Return whether a text is a rule, or what is wrong in it lies elsewhere."""
    try:
        parse(text)
    except RuleError as other:
        return other.reason != error.reason and (other.span[1] <= start or other.span[0] >= stop)
    return True
