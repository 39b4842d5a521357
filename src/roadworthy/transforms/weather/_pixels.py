"""Fast arithmetic on whole images, masks and maps."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Mask = NDArray[np.uint8]  # 0 no … 255 yes
Map = NDArray[np.float32]
Colour = tuple[float, float, float]


def resized(field: NDArray[Any], width: int, height: int) -> NDArray[Any]:
    """Return a smooth field enlarged or shrunk to a size."""
    if field.shape[:2] == (height, width):
        return field
    return np.asarray(cv2.resize(field, (width, height), interpolation=cv2.INTER_LINEAR))


def thinned(values: NDArray[Any], width: int, height: int) -> NDArray[Any]:
    """Return some values of a map, those nearest to the centres of larger pixels, so that none is mixed."""
    return np.asarray(cv2.resize(values, (width, height), interpolation=cv2.INTER_NEAREST_EXACT))


def widened(mask: Mask, reach: int) -> Mask:
    """Return a mask that reaches so many pixels farther; with a negative number, less far."""
    size = 2 * abs(reach) + 1
    change = cv2.dilate if reach > 0 else cv2.erode
    return np.asarray(change(mask, np.ones((size, size), np.uint8)), np.uint8)


def above(mask: Mask, level: float) -> Mask:
    """Return where a mask exceeds a level: 255 there and 0 elsewhere."""
    return np.asarray(cv2.threshold(mask, level, 255, cv2.THRESH_BINARY)[1], np.uint8)


def percentile(values: Mask, share: float, where: Mask | None = None) -> float | None:
    """Return the value that a share of all values, or of those in a mask, does not exceed; None of none."""
    counts = np.cumsum(cv2.calcHist([values], [0], where, [256], [0, 256]).ravel())
    return float(np.searchsorted(counts, share * counts[-1])) if counts[-1] else None


def shaded(colour: Colour, light: float) -> Colour:
    """Return a colour in more or less light."""
    red, green, blue = colour
    return red * light, green * light, blue * light


def spread(mask: Mask) -> Image:
    """Return a mask as an image with three equal channels."""
    return np.asarray(cv2.cvtColor(mask, cv2.COLOR_GRAY2RGB), np.uint8)


def veiled(image: Image, seen: Mask, colour: Colour) -> Image:
    """Return the image behind a veil of one colour: as much of it as `seen` says, the rest is the veil."""
    result = spread(seen)
    cv2.multiply(image, result, scale=1 / 255, dst=result)
    return np.asarray(cv2.add(result, _veil(seen, colour), dst=result), np.uint8)


def _veil(seen: Mask, colour: Colour) -> Image:
    planes = [cv2.convertScaleAbs(seen, alpha=-channel / 255, beta=channel) for channel in colour]
    return np.asarray(cv2.merge(planes), np.uint8)


def blended(one: Image, other: Image, share: Mask) -> Image:
    """Return one image or mask with a share of another one in each pixel."""
    there = share if one.ndim == 2 else spread(share)
    result = cv2.multiply(other, there, scale=1 / 255)
    rest = cv2.bitwise_not(there)
    cv2.multiply(one, rest, scale=1 / 255, dst=rest)
    return np.asarray(cv2.add(result, rest, dst=result), np.uint8)


def covered(
    image: Image, cover: Image, share: Mask, *, darker: Mask | None = None, seen: Mask | None, air: Colour
) -> Image:
    """Return the image with a share of another one, in haze: first `blended` and then `veiled`, but faster.

    Args:
        image: RGB.
        cover: Another image, of any size.
        share: How much of it is seen in each pixel.
        darker: What is left of the brightness of the image itself; all of it when left out.
        seen: How much of both comes through the haze; None is all of it.
        air: The colour of the haze.
    """
    height, width = image.shape[:2]
    kept = np.asarray(cv2.bitwise_not(share), np.uint8)
    for factor in (darker, seen):
        if factor is not None:
            cv2.multiply(kept, factor, scale=1 / 255, dst=kept)
    result = spread(kept)
    cv2.multiply(image, result, scale=1 / 255, dst=result)
    there = spread(share if seen is None else np.asarray(cv2.multiply(share, seen, scale=1 / 255), np.uint8))
    cv2.multiply(resized(cover, width, height), there, scale=1 / 255, dst=there)
    cv2.add(result, there, dst=result)
    return result if seen is None else np.asarray(cv2.add(result, _veil(seen, air), dst=result), np.uint8)


def greyed(image: Image, amount: float) -> Image:
    """Return the image with less colour: at amount 1 it is grey."""
    if amount <= 0:
        return image
    grey = spread(np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8))
    return np.asarray(cv2.addWeighted(image, 1 - amount, grey, amount, 0, dst=grey), np.uint8)


def lit(image: Image, light: Map) -> Image:
    """Return the image multiplied by light: a smooth field with three channels, of any size."""
    height, width = image.shape[:2]
    return np.asarray(cv2.multiply(image, resized(light, width, height), dtype=cv2.CV_8U), np.uint8)
