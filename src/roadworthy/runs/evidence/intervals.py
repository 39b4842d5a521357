"""Two-sided confidence intervals of failure rates."""

from __future__ import annotations

from typing import NamedTuple

from roadworthy.cases import clopper_pearson_upper

__all__ = ["CONFIDENCE", "Interval", "clopper_pearson_interval"]

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """The lower and the upper end."""

    lower: float
    upper: float


def clopper_pearson_interval(failures: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the two-sided Clopper-Pearson interval of a failure probability.

    Each end is the one-sided bound at half of what the confidence leaves open (Clopper and Pearson,
    Biometrika 26, 1934), so the interval holds the true rate with at least the confidence asked for.

    Example:
        The numbers that tables give for 4 of 20:

        >>> [round(end, 4) for end in clopper_pearson_interval(4, 20)]
        [0.0573, 0.4366]
    """
    one_side = 1 - (1 - confidence) / 2
    return Interval(
        1 - clopper_pearson_upper(trials - failures, trials, one_side),
        clopper_pearson_upper(failures, trials, one_side),
    )
