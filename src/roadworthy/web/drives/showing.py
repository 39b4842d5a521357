"""A drive as the page shows it: map, metric along the way, sectors with their alarms, films."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.drive import partial_sectors
from roadworthy.driving.drives.readers import read_drive
from roadworthy.driving.metrics import compute, meaning_of, unit_of
from roadworthy.driving.requirements import Thresholds, read_thresholds
from roadworthy.report.driving import failing_sectors, metric_label, values_along
from roadworthy.report.html.formats import number
from roadworthy.web.drives.maps import along, drive_map
from roadworthy.web.folders import FILMS

__all__ = ["METRICS", "SectorLine", "ShownDrive", "show_drive"]

METRICS = ("LP", "SP", "SA", "ACC", "SAS", "TPP", "BPP", "HP", "SD(LP)", "SD(SP)", "SD(SA)", "Max(LP)")
"""What is offered to colour the way; any other metric can be typed."""
_SHOWN = ("Mean(SP)", "SD(SP)", "SD(LP)", "Max(LP)", "SD(SA)")
ORACLE = "oracle.json"


@dataclass(frozen=True)
class SectorLine:
    """A sector of a drive.

    Attributes:
        name: What it is called.
        partial: Whether the drive ended in its middle.
        values: The shown metrics, in words.
        alarms: Why it is marked; empty where it is not.
    """

    name: str
    partial: bool
    values: tuple[str, ...]
    alarms: tuple[str, ...]


@dataclass(frozen=True)
class ShownDrive:
    """A drive as the page shows it.

    Attributes:
        name: What it is called.
        ended: Why it ended.
        facts: How far and how long, in words.
        notes: What was wrong with the record.
        meaning: What the metric means.
        map: The way; None where it is not known where it was.
        along: The metric along the way.
        columns: The metrics of the table, with units.
        sectors: The sectors.
        oracle: The thresholds that were used; empty where there are none.
        films: Names of films beside the drive.
    """

    name: str
    ended: str
    facts: str
    notes: tuple[str, ...]
    meaning: str
    map: Markup | None
    along: Markup
    columns: tuple[tuple[str, str, str], ...]
    sectors: tuple[SectorLine, ...]
    oracle: str
    films: tuple[str, ...]


def show_drive(folder: Path, metric: str, root: Path | None = None) -> ShownDrive:
    """Return a recorded drive as the page shows it.

    Args:
        folder: The folder of the drive.
        metric: What colours the way.
        root: The folder that was given; thresholds are read from ``oracle.json`` beside the drive or there.

    Raises:
        InputError: The drive or the thresholds cannot be read, or the drive lacks what the metric needs.
    """
    drive = read_drive(str(folder))
    values = values_along(drive, metric)
    label = metric_label(metric)
    thresholds = _thresholds(folder, root)
    failing = failing_sectors(drive)
    alarms = _alarms(drive, thresholds)
    for name in failing:
        alarms.setdefault(name, []).insert(0, "crash, collision or line crossing")
    driven = drive.signals.get("distance")
    metres = "" if driven is None or not len(driven) else f"{number(float(driven[-1] - driven[0]))} m in "
    table = compute(drive)
    shown = [name for name in _SHOWN if name in table.values]
    lines = tuple(
        SectorLine(
            name,
            partial,
            tuple(_told(float(table.values[column][place])) for column in shown),
            tuple(alarms.get(name, ())),
        )
        for place, (name, partial) in enumerate(zip(table.sectors, partial_sectors(drive), strict=True))
    )
    meaning = meaning_of(metric)
    return ShownDrive(
        drive.name,
        drive.ended,
        f"{metres}{number(drive.duration)} s",
        drive.notes,
        f"{meaning}, {unit_of(metric)}" if unit_of(metric) else meaning,
        drive_map(drive, values, list(alarms), label),
        along(drive, values, list(alarms), label),
        tuple((name, unit_of(name), meaning_of(name)) for name in shown),
        lines,
        str(thresholds) if thresholds else "",
        tuple(sorted(one.name for one in folder.iterdir() if one.suffix.lower() in FILMS)),
    )


def _thresholds(folder: Path, root: Path | None) -> Thresholds | None:
    for place in (folder, root or folder):
        if (place / ORACLE).is_file():
            return read_thresholds(place / ORACLE)
    return None


def _alarms(drive: Drive, thresholds: Thresholds | None) -> dict[str, list[str]]:
    """Return which sectors are beyond a threshold, and by which metric."""
    found: dict[str, list[str]] = {}
    if thresholds is None:
        return found
    table = compute(drive, list(thresholds.values))
    for metric, limit in thresholds.values.items():
        for name, value in zip(table.sectors, table.values[metric], strict=True):
            if math.isfinite(value) and thresholds.margin(metric, float(value)) < 0:
                sign = ">" if thresholds.directions[metric] == "up" else "<"
                found.setdefault(name, []).append(f"{metric} {number(float(value))} {sign} {number(limit)}")
    return found


def _told(value: float) -> str:
    return "–" if math.isnan(value) else number(value)
