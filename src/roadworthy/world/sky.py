"""Sky panoramas, and what closes the view below them: the plain, a tree line and distant hills."""

from __future__ import annotations

import math
import zlib
from functools import cache, lru_cache

import cv2
import numpy as np

from roadworthy.world import classes
from roadworthy.world.camera import Array, Camera, CameraView, Floats, Ids, Packed, PinholeProjection, vector
from roadworthy.world.conditions import Conditions, grass
from roadworthy.world.mesh import LOOK

_WIDTH, _HEIGHT = 1440, 200
PANORAMA_TOP = math.radians(40.0)
"""Elevation of the panorama's first row; its last row lies at the horizon."""

_ZENITH = {"day": (86, 138, 206), "dusk": (64, 74, 128), "night": (8, 11, 24)}
_HORIZON = {"day": (198, 216, 232), "dusk": (240, 172, 118), "night": (24, 28, 42)}
_GREY_ZENITH = {"day": (156, 164, 174), "dusk": (92, 86, 104), "night": (15, 17, 24)}
_GREY_HORIZON = {"day": (206, 211, 216), "dusk": (176, 140, 128), "night": (30, 32, 40)}
_GLOOM = {"cloudy": 0.12, "rainy": 0.34, "snowy": 0.05, "foggy": 0.08}


