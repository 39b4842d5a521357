"""Simulations with known truth, held against what the tool prints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.simulating import LARGEST, STATEMENTS, drawn_weighted, simulate
from scipy.stats import binomtest
from tests.kept import as_kept

from benchmarks import simulating
from roadworthy.selftest.simulating import STATED, KnownClusters
from roadworthy.statistics import mean_bounds
from roadworthy.statistics.bounds import paired_difference


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


def test_what_is_simulated_is_as_kept() -> None:
    """Every statement, of clusters that are alike and not, with failures and without."""
    truths = [KnownClusters(*one) for one in ((5, 0.3, 0.17), (10, 0.0, 0.0), (20, 0.1, 0.03))]
    lines = []
    for name in STATEMENTS:
        found = simulate(name, 4 if "distance" in name else 25, truths, seed=3)
        lines.append(f"{name}: {[one.true for one in found]}")
    as_kept(Path(__file__).with_name("kept") / "simulated.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("statement", "times"),
    [
        ("upper bound of a rate", 0.25),
        ("lower bound of a rate", 4),
        ("interval of a rate", 0.25),
        ("interval of a rate", 4),
        ("a rate decided early", 0.25),
        ("a rate decided early", 4),
        ("upper bound of a mean loss", 0.25),
        ("lower bound of a mean loss", 4),
    ],
)
def test_a_wrong_statement_is_seen(statement: str, times: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters fail more or less often than is said: the bounds do not hold, on the right side."""
    drawn = KnownClusters.drawn
    monkeypatch.setattr(
        KnownClusters, "drawn", lambda truth, rng: drawn(replace(truth, rate=truth.rate * times), rng)
    )
    (found,) = simulate(statement, 10, [KnownClusters(60, 0.0, 0.17)])
    assert found.true < 0.5


def test_what_is_drawn_is_what_is_said_to_be_true() -> None:
    rng = np.random.default_rng(0)
    truth = KnownClusters(40_000, 0.3, 0.17)
    sizes, before, after = truth.drawn_twice(rng)
    assert (sizes.min(), sizes.max()) == (10, 50)
    shares = before / sizes
    assert shares.mean() == pytest.approx(0.17, abs=0.005)
    # Cases of a cluster are alike: two of them fail together more often than two others.
    together = (before * (before - 1) / (sizes * (sizes - 1))).mean()
    assert (together - 0.17**2) / (0.17 * 0.83) == pytest.approx(0.3, abs=0.01)
    assert np.corrcoef(shares, after / sizes)[0, 1] > 0.8
    assert not np.array_equal(before, after)
    again = truth.drawn(np.random.default_rng(0))
    assert np.array_equal(again[0], sizes)
    assert np.array_equal(again[1], before)
    # Half of what is asked fails twice as often, and the largest weight is 2.5.
    counted, failing = drawn_weighted(truth, rng)
    assert pytest.approx(2.5) == LARGEST
    assert (counted.min(), counted.max()) == (60, 300)
    assert failing.sum() / counted.sum() * LARGEST == pytest.approx(0.17, abs=0.01)
    for plain in (KnownClusters(50_000, 0.0, 0.17), KnownClusters(50_000, 0.3, 0.0)):
        sizes, failing = plain.drawn(rng)
        assert failing.sum() / sizes.sum() == pytest.approx(plain.rate, abs=0.002)


def test_the_true_distance_is_what_bounds_are_about() -> None:
    """With so many clusters, the bounds of a distance lie around what is true."""
    truth = KnownClusters(120, 0.0, 0.4)
    found = simulating._distance(truth, np.random.default_rng(0))
    true = simulating._true_distance(truth)
    assert true == pytest.approx(0.9 * 0.9 * 0.4)
    assert found.lower < true < found.upper
    assert found.upper - found.lower < 0.2
