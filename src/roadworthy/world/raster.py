"""The painted buffer, and the tables that turn a face number into colour and truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from roadworthy.world import classes
from roadworthy.world.backdrop import BACKDROP_FACES, Backdrop, draw_backdrop
from roadworthy.world.camera import Camera, View
from roadworthy.world.geometry import Geometry, geometry
from roadworthy.world.mesh import FaceFlag
from roadworthy.world.painter import NEAR, Silhouette, draw
from roadworthy.world.scene import Scene

__all__ = ["SUPERSAMPLING", "Raster", "rasterise"]

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Ints = np.ndarray[tuple[int, ...], np.dtype[np.int32]]

SUPERSAMPLING = 2
"""Faces are painted at this multiple of the picture's size and averaged down, which smooths the edges."""


@dataclass(frozen=True, eq=False)
class Raster:
    """The painted buffer and the per-face tables that turn a face number into truth."""

    camera: Camera
    view: View
    geometry: Geometry
    ids: np.ndarray[tuple[int, ...], np.dtype[np.uint16]]  # supersampled face numbers
    index: np.ndarray[tuple[int, ...], np.dtype[np.intp]]  # face numbers at the picture's own pixels
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


@lru_cache(maxsize=16)
def _rays(camera: Camera) -> tuple[Array, Array, float, tuple[float, float]]:
    """Rays through the sample points of each pixel: the first of its sub-pixels."""
    focal = camera.focal * SUPERSAMPLING
    centre = ((camera.width * SUPERSAMPLING - 1) / 2, (camera.height * SUPERSAMPLING - 1) / 2)
    x = (np.arange(camera.width, dtype=np.float32) * SUPERSAMPLING - centre[0]) / focal
    y = (np.arange(camera.height, dtype=np.float32) * SUPERSAMPLING - centre[1]) / focal
    return x[None, :], y[:, None], focal, centre


def rasterise(scene: Scene, camera: Camera) -> Raster:
    """Paint all faces and prepare what colour and truth are looked up in."""
    view = scene.view(camera)
    shape = geometry(scene, camera, view)
    x, y, focal, centre = _rays(camera)
    ids = np.zeros((camera.height * SUPERSAMPLING, camera.width * SUPERSAMPLING), dtype=np.uint16)
    draw_backdrop(ids, camera, view, scene.track.name, focal, centre)
    boxed = _boxed_faces(shape)
    silhouettes = draw(ids, shape.faces, shape.order, focal, centre, BACKDROP_FACES, boxed, SUPERSAMPLING)
    index = ids[::SUPERSAMPLING, ::SUPERSAMPLING].astype(np.intp)
    drop = camera.mount + 0.5
    plane = np.concatenate([Backdrop.planes(view, drop), shape.faces.plane], axis=1)
    low = 1 / np.concatenate([Backdrop.FARTHEST, np.maximum(shape.faces.back, NEAR)])
    high = 1 / np.concatenate([Backdrop.NEAREST, np.maximum(shape.faces.front, NEAR)])
    a, b, c = (np.take(row, index) for row in plane)
    inverse = a * x + b * y + c
    np.clip(inverse, np.take(low, index), np.take(high, index), out=inverse)
    instance = np.zeros(BACKDROP_FACES + len(shape.label), dtype=np.int32)
    for row, (first, last) in boxed.items():
        instance[BACKDROP_FACES + first : BACKDROP_FACES + last] = shape.things[row].thing.id
    label = np.concatenate([Backdrop.LABEL, shape.label])
    return Raster(camera, view, shape, ids, index, label, instance, silhouettes, x, y, inverse, focal)


def _boxed_faces(shape: Geometry) -> dict[int, tuple[int, int]]:
    """First and last face of each thing that gets a box; the pole under a traffic sign belongs to none."""
    spans = {}
    first = len(shape.label) - sum(len(p.mesh.layout) for p in shape.things)
    for row, placed in enumerate(shape.things):
        label = classes.NAMES.index(placed.thing.element)
        last = first + len(placed.mesh.layout)
        if label in classes.BOXED:
            own = first + int(np.argmax(placed.mesh.layout[:, FaceFlag.LABEL] == label))
            spans[row] = (own, last)
        first = last
    return spans
