"""Relations of two predictions: Table 5 row by row, margins, percentages of nothing."""

from __future__ import annotations

import json
import math
import pickle
import re
from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from roadworthy.errors import InputError, NotApplicable
from roadworthy.rules.expectation import Expectation, ExpectedChange, Measure, Modifier, Output, Quantity

FIVE = Quantity(5.0)
PERCENT = Quantity(0.3, relative=True)

TABLE_5 = [
    (Expectation("speed", "decrease"), "x1 > x2"),
    (Expectation("speed", "increase"), "x1 < x2"),
    (Expectation("speed", "decrease", negated=True), "x1 <= x2"),
    (Expectation("speed", "increase", negated=True), "x1 >= x2"),
    *(
        row
        for modifier in ("at least", "more than")
        for row in (
            (Expectation("speed", "decrease", modifier, FIVE), "x1 - x2 >= 5 m/s"),
            (Expectation("speed", "decrease", modifier, FIVE, negated=True), "x1 - x2 <= 5 m/s"),
            (Expectation("speed", "increase", modifier, FIVE), "x2 - x1 >= 5 m/s"),
            (Expectation("speed", "increase", modifier, FIVE, negated=True), "x2 - x1 <= 5 m/s"),
            (Expectation("speed", "decrease", modifier, PERCENT), "(x1 - x2)/x1 >= 30%"),
            (Expectation("speed", "decrease", modifier, PERCENT, negated=True), "(x1 - x2)/x1 <= 30%"),
            (Expectation("speed", "increase", modifier, PERCENT), "(x2 - x1)/x1 >= 30%"),
            (Expectation("speed", "increase", modifier, PERCENT, negated=True), "(x2 - x1)/x1 <= 30%"),
        )
    ),
    (Expectation("speed", "decrease", "less than", FIVE), "x1 - x2 <= 5 m/s and x1 > x2"),
    (Expectation("speed", "decrease", "less than", FIVE, negated=True), "x1 - x2 >= 5 m/s"),
    (Expectation("speed", "decrease", "less than", PERCENT), "(x1 - x2)/x1 <= 30% and x1 > x2"),
    (Expectation("speed", "decrease", "less than", PERCENT, negated=True), "(x1 - x2)/x1 >= 30%"),
    (Expectation("speed", "increase", "less than", FIVE), "x2 - x1 <= 5 m/s and x2 > x1"),
    (Expectation("speed", "increase", "less than", FIVE, negated=True), "x2 - x1 >= 5 m/s"),
    (Expectation("speed", "increase", "less than", PERCENT), "(x2 - x1)/x1 <= 30% and x2 > x1"),
    (Expectation("speed", "increase", "less than", PERCENT, negated=True), "(x2 - x1)/x1 >= 30%"),
    (Expectation("steering", "same"), "|x1 - x2| <= 1.39 degrees"),
    (Expectation("speed", "same"), "|x1 - x2| <= 10% of x1"),
]

BEYOND_TABLE_5 = [
    (Expectation("speed", "decrease", None, PERCENT), "(x1 - x2)/x1 >= 30%"),
    (Expectation("speed", "decrease", None, PERCENT, negated=True), "(x1 - x2)/x1 <= 30%"),
    (Expectation("speed", "decrease", "at most", PERCENT), "(x1 - x2)/x1 <= 30%"),
    (Expectation("speed", "decrease", "at most", PERCENT, negated=True), "(x1 - x2)/x1 >= 30%"),
    (Expectation("speed", "decrease", "exactly", FIVE), "x1 - x2 = 5 m/s"),
    (
        Expectation("speed", "decrease", "between", PERCENT, Quantity(0.4, relative=True)),
        "30% <= (x1 - x2)/x1 <= 40%",
    ),
    (Expectation("speed", "decrease", "between", PERCENT, FIVE), "(x1 - x2)/x1 >= 30% and x1 - x2 <= 5 m/s"),
    (Expectation("steering", "decrease", "at least", PERCENT), "(x1 - x2)/|x1| >= 30%"),
    (Expectation("steering", "same", quantity=FIVE), "|x1 - x2| <= 5 degrees"),
    (Expectation("speed", "same", quantity=PERCENT), "|x1 - x2|/x1 <= 30%"),
    (Expectation("steering", "same", quantity=FIVE, negated=True), "|x1 - x2| >= 5 degrees"),
    (Expectation("steering", "same", negated=True), "|x1 - x2| > 1.39 degrees"),
    (Expectation("steering", "different"), "|x1 - x2| > 1.39 degrees"),
    (Expectation("steering", "different", "at least", FIVE), "|x1 - x2| >= 5 degrees"),
    (Expectation("steering", "different", "less than", FIVE), "|x1 - x2| <= 5 degrees"),
    (Expectation("speed", None, "at most", FIVE, measure="value"), "x2 <= 5 m/s"),
    (Expectation("speed", None, "more than", FIVE, measure="value", negated=True), "x2 <= 5 m/s"),
    (Expectation("speed", "decrease", None, FIVE, measure="value"), "x2 <= 5 m/s"),
    (Expectation("speed", "increase", None, FIVE, measure="value"), "x2 >= 5 m/s"),
    (Expectation("speed", "decrease", None, FIVE, measure="value", negated=True), "x2 >= 5 m/s"),
    (Expectation("speed", None, "at most", PERCENT, measure="value"), "x2/x1 <= 30%"),
    (Expectation("speed", None, "between", FIVE, Quantity(9.0), measure="value"), "5 m/s <= x2 <= 9 m/s"),
    (Expectation("steering", None, "at most", FIVE, measure="value"), "|x2| <= 5 degrees"),
    (Expectation("steering", "decrease", "at least", FIVE, measure="value"), "-x2 >= 5 degrees"),
    (Expectation("steering", "increase", None, FIVE, measure="value"), "x2 >= 5 degrees"),
]


