"""Frames drawn with what is known about them: boxes with captions, labels, depth, signals, and small text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError, check_known, check_number
from roadworthy.frames import Boxes, Frame, LabelMap, PlannedPath, Signals
from roadworthy.frames.path import FRONT, HALF_WIDTH, REAR
from roadworthy.ontology import VOID, ontology

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

Image: TypeAlias = NDArray[np.uint8]
"""RGB, height × width × 3."""

_TOKENS = Path(__file__).parent.joinpath("html", "static", "tokens.css").read_text("utf-8")
LIGHT, DARK = (dict(re.findall(r"--([\w-]+): (#\w{6});", part)) for part in _TOKENS.split("@media", 1))


def _dark(name: str) -> Color:
    red, green, blue = bytes.fromhex(DARK[name][1:])
    return red, green, blue


BACKGROUND, PANEL, BRIGHT = _dark("page"), _dark("surface"), _dark("text")
DIM, ACCENT = _dark("text-dim"), _dark("accent")


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

_FONTS = {False: "DejaVuSans.ttf", True: "DejaVuSans-Bold.ttf"}
_CAPITAL = 0.729  # the height of a capital, of the size of the font


def text_width(text: str, size: float, *, bold: bool = False) -> int:
    """Return the width of a line of text in pixels; ``size`` is the height of a capital."""
    return _inked(text, size, bold)[1]


def draw_text(
    canvas: NDArray[np.uint8], text: str, x: float, y: float, size: float, color: Color, *, bold: bool = False
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
    blend_mask(canvas, mask, round(x) - margin, round(y - size / 2) - margin, color)


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
    canvas[y1:y2, x1:x2] = np.rint(under + (np.asarray(color, np.float32) - under) * share).astype(np.uint8)


def fitted(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """Return the text, or its beginning with dots where it is wider than there is room."""
    if text_width(text, size, bold=bold) <= width:
        return text
    shorter = (text[:end].rstrip() + "..." for end in range(len(text) - 1, 0, -1))
    return next((one for one in shorter if text_width(one, size, bold=bold) <= width), "")


@lru_cache(maxsize=32)
def _font(bold: bool, thread: int) -> FT2Font:  # noqa: ARG001 - others may draw at the same time
    """Return the font of a thread."""
    from matplotlib import get_data_path
    from matplotlib.ft2font import FT2Font

    return FT2Font(str(Path(get_data_path(), "fonts", "ttf", _FONTS[bold])))


@lru_cache(maxsize=4096)
def _inked(text: str, size: float, bold: bool) -> tuple[NDArray[np.float32], int, int]:
    """Return the text as a mask from 0 to 1, its width, and the margin round it."""
    font = _font(bold, get_ident())
    font.set_size(size / _CAPITAL, 72)
    font.set_text("".join(sign if font.get_char_index(ord(sign)) else "?" for sign in text))
    font.draw_glyphs_to_bitmap(antialiased=True)
    ink = np.asarray(font.get_image(), np.float32) / 255
    # Some signs are much higher than a capital.
    width, margin = math.ceil(font.get_width_height()[0] / 64), max(math.ceil(size / 2), ink.shape[0])
    mask = np.zeros((math.ceil(size) + 2 * margin, width + 2 * margin), np.float32)
    bottom = margin + round(size + font.get_descent() / 64)
    mask[bottom - ink.shape[0] : bottom, margin : margin + ink.shape[1]] = ink
    mask.setflags(write=False)
    return mask, width, margin


_CAPTION = 8.0  # height of a capital
_SMALLEST_CAPTIONED = 13.0  # pixels on the sheet; what is smaller gets no caption


class Rectangle(NamedTuple):
    """A rectangle on a canvas."""

    left: float
    top: float
    right: float
    bottom: float

    def inside(self, width: int, height: int) -> bool:
        """Return whether it lies within a canvas."""
        return self.left >= 1 and self.top >= 1 and self.right < width - 1 and self.bottom < height - 1

    def overlaps(self, other: Rectangle) -> bool:
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
    _draw_captions(canvas, boxes, [Rectangle(*corner) for corner in corners.tolist()])


def _draw_captions(canvas: Image, boxes: Boxes, places: Sequence[Rectangle]) -> None:
    """Name the boxes from the largest down, where a name hides neither another name nor, if it can, a box."""
    height, width = canvas.shape[:2]
    names: list[Rectangle] = []
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


def _caption_places(box: Rectangle, wide: float, high: float) -> list[Rectangle]:
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
    return [Rectangle(x, y, x + wide, y + high) for x, y in corners]


OVERLAYS = ("boxes", "labels", "depth", "instances", "signals")
"""What can be drawn over or under an image."""

_LABEL_SHARE = 0.42
_DEPTH_RANGE = (3.0, 150.0)
_FULL_SPEED = 100.0  # km/h at the end of the speed bar


def parse_overlays(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return the overlays that are named, each once; ``"none"`` names none.

    Raises:
        InputError: A name is unknown.

    Example:
        >>> parse_overlays("labels,boxes")
        ('labels', 'boxes')
        >>> parse_overlays("none")
        ()
        >>> parse_overlays("box")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: unknown overlay 'box': did you mean 'boxes'?
    """
    asked = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    for name in asked:
        check_known("unknown overlay", name, (*OVERLAYS, "none"))
    if "none" in asked and len(asked) > 1:
        raise InputError(f"overlay 'none' cannot be joined with others, got {', '.join(asked)}")
    return tuple(name for name in dict.fromkeys(asked) if name != "none")


