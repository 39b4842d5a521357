"""The direction that an expectation names: up, down, left, right, the same or different; more or less."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from roadworthy.rules.expectation import ExpectedChange
from roadworthy.rules.language.outcome_parts import EXAMPLES, Item, Part

__all__ = ["FLIPPED", "VERBS", "Direction", "read_direction"]

FLIPPED: dict[str | None, ExpectedChange] = {"increase": "decrease", "decrease": "increase"}
SIDES: dict[str, ExpectedChange] = {"left": "decrease", "right": "increase"}
TURNS = ("turn left", "turn right")
VERBS = ("keep", "turn", "be", "move", "exceed", "limit")
ADJECTIVES = frozenset(
    {"slower", "slowly", "more slowly", "faster", "quicker", "more quickly", "higher", "same", "the same"}
    | {"unchanged", "constant", "steady", "straight", "different"}
)
"""Without a verb these are no expectation."""


@dataclass(frozen=True)
class Direction:
    """Where a prediction should go.

    Attributes:
        change: The direction; None where only a new value is named.
        heads: The items that name it.
        degree: "more" or "less" where it is compared with an earlier change; "less" is turned round already.
    """

    change: ExpectedChange | None
    heads: tuple[Item, ...]
    degree: str | None


def read_direction(part: Part, *, turning: bool = False) -> Direction:
    """Return the direction that a part names.

    Args:
        part: The items.
        turning: Whether the part before it speaks of turning, so that a side is enough.

    Raises:
        RuleError: It names none, or two that contradict each other.
    """
    degree = _degree(part)
    heads = part.of("change", "size", "factor", "side")
    if not heads:
        return _without_head(part, degree)
    sides = part.of("side")
    if sides:
        _check_sides(part, heads, turning)
    named = sides or heads
    change = _change(named[0])
    for item in named[1:]:
        if _change(item) != change:
            raise part.refuse([item], "this contradicts what stands before it", EXAMPLES)
    _check_words(part, heads)
    if degree is None:
        return Direction(change, heads, None)
    if change not in FLIPPED:
        raise part.refuse(part.of("degree"), f"{degree} of this cannot be judged")
    return Direction(FLIPPED[change] if degree == "less" else change, heads, degree)


def _change(item: Item) -> ExpectedChange:
    if item.kind == "side":
        return SIDES[item.value]
    if item.kind == "factor":
        return "decrease" if float(item.value) < 1 else "increase"
    return cast(ExpectedChange, item.value)


def _degree(part: Part) -> str | None:
    degrees = part.of("degree")
    if len({item.value for item in degrees}) > 1:
        raise part.refuse(degrees, "more and less contradict each other")
    if degrees:
        return degrees[0].value
    for first, second in pairwise(part.items):
        going_on = first.kind == "keep" or first.text.startswith("continue")
        slowing = second.kind == "change" and second.gerund and second.value in FLIPPED
        if going_on and (slowing or second.kind == "infinitive"):
            return "more"  # as in "keep slowing down" and "continue to slow down"
    return None


def _without_head(part: Part, degree: str | None) -> Direction:
    """Return what is meant where no word names a direction by itself."""
    if part.of("turn"):
        raise part.refuse(part.of("turn"), "to which side: left or right?", TURNS)
    degrees = part.of("degree")
    if degrees and part.of("be"):  # "the speed should be less"
        return Direction("decrease" if degree == "less" else "increase", degrees, None)
    if degrees and not part.of("quantity"):
        raise part.refuse(degrees, f"'{degrees[0].text}' of what?")
    if part.of("keep") and not part.of("quantity"):
        return Direction("same", part.of("keep"), degree)
    if part.of("keep", "be", "move", "exceed", "limit") and part.of("quantity"):
        return Direction(None, (), degree)
    raise part.refuse((), "this does not say what the speed or the steering should do")


def _check_sides(part: Part, heads: tuple[Item, ...], turning: bool) -> None:
    """Refuse a side that does not go with the rest: "increase to the left", "keep left", "left" alone."""
    others = [item for item in heads if item.kind != "side" and item.value != "different"]
    if others or part.of("keep"):
        raise part.refuse(others or part.of("keep", "side"), "this does not go with a side", TURNS)
    whole = any(word in part.of("side")[0].text for word in ("turn", "make", "take"))  # "make a left turn"
    if not (turning or whole or part.of("turn", "move", "be", "change")):
        raise part.refuse(part.of("side"), "this does not say what should be done", TURNS)


def _check_words(part: Part, heads: tuple[Item, ...]) -> None:
    """Refuse words that compare a state with nothing, and "stop braking", which is no stop."""
    for item in heads:
        if item.text in ADJECTIVES and not part.of(*VERBS, "expect", "must"):
            raise part.refuse([item], "this does not say what should be so", EXAMPLES)
        if item.text == "down" and len(heads) == 1 and not part.of("keep", "be"):
            raise part.refuse([item], "this does not say what should go down", EXAMPLES)
        stays_slow = part.of("keep") and item.text in ("slow", "slowly") and not item.gerund
        is_straight = part.of("be") and item.text.startswith("straight")
        if stays_slow or is_straight:
            raise part.refuse([item], "this is compared with nothing", EXAMPLES)
    for first, second in pairwise(part.items):
        if first.text in ("stop", "halt") and second.gerund and second in heads:
            raise part.refuse([first, second], "this can mean two things", ("should not slow down",))
