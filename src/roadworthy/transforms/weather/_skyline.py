"""Where the sky is: found in an image about which nothing is known, and to the pixel between leaves."""

from __future__ import annotations

import math
from collections.abc import Callable

import cv2
import numpy as np

from roadworthy.transforms.weather._fields import Image, Mask, above, percentile

__all__ = ["estimated_sky", "likeness"]

_FLAT = 16  # grey levels between neighbours in a thumbnail: more is no sky
_LEAST = 0.004  # of the image
_BELOW = 0.12  # of the height: how far below the horizon sky is looked for, because the horizon is a guess


def estimated_sky(image: Image, horizon: float) -> Mask:
    """Return where the sky seems to be in a thumbnail; nothing where no region looks like it.

    The sky is bright or blue, smooth, and hangs together with the upper edge of the image.

    Args:
        image: The thumbnail, RGB.
        horizon: The row of the horizon.
    """
    height, width = image.shape[:2]
    end = max(2, min(height, math.ceil(horizon + _BELOW * height)))
    upper = image[:end]
    grey = np.asarray(cv2.cvtColor(upper, cv2.COLOR_RGB2GRAY), np.uint8)
    bright = max(80.0, 0.62 * (percentile(grey, 0.97) or 0.0))
    blueish = cv2.subtract(cv2.extractChannel(upper, 2), cv2.extractChannel(upper, 0)) > 18
    blueish &= grey > max(75.0, 0.6 * bright)
    rough = cv2.morphologyEx(grey, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8))
    may_be = ((grey > bright) | blueish) & (rough < _FLAT)
    _, parts, stats, _ = cv2.connectedComponentsWithStats(may_be.view(np.uint8), connectivity=4)
    sky = (stats[:, cv2.CC_STAT_AREA] >= _LEAST * height * width) & (stats[:, cv2.CC_STAT_TOP] <= 1)
    sky[0] = False
    found = np.zeros((height, width), np.uint8)
    found[:end] = np.where(sky, np.uint8(255), np.uint8(0))[np.asarray(parts, np.int32)]
    # What is rough beside the sky, such as wires and edges of clouds, was left out.
    return np.asarray(cv2.morphologyEx(found, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8)), np.uint8)


def likeness(image: Image, grey: Mask, thumbnail: Image, sky: Mask) -> Callable[[float, float], Mask]:
    """Return a function that says how much each pixel has the colour of an image's sky.

    It takes how bright a pixel must be, in relation to the sky, to be partly and to be wholly sky.

    Args:
        image: RGB.
        grey: The same without colour.
        thumbnail: The image, small.
        sky: Where the sky is in the thumbnail.
    """
    there = above(sky, 127)
    of_sky = percentile(np.asarray(cv2.cvtColor(thumbnail, cv2.COLOR_RGB2GRAY), np.uint8), 0.1, there)
    bright = max(of_sky or 255.0, 1.0)
    red_of_sky, _, blue_of_sky, _ = cv2.mean(thumbnail, there)
    levels = np.arange(256, dtype=np.float32)
    # Leaves in the sun are bright, but they are warmer than the sky.
    by_hue = np.clip(1 - (levels - max(red_of_sky - blue_of_sky, 0.0) - 8) / 24, 0, 1) * 255
    warmth = cv2.subtract(cv2.extractChannel(image, 0), cv2.extractChannel(image, 2))
    hue = cv2.LUT(warmth, by_hue.astype(np.uint8))

    def like(partly: float, wholly: float) -> Mask:
        by_light = np.clip((levels / bright - partly) / (wholly - partly), 0, 1) * 255
        return np.asarray(cv2.min(hue, cv2.LUT(grey, by_light.astype(np.uint8))), np.uint8)

    return like
