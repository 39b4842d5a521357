"""Surface texture: noise that sticks to the ground and to objects, so that nothing looks like plastic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.world.arrays import Array, Indices, Ints, look_up, vector
from roadworthy.world.raster import Raster
from roadworthy.world.sky import BACKDROP_FACES, Backdrop, fractal_noise

_TILE = 1024  # side in texels; a power of two, so that wrapping is one bit operation
_ON_GROUND, _ON_THINGS = np.float32(22.0), np.float32(40.0)  # texels per metre
_FADES_ON_GROUND, _FADES_ON_THINGS = np.float32(14.0), np.float32(45.0)  # metres at a focal length of 440
_FARTHEST = np.float32(2000.0)
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_PATCHES, _PATCHES_FADE = np.float32(0.55), np.float32(90.0)  # strength, and metres
TEXEL = np.float32(1 / 100)
"""Value of one step of a texel."""

Texels = NDArray[np.int8]


@cache
def _tile() -> NDArray[np.int16]:
    """Return texels of two bytes: fine and coarse noise, which are mostly looked up together."""
    rng = np.random.default_rng(11)
    speckle = rng.normal(0, 0.2, (_TILE, _TILE)).astype(np.float32)
    # Grain of asphalt, grass and leaves: contrast at every scale up to a metre.
    fine = 0.53 * (fractal_noise(rng, _TILE, _TILE, 24, 5) - 0.5) * 2 + speckle * 0.85
    # Patches of several metres: worn asphalt, dry grass, wind-blown snow.
    coarse = (fractal_noise(np.random.default_rng(12), _TILE, _TILE, 256, 6) - 0.5) * 2
    texels = np.rint(np.stack([fine, coarse], axis=-1) / TEXEL)
    return np.clip(texels, -127, 127).astype(np.int8).view(np.int16).ravel()


def _noise(texels: NDArray[np.int16]) -> tuple[Texels, Texels]:
    """Return the fine and the coarse noise of texels."""
    both = texels.view(np.int8)
    return both[..., 0::2], both[..., 1::2]


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
        first = BACKDROP_FACES + int(np.searchsorted(things, 0))
        anchor = shape.placement.middle * _ON_THINGS
        anchor[:, 0] -= vector([placed.thing.id * 37 % _TILE for placed in shape.things])
        offset = np.zeros((2, BACKDROP_FACES + len(things)), dtype=np.float32)
        offset[:, first:] = anchor[things[first - BACKDROP_FACES :], :2].T
        return cls(raster, np.concatenate([Backdrop.GRAIN, shape.grain]), first, offset[0], offset[1])

    def brightness(self, rows: slice, depth: Array, ground_from: int) -> tuple[Array, Texels]:
        """Return the texture's brightness in some rows, and the coarse noise of those with ground.

        No ground is seen above row ``ground_from`` of the picture. The coarse noise is in steps of ``TEXEL``,
        and 0 on things.
        """
        above = max(0, ground_from - rows.start)
        distance = depth.clip(_ZERO, _FARTHEST)
        ground, texels = self._on_ground(slice(rows.start + above, rows.stop), distance[above:])
        bright = np.ones_like(depth)
        bright[above:] += ground
        standing = np.flatnonzero(self.raster.index[rows] >= self.first_standing)
        if len(standing):
            bright.ravel()[standing] = self._on_things(rows, distance, standing)
            covered = standing - above * depth.shape[1]
            texels.ravel()[covered[np.searchsorted(covered, 0) :]] = 0
        return bright, _noise(texels)[1]

    def _on_ground(self, rows: slice, distance: Array) -> tuple[Array, NDArray[np.int16]]:
        """Return how much brighter the texture of the ground makes some rows, and their texels."""
        raster = self.raster
        texels = look_up(_tile(), _texel(*(self._on_map(axis, rows, distance) for axis in (0, 1))))
        fine, coarse = _noise(texels)
        grain = look_up(self.grain, raster.index[rows])
        bright = self._fading(raster.inverse_depth[rows], _FADES_ON_GROUND, TEXEL)
        bright *= grain
        bright *= fine
        patches = self._fading(raster.inverse_depth[rows], _PATCHES_FADE, _PATCHES * TEXEL)
        patches *= grain.clip(_ZERO, np.float32(0.4), out=grain)
        patches *= coarse
        bright += patches
        return bright, texels

    def _on_map(self, axis: int, rows: slice, distance: Array) -> Array:
        """Return how many texels east (axis 0) or north (1) of the world's origin some rows lie."""
        raster, view = self.raster, self.raster.view
        right, down, forward = (view.rotation[:, axis] * _ON_GROUND).tolist()
        place = distance.copy()
        if place.size:
            place *= cv2.addWeighted(raster.ray_x[rows], right, raster.ray_y[rows], down, forward)
        place += view.origin[axis] * _ON_GROUND
        return place

    def _on_things(self, rows: slice, distance: Array, pixels: Indices) -> Array:
        """Return the brightness of those pixels of some rows that show things."""
        raster = self.raster
        scaled = distance * _ON_THINGS
        face = look_up(raster.index[rows], pixels)
        x = look_up(scaled * raster.ray_x[rows], pixels)
        x -= look_up(self.offset_x, face)
        y = look_up(scaled * raster.ray_y[rows], pixels)
        y -= look_up(self.offset_y, face)
        bright = self._fading(look_up(raster.inverse_depth[rows], pixels), _FADES_ON_THINGS, TEXEL)
        bright *= look_up(self.grain, face)
        bright *= _noise(look_up(_tile(), _texel(x, y)))[0]
        bright += _ONE
        return bright

    def _fading(self, inverse_depth: Array, since: np.float32, most: np.float32) -> Array:
        """Return ``most`` up to the distance ``since`` from where texture fades, and less beyond it."""
        share = inverse_depth * np.float32(most * since * self.raster.focal / 440)
        return share.clip(_ZERO, most, out=share)
