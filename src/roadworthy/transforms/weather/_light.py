"""The light under an overcast sky, made from that of a sunny day."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np

from roadworthy.transforms.weather._condition import known
from roadworthy.transforms.weather._fields import Colour, Image, Mask, above, percentile, thinned
from roadworthy.transforms.weather._pixels import greyed
from roadworthy.transforms.weather._scene import Surroundings

__all__ = ["overcast", "sunshine", "without_shadows"]

_WITHOUT_SUN = (0.747, 0.761, 0.784)  # of the light on open ground is left when clouds hide the sun
_UNKNOWN_SUN = 0.7  # how sunny an image of high contrast is taken to be when the metadata do not say
_BRIGHTEST_LIFT = 2.4  # factor
_SHADE = (1.14, 1.0, 0.78)  # shadows are blue: how much of each channel they lack, in logarithms
_LESS_COLOUR = 0.12
_UPRIGHT_LEVEL = 150.0  # grey level up to which upright things are lifted
_WHITE: Colour = (1.0, 1.0, 1.0)
_BYTES = np.maximum(np.arange(256, dtype=np.float64), 1)
_STEPS = 140.0  # of a byte for each unit of a logarithm; the brightest lift is below 127 of them


def sunshine(scene: Surroundings) -> float:
    """Return how sunny the image is thought to be, from 0 to 1."""
    weather, time = known(scene.frame, "weather"), known(scene.frame, "time")
    if time == "night" or weather in ("cloudy", "rainy", "snowy", "foggy"):
        return 0.0
    if weather == "sunny":
        return 1.0
    # Where light comes from all sides, nothing is very dark beside what is bright.
    dark, bright = (percentile(scene.small_grey, share) or 0.0 for share in (0.05, 0.95))
    return _UNKNOWN_SUN * float(np.clip((bright - dark - 50) / 80, 0, 1))


def overcast(scene: Surroundings, amount: float, gloom: float = 1.0) -> Image:
    """Return the image in the light of an overcast sky: no sun, soft shadows, less colour.

    Args:
        scene: What is known about the frame.
        amount: How far the light becomes so, from 0 to 1.
        gloom: A further factor of all light.
    """
    sunny = sunshine(scene)
    sun = sunny * amount
    # What was gloomy before gets little gloomier.
    gloom = 1 - (1 - gloom) * (0.3 + 0.7 * sunny)
    red, green, blue = ((1 - sun * (1 - left)) * gloom for left in _WITHOUT_SUN)
    return greyed(without_shadows(scene, sun, light=(red, green, blue)), _LESS_COLOUR * amount)


def without_shadows(
    scene: Surroundings, amount: float, *, light: Colour = _WHITE, upright: Colour = _WHITE
) -> Image:
    """Return the image with what lies in the shade lifted, because light no longer comes from the sun above.

    Each kind of ground is about equally bright all over, so what is darker than most of it is in the shade,
    unless it is very dark: that is the foot of a thing. Upright things are in part turned away from the sun,
    so what is dark there is lifted a little as well.

    Args:
        scene: What is known about the frame.
        amount: How far shadows go, from 0 to 1.
        light: A factor for everything, by channel.
        upright: A further factor for what stands upright, by channel.
    """
    # One byte says how much a pixel is lifted: 0 to 127 for the ground, from 128 on for what stands upright.
    lifts = np.zeros((scene.height, scene.width), np.uint8)
    tints: Colour | None = None
    if amount > 0:
        soft = cv2.blur(scene.grey, (5, 5))
        for ground, lift in _grounds(scene):
            if (found := _sunlit(scene, ground)) is not None:
                level, tints = found[0], tints or found[1]
                sure = np.clip((_BYTES / level - 0.12) / 0.12, 0, 1)
                curve = np.log(np.clip(level / _BYTES, 1, _BRIGHTEST_LIFT)) * sure * lift * amount
                cv2.copyTo(cv2.LUT(soft, np.rint(curve * _STEPS).astype(np.uint8)), ground, lifts)
        for things, lift in _things(scene):
            curve = np.log(np.clip(_UPRIGHT_LEVEL / _BYTES, 1, _BRIGHTEST_LIFT)) * lift * amount
            cv2.copyTo(cv2.LUT(soft, np.rint(128 + curve * _STEPS).astype(np.uint8)), things, lifts)
    logs = np.arange(128) / _STEPS
    factors = [
        np.concatenate([np.exp(logs * tint), np.exp(logs) * more]) * factor
        for tint, more, factor in zip(tints or _SHADE, upright, light, strict=True)
    ]
    most = max(float(factor.max()) for factor in factors)
    planes = [cv2.LUT(lifts, np.rint(factor * (255 / most)).astype(np.uint8)) for factor in factors]
    return np.asarray(cv2.multiply(scene.frame.image, cv2.merge(planes), scale=most / 255), np.uint8)


def _grounds(scene: Surroundings) -> Iterator[tuple[Mask, float]]:
    """Yield where each kind of ground is, and how far shadows on it are lifted."""
    if scene.frame.labels is None:
        yield above(scene.road, 127), 0.5
        return
    for classes, lift in ((("road", "lane"), 0.95), (("sidewalk",), 0.8), (("terrain",), 0.4)):
        mask = scene.mask(*classes)
        assert mask is not None
        yield mask, lift


def _things(scene: Surroundings) -> Iterator[tuple[Mask, float]]:
    """Yield where things stand upright, and how far they are lifted; trees are dark in any light."""
    if scene.frame.labels is None:
        # Neither edge has to be sharp, for the factors on both sides differ little.
        sky = cv2.resize(scene.small_sky, scene.frame.size, interpolation=cv2.INTER_NEAREST)
        yield np.asarray(cv2.bitwise_not(cv2.max(above(scene.road, 127), sky)), np.uint8), 0.3
        return
    built = ("building", "dynamic object", "pole", "traffic sign", "traffic light")
    for classes, lift in ((built, 0.6), (("tree",), 0.0)):
        mask = scene.mask(*classes)
        assert mask is not None
        yield mask, lift


def _sunlit(scene: Surroundings, ground: Mask) -> tuple[float, Colour | None] | None:
    """Return how bright some ground is in the sun, and how much of each channel its shade, if any, lacks."""
    small = thinned(ground, *scene.small)
    pixels = cv2.countNonZero(small)
    level = percentile(scene.small_grey, 0.7, small)
    if level is None or pixels < 16 or level < 1:
        return None
    grey = scene.small_grey
    lit_part = cv2.bitwise_and(small, above(grey, 0.9 * level))
    shade = cv2.bitwise_and(
        cv2.bitwise_and(small, above(grey, 0.25 * level)), cv2.bitwise_not(above(grey, 0.7 * level))
    )
    if cv2.countNonZero(shade) < 0.02 * pixels:
        return level, None
    in_sun, in_shade = (np.maximum(cv2.mean(scene.thumbnail, part)[:3], 1.0) for part in (lit_part, shade))
    lack = np.log(in_sun / in_shade)
    red, green, blue = np.clip(lack / max(float(lack.mean()), 1e-3), 0.5, 1.5).tolist()
    return level, (red, green, blue)
