"""Borders between what holds and what does not: something measured on two predictions, and its limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from roadworthy.errors import InputError, NotApplicable

Output: TypeAlias = Literal["speed", "steering"]
Measured: TypeAlias = Literal["rise", "fall", "gap", "value", "size", "left"]

UNITS: Mapping[Output, str] = {"speed": "m/s", "steering": "degrees"}
TERMS: Mapping[Measured, str] = {
    "rise": "x2 - x1",
    "fall": "x1 - x2",
    "gap": "|x1 - x2|",
    "value": "x2",
    "size": "|x2|",
    "left": "-x2",
}
ROUNDING = 1e-12
"""How far from a border, relative to the numbers involved, rounding alone can lead."""


def _number(value: float) -> str:
    """Return a number with two decimals at most, or more where these would show nothing."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return text if value == 0 or float(text) else f"{value:.3g}"


@dataclass(frozen=True)
class Quantity:
    """How much: a number in the unit of the output, or a share of the prediction before.

    Attributes:
        value: In m/s or degrees; for a share, 0.3 for 30%.
        relative: Whether it is a share of |before|.

    Example:
        >>> Quantity(0.3, relative=True).text("speed"), Quantity(5 / 3.6).text("speed")
        ('30%', '1.39 m/s')
    """

    value: float
    relative: bool = False

    def __post_init__(self) -> None:
        if not math.isfinite(self.value) or self.value < 0:
            raise InputError(f"a quantity must be finite and not negative, got {self.value!r}")

    def of(self, before: float) -> float:
        """Return the quantity in the unit of the output.

        Raises:
            NotApplicable: It is a share, and the prediction before is 0.
        """
        if self.relative and before == 0:
            raise NotApplicable("the prediction before is 0: it has no percentage change")
        return self.value * abs(before) if self.relative else self.value

    def text(self, output: Output) -> str:
        """Return the quantity with its unit."""
        return f"{_number(self.value * 100)}%" if self.relative else f"{_number(self.value)} {UNITS[output]}"


@dataclass(frozen=True)
class Border:
    """One limit of what is measured.

    Attributes:
        quantity: Where it lies.
        strict: Whether the relation does not hold on it.
        tolerance: Whether it is δ. A tolerance is no percentage change: that of nothing is nothing.
    """

    quantity: Quantity
    strict: bool = False
    tolerance: bool = False

    def at(self, before: float) -> float:
        """Return where it lies, in the unit of the output."""
        return 0.0 if self.tolerance and before == 0 and self.quantity.relative else self.quantity.of(before)


