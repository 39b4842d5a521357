"""The metrics of drives, one row for each sector that somebody drove."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy._frozen import ReadOnlyArrays, read_only
from roadworthy.errors import InputError


@dataclass(frozen=True, eq=False)
class SectorTable(ReadOnlyArrays):
    """Metrics of sectors, a row per sector driven and a column per metric.

    Attributes:
        metrics: What the columns are.
        values: The numbers, rows × metrics; every one of them is known.
        drivers: Who drove each row: the name of a model or mutant.
        sectors: Which sector each row is of.

    Example:
        >>> table = SectorTable.of({"SD(SA)": [0.1, 0.3], "Max(LP)": [0.5, 0.4]}, drivers=["dave2", "dave2"])
        >>> table.values.shape, table.select(["Max(LP)"]).values.ravel().tolist()
        ((2, 2), [0.5, 0.4])
    """

    metrics: tuple[str, ...]
    values: NDArray[np.float64]
    drivers: tuple[str, ...]
    sectors: tuple[str, ...]

    def __post_init__(self) -> None:
        values = np.array(self.values, np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.metrics) or not self.metrics:
            raise InputError(
                "expected a table of rows × metrics with at least one metric, got "
                f"{len(self.metrics)} names and shape {values.shape}"
            )
        if len(set(self.metrics)) != len(self.metrics):
            raise InputError(f"expected every metric once, got {', '.join(self.metrics)}")
        for name, names in (("drivers", self.drivers), ("sectors", self.sectors)):
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
    ) -> SectorTable:
        """Return a table of columns by name, or of an array of rows × metrics.

        Args:
            values: The columns by the name of their metric, an array, or a table, which is returned as it is.
            metrics: The names of an array's columns; m1, m2 … if left out.
            drivers: Who drove each row; all rows by one driver if left out.
            sectors: The sector of each row; numbered from 1 if left out.

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
        columns = [self.metrics.index(name) for name in metrics]
        return SectorTable(tuple(metrics), self.values[:, columns], self.drivers, self.sectors)


def _numbers(values: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError("expected numbers, one for every sector and metric") from None
