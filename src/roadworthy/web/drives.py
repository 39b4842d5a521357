"""The page Drives: recorded drives on a map, coloured by a metric, with alarms and films."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Request, Response
from markupsafe import Markup
from numpy.typing import NDArray

from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.drive import partial_sectors
from roadworthy.driving.drives.readers import read_drive
from roadworthy.driving.drives.readers.recorded import DRIVE_FILE
from roadworthy.driving.metrics import compute, meaning_of, unit_of
from roadworthy.driving.requirements import Thresholds, read_thresholds
from roadworthy.errors import InputError
from roadworthy.report.driving import failing_sectors, metric_label, values_along
from roadworthy.report.html.charts import Chart
from roadworthy.report.results import number
from roadworthy.web.pages import shown_file
from roadworthy.web.services import services_of
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
        if file_below(folder, f"{name}/{DRIVE_FILE}") is not None:
            found[name] = place
            if len(found) == _MOST:
                break
    return found


def _folders(folder: Path) -> Iterator[Path]:
    for place, names, _ in os.walk(folder):
        # In order, so that the same ones are found every time; a run's images and rows hold no drives.
        names[:] = sorted(one for one in names if one not in ("images", "cases") and not one.startswith("."))
        here = Path(place)
        if len(here.relative_to(folder).parts) >= _DEPTH:
            names.clear()
        yield here


COLOURS = (
    "#440154", "#482878", "#3e4989", "#31688e", "#26828e",
    "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725",
)  # fmt: skip
"""Viridis in ten steps, from low to high: told apart also by people who do not see all colours."""

_WIDTH = 640
_EDGE = 28
_POINTS = 1500
_EVENTS = {"crash": "crash", "collision": "crash", "line crossing": "crossing"}
_LEAST = 30.0  # metres; a map of less would show a step as a journey


def drive_map(
    drive: Drive, values: NDArray[np.float64], alarms: Collection[str], label: str
) -> Markup | None:
    """Return the map of a drive; None where it is not known where it was.

    Args:
        drive: The drive.
        values: A number for each step, which colours it.
        alarms: The sectors that are marked.
        label: What the numbers are.

    Example:
        >>> drive = Drive("lap", [0.0, 0.1, 0.2], {"x": [0.0, 9.0, 18.0], "y": [0.0, 1.0, 5.0]})
        >>> str(drive_map(drive, np.array([0.0, 1.0, 2.0]), (), "speed")).count('class="way"')
        2
    """
    if not all(name in drive.signals for name in ("x", "y")):
        return None
    way = np.column_stack([drive.signals["x"], drive.signals["y"]])
    if not np.isfinite(way).all(axis=1).any():
        return None
    places, high = _on_paper(way)
    low, top = _range(values)
    kept = _thinned(len(drive))
    alarmed = np.isin(np.array(drive.sector_names)[drive.sectors], list(alarms))
    parts = [
        Markup('<polyline class="alarm" points="{}"/>').format(_points(places[start : end + 1]))
        for start, end in _stretches(alarmed)
    ]
    # A border, without which dark colours would be lost on a dark page.
    parts.append(Markup('<polyline class="casing" points="{}"/>').format(_points(places[kept])))
    steps = _steps(values, low, top)
    for first, last in _runs(steps[kept]):
        step = int(steps[kept[first]])
        colour = COLOURS[step] if step >= 0 else "#8a8a8a"
        # To the next point, so that neighbours touch.
        joined = kept[first : last + 1]
        if len(joined) > 1:
            parts.append(
                Markup('<polyline class="way" stroke="{}" points="{}"/>').format(
                    colour, _points(places[joined])
                )
            )
    parts += _names(drive, places, alarms)
    parts += _marks(drive, places)
    return Markup('<svg class="map" viewBox="0 0 {} {}" role="img"><title>{}</title>{}</svg>{}').format(
        _WIDTH,
        high,
        f"The way of {drive.name}, coloured by {label}: {number(low)} to {number(top)}",
        Markup("").join(parts),
        _legend(low, top, label),
    )


def along(drive: Drive, values: NDArray[np.float64], alarms: Collection[str], label: str) -> Markup:
    """Return the metric along the way."""
    driven = drive.signals.get("distance")
    known = driven is not None and np.isfinite(driven).all()
    across = driven if driven is not None and known else drive.time
    low, top = _range(values)
    room = (top - low) * 0.06 or 1.0
    chart = Chart(
        (float(across[0]), float(across[-1])),
        (low - room, top + room),
        title=f"{label} along the way",
        x_label="m driven" if known else "s",
        y_label=label,
    )
    alarmed = np.isin(np.array(drive.sector_names)[drive.sectors], list(alarms))
    for start, end in _stretches(alarmed):
        chart.band(float(across[start]), float(across[end - 1]), "alarmed")
    for border in np.flatnonzero(np.diff(drive.sectors)) + 1:
        chart.upright(float(across[border]), "sector")
    kept = _thinned(len(drive))
    finite = np.isfinite(values[kept])
    for first, last in _runs(finite.astype(np.int64)):
        if finite[first]:
            chart.line([(float(across[one]), float(values[one])) for one in kept[first:last]], "line-1")
    return chart.svg()


def _on_paper(way: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return places on paper, north up, and how high the paper is."""
    low, high = np.nanmin(way, axis=0), np.nanmax(way, axis=0)
    spread = np.maximum(high - low, _LEAST)
    middle = (low + high) / 2
    scale = (_WIDTH - 2 * _EDGE) / float(spread[0])
    tall = min(float(spread[1]) * scale, 1.1 * _WIDTH)
    scale = min(scale, tall / float(spread[1]))
    height = round(float(spread[1]) * scale) + 2 * _EDGE
    placed = (way - middle) * (scale, -scale) + (_WIDTH / 2, height / 2)
    return placed, height


