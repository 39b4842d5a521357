"""Snow: flakes in the air, and snow on everything that faces up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np

from roadworthy.transforms.parameters import choice, number
from roadworthy.transforms.transform import Presets, register
from roadworthy.transforms.weather._air import AIR, transmission
from roadworthy.transforms.weather._condition import Condition
from roadworthy.transforms.weather._falling import Flakes, brightened, fallen_flakes
from roadworthy.transforms.weather._fields import Colour, Image, Mask, shaded, widened
from roadworthy.transforms.weather._imagenet_c import imagenet_c_snow
from roadworthy.transforms.weather._light import overcast
from roadworthy.transforms.weather._lying import SnowCover, lying_snow
from roadworthy.transforms.weather._pixels import covered, veiled
from roadworthy.transforms.weather._scene import Surroundings
from roadworthy.transforms.weather._sky import as_image, sky_share
from roadworthy.transforms.weather.clouds import GREY_SKY

__all__ = ["HAZE", "Snow"]

_GLOOM, _GLOOM_OF_SKY = 0.08, 0.05
HAZE = 0.014
"""Extinction per metre in heavy snow."""
_LYING: Colour = (193.0, 199.0, 210.0)  # of snow on the ground under a grey sky
_FLAKE: Colour = (238.0, 240.0, 244.0)
_LAYERS = (
    Flakes(share=1.4, radius=1 / 640, value=150, edge=0.6),
    Flakes(share=0.5, radius=1 / 380, value=190, edge=0.6),
    Flakes(share=0.08, radius=1 / 200, value=165, edge=1.0),
)
_FLAKES = 1440  # of share 1, in heavy snow and a square image
_COVER = SnowCover(
    by_class={
        "terrain": 1.25, "sidewalk": 0.95, "road": 0.35, "lane": 0.35, "tree": 0.34, "line": 0.2,
        "crosswalk": 0.2, "stop and yield line": 0.2,
    },
    on_grey=0.35,
    on_soil=0.9,
    capped=("building", "vehicle", "tree", "traffic sign", "traffic light"),
)  # fmt: skip


@register("snow", summary="flakes in the air, snow on the ground and on roofs", aliases=("snowy",))
@dataclass(frozen=True, kw_only=True)
class Snow(Condition):
    """Snow that falls and lies; each part can be turned off.

    The sky turns grey and the sun goes, as under clouds; what is far away fades. Flakes are drawn in three
    layers, the nearer the larger and fewer, the nearest out of focus. Snow lies on the ground, less on the
    road than beside it, and as a cap on what faces up: roofs, cars, trees.

    Which ground is which, and what has a cap, is known from the label map. Without one all that lies well
    below the horizon counts as ground, what is green or brown there as a verge, and nothing has a cap.

    The style "imagenet-c" is the snow of that benchmark instead: thresholded noise, blurred along one
    direction, over whitened colours. Its severities 1 to 5 are at the amounts 0.2 to 1.
    """

    angle: float = number(
        12.0, "How slanted it falls, positive from the upper right.", unit="degrees", low=-60, high=60
    )
    flakes: float = number(1.0, "How many flakes are in the air.", low=0, high=3)
    cover: float = number(1.0, "How much snow lies on the ground and on things.", low=0, high=1)
    haze: float = number(1.0, "How far distant things fade.", low=0, high=3)
    overcast: float = number(1.0, "How far the sky and its light turn grey.", low=0, high=1)
    style: str = choice(
        "scene", "Whether it follows the scene or is ImageNet-C's noise.", ("scene", "imagenet-c")
    )

    fact, value, least_change = "weather", "snowy", 900.0
    presets: ClassVar[Presets] = {
        **Condition.presets,
        **{f"imagenet-c-{k}": {"amount": k / 5, "style": "imagenet-c"} for k in range(1, 6)},
    }

    def drawn(self, scene: Surroundings, rng: np.random.Generator) -> Image:
        if self.style == "imagenet-c":
            return imagenet_c_snow(scene.frame.image, rng, 5 * self.amount)
        amount = self.amount
        image = scene.frame.image
        grey = min(1.0, 6 * amount) * self.overcast
        if grey > 0:
            image = overcast(scene, grey, 1 - _GLOOM * amount)
        if grey > 0 or self.cover > 0 or self.haze > 0:
            image = self._in_white(image, scene, rng, grey)
        if self.flakes > 0:
            most = _FLAKES * self.flakes
            cover = fallen_flakes(rng, scene.frame.size, _LAYERS, amount, most=most, angle=self.angle)
            image = brightened(image, cover, shaded(_FLAKE, scene.light), 1.0)
        return image

    def _in_white(self, image: Image, scene: Surroundings, rng: np.random.Generator, grey: float) -> Image:
        """Return the image under a grey sky, with snow on the ground and haze."""
        amount = self.amount
        gloom = scene.light * (1 - _GLOOM * amount)
        air = shaded(AIR, gloom)
        white = shaded(_LYING, gloom * scene.light_on_ground)
        lying = self._lying(scene, rng) if self.cover > 0 else None
        if lying is not None and grey == self.haze == 0:
            return veiled(image, np.asarray(cv2.bitwise_not(lying), np.uint8), white)
        sky = GREY_SKY.dimmed(scene.light * (1 - _GLOOM_OF_SKY * amount), contrast=0.4)
        cover = sky.behind(air, 0.45 * min(1.0, 1.6 * amount)).drawn(scene, rng)
        share = sky_share(scene, grey)
        if lying is not None:
            no_sky = (widened(scene.small_sky, 1) == 0)[..., None]
            np.copyto(cover, as_image(np.array(white, np.float32)), where=no_sky)
            share = np.asarray(cv2.max(share, lying), np.uint8)
        seen = transmission(scene, HAZE * amount * self.haze) if self.haze > 0 else None
        return covered(image, cover, share, seen=seen, air=air)

    def _lying(self, scene: Surroundings, rng: np.random.Generator) -> Mask:
        """Return how much snow hides of each pixel."""
        amount = self.amount
        thick, caps = 1.35 * min(1.0, 0.25 + amount), min(1.0, 0.5 + amount)
        return lying_snow(scene, rng, _COVER, thick=thick, caps=caps, most=min(1.0, 6 * amount) * self.cover)
