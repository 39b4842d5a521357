"""Simulations with known truth: how often what the tool says about a rate is true.

``benchmarks/simulating.py`` has the same of everything else that is said with a confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from roadworthy.seeding import rng_for
from roadworthy.statistics import ClusteredRate, SequentialRate

STATED = 0.95
"""The confidence of everything that is simulated."""
LEAST = 0.93
"""How often it must be true at least: what is stated, less what a simulation leaves open."""
SIZES = (10, 50)
"""How many cases a cluster has, at least and at most."""

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
        sizes = rng.integers(*SIZES, size=self.clusters, endpoint=True)
        chances = self.chances(rng)
        before, after = (rng.binomial(sizes, chances, self.clusters) for _ in range(2))
        return sizes, before, after

    def chances(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return how likely a case of each cluster fails."""
        if not self.correlation or not self.rate:
            return np.full(self.clusters, self.rate)
        spread = (1 - self.correlation) / self.correlation
        return rng.beta(self.rate * spread, (1 - self.rate) * spread, self.clusters)


def _lower(truth: KnownClusters, rng: np.random.Generator) -> bool:
    sizes, failing = truth.drawn(rng)
    return at_most(1 - truth.rate, sizes, sizes - failing, STATED)


def at_most(rate: float, sizes: Counts, failing: Counts, stated: float) -> bool:
    """Whether a rate is within its upper bound; of none and of all nothing is stated."""
    return not 0 < rate < 1 or not ClusteredRate.of(sizes, failing).shows_at_most(rate, stated)


def _early(truth: KnownClusters, rng: np.random.Generator) -> bool:
    watched = SequentialRate(truth.rate, STATED)
    for cases, failures in zip(*truth.drawn(rng), strict=True):
        watched.add(cases=int(cases), failures=int(failures))
        if watched.shows_at_most or watched.shows_at_least:
            return False
    return True


Statement: TypeAlias = Callable[[KnownClusters, np.random.Generator], bool]
"""Whether what the tool says is true of clusters that are drawn."""

STATEMENTS: Mapping[str, Statement] = {
    "upper bound of a rate": lambda truth, rng: at_most(truth.rate, *truth.drawn(rng), STATED),
    "lower bound of a rate": _lower,
    "a rate decided early": _early,
}
"""What the tool says of a rate."""


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
    statement: str,
    repetitions: int,
    truths: Iterable[KnownClusters],
    *,
    seed: int = 0,
    statements: Mapping[str, Statement] = STATEMENTS,
) -> Iterator[Simulated]:
    """Yield how often a statement is true, for all that may be true.

    Args:
        statement: One of `statements`.
        repetitions: How often clusters are drawn.
        truths: What may be true.
        seed: The same seed draws the same clusters.
        statements: All that can be simulated, by name.
    """
    holds = statements[statement]
    for truth in truths:
        rng = rng_for(seed, statement, *map(str, (truth.clusters, truth.correlation, truth.rate)))
        yield Simulated(statement, truth, sum(holds(truth, rng) for _ in range(repetitions)) / repetitions)
