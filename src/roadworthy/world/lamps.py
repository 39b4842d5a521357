"""Lamps at night: the ego-vehicle's headlights and the halos of everything that shines."""

from __future__ import annotations

import math
from functools import cache

import cv2
import numpy as np

from roadworthy.world.conditions import Light
from roadworthy.world.geometry import Placed
from roadworthy.world.painter import NEAR
from roadworthy.world.raster import Raster
from roadworthy.world.shapes import LAMP_HEAD

__all__ = ["add_halos", "headlights"]

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Bytes = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]

_WARM = (1.0, 0.80, 0.50)
_WHITE = (1.0, 0.97, 0.88)
_RED = (1.0, 0.16, 0.12)
_SIGNALS = {"red": _RED, "yellow": (1.0, 0.75, 0.2), "green": (0.25, 1.0, 0.5)}


def headlights(raster: Raster, depth: Array) -> Array:
    """Return how strongly dipped headlights reach each pixel."""
    ahead = np.minimum(depth, np.float32(400.0))
    side = ahead * raster.ray_x
    height = ahead * raster.ray_y  # downwards from the camera
    spread = np.float32(1.8) + np.float32(0.16) * ahead
    across = cv2.exp(-np.square((side - np.float32(0.3)) / spread))
    # The dipped beam is cut off above the height of the lamps.
    cutoff = 1 / (1 + cv2.exp(-(height + 0.2 + 0.012 * ahead) * 2.2))
    falloff = 1.5 / (1 + np.square(ahead * np.float32(1 / 17)))
    beam: Array = across * (0.22 + 0.78 * cutoff) * falloff
    return beam


@cache
def _sprite(size: int) -> Array:
    axis = np.linspace(-1, 1, size, dtype=np.float32)
    radius = np.hypot(axis[:, None], axis[None, :])
    glow: Array = np.clip(1 - radius, 0, 1) ** 2.2
    return glow


def _sources(placed: Placed) -> list[tuple[tuple[float, float, float], tuple[float, float, float], float]]:
    """Lamps of a thing: local position, colour and size in metres."""
    thing = placed.thing
    if thing.element == "pole":
        return [((LAMP_HEAD[0], LAMP_HEAD[1], LAMP_HEAD[2]), _WARM, 1.5)]
    if thing.element == "traffic light":
        return [((-0.2, 0.0, 2.76 + {"red": 0.62, "yellow": 0.31, "green": 0.0}[thing.kind]), _SIGNALS[thing.kind], 0.9)]
    if thing.element == "vehicle":
        length, width = placed.mesh.footprint
        up = 0.68 if thing.kind == "car" else 0.92
        side = width / 2 - 0.2
        return [
            *(((-length / 2, sign * side, up), _RED, 0.55) for sign in (-1, 1)),
            *(((length / 2, sign * side, up), _WHITE, 1.3) for sign in (-1, 1)),
        ]
    return []


def add_halos(planes: Array, raster: Raster, light: Light) -> Bytes:
    """Add a glow round every lamp that the camera can see; return where."""
    height, width = planes.shape[1:]
    touched = np.zeros((height, width), dtype=np.uint8)
    view, camera = raster.view, raster.camera
    for row, placed in enumerate(raster.geometry.things):
        towards_us = math.cos(placed.heading - view.heading) < 0
        for local, color, size in _sources(placed):
            if placed.thing.element == "vehicle" and (local[0] > 0) != towards_us:
                continue
            x, y, z = view.to_camera(placed.to_world(local)).tolist()
            if not NEAR < z < 160:
                continue
            column = round((width - 1) / 2 + camera.focal * x / z)
            line = round((height - 1) / 2 + camera.focal * y / z)
            if not (0 <= column < width and 0 <= line < height):
                continue
            hidden = raster.inverse_depth[line, column] > 1.02 / z
            if hidden and raster.owner(line, column) != row:
                continue
            radius = int(min(width / 6, max(3.0, size * camera.focal / z)))
            sprite = _sprite(2 * radius + 1)
            top, left = line - radius, column - radius
            y0, y1 = max(0, top), min(height, top + 2 * radius + 1)
            x0, x1 = max(0, left), min(width, left + 2 * radius + 1)
            patch = sprite[y0 - top : y1 - top, x0 - left : x1 - left]
            planes[:, y0:y1, x0:x1] += patch * (np.float32(color) * 150 * light.lamps).reshape(3, 1, 1)
            touched[y0:y1, x0:x1] = 255
    return touched
