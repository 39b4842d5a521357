"""Which things are in view, where they stand, and how detailed each is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from roadworthy.world.arrays import Array, Flags, Floats, vector
from roadworthy.world.camera import Camera, CameraView
from roadworthy.world.ground import height_beside_road
from roadworthy.world.mesh import Mesh
from roadworthy.world.scene import Scene, Scenery, WorldObject
from roadworthy.world.shapes import mesh_of
from roadworthy.world.track import Track

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
        group = _everything(scene.track, scene.scenery, scene.actors, season)
        length = scene.track.length
        gap = np.mod(group.along - (scene.s + _THINGS_FROM), length) + _THINGS_FROM
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
        things = tuple(
            Placed(group.things[row], group.meshes[row][kind], place, angle)
            for row, kind, place, angle in zip(
                rows.tolist(), variant.tolist(), base, heading.tolist(), strict=True
            )
        )
        return cls(
            things,
            base,
            middle[seen],
            heading,
            vector(np.where(gap > length / 2, gap - length, gap)),
            group.size[rows, variant],
            upright,
        )


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
    one, other = _scenery_group(track, scenery, season), _group(track, actors, season)
    return _Group(
        one.things + other.things,
        one.meshes + other.meshes,
        np.concatenate([one.along, other.along]),
        np.concatenate([one.base, other.base]),
        np.concatenate([one.heading, other.heading]),
        np.concatenate([one.turns, other.turns]),
        np.concatenate([one.upright, other.upright]),
        np.concatenate([one.reach, other.reach]),
        np.concatenate([one.size, other.size]),
    )


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
