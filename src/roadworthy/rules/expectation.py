"""What should come of a change: the relation of the predictions before and after, as in Table 5 of RMT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

from roadworthy.errors import InputError
from roadworthy.rules.relation import Border, Measured, Output, Quantity, Relation

__all__ = [
    "TOLERANCES",
    "Expectation",
    "ExpectedChange",
    "Measure",
    "Modifier",
    "Output",
    "Quantity",
    "read_tolerance",
]

ExpectedChange: TypeAlias = Literal["increase", "decrease", "same", "different"]
Modifier: TypeAlias = Literal["at least", "more than", "less than", "at most", "between", "exactly"]
Measure: TypeAlias = Literal["change", "value"]

TOLERANCES: Mapping[Output, Quantity] = {"speed": Quantity(0.1, relative=True), "steering": Quantity(1.39)}
"""δ: how far two predictions may differ and still be the same."""


def read_tolerance(value: float | str) -> Quantity:
    """Return δ as people write it: a number in degrees or m/s, or a percentage.

    Raises:
        InputError: It is neither.

    Example:
        >>> read_tolerance("10%") == TOLERANCES["speed"], read_tolerance(1.39) == TOLERANCES["steering"]
        (True, True)
    """
    if not isinstance(value, str):
        return Quantity(value)
    try:
        # Rounded once: what was written as 0.07% is 0.0007 and can be written so again.
        return Quantity(float(f"{value.strip().removesuffix('%').rstrip()}e-2"), relative=True)
    except ValueError:
        raise InputError(f"a tolerance is a number or a percentage such as 10%, got {value!r}") from None


UPPER = ("at most", "less than")
LOWER = ("at least", "more than")


@dataclass(frozen=True, eq=False)
class Expectation:
    """The relation of two predictions, before a change of the scene and after it.

    Two expectations are equal where they mean the same, whatever words led to them.

    "At least" and "more than" are the same relation, as in Table 5. A quantity without modifier is the
    least that is asked for: "by 30%" is at least 30%, "slow down to 20 km/h" is at most 20 km/h. "At most"
    is the bound alone; "less than" also needs a change in the direction that is named. The new value of a
    steering angle is measured without its side, unless the side is named.

    Attributes:
        output: What is predicted: speed in m/s, or steering in degrees, positive to the right.
        change: The direction, None where only the new value matters. For steering, "decrease" is to the left.
        modifier: How the quantity bounds.
        quantity: How much. With "same" it takes the place of δ.
        upper: The upper end, for "between".
        measure: Whether the quantity is that of the change ("by"), or of the new value ("to", "be").
        negated: Whether the relation is reversed.
        tolerance: δ of "same" and "different"; by default that of `TOLERANCES`.

    Example:
        >>> expectation = Expectation("speed", "decrease", "at least", Quantity(0.3, relative=True))
        >>> expectation.formula, expectation.words
        ('(x1 - x2)/x1 >= 30%', 'the speed should decrease by at least 30%')
        >>> expectation.holds(10.0, 6.0), expectation.margin(10.0, 6.0)
        (True, 1.0)
    """

    output: Output
    change: ExpectedChange | None
    modifier: Modifier | None = None
    quantity: Quantity | None = None
    upper: Quantity | None = None
    measure: Measure = "change"
    negated: bool = False
    tolerance: Quantity | None = None

    def __post_init__(self) -> None:
        for name, kinds, optional in (
            ("output", Output, False),
            ("change", ExpectedChange, True),
            ("modifier", Modifier, True),
            ("measure", Measure, False),
        ):
            value = getattr(self, name)
            if value not in get_args(kinds) and not (optional and value is None):
                raise InputError(f"{name} must be one of {', '.join(get_args(kinds))}, got {value!r}")
        if self.tolerance is None:
            object.__setattr__(self, "tolerance", TOLERANCES[self.output])
        self._check_quantities()
        if self.measure == "value":
            self._check_value()
        elif self.change is None:
            raise InputError("a change must be named, unless the new value is measured")
        elif self.change == "same" and self.modifier not in (None, *UPPER):
            raise InputError(f"'same' cannot be {self.modifier} a quantity: use the change 'different'")

    def _check_quantities(self) -> None:
        quantity, upper, modifier = self.quantity, self.upper, self.modifier
        if quantity is None and (modifier is not None or self.measure == "value"):
            raise InputError(f"a quantity is needed with {modifier or 'a new value'}")
        if (upper is not None) != (modifier == "between"):
            raise InputError("an upper quantity is needed with 'between', and only there")
        if upper and quantity and upper.relative == quantity.relative and upper.value < quantity.value:
            raise InputError("the upper quantity must not be below the lower one")
        if modifier == "less than" and quantity and not quantity.value and not self.negated:
            raise InputError("nothing is less than 0")
        if self.negated and modifier in ("between", "exactly"):
            raise InputError(f"a negated {modifier!r} has no single border: name one side of it")

    def _check_value(self) -> None:
        if self.change in ("same", "different"):
            raise InputError(f"the change {self.change!r} has no new value")
        if self.modifier is None and self.change is None:
            raise InputError("a new value needs a modifier or a direction")
        if self.output == "speed":
            if self.change == "decrease" and self.modifier in LOWER:
                raise InputError(f"a decrease to {self.modifier} a value contradicts itself: use 'at most'")
            if self.change == "increase" and self.modifier in UPPER:
                raise InputError(f"an increase to {self.modifier} a value contradicts itself: use 'at least'")

    @cached_property
    def relation(self) -> Relation:
        """What is measured on the predictions, and its borders."""
        stated = Border(self.quantity) if self.quantity else None
        measured: Measured
        if self.measure == "value":
            sides: dict[str | None, Measured] = {None: "size", "decrease": "left", "increase": "value"}
            measured = "value" if self.output == "speed" else sides[self.change]
        elif self.change in ("same", "different"):
            measured = "gap"
        else:
            measured = "rise" if self.change == "increase" else "fall"
        if stated is None:
            return self._without_quantity(measured)
        if self.modifier in ("between", "exactly"):
            return Relation(self.output, measured, stated, Border(self.upper) if self.upper else stated)
        if self.modifier == "less than" and measured in ("rise", "fall") and not self.negated:
            return Relation(self.output, measured, Border(Quantity(0.0), strict=True), stated)
        bounds_above = self.modifier in UPPER or self.change == "same"
        if self.measure == "value" and self.modifier is None and self.output == "speed":
            bounds_above = self.change == "decrease"
        if bounds_above != self.negated:
            return Relation(self.output, measured, high=stated)
        return Relation(self.output, measured, low=stated)

    def _without_quantity(self, measured: Measured) -> Relation:
        if measured == "gap":
            assert self.tolerance is not None
            within = Border(self.tolerance, tolerance=True)
            if (self.change == "same") != self.negated:
                return Relation(self.output, measured, high=within)
            return Relation(self.output, measured, low=replace(within, strict=True))
        if self.negated:
            return Relation(self.output, measured, high=Border(Quantity(0.0)))
        return Relation(self.output, measured, low=Border(Quantity(0.0), strict=True))

    def holds(self, before: float, after: float) -> bool:
        """Say whether the predictions are as expected.

        Args:
            before: The prediction before the change, in m/s or degrees positive to the right.
            after: The prediction after it.

        Raises:
            NotApplicable: A percentage is expected, and the prediction before is 0.
        """
        return self.relation.holds(before, after)

    def margin(self, before: float, after: float) -> float:
        """Return the distance to the border in the unit of the output, positive where it holds.

        On the border it is 0, and only a strict relation, such as after < before, does not hold there.

        Raises:
            NotApplicable: A percentage is expected, and the prediction before is 0.
        """
        return self.relation.margin(before, after)

    @property
    def formula(self) -> str:
        """The relation of x1, the prediction before, and x2, the one after."""
        return self.relation.formula()

    @property
    def words(self) -> str:
        """The expectation as a sentence, which can itself be read as the then-part of a rule."""
        return self.relation.words

    def implies(self, other: Expectation) -> bool:
        """Say whether the other one surely holds where this one does."""
        return self.relation.implies(other.relation)

    def with_tolerance(self, tolerance: Quantity) -> Expectation:
        """Return the expectation with another δ; a quantity that is stated stays as it is.

        Example:
            >>> Expectation("steering", "same").with_tolerance(Quantity(2.78)).formula
            '|x1 - x2| <= 2.78 degrees'
        """
        return replace(self, tolerance=tolerance)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, from which `from_dict` makes the expectation again."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Expectation:
        """Return the expectation that `to_dict` made this of.

        Raises:
            InputError: A field is missing, unknown or cannot be used.
        """
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(data) - known):
            raise InputError(f"an expectation has no {', '.join(unknown)}; it has {', '.join(sorted(known))}")
        if missing := [name for name in ("output", "change") if name not in data]:
            raise InputError(f"an expectation needs {', '.join(missing)}")
        quantities = {}
        for name in ("quantity", "upper", "tolerance"):
            if (value := data.get(name)) is not None:
                try:
                    quantities[name] = Quantity(**value)
                except TypeError:
                    raise InputError(f"{name} must be {{'value': …, 'relative': …}}, got {value!r}") from None
        return cls(**{**data, **quantities})

    def __str__(self) -> str:
        return self.words

    def __eq__(self, other: object) -> bool:
        return self.relation == other.relation if isinstance(other, Expectation) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.relation)
