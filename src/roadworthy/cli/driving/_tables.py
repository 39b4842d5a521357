"""Metrics of drives as tables for people, as CSV and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy._files import write_text
from roadworthy._tables import csv_text
from roadworthy.cli._console import console, plain_table

if TYPE_CHECKING:
    from roadworthy.driving.drives import Drive
    from roadworthy.driving.metrics import MetricTable


SHOWN = ("Mean(SP)", "SD(SP)", "SD(LP)", "Max(LP)", "SD(SA)", "Count(LCR)", "Count(CR)")
"""The metrics of a table that fits on a screen."""


def as_number(value: float) -> float | str | None:
    """Return a number for JSON: nothing where it is not known, a word where it is infinite."""
    if math.isnan(value):
        return None
    return "inf" if math.isinf(value) else value


def drive_facts(drive: Drive) -> dict[str, object]:
    """Return what a drive was, in numbers for JSON."""
    import numpy as np

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


def print_sectors(table: MetricTable, metrics: Sequence[str], partial: Sequence[bool] | None = None) -> None:
    """Show some metrics of each sector, with their units, and which sector is only a part of one."""
    from roadworthy.driving.metrics import unit_of

    known = [name for name in metrics if name in table.values]
    if not known:
        return
    shown = plain_table("sector", *known)
    shown.add_row("", *(unit_of(name) for name in known), style="dim")
    for column in shown.columns:
        column.no_wrap = True
    for column in shown.columns[1:]:
        column.justify = "right"
    for number, name in enumerate(table.sectors):
        title = f"{name} *" if partial is not None and partial[number] else name
        shown.add_row(title, *(f"{table.values[metric][number]:.3g}" for metric in known))
    console().print(shown)
    if partial is not None and any(partial):
        console().print("* The drive ended in the middle of this sector.", markup=False)


def write_rows(rows: Sequence[Mapping[str, object]], path: Path) -> None:
    """Write rows as CSV; a value that is not known is an empty cell.

    Raises:
        InputError: The file cannot be written.
    """
    columns = list(rows[0]) if rows else []
    write_text(path, csv_text(columns, ([one.get(name) for name in columns] for one in rows)))
