"""Drives drawn: the way on a map with its alarms, and a metric along the way."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import write_text
from roadworthy._tables import csv_text
from roadworthy.driving.drives import Drive
from roadworthy.driving.metrics import (
    CATALOGUE,
    MetricSettings,
    MetricTable,
    availability,
    compute,
    meaning_of,
    parse_metric,
    per_step,
    primitives,
    unit_of,
)
from roadworthy.errors import InputError
from roadworthy.report.plots import PALETTE, new_figure
from roadworthy.result_tables import ResultTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_ALARM = PALETTE[1]
_MARKS = {"crash": ("X", PALETTE[6]), "line crossing": ("v", PALETTE[3])}
_FAILURES = ("crash", "collision", "line crossing")
_LEAST_EXTENT = 30.0  # metres; a map of less would show a step as a journey


def failing_sectors(drive: Drive) -> tuple[str, ...]:
    """Return the sectors in which the vehicle crashed, touched somebody or crossed a line, in order.

    Example:
        >>> drive = Drive("lap", [0.0, 0.1, 0.2], events={"crash": [0, 0, 1]}, sectors=[0, 0, 1])
        >>> failing_sectors(drive)
        ('2',)
    """
    failed = np.zeros(len(drive), np.bool_)
    for name in _FAILURES:
        failed |= drive.events.get(name, False)
    return tuple(drive.sector_names[int(number)] for number in np.unique(drive.sectors[failed]))


def drive_figure(
    drive: Drive,
    metric: str = "LP",
    *,
    alarms: Collection[str] = (),
    settings: MetricSettings | None = None,
) -> Figure:
    """Draw the way that was driven, coloured by a metric, and the metric along the way.

    Args:
        drive: The drive; without x and y, only the lower plot is drawn.
        metric: A metric of steps, such as LP or DevT(SP), or of sectors, such as SD(LP).
        alarms: The sectors to mark.
        settings: Of the metrics.

    Raises:
        InputError: The drive lacks what the metric needs, or there is no such sector.

    Example:
        >>> drive = Drive("lap", [0.0, 0.1], {"lane_offset": [0.1, 0.2], "x": [0.0, 1.0], "y": [0.0, 1.0]})
        >>> len(drive_figure(drive).axes)
        3
    """
    for name in alarms:
        if name not in drive.sector_names:
            known = ", ".join(drive.sector_names)
            raise InputError(f"drive {drive.name} has no sector {name!r}: it has {known}")
    values = values_along(drive, metric, settings)
    label = metric_label(metric)
    alarmed = np.isin(np.array(drive.sector_names)[drive.sectors], list(alarms))
    mapped = all(name in drive.signals for name in ("x", "y"))
    figure, axes = new_figure(2 if mapped else 1, 1, size=(7.2, 7.4 if mapped else 3.0))
    if mapped:
        axes[0, 0].get_gridspec().set_height_ratios((2.4, 1.0))
        _draw_map(figure, axes[0, 0], drive, values, alarmed, label)
    _draw_along(axes[-1, 0], drive, values, alarmed, label)
    axes[0, 0].set_title(f"{drive.name}: {drive.ended}" if drive.ended else drive.name)
    return figure


def values_along(drive: Drive, metric: str, settings: MetricSettings | None = None) -> NDArray[np.float64]:
    """Return the value of each step; that of its sector where a metric is one number for many steps.

    Raises:
        InputError: There is no such metric, or the drive lacks what it needs.

    Example:
        >>> drive = Drive("lap", [0.0, 0.1, 0.2], {"lane_offset": [0.1, 0.3, 0.2]}, sectors=[0, 0, 1])
        >>> values_along(drive, "Max(LP)").tolist()
        [0.3, 0.3, 0.2]
    """
    parsed = parse_metric(metric)
    if parsed.operators in ((), ("DevT",)) and parsed.primitive not in ("TO", "SARR", "BD"):
        return per_step(drive, [parsed], settings=settings)[str(parsed)]
    return compute(drive, [parsed], settings=settings)[str(parsed)][drive.sectors]


def metric_label(metric: str) -> str:
    """Return what stands beside the values of a metric.

    Example:
        >>> metric_label("SP"), metric_label("SD(LP)")
        ('speed, m/s', 'SD(LP) (lateral position)')
    """
    parsed = parse_metric(metric)
    one = primitives()[parsed.primitive]
    if parsed.operators:
        return f"{parsed} ({one.title})"
    return f"{one.title}, {one.unit}" if one.unit else one.title


def _draw_map(
    figure: Figure,
    axis: Axes,
    drive: Drive,
    values: NDArray[np.float64],
    alarmed: NDArray[np.bool_],
    label: str,
) -> None:
    from matplotlib.collections import LineCollection

    way = np.column_stack([drive.signals["x"], drive.signals["y"]])
    pieces = np.stack([way[:-1], way[1:]], axis=1)
    # Under the colours, so that the marked sectors stand out as a border.
    axis.add_collection(LineCollection(list(pieces[alarmed[:-1]]), colors=_ALARM, linewidths=11, alpha=0.45))
    joined = ~drive.gaps
    coloured = LineCollection(list(pieces[joined]), cmap="viridis", linewidths=4)
    coloured.set_array(values[:-1][joined])
    axis.add_collection(coloured)
    figure.colorbar(coloured, ax=axis, label=label, shrink=0.8)
    for number, first in enumerate(np.searchsorted(drive.sectors, np.arange(len(drive.sector_names)))):
        axis.plot(*way[first], marker="o", markersize=3, color="#555555")
        axis.annotate(
            drive.sector_names[number],
            way[first],
            textcoords="offset points",
            xytext=(5, 5),
            fontsize=7,
            color=_ALARM if alarmed[first] else "#555555",
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.7},
            zorder=4,
        )
    _mark_events(axis, drive, way)
    middle = (np.nanmin(way, axis=0) + np.nanmax(way, axis=0)) / 2
    reach = max(_LEAST_EXTENT, float((np.nanmax(way, axis=0) - np.nanmin(way, axis=0)).max())) / 2 * 1.12
    axis.set_xlim(middle[0] - reach, middle[0] + reach)
    axis.set_ylim(middle[1] - reach, middle[1] + reach)
    axis.set_aspect("equal")
    axis.set_xlabel("m east")
    axis.set_ylabel("m north")


def _mark_events(axis: Axes, drive: Drive, way: NDArray[np.float64]) -> None:
    for name, (marker, color) in _MARKS.items():
        happening = drive.events.get(name)
        if happening is None or not happening.any():
            continue
        begins = happening & ~np.concatenate([[False], happening[:-1]])
        axis.plot(
            *way[begins].T, linestyle="", marker=marker, color=color, markersize=9, label=name, zorder=5
        )
        axis.legend(loc="upper right", frameon=False)


def _draw_along(
    axis: Axes, drive: Drive, values: NDArray[np.float64], alarmed: NDArray[np.bool_], label: str
) -> None:
    driven = drive.signals.get("distance")
    across, unit = (driven, "m driven") if driven is not None else (drive.time, "s")
    for start, end in _stretches(alarmed):
        axis.axvspan(across[start], across[end - 1], color=_ALARM, alpha=0.25, linewidth=0)
    shown = values.copy()
    shown[:-1][drive.gaps] = np.nan
    axis.plot(across, shown, color=PALETTE[0], linewidth=1.2)
    for name, (marker, color) in _MARKS.items():
        if (happening := drive.events.get(name)) is not None and happening.any():
            axis.plot(
                across[happening], values[happening], linestyle="", marker=marker, color=color, markersize=3
            )
    for first in np.flatnonzero(np.diff(drive.sectors)) + 1:
        axis.axvline(across[first], color="#bbbbbb", linewidth=0.7)
    axis.set_xlabel(unit)
    axis.set_ylabel(label)


def _stretches(flags: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    yield from zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True)


SHOWN = ("Mean(SP)", "SD(SP)", "SD(LP)", "Max(LP)", "SD(SA)", "Count(LCR)", "Count(CR)")
"""The metrics of a table that fits on a screen."""


def as_number(value: float) -> float | str | None:
    """Return a number for JSON: nothing where it is not known, a word where it is infinite."""
    if math.isnan(value):
        return None
    return "inf" if math.isinf(value) else value


def drive_facts(drive: Drive) -> dict[str, object]:
    """Return what a drive was, in numbers for JSON."""
    driven = drive.signals.get("distance")
    return {
        "drive": drive.name,
        "ended": drive.ended or None,
        "rows": len(drive),
        "seconds": drive.duration,
        "metres": None if driven is None else as_number(float(np.nanmax(driven) - np.nanmin(driven))),
        "sectors": list(drive.sector_names),
        "events": {
            name: int(np.count_nonzero(np.diff(flags.astype(np.int8), prepend=0) == 1))
            for name, flags in drive.events.items()
        },
        "notes": list(drive.notes),
    }


def sector_rows(
    table: MetricTable, partial: Sequence[bool] | None = None
) -> list[dict[str, float | str | None]]:
    """Return a row for each sector, with all its metrics, and whether the drive ended in the middle of it."""
    return [
        {
            "drive": table.drive,
            "sector": name,
            **({} if partial is None else {"partial": partial[number]}),
            **{metric: as_number(float(values[number])) for metric, values in table.values.items()},
        }
        for number, name in enumerate(table.sectors)
    ]


def sector_table(
    table: MetricTable, metrics: Sequence[str] = SHOWN, partial: Sequence[bool] | None = None
) -> ResultTable:
    """Return some metrics of each sector, with their units; an asterisk marks a sector that is not whole."""
    known = [name for name in metrics if name in table.values]
    units = [("", *map(unit_of, known))] if known else []
    rows = [
        (
            f"{name} *" if partial is not None and partial[number] else name,
            *(f"{table.values[metric][number]:.3g}" for metric in known),
        )
        for number, name in enumerate(table.sectors)
        if known
    ]
    note = "* The drive ended in the middle of this sector." if partial is not None and any(partial) else ""
    return ResultTable("", ("sector", *known), (*units, *rows), note)


def catalogue_rows(drive: Drive | None, settings: MetricSettings | None = None) -> list[dict[str, object]]:
    """Return what there is to measure; with a drive, also whether it allows it and what it lacks."""
    lacking = {} if drive is None else availability(drive, settings=settings)
    rows: list[dict[str, object]] = []
    for entry in CATALOGUE:
        name = str(entry.metric)
        row: dict[str, object] = {
            "metric": name,
            "meaning": meaning_of(name),
            "block": primitives()[entry.metric.primitive].group,
            "unit": unit_of(name),
            "uses": entry.uses,
        }
        if drive is not None:
            row |= {"computable": not lacking[name], "missing": lacking[name]}
        rows.append(row)
    return rows


def write_rows(rows: Sequence[Mapping[str, object]], path: Path) -> None:
    """Write rows as CSV; a value that is not known is an empty cell.

    Raises:
        InputError: The file cannot be written.
    """
    columns = list(rows[0]) if rows else []
    write_text(path, csv_text(columns, ([one.get(name) for name in columns] for one in rows)))
