"""The metrics of drives, one row for each sector that somebody drove, and which of them tell most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy._frozen import FrozenDict, ReadOnlyArrays, read_only
from roadworthy.errors import InputError, check_number

Unit: TypeAlias = Literal["lap", "track", "driver"]
"""What rows are grouped by: those of one group are alike, and groups are not."""

UNITS: tuple[Unit, ...] = get_args(Unit)


@dataclass(frozen=True, eq=False)
class SectorTable(ReadOnlyArrays):
    """Metrics of sectors, a row per sector driven and a column per metric.

    Attributes:
        metrics: What the columns are.
        values: The numbers, rows × metrics; every one of them is known.
        drivers: Who drove each row: the name of a model or mutant.
        sectors: Which sector each row is of.
        laps: Which lap each row is of, empty for one of no whole lap; a lap for each driver if left out.
        tracks: Which track each row is of, empty where nobody recorded it.

    Example:
        >>> table = SectorTable.of({"SD(SA)": [0.1, 0.3], "Max(LP)": [0.5, 0.4]}, drivers=["dave2", "dave2"])
        >>> table.values.shape, table.select(["Max(LP)"]).values.ravel().tolist()
        ((2, 2), [0.5, 0.4])
    """

    metrics: tuple[str, ...]
    values: NDArray[np.float64]
    drivers: tuple[str, ...]
    sectors: tuple[str, ...]
    laps: tuple[str, ...] = ()
    tracks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "laps", tuple(self.laps or self.drivers))
        object.__setattr__(self, "tracks", tuple(self.tracks or ("",) * len(self.drivers)))
        values = np.array(self.values, np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.metrics) or not self.metrics:
            raise InputError(
                "expected a table of rows × metrics with at least one metric, got "
                f"{len(self.metrics)} names and shape {values.shape}"
            )
        if len(set(self.metrics)) != len(self.metrics):
            raise InputError(f"expected every metric once, got {', '.join(self.metrics)}")
        for name in ("drivers", "sectors", "laps", "tracks"):
            names = getattr(self, name)
            if len(names) != len(values):
                raise InputError(f"expected {len(values)} {name}, one for each row, got {len(names)}")
        unknown = np.argwhere(~np.isfinite(values))
        if len(unknown):
            row, column = unknown[0]
            raise InputError(
                f"{self.metrics[column]} of sector {self.sectors[row]}, driven by {self.drivers[row]}, is "
                f"{values[row, column]}: leave out the metric or the sectors where it is not known"
            )
        object.__setattr__(self, "values", read_only(values))

    @classmethod
    def of(
        cls,
        values: SectorTable | Mapping[str, ArrayLike] | ArrayLike,
        *,
        metrics: Sequence[str] | None = None,
        drivers: Sequence[str] | None = None,
        sectors: Sequence[str] | None = None,
        laps: Sequence[str] = (),
        tracks: Sequence[str] = (),
    ) -> SectorTable:
        """Return a table of columns by name, or of an array of rows × metrics.

        Args:
            values: The columns by the name of their metric, an array, or a table, which is returned as it is.
            metrics: The names of an array's columns; m1, m2 … if left out.
            drivers: Who drove each row; all rows by one driver if left out.
            sectors: The sector of each row; numbered from 1 if left out.
            laps: The lap of each row; one for each driver if left out.
            tracks: The track of each row; not known if left out.

        Raises:
            InputError: The columns differ in length, a number is not known, or names do not fit.
        """
        if isinstance(values, SectorTable):
            return values
        if isinstance(values, Mapping):
            columns = {str(name): np.atleast_1d(np.asarray(column)) for name, column in values.items()}
            if len({column.shape for column in columns.values()}) > 1:
                lengths = ", ".join(f"{name}: {len(column)}" for name, column in columns.items())
                raise InputError(f"expected one number per sector for every metric, got {lengths}")
            names = tuple(columns)
            rows = np.stack(list(columns.values()), axis=-1) if columns else np.zeros((0, 0))
        else:
            rows = np.asarray(values)
            if rows.ndim == 2 and not rows.size and metrics is not None:
                rows = rows.reshape(len(rows), len(metrics))
            width = rows.shape[1] if rows.ndim == 2 else 0
            names = tuple(metrics) if metrics is not None else tuple(f"m{i + 1}" for i in range(width))
        count = len(rows) if rows.ndim else 0
        return cls(
            names,
            _numbers(rows),
            tuple(drivers) if drivers is not None else ("driver",) * count,
            tuple(sectors) if sectors is not None else tuple(str(i + 1) for i in range(count)),
            tuple(laps),
            tuple(tracks),
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)

    def select(self, metrics: Sequence[str]) -> SectorTable:
        """Return the table with these metrics only, in this order.

        Raises:
            InputError: The table has no such metric.
        """
        missing = [name for name in metrics if name not in self.metrics]
        if missing:
            raise InputError(f"no metric {', '.join(missing)} in a table of {', '.join(self.metrics)}")
        values = self.values[:, [self.metrics.index(name) for name in metrics]]
        return SectorTable(tuple(metrics), values, self.drivers, self.sectors, self.laps, self.tracks)

    def units(self, unit: Unit) -> tuple[str, ...]:
        """Return the lap, track or driver of each row.

        Raises:
            InputError: There is no such unit, or nobody recorded it.

        Example:
            >>> SectorTable.of({"SD(SA)": [0.1, 0.3]}, drivers=["dave2", "epoch"]).units("driver")
            ('dave2', 'epoch')
        """
        if unit not in UNITS:
            raise InputError(f"the unit is lap, track or driver, got {unit!r}")
        if unit == "track" and "" in self.tracks:
            lacking = dict.fromkeys(who for who, at in zip(self.drivers, self.tracks, strict=True) if not at)
            who = ", ".join(lacking)
            raise InputError(f"nobody recorded which track {who} drove: choose the unit lap or driver")
        return {"lap": self.laps, "track": self.tracks, "driver": self.drivers}[unit]


def _numbers(values: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError("expected numbers, one for every sector and metric") from None


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
    check_number("the share of the variance", explained, above=0, most=1)
    check_number("drives to compare metrics over", len(table), least=2)
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
