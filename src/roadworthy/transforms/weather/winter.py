"""Winter: bare trees, withered grass, snow beside the road, a paler and colder light."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from roadworthy.transforms.parameters import number
from roadworthy.transforms.transform import register
from roadworthy.transforms.weather._air import transmission
from roadworthy.transforms.weather._condition import LEVELS, Condition, known
from roadworthy.transforms.weather._fields import Colour, Image, Mask, above, percentile, shaded, thinned
from roadworthy.transforms.weather._foliage import bared, foliage, withered
from roadworthy.transforms.weather._light import sunshine, without_shadows
from roadworthy.transforms.weather._lying import SnowCover, lying_snow
from roadworthy.transforms.weather._noise import ground_noise
from roadworthy.transforms.weather._pixels import blended, spread
from roadworthy.transforms.weather._scene import Surroundings
from roadworthy.transforms.weather.fog import Fog
from roadworthy.transforms.weather.rain import HAZE as RAIN_HAZE
from roadworthy.transforms.weather.snow import HAZE as SNOW_HAZE

__all__ = ["Winter"]

_COVER = SnowCover(
    by_class={"terrain": 1.05, "sidewalk": 0.72},
    on_grey=0.0,
    on_soil=1.05,
    cleared=True,
    capped=("building", "traffic sign", "traffic light"),
)
_LYING: Colour = (226.0, 231.0, 238.0)
_LOW_SUN: Colour = (0.90, 0.92, 0.95)  # of the light on open ground is left when the sun stands low
_UPRIGHT: Colour = (1.12, 1.10, 1.06)  # which faces the low sun, and the light of the snow
_EDGE = 0.4  # metres from the edge of a road that no plough reaches
_DARKEST = 0.5  # of the light on snow is left in the shade by day
_NIGHT = 0.6  # images that are darker than this part of a day show a night
_LAMPLIT = 90.0  # grey level of ground in the light of lamps


@register(
    "winter", summary="bare trees, snow beside the road and on roofs, a colder light", aliases=("wintry",)
)
@dataclass(frozen=True, kw_only=True)
class Winter(Condition):
    """The same place in winter, on a day without snowfall: the sky and the road stay.

    Leaves fall and give way to bare branches, through which what is around them is seen; grass withers. Snow
    lies beside the road and on roofs, thinly on the pavement and at the road's edge, and is darker where
    shadows fall. The light turns paler and colder.

    What is a crown, what is ground and what is road is known from the label map, and of a crown only what is
    green loses its leaves. Without a label map all that is green above the ground counts as a crown, and what
    is green or brown below the horizon as a verge.
    """

    cover: float = number(1.0, "How much snow lies.", low=0, high=1)
    bare: float = number(1.0, "How far leaves have fallen and grass has withered.", low=0, high=1)
    cold: float = number(1.0, "How far the light turns paler and colder.", low=0, high=1)

    fact, value, least_change = "season", "winter", 600.0

    def drawn(self, scene: Surroundings, rng: np.random.Generator) -> Image:
        share = min(1.0, 1.5 * self.amount)
        original = scene.frame.image
        leaves, grass = foliage(scene)
        image = original
        if self.cold > 0:
            image = _in_cold_light(scene, share * self.cold)
        if self.bare > 0:
            image = withered(image, _scaled(grass, share * self.bare))
        if self.cover > 0:
            image = _under_snow(image, scene, rng, grass, self.amount, self.cover)
        if cv2.countNonZero(scene.small_sky):
            image = blended(image, original, scene.sky)
        if self.bare > 0:
            image = bared(image, scene, _scaled(leaves, share * self.bare), rng)
        return image

    @property
    def _without_effect(self) -> str:
        return f"{self._already}, or nothing grows here"


def _scaled(mask: Mask, share: float) -> Mask:
    return mask if share >= 1 else np.asarray(cv2.convertScaleAbs(mask, alpha=share), np.uint8)


def _in_cold_light(scene: Surroundings, amount: float) -> Image:
    """Return the image in the light of a low sun, as far as the sun shines."""
    sun = amount * (0.3 + 0.7 * sunshine(scene))

    def part(colour: Colour) -> Colour:
        red, green, blue = (1 - sun * (1 - one) for one in colour)
        return red, green, blue

    return without_shadows(scene, 0.2 * sun, light=part(_LOW_SUN), upright=part(_UPRIGHT))


def _under_snow(
    image: Image, scene: Surroundings, rng: np.random.Generator, grass: Mask, amount: float, most: float
) -> Image:
    """Return the image with snow on the ground, lit as the ground under it is."""
    thick = min(1.15, 0.33 + amount)
    hidden = lying_snow(scene, rng, _COVER, thick=thick, caps=min(1.0, 0.4 + amount), most=most)
    more = _scaled(grass, 0.9)
    terrain = scene.mask("terrain")
    if terrain is not None:
        # Where terrain is known, the wind has left its patches.
        more = np.asarray(cv2.max(cv2.subtract(more, terrain), scene.full(_edges(scene, rng))), np.uint8)
    hidden = np.asarray(cv2.max(hidden, _scaled(more, min(1.0, thick) * most)), np.uint8)
    haze = _extinction(scene)
    if haze > 0:
        cv2.multiply(hidden, transmission(scene, haze), scale=1 / 255, dst=hidden)
    white = shaded(_LYING, scene.light * scene.light_on_ground)
    lit = cv2.multiply(hidden, _light_on(scene, hidden), scale=1 / 255)
    snow = cv2.merge([cv2.convertScaleAbs(lit, alpha=channel / 255) for channel in white])
    seen = spread(np.asarray(cv2.bitwise_not(hidden), np.uint8))
    cv2.multiply(image, seen, scale=1 / 255, dst=seen)
    return np.asarray(cv2.add(seen, snow, dst=seen), np.uint8)


def _extinction(scene: Surroundings) -> float:
    """Return how much light the air takes per metre, as far as the metadata tell: haze hides snow, too."""
    amount = LEVELS.get(str(scene.frame.metadata.get("level")), LEVELS["normal"])
    weather = known(scene.frame, "weather")
    if weather == "foggy":
        return Fog(amount=amount).extinction
    return amount * {"rainy": RAIN_HAZE, "snowy": SNOW_HAZE}.get(weather or "", 0.0)


def _light_on(scene: Surroundings, hidden: Mask) -> Mask:
    """Return how brightly the snow is lit: what was dark on the ground was in the shade."""
    small = thinned(hidden, *scene.small)
    level = percentile(scene.small_grey, 0.6, above(small, 64))
    darkest = _DARKEST
    if known(scene.frame, "time") == "night" or scene.light < _NIGHT:
        # Where no lamp shines, neither sun nor sky does.
        level, darkest = max(level or 0.0, _LAMPLIT), 0.0
    soft = cv2.blur(scene.grey, (9, 9))
    table = np.clip(np.arange(256) / max(level or 255.0, 1.0) * 1.15, darkest, 1)
    return np.asarray(cv2.LUT(soft, np.rint(255 * table).astype(np.uint8)), np.uint8)


def _edges(scene: Surroundings, rng: np.random.Generator) -> Mask:
    """Return the thin snow along the edge of the road, in a thumbnail."""
    labels = scene.small_frame.labels
    assert labels is not None
    beside = labels.mask("terrain", "sidewalk")
    if not beside.any():
        return np.zeros(beside.shape, np.uint8)
    away = cv2.distanceTransform(np.where(beside, 0, 255).astype(np.uint8), cv2.DIST_L2, 3)
    height = len(away)
    reach = np.float32(_EDGE * scene.small_view.focal) / scene.small_view.distances(height)
    share = np.clip(1 - away / np.maximum(reach, np.float32(0.5))[:, None], 0, 1)
    share *= thinned(scene.road, *scene.small) > 127
    share *= ground_noise(scene, rng, lump=2.0)
    return np.asarray(share * 255, np.uint8)
