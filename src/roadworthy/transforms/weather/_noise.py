"""Noise: in the sky, on the ground, in the camera. Tiles are made once, and drawn from at random places."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np

from roadworthy.transforms.weather._pixels import Image, Map, resized
from roadworthy.transforms.weather._scene import WeatherScene
from roadworthy.world.sky import fractal_noise

_TILE = 512  # pixels; a power of two, so that wrapping is one bit operation
_LUMP = 128  # pixels across the largest lumps of the tile


@lru_cache(maxsize=1)
def _clouds() -> Map:
    """Return soft noise from 0 to 1 that repeats in both directions, the same for everybody."""
    tile = fractal_noise(np.random.default_rng(7), _TILE, _TILE, _LUMP, 6)
    return np.asarray(np.clip(tile - tile.mean() + 0.5, 0, 1), np.float32)


def cloud_noise(rng: np.random.Generator, width: int, height: int, lump: float) -> Map:
    """Return soft noise from 0 to 1 whose largest lumps are about so many pixels across."""
    scale = _LUMP / max(lump, 1.0)
    down, across = (max(2, min(_TILE, round(size * scale))) for size in (height, width))
    top, left = (int(v) for v in rng.integers(0, _TILE, 2))
    tile = np.take(_clouds(), np.arange(top, top + down), axis=0, mode="wrap")
    tile = np.take(tile, np.arange(left, left + across), axis=1, mode="wrap")
    return np.asarray(resized(tile, width, height), np.float32)


def ground_noise(scene: WeatherScene, rng: np.random.Generator, lump: float = 11.0) -> Map:
    """Return soft noise from 0 to 1 that lies on the ground, in a thumbnail; lumps are in metres."""
    width, height = scene.small
    top, left = (float(v) for v in rng.uniform(0, _TILE, 2))
    view = scene.small_view
    ahead = np.minimum(view.distances(height), np.float32(300))
    aside = (np.arange(width, dtype=np.float32) + np.float32(0.5 - width / 2)) / np.float32(view.focal)
    texels = np.float32(_LUMP / lump)
    row = (np.float32(top) + ahead * texels).astype(np.intp) & (_TILE - 1)
    column = (np.float32(left) + ahead[:, None] * (aside * texels)).astype(np.intp) & (_TILE - 1)
    noise = np.take(_clouds().ravel(), row[:, None] * _TILE + column) - np.float32(0.5)
    # Farther away lumps are smaller than pixels, and a few of them would stand for all.
    noise *= np.minimum(np.float32(4 * lump) / ahead, 1)[:, None]
    return np.asarray(noise + np.float32(0.5), np.float32)


@lru_cache(maxsize=1)
def _grain() -> Image:
    """Return camera noise of 32 levels about 128, coarser in colour than in brightness, twice each way."""
    rng = np.random.default_rng(17)
    bright = rng.normal(0, 24, (_TILE, _TILE, 1))
    colour = np.asarray(cv2.blur(rng.normal(0, 48, (_TILE, _TILE, 3)), (3, 3)))
    return np.tile(np.asarray(np.clip(np.rint(128 + bright + colour), 0, 255), np.uint8), (2, 2, 1))


def noisy(image: Image, rng: np.random.Generator, deviation: float) -> Image:
    """Return the image with camera noise of a standard deviation, in grey levels."""
    top, left = (int(v) for v in rng.integers(0, _TILE, 2))
    if deviation <= 0:
        return image
    height, width = image.shape[:2]
    grain = _grain()[top : top + min(height, _TILE), left : left + min(width, _TILE)]
    if height > _TILE or width > _TILE:
        down, across = (size - min(size, _TILE) for size in (height, width))
        grain = np.asarray(cv2.copyMakeBorder(grain, 0, down, 0, across, cv2.BORDER_WRAP), np.uint8)
    weight = deviation / 32
    return np.asarray(cv2.addWeighted(image, 1, grain, weight, -128 * weight), np.uint8)
