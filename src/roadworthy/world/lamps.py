"""How things light and shade what is around them; lamps at night."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from roadworthy.world.arrays import Array, Bytes, Flags, vector
from roadworthy.world.conditions import Light
from roadworthy.world.mesh import Point
from roadworthy.world.painter import NEAR
from roadworthy.world.placement import Placed
from roadworthy.world.raster import Raster
from roadworthy.world.shadows import ground_masks
from roadworthy.world.shapes import LAMP_HEAD, SIGNAL_LAMPS

_LAMPS_FROM = 0.3  # effect of lamps below which their light drowns in that of the day


@dataclass(frozen=True, eq=False)
class Influence:
    """Shadows and lamp light at each pixel, 0 (none) to 255.

    Attributes:
        contact: Darkness under things that touch the ground.
        cast: Shadows thrown by the sun.
        pools: Light of lamps on the ground; None by day.
        halos: RGB of the glow round lamps; None by day.
    """

    contact: Bytes
    cast: Bytes
    pools: Bytes | None = None
    halos: Bytes | None = None

    @classmethod
    def of(cls, raster: Raster, ground: Bytes, light: Light) -> Influence:
        """Find the influence of all things in view; ``ground`` is 1 where the ground is seen, else 0."""
        lamps = light.lamps > _LAMPS_FROM
        contact, cast, pools = ground_masks(ground.shape, raster, light, lamps=lamps)
        contact *= ground
        cast *= ground
        if not lamps:
            return cls(contact, cast)
        # What stands in a pool of light gets a third of it.
        dimmed = pools // np.uint8(3)
        cv2.copyTo(pools, ground, dimmed)
        return cls(contact, cast, dimmed, halos(ground.shape, raster, light))

    def differs(self, other: Influence) -> Flags:
        """Return where two pictures of the same size differ in shadow or light."""
        found: Flags = (self.contact != other.contact) | (self.cast != other.cast)
        found |= np.not_equal(_or_dark(self.pools), _or_dark(other.pools))
        found |= np.not_equal(_or_dark(self.halos), _or_dark(other.halos)).any(axis=-1)
        return found


def _or_dark(light: Bytes | None) -> Bytes:
    return np.zeros(1, np.uint8) if light is None else light


_WARM = (1.0, 0.80, 0.50)
_WHITE = (1.0, 0.97, 0.88)
_RED = (1.0, 0.16, 0.12)
_SIGNALS = {"red": _RED, "yellow": (1.0, 0.75, 0.2), "green": (0.25, 1.0, 0.5)}
_HALOS_UNTIL = 160.0  # metres


def headlights(raster: Raster, depth: Array, rows: slice) -> Array:
    """Return how strongly dipped headlights reach each pixel of some rows with their depth."""
    ahead = depth.clip(np.float32(0.0), np.float32(400.0))
    side = ahead * raster.ray_x[rows]
    side -= np.float32(0.3)
    side /= np.float32(2.2) + np.float32(0.2) * ahead
    side *= side
    side += np.float32(1.0)
    # The dipped beam is cut off above the height of the lamps.
    below: Array = ahead * (raster.ray_y[rows] + np.float32(0.012))
    below += np.float32(0.2)
    below /= np.float32(0.5) + np.abs(below)
    below *= np.float32(1.5 * 0.39)
    below += np.float32(1.5 * 0.61)
    ahead *= np.float32(1 / 17)
    ahead *= ahead
    ahead += np.float32(1.0)
    ahead *= side
    ahead *= side
    below /= ahead
    return below


@lru_cache(maxsize=256)
def _sprite(radius: int, color: tuple[float, float, float], strength: float) -> Bytes:
    """Return a halo as RGB."""
    axis = np.linspace(-1, 1, 2 * radius + 1, dtype=np.float32)
    distance = np.hypot(axis[:, None], axis[None, :])
    glow: Array = np.clip(1 - distance, 0, 1) ** 2.2
    return (glow[..., None] * (vector(color) * np.float32(strength))).astype(np.uint8)


def _sources(placed: Placed, towards_us: bool) -> list[tuple[Point, tuple[float, float, float], float]]:
    """Lamps of a thing that shine our way: local position, colour and size in metres."""
    thing = placed.thing
    if thing.element == "pole":
        return [(LAMP_HEAD, _WARM, 1.5)]
    if thing.element == "traffic light":
        return [((-0.2, 0.0, SIGNAL_LAMPS[thing.kind]), _SIGNALS[thing.kind], 0.9)]
    if thing.element == "vehicle":
        length, width = placed.mesh.footprint
        forward, color, size = (length / 2, _WHITE, 1.3) if towards_us else (-length / 2, _RED, 0.55)
        up = 0.68 if thing.kind == "car" else 0.92
        return [((forward, sign * (width / 2 - 0.2), up), color, size) for sign in (-1, 1)]
    return []


def halos(shape: tuple[int, ...], raster: Raster, light: Light) -> Bytes:
    """Return the glow round every lamp that the camera can see, as RGB to add to the picture."""
    height, width = shape
    glow = np.zeros((height, width, 3), dtype=np.uint8)
    view, projection = raster.view, raster.camera.projection()
    lamps = []
    for row, placed in enumerate(raster.geometry.things):
        towards_us = math.cos(placed.heading - view.heading) < 0
        for local, color, size in _sources(placed, towards_us):
            lamps.append((row, placed.to_world(local), color, size))
    seen_at = view.to_camera(vector([place for _, place, _, _ in lamps]).reshape(-1, 3)).tolist()
    for (row, _, color, size), (x, y, z) in zip(lamps, seen_at, strict=True):
        if not NEAR < z < _HALOS_UNTIL:
            continue
        column = round(projection.centre[0] + projection.focal * x / z)
        line = round(projection.centre[1] + projection.focal * y / z)
        if not (0 <= column < width and 0 <= line < height):
            continue
        hidden = raster.inverse_depth[line, column] > 1.02 / z
        if hidden and raster.owner(line, column) != row:
            continue
        radius = int(min(width / 6, max(3.0, size * projection.focal / z)))
        top, left = line - radius, column - radius
        y0, y1 = max(0, top), min(height, top + 2 * radius + 1)
        x0, x1 = max(0, left), min(width, left + 2 * radius + 1)
        halo = _sprite(radius, color, 150 * light.lamps)[y0 - top : y1 - top, x0 - left : x1 - left]
        glow[y0:y1, x0:x1] = cv2.add(glow[y0:y1, x0:x1], halo)
    return glow
