"""The page Drives: recorded drives on a map, coloured by a metric, with alarms and films."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Request, Response
from numpy.typing import NDArray

from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.drive import failing_sectors, partial_sectors
from roadworthy.driving.drives.readers import read_drive
from roadworthy.driving.drives.readers.recorded import DRIVE_FILE
from roadworthy.driving.metrics import compute, meaning_of, unit_of
from roadworthy.driving.requirements import Thresholds, read_thresholds
from roadworthy.errors import InputError
from roadworthy.report.driving import metric_label, values_along
from roadworthy.report.results import number
from roadworthy.web.pages import shown_file
from roadworthy.web.services import Here, RunFolder, Services
from roadworthy.web.settings import FILMS, file_below

_DEPTH = 4
_MOST = 500


def find_drives(folder: Path) -> dict[str, Path]:
    """Return the folders of recorded drives below a folder, by their paths in it; "." is the folder itself.

    No more than 500 are returned, none deeper than four folders, and none that lies elsewhere in truth.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Path(folder, "good", "town").mkdir(parents=True)
        ...     _ = Path(folder, "good", "town", "drive.parquet").write_bytes(b"")
        ...     list(find_drives(Path(folder)))
        ['good/town']
    """
    found: dict[str, Path] = {}
    for place in _folders(folder):
        name = place.relative_to(folder).as_posix()
        drives = {name: place / DRIVE_FILE}
        if place.name == "drives":
            # A run keeps its own side by side.
            files = (one for one in sorted(place.glob("*.parquet")) if one.name != DRIVE_FILE)
            drives |= {f"{name}/{one.stem}": one for one in files if one.name.isprintable()}
        for one, file in drives.items():
            if len(found) < _MOST and file_below(folder, file.relative_to(folder).as_posix()) is not None:
                found[one] = place if file.name == DRIVE_FILE else file
    return found


def _folders(folder: Path) -> Iterator[Path]:
    for place, names, _ in os.walk(folder):
        # In order, so that the same ones are found every time; a run's images and rows hold no drives.
        # A name that cannot be shown cannot stand in an address either.
        names[:] = sorted(
            one
            for one in names
            if one not in ("images", "cases") and not one.startswith(".") and one.isprintable()
        )
        here = Path(place)
        if len(here.relative_to(folder).parts) >= _DEPTH:
            names.clear()
        yield here


_POINTS = 1500
_EVENTS = "crash", "collision", "line crossing"
_SIGNALS = "x", "y", "distance", "speed", "steering"


def track_of(
    drive: Drive, values: NDArray[np.float64], alarms: Collection[str], label: str
) -> dict[str, Any]:
    """Return what the page draws of a drive: rows at even distances, and those in which something happened.

    Args:
        drive: The drive.
        values: A number for each step, which colours the way.
        alarms: The sectors that are marked.
        label: What the numbers are.

    Example:
        >>> drive = Drive("lap", [0.0, 0.1, 0.2], {"x": [0.0, 9.0, 18.0], "y": [0.0, 1.0, 5.0]})
        >>> track_of(drive, np.array([0.0, np.nan, 2.0]), (), "speed")["signals"]["value"]
        [0.0, None, 2.0]
    """
    begins = {
        name: np.flatnonzero(on & ~np.concatenate([[False], on[:-1]]))
        for name in _EVENTS
        if (on := drive.events.get(name)) is not None
    }
    even = np.linspace(0, len(drive) - 1, min(len(drive), _POINTS)).astype(np.intp)
    kept = np.unique(np.concatenate([even, *begins.values()]))
    signals = {"value": values} | {name: drive.signals[name] for name in _SIGNALS if name in drive.signals}
    return {
        "name": drive.name,
        "label": label,
        "time": drive.time[kept].round(4).tolist(),
        "signals": {
            name: [one if math.isfinite(one) else None for one in numbers[kept].round(6).tolist()]
            for name, numbers in signals.items()
        },
        "sectors": drive.sectors[kept].tolist(),
        "names": drive.sector_names,
        "alarms": list(alarms),
        "events": [
            {"name": name, "row": int(np.searchsorted(kept, row))}
            for name, rows in begins.items()
            for row in rows
        ],
    }


METRICS = ("LP", "SP", "SA", "ACC", "SAS", "TPP", "BPP", "HP", "SD(LP)", "SD(SP)", "SD(SA)", "Max(LP)")
"""What is offered to colour the way; any other metric can be typed."""
_SHOWN = ("Mean(SP)", "SD(SP)", "SD(LP)", "Max(LP)", "SD(SA)")
ORACLE = "oracle.json"


@dataclass(frozen=True)
class ShownDrive:
    """A drive as the page shows it.

    Attributes:
        drive: The drive.
        meaning: What the metric means.
        track: The way and signals along it, for the page to draw.
        columns: The metrics of the table, with units and meanings.
        sectors: Of each sector its name, whether the drive ended in its middle, and the metrics.
        alarms: Why sectors are marked.
        oracle: The thresholds that were used.
        films: Names of films beside the drive.
    """

    drive: Drive
    meaning: str
    track: Mapping[str, Any]
    columns: tuple[tuple[str, str, str], ...]
    sectors: tuple[tuple[str, bool, tuple[float, ...]], ...]
    alarms: Mapping[str, list[str]]
    oracle: Thresholds | None
    films: tuple[str, ...]

    @property
    def facts(self) -> str:
        """How far and how long, in words."""
        driven = self.drive.signals.get("distance")
        metres = "" if driven is None or not len(driven) else f"{number(float(driven[-1] - driven[0]))} m in "
        return f"{metres}{number(self.drive.duration)} s"


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
    meaning, unit = meaning_of(metric), unit_of(metric)
    thresholds = _thresholds(folder, root)
    alarms = _alarms(drive, thresholds)
    for name in failing_sectors(drive):
        alarms.setdefault(name, []).insert(0, "crash, collision or line crossing")
    table = compute(drive)
    shown = [name for name in _SHOWN if name in table.values]
    rows = zip(*(table.values[name].tolist() for name in shown), strict=True)
    ways = thresholds and dict(thresholds.directions)
    films = folder.iterdir() if folder.is_dir() else ()
    limits = {} if thresholds is None else dict(thresholds.values)
    told = {"metric": metric, "unit": unit, "limits": limits}
    return ShownDrive(
        drive,
        f"{meaning}, {unit}" if unit else meaning,
        track_of(drive, values, alarms, metric_label(metric)) | told | {"ways": ways},
        tuple((name, unit_of(name), meaning_of(name)) for name in shown),
        tuple(zip(table.sectors, partial_sectors(drive), rows, strict=True)),
        alarms,
        thresholds,
        tuple(sorted(one.name for one in films if one.suffix.lower() in FILMS)),
    )


def _thresholds(folder: Path, root: Path | None) -> Thresholds | None:
    found = next((one for one in (folder, root or folder) if (one / ORACLE).is_file()), None)
    return None if found is None else read_thresholds(found / ORACLE)


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


router = APIRouter(prefix="/drives")

Short = Annotated[str, Query(max_length=500)]


@router.get("")
def page(request: Request, services: Here) -> Response:
    """Return the list of drives."""
    return services.pages.page(request, "drives.html", drives=_all_drives(services))


def _all_drives(services: Services) -> list[tuple[str, str]]:
    """Return the drives of all folders: the name of the folder, and the path in it."""
    folders = services.folders
    return [(name, drive) for name in folders.names for drive in find_drives(folders.folder(name))]


@router.get("/{name}")
def drive(
    request: Request, services: Here, root: RunFolder, name: str, drive: Short = ".", metric: Short = "LP"
) -> Response:
    """Return one drive."""
    if (place := find_drives(root).get(drive)) is None:
        raise HTTPException(404, "There is no such drive. The page Drives lists all of them.")
    found: ShownDrive | None = None
    problem = ""
    try:
        found = show_drive(place, metric, root)
    except InputError as error:
        problem = str(error)
    metrics = {one: metric_label(one) for one in (*METRICS, metric) if found or one != metric}
    others = [one for one in _all_drives(services) if one != (name, drive)]
    shown: dict[str, Any] = {"name": name, "drive": drive, "metric": metric, "metrics": metrics}
    return services.pages.page(request, "drive.html", found=found, problem=problem, others=others, **shown)


@router.get("/{name}/film")
def film(root: RunFolder, file: Short, drive: Short = ".") -> Response:
    """Return a film that lies beside a drive."""
    place = find_drives(root).get(drive)
    found = None if place is None else file_below(place, file)
    return shown_file(found, films=True, otherwise="This drive has no such film.")
