"""The statistics of comparisons against closed forms, scipy and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from roadworthy.errors import InputError
from roadworthy.runs.comparison.statistics import holm, mcnemar, median_interval, rate_interval

COUNTS = st.integers(0, 300)


@given(COUNTS, COUNTS)
def test_mcnemar_is_the_binomial_test_of_the_cases_that_changed(broken: int, fixed: int) -> None:
    expected = binomtest(broken, broken + fixed, 0.5).pvalue if broken + fixed else 1.0
    assert mcnemar(broken, fixed) == pytest.approx(expected, rel=1e-9)
    assert mcnemar(broken, fixed) == mcnemar(fixed, broken)


@pytest.mark.parametrize("number", [1, 5, 6, 20])
def test_mcnemar_with_nothing_fixed_is_a_power_of_two(number: int) -> None:
    assert mcnemar(number, 0) == min(1.0, 2.0 ** (1 - number))


def test_mcnemar_of_a_million_cases_that_changed() -> None:
    # The normal approximation: 1,000,000 changed, 1000 more broken than expected is two standard deviations.
    two_sided = math.erfc(2 / math.sqrt(2))
    assert mcnemar(501_000, 499_000) == pytest.approx(two_sided, rel=0.01)


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(InputError, match="0 or more, got -1 broken and 0 fixed"):
        mcnemar(-1, 0)


def test_holm_by_hand() -> None:
    # Holm 1979: sorted p times n, n - 1, …, never falling, at most 1.
    assert holm([0.04, 0.01, 0.9, 0.03]) == pytest.approx([0.09, 0.04, 0.9, 0.09])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_keeps_the_order_and_lies_between_p_and_bonferroni(values: list[float]) -> None:
    adjusted = holm(values)
    for p, q in zip(values, adjusted, strict=True):
        assert p <= q <= min(1.0, len(values) * p) + 1e-12
    for place in np.argsort(values)[:-1]:
        larger = [q for p, q in zip(values, adjusted, strict=True) if p >= values[place]]
        assert adjusted[place] <= min(larger) + 1e-12


def test_rate_interval_is_as_wide_as_the_closed_form_says() -> None:
    # One case per frame: the difference is a mean of n values in {-1, 0, 1} with known variance.
    n, broken, fixed = 2000, 160, 40
    low, high = rate_interval(
        [1, 1, 1],
        [-1, 0, 1],
        [fixed, n - broken - fixed, broken],
        rng=np.random.default_rng(1),
        resamples=8000,
    )
    mean = (broken - fixed) / n
    deviation = math.sqrt(((broken + fixed) / n - mean**2) / n)
    assert low == pytest.approx(mean - 1.96 * deviation, abs=0.1 * deviation)
    assert high == pytest.approx(mean + 1.96 * deviation, abs=0.1 * deviation)


def test_rate_interval_covers_the_truth_though_cases_of_a_frame_go_together() -> None:
    rng = np.random.default_rng(5)
    covered, naive = 0, 0
    for _ in range(300):
        # 60 frames of 8 cases; in a tenth of the frames all cases break together: the rate is 0.1.
        whole = rng.binomial(60, 0.1)
        low, high = rate_interval([8, 8], [0, 8], [60 - whole, whole], rng=rng, resamples=500)
        covered += low <= 0.1 <= high
        low, high = rate_interval([1, 1], [0, 1], [8 * (60 - whole), 8 * whole], rng=rng, resamples=500)
        naive += low <= 0.1 <= high
    assert covered / 300 > 0.9
    assert naive / 300 < 0.7  # what taking cases for independent would give


def test_rate_interval_does_not_claim_certainty_when_nothing_changed() -> None:
    low, high = rate_interval([1], [0], [100], rng=np.random.default_rng(0))
    # No change in 100 frames: 1 - 0.025^(1/100) on either side.
    assert (low, high) == pytest.approx((-(1 - 0.025 ** (1 / 100)), 1 - 0.025 ** (1 / 100)))


def test_rate_interval_is_the_same_for_the_same_seed() -> None:
    first, second = (rate_interval([1, 2], [0, 1], [50, 9], rng=np.random.default_rng(3)) for _ in range(2))
    assert first == second


def test_rate_interval_needs_cases() -> None:
    with pytest.raises(InputError, match="at least one case"):
        rate_interval([], [], [], rng=np.random.default_rng(0))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_median_interval_holds_the_median_of_numpy(values: list[float]) -> None:
    middle, interval = median_interval(values)
    assert middle == pytest.approx(np.median(values))
    assert (interval is None) == (len(values) < 6)
    if interval is not None:
        assert interval[0] <= middle <= interval[1]
        assert set(interval) <= {float(one) for one in values}


@pytest.mark.parametrize("number", [6, 15, 40])
def test_median_interval_covers_as_often_as_it_says(number: int) -> None:
    rng = np.random.default_rng(number)
    hits = 0
    for _ in range(1000):
        _, interval = median_interval(rng.exponential(size=number))
        assert interval is not None
        hits += interval[0] <= math.log(2) <= interval[1]
    assert hits >= 935  # at least 95%, less three standard deviations


def test_median_interval_of_infinite_values() -> None:
    assert median_interval([-math.inf, math.inf]) == (0.0, None)
    middle, interval = median_interval([-math.inf] * 10)
    assert (middle, interval) == (-math.inf, (-math.inf, -math.inf))
