"""Making an image fit what an engine takes, and its answer fit the frame again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["Fit"]

Image = NDArray[np.uint8]
Numbers = TypeVar("Numbers", bound=NDArray[Any])
Size = tuple[int, int]


@dataclass(frozen=True)
class Fit:
    """How the pictures of a frame are made smaller and padded for an engine; sizes are (height, width).

    Padding is at the right and at the bottom, and goes on with what is at the edge.

    Attributes:
        size: Of the frame.
        scaled: Of the frame as the engine sees it, without padding.
        padded: With it.

    Example:
        >>> Fit.of((720, 960), most=(360, 640), multiple=16)
        Fit(size=(720, 960), scaled=(360, 480), padded=(368, 480))
        >>> Fit.of((100, 90))
        Fit(size=(100, 90), scaled=(100, 90), padded=(100, 90))
    """

    size: Size
    scaled: Size
    padded: Size

    @classmethod
    def of(cls, size: Size, *, most: Size | None = None, multiple: int = 1) -> Fit:
        """Return how a frame of a size is fitted.

        Args:
            size: Of the frame.
            most: The largest size that the engine takes; None for any. The frame keeps its proportions.
            multiple: What height and width must be multiples of.
        """
        scale = 1.0
        if most is not None:
            scale = min(1.0, *(limit / side for limit, side in zip(most, size, strict=True)))
        height, width = (max(1, round(scale * side)) for side in size)
        return cls(
            size, (height, width), (-(-height // multiple) * multiple, -(-width // multiple) * multiple)
        )

    def image(self, image: Numbers) -> Numbers:
        """Return a picture as the engine sees it; one of ids or a mask must go through :meth:`ids`."""
        return self._padded(image if self.scaled == self.size else self._resized(image, cv2.INTER_AREA))

    def ids(self, ids: Numbers) -> Numbers:
        """Return a map whose pixels are numbers as the engine sees it: no number is mixed with another."""
        return self._padded(ids if self.scaled == self.size else self._resized(ids, cv2.INTER_NEAREST))

    def back(self, image: Image) -> Image:
        """Return what the engine made of a picture, at the frame's size."""
        height, width = self.scaled
        cut = image[:height, :width]
        if self.scaled == self.size:
            return cut
        return np.asarray(cv2.resize(cut, self.size[::-1], interpolation=cv2.INTER_CUBIC), image.dtype)

    def _resized(self, picture: Numbers, how: int) -> Numbers:
        resized: Any = cv2.resize(picture, self.scaled[::-1], interpolation=how)
        found: Numbers = resized
        return found

    def _padded(self, picture: Numbers) -> Numbers:
        if self.padded == self.scaled:
            return picture
        below, beside = (whole - part for whole, part in zip(self.padded, self.scaled, strict=True))
        padded: Any = np.pad(picture, ((0, below), (0, beside), *[(0, 0)] * (picture.ndim - 2)), mode="edge")
        found: Numbers = padded
        return found
