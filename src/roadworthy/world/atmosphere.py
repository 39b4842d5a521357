"""Between the scene and the picture: haze, rain and snow in the air, the camera's own noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from roadworthy.world import classes
from roadworthy.world.camera import Array, Bytes, Camera, Floats, bytes_of, look_up, vector
from roadworthy.world.conditions import Conditions, Light
from roadworthy.world.raster import Raster
from roadworthy.world.scene import Scene
from roadworthy.world.sky import PANORAMA_TOP, panorama

_DROP = vector([205, 212, 220])
_FLAKE = vector([250, 252, 255])


@dataclass(frozen=True, eq=False)
class Precipitation:
    """Opacity and colour of what falls in front of a picture."""

    opacity: Array
    transparency: Array
    color: Array

    @classmethod
    def of(cls, scene: Scene, shape: tuple[int, ...]) -> Precipitation | None:
        """Return the rain or snow of a scene, None in dry weather."""
        rain, snow = scene.conditions.amount("rainy"), scene.conditions.amount("snowy")
        level = round(max(rain, snow) * 12)
        if not level:
            return None
        look = int(np.random.default_rng(scene.seed + 2).integers(6))
        light = float(scene.conditions.light.ambient.mean())
        layer = (_rain if rain else _flakes)(*shape, level, look)
        if rain:
            return cls._of_layer(layer, 0.26 + 0.24 * rain, _DROP * np.float32(0.30 + 0.70 * light))
        return cls._of_layer(layer, 1.0, _FLAKE * np.float32(0.42 + 0.58 * min(1.0, light * 1.2)))

    @classmethod
    def _of_layer(cls, layer: Bytes, strength: float, color: Array) -> Precipitation:
        opacity = layer.astype(np.float32)
        opacity *= np.float32(strength / 255)
        return cls(opacity, np.float32(1) - opacity, color)

    def add(self, plane: Array, channel: int, rows: slice) -> None:
        """Draw it over some rows of red, green or blue."""
        behind = plane * self.transparency[rows]
        cv2.scaleAdd(self.opacity[rows], float(self.color[channel]), behind, dst=behind)
        # Drops catch light but never darken what is behind them.
        np.maximum(plane, behind, out=plane)


# Layers are kept as bytes: dozens of them as floats would take gigabytes at large sizes.
@lru_cache(maxsize=64)
def _rain(height: int, width: int, level: int, look: int) -> Bytes:
    """Return streaks; nearer drops are longer, thicker and fewer."""
    rng = np.random.default_rng(1000 + look)
    layer = np.zeros((height * 2, width * 2), dtype=np.uint8)
    scale = width / 320
    for share, length, thickness, value in ((1.0, 7, 1, 80), (0.5, 13, 1, 120), (0.12, 24, 2, 105)):
        count = int(26 * level * share * (height * width) / (160 * 320) / scale)
        slant = rng.normal(0.10, 0.03, count)
        x = rng.uniform(-10, width * 2 + 10, count)
        y = rng.uniform(-20, height * 2, count)
        span = rng.uniform(0.7, 1.3, count) * length * scale * 2
        thick = max(1, round(thickness * scale))
        for a, b, s, l in zip(x, y, slant, span, strict=True):
            start, end = (round(a), round(b)), (round(a - s * l), round(b + l))
            cv2.line(layer, start, end, value, thick, cv2.LINE_AA)
    return np.asarray(cv2.resize(layer, (width, height), interpolation=cv2.INTER_AREA), dtype=np.uint8)


@lru_cache(maxsize=64)
def _flakes(height: int, width: int, level: int, look: int) -> Bytes:
    """Return flakes; nearer ones are larger and fewer."""
    rng = np.random.default_rng(2000 + look)
    layer = np.zeros((height * 2, width * 2), dtype=np.uint8)
    scale = width / 320
    for share, radius, value in ((1.4, 0.5, 150), (0.5, 0.85, 190), (0.08, 1.5, 165)):
        count = int(40 * level * share * (height * width) / (160 * 320) / scale)
        x, y = rng.uniform(0, width * 2, count), rng.uniform(0, height * 2, count)
        size = np.maximum(rng.uniform(0.7, 1.3, count) * radius * scale * 2, 1.0)
        for a, b, r in zip(x, y, size, strict=True):
            cv2.circle(layer, (round(a * 8), round(b * 8)), round(r * 8), value, -1, cv2.LINE_AA, 3)
    soft = cv2.resize(layer, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.GaussianBlur(soft, (3, 3), 0), dtype=np.uint8)


_NEIGHBOURS = np.ones((3, 3), np.uint8)
_NOISE_SIZE = 512
_EXPOSURE = 0.6  # of soft pictures, whose highlights would not fit into bytes otherwise


def clearness(light: Light, labels: Bytes, depth: Array, high: slice) -> Array:
    """Return how much of what is seen comes through the haze before it; sky is seen in ``high`` rows only."""
    far = depth.clip(np.float32(0), np.float32(5000))
    far *= np.float32(-light.density)
    clear = np.asarray(cv2.exp(far), dtype=np.float32)
    above = clear[high]
    if len(above):
        sky = (labels[high] == classes.SKY).view(np.uint8)
        np.maximum(above, sky, out=above)
        # A pixel whose sample is sky may be half tree; without the tree's haze it would be a dark speck.
        cv2.copyTo(cv2.erode(above, _NEIGHBOURS), sky, above)
    return clear


class Sky:
    """The part of the sky's panorama that a camera sees."""

    def __init__(self, conditions: Conditions, raster: Raster) -> None:
        self._panorama = panorama(conditions)
        height, width = self._panorama.shape
        view = raster.view
        azimuth = math.pi / 2 - view.heading + _azimuths(raster.camera)
        self._column = np.mod(np.rint(azimuth * (width / (2 * math.pi))), width).astype(np.intp)
        row = np.rint((1 - (view.pitch - np.arctan(raster.ray_y[:, 0])) / PANORAMA_TOP) * (height - 1))
        self._starts = np.clip(row, 0, height - 1).astype(np.intp) * width  # of the rows, in the panorama

    def planes(self, rows: slice, share: Array) -> tuple[Array, Array, Array] | None:
        """Return red, green and blue of the sky in some rows, as far as it shows; None where it does not."""
        if not cv2.countNonZero(share):
            return None
        picked = look_up(self._panorama, self._starts[rows, None] + self._column)
        red, green, blue, _ = bytes_of(picked)
        return red * share, green * share, blue * share