@dataclass(frozen=True, eq=False)
class Relation:
    """Something measured on two predictions, at least its lower border and at most its upper one.

    Two relations are equal where they hold for the same predictions.

    Attributes:
        output: What is predicted.
        measured: The rise, fall or size of the change, or the new value: as it is, its size, or to the left.
        low: The lower border.
        high: The upper border.

    Example:
        >>> third = Relation("speed", "fall", low=Border(Quantity(0.3, relative=True)))
        >>> third.formula(), third.words, third.holds(10, 7)
        ('(x1 - x2)/x1 >= 30%', 'the speed should decrease by at least 30%', True)
    """

    output: Output
    measured: Measured
    low: Border | None = None
    high: Border | None = None

    def holds(self, before: float, after: float) -> bool:
        """Say whether the relation holds."""
        return all(
            distance > 0 or (distance == 0 and not border.strict)
            for distance, border in self._distances(before, after)
        )

    def margin(self, before: float, after: float) -> float:
        """Return the distance to the nearest border, in the unit of the output, positive where it holds."""
        return min(distance for distance, _ in self._distances(before, after))

    def is_out_of_reach(self, before: float) -> bool:
        """Say whether no answer could hold after this one: a speed falls by no more than it is.

        Example:
            >>> less = Relation("speed", "fall", low=Border(Quantity(10 / 3.6)))
            >>> less.is_out_of_reach(9 / 3.6), less.is_out_of_reach(11 / 3.6)
            (True, False)
        """
        if (self.output, self.measured) != ("speed", "fall") or not (self.low and self.low.quantity.value):
            return False
        return not Relation(self.output, self.measured, low=self.low).holds(before, 0.0)

    def _distances(self, before: float, after: float) -> list[tuple[float, Border]]:
        before, after = float(before), float(after)
        if not (math.isfinite(before) and math.isfinite(after)):
            raise InputError(f"predictions must be finite numbers, got {before!r} and {after!r}")
        measured = {
            "rise": after - before,
            "fall": before - after,
            "gap": abs(after - before),
            "value": after,
            "size": abs(after),
            "left": -after,
        }[self.measured]
        distances = []
        for border, sign in ((self.low, 1.0), (self.high, -1.0)):
            if border is not None:
                limit = border.at(before)
                distance = sign * (measured - limit)
                if limit and abs(distance) <= ROUNDING * max(abs(before), abs(after), limit):
                    distance = 0.0
                distances.append((distance, border))
        return distances

    def _signed(self) -> tuple[str, tuple[float, Border] | None, tuple[float, Border] | None]:
        """Return what is measured with its limits as signed numbers; a fall is a negative rise."""

        def limit(border: Border | None, sign: int) -> tuple[float, Border] | None:
            return None if border is None else (sign * border.quantity.value, border)

        if self.measured == "fall":
            return "rise", limit(self.high, -1), limit(self.low, -1)
        return self.measured, limit(self.low, 1), limit(self.high, 1)

    def _key(self) -> tuple[object, ...]:
        measured, *limits = self._signed()
        # δ differs from a stated quantity only where it is a share, at a prediction of 0.
        return (
            self.output,
            measured,
            *(
                limit
                and (
                    limit[0],
                    limit[1].strict,
                    limit[1].quantity.relative,
                    limit[1].quantity.relative and limit[1].tolerance,
                )
                for limit in limits
            ),
        )

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Relation) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def implies(self, other: Relation) -> bool:
        """Say whether the other one surely holds where this one does."""
        mine, *limits = self._signed()
        theirs, *others = other._signed()
        if (self.output, mine) != (other.output, theirs):
            return False
        for limit, wanted, sign in zip(limits, others, (1, -1), strict=True):
            if wanted is None:
                continue
            if limit is None:
                return False
            (value, border), (least, needed) = limit, wanted
            comparable = border.quantity.relative == needed.quantity.relative or 0.0 in (value, least)
            if not comparable:
                return False
            # Nearer than this, rounding at one border could reach across the other.
            clear = sign * (value - least) > 1e-6
            if not clear and (value != least or (needed.strict and not border.strict)):
                return False
        return True

    def formula(self, *, symbols: bool = False) -> str:
        """Return the relation of x1, before, and x2, after.

        Args:
            symbols: Whether to write n, m and δ for the numbers, as Table 5 does.
        """
        low, high = self.low, self.high
        if low and high and low.quantity == high.quantity:
            return f"{self._term(low)} = {self._text(low, symbols)}"
        if low and high and not low.strict:
            if low.quantity.relative != high.quantity.relative:
                return " and ".join(
                    Relation(self.output, self.measured, *pair).formula(symbols=symbols)
                    for pair in ((low, None), (None, high))
                )
            upper = self._text(high, symbols).replace("n", "m")
            return f"{self._text(low, symbols)} <= {self._term(low)} <= {upper}"
        if low and high:  # Table 5's "less than": bounded, and in the direction that is named
            direction = {"rise": "x2 > x1", "fall": "x1 > x2"}[self.measured]
            return f"{self._term(high)} <= {self._text(high, symbols)} and {direction}"
        border = low or high
        assert border is not None
        sign = (">" if low else "<") + ("" if border.strict else "=")
        if self.measured in ("rise", "fall") and border.quantity == Quantity(0.0):
            if self.measured == "rise":
                sign = sign.translate(str.maketrans("<>", "><"))
            return f"x1 {sign} x2"
        return f"{self._term(border)} {sign} {self._text(border, symbols)}"

    def _term(self, border: Border) -> str:
        term = TERMS[self.measured]
        if not border.quantity.relative or border.tolerance:
            return term
        return (
            f"({term})/{self._base}" if self.measured in ("rise", "fall", "left") else f"{term}/{self._base}"
        )

    def _text(self, border: Border, symbols: bool) -> str:
        if symbols:
            return "δ" if border.tolerance else "n%" if border.quantity.relative else "n"
        text = border.quantity.text(self.output)
        return f"{text} of {self._base}" if border.tolerance and border.quantity.relative else text

    @property
    def _base(self) -> str:
        return "x1" if self.output == "speed" else "|x1|"  # a speed has no sign

    @property
    def words(self) -> str:
        """The relation as a sentence, which can itself be read as a rule's then-part."""
        verbs = {"rise": "increase", "fall": "decrease", "gap": "change"}
        subject = f"the {self.output} should"
        low, high = self.low, self.high
        if self.measured in verbs:
            verb = verbs[self.measured]
            if self.output == "steering" and self.measured != "gap":
                subject, verb = "the vehicle should", f"turn {'right' if self.measured == 'rise' else 'left'}"
            border = low or high
            if border and not (low and high) and (border.tolerance or border.quantity == Quantity(0.0)):
                if self.measured == "gap" and high:
                    return f"{subject} stay the same"
                if border.strict or high:
                    return f"{subject} {'not ' if high else ''}{verb}"
            return f"{subject} {verb} by {self.amount}"
        side = {"left": " to the left", "value": " to the right"}.get(self.measured, "")
        share = (low or high) and (low or high).quantity.relative  # type: ignore[union-attr]
        ending = side if self.output == "steering" else ""
        return f"{subject} be {self.amount}{' of what it was' if share else ''}{ending}"

    @property
    def amount(self) -> str:
        """What is asked for, without of what: "at least 30%"."""
        low, high = (border and border.quantity.text(self.output) for border in (self.low, self.high))
        if low and high:
            if low == high:
                return f"exactly {low}"
            return f"less than {high}" if self.low and self.low.strict else f"between {low} and {high}"
        return f"at least {low}" if low else f"at most {high}"
