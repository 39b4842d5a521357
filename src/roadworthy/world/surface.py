"""Surface texture: noise that sticks to the ground and to objects, so that nothing looks like plastic."""

from __future__ import annotations

from functools import cache

import numpy as np

from roadworthy.world.sky import fractal_noise

__all__ = ["TILE", "coarse_tile", "fine_tile", "sample"]

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

TILE = 512
"""Side of a texture tile in texels; a power of two, so that wrapping is one bit operation."""


@cache
def fine_tile() -> Array:
    """Grain of asphalt, grass and leaves: contrast at every scale up to a metre."""
    rng = np.random.default_rng(11)
    speckle = rng.normal(0, 0.2, (TILE, TILE)).astype(np.float32)
    tile: Array = 0.62 * (fractal_noise(rng, TILE, TILE, 32, 5) - 0.5) * 2 + speckle
    return tile.ravel()


@cache
def coarse_tile() -> Array:
    """Patches of several metres: worn asphalt, dry grass, wind-blown snow."""
    rng = np.random.default_rng(12)
    tile: Array = (fractal_noise(rng, TILE, TILE, 128, 6) - 0.5) * 2
    return tile.ravel()


def sample(tile: Array, x: Array, y: Array) -> Array:
    """Look up texels at (x, y), wrapping round."""
    index = (y.astype(np.int32) & (TILE - 1)) * TILE
    index += x.astype(np.int32) & (TILE - 1)
    return np.take(tile, index)