def fractal_noise(rng: np.random.Generator, height: int, width: int, cell: int, octaves: int) -> Array:
    """Return smooth noise in [0, 1] that repeats in both directions."""
    total = np.zeros((height, width), dtype=np.float32)
    weight = 1.0
    for _ in range(octaves):
        rows, columns = max(2, height // cell), max(2, width // cell)
        wrapped = np.pad(rng.random((rows, columns), dtype=np.float32), 2, mode="wrap")
        scale_y, scale_x = height / rows, width / columns
        size = round((columns + 4) * scale_x), round((rows + 4) * scale_y)
        big = cv2.resize(wrapped, size, interpolation=cv2.INTER_CUBIC)
        top, left = round(2 * scale_y), round(2 * scale_x)
        total += weight * big[top : top + height, left : left + width]
        weight *= 0.55
        cell = max(1, cell // 2)
    low, high = float(total.min()), float(total.max())
    scaled: Array = (total - low) / max(high - low, 1e-6)
    return scaled


def panorama(conditions: Conditions) -> Packed:
    """Return the whole sky as (rows, columns) packed RGBx bytes, columns running clockwise from north."""
    if conditions.season not in ("summer", "winter"):  # the sun stands lower in winter only
        conditions = Conditions(conditions.weather, conditions.level, conditions.time)
    return _panorama(conditions)


@lru_cache(maxsize=96)  # as many as there are weathers, levels and times, with two heights of the sun
def _panorama(conditions: Conditions) -> Packed:
    rng = np.random.default_rng(3)
    up = np.linspace(1, 0, _HEIGHT, dtype=np.float32)[:, None, None]
    cover = conditions.overcast
    gloom = 1 - _GLOOM.get(conditions.weather, 0.0) * conditions.level
    zenith, horizon = (
        np.array(table[conditions.time], dtype=np.float32) * (1 - cover)
        + np.array(grey[conditions.time], dtype=np.float32) * (cover * gloom)
        for table, grey in ((_ZENITH, _GREY_ZENITH), (_HORIZON, _GREY_HORIZON))
    )
    blend = up**0.6
    sky = np.broadcast_to(horizon * (1 - blend) + zenith * blend, (_HEIGHT, _WIDTH, 3)).copy()
    _add_sun(sky, conditions)
    _add_clouds(sky, conditions, rng)
    veil = {"rainy": 0.25, "snowy": 0.45, "foggy": 1.0}.get(conditions.weather, 0.0)
    veil *= min(1.0, conditions.level * 1.6)
    mist = np.clip(veil + np.clip(1 - up * 2.2, 0, 1) ** 1.5 * (0.3 + 0.7 * veil), 0, 1)
    sky = sky * (1 - mist) + conditions.light.haze * mist
    packed = np.zeros((_HEIGHT, _WIDTH, 4), dtype=np.uint8)
    packed[..., :3] = np.clip(sky, 0, 255)
    return packed.view(np.uint32)[..., 0]


def _add_sun(sky: Array, conditions: Conditions) -> None:
    direction = conditions.light.sun_direction
    azimuth = math.atan2(float(direction[0]), float(direction[1]))
    elevation = math.asin(float(direction[2]))
    rows = (1 - np.linspace(0, 1, _HEIGHT, dtype=np.float32))[:, None] * PANORAMA_TOP
    columns = np.linspace(0, 2 * math.pi, _WIDTH, endpoint=False, dtype=np.float32)[None, :]
    turn = np.mod(columns - azimuth + math.pi, 2 * math.pi) - math.pi
    distance = np.hypot(turn * np.cos(rows), rows - elevation)
    clear = 1 - conditions.overcast
    if conditions.time == "night":
        stars = np.random.default_rng(5).random((_HEIGHT, _WIDTH), dtype=np.float32)
        sky += (np.clip(stars - 0.9985, 0, 1) * 90_000 * clear)[..., None].clip(0, 120)
        moon = np.clip((0.028 - distance) / 0.004, 0, 1) * clear
        sky += moon[..., None] * np.array([190, 188, 176], dtype=np.float32)
        return
    day = conditions.time == "day"
    glow = np.exp(-distance * (5 if day else 3.0)) * (70 if day else 110)
    tint = np.array([1.0, 0.92, 0.75] if day else [1.0, 0.62, 0.30], dtype=np.float32)
    sky += (glow * clear)[..., None] * tint
    disc = np.clip((0.045 - distance) / 0.012, 0, 1) * clear
    sky += disc[..., None] * np.array([255, 240, 205], dtype=np.float32)


def _add_clouds(sky: Array, conditions: Conditions, rng: np.random.Generator) -> None:
    noise = fractal_noise(rng, _HEIGHT, _WIDTH, 90, 6)
    cover = conditions.overcast
    elevation = np.linspace(1, 0, _HEIGHT, dtype=np.float32)[:, None]
    threshold = 0.56 - 0.3 * cover
    density = np.clip((noise - threshold) * (3.4 - 1.6 * cover), 0, 1) * np.clip(elevation * 6 + 0.1, 0, 1)
    shade = np.clip(0.62 + (noise - np.roll(noise, 10, axis=0)) * 2.4, 0, 1)[..., None]
    bright = {"day": (252, 252, 253), "dusk": (244, 176, 140), "night": (46, 50, 62)}[conditions.time]
    dark = {"day": (158, 166, 178), "dusk": (116, 92, 112), "night": (16, 18, 26)}[conditions.time]
    gloom = 1 - (0.12 * cover + _GLOOM.get(conditions.weather, 0.0) * conditions.level)
    cloud = np.array(dark, dtype=np.float32) * (1 - shade) + np.array(bright, dtype=np.float32) * shade
    alpha = (density * (0.9 - 0.25 * cover))[..., None]
    sky *= 1 - alpha
    sky += alpha * cloud * gloom


BACKDROP_FACES = 4
"""Face numbers below this belong to the backdrop."""

_PLAIN, HILLS, _FOREST = 1, 2, 3
"""Face numbers of the plain, the hills and the tree line; the sky is 0, which an empty buffer holds."""
_HILLS_AT, _FOREST_AT = 1500.0, 420.0
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
        return vector([(0, 0, 0), grass((116, 136, 78), season), (104, 122, 112), LOOK["forest"][season]])

    @staticmethod
    def planes(view: CameraView, drop: float) -> Array:
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


def draw_backdrop(ids: Ids, camera: Camera, view: CameraView, track: str, lens: PinholeProjection) -> None:
    """Paint plain, hills and tree line of a track into an empty buffer."""
    focal, centre = lens.focal, lens.centre
    horizon = lens.horizon(view)
    if horizon < len(ids):
        ids[max(0, math.ceil(horizon)) :] = _PLAIN
    half = math.radians(camera.field_of_view) / 2 + 0.03
    turn = np.linspace(-half, half, 72)
    index = np.mod((view.heading - turn) * (_SAMPLES / (2 * math.pi)), _SAMPLES)
    lower = index.astype(int)
    fraction = index - lower
    skyline = _skyline(track)
    rise = np.tan(skyline[:, lower] * (1 - fraction) + skyline[:, (lower + 1) % _SAMPLES] * fraction)
    # Rays in camera axes, by how far they turn from where the camera looks and how far they rise.
    cos, sin, ahead = math.cos(view.pitch), math.sin(view.pitch), np.cos(turn)
    depth = ahead * cos + rise * sin
    points = np.empty((2, len(turn) + 2, 2))
    points[:, :-2, 0] = centre[0] + focal * np.sin(turn) / depth
    points[:, :-2, 1] = centre[1] + focal * (ahead * sin - rise * cos) / depth
    points[:, -2:, 0] = points[:, [-3, 0], 0]
    points[:, -2:, 1] = horizon + 1
    for outline, number in zip(np.rint(points * 16).astype(np.int32), (HILLS, _FOREST), strict=True):
        cv2.fillPoly(ids, [outline], number, 8, 4)
