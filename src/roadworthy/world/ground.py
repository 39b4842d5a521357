"""The ground in view: road, kerbs, sidewalks, verges and everything painted on the road, as flat quads.

The road is cut into strips across the direction of travel. Strips are painted from far to near, so a crest
hides what lies behind it. What is painted on the road is a quad of its own, drawn after the strips below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from roadworthy.world.classes import CROSSWALK, LINE, ROAD, SIDEWALK, STOP_LINE, TERRAIN
from roadworthy.world.mesh import Color
from roadworthy.world.things import Marking
from roadworthy.world.track import LANE_WIDTH, ROAD_HALF_WIDTH, Track

__all__ = ["KERB_HEIGHT", "SIDEWALK_OUTER", "GroundFaces", "ground_faces"]

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

KERB_HEIGHT = 0.12
SIDEWALK_OUTER = 6.6
VIEW_DISTANCE = 220.0
_LINES_UNTIL = 110.0
_DASH, _GAP = 3.0, 6.0
_EDGE_LINE, _CENTRE_LINE = 0.13, 0.15
_VERGE_REACH = 70.0

# Lateral borders of the bands, right-hand side; the left mirrors them.
_BORDERS = {
    "urban": (ROAD_HALF_WIDTH, ROAD_HALF_WIDTH + 0.03, SIDEWALK_OUTER),
    "suburban": (ROAD_HALF_WIDTH, ROAD_HALF_WIDTH + 0.03, SIDEWALK_OUTER - 0.8),
    "rural": (ROAD_HALF_WIDTH, ROAD_HALF_WIDTH + 0.03, ROAD_HALF_WIDTH + 0.9),
    "forest": (ROAD_HALF_WIDTH, ROAD_HALF_WIDTH + 0.03, ROAD_HALF_WIDTH + 0.7),
}
_PAVED = frozenset({"urban", "suburban"})

_ASPHALT: Color = (104, 106, 110)
_PAVEMENT: Color = (168, 164, 156)
_KERB: Color = (190, 188, 182)
_GRAVEL: Color = (140, 128, 106)
_GRASS: dict[str, Color] = {
    "urban": (122, 128, 96),
    "suburban": (106, 142, 70),
    "rural": (124, 146, 72),
    "forest": (92, 108, 62),
}
_PAINT: dict[str, Color] = {"white": (228, 228, 224), "yellow": (226, 178, 52)}


@dataclass(frozen=True, eq=False)
class GroundFaces:
    """Quads of the ground: corners (n, 4, 3) and one row per quad of everything else."""

    corners: Array
    color: Array
    grain: Array
    label: np.ndarray[tuple[int, ...], np.dtype[np.int32]]
    key: Array  # painter's key: larger is painted earlier
    rank: np.ndarray[tuple[int, ...], np.dtype[np.int32]]


def _stations(s: float) -> Floats:
    """Places along the track where strips begin; tied to the track, so that nothing swims."""
    rings = ((2.0, 26.0), (4.0, 62.0), (8.0, 126.0), (16.0, VIEW_DISTANCE))
    marks = []
    start = np.floor((s + 0.5) / 2) * 2
    for step, reach in rings:
        end = np.ceil((s + reach) / (2 * step)) * (2 * step)
        marks.append(np.arange(start, end, step))
        start = end
    return np.concatenate([*marks, [start]])


def ground_faces(
    track: Track, s: float, markings: Sequence[Marking], *, lines: bool, centre: tuple[str, str] | None
) -> GroundFaces:
    """Build the ground ahead of ``s``; ``centre`` overrides type and colour of the centre line."""
    stations = _stations(s)
    road = _Road(track, stations)
    collect = _Collector()
    _add_strips(collect, track, s, road)
    if lines:
        _add_lines(collect, track, s, road, centre)
    for marking in markings:
        gap = track.ahead(s, marking.s)
        if -6 < gap < 120:
            _add_marking(collect, track, s, s + gap, marking.kind)
    return collect.build()


class _Road:
    """The centre line at a list of places, and quads between neighbouring places."""

    def __init__(self, track: Track, stations: Floats) -> None:
        self.stations = stations
        line = track.sample(stations).astype(np.float32)
        self.origin = line[:, :3]
        self.right = np.stack([np.sin(line[:, 3]), -np.cos(line[:, 3])], axis=-1)
        self.curvature = line[:, 4]

    def quads(
        self, d0: float | Array, d1: float | Array, z0: float | Array = 0.0, z1: float | Array = 0.0, *, step: int = 1
    ) -> Array:
        """Quads from each place to the next, from ``d0`` to ``d1`` across; ``step`` 2 takes places in pairs."""
        start, end = slice(0, -1, step), slice(1, None, step)
        count = len(self.stations[start])
        quads = np.empty((count, 4, 3), dtype=np.float32)
        for corner, (at, d, z) in enumerate(((start, d0, z0), (start, d1, z1), (end, d1, z1), (end, d0, z0))):
            quads[:, corner, 0] = self.origin[at, 0] + self.right[at, 0] * d
            quads[:, corner, 1] = self.origin[at, 1] + self.right[at, 1] * d
            quads[:, corner, 2] = self.origin[at, 2] + z
        return quads


class _Collector:
    def __init__(self) -> None:
        self._quads: list[Array] = []
        self._columns: list[Array] = []

    def add(
        self, quads: Array, color: Array | Color, grain: float, label: int | Array, key: Array, rank: int
    ) -> None:
        block = np.empty((len(quads), 7), dtype=np.float32)
        block[:, 0:3] = color
        block[:, 3] = grain
        block[:, 4] = label
        block[:, 5] = key
        block[:, 6] = rank
        self._quads.append(quads)
        self._columns.append(block)

    def build(self) -> GroundFaces:
        table = np.concatenate(self._columns)
        return GroundFaces(
            np.concatenate(self._quads),
            table[:, 0:3],
            table[:, 3],
            table[:, 4].astype(np.int32),
            table[:, 5],
            table[:, 6].astype(np.int32),
        )


def _add_strips(collect: _Collector, track: Track, s: float, road: _Road) -> None:
    stations = road.stations
    zone = track.zone_index((stations[:-1] + stations[1:]) / 2)
    look = _zone_look(track)
    borders, paved = look.borders[zone], look.paved[zone]
    lift = np.where(paved, np.float32(KERB_HEIGHT), np.float32(0.0))
    key = (stations[1:] - s).astype(np.float32)
    collect.add(road.quads(-borders[:, 0], borders[:, 0]), _ASPHALT, 0.14, ROAD, key, 0)
    walk_label, walk, kerb, grass = look.walk_label[zone], look.walk[zone], look.kerb[zone], look.grass[zone]
    for side in (-1, 1):
        # On the inside of a bend the verge ends before the strips would fold over each other.
        room = np.where(side * road.curvature > 0, 0.72 / np.maximum(np.abs(road.curvature), 1e-6), np.float32(1e6))
        outer = np.clip(room, SIDEWALK_OUTER + 0.2, _VERGE_REACH)
        outer = np.minimum(outer[:-1], outer[1:])
        inner = side * borders
        collect.add(road.quads(inner[:, 2], side * outer, lift * 0.5, -0.02), grass, 0.5, TERRAIN, key, -2)
        collect.add(road.quads(inner[:, 1], inner[:, 2], lift, lift), walk, 0.12, walk_label, key, -1)
        collect.add(road.quads(inner[:, 0], inner[:, 1], 0.0, lift), kerb, 0.05, walk_label, key, 1)


@dataclass(frozen=True, eq=False)
class _ZoneLook:
    """Tables with one row per zone of a track."""

    borders: Array
    paved: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    walk_label: Array
    walk: Array
    kerb: Array
    grass: Array


@lru_cache(maxsize=32)
def _zone_look(track: Track) -> _ZoneLook:
    kinds = [zone.kind for zone in track.zones]
    paved = [kind in _PAVED for kind in kinds]
    return _ZoneLook(
        np.array([_BORDERS[kind] for kind in kinds], dtype=np.float32),
        np.array(paved),
        np.array([SIDEWALK if p else TERRAIN for p in paved], dtype=np.float32),
        np.array([_PAVEMENT if p else _GRAVEL for p in paved], dtype=np.float32),
        np.array([_KERB if p else _GRAVEL for p in paved], dtype=np.float32),
        np.array([_GRASS[kind] for kind in kinds], dtype=np.float32),
    )


def _add_lines(collect: _Collector, track: Track, s: float, road: _Road, centre: tuple[str, str] | None) -> None:
    count = int(np.searchsorted(road.stations, s + _LINES_UNTIL)) - 1
    start = road.stations[:count]
    key = (start - s - 0.01).astype(np.float32)
    for edge in (-LANE_WIDTH + 0.1, LANE_WIDTH - 0.1):
        quads = road.quads(edge - _EDGE_LINE / 2, edge + _EDGE_LINE / 2)[:count]
        collect.add(quads, _PAINT["white"], 0.1, LINE, key, 2)
    zone = track.zone_index(start)
    period = _DASH + _GAP
    dashes = np.arange(np.floor(s / period) * period, s + _LINES_UNTIL, period)
    dash_zone = track.zone_index(dashes)
    half = _CENTRE_LINE / 2
    solid_quads: Array | None = None
    for index in np.unique(np.concatenate([zone, dash_zone])).tolist():
        kind, color = centre or track.zones[index].centre
        if kind == "solid":
            if solid_quads is None:
                solid_quads = road.quads(-half, half)[:count]
            keep = zone == index
            collect.add(solid_quads[keep], _PAINT[color], 0.1, LINE, key[keep], 2)
        else:
            begin = dashes[dash_zone == index]
            ends = np.stack([begin, begin + _DASH], axis=1).ravel()
            if len(ends):
                quads = _Road(track, ends).quads(-half, half, step=2)
                collect.add(quads, _PAINT[color], 0.1, LINE, (begin - s - 0.01).astype(np.float32), 2)


def _add_marking(collect: _Collector, track: Track, s: float, at: float, kind: str) -> None:
    if kind == "crosswalk":
        left = np.arange(-3.5, 3.4, 1.0, dtype=np.float32)
        road = _Road(track, np.tile([at, at + 3.0], len(left)))
        quads, label = road.quads(left + 0.25, left + 0.75, step=2), CROSSWALK
    else:
        quads, label = _Road(track, np.array([at, at + 0.45])).quads(0.15, LANE_WIDTH - 0.25, step=2), STOP_LINE
    collect.add(quads, _PAINT["white"], 0.12, label, np.full(len(quads), at - s - 0.02, dtype=np.float32), 3)
