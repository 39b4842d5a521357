"""Whether raters agree more than chance would have it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from roadworthy.errors import InputError

__all__ = ["Agreement", "fleiss_kappa"]

_NAMES = ((0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))


@dataclass(frozen=True)
class Agreement:
    """Fleiss' κ.

    Attributes:
        kappa: 1 where all agree, 0 where they agree as chance would have it.
        p_value: How probable a κ this far from 0 is when raters answer by chance; two-sided.
        subjects: How many things were rated.
        raters: How many ratings each has.
    """

    kappa: float
    p_value: float
    subjects: int
    raters: int

    @property
    def words(self) -> str:
        """What Landis and Koch call it, from poor to almost perfect."""
        if self.kappa < 0:
            return "poor"
        return next((name for most, name in _NAMES if self.kappa <= most), "almost perfect")


def fleiss_kappa(counts: ArrayLike) -> Agreement:
    """Return the agreement of raters on categories.

    Fleiss, "Measuring nominal scale agreement among many raters" (1971), with the variance of Fleiss, Nee and
    Landis (1979) for the p-value.

    Args:
        counts: Subjects × categories: how many raters put a subject into a category; every subject has
            equally many ratings, at least two.

    Raises:
        InputError: The counts are no such table, or all ratings are of one category, for which κ is not
            defined.

    Example:
        >>> found = fleiss_kappa([[3, 0], [0, 3], [3, 0], [1, 2]])
        >>> round(found.kappa, 3), found.words
        (0.657, 'substantial')
    """
    table = np.asarray(counts)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        raise InputError(f"expected subjects × categories, at least two of each, got shape {table.shape}")
    if not np.issubdtype(table.dtype, np.number) or (table < 0).any() or (table % 1 != 0).any():
        raise InputError("expected numbers of raters: whole and not negative")
    raters = table.sum(axis=1)
    if raters[0] < 2 or (raters != raters[0]).any():
        raise InputError(
            f"expected equally many ratings of every subject, at least two, got {raters.min():g} to "
            f"{raters.max():g}: leave out subjects or raters with missing answers"
        )
    subjects, each = len(table), float(raters[0])
    share = table.sum(axis=0) / (subjects * each)
    if share.max() == 1:
        raise InputError("all raters chose one category for everything: κ is not defined for that")
    observed = float(((table * (table - 1)).sum(axis=1) / (each * (each - 1))).mean())
    by_chance = float((share**2).sum())
    kappa = (observed - by_chance) / (1 - by_chance)
    rest = share * (1 - share)
    spread = math.sqrt(2 * (rest.sum() ** 2 - (rest * (1 - 2 * share)).sum())) / (
        rest.sum() * math.sqrt(subjects * each * (each - 1))
    )
    p_value = math.erfc(abs(kappa) / spread / math.sqrt(2))
    return Agreement(kappa, p_value, subjects, int(each))
