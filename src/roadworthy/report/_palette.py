"""The colours of sheets, and shapes filled with them."""

from __future__ import annotations

import math
from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.ontology import ontology
from roadworthy.report._text import Color

__all__ = [
    "ACCENT",
    "BACKGROUND",
    "BRIGHT",
    "DIM",
    "PANEL",
    "Image",
    "line_color",
    "palette_color",
    "round_rectangle",
]

Image: TypeAlias = NDArray[np.uint8]
"""RGB, height × width × 3."""

BACKGROUND: Color = (21, 23, 28)
PANEL: Color = (33, 36, 43)
BRIGHT: Color = (236, 238, 242)
DIM: Color = (152, 158, 170)
ACCENT: Color = (92, 178, 255)


def palette_color(name: str) -> Color:
    """Return the colour of a class in label maps; grey where it has none."""
    classes = ontology()
    if name not in classes.label_classes:
        return DIM
    red, green, blue = classes.palette[classes.label_id(name)].tolist()
    return red, green, blue


def line_color(name: str) -> Color:
    """Return a class's colour, light enough for a thin line on a dark road."""
    color = np.array(palette_color(name), np.float64)
    color *= min(255 / max(color.max(), 1), 1.7)
    light = float(color @ (0.299, 0.587, 0.114))
    if light < 120:
        color += (255 - color) * (120 - light) / (255 - light)
    red, green, blue = np.rint(color).astype(int).tolist()
    return red, green, blue


def round_rectangle(
    canvas: Image, first: tuple[float, float], last: tuple[float, float], radius: float, color: Color
) -> None:
    """Fill a rectangle with rounded, anti-aliased corners."""
    x1, y1, x2, y2 = (value - 0.5 for value in (*first, *last))
    radius = min(radius, (x2 - x1) / 2, (y2 - y1) / 2)
    points = [
        (x + radius * math.cos(angle), y + radius * math.sin(angle))
        for x, y, start in (
            (x2 - radius, y2 - radius, 0.0),
            (x1 + radius, y2 - radius, 90.0),
            (x1 + radius, y1 + radius, 180.0),
            (x2 - radius, y1 + radius, 270.0),
        )
        for angle in np.radians(np.linspace(start, start + 90, 6))
    ]
    cv2.fillPoly(canvas, [np.rint(np.array(points) * 16).astype(np.int32)], color, cv2.LINE_AA, shift=4)
