"""Lines painted on the road: solid and dashed, white and yellow, and how to make one from another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame
from roadworthy.transforms.objects.parts import Window, parts_of
from roadworthy.transforms.perspective import Perspective

__all__ = ["cut_into_dashes", "hidden_lines", "joined_dashes", "lines_like"]

Mask = NDArray[np.bool_]

_DASH, _PERIOD = 3.0, 9.0  # metres: a dash, and a dash with the gap after it
_LONGEST_DASH = 7.0  # metres; a stroke that is longer is a solid line
_YELLOW = 0.22  # how much blue lacks, as a share of the brightest channel
_LEAST_ROWS = 4  # a stroke of fewer is too far away to tell
_LONGEST_GAP = 15.0  # metres between two dashes of one line
_ASIDE = 0.6  # metres by which a dash may lie beside the way that the one before it points


@dataclass(frozen=True, eq=False)
class _Stroke:
    """One connected piece of paint: where it is, its ends as (x, y) of the middle, and its width there."""

    number: int
    window: Window
    pixels: Mask
    top: tuple[float, float]
    bottom: tuple[float, float]
    widths: tuple[float, float]
    solid: bool
    clear: bool
    color: str


def lines_like(frame: Frame, mask: Mask, properties: Mapping[str, str]) -> Mask:
    """Return the pixels of lines that have properties: a type, solid or dash, and a colour.

    A stroke of paint is solid when it is longer on the ground than dashes are. One that is too far away to
    tell is taken for the type of the stroke nearest to it.
    """
    strokes = _strokes(frame, mask)
    found = np.zeros_like(mask)
    known = [one for one in strokes if one.clear] or strokes
    for stroke in strokes:
        like = stroke if stroke.clear else min(known, key=lambda one: _apart(stroke, one))
        looks = {"type": "solid" if like.solid else "dash", "color": like.color}
        if properties.items() <= looks.items():
            found[stroke.window] |= stroke.pixels
    return found


def _apart(one: _Stroke, other: _Stroke) -> float:
    return float(np.hypot(one.bottom[0] - other.top[0], one.bottom[1] - other.top[1]))


def _strokes(frame: Frame, mask: Mask) -> list[_Stroke]:
    """Return the connected pieces of paint."""
    view = Perspective.of(frame)
    found = []
    for number, (window, pixels) in enumerate(parts_of(mask)):
        top, bottom, left = window[0].start, window[0].stop, window[1].start
        colors = frame.image[window][pixels].mean(axis=0)
        lacking = ((colors[0] + colors[1]) / 2 - colors[2]) / max(float(colors.max()), 1.0)
        few = max(1, min(3, (bottom - top) // 3))
        ends = [
            (left + np.nonzero(rows)[1].mean() + 0.5, np.count_nonzero(rows) / few)
            for rows in (pixels[:few], pixels[-few:])
        ]
        near, far = max(bottom, view.horizon + 1), max(top + 0.5, view.horizon + 1)
        along = view.distance(far) - view.distance(near)
        across = view.metres(abs(ends[0][0] - ends[1][0]), (near + far) / 2)
        found.append(
            _Stroke(
                number,
                window,
                pixels,
                (ends[0][0], top + few / 2),
                (ends[1][0], bottom - few / 2),
                (ends[0][1], ends[1][1]),
                float(np.hypot(along, across)) > _LONGEST_DASH,
                bottom - top >= _LEAST_ROWS,
                "yellow" if lacking > _YELLOW else "white",
            )
        )
    return found


def cut_into_dashes(frame: Frame, mask: Mask, rng: np.random.Generator) -> Mask:
    """Return which pixels of solid lines must go so that dashes are left, as long as on real roads."""
    view = Perspective.of(frame)
    distance = view.distances(frame.height)
    phase = rng.uniform(0, _PERIOD)
    # Where a row is longer on the ground than a dash, dashes and gaps cannot be told apart.
    seen = np.isfinite(distance)
    seen[:-1] &= distance[:-1] - np.where(seen[1:], distance[1:], 0) < _DASH
    gone = seen & (np.mod(np.where(seen, distance, 0) + phase, _PERIOD) >= _DASH)
    return mask & gone[:, None]


def joined_dashes(frame: Frame, mask: Mask) -> Iterator[tuple[Mask, Mask]]:
    """Yield, for each colour of line, the pixels between its dashes, which make it solid, and the dashes."""
    view = Perspective.of(frame)
    strokes = _strokes(frame, mask)
    pairs = [(one, other) for one in strokes if (other := _following(one, strokes, view)) is not None]
    followers = {other.number for _, other in pairs}
    for color in dict.fromkeys(one.color for one, _ in pairs):
        between = np.zeros(mask.shape, np.uint8)
        mine = [(one, other) for one, other in pairs if one.color == color]
        for nearer, farther in mine:
            _join(between, nearer, farther)
            if nearer.number not in followers:
                _join(between, _before(nearer, view, frame.height), nearer)
        dashes = np.zeros_like(mask)
        for stroke in (one for pair in mine for one in pair):
            dashes[stroke.window] |= stroke.pixels
        yield between.view(np.bool_) & ~mask, dashes


def hidden_lines(frame: Frame, lines: Mask, gone: Mask) -> Mask:
    """Return the pixels of lines that go on behind what is gone: they end at it and begin again beyond."""
    beside = cv2.dilate(gone.view(np.uint8), np.ones((7, 7), np.uint8)).view(np.bool_) & lines
    between = np.zeros(lines.shape, np.uint8)
    if np.count_nonzero(beside) < 2:
        return between.view(np.bool_)
    view = Perspective.of(frame)
    strokes = [one for one in _strokes(frame, lines) if (beside[one.window] & one.pixels).any()]
    height, width = lines.shape

    def cut(end: tuple[float, float]) -> bool:
        x, y = min(int(end[0]), width - 1), min(int(end[1]), height - 1)
        return bool(beside[max(0, y - 3) : y + 4, max(0, x - 3) : x + 4].any())

    for nearer in strokes:
        farther = _following(nearer, strokes, view) if cut(nearer.top) else None
        if farther is not None and cut(farther.bottom):
            _join(between, nearer, farther)
    return between.view(np.bool_) & gone


def _before(stroke: _Stroke, view: Perspective, height: int) -> _Stroke:
    """Return where the gap before the nearest dash of a line begins, on the way that the dash points."""
    distance = max(view.distance(stroke.bottom[1]) - (_PERIOD - _DASH), 0.1)
    row = min(view.row(distance), float(height))
    lean = (stroke.top[0] - stroke.bottom[0]) / (stroke.bottom[1] - stroke.top[1])
    place = (stroke.bottom[0] - lean * (row - stroke.bottom[1]), row)
    wide = stroke.widths[1] * (row - view.horizon) / max(stroke.bottom[1] - view.horizon, 1.0)
    return replace(stroke, top=place, bottom=place, widths=(wide, wide))


def _join(canvas: NDArray[np.uint8], nearer: _Stroke, farther: _Stroke) -> None:
    (x1, y1), (x2, y2) = nearer.top, farther.bottom
    half1, half2 = nearer.widths[0] / 2, farther.widths[1] / 2
    corners = [(x1 - half1, y1), (x1 + half1, y1), (x2 + half2, y2), (x2 - half2, y2)]
    points = np.rint((np.array(corners) - 0.5) * 16).astype(np.int32)
    cv2.fillPoly(canvas, [points], 1, cv2.LINE_8, 4)


def _following(stroke: _Stroke, strokes: list[_Stroke], view: Perspective) -> _Stroke | None:
    """Return the next dash of the same line, away from us."""
    rows = stroke.bottom[1] - stroke.top[1]
    if rows < 1 or stroke.top[1] <= view.horizon + 1:
        return None
    lean = (stroke.top[0] - stroke.bottom[0]) / rows
    best, least = None, _ASIDE
    for other in strokes:
        x, y = other.bottom
        if not view.horizon + 1 < y < stroke.top[1] or other.color != stroke.color:
            continue
        away = view.distance(y) - view.distance(stroke.top[1])
        aside = view.metres(abs(stroke.top[0] + lean * (stroke.top[1] - y) - x), y)
        if away < _LONGEST_GAP and aside + 0.02 * away < least:
            best, least = other, aside + 0.02 * away
    return best
