"""Simulations with known truth, held against what the tool prints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from roadworthy.selftest import simulating
from roadworthy.selftest.simulating import STATED
from roadworthy.statistics import mean_bounds, paired_difference


@pytest.mark.parametrize("seed", range(12))
def test_what_is_simulated_is_what_the_tool_prints(seed: int) -> None:
    """Simulations ask whether a bound holds without computing it; here it is computed as for a user."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(10, 50, 8)
    before = rng.binomial(sizes, 0.3)
    after = rng.binomial(sizes, 0.3 + 0.3 * (seed % 3))
    changes = after - before
    printed = paired_difference(sizes, changes, np.ones(8, int), confidence=STATED)
    for difference in (-0.6, -0.2, 0.0, 0.2, 0.6):
        low, high = printed.interval
        assert simulating._within(difference, sizes, changes) == (low <= difference <= high)
        bounds = mean_bounds(changes / sizes, least=-1, most=1, confidence=STATED, weights=sizes)
        assert simulating._mean_at_most(difference, sizes, changes, STATED) == (difference <= bounds.upper)
    worse, better = int((changes > 0).sum()), int((changes < 0).sum())
    signs = binomtest(worse, worse + better).pvalue if worse + better else 1.0
    ours = signs > (1 - STATED) / 2 and simulating._within(0.0, sizes, changes)
    assert ours == (printed.p > 1 - STATED)