def draw_frame(
    frame: Frame,
    overlays: str | Iterable[str] = ("boxes", "labels", "signals"),
    scale: float = 2.0,
    *,
    legend: bool = True,
) -> Image:
    """Return a frame's image, enlarged, with what is known about it drawn over it.

    Args:
        frame: The frame.
        overlays: Which of `OVERLAYS` to draw. Signals come in a strip below the image.
        scale: Enlargement.
        legend: Whether a strip below says which colour is which class, where labels are drawn.

    Example:
        >>> frame = Frame("a", np.zeros((160, 320, 3), np.uint8))
        >>> draw_frame(frame, "boxes").shape
        (320, 640, 3)
    """
    chosen = parse_overlays(overlays)
    check_number("scale", scale, least=0.1, most=16)
    size = (max(1, round(frame.width * scale)), max(1, round(frame.height * scale)))
    enlarging = cv2.INTER_CUBIC if scale > 1 else cv2.INTER_AREA
    canvas = np.asarray(cv2.resize(frame.image, size, interpolation=enlarging), np.uint8)
    if "depth" in chosen and frame.depth is not None:
        canvas = _mixed(canvas, _depth_colors(frame.depth), 0.9)
    if "labels" in chosen and frame.labels is not None:
        canvas = _with_labels(canvas, frame.labels)
    if "instances" in chosen and frame.instances is not None:
        canvas = _with_instances(canvas, frame.instances)
    if "boxes" in chosen and frame.boxes is not None:
        draw_boxes(canvas, frame.boxes, scale)
    strips = [canvas]
    if "signals" in chosen and (frame.signals.speed is not None or frame.signals.steering is not None):
        strips.append(draw_signals(frame.signals, size[0]))
    if legend and "labels" in chosen and frame.labels is not None:
        strips.append(draw_legend(frame.labels.present(), size[0], margin=12, background=PANEL))
    return np.vstack(strips)


def draw_difference(before: Frame, after: Frame, scale: float = 2.0) -> Image:
    """Return where two frames differ: bright where much has changed, over a dim image of the first.

    Example:
        >>> black = Frame("a", np.zeros((4, 6, 3), np.uint8))
        >>> int(draw_difference(black, black).max())
        0
    """
    if before.size != after.size:
        raise InputError(f"the frames must have one size, got {before.size} and {after.size}")
    change = cv2.absdiff(before.image, after.image).max(axis=2).astype(np.float32) / 255
    share = np.sqrt(change)[..., None]
    heat = _ramp(np.sqrt(change), cv2.COLORMAP_INFERNO)
    grey = cv2.cvtColor(before.image, cv2.COLOR_RGB2GRAY)[..., None].repeat(3, axis=2) * 0.3
    mixed = np.clip(grey * (1 - share) + heat * share, 0, 255).astype(np.uint8)
    size = (round(before.width * scale), round(before.height * scale))
    return np.asarray(cv2.resize(mixed, size, interpolation=cv2.INTER_LINEAR), np.uint8)


def draw_legend(
    classes: Iterable[str], width: int, *, margin: int = 0, background: Color = BACKGROUND
) -> Image:
    """Return a strip that names the colours of label classes, in as many rows as it takes."""
    present = set(classes)
    names = [name for name in ontology().label_classes if name in present and name != VOID]
    rows: list[list[tuple[str, int]]] = [[]]
    x = margin
    for name in names:
        room = 22 + text_width(name, 10)
        if x + room > width - margin and rows[-1]:
            rows.append([])
            x = margin
        rows[-1].append((name, x))
        x += room + 22
    strip = np.full((10 + 24 * len(rows), width, 3), background, np.uint8)
    for number, row in enumerate(rows):
        middle = 17 + 24 * number
        for name, left in row:
            round_rectangle(strip, (left, middle - 7), (left + 14, middle + 7), 3, palette_color(name))
            draw_text(strip, name, left + 22, middle, 10, DIM)
    return strip


