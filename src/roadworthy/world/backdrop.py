"""What closes the view: the plain beyond the modelled ground, a tree line and distant hills."""

from __future__ import annotations

import math
import zlib
from functools import cache, lru_cache

import cv2
import numpy as np

from roadworthy.world import classes
from roadworthy.world.arrays import Array, Floats, Ids, vector
from roadworthy.world.camera import Camera, Projection, View
from roadworthy.world.mesh import Color
from roadworthy.world.seasons import grass

__all__ = ["BACKDROP_FACES", "HILLS", "Backdrop", "draw_backdrop"]


BACKDROP_FACES = 4
"""Face numbers below this belong to the backdrop."""

_PLAIN, HILLS, _FOREST = 1, 2, 3
"""Face numbers of the plain, the hills and the tree line; the sky is 0, which an empty buffer holds."""
_HILLS_AT, _FOREST_AT = 1500.0, 420.0
_FOREST_COLOR: dict[str, Color] = {
    "spring": (88, 118, 58),
    "summer": (62, 82, 52),
    "autumn": (122, 88, 48),
    "winter": (112, 112, 114),  # dark needles, bare branches and some snow
}
_SAMPLES = 720  # of the skyline, one for each half degree


class Backdrop:
    """Tables of the four backdrop faces, in the order of their numbers."""

    LABEL = np.array([classes.SKY, classes.TERRAIN, classes.TERRAIN, classes.TREE], dtype=np.int32)
    GRAIN = vector([0.0, 0.5, 0.0, 0.0])
    NEAREST = vector([np.inf, 1.0, _HILLS_AT, _FOREST_AT])
    FARTHEST = vector([np.inf, 1000.0, _HILLS_AT, _FOREST_AT])

    @staticmethod
    @cache
    def color(season: str) -> Array:
        """Return the colours of the backdrop faces in a season."""
        return vector([(0, 0, 0), grass((116, 136, 78), season), (104, 122, 112), _FOREST_COLOR[season]])

    @staticmethod
    def planes(view: View, drop: float) -> Array:
        """Inverse-depth planes; the plain lies ``drop`` metres below the camera."""
        planes = np.zeros((3, BACKDROP_FACES), dtype=np.float32)
        planes[:, _PLAIN] = view.rotation[:, 2] / -drop
        planes[2, HILLS] = 1 / _HILLS_AT
        planes[2, _FOREST] = 1 / _FOREST_AT
        return planes


@lru_cache(maxsize=16)
def _skyline(name: str) -> Floats:
    """Elevation of hills and tree line in radians for each half degree of azimuth, (2, azimuths)."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    azimuth = np.linspace(0, 2 * math.pi, _SAMPLES, endpoint=False)
    hills = np.zeros(_SAMPLES)
    for cycles in (2, 3, 5, 9, 14, 23):
        hills += math.radians(3.2) / cycles**0.7 * np.sin(cycles * azimuth + rng.uniform(0, 2 * math.pi))
    hills = np.clip(hills + math.radians(1.6), 0, None)
    forest = (
        math.radians(1.6)
        + math.radians(0.6) * np.sin(4 * azimuth + rng.uniform(0, 6))
        + np.radians(rng.uniform(-0.25, 0.35, _SAMPLES))
    )
    return np.stack([hills, np.clip(forest, 0, None)])


def draw_backdrop(ids: Ids, camera: Camera, view: View, name: str, projection: Projection) -> None:
    """Paint plain, hills and tree line of a track into an empty buffer."""
    focal, centre = projection.focal, projection.centre
    horizon = projection.horizon(view)
    if horizon < len(ids):
        ids[max(0, math.ceil(horizon)) :] = _PLAIN
    half = math.radians(camera.field_of_view) / 2 + 0.03
    turn = np.linspace(-half, half, 72)
    index = np.mod((view.heading - turn) * (_SAMPLES / (2 * math.pi)), _SAMPLES)
    lower = index.astype(int)
    fraction = index - lower
    skyline = _skyline(name)
    rise = np.tan(skyline[:, lower] * (1 - fraction) + skyline[:, (lower + 1) % _SAMPLES] * fraction)
    # Rays in camera axes, by how far they turn from where the camera looks and how far they rise.
    cos, sin, ahead = math.cos(view.pitch), math.sin(view.pitch), np.cos(turn)
    depth = ahead * cos + rise * sin
    points = np.empty((2, len(turn) + 2, 2))
    points[:, :-2, 0] = centre[0] + focal * np.sin(turn) / depth
    points[:, :-2, 1] = centre[1] + focal * (ahead * sin - rise * cos) / depth
    points[:, -2:, 0] = points[:, [-3, 0], 0]
    points[:, -2:, 1] = horizon + 1
    fixed = np.rint(points * 16).astype(np.int32)
    for outline, number in zip(fixed, (HILLS, _FOREST), strict=True):
        cv2.fillPoly(ids, [outline], number, 8, 4)
