"""Sheets of samples: what an engine makes at some step, as a picture that people look at while it learns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy._files import replacing
from roadworthy.images import write_image

if TYPE_CHECKING:
    from roadworthy.transforms.learned.training.method import Column

__all__ = ["sheet", "write_sheet"]

_GAP = 4  # pixels
_HEAD = 18  # pixels for the titles
_PAPER = 255


def sheet(columns: list[Column]) -> NDArray[np.uint8]:
    """Return images side by side, a row for each of a batch, with the titles of the columns above."""
    images = [_pixels(one) for _, one in columns]
    rows = min(len(one) for one in images)
    height, width = images[0].shape[1:3]
    whole = np.full(
        (_HEAD + rows * (height + _GAP), len(images) * (width + _GAP) - _GAP, 3), _PAPER, np.uint8
    )
    for number, ((title, _), found) in enumerate(zip(columns, images, strict=True)):
        left = number * (width + _GAP)
        cv2.putText(whole, title, (left + 2, 13), cv2.FONT_HERSHEY_SIMPLEX, 0.42, (0, 0, 0), 1, cv2.LINE_AA)
        for row in range(rows):
            top = _HEAD + row * (height + _GAP)
            whole[top : top + height, left : left + width] = found[row]
    return whole


def write_sheet(path: Path, columns: list[Column]) -> None:
    """Write a sheet as a PNG, whole or not at all.

    Raises:
        InputError: It cannot be written.
    """
    with replacing(path) as unfinished:
        write_image(unfinished, sheet(columns))


def _pixels(images: Any) -> NDArray[np.uint8]:
    """Return images from -1 to 1 as pixels: batch × height × width × 3."""
    levels = (images.detach().float().clamp(-1, 1) + 1) * 127.5
    return np.asarray(levels.round().permute(0, 2, 3, 1).cpu().numpy(), np.uint8)
