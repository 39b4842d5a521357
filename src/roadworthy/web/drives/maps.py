"""The way that was driven as SVG: coloured by a metric, with alarms and events."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from roadworthy.driving.drives import Drive
from roadworthy.report.html.charts import Chart
from roadworthy.report.html.formats import number

__all__ = ["COLOURS", "along", "drive_map"]

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
