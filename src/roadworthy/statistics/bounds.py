"""Bounds, intervals and tests of rates, means and differences, over clusters."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from roadworthy._files import writing
from roadworthy.errors import InputError, check_number

FEWEST_CLUSTERS = 5
"""Below so many clusters of several cases, nothing is said about a rate."""

_STEP, _POINTS = 0.1, 16  # of an integral: how far its points are apart at first, how many are taken at once
_DIGITS = 1e-10  # up to which it is halved
_IN_MEMORY = 2**20  # runs of cases of one cluster
_BORDERS = np.arange(-127, 128) * 2**56  # of the shares of clusters that are counted one after the other
Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


class ConfidenceInterval(NamedTuple):
    """The lower and the upper end."""

    lower: float
    upper: float


def clopper_pearson_upper(failures: int, trials: int, confidence: float = 0.95) -> float:
    """Return the one-sided upper Clopper-Pearson bound of a failure probability, of independent trials.

    It is the largest probability p for which ``failures`` or fewer in ``trials`` still happen with
    probability 1 - confidence (Clopper and Pearson, Biometrika 26, 1934).

    Raises:
        InputError: There are no trials, more failures than trials, or the confidence is not between 0 and 1.

    Example:
        With no failure in n trials it is 1 - (1 - confidence)^(1/n), close to the "rule of three" 3/n.

        >>> round(clopper_pearson_upper(0, 100), 6)
        0.029513
        >>> round(1 - 0.05 ** (1 / 100), 6)
        0.029513
    """
    if not 0 <= failures <= trials or trials < 1:
        raise InputError(f"failures must be between 0 and trials (at least 1), got {failures} of {trials}")
    check_number("confidence", confidence, above=0, below=1)
    if failures == trials:
        return 1.0
    from scipy.special import betaincinv

    return float(betaincinv(failures + 1, trials - failures, confidence))


class ClusterTally:
    """Counts cases and failures by cluster as they come.

    Of more than a million runs of cases of one cluster, each million goes to a temporary file, 24 bytes a run
    and sorted by cluster, so that a share of the clusters is counted at a time.

    Example:
        >>> tally = ClusterTally()
        >>> for number, failed in [(1, True), (1, False), (2, False), (1, False)]:
        ...     tally.add(f"drive {number}", failed=failed)
        >>> rate = tally.rate()
        >>> rate.cases, rate.failures, rate.clusters
        (4, 1, 2)
    """

    def __init__(self) -> None:
        self._last: str | None = None
        self._keys, self._sizes, self._failures = self._columns = array("q"), array("i"), array("i")
        self._filed: list[Counts] = []

    def add(self, cluster: str, *, failed: bool) -> None:
        """Take in a case."""
        if cluster != self._last:
            if len(self._keys) >= _IN_MEMORY:
                self._put_away()
            self._last = cluster
            self._keys.append(hash(cluster))
            self._sizes.append(0)
            self._failures.append(0)
        self._sizes[-1] += 1
        self._failures[-1] += failed

    def merge(self, other: ClusterTally) -> None:
        """Take in what another one counted."""
        self._last = None
        self._filed += other._filed
        for mine, others in zip(self._columns, other._columns, strict=True):
            mine.extend(others)
        if len(self._keys) >= _IN_MEMORY:
            self._put_away()

    def rate(self) -> ClusteredRate:
        """Return what they come to.

        Raises:
            InputError: No case was added.
        """
        if not self._filed:
            return _rate_of(self._in_memory())
        tables = (*self._filed, self._in_memory())
        shares = zip(*(np.split(one, np.searchsorted(one[:, 0], _BORDERS)) for one in tables), strict=True)
        found = [_rate_of(runs) for share in shares if len(runs := np.concatenate(share))]
        kinds = ((one.sizes, one.failing, one.counts) for one in found)
        return ClusteredRate.of(*np.concatenate([*kinds], axis=1))

    def _in_memory(self) -> Counts:
        """Return the runs that are in memory, by the keys of their clusters."""
        runs = np.stack([np.frombuffer(one, one.typecode).astype(np.int64) for one in self._columns], axis=1)
        return runs[runs[:, 0].argsort()]

    def _put_away(self) -> None:
        """Move what is in memory to a file."""
        runs = self._in_memory()
        # Written before it is mapped: a disk that is full complains of that, and kills whoever fills a map.
        with writing(Path(gettempdir())), TemporaryFile() as file:
            file.write(runs.tobytes())
            file.flush()
            self._filed.append(np.memmap(file, np.int64, "r", shape=runs.shape))
        for one in self._columns:
            del one[:]


def _rate_of(runs: Counts) -> ClusteredRate:
    _, place = np.unique(runs[:, 0], return_inverse=True)
    return ClusteredRate.of(np.bincount(place, runs[:, 1]), np.bincount(place, runs[:, 2]))


@dataclass(frozen=True, eq=False)
class ClusteredRate:
    """A failure rate, known from cases in clusters. Clusters with equal numbers are one kind.

    Attributes:
        sizes: How many cases a cluster of each kind has.
        failing: How many of these fail.
        counts: How many clusters there are of each kind.

    Example:
        Ten drives of thirty frames, in one of which half of the frames fail:

        >>> rate = ClusteredRate.of([30] * 10, [15] + [0] * 9)
        >>> rate.rate, rate.clusters, round(rate.correlation, 2), round(rate.effective)
        (0.05, 10, 0.48, 20)
        >>> round(rate.upper(), 3), round(clopper_pearson_upper(15, 300), 3)
        (0.308, 0.076)
        >>> ClusteredRate.of([1] * 300, [1] * 15 + [0] * 285).upper() == clopper_pearson_upper(15, 300)
        True
    """

    sizes: Counts
    failing: Counts
    counts: Counts

    @classmethod
    def of(
        cls, sizes: npt.ArrayLike, failing: npt.ArrayLike, counts: npt.ArrayLike | None = None
    ) -> ClusteredRate:
        """Return the rate of clusters with so many cases and failures each, one or as many as counts say.

        Raises:
            InputError: There are none, or more failures than cases.
        """
        pairs = np.stack([np.asarray(sizes), np.asarray(failing)], axis=1).astype(np.int64)
        cases, failures = pairs.T
        if not len(pairs) or (cases < 1).any() or (failures < 0).any() or (failures > cases).any():
            raise InputError(
                "a rate needs clusters of at least one case, each with no more failures than cases"
            )
        kinds, place = np.unique(pairs, axis=0, return_inverse=True)
        return cls(kinds[:, 0], kinds[:, 1], np.bincount(place.ravel(), counts).astype(np.int64))

    @cached_property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.counts.sum())

    @cached_property
    def cases(self) -> int:
        """How many cases there are."""
        return int(self.sizes @ self.counts)

    @cached_property
    def failures(self) -> int:
        """How many of them fail."""
        return int(self.failing @ self.counts)

    @property
    def rate(self) -> float:
        """The share of failing cases."""
        return self.failures / self.cases

    @property
    def single(self) -> bool:
        """Whether every case is a cluster of its own."""
        return self.cases == self.clusters

    @property
    def few(self) -> bool:
        """Whether there are too few clusters to speak of a rate."""
        return not self.single and self.clusters < FEWEST_CLUSTERS

    @property
    def correlation(self) -> float | None:
        """How alike cases of a cluster are, 0 to 1: the intraclass correlation by analysis of variance.

        None where it cannot be known: no cluster has two cases, there is one cluster, or all cases end alike
        (Ridout, Demétrio and Firth, Biometrics 55, 1999).
        """
        cases, clusters = self.cases, self.clusters
        if self.single or clusters < 2 or self.failures in (0, cases):
            return None
        share = self.failing / self.sizes
        between = float(self.counts @ (self.sizes * (share - self.rate) ** 2)) / (clusters - 1)
        within = float(self.counts @ (self.failing * (1 - share))) / (cases - clusters)
        typical = (cases - float(self.counts @ self.sizes**2) / cases) / (clusters - 1)
        return min(1.0, max(0.0, (between - within) / (between + (typical - 1) * within)))

    @property
    def effective(self) -> float:
        """How many independent cases would say as much: cases / (1 + (n̄ - 1) correlation), after Kish (1965).

        n̄ is the cluster size of the average case. A correlation that cannot be known counts as 1.
        """
        if self.single:
            return float(self.cases)
        alike = self.correlation
        average = float(self.counts @ self.sizes**2) / self.cases
        return self.cases / (1 + (average - 1) * (1.0 if alike is None else alike))

    @property
    def worth(self) -> str:
        """What the cases tell, in words; empty where every case is a cluster of its own.

        Example:
            >>> ClusteredRate.of([30] * 10, [15] + [0] * 9).worth
            '10 clusters worth 20 independent cases'
        """
        if self.single:
            return ""
        number = round(self.effective)
        clusters, cases = "s" * (self.clusters != 1), "s" * (number != 1)
        return f"{self.clusters} cluster{clusters} worth {number} independent case{cases}"

    def upper(self, confidence: float = 0.95) -> float:
        """Return the one-sided upper bound of the rate."""
        check_number("confidence", confidence, above=0, below=1)
        if self.single:
            return clopper_pearson_upper(self.failures, self.cases, confidence)
        if self.failures == self.cases:
            return 1.0
        return quantile(self._below, confidence, 0.0, 1.0)

    def lower(self, confidence: float = 0.95) -> float:
        """Return the one-sided lower bound of the rate: that of the share that passes, from above."""
        return 1 - ClusteredRate(self.sizes, self.sizes - self.failing, self.counts).upper(confidence)

    def interval(self, confidence: float = 0.95) -> ConfidenceInterval:
        """Return the two-sided interval of the rate."""
        one_side = (1 + confidence) / 2
        return ConfidenceInterval(self.lower(one_side), self.upper(one_side))

    def shows_at_most(self, rate: float, confidence: float = 0.95) -> bool:
        """Return whether the upper bound is within a rate; quicker than the bound itself."""
        return rate >= 1 or (rate > 0 and self._below(rate) >= confidence)

    def _below(self, rate: float) -> float:
        """Return how much of the weight says that the rate is at most this."""
        values = np.append(self.failing - rate * self.sizes, (1 - rate) * self.sizes.max())
        return _share_below_zero(values, np.append(self.counts, 1))


def _share_below_zero(values: Numbers, counts: npt.NDArray[np.number]) -> float:
    """Return the probability that a mean with Dirichlet weights is at most 0.

    Such weights are independent exponentials over their sum, so it is that of a weighted sum of gamma
    variables, one for each kind. With one kind on either side of 0 it is a beta distribution. Otherwise the
    moment generating function is inverted along a line through its saddle point (Helstrom, IEEE Trans.
    Aerosp. Electron. Syst. 31, 1995), where it is smooth and soon nothing: the trapezoidal rule in the
    inverse hyperbolic sine then needs few points for all digits, whatever the number of kinds.
    """
    values, place = np.unique(values, return_inverse=True)
    counts = np.bincount(place, counts)
    # What is next to nothing is what is left of 0 by rounding.
    kept = (counts > 0) & (np.abs(values) > 1e-14 * np.abs(values).max())
    values, counts = values[kept], counts[kept]
    if not (values > 0).any():
        return 1.0
    if not (values < 0).any():
        return 0.0
    if len(values) == 2:
        from scipy.special import betainc

        (above,), (below,) = np.flatnonzero(values > 0), np.flatnonzero(values < 0)
        return float(betainc(counts[above], counts[below], values[below] / (values[below] - values[above])))
    # The smaller of both probabilities, so that nothing cancels: that of a sum above 0, its sign turned if
    # it is above 0 on average.
    turned = float(counts @ values) > 0
    values = values / (-values[0] if turned else values[-1]) * (1 - 2 * turned)
    saddle, width = _saddle_point(values, counts)
    slopes, size = values / (1 - saddle * values), -float(counts @ np.log1p(-saddle * values))

    def summed(first: float) -> float:
        """Add up the integrand from the first step on, until nothing is left of it."""
        total, last = 0.0, math.inf
        while last > 1e-16 * abs(total):
            steps = first + step * np.arange(_POINTS)
            along = width * np.sinh(steps)
            turns = np.outer(along, slopes)
            grown = np.exp(size - np.log1p(turns**2) @ counts / 2 + 1j * (np.arctan(turns) @ counts))
            grown *= np.cosh(steps) / (saddle + 1j * along)
            total, last = total + float(grown.real.sum()), abs(complex(grown[-1]))
            first += step * _POINTS
        return total

    # The line goes to both sides, and the point in its middle counts once.
    step = _STEP
    found, finer = math.inf, step * (summed(0.0) - math.exp(size) / saddle / 2)
    while abs(finer - found) > _DIGITS * math.pi / width:
        found, finer = finer, (finer + step * summed(step / 2)) / 2
        step /= 2
    beyond = min(1.0, max(0.0, finer * width / math.pi))
    return beyond if turned else 1 - beyond


def _saddle_point(values: Numbers, counts: npt.NDArray[np.number]) -> tuple[float, float]:
    """Return where the integrand is least between 0 and 1, about, and how wide it is there.

    Values are at most 1, and below 0 on average. By damped steps of Newton, which stay between both ends:
    the logarithm is a self-concordant function (Nesterov and Nemirovskii 1994).
    """
    mean, spread = float(counts @ values), float(counts @ values**2)
    at = min(0.9, (math.sqrt(mean**2 + 4 * spread) - mean) / 2 / spread)
    while True:
        turned = values / (1 - at * values)
        slope, width = float(counts @ turned) - 1 / at, float(counts @ turned**2 + at**-2) ** -0.5
        if (left := abs(slope) * width) < 0.1:
            return at, width
        at -= slope * width**2 / (1 + left)


def quantile(below: Callable[[float], float], confidence: float, low: float, high: float) -> float:
    """Return where a share that rises from 0 to 1 between two ends reaches the confidence."""
    from scipy.optimize import brentq

    found: float = brentq(lambda at: below(at) - confidence, low, high, xtol=1e-9)
    return found


def mean_bounds(
    values: npt.ArrayLike,
    *,
    least: float,
    most: float,
    confidence: float = 0.95,
    weights: npt.ArrayLike | None = None,
) -> ConfidenceInterval:
    """Return the one-sided lower and the one-sided upper bound of a mean, each with the confidence.

    Args:
        values: One number for each cluster.
        least: The smallest that one can be.
        most: The largest that one can be.
        confidence: Of each bound alone.
        weights: How much each counts, such as how many cases its number is the mean of; all the same if left
            out.

    Raises:
        InputError: There are no values, or some are out of their range or unknown.

    Example:
        Fifty values of 0 that could have been 1 leave room for a mean of 1 - 0.05^(1/50):

        >>> low, high = mean_bounds([0.0] * 50, least=-1, most=1)
        >>> round(high, 6), round(1 - 0.05 ** (1 / 50), 6)
        (0.058155, 0.058155)
        >>> low == -high
        True

        With weights it is the bound of a rate of cases in clusters:

        >>> rate = ClusteredRate.of([30, 20, 10], [15, 0, 0])
        >>> mean = mean_bounds([0.5, 0, 0], weights=[30, 20, 10], least=0, most=1)
        >>> round(mean.upper, 6) == round(rate.upper(), 6)
        True
    """
    check_number("confidence", confidence, above=0, below=1)
    numbers = np.asarray(values, np.float64)
    sizes = np.ones(len(numbers)) if weights is None else np.asarray(weights, np.float64)
    if not len(numbers) or not ((numbers >= least) & (numbers <= most)).all() or not (sizes > 0).all():
        raise InputError(f"a mean needs values from {least:g} to {most:g}, got {numbers.tolist()[:5]}")

    def upper(numbers: Numbers, least: float, most: float) -> float:
        if (numbers == most).all():
            return most
        # With the worst cluster among those that are like it, two kinds are left more often.
        every = np.stack([np.append(numbers, most), np.append(sizes, sizes.max())], axis=1)
        kinds, counts = np.unique(every, axis=0, return_counts=True)

        def below(at: float) -> float:
            return _share_below_zero(kinds[:, 1] * (kinds[:, 0] - at), counts)

        return quantile(below, confidence, least, most)

    return ConfidenceInterval(-upper(-numbers, -most, -least), upper(numbers, least, most))


class PairedDifference(NamedTuple):
    """The difference of two rates over the same cases.

    Attributes:
        difference: After less before.
        interval: Two-sided.
        p: Of the test that nothing changed, two-sided: below 1 - confidence where the interval excludes 0, or
            where more clusters got worse than better (or the reverse).
    """

    difference: float
    interval: ConfidenceInterval
    p: float


def paired_difference(
    sizes: npt.ArrayLike, changes: npt.ArrayLike, counts: npt.ArrayLike, *, confidence: float = 0.95
) -> PairedDifference:
    """Return the difference of two failure rates over the same cases, with the interval and test of clusters.

    If clusters have several cases, two tests share what the confidence leaves open. One is that of the
    bounds, which says how large the difference may be, and needs many clusters. The other says only whether
    more clusters got worse than better: the exact sign test (Dixon and Mood, J. Am. Statist. Assoc. 41,
    1946). Rates can be the same although it says so: a case more in most drives, and many fewer in some.
    Single cases need one test, since both are McNemar's.

    Args:
        sizes: How many cases a cluster of each kind has.
        changes: Broken less fixed cases of such a cluster.
        counts: How many such clusters there are.
        confidence: Of the interval, both sides together.

    Raises:
        InputError: There are no cases.

    Example:
        Six of 100 independent cases broke and none was fixed; McNemar's exact test (Psychometrika 12, 1947)
        says 2 · (1/2)^6.

        >>> found = paired_difference([1, 1], [0, 1], [94, 6])
        >>> found.difference, round(found.p, 5), 2 * 0.5**6
        (0.06, 0.03125, 0.03125)
        >>> [round(end, 3) for end in found.interval]
        [0.005, 0.126]
    """
    check_number("confidence", confidence, above=0, below=1)
    size, change, count = (np.asarray(given, np.int64) for given in (sizes, changes, counts))
    if not count.sum():
        raise InputError("a difference needs at least one case, got none")
    largest = int(size.max())
    shared = 1 if largest == 1 else 2

    def below(at: float, worst: int) -> float:
        return _share_below_zero(np.append(change - at * size, (worst - at) * largest), np.append(count, 1))

    tail = (1 - confidence) / 2 / shared
    upper = 1.0 if (change == size).all() else quantile(lambda at: below(at, 1), 1 - tail, -1.0, 1.0)
    lower = -1.0 if (change == -size).all() else quantile(lambda at: below(at, -1), tail, -1.0, 1.0)
    p = 2 * min(below(0.0, -1), 1 - below(0.0, 1))
    if shared == 2:
        from scipy.special import bdtr

        more, fewer = int(count[change > 0].sum()), int(count[change < 0].sum())
        p = min(p, 2 * float(bdtr(min(more, fewer), more + fewer, 0.5)))
    difference = float(change @ count) / float(size @ count)
    return PairedDifference(difference, ConfidenceInterval(lower, upper), min(1.0, shared * p))


def bonferroni(confidence: float, comparisons: int) -> float:
    """Return the confidence of each of several statements that hold together with the confidence asked for.

    Example:
        >>> round(bonferroni(0.95, 16), 6)
        0.996875
    """
    return 1 - (1 - confidence) / max(1, comparisons)


def median_interval(
    values: npt.ArrayLike, *, confidence: float = 0.95
) -> tuple[float, ConfidenceInterval | None]:
    """Return the median of independent values and an interval for the median of where they come from.

    The ends are values themselves, the innermost pair whose ranks hold the median with at least that
    confidence, whatever the distribution (from the binomial distribution of how many lie below it). There is
    none for fewer than six values at 95%. Infinite values are fine.

    Example:
        >>> median_interval(range(1, 12))
        (6.0, ConfidenceInterval(lower=2.0, upper=10.0))
        >>> median_interval([1.0, 3.0])
        (2.0, None)
    """
    ordered = np.sort(np.asarray(values, np.float64))
    number = len(ordered)
    if not number:
        raise InputError("a median needs at least one value, got none")
    low, high = float(ordered[(number - 1) // 2]), float(ordered[number // 2])
    # Minus and plus infinity have no middle; 0 lies between them.
    middle = low if low == high else (0.0 if math.isinf(low) and math.isinf(high) else (low + high) / 2)
    from scipy.special import bdtr
    from scipy.stats import binom

    tail = (1 - confidence) / 2
    # The largest rank below which the median lies with probability at most the tail.
    rank = int(binom.ppf(tail, number, 0.5))
    while rank >= 0 and float(bdtr(rank, number, 0.5)) > tail:
        rank -= 1
    if rank < 0:
        return middle, None
    return middle, ConfidenceInterval(float(ordered[rank]), float(ordered[number - 1 - rank]))


def student_interval(values: npt.ArrayLike, *, confidence: float = 0.95) -> ConfidenceInterval:
    """Return Student's interval of a mean: for numbers without a known range, one for each cluster.

    Example:
        >>> [round(end, 2) for end in student_interval([1.0, 2.0, 3.0, 4.0, 5.0])]
        [1.04, 4.96]
    """
    check_number("confidence", confidence, above=0, below=1)
    known = np.asarray(values, np.float64)
    if len(known) < 2 or not np.isfinite(known).all():
        raise InputError(f"an interval of a mean needs at least 2 finite values, got {known.tolist()[:5]}")
    from scipy.special import stdtrit

    half = float(stdtrit(len(known) - 1, (1 + confidence) / 2) * known.std(ddof=1) / math.sqrt(len(known)))
    return ConfidenceInterval(float(known.mean()) - half, float(known.mean()) + half)
