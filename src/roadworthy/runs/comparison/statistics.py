"""The statistics of a comparison: of the same cases, judged twice."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from roadworthy.errors import InputError
from roadworthy.intervals import ConfidenceInterval, clopper_pearson_upper


def mcnemar(broken: int, fixed: int) -> float:
    """Return the p-value of McNemar's exact test, two-sided.

    If an update changed nothing for better or worse, each case that changed would be as likely broken as
    fixed: the number of broken ones among them would be binomial with probability 1/2 (McNemar,
    Psychometrika 12, 1947). The p-value is the probability of a split at least as uneven as the one seen.

    Args:
        broken: How many passed before and fail now.
        fixed: How many failed before and pass now.

    Example:
        Six broken and none fixed: 2 · (1/2)^6.

        >>> mcnemar(6, 0)
        0.03125
        >>> mcnemar(3, 3), mcnemar(0, 0)
        (1.0, 1.0)
    """
    if broken < 0 or fixed < 0:
        raise InputError(f"counts must be 0 or more, got {broken} broken and {fixed} fixed")
    if broken == fixed:
        return 1.0
    from scipy.special import bdtr

    return min(1.0, 2.0 * float(bdtr(min(broken, fixed), broken + fixed, 0.5)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for being several, by Holm's step-down method (Scand. J. Statist. 6, 1979).

    Whoever calls those at most α significant is wrong about any of them with probability at most α.

    Example:
        >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda one: p_values[one])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def rate_interval(
    sizes: Sequence[int],
    changes: Sequence[int],
    counts: Sequence[int],
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> ConfidenceInterval:
    """Return an interval for the difference of two failure rates over the same cases.

    Cases made of one source frame are not independent, so whole frames are drawn again: a bootstrap of
    clusters, percentiles. Frames with as many cases and the same change are alike, so how often each kind is
    drawn is multinomial; that makes it as fast for a million frames as for a hundred.

    Where no frame changed, every resample is the sample and the bootstrap would say that nothing can ever
    change. The interval then comes from the Clopper-Pearson bound on the share of frames that change.

    Args:
        sizes: How many cases a frame of each kind has.
        changes: Broken less fixed cases of such a frame.
        counts: How many such frames there are.
        rng: Draws the resamples.
        confidence: Of the interval, both sides together.
        resamples: How many are drawn.

    Example:
        Of 100 frames with one case each, 10 were broken and none fixed.

        >>> low, high = rate_interval([1, 1], [0, 1], [90, 10], rng=np.random.default_rng(0))
        >>> 0.03 < low < 0.06 and 0.14 < high < 0.18
        True
    """
    size, change, count = (np.asarray(one, np.int64) for one in (sizes, changes, counts))
    frames = int(count.sum())
    if not frames:
        raise InputError("an interval needs at least one case, got none")
    if not change.any():
        bound = clopper_pearson_upper(0, frames, (1 + confidence) / 2)
        return ConfidenceInterval(-bound, bound)
    drawn = rng.multinomial(frames, count / frames, size=resamples)
    rates = (drawn @ change) / (drawn @ size)
    tail = (1 - confidence) / 2
    low, high = np.quantile(rates, [tail, 1 - tail])
    return ConfidenceInterval(float(low), float(high))


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

    tail = (1 - confidence) / 2
    # The largest rank below which the median lies with probability at most the tail.
    rank = -1
    for candidate in _candidates(number, tail):
        if float(bdtr(candidate, number, 0.5)) <= tail:
            rank = candidate
            break
    if rank < 0:
        return middle, None
    return middle, ConfidenceInterval(float(ordered[rank]), float(ordered[number - 1 - rank]))


def _candidates(number: int, tail: float) -> range:
    """Return ranks to try, falling, that begin above the one wanted by the normal approximation."""
    from scipy.special import ndtri

    near = math.ceil(number / 2 + float(ndtri(tail)) * math.sqrt(number) / 2) + 2
    return range(min(near, (number - 1) // 2), -1, -1)
