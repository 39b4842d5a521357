"""Readings of rules in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roadworthy.ontology import CONDITIONS, ontology

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roadworthy.rules.expectation import Expectation
    from roadworthy.rules.reading import Change, Rule

__all__ = ["change_in_brief", "change_in_words", "reaction_in_brief", "rule_in_words", "thing_in_words"]

_POSITIONS = {
    "on": "on",
    "front": "in front of",
    "behind": "behind",
    "beside": "beside",
    "above": "above",
    "in": "in",
}
_COMPARED = {
    "closer": "closer to the camera than before",
    "farther": "farther from the camera than before",
    "heavier": "heavier than before",
    "lighter": "lighter than before",
}
_UNITS = {"speed": (3.6, " km/h"), "steering": (1.0, "°")}
_NEW_VALUES = ("value", "size", "left")  # relations that are about the new prediction alone


def thing_in_words(element: str, properties: Mapping[str, str]) -> str:
    """Return a thing with its properties in plain words.

    Example:
        >>> thing_in_words("vehicle", {"type": "truck", "color": "red"}), thing_in_words("traffic sign", {})
        ('red truck', 'traffic sign')
    """
    known = ontology()
    if element not in known:
        return " ".join([*properties.values(), element])
    kind = {key: properties[key] for key in properties if key != "color" or element != "vehicle"}
    word = known.word_for(element, kind)
    covered = known.resolve_with_properties(word)[1]
    rest = [value for key, value in properties.items() if covered.get(key) != value]
    return " ".join([*rest, word])


def _article(words: str) -> str:
    return f"{'an' if words[:1] in 'aeiou' else 'a'} {words}"


def change_in_words(change: Change) -> str:
    """Return a change in plain words.

    Example:
        >>> from roadworthy.rules.reading import Change
        >>> change_in_words(Change("replace", "weather", {"level": "heavy"}, replacement="rainy"))
        'the weather becomes rainy (heavy)'
        >>> change_in_words(Change("replace", "building", replacement="tree"))
        'replace every building by a tree'
    """
    compared = "" if change.comparative is None else f", {_COMPARED[change.comparative]}"
    if change.target in CONDITIONS:
        level = f" ({change.properties['level']})" if "level" in change.properties else ""
        return f"the {change.target} becomes {change.replacement}{level}{compared}"
    where = ""
    if change.position is not None and change.reference is not None:
        reference = thing_in_words(change.reference, change.reference_properties)
        where = f" {_POSITIONS[change.position]} the {reference}"
    if change.op == "add":
        return f"add {_article(thing_in_words(change.target, change.properties))}{where}{compared}"
    if change.op == "remove":
        return f"remove every {thing_in_words(change.target, change.properties)}{where}"
    old = thing_in_words(change.target, change.target_properties)
    new = thing_in_words(change.replacement or "", change.properties)
    return f"replace every {old}{where} by {_article(new)}{compared}"


def change_in_brief(change: Change) -> str:
    """Return a change in a few words, for captions.

    Example:
        >>> from roadworthy.rules.reading import Change
        >>> change_in_brief(Change("add", "vehicle", {"type": "truck"}, comparative="closer"))
        '+ truck, closer'
        >>> change_in_brief(Change("replace", "building", replacement="tree"))
        'building → tree'
    """
    compared = "" if change.comparative is None else f", {change.comparative}"
    if change.target in CONDITIONS:
        return " ".join([*change.properties.values(), str(change.replacement)]) + compared
    if change.op == "replace":
        old = thing_in_words(change.target, change.target_properties)
        return f"{old} → {thing_in_words(change.replacement or '', change.properties)}{compared}"
    return (
        f"{'+' if change.op == 'add' else '-'} {thing_in_words(change.target, change.properties)}{compared}"
    )


def reaction_in_brief(expectation: Expectation, before: float, after: float) -> str:
    """Return how predictions differ, for captions: as a share where a share is asked for, which is told then.

    Example:
        >>> from roadworthy.rules.expectation import Expectation, Quantity
        >>> reaction_in_brief(Expectation("speed", "decrease"), 10.0, 9.0)
        '-3.6 km/h'
        >>> third = Expectation("speed", "decrease", "at least", Quantity(0.3, relative=True))
        >>> reaction_in_brief(third, 10.0, 8.3)
        '-17.0%, violates at least 30%'
    """
    factor, unit = _UNITS[expectation.output]
    words, asked = f"{(after - before) * factor:+.1f}{unit}", ""
    relation = expectation.relation
    if before and any(one and one.quantity.relative for one in (relation.low, relation.high)):
        words = f"{(after - before) / abs(before):+.1%}"
        if relation.measured in _NEW_VALUES:
            words = f"{after / abs(before):.1%} of what it was"
        asked = f" {relation.amount}"
    return words if expectation.holds(before, after) else f"{words}, violates{asked}"


def rule_in_words(rule: Rule) -> str:
    """Return a reading in plain words, a line for each block."""
    lines = []
    for number, block in enumerate(rule.blocks):
        before = "the original image" if number == 0 else "the image of the block before"
        changes = " and ".join(change_in_words(one) for one in block.changes)
        lines.append(f"{changes}; compared with {before}: {block.expectation}")
    return "\n".join(lines)
