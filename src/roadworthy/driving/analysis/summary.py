"""Correlation with human scores beside independence, for every metric: the shape of the paper's Table II."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from roadworthy._frozen import FrozenDict
from roadworthy.driving.analysis.correlation import Correlation, correlate
from roadworthy.driving.analysis.independence import Independence, variance_scores
from roadworthy.driving.sectors import SectorTable
from roadworthy.errors import InputError

__all__ = ["MetricSummary", "summarise"]

_ALL = "all tracks"


@dataclass(frozen=True)
class MetricSummary:
    """What is known about metrics.

    Attributes:
        correlations: By group of drives and metric; None where a metric is constant. The last group is all
            drives together.
        independence: The variance scores over all drives.
    """

    correlations: Mapping[str, Mapping[str, Correlation | None]]
    independence: Independence

    def __str__(self) -> str:
        groups = list(self.correlations)
        scores = self.independence.scores
        others = [name for name in self.correlations[groups[-1]] if name not in scores]
        wide = max(len(name) for name in [*scores, *others, "metric"])
        head = " ".join([f"{'metric':<{wide}}", *(f"{name[:13]:>14}" for name in groups), "    VS"])
        under = " ".join([" " * wide, *["     cc      p"] * len(groups)])
        lines = [head.rstrip(), under.rstrip()]
        for name in [*scores, *others]:
            cells = [_cell(self.correlations[group].get(name)) for group in groups]
            score = f"{scores[name]:.4f}" if name in scores else "     –"
            lines.append(" ".join([f"{name:<{wide}}", *cells, score]))
        return "\n".join(lines)


def summarise(
    table: SectorTable,
    scores: Sequence[float],
    *,
    groups: Sequence[str] | None = None,
    explained: float = 0.9,
) -> MetricSummary:
    """Correlate metrics with human scores, for each group of drives and for all, and rank them.

    Args:
        table: The metrics of drives, a row for each.
        scores: The mean human score of each drive.
        groups: Which track each drive is on; left out, there is only the column of all drives.
        explained: The share of the variance that the principal components must explain.

    Raises:
        InputError: Scores or groups do not fit the rows, or a group has fewer than three drives.
    """
    given = np.asarray(scores, np.float64)
    names = [_ALL] * len(table) if groups is None else list(groups)
    if given.shape != (len(table),) or len(names) != len(table):
        raise InputError(
            f"expected a score and a group for each of {len(table)} drives, got {given.size} and {len(names)}"
        )
    chosen = {name: np.array([one == name for one in names]) for name in dict.fromkeys(names)}
    chosen[_ALL] = chosen.pop(_ALL, np.ones(len(table), np.bool_))
    correlations = {
        name: FrozenDict(
            {
                metric: correlate(table.values[rows, column], given[rows])
                for column, metric in enumerate(table.metrics)
            }
        )
        for name, rows in chosen.items()
    }
    return MetricSummary(FrozenDict(correlations), variance_scores(table, explained=explained))


def _cell(found: Correlation | None) -> str:
    if found is None:
        return f"{'N/A':>7}{'N/A':>7}"
    mark = "*" if found.significant() else " "
    return f"{found.coefficient:+6.2f}{mark}{found.p_value:7.2f}"
