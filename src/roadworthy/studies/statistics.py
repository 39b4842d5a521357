"""The statistics of studies: agreement of raters, correlation with scores, independence of metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from roadworthy._frozen import FrozenDict
from roadworthy.driving.sectors import Independence, SectorTable, variance_scores
from roadworthy.errors import InputError
from roadworthy.result_tables import ResultTable

ALL_TRACKS = "all tracks"
LEAST_DRIVES = 3  # for a correlation
_NAMES = ((0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))


@dataclass(frozen=True)
class Agreement:
    """Fleiss' κ.

    Attributes:
        kappa: 1 where all agree, 0 where they agree as chance would have it.
        p_value: How probable a κ this far from 0 is when raters answer by chance; two-sided.
    """

    kappa: float
    p_value: float

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
    return Agreement(kappa, math.erfc(abs(kappa) / spread / math.sqrt(2)))


def krippendorff_alpha(
    units: Iterable[Sequence[float]], level: Literal["nominal", "ordinal", "interval"] = "ordinal"
) -> float | None:
    """Return Krippendorff's alpha, how far raters agree beyond chance; 1 is perfectly, 0 by chance.

    Args:
        units: For every thing that was rated, its ratings; those with fewer than two tell nothing.
        level: How ratings differ: by being different, by how many ratings lie between them, or by their
            difference.

    Returns:
        Alpha, or None where it is not defined: no two ratings of one thing, or all ratings equal.

    Example:
        >>> krippendorff_alpha([[1, 1], [5, 5], [7, 7]])
        1.0
        >>> round(krippendorff_alpha([[1, 2], [2, 1], [1, 2]]), 3)
        -0.667
    """
    rated = [list(one) for one in units if len(one) >= 2]
    values = sorted({value for one in rated for value in one})
    if len(values) < 2:
        return None
    place = {value: number for number, value in enumerate(values)}
    together = np.zeros((len(values), len(values)))
    for one in rated:
        counts = np.bincount([place[value] for value in one], minlength=len(values)).astype(float)
        together += (np.outer(counts, counts) - np.diag(counts)) / (len(one) - 1)
    totals = together.sum(axis=1)
    apart = _distances(np.array(values, float), totals, level)
    observed = float((together * apart).sum())
    expected = float((np.outer(totals, totals) * apart).sum()) / (float(totals.sum()) - 1)
    return 1 - observed / expected


def _distances(values: np.ndarray, totals: np.ndarray, level: str) -> np.ndarray:
    """Return the squared distance of every two values."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    # Ordinal: the ratings from one to the other, with half of both ends.
    places = values if level == "interval" else np.cumsum(totals) - totals / 2
    return np.asarray((places[:, None] - places[None, :]) ** 2)


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
    if len(one) < LEAST_DRIVES:
        raise InputError(f"expected at least three drives for a correlation, got {len(one)}")
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise InputError("expected values and scores that are known: leave out drives where one is not")
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        return None
    found = stats.pearsonr(one, two)
    return Correlation(float(found.statistic), float(found.pvalue), len(one))


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

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each metric, the highest variance score first: the shape of Table II."""
        scores = self.independence.scores
        rows = []
        for name in [*scores, *(name for name in self.correlations[ALL_TRACKS] if name not in scores)]:
            row: dict[str, Any] = {"metric": name}
            for group, column in self.correlations.items():
                one = column[name]
                row |= {f"{group} cc": one and one.coefficient, f"{group} p": one and one.p_value}
                row |= {f"{group} n": one and one.count}
            rows.append(row | {"variance score": scores.get(name)})
        return rows

    def table(self, title: str = "") -> ResultTable:
        """Return the rows for people to read."""
        head = ["metric", *(f"{group} {what}" for group in self.correlations for what in ("cc", "p")), "VS"]
        rows = []
        for row in self.rows():
            cells = [row["metric"]]
            for one in (column[row["metric"]] for column in self.correlations.values()):
                star = "*" if one and one.significant() else ""
                cells += [f"{one.coefficient:+.2f}{star}", f"{one.p_value:.2f}"] if one else ["N/A", "N/A"]
            score = row["variance score"]
            rows.append((*cells, "–" if score is None else f"{score:.4f}"))
        note = "A star marks p < 0.05 of one metric alone, of independent clips; VS is the variance score."
        return ResultTable(title, tuple(head), tuple(rows), note)


def summarise(
    table: SectorTable,
    scores: Sequence[float],
    *,
    groups: Sequence[str] | None = None,
    ranked: Sequence[str] = (),
) -> MetricSummary:
    """Correlate metrics with human scores, for each group of drives and for all, and rank them.

    Args:
        table: The metrics of drives, a row for each.
        scores: The mean human score of each drive.
        groups: Which track each drive is on. Where there are several, each with three drives or more has a
            column of its own.
        ranked: The metrics that are ranked; all when left out.

    Raises:
        InputError: Scores or groups do not fit the rows, or there are fewer than three drives.
    """
    given = np.asarray(scores, np.float64)
    names = np.array([ALL_TRACKS] * len(table) if groups is None else groups)
    if given.shape != (len(table),) or len(names) != len(table):
        raise InputError(
            f"expected a score and a group for each of {len(table)} drives, got {given.size} and {len(names)}"
        )
    tracks = {str(name): names == name for name in sorted(set(names.tolist()))}
    chosen = {name: rows for name, rows in tracks.items() if len(tracks) > 1 and rows.sum() >= LEAST_DRIVES}
    chosen[ALL_TRACKS] = np.ones(len(table), np.bool_)
    correlations = {}
    for name, rows in chosen.items():
        columns = zip(table.metrics, table.values[rows].T, strict=True)
        correlations[name] = FrozenDict({metric: correlate(one, given[rows]) for metric, one in columns})
    independence = variance_scores(table.select(list(ranked)) if ranked else table)
    return MetricSummary(FrozenDict(correlations), independence)
