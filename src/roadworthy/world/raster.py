"""From the scene to pixels: the geometry that is in sight, and the triangles that it is drawn as."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import SceneError
from roadworthy.world.camera import (
    Array,
    Bytes,
    Camera,
    CameraView,
    Ids,
    Indices,
    Ints,
    Packed,
    PinholeProjection,
    bytes_of,
    look_up,
    vector,
)
from roadworthy.world.ground import Placed, Placement, ground_faces
from roadworthy.world.mesh import Column
from roadworthy.world.painter import NEAR, Faces, Silhouette, Spans, draw, paint_order, prepare
from roadworthy.world.scene import Scene
from roadworthy.world.sky import BACKDROP_FACES, Backdrop, draw_backdrop

_WIDE = 1.3  # metres; broader things are ordered by their outline
_CORNERS_FORWARD, _CORNERS_RIGHT = vector([-1, -1, 1, 1]), vector([-1, 1, 1, -1])


@dataclass(frozen=True, eq=False)
class Geometry:
    """All faces of a picture with their surfaces, and the order to paint them in."""

    faces: Faces
    order: Ints
    table: Array  # a row of each face, as of a mesh, but normals in world axes
    label: Ints
    placement: Placement

    @property
    def things(self) -> tuple[Placed, ...]:
        """The things in view."""
        return self.placement.things


def geometry(scene: Scene, camera: Camera, view: CameraView, season: str = "summer") -> Geometry:
    """Collect the ground and everything that stands on it, as it looks in a season."""
    ground = ground_faces(scene, season)
    placement = Placement.of(scene, camera, view, season)
    meshes = [placed.mesh for placed in placement.things]
    table = np.concatenate([ground.faces, *(mesh.faces for mesh in meshes)])
    # Three planes behind the scenes, as in View.to_camera.
    corners = np.concatenate([ground.corners, *(mesh.corners for mesh in meshes)]).T.copy()
    sizes = [len(mesh.faces) for mesh in meshes]
    owner = np.repeat(np.arange(-1, len(meshes), dtype=np.int32), [len(ground.faces), *sizes])
    places = np.stack([np.cos(placement.heading), np.sin(placement.heading), *placement.base.T])
    cos, sin, *base = places.repeat([len(mesh.corners) for mesh in meshes], axis=1)
    _place(corners[:, len(ground.corners) :], cos, sin, base)
    places[2:] -= view.origin[:, None]
    cos, sin, *base = places.repeat(sizes, axis=1)
    standing = table[len(ground.faces) :].T
    _place(standing[Column.NORMAL], cos, sin)
    _place(standing[Column.MIDDLE], cos, sin, base)
    faces = prepare(view.to_camera(corners.T), table, owner)
    x, y, z = table[:, Column.NORMAL].T * (corners[:, faces.first] - view.origin[:, None])
    # Those that turn their invisible back to the camera are not painted.
    seen = np.flatnonzero((x + y + z < 0) | (table[:, Column.CULL] == 0)).astype(np.int32)
    order = seen[_face_order(ground.key, placement, table[seen], owner[seen], view)]
    return Geometry(faces, order, table, table[:, Column.LABEL].astype(np.int32), placement)


def _place(vectors: Array, cos: Array, sin: Array, base: Sequence[Array] = ()) -> None:
    """Turn three planes of (forward, right, up) vectors into world axes, and move them."""
    forward, right, _ = vectors
    vectors[0], vectors[1] = forward * cos + right * sin, forward * sin - right * cos
    for plane, start in zip(vectors, base, strict=False):
        plane += start


def _face_order(ground: Array, placement: Placement, seen: Array, owner: Ints, view: CameraView) -> Indices:
    """Order the faces that can be seen: strips of ground from far to near, things in between them.

    The faces of the ground come first and have keys of their own.
    """
    rank_of_thing, key_of_thing = _thing_order(placement, view)
    key = np.concatenate([ground, key_of_thing[owner[len(ground) :]]])
    x, y, z = seen[:, Column.MIDDLE].T
    distance = np.sqrt(x * x + y * y + z * z)
    return np.lexsort((seen[:, Column.RANK], -distance, np.append(rank_of_thing, -1)[owner], -key))


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


_SKY = 0  # its face number


@dataclass(frozen=True, eq=False)
class SubPixels:
    """Some rows of the painted buffer, and which of their pixels are mixed."""

    index: Indices  # face numbers of the sample pixels
    mixed: Indices  # pixels whose four sub-pixels do not all show the same face
    faces: Ids  # of these n pixels: two rows with two sub-pixels each, so (2, 2n)

    @classmethod
    def of(cls, raster: Raster, rows: slice) -> SubPixels:
        """Find the mixed pixels of some rows."""
        # Two neighbours of 16 bits are compared and gathered as one number of 32.
        pairs = raster.ids[rows.start * SUPERSAMPLING : rows.stop * SUPERSAMPLING].view(np.uint32)
        upper, lower = pairs[0::SUPERSAMPLING].ravel(), pairs[1::SUPERSAMPLING].ravel()
        differ = (upper >> np.uint32(16)) != (upper & np.uint32(0xFFFF))
        differ |= upper != lower
        mixed = np.flatnonzero(differ)
        faces = np.stack([look_up(upper, mixed), look_up(lower, mixed)]).view(np.uint16)
        return cls(raster.index[rows], mixed, faces)

    def colors(self, table: Packed) -> list[Bytes]:
        """Look up the packed colours of all faces and return the mean of each of the four bytes."""
        packed = look_up(table, self.index)
        if len(self.mixed):
            several = look_up(table, self.faces)
            mean = self._mean(several.view(np.uint8).reshape(*several.shape, 4))
            packed.ravel()[self.mixed] = mean.view(np.uint32).ravel()
        return bytes_of(packed)

    def sky(self) -> Array:
        """Return which share of each pixel is sky."""
        share: Array = (self.index == _SKY).astype(np.float32)
        if len(self.mixed):
            share.ravel()[self.mixed] = self._mean((self.faces == _SKY).astype(np.float32)).ravel()
        return share

    def _mean(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the mean of four sub-pixels for each of the mixed pixels."""
        return np.asarray(cv2.resize(values, (len(self.mixed), 1), interpolation=cv2.INTER_AREA))


