"""What engines are shown, as PNG files, and how what they paint comes into a frame."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import LabelMap

__all__ = ["blended", "hole_png", "labels_png", "mask_png"]

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]


def labels_png(labels: LabelMap) -> bytes:
    """Return a label map with the ontology's label ids."""
    return _png(labels.remapped().ids)


def mask_png(mask: Image) -> bytes:
    """Return a mask of one channel."""
    return _png(mask)


def hole_png(image: Image, mask: Image) -> bytes:
    """Return an image that is transparent where the mask is not 0, as some services want it."""
    return _png(np.dstack([image[..., ::-1], 255 - mask]))


def _png(pixels: NDArray[np.unsignedinteger]) -> bytes:
    written, data = cv2.imencode(".png", pixels)
    assert written
    return data.tobytes()


def blended(before: Image, after: Image, opacity: Floats) -> Image:
    """Return an image that is `after` as far as the opacity of a pixel says; at 0 it is `before`, exactly.

    Example:
        >>> black, white = np.zeros((1, 3, 3), np.uint8), np.full((1, 3, 3), 255, np.uint8)
        >>> blended(black, white, np.array([[0, 0.4, 1]], np.float32))[0, :, 0].tolist()
        [0, 102, 255]
    """
    inside = opacity > 0
    old, new = before[inside].astype(np.float32), after[inside].astype(np.float32)
    mixed = before.copy()
    mixed[inside] = np.rint(old + opacity[inside][:, None] * (new - old))
    return mixed
