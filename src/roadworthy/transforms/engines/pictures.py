"""Images as an engine takes them, and how what it paints comes into a frame again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import LabelMap

Image = NDArray[np.uint8]
Numbers = TypeVar("Numbers", bound=NDArray[Any])
Size = tuple[int, int]


@dataclass(frozen=True)
class Fit:
    """How the pictures of a frame are made smaller or larger for an engine, and padded.

    Sizes are (height, width).

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
        >>> Fit.of((80, 120), usual=(160, 320)).scaled
        (160, 240)
    """

    size: Size
    scaled: Size
    padded: Size

    @classmethod
    def of(cls, size: Size, *, most: Size | None = None, multiple: int = 1, usual: Size | None = None) -> Fit:
        """Return how a frame of a size is fitted. It keeps its proportions.

        Args:
            size: Of the frame.
            most: The largest size that the engine takes; None for any. Larger frames are made smaller.
            multiple: What height and width must be multiples of.
            usual: The size that the engine knows; None for any. A frame that is smaller, in height and in
                width, is made as large as fits into it.
        """
        scale = 1.0
        if usual is not None:
            scale = max(scale, min(whole / side for whole, side in zip(usual, size, strict=True)))
        if most is not None:
            scale = min(scale, *(limit / side for limit, side in zip(most, size, strict=True)))
        height, width = (max(1, round(scale * side)) for side in size)
        return cls(
            size, (height, width), (-(-height // multiple) * multiple, -(-width // multiple) * multiple)
        )

    def image(self, image: Numbers) -> Numbers:
        """Return a picture as the engine sees it; one of ids or a mask must go through :meth:`ids`."""
        how = cv2.INTER_AREA if self._is_smaller else cv2.INTER_CUBIC
        return self._padded(image if self.scaled == self.size else self._resized(image, how))

    def ids(self, ids: Numbers) -> Numbers:
        """Return a map whose pixels are numbers as the engine sees it: no number is mixed with another."""
        return self._padded(ids if self.scaled == self.size else self._resized(ids, cv2.INTER_NEAREST))

    def back(self, image: Image) -> Image:
        """Return what the engine made of a picture, at the frame's size."""
        height, width = self.scaled
        cut = image[:height, :width]
        if self.scaled == self.size:
            return cut
        how = cv2.INTER_CUBIC if self._is_smaller else cv2.INTER_AREA
        return np.asarray(cv2.resize(cut, self.size[::-1], interpolation=how), image.dtype)

    @property
    def _is_smaller(self) -> bool:
        """Whether the engine sees fewer pixels than the frame has."""
        return self.scaled[0] * self.scaled[1] < self.size[0] * self.size[1]

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
