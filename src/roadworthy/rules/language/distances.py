"""The words of a rule that say how far away a thing is: "15 m ahead", "within 20 m"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from roadworthy.errors import RuleError
from roadworthy.ontology import CONDITIONS
from roadworthy.rules.reading import Block, SceneChange, thing_in_words

_METRES = r"(?P<{}>\d+(?:\.\d+)? ?(?:m|met(?:re|er)s?|feet|foot|ft|yards?|yd))\b(?!/)"
_UNITS = {"f": 0.3048, "y": 0.9144}  # metres of a foot and a yard, by their first letter
_US = "(?:us|you|(?:the|your|our) (?:ego-vehicle|ego vehicle|car|vehicle))"
_NOT_OF_A_PATH = "(?<!stay )(?<!remain )(?<!keep )(?<!be )(?<!lie )"
_NO_BOUND = r"(?<!least )(?<!than )(?<!\d\.)"
AWAY = re.compile(
    rf",?\s*\b(?:{_NOT_OF_A_PATH}within {_METRES.format('within')}(?: away)?(?: (?:of|from) {_US})?"
    rf"|(?:less than|at most|no more than) {_METRES.format('most')} away(?: from {_US})?"
    rf"|{_NO_BOUND}(?:at |in )?{_METRES.format('metres')} (?:away(?: from {_US})?|(?=ahead\b|in front of\b))"
    rf"|(?:in|at a distance of) {_METRES.format('distance')})",
    re.IGNORECASE,
)
"""How far away a thing is that is added, or how far at most."""
_IN_FRONT = re.compile(rf"\s*(?:in front|ahead) of (?!{_US}\b)", re.IGNORECASE)
# "And in 50 m there is"
_LEADS = re.compile(r"\b(?:and|while|if|when|there (?:is|are)),?\s*$", re.IGNORECASE)
_NEAREST, _FARTHEST = 3.0, 100.0  # metres
EXAMPLE = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down."
"""A rule that is understood."""


def at_distances(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Return blocks whose things are added as far away as the words say."""
    told = list(blocks)
    begins = [min(one.condition[0][0], one.outcome[0][0]) for one in blocks]
    for found in AWAY.finditer(text):
        most, metres = found["within"] or found["most"], metres_of(found)
        number = max((n for n, begin in enumerate(begins) if begin <= found.start()), default=0)
        condition, outcome = told[number].condition[0][0], told[number].outcome[0][0]
        inside = found.start() < outcome if condition < outcome else found.start() >= condition
        changes = told[number].changes if inside else ()
        added = _said_of(text, told[number].bound, changes, found.start())
        if not added or any(map(_is_placed, added)):
            reason = "a distance is said once, of a thing that is added, and it must be clear of which"
        elif not _NEAREST <= metres <= _FARTHEST:
            reason = f"a thing can be added from {_NEAREST:g} to {_FARTHEST:g} m away"
        elif _IN_FRONT.match(text, found.end()) and added[0].reference != "ego-vehicle":
            reason = "a distance is measured from the ego-vehicle: say it of no other thing"
        else:
            far = {
                one: replace(one, within=metres) if most else replace(one, distance=metres) for one in added
            }
            moved = (far.get(one, one) for one in changes)
            told[number] = replace(told[number], changes=tuple(moved))
            continue
        raise RuleError(reason, text=text, span=found.span(), suggestions=[EXAMPLE])
    ends = [*begins[1:], len(text)]
    for number in range(1, len(told)):
        if not AWAY.search(text, begins[number], ends[number]):  # what comes again is as far away as before
            before = {_named(one): one for one in told[number - 1].changes if one.distance or one.within}
            again = (
                replace(one, distance=old.distance, within=old.within)
                if (old := before.get(_named(one))) and one.comparative is None
                else one
                for one in told[number].changes
            )
            told[number] = replace(told[number], changes=tuple(again))
    return told


def _named(change: SceneChange) -> tuple[str, str]:
    return change.op, thing_in_words(change.target, change.properties)


def _said_of(
    text: str, bound: Mapping[int, str], changes: Sequence[SceneChange], at: int
) -> list[SceneChange]:
    """Return what is added of which something at a place of the text is said; none where that is not clear.

    That is what is named last before it, several where they share a verb: "a car and a truck are 30 m ahead".
    """
    names = ((one, thing_in_words(one.target, one.properties)) for one in changes)
    added = {one: name for one, name in names if one.op == "add" and one.comparative is None}
    told = sorted(bound.items())
    # "Car" and "stop sign" are named once each, whatever the number of words.
    named = [gives for (_, gives), (_, last) in zip(told, [(0, ""), *told], strict=False) if gives != last]
    if any(named.count(name) > 1 and list(changes).count(one) > 1 for one, name in added.items()):
        return []
    if len(added) < 2:
        return list(added)
    leads = bool(_LEADS.search(text[:at]))
    things: set[str] = set()
    verb = ""
    for place, gives in told if leads else reversed(told):
        if (place < at) == leads:
            continue
        if gives == "add" and not leads:
            if things:
                break
            verb = verb or text[place:].split()[0]
        if gives in added.values() and gives not in things:
            things.add(gives)
            if leads or verb.endswith("s"):
                break  # "there is a red light and a car is 30 m ahead"
    said = [one for one, name in added.items() if name in things]
    clear = len(said) == len(things) and (bool(verb) or len(said) == 1)
    return said if clear else []


def metres_of(found: re.Match[str]) -> float:
    """Return how many metres some words say that `AWAY` has found."""
    text = next(filter(None, found.group("within", "most", "metres", "distance")))
    number, unit = re.match(r"([\d.]+) ?(\w)", text).groups()  # type: ignore[union-attr]
    return float(number) * _UNITS.get(unit.lower(), 1.0)


def _is_placed(change: SceneChange) -> bool:
    """Return whether no distance can be said of a change, or one is said already."""
    return bool(change.distance or change.within or change.target in CONDITIONS)
