"""Windows of an image: the connected parts of a mask, and boxes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["Window", "box_window", "parts_of"]

Mask = NDArray[np.bool_]
Window = tuple[slice, slice]


def box_window(corners: NDArray[np.floating]) -> Window:
    """Return the rows and columns of the pixels that a box touches; a box may begin outside the image.

    Example:
        >>> box_window(np.array([-1.0, 2.2, 3.0, 2.8]))
        (slice(2, 3, None), slice(0, 3, None))
    """
    left, top, right, bottom = corners.tolist()
    return (
        slice(max(0, math.floor(top)), max(0, math.ceil(bottom))),
        slice(max(0, math.floor(left)), max(0, math.ceil(right))),
    )


def parts_of(mask: Mask, least: int = 1) -> Iterator[tuple[Window, Mask]]:
    """Yield the window and the pixels in it of each connected part of a mask that has so many pixels.

    Example:
        >>> mask = np.array([[1, 1, 0, 0], [0, 0, 0, 1]], np.bool_)
        >>> [(rows.start, columns.start, pixels.sum().item()) for (rows, columns), pixels in parts_of(mask)]
        [(0, 0, 2), (1, 3, 1)]
    """
    # Looking only where the mask is: most of an image is not in it.
    left, top, wide, high = cv2.boundingRect(mask.view(np.uint8))
    if not wide:
        return
    inside = np.ascontiguousarray(mask[top : top + high, left : left + wide]).view(np.uint8)
    count, parts, stats, _ = cv2.connectedComponentsWithStats(inside, connectivity=8)
    for number in range(1, count):
        x, y, across, down, area = stats[number].tolist()
        if area >= least:
            pixels: Mask = parts[y : y + down, x : x + across] == number
            yield (
                (slice(top + y, top + y + down), slice(left + x, left + x + across)),
                pixels,
            )