def truth(formula: str, x1: float, x2: float) -> bool:
    """Say whether a formula holds, by Python's own arithmetic."""
    python = re.sub(r"([\d.]+)% of (\S+)", r"\1/100*abs(\2)", formula)
    python = re.sub(r"([\d.]+)%", r"\1/100", python)
    python = re.sub(r" (m/s|degrees)", "", python)
    python = re.sub(r"\|([^|]+)\|", r"abs(\1)", python)
    python = re.sub(r"(?<![<>=])=(?!=)", "==", python)
    return bool(eval(python, {"x1": x1, "x2": x2, "abs": abs}))


@pytest.mark.parametrize(("expectation", "formula"), TABLE_5 + BEYOND_TABLE_5, ids=lambda value: str(value))
def test_formula_and_verdict_agree_with_the_table(expectation: Expectation, formula: str) -> None:
    assert expectation.formula == formula
    # Quarters are exact in binary, so that the border itself is met without rounding.
    for x1 in (0.25, 1.0, 10.0, 20.0):
        for x2 in (
            -10.0,
            -5.25,
            -5.0,
            0.0,
            0.25,
            1.0,
            5.0,
            5.25,
            7.0,
            9.0,
            10.0,
            13.0,
            14.0,
            15.0,
            20.0,
            25.0,
        ):
            assert expectation.holds(x1, x2) == truth(formula, x1, x2), (x1, x2)


def outputs() -> st.SearchStrategy[Output]:
    return st.sampled_from(["speed", "steering", "acceleration", "confidence of the vehicles"])


@st.composite
def expectations(draw: st.DrawFn) -> Expectation:
    """Whatever can be expected."""

    def quantity() -> Quantity:
        return Quantity(draw(st.floats(0, 50)), relative=draw(st.booleans()))

    output = draw(outputs())
    change = draw(st.sampled_from((*get_args(ExpectedChange), None)))
    measure = draw(st.sampled_from(get_args(Measure)))
    modifier = draw(st.sampled_from((*get_args(Modifier), None)))
    given_quantity = quantity() if draw(st.booleans()) or modifier else None
    upper = quantity() if modifier == "between" else None
    try:
        return Expectation(
            output, change, modifier, given_quantity, upper, measure=measure, negated=draw(st.booleans())
        )
    except InputError:
        assume(False)
        raise


predictions = st.one_of(st.floats(-100, 100), st.sampled_from([0.0, 1.0, 5.0, 10.0]))


@given(expectations(), predictions, predictions)
def test_an_expectation_holds_where_its_margin_is_positive(
    expectation: Expectation, before: float, after: float
) -> None:
    try:
        margin = expectation.margin(before, after)
    except NotApplicable:
        with pytest.raises(NotApplicable):
            expectation.holds(before, after)
        return
    assert math.isfinite(margin)
    if margin:
        assert expectation.holds(before, after) == (margin > 0)
    else:
        strict = re.search("[^<>]=|[<>]=", expectation.formula) is None or " and " in expectation.formula
        assert strict or expectation.holds(before, after)


