"""Rain: a grey sky, streaks in the air, a wet road, drops on the lens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np

from roadworthy.transforms.parameters import number
from roadworthy.transforms.transform import Presets, register
from roadworthy.transforms.weather._air import AIR, transmission
from roadworthy.transforms.weather._condition import Condition
from roadworthy.transforms.weather._falling import Streaks, brightened, fallen_streaks
from roadworthy.transforms.weather._fields import Colour, Image, Mask, resized, shaded
from roadworthy.transforms.weather._lens import with_drops
from roadworthy.transforms.weather._light import overcast
from roadworthy.transforms.weather._noise import ground_noise
from roadworthy.transforms.weather._pixels import covered
from roadworthy.transforms.weather._scene import Surroundings
from roadworthy.transforms.weather._sky import as_image, sky_share
from roadworthy.transforms.weather.clouds import GREY_SKY

__all__ = ["HAZE", "Rain"]

_GLOOM, _GLOOM_OF_SKY = 0.26, 0.42
HAZE = 0.0095
"""Extinction per metre in heavy rain."""
_DROP: Colour = (205.0, 212.0, 220.0)
_LAYERS = (
    Streaks(share=1.0, length=0.5, thickness=1 / 600, value=80),
    Streaks(share=0.5, length=1.0, thickness=1 / 540, value=120),
    Streaks(share=0.12, length=1.9, thickness=1 / 220, value=110),
)
_STREAKS = 940  # of the first layer, in heavy rain and a square image
_DROPS = 60  # on the lens, in heavy rain
_DARKER, _MIRROR = 0.36, 0.62


@register("rain", summary="streaks, a wet road, a grey sky, drops on the lens", aliases=("rainy",))
@dataclass(frozen=True, kw_only=True)
class Rain(Condition):
    """Rain in the air, on the road and on the lens; each part can be turned off.

    The sky turns grey and the sun goes, as under clouds; what is far away fades. Streaks are drawn in three
    layers, the nearer the longer, thicker and fewer; they catch light and so show before what is dark. The
    road gets darker, and the farther away it is the more it mirrors the sky and what is above it. Drops on
    the lens show what is behind them upside down and small.

    The road, the sky and how far things are away come from the label map and the depth where there are any.
    Without them the road is taken to be a wedge below the horizon, and the sky the bright region at the
    upper edge. DeepTest's rain was made by hand in a photo editor, so the ten levels here are of our own:
    amounts of 0.1 to 1.
    """

    angle: float = number(
        6.0, "How slanted it falls, positive from the upper right.", unit="degrees", low=-60, high=60
    )
    length: float = number(0.04, "How long a streak is, in widths of the image.", low=0.002, high=0.5)
    streaks: float = number(1.0, "How many streaks are in the air.", low=0, high=3)
    wetness: float = number(1.0, "How wet the road is.", low=0, high=1)
    lens: float = number(0.5, "How many drops are on the lens.", low=0, high=3)
    haze: float = number(1.0, "How far distant things fade.", low=0, high=3)
    overcast: float = number(1.0, "How far the sky and its light turn grey.", low=0, high=1)

    fact, value, least_change = "weather", "rainy", 540.0
    presets: ClassVar[Presets] = {
        **Condition.presets,
        **{f"level-{k}": {"amount": k / 10} for k in range(1, 11)},
    }

    def drawn(self, scene: Surroundings, rng: np.random.Generator) -> Image:
        amount = self.amount
        image = scene.frame.image
        grey = min(1.0, 6 * amount) * self.overcast
        if grey > 0:
            image = overcast(scene, grey, 1 - _GLOOM * amount * self.overcast)
        if grey > 0 or self.wetness > 0 or self.haze > 0:
            image = self._in_wet_air(image, scene, rng, grey)
        if self.streaks > 0:
            most = _STREAKS * self.streaks
            cover = fallen_streaks(
                rng, scene.frame.size, _LAYERS, amount, most=most, length=self.length, angle=self.angle
            )
            light = (0.3 + 0.7 * 0.84 * (1 - _GLOOM * amount)) * scene.light
            image = brightened(image, cover, shaded(_DROP, light), 0.26 + 0.24 * amount)
        if self.lens > 0:
            image = with_drops(image, rng, amount, most=_DROPS * self.lens)
        return image

    def _in_wet_air(self, image: Image, scene: Surroundings, rng: np.random.Generator, grey: float) -> Image:
        """Return the image under a grey sky, with a wet road and haze."""
        amount = self.amount
        air = shaded(AIR, scene.light * (1 - _GLOOM * amount))
        sky = GREY_SKY.dimmed(scene.light * (1 - _GLOOM_OF_SKY * amount))
        cover = sky.behind(air, 0.25 * min(1.0, 1.6 * amount)).drawn(scene, rng)
        share, dark = sky_share(scene, grey), None
        if self.wetness > 0:
            wet = self.wetness * amount
            mirror = scene.full(_mirror(scene, rng, wet))
            share = np.asarray(cv2.max(share, cv2.multiply(mirror, scene.road, scale=1 / 255)), np.uint8)
            dark = np.asarray(cv2.convertScaleAbs(scene.road, alpha=-_DARKER * wet, beta=255), np.uint8)
            below = max(0, round(scene.view.horizon * scene.small[1] / scene.height))
            cover[below:] = _mirrored(image, scene, cover, air)[below:]
        seen = transmission(scene, HAZE * amount * self.haze) if self.haze > 0 else None
        return covered(image, cover, share, darker=dark, seen=seen, air=air)


def _mirror(scene: Surroundings, rng: np.random.Generator, amount: float) -> Mask:
    """Return how much of a mirror the road is, in a thumbnail: more in puddles, and more the farther away."""
    puddles = ground_noise(scene, rng) * np.float32(4.4) - np.float32(1.85)
    mirror = np.clip(puddles, np.float32(0.25), 1)
    mirror *= np.clip((scene.small_distance - np.float32(3)) / np.float32(26), np.float32(0.16), 1)
    return np.asarray(cv2.convertScaleAbs(mirror, alpha=255 * _MIRROR * amount), np.uint8)


def _mirrored(image: Image, scene: Surroundings, sky: Image, air: Colour) -> Image:
    """Return what a wet road mirrors, small: what is above the horizon, upside down and smeared."""
    width, height = scene.small
    small = np.asarray(resized(image, width, height), np.uint8).copy()
    cv2.copyTo(sky, scene.small_sky, small)
    rows = np.rint(2 * scene.view.horizon * height / scene.height - np.arange(height)).astype(np.intp)
    flipped = cv2.blur(small[np.clip(rows, 0, height - 1)], (max(1, width // 80), max(1, height // 6)))
    # The air before the road is in it as well.
    return as_image(flipped * np.float32(0.5) + np.array(air, np.float32) * np.float32(0.46))