@lru_cache(maxsize=16)
def _azimuths(camera: Camera) -> Array:
    return vector(np.arctan((np.arange(camera.width) - (camera.width - 1) / 2) / camera.focal))


class Sensor:
    """The camera's sensor: noise, which depends on a seed and on nothing in the scene, and exposure."""

    def __init__(self, seed: int, shape: tuple[int, ...], noise: float, *, soft: bool) -> None:
        """Make a sensor; a ``soft`` one rolls highlights off gently instead of clipping them."""
        top, left = np.random.default_rng(seed + 1).integers(0, _NOISE_SIZE, 2).tolist()
        tile = _noise_tile(shape[0] // _NOISE_SIZE + 2, shape[1] // _NOISE_SIZE + 2)
        self._noise = tile[top : top + shape[0], left : left + shape[1]]
        self._strength = noise
        self._soft = soft

    def image(self, planes: Sequence[Array], rows: slice) -> Bytes:
        """Turn red, green and blue of some rows into what the camera delivers."""
        scale = _EXPOSURE if self._soft else 1.0
        noise, strength = self._noise[rows], self._strength * scale
        # Scaling, adding, rounding and clipping in one pass.
        channels = [cv2.addWeighted(plane, scale, noise, strength, 0, dtype=cv2.CV_8U) for plane in planes]
        image = cv2.merge(channels)
        return np.asarray(cv2.LUT(image, _CURVE) if self._soft else image, dtype=np.uint8)


@lru_cache(maxsize=8)
def _noise_tile(down: int, across: int) -> Array:
    tile = np.random.default_rng(99).normal(0, 1, (_NOISE_SIZE, _NOISE_SIZE)).astype(np.float32)
    return np.tile(tile, (down, across))


def _roll_off() -> Bytes:
    """Return the curve that rolls highlights off."""
    value = np.arange(256) / _EXPOSURE
    over = np.maximum(value - 200, 0)
    curve: Floats = np.rint(value - over + 80 * over / (over + 110))
    return np.clip(curve, 0, 255).astype(np.uint8)


_CURVE = _roll_off()
