"""The files of a gallery: a picture of each cut-out, transparent around it, and one of its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import FrameError
from roadworthy.images import read_pixels

__all__ = ["BrokenCutOut", "Ids", "Rgba", "read_ids", "read_rgba", "visible", "write_ids", "write_rgba"]

Rgba = NDArray[np.uint8]
Ids = NDArray[np.uint8]


class BrokenCutOut(FrameError):  # noqa: N818 - it says what is broken
    """A file of a gallery is missing or cannot be used; the message names it."""


def read_rgba(path: Path) -> Rgba:
    """Return the pixels of a cut-out: RGBA, height × width × 4, uint8.

    Raises:
        BrokenCutOut: The file is missing, corrupt, or shows nothing.
    """
    image = _decoded(path)
    if image.ndim != 3 or image.shape[2] != 4 or image.dtype != np.uint8:
        shape = " × ".join(map(str, image.shape))
        raise BrokenCutOut(f"the cut-out {path} must have four channels of 8 bits, got {shape} {image.dtype}")
    if not (image[..., 3] > 127).any():
        raise BrokenCutOut(f"the cut-out {path} is transparent everywhere: it shows nothing")
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGRA2RGBA), np.uint8)


def read_ids(path: Path) -> Ids:
    """Return the numbers of the parts of a cut-out, height × width, uint8.

    Raises:
        BrokenCutOut: The file is missing or corrupt.
    """
    ids = _decoded(path)
    if ids.ndim != 2 or ids.dtype != np.uint8:
        shape = " × ".join(map(str, ids.shape))
        raise BrokenCutOut(f"the parts {path} must have one channel of 8 bits, got {shape} {ids.dtype}")
    return np.asarray(ids, np.uint8)


def write_rgba(path: Path, rgba: Rgba) -> None:
    """Write the pixels of a cut-out."""
    # Colours that nobody sees would only make the file larger.
    write_ids(path, np.asarray(cv2.cvtColor(visible(rgba), cv2.COLOR_RGBA2BGRA), np.uint8))


def write_ids(path: Path, ids: Ids) -> None:
    """Write the numbers of the parts of a cut-out."""
    written, data = cv2.imencode(".png", ids, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    assert written
    path.write_bytes(data.tobytes())


def visible(rgba: Rgba) -> Rgba:
    """Return pixels without the colours of those that are transparent."""
    return np.where(rgba[..., 3:] > 0, rgba, 0).astype(np.uint8)


def _decoded(path: Path) -> NDArray[Any]:
    try:
        return read_pixels(path, "cut-out")
    except FrameError as error:
        raise BrokenCutOut(f"{error}: make the gallery again") from error
