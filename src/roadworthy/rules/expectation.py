"""What a rule expects, and the relation between two predictions that shows whether it holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

from roadworthy.cases import Prediction
from roadworthy.errors import InputError, NotApplicable, check_choice
from roadworthy.frames import Frame, Signals
from roadworthy.rules.gauges import gauge_of

Output: TypeAlias = str
"""What is measured, see `gauges`."""
Measured: TypeAlias = Literal["rise", "fall", "gap", "value", "size", "left"]

# How each is written, and what it is.
_MEASURED: Mapping[Measured, tuple[str, Callable[[float, float], float]]] = {
    "rise": ("x2 - x1", lambda before, after: after - before),
    "fall": ("x1 - x2", lambda before, after: before - after),
    "gap": ("|x1 - x2|", lambda before, after: abs(after - before)),
    "value": ("x2", lambda _, after: after),
    "size": ("|x2|", lambda _, after: abs(after)),
    "left": ("-x2", lambda _, after: -after),
}
_SIGNED = ("steering", "acceleration")
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
        if self.relative:
            return f"{_number(self.value * 100)}%"
        return f"{_number(self.value)} {gauge_of(output).unit}".strip()


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
        measured = _MEASURED[self.measured][1](before, after)
        distances = []
        for border, sign in ((self.low, 1.0), (self.high, -1.0)):
            if border is not None:
                if self.output == "speed" and before < 0 and border.quantity.relative:
                    raise NotApplicable(
                        "the speed before is that of reversing, of which a percentage says nothing"
                    )
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
        keys = []
        for limit in limits:
            value, border = limit or (None, None)
            relative = border is not None and border.quantity.relative
            # δ differs from a stated quantity only where it is a share, at a prediction of 0.
            keys.append(border and (value, border.strict, relative, relative and border.tolerance))
        return (self.output, measured, *keys)

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
        term = _MEASURED[self.measured][0]
        if not border.quantity.relative or border.tolerance:
            return term
        term = f"({term})" if self.measured in ("rise", "fall", "left") else term
        return f"{term}/{self._base}"

    def _text(self, border: Border, symbols: bool) -> str:
        if symbols:
            return "δ" if border.tolerance else "n%" if border.quantity.relative else "n"
        text = border.quantity.text(self.output)
        return f"{text} of {self._base}" if border.tolerance and border.quantity.relative else text

    @property
    def _base(self) -> str:
        return "|x1|" if self.output in _SIGNED else "x1"

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


ExpectedChange: TypeAlias = Literal["increase", "decrease", "same", "different"]
Modifier: TypeAlias = Literal["at least", "more than", "less than", "at most", "between", "exactly"]
Measure: TypeAlias = Literal["change", "value"]

TOLERANCES: Mapping[Output, Quantity] = {"speed": Quantity(0.1, relative=True), "steering": Quantity(1.39)}
"""δ: how far two predictions may differ and still be the same."""
_OTHER_TOLERANCES: Mapping[str, Quantity] = {
    "acceleration": Quantity(0.5), "throttle": Quantity(0.05), "brake": Quantity(0.05),
    "count": Quantity(0.0), "confidence": Quantity(0.1), "offset": Quantity(0.5),
}  # fmt: skip
# What tells braking and accelerating better than speed does, the best first.
_PEDALS: Mapping[str, tuple[str, ...]] = {
    "decrease": ("brake", "acceleration", "throttle"),
    "increase": ("acceleration", "throttle", "brake"),
}


def tolerance_of(output: Output) -> Quantity:
    """Return the usual δ of an output.

    Example:
        >>> tolerance_of("number of detected vehicles").value
        0.0
    """
    if output in TOLERANCES:
        return TOLERANCES[output]
    kind = gauge_of(output).kind
    return _OTHER_TOLERANCES.get(output if kind == "signal" else kind, Quantity(0.1))


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
        output: What is measured: speed in m/s, steering in degrees, positive to the right, or what else
            models answer with, see `gauges`.
        change: The direction, None where only the new value matters. For steering, "decrease" is to the left.
        modifier: How the quantity bounds.
        quantity: How much. With "same" it takes the place of δ.
        upper: The upper end, for "between".
        measure: Whether the quantity is that of the change ("by"), or of the new value ("to", "be").
        negated: Whether the relation is reversed.
        tolerance: δ of "same" and "different"; by default that of `tolerance_of`.
        pedals: Whether the words are of braking or accelerating: what a model predicts of brake,
            acceleration or throttle goes before its speed.

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
    pedals: bool = False

    def __post_init__(self) -> None:
        gauge_of(self.output)
        for name, kinds in (("change", ExpectedChange), ("modifier", Modifier), ("measure", Measure)):
            if (value := getattr(self, name)) is not None or name == "measure":
                check_choice(name, value, get_args(kinds))
        if self.tolerance is None:
            object.__setattr__(self, "tolerance", tolerance_of(self.output))
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
        if self.output != "steering":
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
            measured = sides[self.change] if self.output == "steering" else "value"
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
        if self.measure == "value" and self.modifier is None and self.output != "steering":
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
            NotApplicable: A percentage is expected, and the prediction before is 0, or reverses.
        """
        return self.relation.holds(before, after)

    @property
    def allows_no_change(self) -> bool:
        """Whether it holds where nothing is different, such as what must stay the same or must not happen."""
        return self.measure == "change" and self.holds(1.0, 1.0)

    def margin(self, before: float, after: float) -> float:
        """Return the distance to the border in the unit of the output, positive where it holds.

        On the border it is 0, and only a strict relation, such as after < before, does not hold there.

        Raises:
            NotApplicable: A percentage is expected, and the prediction before is 0, or reverses.
        """
        return self.relation.margin(before, after)

    def judged(
        self, frames: tuple[Frame, Frame], answers: tuple[Prediction, Prediction]
    ) -> tuple[float, float, float]:
        """Return x1, x2 and the margin of one frame: of the thing that comes off worst.

        Args:
            frames: The frame before the change and after it.
            answers: What the model answered.

        Raises:
            NotApplicable: There is nothing to measure, or the relation says nothing about it.
            SystemUnderTestError: The answers do not tell what is measured.
        """
        gauge = gauge_of(self.output)
        pairs = gauge.measured(frames, answers)
        standing = gauge.standing(frames)
        if standing is not None and not self.holds(standing, standing):
            raise NotApplicable("it is nearer than that already: no path could keep the distance")
        before, after = min(pairs, key=lambda pair: (self.holds(*pair), self.margin(*pair)))
        return before, after, self.margin(before, after)

    def told_by(self, answer: Prediction | None) -> Expectation:
        """Return what is measured on a model with such answers: braking by its brake, if it predicts one.

        Example:
            >>> from roadworthy.frames import Signals
            >>> Expectation("speed", "decrease", pedals=True).told_by(Signals(speed=8, brake=0.1)).formula
            'x1 < x2'
        """
        known = answer.as_dict() if isinstance(answer, Signals) else {}
        found = next((one for one in _PEDALS.get(str(self.change), ()) if one in known), None)
        if not self.pedals or found is None:
            return self
        turned: dict[str, ExpectedChange] = {"increase": "decrease", "decrease": "increase"}
        change = turned[str(self.change)] if found == "brake" else self.change
        return Expectation(found, change, negated=self.negated)

    @property
    def formula(self) -> str:
        """The relation of x1, what is measured before, and x2, after; and what x is, where that is needed."""
        meaning = gauge_of(self.output).meaning
        return f"{self.relation.formula()}, where x is the {meaning}" if meaning else self.relation.formula()

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
