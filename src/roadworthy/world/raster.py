"""Averaging sub-pixels: only the few pixels that show more than one face take the long way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import SceneError
from roadworthy.world.arrays import Array, Bytes, Ids, Indices, Ints, Packed, look_up
from roadworthy.world.camera import Camera, CameraView, PinholeProjection
from roadworthy.world.geometry import Geometry, geometry
from roadworthy.world.painter import NEAR, Faces, Silhouette, draw
from roadworthy.world.scene import Scene
from roadworthy.world.sky import BACKDROP_FACES, Backdrop, draw_backdrop

_SKY = 0  # its face number

_Number = TypeVar("_Number", np.float32, np.uint8)


@dataclass(frozen=True, eq=False)
class SubPixels:
    """Some rows of the painted buffer, and which of their pixels are mixed."""

    index: Indices  # face numbers of the sample pixels
    mixed: Indices  # pixels whose four sub-pixels do not all show the same face
    faces: Ids  # of these n pixels: two rows with two sub-pixels each, so (2, 2n)

    @classmethod
    def of(cls, raster: Raster, rows: slice) -> SubPixels:
        """Find the mixed pixels of some rows."""
        ids = raster.ids[rows.start * SUPERSAMPLING : rows.stop * SUPERSAMPLING]
        # Two neighbours of 16 bits are compared and gathered as one number of 32.
        pairs = ids.view(np.uint32)
        upper, lower = pairs[0::SUPERSAMPLING].ravel(), pairs[1::SUPERSAMPLING].ravel()
        differ = (upper >> np.uint32(16)) != (upper & np.uint32(0xFFFF))
        differ |= upper != lower
        mixed = np.flatnonzero(differ)
        faces = np.stack([look_up(upper, mixed), look_up(lower, mixed)]).view(np.uint16)
        return cls(raster.index[rows], mixed, faces)

    def colors(self, table: Packed) -> tuple[Bytes, ...]:
        """Look up the packed colours of all faces and return the mean of each of the four bytes."""
        packed = look_up(table, self.index)
        if len(self.mixed):
            mean = self._mean(_as_bytes(look_up(table, self.faces)))
            packed.ravel()[self.mixed] = mean.view(np.uint32).ravel()
        return tuple(np.asarray(plane, dtype=np.uint8) for plane in cv2.split(_as_bytes(packed)))

    def sky(self) -> Array:
        """Return which share of each pixel is sky."""
        share: Array = (self.index == _SKY).astype(np.float32)
        if len(self.mixed):
            share.ravel()[self.mixed] = self._mean((self.faces == _SKY).astype(np.float32)).ravel()
        return share

    def _mean(self, values: NDArray[_Number]) -> NDArray[_Number]:
        """Return the mean of four sub-pixels for each of the mixed pixels."""
        mean = cv2.resize(values, (len(self.mixed), 1), interpolation=cv2.INTER_AREA)
        return cast("NDArray[_Number]", mean)


def _as_bytes(packed: Packed) -> Bytes:
    return packed.view(np.uint8).reshape(*packed.shape, 4)


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
    silhouettes = draw(
        ids,
        shape.faces,
        shape.order,
        projection,
        offset=BACKDROP_FACES,
        measured=boxed,
        sampling=SUPERSAMPLING,
    )
    index = ids[::SUPERSAMPLING, ::SUPERSAMPLING].astype(np.intp)
    inverse = _inverse_depth(
        shape.faces, Backdrop.planes(view, camera.mount + _PLAIN_BELOW_ROAD), index, x, y
    )
    instance = np.zeros(BACKDROP_FACES + len(shape.label), dtype=np.int32)
    for row, (first, last) in boxed.items():
        instance[BACKDROP_FACES + first : BACKDROP_FACES + last] = shape.things[row].thing.id
    label = np.concatenate([Backdrop.LABEL, shape.label])
    return Raster(
        camera, view, shape, ids, index, label, instance, silhouettes, x, y, inverse, projection.focal
    )


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


def _boxed_faces(shape: Geometry) -> dict[int, tuple[int, int]]:
    """Faces of each thing that gets a box, as (first, one past the last); the pole of a sign has none."""
    spans = {}
    first = int(np.searchsorted(shape.faces.thing, 0))
    for row, placed in enumerate(shape.things):
        last = first + len(placed.mesh.layout)
        if placed.mesh.first_boxed is not None:
            spans[row] = (first + placed.mesh.first_boxed, last)
        first = last
    return spans
