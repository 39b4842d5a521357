"""How much is expected: quantities with the words around them that say how they bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from roadworthy.rules.expectation import Modifier, Output, Quantity
from roadworthy.rules.language.outcome_parts import Item, Part
from roadworthy.rules.language.quantities import Found

__all__ = ["LOWER", "UPPER", "Amount", "read_amount"]

LOWER, UPPER = ("at least", "more than"), ("at most", "less than")
BEFORE_A_QUANTITY = frozenset({"by", "to", "within", "modifier", "over", "beyond", "exceed", "degree", "at"})
BOUNDS = frozenset({"modifier", "over", "beyond", "suffix", "exceed"})
NEEDS_A_QUANTITY = ("by", "to", "at", "within", "modifier", "over", "beyond", "suffix", "exceed", "limit")
RANGE = ("between 10% and 40%",)


@dataclass(frozen=True)
class Amount:
    """A quantity as it is expected.

    Attributes:
        quantity: How much; the lower end of a range.
        upper: The upper end of a range.
        modifier: How it bounds.
        items: The quantity and the words around it.
        found: The quantity as it is written; None where a verb says it, as in "halve".
    """

    quantity: Quantity
    upper: Quantity | None
    modifier: Modifier | None
    items: tuple[Item, ...]
    found: Found | None = None

    @property
    def text(self) -> str:
        """The quantity as it is written."""
        return str(self.found.words) if self.found else ""

    def led_by(self, *kinds: str) -> bool:
        """Say whether words of a kind belong to it."""
        return any(item.kind in kinds for item in self.items)


def read_amount(part: Part, output: Output) -> Amount | None:
    """Return how much is expected of an output, or nothing.

    Raises:
        RuleError: The quantities do not fit the output or each other, or one is missing.
    """
    amounts = [
        _around(part, place, output) for place, item in enumerate(part.items) if item.kind == "quantity"
    ]
    factor = _factor(part)
    if factor is not None:
        amounts.append(factor)
    used = {id(item) for amount in amounts for item in amount.items}
    alone = [item for item in part.of(*NEEDS_A_QUANTITY) if id(item) not in used]
    if len(amounts) == 1 and amounts[0].modifier is None and _is_suffix(alone) and alone[0] is part.items[-1]:
        # It stands at the end, as in: 10% higher at most.
        amounts = [replace(amounts[0], modifier=cast(Modifier, alone[0].value))]
        alone = []
    if alone and not (amounts and all(item.kind == "limit" for item in alone)):
        raise part.refuse(alone, "a quantity is needed here", ("at least 30%", "by 5 km/h"))
    if len(amounts) > 2 or (factor is not None and len(amounts) > 1):
        raise part.refuse(amounts[1].items, "more quantities than one expectation can have", RANGE)
    if len(amounts) == 2:
        return _range(part, *amounts)
    return amounts[0] if amounts else None


def _around(part: Part, place: int, output: Output) -> Amount:
    """Return a quantity with the words before and after it that say how it bounds."""
    items = part.items
    start, stop = place, place + 1
    while start and items[start - 1].kind in BEFORE_A_QUANTITY:
        start -= 1
    if stop < len(items) and _is_suffix(items[stop:]):
        stop += 1
    cluster = items[start:stop]
    modifiers = ["more than" if one.kind == "exceed" else one.value for one in cluster if one.kind in BOUNDS]
    if not modifiers and part.of("limit"):
        modifiers = ["at most"]
    found = items[place].found
    assert found is not None
    quantity, upper = found.as_quantities(output)
    if found.kind == "number" and place + 1 < len(items) and items[place + 1].kind == "ego":
        raise part.refuse(items[place : place + 2], "how many vehicles there are is not predicted")
    if upper is not None:
        modifiers.append("between")
    if len(modifiers) > 1:
        raise part.refuse(cluster, "two bounds on one quantity", RANGE)
    return Amount(quantity, upper, cast(Modifier, modifiers[0]) if modifiers else None, cluster, found)


def _is_suffix(items: Sequence[Item]) -> bool:
    """Say whether a bound stands after its quantity: "30% or more", "30% at least"."""
    if not items:
        return False
    if items[0].kind == "modifier" and items[0].value in ("at least", "at most"):
        return len(items) == 1 or items[1].kind != "quantity"
    return items[0].kind == "suffix"


def _factor(part: Part) -> Amount | None:
    """Return the amount in a verb such as halve."""
    factors = part.of("factor")
    if not factors:
        return None
    place = part.items.index(factors[0])
    ahead = part.items[place - 1 : place] if place and part.items[place - 1].kind == "modifier" else ()
    modifier = cast(Modifier, ahead[0].value) if ahead else None
    return Amount(Quantity(float(factors[0].value), relative=True), None, modifier, (*ahead, factors[0]))


def _range(part: Part, first: Amount, second: Amount) -> Amount:
    """Return "at least 10% but no more than 40%" as one range."""
    ends = {
        "low" if amount.modifier in LOWER else "high" if amount.modifier in UPPER else "": amount
        for amount in (first, second)
    }
    if set(ends) != {"low", "high"}:
        raise part.refuse(second.items, "two quantities that make no range", RANGE)
    low, high = ends["low"].quantity, ends["high"].quantity
    if low.relative == high.relative and low.value > high.value:
        raise part.refuse((*first.items, *second.items), "nothing lies between these two", RANGE)
    return Amount(low, high, "between", (*first.items, *second.items), first.found)
