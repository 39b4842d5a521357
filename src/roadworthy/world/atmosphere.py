"""Between the scene and the picture: haze, the sky behind it, and the camera's own noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import cv2
import numpy as np

from roadworthy.world import classes
from roadworthy.world.arrays import Array, Bytes, Floats, look_up, vector
from roadworthy.world.camera import Camera
from roadworthy.world.conditions import Conditions, Light
from roadworthy.world.raster import Raster
from roadworthy.world.sky import PANORAMA_TOP, panorama

__all__ = ["Sensor", "Sky", "clearness"]


_NEIGHBOURS = np.ones((3, 3), np.uint8)
_NOISE_SIZE = 512
_EXPOSURE = 0.6  # of soft pictures, whose highlights would not fit into bytes otherwise


def clearness(light: Light, labels: Bytes, depth: Array, *, has_sky: bool) -> Array:
    """Return how much of what is seen comes through the haze before it."""
    far = depth.clip(np.float32(0), np.float32(5000))
    far *= np.float32(-light.density)
    clear = np.asarray(cv2.exp(far), dtype=np.float32)
    if has_sky:
        sky = (labels == classes.SKY).view(np.uint8)
        clear[sky > 0] = 1
        # A pixel whose sample is sky may be half tree; without the tree's haze it would be a dark speck.
        cv2.copyTo(cv2.erode(clear, _NEIGHBOURS), sky, clear)
    return clear


class Sky:
    """The part of the sky's panorama that a camera sees."""

    def __init__(self, conditions: Conditions, raster: Raster) -> None:
        self._panorama = panorama(conditions)
        height, width = self._panorama.shape
        view = raster.view
        azimuth = math.pi / 2 - view.heading + _azimuths(raster.camera)
        self._column = np.mod(np.rint(azimuth * (width / (2 * math.pi))), width).astype(np.intp)
        elevation = view.pitch - np.arctan(raster.ray_y[:, 0])
        row = np.rint((1 - elevation / PANORAMA_TOP) * (height - 1))
        self._start = np.clip(row, 0, height - 1).astype(np.intp) * width

    def planes(self, rows: slice, share: Array) -> tuple[Array, Array, Array] | None:
        """Return red, green and blue of the sky in some rows, as far as it shows; None where it does not."""
        if not share.any():
            return None
        index = self._start[rows][:, None] + self._column
        picked = look_up(self._panorama.ravel(), index).view(np.uint8).reshape(*share.shape, 4)
        red, green, blue, _ = cv2.split(picked)
        return red * share, green * share, blue * share


@lru_cache(maxsize=16)
def _azimuths(camera: Camera) -> Array:
    x = (np.arange(camera.width) - (camera.width - 1) / 2) / camera.focal
    return vector(np.arctan(x))


class Sensor:
    """The camera's sensor: noise, which depends on a seed and on nothing in the scene, and exposure."""

    def __init__(self, seed: int, shape: tuple[int, ...], noise: float, *, soft: bool) -> None:
        """Make a sensor; a ``soft`` one rolls highlights off gently instead of clipping them."""
        rng = np.random.default_rng(seed + 1)
        top, left = rng.integers(0, _NOISE_SIZE, 2).tolist()
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
