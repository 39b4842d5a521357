"""Confidence: bounds and intervals of rates, and of means."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError

__all__ = ["ConfidenceInterval", "bootstrap_mean", "clopper_pearson_interval", "clopper_pearson_upper"]


class ConfidenceInterval(NamedTuple):
    """The lower and the upper end."""

    lower: float
    upper: float


def clopper_pearson_upper(failures: int, trials: int, confidence: float = 0.95) -> float:
    """Return the one-sided upper Clopper-Pearson bound of a failure probability.

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
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, both excluded, got {confidence}")
    if failures == trials:
        return 1.0
    from scipy.special import betaincinv

    return float(betaincinv(failures + 1, trials - failures, confidence))


def clopper_pearson_interval(failures: int, trials: int, confidence: float = 0.95) -> ConfidenceInterval:
    """Return the two-sided Clopper-Pearson interval of a failure probability.

    Each end is the one-sided bound at half of what the confidence leaves open, so the interval holds the true
    rate with at least the confidence asked for.

    Example:
        The numbers that tables give for 4 of 20:

        >>> [round(end, 4) for end in clopper_pearson_interval(4, 20)]
        [0.0573, 0.4366]
    """
    one_side = (1 + confidence) / 2
    return ConfidenceInterval(
        1 - clopper_pearson_upper(trials - failures, trials, one_side),
        clopper_pearson_upper(failures, trials, one_side),
    )


def bootstrap_mean(
    values: NDArray[np.float64], rng: np.random.Generator, *, confidence: float = 0.95, resamples: int = 2000
) -> ConfidenceInterval:
    """Return the bootstrap interval of a mean: percentiles of the means of samples drawn with replacement.

    Args:
        values: One number for each of what is independent.
        rng: Draws the samples.
        confidence: Of the interval, both sides together.
        resamples: How many samples are drawn.

    Example:
        >>> low, high = bootstrap_mean(np.arange(100.0), np.random.default_rng(0))
        >>> 40 < low < 49.5 < high < 60
        True
    """
    means = values[rng.integers(len(values), size=(resamples, len(values)))].mean(axis=1)
    low, high = np.quantile(means, ((1 - confidence) / 2, (1 + confidence) / 2))
    return ConfidenceInterval(float(low), float(high))
