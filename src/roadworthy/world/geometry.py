"""From a scene to faces in camera axes: which things are in view, where, in how much detail, in what order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from roadworthy.world.camera import Camera, View
from roadworthy.world.ground import KERB_HEIGHT, SIDEWALK_OUTER, ground_faces
from roadworthy.world.mesh import FaceColumn, FaceFlag, Mesh
from roadworthy.world.painter import Faces, paint_order, prepare
from roadworthy.world.scene import Scene
from roadworthy.world.shapes import mesh_of
from roadworthy.world.things import Scenery, Thing
from roadworthy.world.track import ROAD_HALF_WIDTH, Track

__all__ = ["Geometry", "Placed", "geometry"]

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Ints = np.ndarray[tuple[int, ...], np.dtype[np.int32]]

THINGS_UNTIL = 150.0
_DETAIL_UNTIL = 32.0  # metres at a focal length of 220 pixels
_LARGEST = 9.0  # metres from the middle of the largest thing to its farthest corner
_WIDE = 1.3  # metres; broader things are ordered by their outline


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
        return self.base + np.float32([forward * cos + right * sin, forward * sin - right * cos, up])


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
    placed = _in_view(scene, camera, view)
    n_ground = len(ground.corners)
    corners = [view.to_camera(ground.corners.reshape(-1, 3))]
    counts = [np.full(n_ground, 4, dtype=np.int32)]
    convex = [np.ones(n_ground, dtype=np.int32)]
    owner = [np.full(n_ground, -1, dtype=np.int32)]
    up = np.zeros((n_ground, 3), dtype=np.float32)
    up[:, 2] = 1.0
    if not placed:
        faces = prepare(corners[0], counts[0], convex[0], owner[0])
        order = np.lexsort((ground.rank, -ground.key)).astype(np.int32)
        return Geometry(
            faces, order, ground.color, up, np.zeros(n_ground, np.float32), ground.grain, ground.label, ()
        )
    meshes = [p.mesh for p in placed]
    sizes = np.array([len(m.corners) for m in meshes])
    face_counts = np.array([len(m.layout) for m in meshes])
    local = np.concatenate([m.corners for m in meshes])
    surface = np.concatenate([m.surface for m in meshes])
    layout = np.concatenate([m.layout for m in meshes])
    heading = np.array([p.heading for p in placed], dtype=np.float32)
    base = np.stack([p.base for p in placed])
    cos, sin = np.cos(heading), np.sin(heading)
    world = _turned(local, np.repeat(cos, sizes), np.repeat(sin, sizes)) + np.repeat(base, sizes, axis=0)
    normal = _turned(surface[:, FaceColumn.NORMAL], np.repeat(cos, face_counts), np.repeat(sin, face_counts))
    corners.append(view.to_camera(world))
    counts.append(layout[:, FaceFlag.CORNERS])
    convex.append(layout[:, FaceFlag.CONVEX])
    owner.append(np.repeat(np.arange(len(placed), dtype=np.int32), face_counts))
    faces = prepare(
        np.concatenate(corners), np.concatenate(counts), np.concatenate(convex), np.concatenate(owner)
    )

    rank_of_thing, key_of_thing = _thing_order(scene, view, placed)
    thing = owner[1]
    centre_of_face = world[faces.first[n_ground:] - 4 * n_ground]
    seen = (normal * (centre_of_face - view.origin)).sum(axis=1) < 0
    seen |= layout[:, FaceFlag.CULL] == 0
    part_distance = _part_distance(faces, layout, thing, n_ground)
    order = np.lexsort(
        (
            np.concatenate([ground.rank, layout[:, FaceFlag.RANK]]),
            np.concatenate([np.zeros(n_ground, np.float32), -part_distance]),
            np.concatenate([np.full(n_ground, -1), rank_of_thing[thing]]),
            np.concatenate([-ground.key, -key_of_thing[thing]]),
        )
    ).astype(np.int32)
    visible = np.concatenate([np.ones(n_ground, dtype=bool), seen])
    return Geometry(
        faces,
        order[visible[order]],
        np.concatenate([ground.color, surface[:, FaceColumn.COLOR]]),
        np.concatenate([up, normal]),
        np.concatenate([np.zeros(n_ground, np.float32), surface[:, FaceColumn.GLOW]]),
        np.concatenate([ground.grain, surface[:, FaceColumn.GRAIN]]),
        np.concatenate([ground.label, layout[:, FaceFlag.LABEL]]),
        tuple(placed),
    )


def _turned(local: Array, cos: Array, sin: Array) -> Array:
    """Turn (forward, right, up) vectors into world axes."""
    world = np.empty_like(local)
    world[:, 0] = local[:, 0] * cos + local[:, 1] * sin
    world[:, 1] = local[:, 0] * sin - local[:, 1] * cos
    world[:, 2] = local[:, 2]
    return world


@lru_cache(maxsize=64)
def _placement(track: Track, things: tuple[Thing, ...] | Scenery) -> tuple[Array, Array]:
    """World positions and headings of things."""
    if isinstance(things, Scenery):
        things = things.things
    s = np.array([t.s for t in things])
    d = np.array([t.d for t in things])
    base = track.position(s, d)
    paved = np.array([z.kind in ("urban", "suburban") for z in track.zones])[track.zone_index(s)]
    kerb = paved & (np.abs(d) > ROAD_HALF_WIDTH) & (np.abs(d) < SIDEWALK_OUTER)
    base[:, 2] += np.where(kerb, KERB_HEIGHT, 0.0)
    heading = track.heading(s) - np.array([t.yaw for t in things])
    return base.astype(np.float32), heading.astype(np.float32)


def _in_view(scene: Scene, camera: Camera, view: View) -> list[Placed]:
    track = scene.track
    placed: list[Placed] = []
    slope = math.tan(math.radians(camera.field_of_view) / 2)
    detail = _DETAIL_UNTIL * camera.focal / 220
    for group in (scene.scenery, scene.actors):
        things = group.things if isinstance(group, Scenery) else group
        if not things:
            continue
        base, heading = _placement(track, group)
        along = group.along if isinstance(group, Scenery) else np.array([t.s for t in group])
        gap = np.mod(along - scene.s + 15.0, track.length) - 15.0
        middle = view.to_camera(base)
        x, z = np.abs(middle[:, 0]), middle[:, 2]
        rows = np.flatnonzero(
            (gap < THINGS_UNTIL) & (z > -_LARGEST) & (x < slope * np.maximum(z, 0) + 2 * _LARGEST)
        )
        for i in rows.tolist():
            thing = things[i]
            depth = float(z[i])
            across = thing.element == "bicyclist" and abs(math.sin(float(heading[i]) - view.heading)) > 0.6
            mesh = mesh_of(thing, near=depth < detail, across=across)
            if depth < -mesh.reach or x[i] > slope * max(depth, 0.0) + mesh.reach * 1.6 + 1.0:
                continue
            facing = view.heading if mesh.upright else float(heading[i])
            placed.append(Placed(thing, mesh, base[i], facing))
    return placed


def _thing_order(scene: Scene, view: View, placed: list[Placed]) -> tuple[Ints, Array]:
    """Return each thing's place in the painting order and its painter's key among the ground strips."""
    half = np.array([p.mesh.footprint for p in placed], dtype=np.float32) / 2
    heading = np.array([p.heading for p in placed], dtype=np.float32)
    cos, sin = np.cos(heading)[:, None], np.sin(heading)[:, None]
    forward = half[:, :1] * np.array([-1, -1, 1, 1], dtype=np.float32)
    right = half[:, 1:] * np.array([-1, 1, 1, -1], dtype=np.float32)
    base = np.stack([p.base for p in placed])
    x = base[:, :1] + forward * cos + right * sin - view.origin[0]
    y = base[:, 1:2] + forward * sin - right * cos - view.origin[1]
    cos_v, sin_v = math.cos(view.heading), math.sin(view.heading)
    outlines = np.stack([x * sin_v - y * cos_v, x * cos_v + y * sin_v], axis=-1)
    sequence = paint_order(outlines, (2 * half).max(axis=1) > _WIDE)
    gap = np.array([scene.track.ahead(scene.s, p.thing.s) for p in placed], dtype=np.float32)
    # A thing is painted after every strip of ground it stands on and after the next nearer one, whose filled
    # border would otherwise cut a row of pixels off its feet.
    key = gap - np.hypot(half[:, 0], half[:, 1]) - 3.0 - 0.25 * np.maximum(gap, 0)
    key[sequence] = np.minimum.accumulate(key[sequence])
    rank = np.empty(len(placed), dtype=np.int32)
    rank[sequence] = np.arange(len(placed))
    return rank, key


def _part_distance(faces: Faces, layout: Ints, thing: Ints, n_ground: int) -> Array:
    """Distance of each face's part: the mean over the corners of the part's faces."""
    first = faces.first[n_ground:]
    total = np.add.reduceat(faces.corners[first[0] :], first - first[0], axis=0)
    group = thing.astype(np.int64) * 64 + layout[:, FaceFlag.PART]
    _, index = np.unique(group, return_inverse=True)
    weight = np.bincount(index, layout[:, FaceFlag.CORNERS])
    sums = [np.bincount(index, total[:, k]) / weight for k in range(3)]
    distance = np.sqrt(sums[0] ** 2 + sums[1] ** 2 + sums[2] ** 2)
    result: Array = distance[index].astype(np.float32)
    return result
