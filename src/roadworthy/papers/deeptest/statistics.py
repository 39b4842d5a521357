"""The tests that DeepTest's studies use, each with the reason where it cannot be computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy.errors import InputError

_FEWEST = 3
# R, which the paper used, prints nothing below the distance from 1 to the next number.
_LEAST_P = 2.2e-16
_MAGNITUDES = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"))


@dataclass(frozen=True)
class Statistic:
    """A statistic with its p value, or why there is none.

    Attributes:
        value: The statistic; None where it cannot be computed.
        p: The two-sided p value; None where there is no statistic.
        reason: Why it cannot be computed; empty where it can.
    """

    value: float | None
    p: float | None
    reason: str = ""

    @property
    def significant(self) -> bool:
        """Whether p is below 0.05."""
        return self.p is not None and self.p < 0.05


def spearman(first: ArrayLike, second: ArrayLike) -> Statistic:
    """Return Spearman's rank correlation of two series, from -1 to 1.

    Raises:
        InputError: One series is longer than the other.

    Example:
        >>> spearman([1, 2, 3, 4], [2, 4, 9, 1000]).value
        1.0
        >>> spearman([1, 2, 3], [5, 5, 5]).reason
        'all values of one of the two are the same'
    """
    return _correlation("spearmanr", first, second)


def kendall(first: ArrayLike, second: ArrayLike) -> Statistic:
    """Return Kendall's tau-b of two series, from -1 to 1, which allows for ties.

    Raises:
        InputError: One series is longer than the other.

    Example:
        >>> round(kendall([1, 2, 3, 4], [2, 4, 9, 8]).value, 6)  # of six pairs five agree
        0.666667
    """
    return _correlation("kendalltau", first, second)


def _correlation(name: str, first: ArrayLike, second: ArrayLike) -> Statistic:
    one, two = _series(first), _series(second)
    if one.size != two.size:
        raise InputError(f"expected two series of one length, got {one.size} and {two.size}")
    if one.size < _FEWEST:
        return Statistic(None, None, f"needs at least {_FEWEST} images, got {one.size}")
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        return Statistic(None, None, "all values of one of the two are the same")
    from scipy import stats

    found = getattr(stats, name)(one, two)
    return Statistic(float(found.statistic), float(found.pvalue))


def rank_sum(first: ArrayLike, second: ArrayLike) -> Statistic:
    """Compare two independent groups by Wilcoxon's rank sum test (Mann and Whitney's U), ties corrected.

    The statistic is the probability that a member of the first group is larger than one of the second, ties
    counted half: 0.5 where neither tends to be.

    Example:
        >>> rank_sum([4, 5, 6], [1, 2, 3]).value
        1.0
    """
    one, two = _series(first), _series(second)
    if min(one.size, two.size) < _FEWEST:
        told = f"needs at least {_FEWEST} images in each group, got {one.size} and {two.size}"
        return Statistic(None, None, told)
    if np.ptp(np.concatenate([one, two])) == 0:
        return Statistic(None, None, "all values are the same")
    from scipy.stats import mannwhitneyu

    found = mannwhitneyu(one, two, alternative="two-sided")
    return Statistic(float(found.statistic) / (one.size * two.size), float(found.pvalue))


def signed_rank(before: ArrayLike, after: ArrayLike) -> Statistic:
    """Compare pairs by Wilcoxon's signed rank test; pairs without a difference are left out.

    The statistic is the rank-biserial correlation, (R+ - R-) / (R+ + R-), where R+ is the sum of the ranks of
    the increases and R- that of the decreases: 1 where all increase.

    Raises:
        InputError: There are not as many values before as after.

    Example:
        >>> signed_rank([1, 2, 3, 4], [2, 4, 6, 8]).value
        1.0
    """
    one, two = _series(before), _series(after)
    if one.size != two.size:
        raise InputError(f"expected pairs, got {one.size} values before and {two.size} after")
    differences = (two - one)[two != one]
    if not differences.size and one.size:
        return Statistic(None, None, "nothing changed in any pair")
    if differences.size < _FEWEST:
        return Statistic(None, None, f"needs at least {_FEWEST} pairs that differ, got {differences.size}")
    from scipy.stats import rankdata, wilcoxon

    ranks = rankdata(np.abs(differences))
    value = (2 * float(ranks[differences > 0].sum()) - float(ranks.sum())) / float(ranks.sum())
    # Exact only where its assumption of distinct differences holds.
    exact = differences.size <= 25 and np.unique(ranks).size == ranks.size
    return Statistic(value, float(wilcoxon(differences, method="exact" if exact else "asymptotic").pvalue))


def cohens_d(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return Cohen's d, (mean of the first - mean of the second) / pooled standard deviation.

    None where a group has fewer than two members, or neither varies.

    Example:
        >>> cohens_d([2, 4, 6], [1, 3, 5])
        0.5
    """
    one, two = _series(first), _series(second)
    if min(one.size, two.size) < 2:
        return None
    squares = float(np.sum((one - one.mean()) ** 2) + np.sum((two - two.mean()) ** 2))
    pooled = np.sqrt(squares / (one.size + two.size - 2))
    return float((one.mean() - two.mean()) / pooled) if pooled > 0 else None


def magnitude(d: float | None) -> str:
    """Return the word for an effect size: below 0.2 negligible, 0.5 small, 0.8 medium, else large.

    Example:
        >>> magnitude(-0.3), magnitude(1.2), magnitude(None)
        ('small', 'large', 'not computable')
    """
    if d is None:
        return "not computable"
    return next((word for limit, word in _MAGNITUDES if abs(d) < limit), "large")


def p_text(p: float | None) -> str:
    """Return a p value as the paper prints it.

    Example:
        >>> p_text(0.0312), p_text(1e-40), p_text(None)
        ('0.031', '< 2.2e-16', '-')
    """
    if p is None:
        return "-"
    return "< 2.2e-16" if p < _LEAST_P else f"{p:.2g}"


def _series(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InputError("expected a flat series of finite numbers")
    return array
