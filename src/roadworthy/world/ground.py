"""The ground and the road on it, and where things stand.

The road is cut into strips across the direction of travel. Strips are painted from far to near, so a crest
hides what lies behind it. What is painted on the road is a quad of its own, drawn after the strips below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from roadworthy.world.camera import Array, Camera, CameraView, Flags, Floats, Indices, Ints, vector
from roadworthy.world.classes import CROSSWALK, LINE, ROAD, SIDEWALK, STOP_LINE, TERRAIN
from roadworthy.world.conditions import grass as grass_in
from roadworthy.world.mesh import LOOK, Color, Column, Mesh, colors
from roadworthy.world.scene import Marking, Scene, Scenery, WorldObject
from roadworthy.world.shapes import mesh_of
from roadworthy.world.track import LANE_WIDTH, ROAD_HALF_WIDTH, Track

_KERB_HEIGHT, _KERB_WIDTH = 0.12, 0.03
_PLOUGHED = LANE_WIDTH + 0.02  # metres from the centre line up to which a road is cleared of snow
SIDEWALK_OUTER = 6.6
_RINGS = (24.0, 60.0, 120.0, 216.0)  # metres ahead up to which strips are 3, 6, 12 and 24 m long
_FINEST_STRIP = 3.0
_PAINT_UNTIL = 115.0
_DASH, _GAP = 3.0, 6.0
_EDGE_LINE, _CENTRE_LINE = 0.13, 0.15
_KERB_UNTIL_STRIP = 10.0  # metres; on longer strips, at least 60 m away, a kerb is about a pixel high or less
_VERGE_REACH = 70.0
_FLAT, _SLOPE_WIDTH, _SLOPE_DROP = 3.0, 45.0, 12.0  # metres

_WALK_UNTIL = {  # metres from the centre line to where sidewalk or gravel ends and grass begins
    "urban": SIDEWALK_OUTER,
    "suburban": SIDEWALK_OUTER - 0.8,
    "rural": ROAD_HALF_WIDTH + 0.9,
    "forest": ROAD_HALF_WIDTH + 0.7,
}

_ASPHALT: Color = (104, 106, 110)
_PAVEMENT: Color = (168, 164, 156)
_KERB: Color = (190, 188, 182)
_GRAVEL: Color = (140, 128, 106)
_GRASS = colors(LOOK["grass"])
_PAINT: dict[str, Color] = {"white": (228, 228, 224), "yellow": (226, 178, 52)}


def height_beside_road(d: Floats) -> Floats:
    """Return how far the ground of a built-up zone lies above the road, ``d`` metres from the centre line."""
    beyond = np.clip((np.abs(d) - SIDEWALK_OUTER) / (_VERGE_REACH - SIDEWALK_OUTER), 0.0, 1.0)
    return np.where(np.abs(d) > ROAD_HALF_WIDTH, _KERB_HEIGHT * (1 - beyond), 0.0)


class _QuadColumn:
    """Columns of the tables of quads; one table for all, because it is cut and joined in every frame."""

    CORNERS = slice(0, 12)
    FACE = slice(12, 12 + Column.COUNT)
    KEY = FACE.stop
    COUNT = FACE.stop + 1


@dataclass(frozen=True, eq=False)
class GroundFaces:
    """Quads of the ground: four corners each, a row of the table of faces as of a mesh, and a key.

    ``key`` is the painter's key: the larger, the earlier a quad is painted.
    """

    corners: Array
    faces: Array
    key: Array


def ground_faces(scene: Scene, season: str) -> GroundFaces:
    """Return the ground ahead of ``s``; ``centre`` overrides type and colour of the centre line."""
    track, s, markings = scene.track, scene.s, scene.scenery.markings
    pieces: list[_Piece] = []
    levels = _strips(track, season)
    edge_lines = _edge_lines(track) if scene.lines else ()
    start = int((s + 1.0) / levels[0].step)
    for k, (level, reach) in enumerate(zip(levels, _RINGS, strict=True)):
        # A level ends where the next, twice as long, begins.
        end = -(-int((s + reach) / level.step) // 2) * 2
        pieces += level.between(start, end, s)
        if k < len(edge_lines):
            pieces += edge_lines[k].between(start, end, s)
        start = end // 2
    if scene.lines:
        for table in _centre_lines(track, scene.centre_line):
            pieces += table.ahead(s)
    if markings:
        pieces += _markings(track, markings).ahead(s)
    rows = np.concatenate([piece for piece, _ in pieces])
    shift = np.repeat(vector([shift for _, shift in pieces]), [len(piece) for piece, _ in pieces])
    corners, key = rows[:, _QuadColumn.CORNERS].reshape(-1, 3), rows[:, _QuadColumn.KEY] + shift
    return GroundFaces(corners, rows[:, _QuadColumn.FACE], key)


# Some rows of a table, and what to add to their keys, which are places on the track.
_Piece = tuple[Array, float]


@dataclass(frozen=True, eq=False)
class _Table:
    """Quads all round a track in order of ``s``."""

    rows: Array
    key: Array  # of each row
    first: Indices  # row where each strip begins, and one more for the end
    step: float  # length of a strip
    length: float

    def between(self, first: int, last: int, s: float) -> list[_Piece]:
        """Return the strips from ``first`` up to ``last``; both may lie beyond the end of the lap."""
        count = len(self.first) - 1
        pieces = []
        while first < last:
            lap, begin = divmod(first, count)
            stop = min(count, begin + last - first)
            pieces.append((self.rows[self.first[begin] : self.first[stop]], lap * self.length - s))
            first += stop - begin
        return pieces

    def ahead(self, s: float) -> list[_Piece]:
        """Return what lies between just behind ``s`` and the distance where paint is no longer drawn."""
        laps = (-self.length, 0.0, self.length)
        bounds = np.searchsorted(self.key, [to - lap for lap in laps for to in (s - 3.0, s + _PAINT_UNTIL)])
        ends = iter(bounds.tolist())
        spans = zip(laps, ends, ends, strict=True)
        return [(self.rows[first:last], lap - s) for lap, first, last in spans if first < last]


_Metres = float | Floats


class _Road:
    """The centre line at a list of places, and quads between places."""

    def __init__(self, track: Track, places: Floats) -> None:
        line = track.sample(places)
        self._origin = line[:, :3]
        self._right = np.stack([np.sin(line[:, 3]), -np.cos(line[:, 3])], axis=-1)
        self.curvature = line[:, 4]
        self.relief = float(np.ptp(line[:, 2]))

    def quads(self, d0: _Metres, d1: _Metres, z0: _Metres = 0.0, z1: _Metres = 0.0, step: int = 1) -> Array:
        """Quads from each place to the next, from ``d0`` to ``d1`` across, ``z0`` and ``z1`` above the road.

        ``step`` 2 takes places in pairs.
        """
        start, end = slice(0, -1, step), slice(1, None, step)
        quads = np.empty((len(self._origin[start]), 4, 3), dtype=np.float32)
        for corner, (at, d, z) in enumerate(((start, d0, z0), (start, d1, z1), (end, d1, z1), (end, d0, z0))):
            for axis in (0, 1):
                quads[:, corner, axis] = self._origin[at, axis] + self._right[at, axis] * d
            quads[:, corner, 2] = self._origin[at, 2] + z
        return quads


@dataclass(frozen=True, eq=False)
class _Band:
    """One quad per place; all but the quads is the same for all places, or one for each."""

    quads: Array
    color: Array | Color
    grain: float
    label: int | Ints
    rank: int | Ints
    there: bool | Flags = True


def _table(bands: Sequence[_Band], key: Floats, step: float, length: float) -> _Table:
    """Interleave bands, so that the quads of one place follow one another."""
    rows = np.zeros((len(key), len(bands), _QuadColumn.COUNT), dtype=np.float32)
    there = np.empty((len(key), len(bands)), dtype=bool)
    rows[..., _QuadColumn.KEY] = vector(key)[:, None]
    for k, band in enumerate(bands):
        rows[:, k, _QuadColumn.CORNERS] = band.quads.reshape(-1, 12)
        face = rows[:, k, _QuadColumn.FACE]
        face[:, Column.COLOR] = band.color
        face[:, Column.NORMAL] = (0.0, 0.0, 1.0)
        face[:, Column.GRAIN] = band.grain
        face[:, Column.CORNERS] = 4
        face[:, Column.RANK] = band.rank
        face[:, Column.LABEL] = band.label
        face[:, Column.CONVEX] = True
        there[:, k] = band.there
    first = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    kept = rows[there]
    return _Table(kept, kept[:, _QuadColumn.KEY].copy(), first, step, length)


def _level_borders(track: Track) -> list[Floats]:
    """Where strips begin and end at each level, so that whole strips of every level fill the lap."""
    coarsest = len(_RINGS) - 1
    units = max(1, round(track.length / (_FINEST_STRIP * 2**coarsest)))
    return [np.linspace(0.0, track.length, units * 2 ** (coarsest - k) + 1) for k in range(len(_RINGS))]


@lru_cache(maxsize=32)
def _strips(track: Track, season: str) -> tuple[_Table, ...]:
    """Road, kerbs, sidewalks and verges, cut finely for what is near and coarsely for what is far."""
    return tuple(_strip_table(track, borders, season) for borders in _level_borders(track))


def _strip_table(track: Track, borders_s: Floats, season: str) -> _Table:
    road = _Road(track, borders_s)
    middle = (borders_s[:-1] + borders_s[1:]) / 2
    zones = [track.zones[k] for k in track.zone_index(middle).tolist()]
    paved = np.array([zone.built_up for zone in zones])
    lift = np.where(paved, _KERB_HEIGHT, 0.0)
    walk_label = np.where(paved, SIDEWALK, TERRAIN).astype(np.int32)
    walk = vector(np.where(paved[:, None], _PAVEMENT, _GRAVEL))
    grass = vector([grass_in(_GRASS[zone.kind], season) for zone in zones])
    # Only a kerb that can be seen is a face of its own; else what lies beside the road begins at its edge.
    kerbed = paved & (track.length / len(middle) < _KERB_UNTIL_STRIP)
    walk_rank = np.where(kerbed, -1, 1).astype(np.int32)
    walk_lift = np.where(kerbed, lift, 0.0)
    edge, walk_until = ROAD_HALF_WIDTH, np.array([_WALK_UNTIL[zone.kind] for zone in zones])
    walk_from = np.where(kerbed, edge + _KERB_WIDTH, edge)
    bands = [_Band(road.quads(-edge, edge), _ASPHALT, 0.14, ROAD, 0)]
    for side in (-1, 1):
        # On the inside of a bend the verge ends before the strips would fold over each other.
        room = np.where(side * road.curvature > 0, 0.9 / np.maximum(np.abs(road.curvature), 1e-6), np.inf)
        outer = np.clip(room, SIDEWALK_OUTER + 0.2, _VERGE_REACH)
        outer = np.minimum(outer[:-1], outer[1:])
        verge = road.quads(side * walk_until, side * outer, lift, 0.0)
        beside = road.quads(side * walk_from, side * walk_until, walk_lift, lift)
        kerb = road.quads(side * edge, side * (edge + _KERB_WIDTH), 0.0, lift)
        bands += [
            _Band(verge, grass, 0.5, TERRAIN, -2),
            _Band(beside, walk, 0.12, walk_label, walk_rank),
            _Band(kerb, _KERB, 0.05, SIDEWALK, 1, there=kerbed),
        ]
        if season == "winter":
            # What the plough leaves along the edge, outside the line; for the looks only, so it may be called
            # a sidewalk, on which as much snow lies.
            bands.append(_Band(road.quads(side * _PLOUGHED, side * edge), _ASPHALT, 0.14, SIDEWALK, 1))
        if road.relief > _FLAT:
            # Seen from below, the verge of a road higher up would float: a slope leads down from it.
            slope = road.quads(side * outer, side * (outer + _SLOPE_WIDTH), 0.0, -_SLOPE_DROP)
            bands.append(_Band(slope, grass * np.float32(0.88), 0.5, TERRAIN, -3))
    # A strip's key is its far end: whatever stands or is painted on it is painted after it.
    return _table(bands, borders_s[1:], track.length / len(middle), track.length)


@lru_cache(maxsize=32)
def _edge_lines(track: Track) -> tuple[_Table, ...]:
    """The lines along both edges of the road, cut like the strips they lie on, without the farthest level."""
    tables = []
    edge, half = LANE_WIDTH - 0.1, _EDGE_LINE / 2
    for borders in _level_borders(track)[:-1]:
        road = _Road(track, borders)
        bands = [
            _Band(road.quads(side * edge - half, side * edge + half), _PAINT["white"], 0.1, LINE, 2)
            for side in (-1, 1)
        ]
        tables.append(_table(bands, borders[1:], track.length / (len(borders) - 1), track.length))
    return tuple(tables)


@lru_cache(maxsize=32)
def _centre_lines(track: Track, centre: tuple[str, str] | None) -> tuple[_Table, ...]:
    """Solid stretches and dashes of the centre line, the same in every lap."""
    places = np.linspace(0.0, track.length, round(track.length / _FINEST_STRIP) + 1)
    dashes = np.linspace(0.0, track.length, round(track.length / (_DASH + _GAP)), endpoint=False)
    half = _CENTRE_LINE / 2
    tables = []
    for kind, starts, ends in (("solid", places[:-1], places[1:]), ("dash", dashes, dashes + _DASH)):
        styles = [centre or track.zones[k].centre for k in track.zone_index(starts).tolist()]
        keep = np.array([style[0] == kind for style in styles])
        if not keep.any():
            continue
        paint = vector([_PAINT[color] for _, color in styles])[keep]
        pairs = np.stack([starts[keep], ends[keep]], axis=1).ravel()
        quads = _Road(track, pairs).quads(-half, half, step=2)
        # Painted after the strip under its near end, so its key is that end.
        tables.append(_table([_Band(quads, paint, 0.1, LINE, 2)], starts[keep] - 0.01, 0.0, track.length))
    return tuple(tables)


@lru_cache(maxsize=64)
def _markings(track: Track, markings: tuple[Marking, ...]) -> _Table:
    """Crosswalks and stop lines."""
    quads, labels, keys = [], [], []
    for marking in sorted(markings, key=lambda m: m.s):
        if marking.kind == "crosswalk":
            left = np.arange(-3.5, 3.4, 1.0)
            road = _Road(track, np.tile([marking.s, marking.s + 3.0], len(left)))
            painted, label = road.quads(left + 0.25, left + 0.75, step=2), CROSSWALK
        else:
            road = _Road(track, np.array([marking.s, marking.s + 0.45]))
            painted, label = road.quads(0.15, LANE_WIDTH - 0.25, step=2), STOP_LINE
        quads.append(painted)
        labels += [label] * len(painted)
        keys += [marking.s - 0.02] * len(painted)
    band = _Band(np.concatenate(quads), _PAINT["white"], 0.12, np.array(labels, dtype=np.int32), 3)
    return _table([band], np.array(keys), 0.0, track.length)


_THINGS_UNTIL = 115.0  # metres ahead
_THINGS_FROM = -15.0
_DETAIL_UNTIL = 32.0  # metres at a focal length of 220 pixels
_VARIANTS = tuple((near, across) for across in (False, True) for near in (False, True))


class Placed(NamedTuple):
    """A thing in view."""

    thing: WorldObject
    mesh: Mesh
    base: Array  # world position of its origin
    heading: float  # radians counter-clockwise from east

    def to_world(self, local: tuple[float, float, float]) -> tuple[float, float, float]:
        """Return the world position of a point given as (forward, right, up)."""
        cos, sin = math.cos(self.heading), math.sin(self.heading)
        forward, right, up = local
        x, y, z = self.base.tolist()
        return x + forward * cos + right * sin, y + forward * sin - right * cos, z + up


@dataclass(frozen=True, eq=False)
class Placement:
    """All things in view. Row t of every table belongs to thing t."""

    things: tuple[Placed, ...]
    base: Array  # (t, 3) world positions of their origins
    middle: Array  # (t, 3) the same in camera axes
    heading: Array
    gap: Array  # metres ahead along the road
    size: Array  # (t, 2) length and width on the ground
    upright: Flags

    @classmethod
    def of(cls, scene: Scene, camera: Camera, view: CameraView, season: str) -> Placement:
        """Find the things that a camera may see."""
        length, start = scene.track.length, scene.s + _THINGS_FROM
        actors = (one for one in scene.actors if (one.s - start) % length + _THINGS_FROM < _THINGS_UNTIL)
        group = _everything(scene.track, scene.scenery, tuple(actors), season)
        gap = np.mod(group.along - start, length) + _THINGS_FROM
        rows = np.flatnonzero(gap < _THINGS_UNTIL)
        base, heading = group.base[rows], group.heading[rows]
        middle = view.to_camera(base)
        aside, depth = np.abs(middle[:, 0]), middle[:, 2]
        near = depth < _DETAIL_UNTIL * camera.focal / 220
        across = group.turns[rows] & (np.abs(np.sin(heading - np.float32(view.heading))) > 0.6)
        variant = near + 2 * across
        reach = group.reach[rows, variant]
        slope = math.tan(math.radians(camera.field_of_view) / 2)
        seen = np.flatnonzero((depth >= -reach) & (aside <= slope * np.maximum(depth, 0) + 1.6 * reach + 1.0))
        rows, variant, base, gap = rows[seen], variant[seen], base[seen], gap[rows[seen]]
        upright = group.upright[rows]
        heading = np.where(upright, np.float32(view.heading), heading[seen])
        placed = zip(rows.tolist(), variant.tolist(), base, heading.tolist(), strict=True)
        things = tuple(
            Placed(group.things[row], group.meshes[row][kind], place, angle)
            for row, kind, place, angle in placed
        )
        ahead = vector(np.where(gap > length / 2, gap - length, gap))
        return cls(things, base, middle[seen], heading, ahead, group.size[rows, variant], upright)


@dataclass(frozen=True, eq=False)
class _Group:
    """Things with all that does not depend on the view."""

    things: tuple[WorldObject, ...]
    meshes: tuple[tuple[Mesh, ...], ...]  # of each thing, by variant
    along: Floats
    base: Array
    heading: Array
    turns: Flags  # looks different from the side
    upright: Flags
    reach: Array  # of each thing, by variant
    size: Array


# Scenery and tracks are told apart by identity, which is much faster to look up than hundreds of things.
@lru_cache(maxsize=64)
def _everything(track: Track, scenery: Scenery, actors: tuple[WorldObject, ...], season: str) -> _Group:
    groups = _scenery_group(track, scenery, season), _group(track, actors, season)
    things, meshes, *arrays = [[getattr(group, column.name) for group in groups] for column in fields(_Group)]
    return _Group(sum(things, ()), sum(meshes, ()), *map(np.concatenate, arrays))


@lru_cache(maxsize=64)
def _scenery_group(track: Track, scenery: Scenery, season: str) -> _Group:
    return _group(track, scenery.things, season)


def _group(track: Track, things: tuple[WorldObject, ...], season: str) -> _Group:
    s, d, yaw = (np.array([getattr(t, name) for t in things], dtype=float) for name in ("s", "d", "yaw"))
    base = track.position(s, d)
    built_up = np.array([zone.built_up for zone in track.zones])[track.zone_index(s)]
    base[:, 2] += np.where(built_up, height_beside_road(d), 0.0)
    turns = [thing.element == "bicyclist" for thing in things]
    meshes = tuple(
        tuple(mesh_of(thing, near=near, across=turn and across, season=season) for near, across in _VARIANTS)
        for thing, turn in zip(things, turns, strict=True)
    )
    return _Group(
        things,
        meshes,
        s,
        vector(base),
        vector(track.heading(s) - yaw),
        np.array(turns, dtype=bool),
        np.array([variants[0].upright for variants in meshes], dtype=bool),
        vector([[mesh.reach for mesh in variants] for variants in meshes]).reshape(-1, len(_VARIANTS)),
        vector([[mesh.footprint for mesh in variants] for variants in meshes]).reshape(-1, len(_VARIANTS), 2),
    )