SUPERSAMPLING = 2
"""Faces are painted at this multiple of the picture's size and averaged down, which smooths the edges."""

_MOST_FACES = 2**16 - BACKDROP_FACES  # their numbers have 16 bits
_PLAIN_BELOW_ROAD = 0.05  # metres


@dataclass(frozen=True, eq=False)
class Raster:
    """The painted buffer and the per-face tables that turn a face number into truth."""

    camera: Camera
    view: CameraView
    geometry: Geometry
    ids: Ids  # supersampled face numbers
    index: Indices  # face numbers at the picture's own pixels
    label: Ints  # class of each face
    instance: Ints  # thing id of each face, 0 for what has no box
    silhouettes: dict[int, Silhouette]  # of things with a box, by row
    ray_x: Array
    ray_y: Array
    inverse_depth: Array
    focal: float  # of the supersampled picture

    def owner(self, row: int, column: int) -> int:
        """Row of the thing seen at a pixel, -1 for the ground and the backdrop."""
        face = int(self.index[row, column]) - BACKDROP_FACES
        return int(self.geometry.faces.thing[face]) if face >= 0 else -1


@lru_cache(maxsize=4)
def _rays(camera: Camera) -> tuple[Array, Array, PinholeProjection]:
    """Rays (x, y, 1) through the sample point of each pixel, the first of its sub-pixels: x and y apart.

    Whole planes of them, because numpy is faster with those than with a row or a column.
    """
    projection = camera.projection(SUPERSAMPLING)
    focal, centre = projection.focal, projection.centre
    x = (np.arange(camera.width, dtype=np.float32) * SUPERSAMPLING - centre[0]) / focal
    y = (np.arange(camera.height, dtype=np.float32) * SUPERSAMPLING - centre[1]) / focal
    across, down = np.meshgrid(x, y)
    return across, down, projection


def rasterise(scene: Scene, camera: Camera, season: str = "summer") -> Raster:
    """Paint all faces and prepare what colour and truth are looked up in.

    The truth is that of summer: a bare crown is labelled as a whole, as people label it too.
    """
    view = scene.view(camera)
    shape = geometry(scene, camera, view, season)
    if len(shape.label) > _MOST_FACES:
        raise SceneError(
            f"a picture shows at most {_MOST_FACES} faces, got {len(shape.label)}: "
            f"{len(shape.things)} things in view are too many"
        )
    x, y, projection = _rays(camera)
    ids = np.zeros((camera.height * SUPERSAMPLING, camera.width * SUPERSAMPLING), dtype=np.uint16)
    draw_backdrop(ids, camera, view, scene.track.name, projection)
    boxed = _boxed_faces(shape)
    silhouettes = draw(ids, shape.faces, shape.order, projection, boxed, BACKDROP_FACES, SUPERSAMPLING)
    index = ids[::SUPERSAMPLING, ::SUPERSAMPLING].astype(np.intp)
    plain = Backdrop.planes(view, camera.mount + _PLAIN_BELOW_ROAD)
    inverse = _inverse_depth(shape.faces, plain, index, x, y)
    instance = np.zeros(BACKDROP_FACES + len(shape.label), dtype=np.int32)
    for row, (first, last) in boxed.items():
        instance[BACKDROP_FACES + first : BACKDROP_FACES + last] = shape.things[row].thing.id
    label = np.concatenate([Backdrop.LABEL, shape.label])
    focal = projection.focal
    return Raster(camera, view, shape, ids, index, label, instance, silhouettes, x, y, inverse, focal)


def _inverse_depth(faces: Faces, backdrop: Array, index: Indices, x: Array, y: Array) -> Array:
    """Cut the ray of each pixel with the plane of its face, within the depths of the face's corners."""
    plane = np.concatenate([backdrop, faces.plane], axis=1)
    low = 1 / np.concatenate([Backdrop.FARTHEST, np.maximum(faces.back, NEAR)])
    high = 1 / np.concatenate([Backdrop.NEAREST, np.maximum(faces.front, NEAR)])
    inverse, across, down = (look_up(plane[k], index) for k in (2, 0, 1))
    across *= x
    inverse += across
    down *= y
    inverse += down
    # numpy clips by scalars quickly, but by arrays slowly.
    np.maximum(inverse, look_up(low, index), out=inverse)
    np.minimum(inverse, look_up(high, index), out=inverse)
    return inverse


def _boxed_faces(shape: Geometry) -> Spans:
    """Faces of each thing that gets a box, as (first, one past the last); the pole of a sign has none."""
    boxed = [(row, one.mesh) for row, one in enumerate(shape.things) if one.mesh.first_boxed is not None]
    starts = np.searchsorted(shape.faces.thing, [row for row, _ in boxed]).tolist()
    return {
        row: (start + (mesh.first_boxed or 0), start + len(mesh.faces))
        for (row, mesh), start in zip(boxed, starts, strict=True)
    }
