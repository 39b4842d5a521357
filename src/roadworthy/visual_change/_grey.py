"""What comes in: images checked, and turned to grey."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import described
from roadworthy.errors import FrameError

Image = NDArray[np.uint8] | NDArray[np.floating[Any]]
Pixels = NDArray[np.floating[Any]]
"""Of single or double precision."""
Doubles = NDArray[np.float64]

RGB_WEIGHTS = (0.2989, 0.5870, 0.1140)


def checked(image: object, name: str) -> Image:
    """Return the image itself, or raise a FrameError that says what is wrong with it."""
    if (
        not isinstance(image, np.ndarray)
        or not (image.ndim == 2 or (image.ndim == 3 and image.shape[2] == 3))
        or not (image.dtype == np.uint8 or np.issubdtype(image.dtype, np.floating))
    ):
        raise FrameError(
            f"the {name} must have shape (height, width) or (height, width, 3) and dtype uint8 or float "
            f"with values from 0 to 255, got {described(image)}"
        )
    if image.size == 0:
        raise FrameError(
            f"the {name} must be at least one pixel high and wide, got {image.shape[0]} × {image.shape[1]}"
        )
    if image.dtype != np.uint8 and not np.isfinite(image).all():
        place = tuple(np.argwhere(~np.isfinite(image))[0])
        raise FrameError(
            f"the {name} must hold finite values, got {image[place]} at row {place[0]}, column {place[1]}"
        )
    return image


def grey(image: Image) -> Pixels:
    """Return a checked image in grey, always as a new array.

    Single precision is enough where values are whole numbers. A smooth image of finer values has subbands so
    weak that the rounding errors of single precision would count.
    """
    whole = image.dtype == np.uint8
    pixels: Pixels = np.array(image, np.float32 if whole else np.float64, order="C")
    if pixels.ndim == 2:
        return pixels
    mixed: Pixels = np.asarray(cv2.transform(pixels, np.array([RGB_WEIGHTS])), pixels.dtype)
    # rgb2gray keeps the class of its input.
    return np.rint(mixed, out=mixed) if whole else mixed


def reflected(image: Pixels, top: int, bottom: int, left: int, right: int) -> Pixels:
    """Continue an image by reflection about its edge pixels ("reflect1"), any number of times."""
    if not (top or bottom or left or right):
        return image
    return np.asarray(cv2.copyMakeBorder(image, top, bottom, left, right, cv2.BORDER_REFLECT_101))
