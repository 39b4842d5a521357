"""What drives were like, as tables: sector by sector, and what there is to measure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from roadworthy._files import write_text
from roadworthy._tables import csv_text
from roadworthy.driving.drives import Drive
from roadworthy.driving.metrics import (
    CATALOGUE,
    MetricSettings,
    MetricTable,
    availability,
    meaning_of,
    primitives,
    unit_of,
)
from roadworthy.result_tables import ResultTable

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
    """Return a row for each sector, with all its metrics, and whether the drive ended inside the sector."""
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
