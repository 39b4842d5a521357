"""Between the scene and the picture: haze, the sky behind it, and the camera's own noise."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np

from roadworthy.world import classes
from roadworthy.world.arrays import Array, Bytes, Floats, vector
from roadworthy.world.camera import Camera
from roadworthy.world.conditions import Conditions, Light
from roadworthy.world.raster import Raster
from roadworthy.world.sky import PANORAMA_TOP, panorama

__all__ = ["CameraNoise", "Sky", "add_haze", "to_bytes"]


_NEIGHBOURS = np.ones((3, 3), np.uint8)
_NOISE_SIZE = 512
_EXPOSURE = 0.6  # of soft pictures, whose highlights would not fit into bytes otherwise


def add_haze(planes: Array, light: Light, labels: Bytes, depth: Array, sky_share: Array | None) -> None:
    """Fade colours into the haze with distance; ``sky_share`` is None where no sky is seen."""
    far = np.minimum(depth, np.float32(5000))
    far *= np.float32(-light.density)
    haze = np.float32(1.0) - cv2.exp(far)
    if sky_share is not None:
        sky = labels == classes.SKY
        haze[sky] = 0
        # A pixel whose sample is sky may be half tree; without the tree's haze it would be a dark speck.
        np.copyto(haze, cv2.dilate(haze, _NEIGHBOURS), where=sky)
    planes *= np.float32(1.0) - haze
    if sky_share is not None:
        haze *= np.float32(1.0) - sky_share
    for plane, color in zip(planes, light.haze, strict=True):
        plane += haze * color


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

    def add(self, planes: Array, rows: slice, share: Array) -> None:
        """Add the sky to some rows, where it shows."""
        if not share.any():
            return
        index = self._start[rows][:, None] + self._column
        picked = np.take(self._panorama.ravel(), index).view(np.uint8).reshape(*share.shape, 4)
        for channel, plane in enumerate(planes):
            plane += picked[..., channel] * share


@lru_cache(maxsize=16)
def _azimuths(camera: Camera) -> Array:
    x = (np.arange(camera.width) - (camera.width - 1) / 2) / camera.focal
    return vector(np.arctan(x))


class CameraNoise:
    """Noise that depends on a seed and on nothing in the scene."""

    def __init__(self, seed: int, shape: tuple[int, ...], strength: float) -> None:
        rng = np.random.default_rng(seed + 1)
        top, left = (int(v) for v in rng.integers(0, _NOISE_SIZE, 2))
        tile = _noise_tile(shape[0] // _NOISE_SIZE + 2, shape[1] // _NOISE_SIZE + 2)
        self._noise = tile[top : top + shape[0], left : left + shape[1]]
        self._strength = np.float32(strength)

    def add(self, planes: Array, rows: slice) -> None:
        """Add the noise of some rows."""
        planes += self._noise[rows] * self._strength


@lru_cache(maxsize=8)
def _noise_tile(down: int, across: int) -> Array:
    tile = np.random.default_rng(99).normal(0, 1, (_NOISE_SIZE, _NOISE_SIZE)).astype(np.float32)
    return np.tile(tile, (down, across))


def _roll_off() -> Bytes:
    """Return the curve that rolls highlights off gently instead of clipping them."""
    value = np.arange(256) / _EXPOSURE
    over = np.maximum(value - 200, 0)
    curve: Floats = np.rint(value - over + 80 * over / (over + 110))
    return np.clip(curve, 0, 255).astype(np.uint8)


_CURVE = _roll_off()


def to_bytes(planes: Array, *, soft: bool) -> Bytes:
    """Turn three planes into an image; ``soft`` rolls highlights off as a camera does."""
    if soft:
        planes *= np.float32(_EXPOSURE)
    np.clip(planes, 0, 255, out=planes)
    image = cv2.merge(list(planes.astype(np.uint8)))
    return np.asarray(cv2.LUT(image, _CURVE) if soft else image, dtype=np.uint8)
