"""What edits of objects share: which pixels they may change, and windows of an image."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.transforms.objects.gallery import BrokenCutOut
from roadworthy.transforms.transform import Keeps, Transform

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


class Edited(NamedTuple):
    """A frame after an edit, and which pixels of its image the edit was free to change."""

    frame: Frame
    region: Mask


class ObjectEdit(Transform):
    """A transform that adds, removes or replaces things; outside its region it changes nothing."""

    family = "objects"
    keeps = Keeps.EDITED
    needs = ("labels",)
    random = True

    @abstractmethod
    def edit(self, frame: Frame, rng: np.random.Generator) -> Edited:
        """Make the edit; see `Transform.change`."""

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        return self._edited(frame, rng).frame

    def _edited(self, frame: Frame, rng: np.random.Generator) -> Edited:
        try:
            return self.edit(frame, rng)
        except BrokenCutOut as error:
            # The draws of other frames may fall on cut-outs that are whole.
            raise NotApplicable(str(error)) from error

    def region(self, frame: Frame, rng: np.random.Generator | int = 0) -> Mask:
        """Return which pixels of a frame's image the edit with this seed may change.

        It follows from what is edited and from where things are put, not from the edited image.

        Raises:
            NotApplicable: The frame does not qualify.

        Example:
            >>> from roadworthy.datasets import load
            >>> from roadworthy.transforms import make_transform
            >>> frame = load("world:town", count=1)[0]
            >>> change = make_transform("replace", element="building", by="tree")
            >>> changed, region = change(frame, 7, measure=False), change.region(frame, 7)
            >>> bool((changed.image[~region] == frame.image[~region]).all())
            True
        """
        return self._edited(frame, np.random.default_rng(rng)).region
