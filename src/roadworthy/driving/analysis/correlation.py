"""Which metrics go with what humans think of a drive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from roadworthy.errors import InputError

__all__ = ["Correlation", "correlate"]


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation of a metric with scores.

    Attributes:
        coefficient: From -1 to 1; negative where drives with greater values are thought worse.
        p_value: How probable a correlation this strong is without any; two-sided.
        count: Of how many drives.
    """

    coefficient: float
    p_value: float
    count: int

    def significant(self, level: float = 0.05) -> bool:
        """Return whether the p-value is below a level."""
        return self.p_value < level


def correlate(values: ArrayLike, scores: ArrayLike) -> Correlation | None:
    """Return the correlation of a metric with scores of the same drives; None where one of them is constant.

    Raises:
        InputError: They differ in number, there are fewer than three, or one is not known.

    Example:
        >>> found = correlate([0.1, 0.4, 0.3, 0.8], [5, 3, 4, 1])
        >>> round(found.coefficient, 2), found.significant()
        (-0.99, True)
    """
    from scipy import stats

    one, two = np.asarray(values, np.float64), np.asarray(scores, np.float64)
    if one.ndim != 1 or one.shape != two.shape:
        raise InputError(f"expected one score for each value, got shapes {one.shape} and {two.shape}")
    if len(one) < 3:
        raise InputError(f"expected at least three drives for a correlation, got {len(one)}")
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise InputError("expected values and scores that are known: leave out drives where one is not")
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        return None
    found = stats.pearsonr(one, two)
    return Correlation(float(found.statistic), float(found.pvalue), len(one))
