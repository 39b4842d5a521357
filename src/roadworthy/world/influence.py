"""How things act on what is around them: their shadows and their light."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from roadworthy.world.arrays import Bytes, Flags
from roadworthy.world.conditions import Light
from roadworthy.world.lamps import halos
from roadworthy.world.raster import Raster
from roadworthy.world.shadows import ground_masks

__all__ = ["Influence"]

_LAMPS_FROM = 0.3  # effect of lamps below which their light drowns in that of the day


@dataclass(frozen=True, eq=False)
class Influence:
    """Shadows and lamp light at each pixel, 0 (none) to 255.

    Attributes:
        contact: Darkness under things that touch the ground.
        cast: Shadows thrown by the sun.
        pools: Light of lamps on the ground; None by day.
        halos: RGB of the glow round lamps; None by day.
    """

    contact: Bytes
    cast: Bytes
    pools: Bytes | None = None
    halos: Bytes | None = None

    @classmethod
    def of(cls, raster: Raster, ground: Bytes, light: Light) -> Influence:
        """Find the influence of all things in view; ``ground`` is 1 where the ground is seen, else 0."""
        lamps = light.lamps > _LAMPS_FROM
        contact, cast, pools = ground_masks(ground.shape, raster, light, lamps=lamps)
        contact *= ground
        cast *= ground
        if not lamps:
            return cls(contact, cast)
        # What stands in a pool of light gets a third of it.
        dimmed = pools // np.uint8(3)
        cv2.copyTo(pools, ground, dimmed)
        return cls(contact, cast, dimmed, halos(ground.shape, raster, light))

    def differs(self, other: Influence) -> Flags:
        """Return where two pictures of the same size differ in shadow or light."""
        found: Flags = (self.contact != other.contact) | (self.cast != other.cast)
        found |= np.not_equal(_or_dark(self.pools), _or_dark(other.pools))
        found |= np.not_equal(_or_dark(self.halos), _or_dark(other.halos)).any(axis=-1)
        return found


def _or_dark(light: Bytes | None) -> Bytes:
    return np.zeros(1, np.uint8) if light is None else light