def draw_depth_legend(width: int) -> Image:
    """Return a strip that says which colour is which distance."""
    near, far = _DEPTH_RANGE
    strip = np.full((34, width, 3), BACKGROUND, np.uint8)
    first, last = f"{near:g} m", f"{far:g} m"
    draw_text(strip, first, 0, 17, 10, DIM)
    left = text_width(first, 10) + 12
    right = min(left + 240, width - text_width(last, 10) - 12)
    if right > left:
        metres = np.geomspace(near, far, right - left).astype(np.float32)
        strip[11:23, left:right] = _depth_colors(metres[None])
    draw_text(strip, last, right + 12, 17, 10, DIM)
    return strip


def _mixed(canvas: Image, colors: Image, share: float | NDArray[np.float32]) -> Image:
    """Lay colours of the frame's own size over the enlarged image."""
    size = (canvas.shape[1], canvas.shape[0])
    over = cv2.resize(colors, size, interpolation=cv2.INTER_NEAREST_EXACT)
    if isinstance(share, np.ndarray):
        larger = cv2.resize(share, size, interpolation=cv2.INTER_NEAREST_EXACT)
        share = np.asarray(larger, np.float32)[..., None]
    return np.rint(canvas + (over.astype(np.float32) - canvas) * share).astype(np.uint8)


def _with_labels(canvas: Image, labels: LabelMap) -> Image:
    colors = np.array([palette_color(name) for name in labels.classes], np.uint8)[labels.ids]
    known = np.array([name != VOID for name in labels.classes], np.float32)[labels.ids]
    return _outlined(_mixed(canvas, colors, known * np.float32(_LABEL_SHARE)), labels.ids)