def _range(values: NDArray[np.float64]) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)


def _steps(values: NDArray[np.float64], low: float, top: float) -> NDArray[np.int64]:
    """Return the colour of each value; -1 where there is none."""
    share = (np.nan_to_num(values, nan=low, posinf=top, neginf=low) - low) / ((top - low) or 1.0)
    steps = np.clip((share * len(COLOURS)).astype(np.int64), 0, len(COLOURS) - 1)
    return np.where(np.isfinite(values), steps, -1)


def _thinned(count: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, count - 1, min(count, _POINTS)).astype(np.int64))


def _runs(steps: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield where equal neighbours begin and end."""
    edges = np.concatenate([[0], np.flatnonzero(np.diff(steps)) + 1, [len(steps)]])
    yield from zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)


def _stretches(flags: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    for first, last in _runs(flags.astype(np.int64)):
        if len(flags) and flags[first]:
            yield first, last


def _points(places: NDArray[np.float64]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places if np.isfinite(x) and np.isfinite(y))


def _names(drive: Drive, places: NDArray[np.float64], alarms: Collection[str]) -> Iterator[Markup]:
    firsts = np.searchsorted(drive.sectors, np.arange(len(drive.sector_names)))
    for name, first in zip(drive.sector_names, firsts, strict=True):
        if first >= len(places) or not np.isfinite(places[first]).all():
            continue
        x, y = places[first]
        yield Markup('<circle class="begin" cx="{:.1f}" cy="{:.1f}" r="2.5"/>').format(x, y)
        kind = "name alarmed" if name in alarms else "name"
        # At the right edge to the left of its place, or it would be cut off.
        anchor, beside = ("end", -6) if x > 0.8 * _WIDTH else ("start", 6)
        yield Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
            kind, x + beside, y - 6, anchor, name
        )


def _marks(drive: Drive, places: NDArray[np.float64]) -> Iterator[Markup]:
    for name, kind in _EVENTS.items():
        happening = drive.events.get(name)
        if happening is None:
            continue
        begins = happening & ~np.concatenate([[False], happening[:-1]])
        for row in np.flatnonzero(begins):
            x, y = places[row]
            if np.isfinite(x) and np.isfinite(y):
                yield Markup(
                    '<path class="event {}" d="M{:.1f} {:.1f}m-6 -6l12 12m0 -12l-12 12">'
                    "<title>{}</title></path>"
                ).format(kind, x, y, f"{name} at {drive.time[row]:.1f} s")


def _legend(low: float, top: float, label: str) -> Markup:
    cells = Markup("").join(
        Markup('<rect x="{}" y="0" width="16" height="10" fill="{}"/>').format(16 * place, colour)
        for place, colour in enumerate(COLOURS)
    )
    return Markup(
        '<p class="map-legend small"><span>{}</span><svg viewBox="0 0 160 10" width="160" height="10" '
        'aria-hidden="true">{}</svg><span>{}</span><span>{}</span></p>'
    ).format(number(low), cells, number(top), label)


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


router = APIRouter(prefix="/drives")

Short = Annotated[str, Query(max_length=500)]


@router.get("")
def page(request: Request) -> Response:
    """Return the list of drives."""
    services = services_of(request)
    drives = [
        (name, drive)
        for name in services.folders.names
        for drive in find_drives(services.folders.folder(name))
    ]
    return services.pages.page(request, "drives.html", drives=drives)


@router.get("/{name}")
def drive(request: Request, name: str, drive: Short = ".", metric: Short = "LP") -> Response:
    """Return one drive."""
    services = services_of(request)
    if name not in services.folders.names:
        raise HTTPException(404, "There are no such drives: all of them are on the page Drives.")
    root = services.folders.folder(name)
    place = find_drives(root).get(drive)
    if place is None:
        raise HTTPException(404, "There is no such drive: all of them are on the page Drives.")
    found: ShownDrive | None = None
    problem = ""
    try:
        found = show_drive(place, metric, root)
    except InputError as error:
        problem = str(error)
    return services.pages.page(
        request,
        "drive.html",
        name=name,
        drive=drive,
        metric=metric,
        metrics=METRICS,
        found=found,
        problem=problem,
    )


@router.get("/{name}/film")
def film(request: Request, name: str, file: Short, drive: Short = ".") -> Response:
    """Return a film that lies beside a drive."""
    services = services_of(request)
    place = find_drives(services.folders.folder(name)).get(drive) if name in services.folders.names else None
    found = None if place is None else file_below(place, file)
    return shown_file(found, films=True, otherwise="This drive has no such film.")