@pytest.mark.parametrize("change", ["increase", "decrease"])
@pytest.mark.parametrize("output", ["speed", "steering"])
@given(before=predictions, after=predictions)
def test_a_direction_is_strict_and_its_margin_is_the_difference(
    output: Output, change: ExpectedChange, before: float, after: float
) -> None:
    expectation = Expectation(output, change)
    sign = 1 if change == "increase" else -1
    assert expectation.margin(before, after) == sign * (after - before)
    assert expectation.holds(before, after) == (after > before if change == "increase" else after < before)
    # Its negation is the exact opposite.
    negated = Expectation(output, change, negated=True)
    assert negated.holds(before, after) != expectation.holds(before, after)


@given(expectations(), st.floats(-50, 50), st.floats(-50, 50))
def test_margin_is_the_distance_to_the_border(expectation: Expectation, before: float, after: float) -> None:
    """Moving the second prediction by less than the margin never changes the verdict."""
    assume(before > 0 or (before < 0 and expectation.output == "steering"))
    margin = expectation.margin(before, after)
    assume(abs(margin) > 1e-6)
    for step in (-0.999 * abs(margin), 0.999 * abs(margin)):
        assert expectation.holds(before, after + step) == expectation.holds(before, after)


def test_margins_are_in_the_unit_of_the_output() -> None:
    assert Expectation("speed", "decrease", "at least", PERCENT).margin(10, 6) == pytest.approx(1.0)
    assert Expectation("steering", "same").margin(-5, -4) == pytest.approx(0.39)
    assert Expectation("steering", "same").margin(-5, -3) == pytest.approx(-0.61)
    assert Expectation("speed", "same").margin(20, 21) == pytest.approx(1.0)
    assert Expectation("speed", None, "at most", FIVE, measure="value").margin(20, 7) == pytest.approx(-2.0)


@pytest.mark.parametrize("change", ["decrease", "increase", "same", "different"])
def test_a_percentage_of_a_speed_in_reverse_says_nothing(change: ExpectedChange) -> None:
    third = Expectation("speed", change, None, PERCENT)
    with pytest.raises(NotApplicable, match="reversing"):
        third.holds(-4.0, -2.0)
    assert Expectation("speed", "decrease", "at least", FIVE).holds(-4.0, -10.0)
    assert isinstance(Expectation("steering", change, None, PERCENT).holds(-4.0, -2.0), bool)


def test_rounding_does_not_decide_on_the_border() -> None:
    third = Expectation("speed", "decrease", "at least", PERCENT)
    tenth = Expectation("speed", "same")
    for before in (0.1, 0.3, 0.7, 1.1, 7.0, 12.3, 33.3):
        assert third.holds(before, before - 0.3 * before)
        assert third.holds(before, before * 0.7)
        assert tenth.holds(before, before * 1.1)
        assert not third.holds(before, before * 0.7 + 1e-6)


def test_percentages_are_of_the_size_of_the_first_prediction() -> None:
    left = Expectation("steering", "decrease", "at least", PERCENT)
    assert left.holds(-10, -13)
    assert not left.holds(-10, -12.9)
    assert left.holds(10, 7)


@pytest.mark.parametrize(
    "expectation",
    [
        Expectation("speed", "decrease", "at least", PERCENT),
        Expectation("steering", "same", quantity=PERCENT),
        Expectation("speed", None, "at most", PERCENT, measure="value"),
        Expectation("speed", "decrease", "between", FIVE, PERCENT),
    ],
)
def test_nothing_has_no_percentage(expectation: Expectation) -> None:
    for judge in (expectation.holds, expectation.margin):
        with pytest.raises(NotApplicable) as reason:
            judge(0.0, 1.0)
        assert reason.value.reason == "the prediction before is 0: it has no percentage change"


def test_default_tolerance_of_a_standing_car_is_nothing() -> None:
    assert Expectation("speed", "same").holds(0.0, 0.0)
    assert not Expectation("speed", "same").holds(0.0, 0.1)


def test_tolerance_is_a_setting_and_a_stated_quantity_is_not() -> None:
    same = Expectation("steering", "same")
    assert not same.holds(0, 2)
    assert same.with_tolerance(Quantity(2.0)).holds(0, 2)
    assert same.with_tolerance(Quantity(2.0)).formula == "|x1 - x2| <= 2 degrees"
    stated = Expectation("steering", "same", quantity=Quantity(1.0))
    assert not stated.with_tolerance(Quantity(2.0)).holds(0, 2)
    # Where no tolerance is used it makes no difference, not even to equality.
    assert Expectation("speed", "decrease").with_tolerance(FIVE) == Expectation("speed", "decrease")
    assert same.with_tolerance(FIVE) != same


