"""Rendering: a scene becomes a picture and its truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roadworthy.world.camera import Camera
from roadworthy.world.raster import Raster, rasterise
from roadworthy.world.scene import Scene
from roadworthy.world.shading import shade

__all__ = ["Picture", "render"]

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


@dataclass(frozen=True, eq=False)
class Picture:
    """What the camera sees, and what is really there, pixel by pixel."""

    image: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
    labels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
    instances: np.ndarray[tuple[int, ...], np.dtype[np.uint16]]
    depth: Array
    influence: np.ndarray[
        tuple[int, ...], np.dtype[np.uint8]
    ]  # (3, h, w): contact shadow, cast shadow and lamp light on what is around
    raster: Raster


def render(scene: Scene, camera: Camera | None = None) -> Picture:
    """Render a scene.

    Example:
        >>> from roadworthy.world import make_scene, render
        >>> picture = render(make_scene("town", s=40, seed=1))
        >>> picture.image.shape
        (160, 320, 3)
    """
    camera = camera or Camera()
    raster = rasterise(scene, camera)
    labels = np.take(raster.label.astype(np.uint8), raster.index)
    instances = np.take(raster.instance.astype(np.uint16), raster.index)
    with np.errstate(divide="ignore"):
        depth = 1.0 / raster.inverse_depth
    image, influence = shade(scene, raster, labels, depth)
    return Picture(image, labels, instances, depth, influence, raster)
