"""What the tool says with a confidence, and whether it is true of clusters that are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np
from scipy.stats import binomtest

from roadworthy.reliability import Accuracy, DistanceBounds, Pairs, bound_distance
from roadworthy.selftest import simulating
from roadworthy.selftest.simulating import SIZES, STATED, Counts, KnownClusters, Simulated, Statement, at_most
from roadworthy.statistics import median_interval, student_interval

_WORSE = 0.05  # of what passed before fails after an update
_FLICKER, _HARDLY = 0.1, 0.1  # of answers change at random; up to this visual change no others do
_SHARES = (0.6, 0.1, 0.2, 0.1)  # how often a sample of a domain tries each change; the first two can fail
LARGEST = 1 / len(_SHARES) / min(_SHARES)
"""How much a try of such a sample can count."""


TRUTHS = tuple(
    KnownClusters(*one) for one in product((5, 10, 20, 60), (0.0, 0.1, 0.3), (0.0, 0.005, 0.03, 0.17))
)
"""Everything that is simulated."""


def drawn_weighted(truth: KnownClusters, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """Return the sizes of clusters and what failing tries count, both in sixths of the largest weight."""
    sizes = rng.integers(*SIZES, size=truth.clusters, endpoint=True)
    chances = replace(truth, rate=2 * truth.rate).chances(rng)
    often, seldom = rng.binomial(rng.multinomial(sizes, _SHARES).T[:2], chances)
    return 6 * sizes, often + 6 * seldom


def _interval(truth: KnownClusters, rng: np.random.Generator) -> bool:
    sizes, failing = truth.drawn(rng)
    side = (1 + STATED) / 2
    above = at_most(1 - truth.rate, sizes, sizes - failing, side)
    return above and at_most(truth.rate, sizes, failing, side)


def _weighted_upper(truth: KnownClusters, rng: np.random.Generator) -> bool:
    return at_most(truth.rate / LARGEST, *drawn_weighted(truth, rng), STATED)


def _weighted_lower(truth: KnownClusters, rng: np.random.Generator) -> bool:
    sizes, failing = drawn_weighted(truth, rng)
    return at_most(1 - truth.rate / LARGEST, sizes, sizes - failing, STATED)


def _mean_upper(truth: KnownClusters, rng: np.random.Generator) -> bool:
    sizes, failing = truth.drawn(rng)
    return _mean_at_most(truth.rate, sizes, failing, STATED)


def _mean_lower(truth: KnownClusters, rng: np.random.Generator) -> bool:
    sizes, failing = truth.drawn(rng)
    return _mean_at_most(-truth.rate, sizes, -failing, STATED)


def _mean_at_most(mean: float, sizes: Counts, sums: Counts, stated: float) -> bool:
    """Whether a mean of numbers from -1 to 1 is within its upper bound: that of a rate, on another scale."""
    return at_most((1 + mean) / 2, 2 * sizes, sizes + sums, stated)


def _distance(truth: KnownClusters, rng: np.random.Generator) -> DistanceBounds:
    """Bound how much less alike answers to changed images are than those to hardly changed ones."""
    sizes = rng.integers(*SIZES, size=truth.clusters, endpoint=True)
    clusters = np.repeat(np.arange(truth.clusters), sizes)
    change, lost = rng.random((2, len(clusters)))
    lost = (change > _HARDLY) & (lost < truth.chances(rng)[clusters])
    same = ~lost & (rng.random(len(clusters)) >= _FLICKER)
    pairs = Pairs(np.arange(len(clusters)), change, same.astype(float), cluster=clusters)
    return bound_distance(pairs, "prediction", Accuracy(), confidence=STATED, seed=int(rng.integers(2**32)))


def _true_distance(truth: KnownClusters) -> float:
    return (1 - _FLICKER) * (1 - _HARDLY) * truth.rate


def _distance_upper(truth: KnownClusters, rng: np.random.Generator) -> bool:
    return _distance(truth, rng).upper >= _true_distance(truth)


def _distance_lower(truth: KnownClusters, rng: np.random.Generator) -> bool:
    return _distance(truth, rng).lower <= _true_distance(truth)


def _unchanged(truth: KnownClusters, rng: np.random.Generator) -> bool:
    sizes, before, after = truth.drawn_twice(rng)
    worse, better = int((after > before).sum()), int((after < before).sum())
    signs = binomtest(worse, worse + better).pvalue if worse + better else 1.0
    return signs > (1 - STATED) / 2 and _within(0.0, sizes, after - before)


def _difference(truth: KnownClusters, rng: np.random.Generator) -> bool:
    sizes, before = truth.drawn(rng)
    return _within(_WORSE * (1 - truth.rate), sizes, rng.binomial(sizes - before, _WORSE))


def _outvoted(truth: KnownClusters, rng: np.random.Generator) -> bool:
    """One case more fails in nine clusters of ten, and nine fewer in the tenth: no difference."""
    sizes = np.full(truth.clusters, SIZES[0])
    return _within(0.0, sizes, np.where(rng.random(truth.clusters) < 0.1, -9, 1))


def _within(difference: float, sizes: Counts, changes: Counts) -> bool:
    """Whether a difference is in its interval; that shares what is stated with the sign test."""
    side = 1 - (1 - STATED) / 4
    return _mean_at_most(difference, sizes, changes, side) and _mean_at_most(
        -difference, sizes, -changes, side
    )


def _median(truth: KnownClusters, rng: np.random.Generator) -> bool:
    _, around = median_interval(rng.lognormal(size=truth.clusters), confidence=STATED)
    return around is None or around.lower <= 1.0 <= around.upper


def _student(truth: KnownClusters, rng: np.random.Generator) -> bool:
    low, high = student_interval(rng.normal(size=truth.clusters), confidence=STATED)
    return low <= 0.0 <= high


STATEMENTS: Mapping[str, Statement] = {
    "upper bound of a rate": simulating.STATEMENTS["upper bound of a rate"],
    "lower bound of a rate": simulating.STATEMENTS["lower bound of a rate"],
    "interval of a rate": _interval,
    "upper bound of a weighted rate": _weighted_upper,
    "lower bound of a weighted rate": _weighted_lower,
    "a rate decided early": simulating.STATEMENTS["a rate decided early"],
    "upper bound of a mean loss": _mean_upper,
    "lower bound of a mean loss": _mean_lower,
    "upper bound of a distance": _distance_upper,
    "lower bound of a distance": _distance_lower,
    "test that nothing changed": _unchanged,
    "interval of a difference": _difference,
    "interval of a skewed difference": _outvoted,
    "interval of a median": _median,
    "Student's interval": _student,
}
"""What the tool says, and whether it is true of clusters that are drawn."""


def simulate(
    statement: str, repetitions: int, truths: Iterable[KnownClusters] = TRUTHS, *, seed: int = 0
) -> Iterator[Simulated]:
    """Yield how often a statement is true, for all that may be true."""
    yield from simulating.simulate(statement, repetitions, truths, seed=seed, statements=STATEMENTS)
