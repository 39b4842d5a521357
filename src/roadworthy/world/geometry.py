"""From a scene to faces in camera axes: which things are in view, where, how detailed, in what order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from roadworthy.world.arrays import Array, Flags, Floats, Ints, vector
from roadworthy.world.camera import Camera, View
from roadworthy.world.ground import GroundFaces, ground_faces, height_beside_road
from roadworthy.world.mesh import NO_MESH, Layout, Mesh, Surface
from roadworthy.world.painter import Faces, paint_order, prepare
from roadworthy.world.scene import Scene
from roadworthy.world.shapes import mesh_of
from roadworthy.world.things import Scenery, Thing
from roadworthy.world.track import Track

__all__ = ["Geometry", "Placed", "geometry"]


_THINGS_UNTIL = 115.0  # metres ahead
_DETAIL_UNTIL = 32.0  # metres at a focal length of 220 pixels
_LARGEST = 9.0  # metres from the middle of the largest thing to its farthest corner
_WIDE = 1.3  # metres; broader things are ordered by their outline
_MOST_PARTS = 64  # of one mesh


@dataclass(frozen=True, eq=False)
class Placed:
    """A thing in view."""

    thing: Thing
    mesh: Mesh
    base: Array  # world position of its origin
    heading: float  # radians counter-clockwise from east

    def to_world(self, local: tuple[float, float, float]) -> Array:
        """Return the world position of a point given as (forward, right, up)."""
        cos, sin = math.cos(self.heading), math.sin(self.heading)
        forward, right, up = local
        return self.base + vector([forward * cos + right * sin, forward * sin - right * cos, up])


@dataclass(frozen=True, eq=False)
class Geometry:
    """All faces of a picture with their surfaces, and the order to paint them in."""

    faces: Faces
    order: Ints
    color: Array
    normal: Array
    glow: Array
    grain: Array
    label: Ints
    things: tuple[Placed, ...]


def geometry(scene: Scene, camera: Camera, view: View) -> Geometry:
    """Collect the ground and everything that stands on it."""
    ground = ground_faces(
        scene.track, scene.s, scene.scenery.markings, lines=scene.lines, centre=scene.centre_line
    )
    count = len(ground.corners)
    placed = _in_view(scene, camera, view)
    standing = _standing(placed)
    surface, layout = standing.surface, standing.layout
    faces = prepare(
        np.concatenate([view.to_camera(ground.corners.reshape(-1, 3)), view.to_camera(standing.corners)]),
        np.concatenate([np.full(count, 4, np.int32), layout[:, Layout.CORNERS]]),
        np.concatenate([np.ones(count, np.int32), layout[:, Layout.CONVEX]]),
        np.concatenate([np.full(count, -1, np.int32), standing.thing]),
    )
    up = np.zeros((count, 3), dtype=np.float32)
    up[:, 2] = 1.0
    return Geometry(
        faces,
        _face_order(scene, view, ground, placed, standing, faces),
        np.concatenate([ground.color, surface[:, Surface.COLOR]]),
        np.concatenate([up, standing.normal]),
        np.concatenate([np.zeros(count, np.float32), surface[:, Surface.GLOW]]),
        np.concatenate([ground.grain, surface[:, Surface.GRAIN]]),
        np.concatenate([ground.label, layout[:, Layout.LABEL]]),
        tuple(placed),
    )


@dataclass(frozen=True, eq=False)
class _Standing:
    """The faces of all things in view, one thing after another, in world axes."""

    corners: Array
    normal: Array
    surface: Array
    layout: Ints
    thing: Ints  # row of each face's thing


def _standing(placed: Sequence[Placed]) -> _Standing:
    meshes = [p.mesh for p in placed]
    corner_counts = np.array([len(m.corners) for m in meshes], dtype=np.intp)
    face_counts = np.array([len(m.layout) for m in meshes], dtype=np.intp)
    local = np.concatenate([m.corners for m in (NO_MESH, *meshes)])
    surface = np.concatenate([m.surface for m in (NO_MESH, *meshes)])
    layout = np.concatenate([m.layout for m in (NO_MESH, *meshes)])
    heading = vector([p.heading for p in placed])
    base = vector([p.base for p in placed]).reshape(-1, 3)
    cos, sin = np.cos(heading), np.sin(heading)
    corners = _turned(local, np.repeat(cos, corner_counts), np.repeat(sin, corner_counts))
    corners += np.repeat(base, corner_counts, axis=0)
    normal = _turned(surface[:, Surface.NORMAL], np.repeat(cos, face_counts), np.repeat(sin, face_counts))
    thing = np.repeat(np.arange(len(placed), dtype=np.int32), face_counts)
    return _Standing(corners, normal, surface, layout, thing)


def _face_order(
    scene: Scene,
    view: View,
    ground: GroundFaces,
    placed: Sequence[Placed],
    standing: _Standing,
    faces: Faces,
) -> Ints:
    """Order the faces that can be seen: strips of ground from far to near, things in between them."""
    count = len(ground.corners)
    thing, layout = standing.thing, standing.layout
    rank_of_thing, key_of_thing = _thing_order(scene, view, placed)
    a_corner = standing.corners[faces.first[count:] - 4 * count]
    seen: Flags = (standing.normal * (a_corner - view.origin)).sum(axis=1) < 0
    seen |= layout[:, Layout.CULL] == 0
    order: Ints = np.lexsort(
        (
            np.concatenate([ground.rank, layout[:, Layout.RANK]]),
            np.concatenate([np.zeros(count, np.float32), -_part_distance(faces, layout, thing, count)]),
            np.concatenate([np.full(count, -1), rank_of_thing[thing]]),
            np.concatenate([-ground.key, -key_of_thing[thing]]),
        )
    ).astype(np.int32)
    visible: Flags = np.concatenate([np.ones(count, dtype=bool), seen])[order]
    return order[visible]


def _turned(local: Array, cos: Array, sin: Array) -> Array:
    """Turn (forward, right, up) vectors into world axes."""
    world = np.empty_like(local)
    world[:, 0] = local[:, 0] * cos + local[:, 1] * sin
    world[:, 1] = local[:, 0] * sin - local[:, 1] * cos
    world[:, 2] = local[:, 2]
    return world


@dataclass(frozen=True, eq=False)
class _Group:
    """Things with where they stand in the world, which does not depend on the view."""

    things: tuple[Thing, ...]
    along: Floats
    base: Array
    heading: Array


@lru_cache(maxsize=64)
def _grouped(track: Track, group: Scenery | tuple[Thing, ...]) -> _Group:
    # Scenery is told apart by identity, which is much faster to look up than hundreds of things.
    things = group.things if isinstance(group, Scenery) else group
    s, d, yaw = (np.array([getattr(t, name) for t in things], dtype=float) for name in ("s", "d", "yaw"))
    base = track.position(s, d)
    built_up = np.array([zone.built_up for zone in track.zones])[track.zone_index(s)]
    base[:, 2] += np.where(built_up, height_beside_road(d), 0.0)
    return _Group(things, s, vector(base), vector(track.heading(s) - yaw))


def _in_view(scene: Scene, camera: Camera, view: View) -> list[Placed]:
    length = scene.track.length
    slope = math.tan(math.radians(camera.field_of_view) / 2)
    detail = _DETAIL_UNTIL * camera.focal / 220
    placed: list[Placed] = []
    for group in (_grouped(scene.track, scene.scenery), _grouped(scene.track, scene.actors)):
        gap = np.mod(group.along - scene.s + 15.0, length) - 15.0
        middle = view.to_camera(group.base)
        x, z = np.abs(middle[:, 0]), middle[:, 2]
        rows = np.flatnonzero(
            (gap < _THINGS_UNTIL) & (z > -_LARGEST) & (x < slope * np.maximum(z, 0) + 2 * _LARGEST)
        )
        for i in rows.tolist():
            thing, heading, depth = group.things[i], float(group.heading[i]), float(z[i])
            across = thing.element == "bicyclist" and abs(math.sin(heading - view.heading)) > 0.6
            mesh = mesh_of(thing, near=depth < detail, across=across)
            if depth < -mesh.reach or x[i] > slope * max(depth, 0.0) + mesh.reach * 1.6 + 1.0:
                continue
            placed.append(Placed(thing, mesh, group.base[i], view.heading if mesh.upright else heading))
    return placed


def _thing_order(scene: Scene, view: View, placed: Sequence[Placed]) -> tuple[Ints, Array]:
    """Return each thing's place in the painting order and its painter's key among the ground strips."""
    half = vector([p.mesh.footprint for p in placed]).reshape(-1, 2) / 2
    heading = vector([p.heading for p in placed])
    cos, sin = np.cos(heading)[:, None], np.sin(heading)[:, None]
    forward = half[:, :1] * vector([-1, -1, 1, 1])
    right = half[:, 1:] * vector([-1, 1, 1, -1])
    base = vector([p.base for p in placed]).reshape(-1, 3)
    x = base[:, :1] + forward * cos + right * sin - view.origin[0]
    y = base[:, 1:2] + forward * sin - right * cos - view.origin[1]
    cos_v, sin_v = math.cos(view.heading), math.sin(view.heading)
    outlines = np.stack([x * sin_v - y * cos_v, x * cos_v + y * sin_v], axis=-1)
    sequence = paint_order(outlines, (2 * half).max(axis=1) > _WIDE)
    gap = vector([scene.track.ahead(scene.s, p.thing.s) for p in placed])
    # A thing is painted after every strip of ground it stands on and after the next nearer one, whose filled
    # border would otherwise cut a row of pixels off its feet.
    radius: Array = np.hypot(half[:, 0], half[:, 1])
    ahead: Array = np.maximum(gap, 0)
    key = gap - radius - np.float32(3.0) - np.float32(0.25) * ahead
    key[sequence] = np.minimum.accumulate(key[sequence])
    rank = np.empty(len(placed), dtype=np.int32)
    rank[sequence] = np.arange(len(placed))
    return rank, key


def _part_distance(faces: Faces, layout: Ints, thing: Ints, n_ground: int) -> Array:
    """Distance of each face's part: the mean over the corners of the part's faces."""
    total = np.add.reduceat(faces.corners[4 * n_ground :], faces.first[n_ground:] - 4 * n_ground, axis=0)
    group = thing.astype(np.int64) * _MOST_PARTS + layout[:, Layout.PART]
    _, index = np.unique(group, return_inverse=True)
    weight = np.bincount(index, layout[:, Layout.CORNERS])
    x, y, z = (np.bincount(index, total[:, k]) / weight for k in range(3))
    distance = np.sqrt(x**2 + y**2 + z**2)
    return distance[index].astype(np.float32)
