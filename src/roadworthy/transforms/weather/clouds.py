"""Clouds: the sky turns grey, the sun and its shadows go."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roadworthy.transforms.parameters import number
from roadworthy.transforms.transform import register
from roadworthy.transforms.weather._condition import Condition
from roadworthy.transforms.weather._fields import Image
from roadworthy.transforms.weather._light import overcast
from roadworthy.transforms.weather._scene import Surroundings
from roadworthy.transforms.weather._sky import SkyLook, under

__all__ = ["GREY_SKY", "Cloudy"]

GREY_SKY = SkyLook(
    zenith=(156, 164, 174),
    horizon=(204, 209, 214),
    cloud=(214, 215, 217),
    shade=(140, 147, 157),
    cover=1.0,
    contrast=0.55,
)
_GLOOM = 0.16
_GLOOM_OF_SKY = 0.24


@register("cloudy", summary="clouds cover the sky; light turns grey and shadows soft", aliases=("clouds",))
@dataclass(frozen=True, kw_only=True)
class Cloudy(Condition):
    """An overcast sky in the place of the one that is seen, and its light on everything.

    The sun's share of the light goes, shadows on the ground are lifted (where a label map tells the ground)
    and colours lose some of their strength. Where the sky is, is taken from the label map; without one the
    smooth and bright region at the upper edge counts as sky.
    """

    contrast: float = number(0.5, "How strongly single clouds stand out.", low=0, high=1)

    fact, value, least_change = "weather", "cloudy", 360.0
    bars: ClassVar[Mapping[str, str]] = {
        weather: f"the weather is already {weather}" for weather in ("rainy", "snowy", "foggy")
    }

    def drawn(self, scene: Surroundings, rng: np.random.Generator) -> Image:
        share = math.sqrt(self.amount)
        image = overcast(scene, share, 1 - _GLOOM * self.amount)
        # Few clouds are white, many are grey.
        bright = scene.light * (1.12 - _GLOOM_OF_SKY * self.amount)
        look = GREY_SKY.dimmed(bright, contrast=1.1 * self.contrast)
        return under(image, scene, look.drawn(scene, rng), share)
