"""Boxes with captions that can be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np

from roadworthy.frames import Boxes
from roadworthy.ontology import ontology
from roadworthy.report._palette import BACKGROUND, Image, line_color, round_rectangle
from roadworthy.report._text import draw_text, text_width

__all__ = ["draw_boxes"]

_CAPTION = 8.0  # height of a capital
_SMALLEST_CAPTIONED = 13.0  # pixels on the sheet; what is smaller gets no caption


class Place(NamedTuple):
    """A rectangle on a canvas."""

    left: float
    top: float
    right: float
    bottom: float

    def inside(self, width: int, height: int) -> bool:
        """Return whether it lies within a canvas."""
        return self.left >= 1 and self.top >= 1 and self.right < width - 1 and self.bottom < height - 1

    def overlaps(self, other: Place) -> bool:
        """Return whether less than a pixel lies between two."""
        beside = self.left < other.right + 1 and other.left < self.right + 1
        return beside and self.top < other.bottom + 1 and other.top < self.bottom + 1


def draw_boxes(canvas: Image, boxes: Boxes, scale: float) -> None:
    """Draw all boxes, then captions from the largest box down where they fit without hiding one another."""
    corners = boxes.xyxy.astype(np.float64) * scale - 0.5
    for (left, top, right, bottom), name in zip(corners.tolist(), boxes.classes, strict=True):
        first, last = (round(left * 16), round(top * 16)), (round(right * 16), round(bottom * 16))
        shade = canvas.copy()
        cv2.rectangle(shade, first, last, (0, 0, 0), 3, cv2.LINE_AA, shift=4)
        cv2.addWeighted(shade, 0.45, canvas, 0.55, 0, canvas)
        cv2.rectangle(canvas, first, last, line_color(name), 1, cv2.LINE_AA, shift=4)
    _draw_captions(canvas, boxes, [Place(*corner) for corner in corners.tolist()])


def _draw_captions(canvas: Image, boxes: Boxes, places: Sequence[Place]) -> None:
    """Name the boxes from the largest down, where a name hides neither another name nor, if it can, a box."""
    height, width = canvas.shape[:2]
    names: list[Place] = []
    for index in np.argsort(-boxes.area, kind="stable").tolist():
        box = places[index]
        if max(box.right - box.left, box.bottom - box.top) < _SMALLEST_CAPTIONED:
            continue
        caption = _caption(boxes, index)
        free = [
            place
            for place in _caption_places(box, text_width(caption, _CAPTION) + 9, _CAPTION + 8)
            if place.inside(width, height) and not any(place.overlaps(name) for name in names)
        ]
        if not free:
            continue
        best = min(free, key=lambda place: sum(place.overlaps(other) for other in places))
        names.append(best)
        round_rectangle(canvas, best[:2], best[2:], 3, line_color(boxes.classes[index]))
        draw_text(canvas, caption, best.left + 4.5, (best.top + best.bottom) / 2, _CAPTION, BACKGROUND)


def _caption(boxes: Boxes, index: int) -> str:
    caption = ontology().word_for(boxes.classes[index], boxes.attributes[index])
    if boxes.scores is not None:
        caption += f" {boxes.scores[index]:.2f}"
    if boxes.occlusion is not None and boxes.occlusion[index] > 0.1:
        caption += f" · {boxes.occlusion[index]:.0%} hidden"
    return caption


def _caption_places(box: Place, wide: float, high: float) -> list[Place]:
    """Return where a caption may go, the best first."""
    above, below = box.top - high - 2, box.bottom + 3
    corners = [
        (box.left, above),
        (box.right - wide, above),
        (box.left, below),
        (box.right - wide, below),
        (box.right + 3, box.top),
        (box.left - wide - 3, box.top),
        (max(box.left, 0) + 4, max(box.top, 0) + 4),  # inside, where the thing fills the picture
    ]
    return [Place(x, y, x + wide, y + high) for x, y in corners]
