"""Which metrics say something of their own: principal components and variance scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from roadworthy._frozen import FrozenDict
from roadworthy.driving.sectors import SectorTable
from roadworthy.errors import InputError

__all__ = ["Independence", "variance_scores"]


@dataclass(frozen=True)
class Independence:
    """How much each metric contributes to the principal components of all.

    Attributes:
        scores: The variance score of each metric, the highest first.
        ratios: The share of the variance that each component explains, as many as were needed.
        constant: Metrics that never vary, which have no score.
    """

    scores: Mapping[str, float]
    ratios: tuple[float, ...]
    constant: tuple[str, ...]

    @property
    def ranking(self) -> tuple[str, ...]:
        """The metrics with a score, the highest first."""
        return tuple(self.scores)


def variance_scores(table: SectorTable, *, explained: float = 0.9) -> Independence:
    """Rank metrics by their variance score.

    Metrics are standardised. Of their principal components, as many are taken as explain the share of the
    variance asked for. The score of a metric is the sum over these of the absolute value of its coefficient
    times the share of variance that the component explains.

    Args:
        table: The metrics of drives, a row for each.
        explained: The share of the variance to explain; 90% in the paper.

    Raises:
        InputError: There are fewer than two rows, or no metric varies.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> steady = rng.normal(size=100)
        >>> drives = {"Mean(LP)": steady, "Max(LP)": 2 * steady, "SD(SA)": rng.normal(size=100)}
        >>> found = variance_scores(SectorTable.of(drives))
        >>> [round(ratio, 2) for ratio in found.ratios]
        [0.67, 0.33]
    """
    if not 0 < explained <= 1:
        raise InputError(f"expected a share of the variance above 0 and at most 1, got {explained}")
    if len(table) < 2:
        raise InputError(f"expected at least two drives to compare metrics over, got {len(table)}")
    spread = table.values.std(axis=0)
    varies = spread > 1e-12 * np.maximum(np.abs(table.values).max(axis=0), 1e-300)
    if not varies.any():
        raise InputError("no metric differs between the drives: there is nothing to rank")
    values = (table.values[:, varies] - table.values[:, varies].mean(axis=0)) / spread[varies]
    _, singular, components = np.linalg.svd(values, full_matrices=False)
    ratios = singular**2 / (singular**2).sum()
    count = min(int(np.searchsorted(np.cumsum(ratios), explained - 1e-12)) + 1, len(ratios))
    scores = np.abs(components[:count].T) @ ratios[:count]
    names = [name for name, used in zip(table.metrics, varies, strict=True) if used]
    ranked = sorted(zip(names, scores.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0]))
    constant = tuple(name for name, used in zip(table.metrics, varies, strict=True) if not used)
    return Independence(FrozenDict(ranked), tuple(ratios[:count].tolist()), constant)
