"""The built-in tracks, from easy to hard."""

from __future__ import annotations

import copyreg
from functools import cache
from typing import Any

from roadworthy.errors import SceneError, suggest
from roadworthy.world.track import Track, Zone

__all__ = ["HELD_OUT_TRACK_NAMES", "TRACK_NAMES", "track"]

_KMH = 1 / 3.6


def _meadow() -> Track:
    return Track(
        "meadow",
        [(0, 0), (230, -20), (330, 90), (300, 230), (120, 270), (-60, 240), (-110, 110)],
        corner_radius=62,
        hills=[(0.6, 2, 0.3)],
        zones=(
            Zone(0, "rural", 70 * _KMH),
            Zone(260, "suburban", 50 * _KMH),
            Zone(520, "rural", 80 * _KMH, ("dash", "yellow")),
            Zone(800, "suburban", 50 * _KMH),
        ),
        summary="easy: wide bends through meadows and a suburb, almost flat",
    )


def _town() -> Track:
    return Track(
        "town",
        [(0, 0), (180, 0), (180, 110), (290, 110), (290, 270), (120, 270), (120, 180), (0, 180)],
        corner_radius=34,
        hills=[(1.4, 2, 0.0), (0.5, 5, 1.0)],
        zones=(
            Zone(0, "urban", 50 * _KMH, ("dash", "yellow")),
            Zone(330, "suburban", 50 * _KMH),
            Zone(480, "urban", 40 * _KMH, ("solid", "yellow")),
            Zone(760, "urban", 50 * _KMH),
        ),
        summary="medium: city blocks with square bends, crossings and traffic lights",
    )


def _mountain() -> Track:
    return Track(
        "mountain",
        [
            *((0, 0), (150, 30), (240, -40), (330, 40), (300, 130), (210, 120), (190, 200), (290, 240)),
            *((260, 330), (130, 300), (100, 220), (20, 260), (-70, 190), (-20, 100), (-80, 40)),
        ],
        corner_radius=42,
        hills=[(5.0, 2, 0.5), (1.6, 5, 1.7), (0.4, 11, 0.2)],
        zones=(
            Zone(0, "forest", 80 * _KMH, ("solid", "yellow")),
            Zone(420, "rural", 70 * _KMH, ("dash", "yellow")),
            Zone(760, "forest", 70 * _KMH, ("solid", "white")),
            Zone(1010, "suburban", 50 * _KMH),
        ),
        summary="hard: tight bends over steep hills, mostly through forest",
    )


def _coast() -> Track:
    return Track(
        "coast",
        [
            *((0, 0), (140, -50), (270, 0), (330, 120), (250, 190), (270, 300), (120, 340)),
            *((20, 260), (-90, 250), (-60, 110)),
        ],
        corner_radius=50,
        hills=[(2.2, 3, 0.9), (0.7, 7, 0.1)],
        zones=(
            Zone(0, "rural", 80 * _KMH, ("dash", "white")),
            Zone(340, "suburban", 50 * _KMH, ("solid", "white")),
            Zone(560, "forest", 70 * _KMH, ("solid", "yellow")),
            Zone(860, "rural", 70 * _KMH, ("dash", "yellow")),
        ),
        summary="held out: bends of all widths over low hills, through open country and woods",
    )


def _village() -> Track:
    return Track(
        "village",
        [(0, 0), (120, -30), (210, 40), (330, 20), (360, 140), (250, 200), (230, 310), (80, 290), (-30, 170)],
        corner_radius=38,
        hills=[(1.0, 3, 0.4)],
        zones=(
            Zone(0, "suburban", 50 * _KMH),
            Zone(230, "urban", 40 * _KMH, ("solid", "white")),
            Zone(520, "urban", 50 * _KMH, ("dash", "yellow")),
            Zone(800, "rural", 70 * _KMH, ("solid", "yellow")),
        ),
        summary="held out: crooked streets with crossings and lights, and a stretch of open country",
    )


_BUILDERS = {"meadow": _meadow, "town": _town, "mountain": _mountain, "coast": _coast, "village": _village}

TRACK_NAMES = ("meadow", "town", "mountain")
"""Names of the built-in tracks in order of rising difficulty."""

HELD_OUT_TRACK_NAMES = ("coast", "village")
"""Names of tracks that no network which comes with the package was trained on. A data set has them only when
it is asked for them by name."""


@cache
def track(name: str) -> Track:
    """Return a built-in track by name.

    Example:
        >>> from roadworthy.world import track
        >>> track("meadow").name
        'meadow'
    """
    if name not in _BUILDERS:
        raise SceneError(f"unknown track {name!r}: {suggest(name, _BUILDERS)}")
    return _BUILDERS[name]()


def _reduced(road: Track) -> Any:
    """Pickle a built-in track by its name: smaller, and what is kept by identity stays valid."""
    if road.name in _BUILDERS and road is track(road.name):
        return track, (road.name,)
    return object.__reduce_ex__(road, 2)


copyreg.pickle(Track, _reduced)
