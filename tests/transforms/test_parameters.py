"""Values at an amount: short, in order, and exact where they have to be."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.transforms.transform import ImageTransform, Parameter, declared_parameters, number, shortened

ENDS = st.sampled_from([(0, 1), (1, 6), (1, 0), (0, -1), (100, 1), (0.05, 12345.678), (0, 0.99996), (3, 2.5)])


def parameter(identity: float, strongest: float) -> Parameter:
    low, high = sorted((identity, strongest))
    return Parameter(
        "strength", "How much.", strongest, low=low, high=high, identity=identity, strongest=strongest
    )


@pytest.mark.parametrize(
    ("identity", "strongest", "amount", "value"),
    [
        (0, 1, 2 / 3, 0.6667),
        (1, 0, 1 / 3, 0.6667),
        (1, 6, 1 / 3, 2.667),
        (0, 100, 1 / 3, 33.33),
        (0, 0.6, 0.3, 0.18),
        (0, 30, 1e-9, 3e-8),
        (0, 0.123456, 1.0, 0.123456),
        (0.123456, 1, 0.0, 0.123456),
    ],
)
def test_values_are_short(identity: float, strongest: float, amount: float, value: float) -> None:
    assert parameter(identity, strongest).at(amount) == value


@given(ends=ENDS, amounts=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted))
def test_values_keep_their_order_and_stay_between_the_ends(
    ends: tuple[float, float], amounts: list[float]
) -> None:
    one = parameter(*ends)
    less, more = (abs(one.at(amount) - ends[0]) for amount in amounts)
    assert less <= more
    for amount in amounts:
        value = one.checked("mine", one.at(amount))  # raises where it is out of range
        exact = ends[0] * (1 - amount) + ends[1] * amount
        assert value == pytest.approx(exact, abs=1e-3 * abs(ends[1] - ends[0]) * amount + 1e-14)


def test_a_whole_number_stays_one() -> None:
    quality = Parameter("quality", "Of the file.", 50, "integer", low=1, high=100, identity=100, strongest=1)
    assert [quality.at(amount) for amount in (0, 1 / 3, 1)] == [100, 67, 1]


@given(value=st.floats(-1e9, 1e9))
def test_four_digits_are_within_a_thousandth(value: float) -> None:
    assert shortened(value) == pytest.approx(value, rel=5.1e-4)
    assert shortened(shortened(value)) == shortened(value)


def test_a_description_is_the_one_given_or_stands_in_the_docstring_of_the_class_or_its_base() -> None:
    @dataclass(frozen=True)
    class Base(ImageTransform):
        """What has a width.

        Attributes:
            width: How wide,
                in pixels.
        """

        width: float = number(1.0, low=0, high=9)

    @dataclass(frozen=True)
    class Wiper(Base):
        """A wiper.

        Attributes:
            angle: How far it leans.
            speed: Never shown.
        """

        angle: float = number(1.0, low=0, high=9)
        speed: float = number(1.0, "How fast.", low=0, high=9)
        silent: float = number(1.0, low=0, high=9)

    told = {one.name: one.description for one in declared_parameters(Wiper)}
    assert told == {
        "width": "How wide, in pixels.",
        "angle": "How far it leans.",
        "speed": "How fast.",
        "silent": "",
    }
