"""When a rate is decided: by a test that may be looked at after every cluster, and after how many."""

from __future__ import annotations

import math

import numpy as np

from roadworthy.errors import InputError, check_number
from roadworthy.statistics.bounds import FEWEST_CLUSTERS, ClusteredRate, Numbers, quantile

# Shares of what may be staked; large ones are quick where nothing fails, small ones where some do.
_STAKES = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99])


class SequentialRate:
    """Whether a failure rate is below or above a limit, looked at after every cluster: a test by betting.

    Whoever bets on clusters failing less often, at odds that are fair if the rate is the limit, multiplies
    their money by 1/(1 - confidence) with at most the probability that the confidence leaves, whenever they
    stop. Limits at which they would have are ruled out, which gives bounds that hold at every look: a
    confidence sequence (Waudby-Smith and Ramdas, J. R. Statist. Soc. B 86, 2024). Bets are a mixture of fixed
    stakes. Clusters must come in random order, and their size must say nothing about how many cases fail.

    Args:
        limit: The rate that is asked about.
        confidence: Of each of the two answers.

    Example:
        >>> watched = SequentialRate(0.05)
        >>> for drive in range(90):
        ...     watched.add(cases=30, failures=0)
        >>> watched.shows_at_most, watched.shows_at_least, round(watched.upper(), 3)
        (True, False, 0.045)
    """

    def __init__(self, limit: float, confidence: float = 0.95) -> None:
        check_number("confidence", confidence, above=0, below=1)
        self.limit = limit
        self._needed = -math.log(1 - confidence)
        self._clusters: list[tuple[float, float]] = []
        self._largest = 0
        # What the bets have grown to, as logarithms: on failing less often than at the limit, and more.
        self._grown = np.zeros((2, len(_STAKES)))

    def add(self, *, cases: int, failures: int) -> None:
        """Take in a cluster."""
        self._largest = max(self._largest, cases)
        self._clusters.append((cases / self._largest, failures / self._largest))
        if 0 < self.limit < 1:
            size, failing = (np.array([part]) for part in self._clusters[-1])
            for side in (0, 1):
                self._grown[side] += _growth(size, failing, self.limit, side)

    @property
    def shows_at_most(self) -> bool:
        """Whether the rate is within the limit."""
        return _mixture(self._grown[0]) >= self._needed

    @property
    def shows_at_least(self) -> bool:
        """Whether the rate is beyond the limit."""
        return _mixture(self._grown[1]) >= self._needed

    def upper(self) -> float:
        """Return the smallest rate above which all are ruled out."""
        return self._end(0)

    def lower(self) -> float:
        """Return the largest rate below which all are ruled out."""
        return self._end(1)

    def _end(self, side: int) -> float:
        columns = zip(*self._clusters, strict=True) if self._clusters else ((), ())
        size, failing = (np.array(column, np.float64) for column in columns)

        def beyond(rate: float) -> float:
            return (_mixture(_growth(size, failing, rate, side)) - self._needed) * (1 - 2 * side)

        low, high = 1e-9, 1 - 1e-9
        if (beyond(low) if side else -beyond(high)) >= 0:
            return 1.0 - side
        return quantile(beyond, 0.0, low, high)


def _growth(size: Numbers, failing: Numbers, rate: float, side: int) -> Numbers:
    """Return the logarithm of what each stake grows to: against failing as often as at a rate, or for it."""
    surplus = rate * size - failing
    returns = -surplus / rate if side else surplus / (1 - rate)
    return np.asarray(np.log1p(np.outer(_STAKES, returns)).sum(axis=1))


def _mixture(grown: Numbers) -> float:
    return float(np.logaddexp.reduce(grown)) - math.log(len(grown))


def clusters_needed(
    accepted: float,
    *,
    expected: float = 0.0,
    size: int = 1,
    correlation: float = 0.0,
    confidence: float = 0.95,
    power: float = 0.8,
    seed: int = 0,
) -> int:
    """Return how many clusters a run needs to show that at most so many cases fail.

    Without expected failures that is exact. Otherwise clusters are drawn from a beta-binomial distribution,
    and the smallest number is looked for at which the bound is within what is accepted as often as the power
    says.

    Args:
        accepted: The rate to be shown.
        expected: The rate that is thought to be true.
        size: How many cases a cluster has.
        correlation: How alike the cases of a cluster are.
        confidence: Of the bound.
        power: How sure the run shall be to end with "passed" if the expected rate is true.
        seed: Draws the clusters.

    Raises:
        InputError: The expected rate is not below the accepted one, or a number is out of its range.

    Example:
        >>> clusters_needed(0.05), clusters_needed(0.01)
        (59, 299)
        >>> clusters_needed(0.05, expected=0.01, size=30, correlation=0.2)
        87
    """
    check_number("confidence", confidence, above=0, below=1)
    check_number("power", power, above=0, below=1)
    if not 0 <= expected < accepted < 1:
        raise InputError(
            f"the expected rate must be below the accepted one, both from 0 to 1, got {expected:g} and "
            f"{accepted:g}"
        )
    if size < 1 or not 0 <= correlation < 1:
        raise InputError(
            f"clusters need 1 case or more and a correlation from 0 to 1, got {size}, {correlation:g}"
        )
    fewest = max(
        FEWEST_CLUSTERS if size > 1 else 1,
        math.ceil(math.log(1 - confidence) / math.log(1 - accepted) - 1e-9),
    )
    if not expected:
        return fewest
    too_many = InputError(
        f"more than {_MOST_CLUSTERS:,} clusters are needed: {expected:g} is too near to {accepted:g}"
    )
    # At least as many as the normal distribution says, which the bound is wider than.
    from scipy.special import ndtri

    spread = expected * (1 - expected) * (1 + (size - 1) * correlation) / size
    wide = max(0.0, float(ndtri(confidence) + ndtri(power))) / (accepted - expected)
    if spread * wide**2 > _MOST_CLUSTERS:
        raise too_many

    def shown(clusters: int) -> bool:
        rng = np.random.default_rng([seed, clusters])
        spread = (1 - correlation) / correlation if correlation else 0.0
        passed = 0
        for _ in range(_DRAWS):
            rates = rng.beta(expected * spread, (1 - expected) * spread, clusters) if spread else expected
            counts = np.bincount(rng.binomial(size, rates, clusters))
            drawn = ClusteredRate(np.full(len(counts), size), np.arange(len(counts)), counts)
            passed += drawn.shows_at_most(accepted, confidence)
        return passed >= power * _DRAWS

    high = fewest
    while not shown(high):
        if high > _MOST_CLUSTERS:
            raise too_many
        high *= 2
    low = high // 2 if high > fewest else fewest - 1
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high


_DRAWS = 200
_MOST_CLUSTERS = 100_000
