"""Averaging sub-pixels: only the few pixels that show more than one face take the long way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.world.arrays import Array, Bytes, Ids, Indices, Packed, look_up
from roadworthy.world.raster import SUPERSAMPLING, Raster

__all__ = ["SubPixels"]

_SKY = 0  # its face number

_Number = TypeVar("_Number", np.float32, np.uint8)


@dataclass(frozen=True, eq=False)
class SubPixels:
    """Some rows of the painted buffer, and which of their pixels are mixed."""

    index: Indices  # face numbers of the sample pixels
    mixed: Indices  # pixels whose four sub-pixels do not all show the same face
    faces: Ids  # of these n pixels: two rows with two sub-pixels each, so (2, 2n)

    @classmethod
    def of(cls, raster: Raster, rows: slice) -> SubPixels:
        """Find the mixed pixels of some rows."""
        ids = raster.ids[rows.start * SUPERSAMPLING : rows.stop * SUPERSAMPLING]
        # Two neighbours of 16 bits are compared and gathered as one number of 32.
        pairs = ids.view(np.uint32)
        upper, lower = pairs[0::SUPERSAMPLING].ravel(), pairs[1::SUPERSAMPLING].ravel()
        differ = (upper >> np.uint32(16)) != (upper & np.uint32(0xFFFF))
        differ |= upper != lower
        mixed = np.flatnonzero(differ)
        faces = np.stack([look_up(upper, mixed), look_up(lower, mixed)]).view(np.uint16)
        return cls(raster.index[rows], mixed, faces)

    def colors(self, table: Packed) -> tuple[Bytes, ...]:
        """Look up the packed colours of all faces and return the mean of each of the four bytes."""
        packed = look_up(table, self.index)
        if len(self.mixed):
            mean = self._mean(_as_bytes(look_up(table, self.faces)))
            packed.ravel()[self.mixed] = mean.view(np.uint32).ravel()
        return tuple(np.asarray(plane, dtype=np.uint8) for plane in cv2.split(_as_bytes(packed)))

    def sky(self) -> Array:
        """Return which share of each pixel is sky."""
        share: Array = (self.index == _SKY).astype(np.float32)
        if len(self.mixed):
            share.ravel()[self.mixed] = self._mean((self.faces == _SKY).astype(np.float32)).ravel()
        return share

    def _mean(self, values: NDArray[_Number]) -> NDArray[_Number]:
        """Return the mean of four sub-pixels for each of the mixed pixels."""
        mean = cv2.resize(values, (len(self.mixed), 1), interpolation=cv2.INTER_AREA)
        return cast("NDArray[_Number]", mean)


def _as_bytes(packed: Packed) -> Bytes:
    return packed.view(np.uint8).reshape(*packed.shape, 4)
