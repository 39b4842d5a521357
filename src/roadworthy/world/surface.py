"""Surface texture: noise that sticks to the ground and to objects, so that nothing looks like plastic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from roadworthy.world.arrays import Array, Ints, look_up
from roadworthy.world.backdrop import BACKDROP_FACES, Backdrop
from roadworthy.world.raster import Raster
from roadworthy.world.sky import fractal_noise

__all__ = ["Texture"]


_TILE = 1024  # side in texels; a power of two, so that wrapping is one bit operation
_ON_GROUND, _ON_THINGS = np.float32(22.0), np.float32(40.0)  # texels per metre
_FADES_ON_GROUND, _FADES_ON_THINGS = np.float32(14.0), np.float32(45.0)  # metres at a focal length of 440
_FARTHEST = np.float32(2000.0)
_ONE = np.float32(1.0)
_TEXEL = np.float32(1 / 100)  # value of one step of a texel


@cache
def _fine_tile() -> NDArray[np.int8]:
    """Grain of asphalt, grass and leaves: contrast at every scale up to a metre."""
    rng = np.random.default_rng(11)
    speckle = rng.normal(0, 0.2, (_TILE, _TILE)).astype(np.float32)
    return _bytes(0.53 * (fractal_noise(rng, _TILE, _TILE, 24, 5) - 0.5) * 2 + speckle * 0.85)


@cache
def _coarse_tile() -> NDArray[np.int8]:
    """Patches of several metres: worn asphalt, dry grass, wind-blown snow."""
    rng = np.random.default_rng(12)
    return _bytes((fractal_noise(rng, _TILE, _TILE, 256, 6) - 0.5) * 2)


def _bytes(tile: Array) -> NDArray[np.int8]:
    """Store a tile in bytes, so that it stays in the cache while pixels look it up."""
    rounded: Array = np.rint(tile / _TEXEL)
    return np.clip(rounded, -127, 127).astype(np.int8).ravel()


def _texel(x: Array, y: Array) -> Ints:
    """Return the numbers of the texels at (x, y), wrapping round."""
    index = y.astype(np.int32)
    index &= _TILE - 1
    index *= _TILE
    column = x.astype(np.int32)
    column &= _TILE - 1
    index += column
    return index


@dataclass(frozen=True, eq=False)
class Texture:
    """Everything about a picture's surfaces that one row of pixels shares with the others."""

    raster: Raster
    grain: Array  # per face
    first_standing: int  # faces from this number on are parts of things
    offset_x: Array  # per face: where its thing's texture starts
    offset_y: Array

    @classmethod
    def of(cls, raster: Raster) -> Texture:
        """Prepare the tables of a picture."""
        shape = raster.geometry
        things = shape.faces.thing
        base = np.array([p.base for p in shape.things], dtype=np.float32).reshape(-1, 3)
        anchor = np.vstack([raster.view.to_camera(base), np.zeros((1, 3), np.float32)]) * _ON_THINGS
        anchor[:, 0] -= np.array([p.thing.id * 37 % _TILE for p in shape.things] + [0], dtype=np.float32)
        pad = np.zeros(BACKDROP_FACES, np.float32)
        return cls(
            raster,
            np.concatenate([Backdrop.GRAIN, shape.grain]),
            BACKDROP_FACES + int(np.searchsorted(things, 0)),
            np.concatenate([pad, anchor[things, 0]]),
            np.concatenate([pad, anchor[things, 1]]),
        )

    def brightness(self, rows: slice, depth: Array, ground: bool) -> tuple[Array, Array | None]:
        """Return the texture's brightness in some rows and, where ``ground`` is seen, its coarse noise.

        The coarse noise is 0 on things.
        """
        raster, view = self.raster, self.raster.view
        index, ray_x, ray_y = raster.index[rows], raster.ray_x, raster.ray_y[rows]
        finite = np.minimum(depth, _FARTHEST)
        inverse = _ONE / np.maximum(finite, _ONE)
        standing = index >= self.first_standing
        scaled = finite * _ON_THINGS
        x = scaled * ray_x
        x -= look_up(self.offset_x, index)
        y = scaled * ray_y
        y -= look_up(self.offset_y, index)
        if ground:
            right, down, forward = view.rotation
            scaled = finite * _ON_GROUND
            east = scaled * (right[0] * ray_x + (down[0] * ray_y + forward[0]))
            east += view.origin[0] * _ON_GROUND
            north = scaled * (right[1] * ray_x + (down[1] * ray_y + forward[1]))
            north += view.origin[1] * _ON_GROUND
            lying = ~standing
            np.copyto(x, east, where=lying)
            np.copyto(y, north, where=lying)
        grain = look_up(self.grain, index)
        texel = _texel(x, y)
        bright = look_up(_fine_tile(), texel) * _TEXEL
        fades_from = np.where(standing, _FADES_ON_THINGS, _FADES_ON_GROUND) if ground else _FADES_ON_THINGS
        inverse *= np.float32(raster.focal / 440)
        bright *= np.minimum(_ONE, fades_from * inverse)
        bright *= grain
        coarse = None
        if ground:
            coarse = look_up(_coarse_tile(), texel) * _TEXEL
            coarse *= lying
            patches = np.minimum(_ONE, np.float32(90.0) * inverse)
            patches *= coarse
            patches *= np.minimum(grain, np.float32(0.4))
            patches *= np.float32(0.55)
            bright += patches
        bright += _ONE
        return bright, coarse