def test_equality_is_of_meaning() -> None:
    assert Expectation("speed", "decrease", "at least", FIVE) == Expectation(
        "speed", "decrease", "less than", FIVE, negated=True
    )
    assert Expectation("speed", "decrease", "at most", FIVE) == Expectation(
        "speed", "decrease", "more than", FIVE, negated=True
    )
    assert Expectation("steering", "same") == Expectation("steering", "different", negated=True)
    assert Expectation("speed", "decrease", negated=True) == Expectation(
        "speed", "increase", "at least", Quantity(0.0)
    )
    different = [
        Expectation("speed", "decrease"),
        Expectation("steering", "decrease"),
        Expectation("speed", "increase"),
        Expectation("speed", "decrease", negated=True),
        Expectation("speed", "decrease", "at most", FIVE),
        Expectation("speed", "decrease", "less than", FIVE),
        Expectation("speed", "decrease", "at least", FIVE),
        Expectation("speed", "decrease", "at least", Quantity(5.0, relative=True)),
        Expectation("speed", "same", quantity=FIVE),
        Expectation("speed", "same"),
        Expectation("speed", None, "at most", FIVE, measure="value"),
    ]
    assert len(set(different)) == len(different)


def test_implication() -> None:
    slower = Expectation("speed", "decrease")
    third = Expectation("speed", "decrease", "at least", PERCENT)
    assert third.implies(slower)
    assert not slower.implies(third)
    assert slower.implies(Expectation("speed", "increase", negated=True))
    assert Expectation("speed", "decrease", "less than", PERCENT).implies(slower)
    assert not Expectation("speed", "decrease", "at most", PERCENT).implies(slower)
    assert not third.implies(Expectation("speed", "decrease", "at least", FIVE))
    assert not slower.implies(Expectation("steering", "decrease"))


@given(expectations(), expectations(), predictions, predictions)
def test_what_is_implied_holds(first: Expectation, second: Expectation, before: float, after: float) -> None:
    if first.implies(second):
        try:
            if first.holds(before, after):
                assert second.holds(before, after)
        except NotApplicable:
            pass


@given(expectations())
def test_it_survives_pickle_and_json(expectation: Expectation) -> None:
    assert pickle.loads(pickle.dumps(expectation)) == expectation
    again = Expectation.from_dict(json.loads(json.dumps(expectation.to_dict())))
    assert again == expectation
    assert again.to_dict() == expectation.to_dict()
    assert hash(again) == hash(expectation)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Expectation("colour", "decrease"), "output"),
        (lambda: Expectation("speed", "shrink"), "change"),  # type: ignore[arg-type]
        (lambda: Expectation("speed", "decrease", "about", FIVE), "modifier"),  # type: ignore[arg-type]
        (lambda: Expectation("speed", None), "change"),
        (lambda: Expectation("speed", "decrease", "at least"), "quantity"),
        (lambda: Expectation("speed", "decrease", "between", FIVE), "upper"),
        (lambda: Expectation("speed", "decrease", "between", FIVE, Quantity(2.0)), "upper"),
        (lambda: Expectation("speed", "decrease", "at least", FIVE, FIVE), "upper"),
        (lambda: Expectation("speed", "decrease", "exactly", FIVE, negated=True), "negat"),
        (lambda: Expectation("speed", None, None, FIVE, measure="value"), "modifier"),
        (lambda: Expectation("speed", "decrease", "at least", FIVE, measure="value"), "at most"),
        (lambda: Expectation("speed", "same", "at least", FIVE), "different"),
        (lambda: Expectation("speed", "decrease", "less than", Quantity(0.0)), "less than 0"),
        (lambda: Quantity(-1.0), "negative"),
        (lambda: Quantity(math.nan), "finite"),
        (lambda: Expectation.from_dict({"output": "speed"}), "change"),
        (lambda: Expectation.from_dict({"output": "speed", "change": "decrease", "colour": 1}), "colour"),
        (lambda: Expectation.from_dict({"output": "speed", "change": "same", "quantity": 3}), "quantity"),
        (
            lambda: Expectation.from_dict({"output": "speed", "change": "same", "tolerance": {"a": 1}}),
            "tolerance",
        ),
    ],
)
def test_what_means_nothing_is_refused(build: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build()  # type: ignore[operator]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_predictions_must_be_numbers(bad: float) -> None:
    for pair in ((bad, 1.0), (1.0, bad)):
        with pytest.raises(InputError, match="finite"):
            Expectation("speed", "decrease").holds(*pair)