def _with_instances(canvas: Image, instances: NDArray[np.uint16] | NDArray[np.int32]) -> Image:
    # The golden ratio puts the hues of neighbouring ids far apart.
    hue = (instances.astype(np.float64) * 0.618034 % 1.0 * 180).astype(np.uint8)
    full = np.full_like(hue, 255)
    colors = cv2.cvtColor(np.dstack([hue, full // 3 * 2, full]), cv2.COLOR_HSV2RGB)
    share = np.where(instances > 0, np.float32(0.6), np.float32(0))
    return _outlined(_mixed(canvas, np.asarray(colors, np.uint8), share), instances)


def _outlined(canvas: Image, ids: NDArray[np.integer]) -> Image:
    """Draw a thin light line where one region meets another."""
    size = (canvas.shape[1], canvas.shape[0])
    large = cv2.resize(ids.astype(np.float32), size, interpolation=cv2.INTER_NEAREST_EXACT)
    edge = np.zeros(large.shape, np.float32)
    edge[:, 1:] += large[:, 1:] != large[:, :-1]
    edge[1:] += large[1:] != large[:-1]
    share = np.minimum(edge, 1)[..., None] * np.float32(0.35)
    return np.rint(canvas + (255 - canvas.astype(np.float32)) * share).astype(np.uint8)


def _ramp(share: NDArray[np.floating], colormap: int) -> Image:
    levels = np.rint(np.clip(share, 0, 1) * 255).astype(np.uint8)
    return np.asarray(cv2.cvtColor(cv2.applyColorMap(levels, colormap), cv2.COLOR_BGR2RGB), np.uint8)


def _depth_colors(depth: NDArray[np.float32]) -> Image:
    """Near is red, far is blue, the sky is dark and what is unknown is grey."""
    near, far = _DEPTH_RANGE
    with np.errstate(divide="ignore"):
        share = 1 - np.log(np.maximum(depth, 1e-3) / near) / math.log(far / near)
    colors = _ramp(np.nan_to_num(share, nan=0.0, posinf=0.0, neginf=0.0) * 0.9 + 0.05, cv2.COLORMAP_TURBO)
    colors[np.isinf(depth)] = BACKGROUND
    colors[np.isnan(depth)] = DIM
    return colors


def draw_signals(signals: Signals, width: int, label: str = "") -> Image:
    """Return a strip with a steering needle and a speed bar, and before them whose they are."""
    speed, steering = signals.speed, signals.steering
    strip = np.full((34, width, 3), PANEL, np.uint8)
    x = 12.0
    if label:
        draw_text(strip, label, x, 17, 10, DIM)
        x += max(text_width(label, 10), text_width("model", 10)) + 16
    if steering is not None:
        _draw_needle(strip, (x + 15, 25), steering)
        side = "" if abs(steering) < 0.05 else " right" if steering > 0 else " left"
        draw_text(strip, f"{abs(steering):.1f}°{side}", x + 38, 17, 10, BRIGHT)
        x += 38 + text_width("00.0° right", 10) + 20
    if speed is not None:
        end = width - 12.0 - text_width("000 km/h", 10) - 8
        if end - x > 24:
            round_rectangle(strip, (x, 14), (end, 20), 3, (60, 65, 76))
            share = min(abs(speed) * 3.6 / _FULL_SPEED, 1.0)
            if share * (end - x) >= 1:
                round_rectangle(strip, (x, 14), (x + share * (end - x), 20), 3, ACCENT)
            x = end + 8
        words = fitted(f"{round(speed * 3.6)} km/h", 10, width - x)
        draw_text(strip, words, width - 12 - text_width(words, 10), 17, 10, BRIGHT)
    return strip


def _draw_needle(strip: Image, pivot: tuple[float, float], steering: float) -> None:
    """Draw a dial whose needle points where the wheels point, three times as far so that it can be seen."""
    turn = math.radians(max(-80.0, min(80.0, 3 * steering)))
    x, y = pivot
    centre = (round((x - 0.5) * 16), round((y - 0.5) * 16))
    cv2.ellipse(strip, centre, (15 * 16, 15 * 16), 0, 190, 350, (92, 98, 112), 2, cv2.LINE_AA, shift=4)
    tip = (round((x + 14 * math.sin(turn)) * 16), round((y - 14 * math.cos(turn)) * 16))
    cv2.arrowedLine(strip, centre, tip, ACCENT, 2, cv2.LINE_AA, shift=4, tipLength=0.45)


def draw_path(canvas: Image, seen: Sequence[tuple[float, float]], scale: float) -> None:
    """Draw a planned path over an image, given where its points are seen, thinner the farther they are."""
    points = [(round(x * scale * 16), round(y * scale * 16)) for x, y in seen if abs(x) + abs(y) < 1e4]
    for number, (one, two) in enumerate(pairwise(points)):
        wide = max(2, round(scale * (6 - 5 * number / max(1, len(points) - 1))))
        cv2.line(canvas, one, two, ACCENT, wide, cv2.LINE_AA, shift=4)


_ABOVE = (40.0, 12.0)  # metres ahead and to each side that a picture from above shows


def draw_from_above(paths: Sequence[tuple[PlannedPath, Color]], size: tuple[int, int]) -> Image:
    """Return paths as they are seen from above, the vehicle at the bottom, with a line each 10 m.

    Example:
        >>> draw_from_above([(PlannedPath([[10, 0]], [1]), ACCENT)], (80, 160)).shape
        (160, 80, 3)
    """
    width, height = size
    far = max([_ABOVE[0], *(float(one.points[:, 0].max()) * 1.05 for one, _ in paths)])
    scale = min(height * 0.92 / far, width / 2 / _ABOVE[1])
    canvas = np.full((height, width, 3), PANEL, np.uint8)
    base = height * 0.96

    def place(point: Sequence[float]) -> tuple[int, int]:
        return round((width / 2 + point[1] * scale) * 16), round((base - point[0] * scale) * 16)

    for metres in range(0, int(base / scale) + 1, 10):
        _, row = place((metres, 0))
        cv2.line(canvas, (0, row // 16), (width, row // 16), (60, 65, 76), 1)
        draw_text(canvas, f"{metres} m", 4, row / 16 - 7, 9, DIM)
    front, rear = place((FRONT, HALF_WIDTH)), place((-REAR, -HALF_WIDTH))
    cv2.rectangle(canvas, front, rear, BRIGHT, 1, cv2.LINE_AA, shift=4)
    for path, color in paths:
        line = [place(one) for one in [(0.0, 0.0), *path.points.tolist()]]
        for one, two in pairwise(line):
            cv2.line(canvas, one, two, color, 2, cv2.LINE_AA, shift=4)
        for one in line[1:]:
            cv2.circle(canvas, one, 3 * 16, color, -1, cv2.LINE_AA, shift=4)
    return canvas
