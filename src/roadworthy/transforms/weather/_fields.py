"""Images, masks and maps, and what is done with all of them."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["Colour", "Image", "Map", "Mask", "above", "percentile", "resized", "shaded", "thinned", "widened"]

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
