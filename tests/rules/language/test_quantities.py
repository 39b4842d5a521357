"""Numbers, units, fractions and ranges as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import RuleError
from roadworthy.rules.expectation import Output, Quantity
from roadworthy.rules.language.quantities import quantities
from roadworthy.rules.language.words import analysed


def one(text: str, output: Output = "speed") -> tuple[Quantity, Quantity | None]:
    (found,) = quantities(analysed(text))
    return found.as_quantities(output)


SHARES = {
    "30%": 0.3,
    "30 %": 0.3,
    "12.5%": 0.125,
    "30 percent": 0.3,
    "30 per cent": 0.3,
    "30 pct": 0.3,
    "thirty percent": 0.3,
    "twenty-five percent": 0.25,
    "a hundred percent": 1.0,
    "twelve point five percent": 0.125,
    "half": 0.5,
    "a half": 0.5,
    "one half": 0.5,
    "a third": 1 / 3,
    "one-third": 1 / 3,
    "two thirds": 2 / 3,
    "1/3": 1 / 3,
    "2/3 of": 2 / 3,
    "½": 0.5,
    "a quarter": 0.25,
    "three quarters": 0.75,
    "three-fourths": 0.75,
    "a fifth": 0.2,
    "one tenth": 0.1,
    "half a percent": 0.005,
    "twice": 2.0,
    "two times": 2.0,
    "1.5 times": 1.5,
    ".5%": 0.005,
}

SPEEDS = {
    "5 km/h": 5 / 3.6,
    "5km/h": 5 / 3.6,
    "5 km / h": 5 / 3.6,
    "5 kph": 5 / 3.6,
    "5 kmh": 5 / 3.6,
    "5 km per hour": 5 / 3.6,
    "five kilometres per hour": 5 / 3.6,
    "5 kilometers an hour": 5 / 3.6,
    "30 mph": 13.4112,
    "30mph": 13.4112,
    "thirty miles per hour": 13.4112,
    "3 m/s": 3.0,
    "3 metres per second": 3.0,
    "3 meters per second": 3.0,
    "half a metre per second": 0.5,
    "1,000 km/h": 1000 / 3.6,
    "a hundred km/h": 100 / 3.6,
    "one hundred and twenty km/h": 120 / 3.6,
    "two and a half m/s": 2.5,
}

ANGLES = {
    "5 degrees": 5.0,
    "1 degree": 1.0,
    "5 deg": 5.0,
    "5°": 5.0,
    "1.39 degrees": 1.39,
    "half a degree": 0.5,
    "0.1 radians": 5.729577951308232,
    "0.1 rad": 5.729577951308232,
}

RANGES = {
    "between 10% and 40%": (0.1, 0.4),
    "between 10 and 40 percent": (0.1, 0.4),
    "between ten and forty percent": (0.1, 0.4),
    "10 to 40 percent": (0.1, 0.4),
    "10% to 40%": (0.1, 0.4),
    "10-40%": (0.1, 0.4),
    "10%-40%": (0.1, 0.4),
    "10 – 40 %": (0.1, 0.4),
    "between a third and a half": (1 / 3, 0.5),
}


@pytest.mark.parametrize("text", SHARES)
@pytest.mark.parametrize("output", ["speed", "steering"])
def test_shares(text: str, output: Output) -> None:
    quantity, upper = one(text, output)
    assert upper is None
    assert quantity.relative
    assert quantity.value == pytest.approx(SHARES[text])


@pytest.mark.parametrize("text", SPEEDS)
def test_speeds(text: str) -> None:
    quantity, upper = one(text)
    assert (upper, quantity.relative) == (None, False)
    assert quantity.value == pytest.approx(SPEEDS[text])


@pytest.mark.parametrize("text", ANGLES)
def test_angles(text: str) -> None:
    quantity, upper = one(text, "steering")
    assert (upper, quantity.relative) == (None, False)
    assert quantity.value == pytest.approx(ANGLES[text])


@pytest.mark.parametrize("text", RANGES)
def test_ranges(text: str) -> None:
    low, high = one(text)
    assert low.relative
    assert high is not None
    assert high.relative
    assert (low.value, high.value) == pytest.approx(RANGES[text])


def test_range_with_a_unit() -> None:
    low, high = one("between 18 and 36 km/h")
    assert high is not None
    assert (low.value, high.value) == pytest.approx((5.0, 10.0))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("30 %%", "%"),
        ("30 percent %", "%"),
        ("%", "%"),
        ("between 40% and 10%", "'40' is more than '10'"),
        ("between 40%", "between"),
        ("40-10%", "40"),
        ("-5 km/h", "negative"),
        ("minus 5 km/h", "negative"),
        ("12,5%", "12.5"),
        ("1.2.3 km/h", "number"),
        ("30 40%", "number"),
        ("NaN", "number"),
        ("infinity km/h", "number"),
        ("5 yards", "yards"),
        ("5 km", "km"),
        ("30k", "30k"),
        ("5th", "5th"),
        ("between 10% and 5 km/h", "unit"),
        ("from 50 to 30 km/h", "from"),
        ("1/0", "0"),
        ("2 km/h to 5 km/h", "between"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RuleError) as refusal:
        quantities(analysed("slow down by " + text))
    assert reason in refusal.value.reason
    assert refusal.value.span[0] >= len("slow down by ")
    assert refusal.value.suggestions


def test_unit_must_fit_the_output() -> None:
    with pytest.raises(RuleError, match="degrees"):
        one("5 degrees", "speed")
    with pytest.raises(RuleError, match="km/h"):
        one("5 km/h", "steering")


@pytest.mark.parametrize(
    "text", ["slow down", "the first one", "one should slow down", "the car turns", "a second sign"]
)
def test_words_that_are_no_quantity(text: str) -> None:
    assert quantities(analysed(text)) == []


@given(
    st.integers(0, 9999), st.sampled_from(["%", " percent", " km/h", "km/h", " m/s", " mph", " degrees", "°"])
)
def test_every_whole_number_with_every_unit(number: int, unit: str) -> None:
    output: Output = "steering" if unit in (" degrees", "°") else "speed"
    factor = {"%": 0.01, "percent": 0.01, "km/h": 1 / 3.6, "mph": 0.44704}.get(unit.strip(), 1.0)
    quantity, _ = one(f"by {number}{unit}", output)
    assert quantity.value == pytest.approx(number * factor)


@given(st.floats(0.001, 1000).map(lambda value: round(value, 3)))
def test_decimals(number: float) -> None:
    quantity, _ = one(f"by {number:.3f} m/s")
    assert quantity.value == pytest.approx(number)


UNITS = [
    "",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
TEENS = ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spelled(number: int) -> str:
    """Return a number from 1 to 999 in words."""
    if number < 20:
        return (UNITS + TEENS)[number]
    if number < 100:
        return TENS[number // 10] + (f"-{UNITS[number % 10]}" if number % 10 else "")
    rest = f" and {spelled(number % 100)}" if number % 100 else ""
    return f"{UNITS[number // 100]} hundred{rest}"


@given(st.integers(1, 999))
def test_number_words(number: int) -> None:
    quantity, _ = one(f"by {spelled(number)} m/s")
    assert quantity.value == number
