"""Simulations with known truth: how often what the tool says about a rate, mean or difference is true."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from roadworthy.reliability import Accuracy, DistanceBounds, Pairs, bound_distance
from roadworthy.seeding import rng_for
from roadworthy.statistics import ClusteredRate, SequentialRate, median_interval, student_interval

STATED = 0.95
"""The confidence of everything that is simulated."""
LEAST = 0.93
"""How often it must be true at least: what is stated, less what a simulation leaves open."""
_SIZES = (10, 50)  # cases of a cluster
_WORSE = 0.05  # of what passed before fails after an update
_FLICKER, _HARDLY = 0.1, 0.1  # of answers change at random; up to this visual change no others do
_SHARES = (0.6, 0.1, 0.2, 0.1)  # how often a sample of a domain tries each change; the first two can fail
LARGEST = 1 / len(_SHARES) / min(_SHARES)
"""How much a try of such a sample can count."""

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class KnownClusters:
    """What is true of the clusters that are drawn.

    Attributes:
        clusters: How many there are.
        correlation: How alike the cases of one are.
        rate: How many cases fail.
    """

    clusters: int
    correlation: float
    rate: float

    def drawn(self, rng: np.random.Generator) -> tuple[Counts, Counts]:
        """Return the sizes of clusters and how many of their cases fail: a beta-binomial distribution."""
        sizes, failing, _ = self.drawn_twice(rng)
        return sizes, failing

    def drawn_twice(self, rng: np.random.Generator) -> tuple[Counts, Counts, Counts]:
        """Return the sizes of clusters and how many of their cases fail, before and after nothing changed."""
        sizes = rng.integers(*_SIZES, size=self.clusters, endpoint=True)
        chances = self._chances(rng)
        before, after = (rng.binomial(sizes, chances, self.clusters) for _ in range(2))
        return sizes, before, after

    def drawn_weighted(self, rng: np.random.Generator) -> tuple[Counts, Counts]:
        """Return the sizes of clusters and what failing tries count, both in sixths of the largest weight."""
        sizes = rng.integers(*_SIZES, size=self.clusters, endpoint=True)
        chances = replace(self, rate=2 * self.rate)._chances(rng)
        often, seldom = rng.binomial(rng.multinomial(sizes, _SHARES).T[:2], chances)
        return 6 * sizes, often + 6 * seldom

    def _chances(self, rng: np.random.Generator) -> NDArray[np.float64]:
        if not self.correlation or not self.rate:
            return np.full(self.clusters, self.rate)
        spread = (1 - self.correlation) / self.correlation
        return rng.beta(self.rate * spread, (1 - self.rate) * spread, self.clusters)


TRUTHS = tuple(
    KnownClusters(*one) for one in product((5, 10, 20, 60), (0.0, 0.1, 0.3), (0.0, 0.005, 0.03, 0.17))
)
"""Everything that is simulated."""


def _upper(truth: KnownClusters, rng: np.random.Generator) -> bool:
    return _at_most(truth.rate, *truth.drawn(rng), STATED)


def _lower(truth: KnownClusters, rng: np.random.Generator) -> bool:
    sizes, failing = truth.drawn(rng)
    return _at_most(1 - truth.rate, sizes, sizes - failing, STATED)


def _interval(truth: KnownClusters, rng: np.random.Generator) -> bool:
    sizes, failing = truth.drawn(rng)
    side = (1 + STATED) / 2
    above = _at_most(1 - truth.rate, sizes, sizes - failing, side)
    return above and _at_most(truth.rate, sizes, failing, side)


def _at_most(rate: float, sizes: Counts, failing: Counts, stated: float) -> bool:
    return not 0 < rate < 1 or not ClusteredRate.of(sizes, failing).shows_at_most(rate, stated)


def _weighted_upper(truth: KnownClusters, rng: np.random.Generator) -> bool:
    return _at_most(truth.rate / LARGEST, *truth.drawn_weighted(rng), STATED)


def _weighted_lower(truth: KnownClusters, rng: np.random.Generator) -> bool:
    sizes, failing = truth.drawn_weighted(rng)
    return _at_most(1 - truth.rate / LARGEST, sizes, sizes - failing, STATED)


def _early(truth: KnownClusters, rng: np.random.Generator) -> bool:
    watched = SequentialRate(truth.rate, STATED)
    for cases, failures in zip(*truth.drawn(rng), strict=True):
        watched.add(cases=int(cases), failures=int(failures))
        if watched.shows_at_most or watched.shows_at_least:
            return False
    return True


def _mean_upper(truth: KnownClusters, rng: np.random.Generator) -> bool:
    sizes, failing = truth.drawn(rng)
    return _mean_at_most(truth.rate, sizes, failing, STATED)


def _mean_lower(truth: KnownClusters, rng: np.random.Generator) -> bool:
    sizes, failing = truth.drawn(rng)
    return _mean_at_most(-truth.rate, sizes, -failing, STATED)


def _mean_at_most(mean: float, sizes: Counts, sums: Counts, stated: float) -> bool:
    """Whether a mean of numbers from -1 to 1 is within its upper bound: that of a rate, on another scale."""
    return _at_most((1 + mean) / 2, 2 * sizes, sizes + sums, stated)


def _distance(truth: KnownClusters, rng: np.random.Generator) -> DistanceBounds:
    """Bound how much less alike answers to changed images are than those to hardly changed ones."""
    sizes = rng.integers(*_SIZES, size=truth.clusters, endpoint=True)
    clusters = np.repeat(np.arange(truth.clusters), sizes)
    change, lost = rng.random((2, len(clusters)))
    lost = (change > _HARDLY) & (lost < truth._chances(rng)[clusters])
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
    sizes = np.full(truth.clusters, _SIZES[0])
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


STATEMENTS: Mapping[str, Callable[[KnownClusters, np.random.Generator], bool]] = {
    "upper bound of a rate": _upper,
    "lower bound of a rate": _lower,
    "interval of a rate": _interval,
    "upper bound of a weighted rate": _weighted_upper,
    "lower bound of a weighted rate": _weighted_lower,
    "a rate decided early": _early,
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


@dataclass(frozen=True)
class Simulated:
    """How often a statement was true.

    Attributes:
        statement: What the tool says.
        truth: What was true.
        true: In which share of the repetitions it was so.
    """

    statement: str
    truth: KnownClusters
    true: float


def simulate(
    statement: str, repetitions: int, truths: Iterable[KnownClusters] = TRUTHS, *, seed: int = 0
) -> Iterator[Simulated]:
    """Yield how often a statement is true, for all that may be true.

    Args:
        statement: One of `STATEMENTS`.
        repetitions: How often clusters are drawn.
        truths: What may be true.
        seed: The same seed draws the same clusters.
    """
    holds = STATEMENTS[statement]
    for truth in truths:
        rng = rng_for(seed, statement, *map(str, (truth.clusters, truth.correlation, truth.rate)))
        yield Simulated(statement, truth, sum(holds(truth, rng) for _ in range(repetitions)) / repetitions)
