from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import InputError
from roadworthy.training.mutants.operators import SearchRange
from roadworthy.training.mutants.training import ParameterSearch

RANGES = st.sampled_from(
    [
        SearchRange(0, 100, 5),
        SearchRange(0, 99, 5),
        SearchRange(30, 1, 1, whole=True),
        SearchRange(1e-3, 1e-4, 1e-4),
    ]
)


@given(values=RANGES, border=st.floats(0, 1.2), count=st.integers(1, 6))
def test_the_border_is_found_within_a_step(values: SearchRange, border: float, count: int) -> None:
    search = ParameterSearch(values)
    width = abs(values.aggressive - values.harmless)

    def strength(value: float) -> float:
        return abs(value - values.harmless) / width

    rounds = 0
    while proposed := search.proposals(count):
        assert 1 <= len(proposed) <= count
        assert not set(proposed) & set(search.known)
        rounds += 1
        for value in proposed:
            search.tell(value, crashes=strength(value) > border)
    best = 0.0 if search.best is None else strength(search.best)
    assert best <= border
    if border < 1:
        assert search.crashing is not None
        assert strength(search.crashing) > border
        assert (strength(search.crashing) - best) * width <= values.step * (1 + 1e-6)
    else:
        assert search.best == values.aggressive
    # Each round leaves one of so many parts of the interval, and the first may spend a value on its end.
    assert rounds <= 2 + math.log(width / values.step) / math.log(count + 1) + 1


def test_what_lives_beyond_a_crash_is_not_taken() -> None:
    search = ParameterSearch(SearchRange(0, 100, 50))
    for value in (25.0, 50.0, 75.0):
        search.tell(value, crashes=value == 50.0)
    assert search.best == 25.0
    assert search.crashing == 50.0
    assert not search.proposals(1)


def test_a_range_of_which_nothing_lives_has_no_best() -> None:
    search = ParameterSearch(SearchRange(0, 100, 50))
    search.tell(50.0, crashes=True)
    search.tell(100.0, crashes=True)
    assert search.best is None
    assert search.crashing == 50.0


def test_what_is_outside_is_refused() -> None:
    search = ParameterSearch(SearchRange(30, 1, 1, whole=True))
    with pytest.raises(InputError, match="outside the range from 1 to 30"):
        search.tell(31.0, crashes=False)
    with pytest.raises(InputError, match="values that are asked for must be 1 or more"):
        search.proposals(0)
