"""The colours of sheets, and smooth small text drawn on images."""

from __future__ import annotations

import math
import re
import unicodedata
from functools import lru_cache
from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.ontology import ontology

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


Color = tuple[int, int, int]

_FONT = cv2.FONT_HERSHEY_SIMPLEX
_FINE = 8  # drawn this much larger, so that strokes may be parts of a pixel wide
_STROKE = {False: 0.125, True: 0.185}  # of the height of a capital
_SIGNS = {"°": 0.55, "·": 0.3, "→": 1.35, "Δ": 1.1, "-": 0.6}
"""Signs that the font lacks or draws badly (its hyphen is a dash), with the room they take, in capitals."""


def text_width(text: str, size: float, *, bold: bool = False) -> int:
    """Return the width of a line of text in pixels; ``size`` is the height of a capital."""
    return _inked(text, size, bold)[1]


def draw_text(
    canvas: NDArray[np.uint8],
    text: str,
    x: float,
    y: float,
    size: float,
    color: Color,
    *,
    bold: bool = False,
) -> None:
    """Draw a line of text into a canvas.

    Args:
        canvas: RGB; changed in place. What falls outside is cut off.
        text: The line.
        x: Its left end.
        y: The middle of its capitals.
        size: The height of a capital in pixels.
        color: RGB.
        bold: Whether strokes are thicker.
    """
    mask, _, margin = _inked(text, size, bold)
    top = round(y - size / 2) - margin
    blend_mask(canvas, mask, round(x) - margin, top, color)


def blend_mask(
    canvas: NDArray[np.uint8], mask: NDArray[np.float32], left: int, top: int, color: Color
) -> None:
    """Lay a colour over a canvas where a mask (0 to 1) says so, cut off at the canvas's edges."""
    height, width = canvas.shape[:2]
    x1, y1 = max(left, 0), max(top, 0)
    x2, y2 = min(left + mask.shape[1], width), min(top + mask.shape[0], height)
    if x1 >= x2 or y1 >= y2:
        return
    share = mask[y1 - top : y2 - top, x1 - left : x2 - left, None]
    under = canvas[y1:y2, x1:x2]
    mixed = under + (np.asarray(color, np.float32) - under) * share
    canvas[y1:y2, x1:x2] = np.rint(mixed).astype(np.uint8)


def fitted(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """Return the text, or its beginning with dots where it is wider than there is room."""
    if text_width(text, size, bold=bold) <= width:
        return text
    for end in range(len(text) - 1, 0, -1):
        short = text[:end].rstrip() + "..."
        if text_width(short, size, bold=bold) <= width:
            return short
    return ""


@lru_cache(maxsize=4096)
def _inked(text: str, size: float, bold: bool) -> tuple[NDArray[np.float32], int, int]:
    """Return the text as a mask from 0 to 1, its width, and the margin round it."""
    capital = size * _FINE
    stroke = max(1, round(capital * _STROKE[bold]))
    scale = capital / 21  # the capitals of the Hershey fonts are 21 units high
    margin = int(np.ceil(size * 0.5))
    runs = _runs(text)
    widths = [
        _SIGNS[run] * capital if run in _SIGNS else cv2.getTextSize(run, _FONT, scale, stroke)[0][0]
        for run in runs
    ]
    width = int(np.ceil(sum(widths) / _FINE))
    mask = np.zeros(((int(np.ceil(size)) + 2 * margin) * _FINE, (width + 2 * margin) * _FINE), np.uint8)
    x, base = float(margin * _FINE), margin * _FINE + capital
    for run, wide in zip(runs, widths, strict=True):
        if run in _SIGNS:
            _draw_sign(mask, run, x, base, capital, stroke)
        else:
            cv2.putText(mask, run, (round(x), round(base)), _FONT, scale, 255, stroke, cv2.LINE_AA)
        x += wide
    small = cv2.resize(mask, None, fx=1 / _FINE, fy=1 / _FINE, interpolation=cv2.INTER_AREA)
    ink = small.astype(np.float32) / np.float32(255)
    ink.setflags(write=False)
    return ink, width, margin


def _runs(text: str) -> list[str]:
    """Split a line into signs and what the font can draw, without the accents it lacks."""
    kept = "".join(
        sign
        if sign in _SIGNS
        else unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode() or "?"
        for sign in text
        if not unicodedata.combining(sign)
    )
    return [run for run in re.split(f"([{re.escape(''.join(_SIGNS))}])", kept) if run]


def _draw_sign(
    mask: NDArray[np.uint8], sign: str, x: float, base: float, capital: float, stroke: int
) -> None:
    middle = base - capital / 2
    if sign == "°":
        radius = round(capital * 0.17)
        centre = (round(x + capital * 0.28), round(base - capital + radius))
        cv2.circle(mask, centre, radius, 255, stroke, cv2.LINE_AA)
    elif sign == "·":
        cv2.circle(mask, (round(x + capital * 0.15), round(middle)), stroke, 255, -1, cv2.LINE_AA)
    elif sign == "Δ":
        corners = ((0.05, 0.0), (0.85, 0.0), (0.45, 1.0))
        outline = np.array(
            [[round(x + capital * u), round(base - capital * v)] for u, v in corners], np.int32
        )
        cv2.polylines(mask, [outline], True, 255, stroke, cv2.LINE_AA)
    elif sign == "-":
        ends = (round(x + capital * 0.12), round(x + capital * 0.45))
        cv2.line(mask, (ends[0], round(middle)), (ends[1], round(middle)), 255, stroke, cv2.LINE_AA)
    else:
        tail, tip = (round(x + capital * 0.15), round(middle)), (round(x + capital * 1.15), round(middle))
        cv2.arrowedLine(mask, tail, tip, 255, stroke, cv2.LINE_AA, tipLength=0.35)
