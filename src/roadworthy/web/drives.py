"""The page Drives: recorded drives on a map, coloured by a metric, with alarms and films."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Request, Response
from markupsafe import Markup
from numpy.typing import NDArray

from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.drive import failing_sectors, partial_sectors
from roadworthy.driving.drives.readers import read_drive
from roadworthy.driving.drives.readers.recorded import DRIVE_FILE
from roadworthy.driving.metrics import compute, meaning_of, unit_of
from roadworthy.driving.requirements import Thresholds, read_thresholds
from roadworthy.errors import InputError
from roadworthy.report.driving import LEAST_EXTENT, alarmed_steps, metric_label, stretches, values_along
from roadworthy.report.html.charts import Chart, drawing, element, polyline
from roadworthy.report.results import number
from roadworthy.web.pages import shown_file
from roadworthy.web.services import Here, RunFolder
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


COLOURS = (
    "#440154", "#482878", "#3e4989", "#31688e", "#26828e",
    "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725",
)  # fmt: skip
"""Viridis in ten steps, from low to high: told apart also by people who do not see all colours."""

_UNKNOWN = "#8a8a8a"
_WIDTH = 640
_EDGE = 28
_POINTS = 1500
_EVENTS = {"crash": "crash", "collision": "crash", "line crossing": "crossing"}


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
    parts = [
        _path("alarm", places[start : end + 1]) for start, end in stretches(alarmed_steps(drive, alarms))
    ]
    # A border, without which dark colours would be lost on a dark page.
    parts.append(_path("casing", places[kept]))
    steps = _steps(values, low, top)
    for first, last in _runs(steps[kept]):
        step = int(steps[kept[first]])
        # To the next point, so that neighbours touch.
        joined = kept[first : last + 1]
        if len(joined) > 1:
            parts.append(_path("way", places[joined], stroke=COLOURS[step] if step >= 0 else _UNKNOWN))
    parts += [*_names(drive, places, alarms), *_marks(drive, places)]
    title = f"Route of {drive.name}, coloured by {label}: {number(low)} to {number(top)}"
    return drawing("map", _WIDTH, high, title, parts) + _legend(low, top, label)


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
        title=f"{label} along the route",
        x_label="m driven" if known else "s",
        y_label=label,
    )
    for start, end in stretches(alarmed_steps(drive, alarms)):
        chart.band(float(across[start]), float(across[end - 1]), "alarmed")
    for border in np.flatnonzero(np.diff(drive.sectors)) + 1:
        chart.upright(float(across[border]), "sector")
    kept = _thinned(len(drive))
    for first, last in stretches(np.isfinite(values[kept])):
        chart.line(((float(across[one]), float(values[one])) for one in kept[first:last]), "line-1")
    return chart.svg()


def _on_paper(way: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return places on paper, north up, and how high the paper is."""
    low, high = np.nanmin(way, axis=0), np.nanmax(way, axis=0)
    spread = np.maximum(high - low, LEAST_EXTENT)
    middle = (low + high) / 2
    scale = min((_WIDTH - 2 * _EDGE) / float(spread[0]), 1.1 * _WIDTH / float(spread[1]))
    height = round(float(spread[1]) * scale) + 2 * _EDGE
    return (way - middle) * (scale, -scale) + (_WIDTH / 2, height / 2), height


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


def _path(kind: str, places: NDArray[np.float64], **attributes: object) -> Markup:
    return polyline(kind, places[np.isfinite(places).all(axis=1)].tolist(), **attributes)


def _names(drive: Drive, places: NDArray[np.float64], alarms: Collection[str]) -> Iterator[Markup]:
    firsts = np.searchsorted(drive.sectors, np.arange(len(drive.sector_names)))
    for name, first in zip(drive.sector_names, firsts, strict=True):
        if first >= len(places) or not np.isfinite(places[first]).all():
            continue
        x, y = places[first].tolist()
        yield element("circle", "begin", cx=x, cy=y, r=2.5)
        kind = "name alarmed" if name in alarms else "name"
        # At the right edge to the left of its place, or it would be cut off.
        anchor, beside = ("end", -6) if x > 0.8 * _WIDTH else ("start", 6)
        yield element("text", kind, name, x=x + beside, y=y - 6, text_anchor=anchor)


def _marks(drive: Drive, places: NDArray[np.float64]) -> Iterator[Markup]:
    for name, kind in _EVENTS.items():
        if (happening := drive.events.get(name)) is None:
            continue
        begins = happening & ~np.concatenate([[False], happening[:-1]])
        for row in np.flatnonzero(begins & np.isfinite(places).all(axis=1)):
            x, y = places[row]
            title = element("title", "", f"{name} at {drive.time[row]:.1f} s")
            yield element("path", f"event {kind}", title, d=f"M{x:.1f} {y:.1f}m-6 -6l12 12m0 -12l-12 12")


def _legend(low: float, top: float, label: str) -> Markup:
    cells = (
        element("rect", x=16 * place, y=0, width=16, height=10, fill=colour)
        for place, colour in enumerate(COLOURS)
    )
    scale = element("svg", "", *cells, viewBox="0 0 160 10", width=160, height=10, aria_hidden="true")
    words = [element("span", "", text) for text in (number(low), number(top), label)]
    return element("p", "map-legend small", words[0], scale, *words[1:])


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
        map: The way; None where it is not known where it was.
        along: The metric along the way.
        columns: The metrics of the table, with units and meanings.
        sectors: Of each sector its name, whether the drive ended in its middle, and the metrics in words.
        alarms: Why sectors are marked.
        oracle: The thresholds that were used.
        films: Names of films beside the drive.
    """

    drive: Drive
    meaning: str
    map: Markup | None
    along: Markup
    columns: tuple[tuple[str, str, str], ...]
    sectors: tuple[tuple[str, bool, tuple[str, ...]], ...]
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
    label, meaning, unit = metric_label(metric), meaning_of(metric), unit_of(metric)
    thresholds = _thresholds(folder, root)
    alarms = _alarms(drive, thresholds)
    for name in failing_sectors(drive):
        alarms.setdefault(name, []).insert(0, "crash, collision or line crossing")
    table = compute(drive)
    shown = [name for name in _SHOWN if name in table.values]
    rows = zip(*(map(_told, table.values[name].tolist()) for name in shown), strict=True)
    return ShownDrive(
        drive,
        f"{meaning}, {unit}" if unit else meaning,
        drive_map(drive, values, alarms, label),
        along(drive, values, alarms, label),
        tuple((name, unit_of(name), meaning_of(name)) for name in shown),
        tuple(zip(table.sectors, partial_sectors(drive), rows, strict=True)),
        alarms,
        thresholds,
        tuple(sorted(one.name for one in folder.iterdir() if one.suffix.lower() in FILMS)),
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


def _told(value: float) -> str:
    return "–" if math.isnan(value) else number(value)


router = APIRouter(prefix="/drives")

Short = Annotated[str, Query(max_length=500)]


@router.get("")
def page(request: Request, services: Here) -> Response:
    """Return the list of drives."""
    drives = [
        (name, drive)
        for name in services.folders.names
        for drive in find_drives(services.folders.folder(name))
    ]
    return services.pages.page(request, "drives.html", drives=drives)


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
def film(root: RunFolder, file: Short, drive: Short = ".") -> Response:
    """Return a film that lies beside a drive."""
    place = find_drives(root).get(drive)
    found = None if place is None else file_below(place, file)
    return shown_file(found, films=True, otherwise="This drive has no such film.")
