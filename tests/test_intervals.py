"""Intervals of means, against the closed form for many values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from roadworthy.intervals import bootstrap_mean


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_a_bootstrap_of_many_values_is_as_wide_as_the_normal_distribution_says(confidence: float) -> None:
    values = np.random.default_rng(1).normal(10, 2, 2000)
    low, high = bootstrap_mean(values, np.random.default_rng(2), confidence=confidence)
    half = norm.ppf((1 + confidence) / 2) * values.std() / np.sqrt(2000)
    assert (low + high) / 2 == pytest.approx(values.mean(), abs=0.1 * half)
    assert (high - low) / 2 == pytest.approx(half, rel=0.08)


def test_the_generator_draws_the_resamples() -> None:
    values = np.arange(20.0)
    one, same, other = (bootstrap_mean(values, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == same != other
