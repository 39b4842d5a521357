"""From a scene to faces in camera axes, and the order to paint them in."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from roadworthy.world.arrays import Array, Flags, Indices, Ints, look_up, vector
from roadworthy.world.camera import Camera, CameraView
from roadworthy.world.ground import GroundFaces, ground_faces
from roadworthy.world.mesh import NO_MESH, Layout, Surface
from roadworthy.world.painter import Faces, paint_order, prepare
from roadworthy.world.placement import Placed, Placement
from roadworthy.world.scene import Scene

_WIDE = 1.3  # metres; broader things are ordered by their outline
_CORNERS_FORWARD, _CORNERS_RIGHT = vector([-1, -1, 1, 1]), vector([-1, 1, 1, -1])


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
    placement: Placement

    @property
    def things(self) -> tuple[Placed, ...]:
        """The things in view."""
        return self.placement.things


def geometry(scene: Scene, camera: Camera, view: CameraView, season: str = "summer") -> Geometry:
    """Collect the ground and everything that stands on it, as it looks in a season."""
    ground = ground_faces(
        scene.track,
        scene.s,
        scene.scenery.markings,
        lines=scene.lines,
        centre=scene.centre_line,
        season=season,
    )
    count = len(ground.key)
    placement = Placement.of(scene, camera, view, season)
    standing = _standing(placement, view)
    surface, layout = np.concatenate([ground.surface, standing.surface]), standing.layout
    on_ground, on_things = view.to_camera(ground.corners.reshape(-1, 3)), view.to_camera(standing.corners)
    faces = prepare(
        np.concatenate([on_ground.T, on_things.T], axis=1).T,
        np.concatenate([np.full(count, 4, np.int32), layout[:, Layout.CORNERS]]),
        np.concatenate([np.ones(count, np.int32), layout[:, Layout.CONVEX]]),
        np.concatenate([np.full(count, -1, np.int32), standing.thing]),
    )
    seen = np.flatnonzero(_seen(standing, faces.first[count:] - 4 * count, view))
    return Geometry(
        faces,
        _face_order(ground, placement, standing, seen, view),
        surface[:, Surface.COLOR],
        surface[:, Surface.NORMAL],
        surface[:, Surface.GLOW],
        surface[:, Surface.GRAIN],
        np.concatenate([ground.label, layout[:, Layout.LABEL]]),
        placement,
    )


@dataclass(frozen=True, eq=False)
class _Standing:
    """The faces of all things in view, one thing after another, in world axes."""

    corners: Array
    surface: Array  # as of a mesh, but normals in world axes
    layout: Ints
    thing: Ints  # row of each face's thing
    distance: Array  # from the camera to the middle of each face's part


def _standing(placement: Placement, view: CameraView) -> _Standing:
    meshes = [NO_MESH, *(placed.mesh for placed in placement.things)]
    local = np.concatenate([m.corners for m in meshes])
    surface = np.concatenate([m.surface for m in meshes])
    layout = np.concatenate([m.layout for m in meshes])
    middles = np.concatenate([m.parts[0] for m in meshes])
    faces_of_part = np.concatenate([m.parts[1] for m in meshes])
    rows = np.arange(len(placement.things), dtype=np.int32)
    of_corner = np.repeat(rows, [len(m.corners) for m in meshes[1:]])
    of_face = np.repeat(rows, [len(m.layout) for m in meshes[1:]])
    of_part = np.repeat(rows, [len(m.parts[1]) for m in meshes[1:]])
    cos, sin = np.cos(placement.heading), np.sin(placement.heading)
    corners = _turned(local, look_up(cos, of_corner), look_up(sin, of_corner))
    for axis, base in zip(corners.T, placement.base.T, strict=True):
        axis += look_up(base, of_corner)
    surface[:, Surface.NORMAL] = _turned(
        surface[:, Surface.NORMAL], look_up(cos, of_face), look_up(sin, of_face)
    )
    middle = _turned(middles, look_up(cos, of_part), look_up(sin, of_part))
    x, y, z = (middle + (placement.base - view.origin)[of_part]).T
    distance = np.repeat(np.sqrt(x * x + y * y + z * z), faces_of_part)
    return _Standing(corners, surface, layout, of_face, distance)


def _turned(local: Array, cos: Array, sin: Array) -> Array:
    """Turn (forward, right, up) vectors into world axes."""
    forward, right, up = local.T
    # Three planes behind the scenes, as in View.to_camera.
    world = np.empty((3, len(local)), dtype=np.float32)
    world[0] = forward * cos + right * sin
    world[1] = forward * sin - right * cos
    world[2] = up
    return world.T


def _seen(standing: _Standing, first: Ints, view: CameraView) -> Flags:
    """Tell which faces, with their first corners, do not turn their invisible back to the camera."""
    axes = zip(standing.surface[:, Surface.NORMAL].T, standing.corners.T, view.origin, strict=True)
    x, y, z = (normal * (corner[first] - origin) for normal, corner, origin in axes)
    seen: Flags = x + y + z < 0
    seen |= standing.layout[:, Layout.CULL] == 0
    return seen


def _face_order(
    ground: GroundFaces, placement: Placement, standing: _Standing, seen: Indices, view: CameraView
) -> Ints:
    """Order the faces that can be seen: strips of ground from far to near, things in between them."""
    count = len(ground.key)
    rank_of_thing, key_of_thing = _thing_order(placement, view)
    thing = standing.thing[seen]
    order = np.lexsort(
        (
            np.concatenate([ground.rank, standing.layout[seen, Layout.RANK]]),
            np.concatenate([np.zeros(count, np.float32), -standing.distance[seen]]),
            np.concatenate([np.full(count, -1, np.int32), rank_of_thing[thing]]),
            np.concatenate([-ground.key, -key_of_thing[thing]]),
        )
    )
    return np.concatenate([np.arange(count, dtype=np.int32), count + seen.astype(np.int32)])[order]


def _thing_order(placement: Placement, view: CameraView) -> tuple[Ints, Array]:
    """Return each thing's place in the painting order and its painter's key among the ground strips."""
    half = placement.size / 2
    # Seen from above, with the camera at the origin and looking along y.
    turn = placement.heading - np.float32(view.heading)
    cos, sin = np.cos(turn)[:, None], np.sin(turn)[:, None]
    cos_v, sin_v = math.cos(view.heading), math.sin(view.heading)
    east, north = placement.base[:, 0] - view.origin[0], placement.base[:, 1] - view.origin[1]
    middle = np.stack([east * sin_v - north * cos_v, east * cos_v + north * sin_v], axis=-1)
    forward = half[:, :1] * _CORNERS_FORWARD
    right = half[:, 1:] * _CORNERS_RIGHT
    outlines = np.empty((len(half), 4, 2), dtype=np.float32)
    outlines[..., 0] = middle[:, :1] + right * cos - forward * sin
    outlines[..., 1] = middle[:, 1:] + forward * cos + right * sin
    sequence = paint_order(middle, outlines, placement.size.max(axis=1, initial=0.0) > _WIDE)
    # A thing is painted after every strip of ground it stands on and after the next nearer one, whose filled
    # border would otherwise cut a row of pixels off its feet.
    radius: Array = np.hypot(half[:, 0], half[:, 1])
    ahead: Array = np.maximum(placement.gap, 0)
    key = placement.gap - radius - np.float32(3.0) - np.float32(0.25) * ahead
    key[sequence] = np.minimum.accumulate(key[sequence])
    rank = np.empty(len(half), dtype=np.int32)
    rank[sequence] = np.arange(len(half))
    return rank, key
