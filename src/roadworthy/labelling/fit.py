"""Label maps that do not fit their image: shifted, or those of another frame.

Borders of classes lie on edges of the image. Where they would lie better a little to the side, the map is
shifted; where they lie on none, and the street network sees other things, it is that of another frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame, LabelMap
from roadworthy.labelling.chain import STREET_SOURCE, is_estimated

_WIDTH = 320  # pixels at which edges are looked at
_REACH = 0.08  # of the width: how far to the side borders are tried
_GAIN = 0.15  # of what borders lie on at best: what they may gain by a shift
_EDGES = 0.4  # standard deviations above the mean of all edges, that borders lie on
_STRONG = 0.55  # likewise: borders on such edges must gain twice as much, as light on fog has edges, too
_AGREEMENT = 0.7  # share of pixels on which street agrees
_FEWEST = 0.004  # of the pixels are borders: of fewer nothing can be told
_SAME = (("road", "line", "crosswalk", "stop and yield line"), ("sidewalk", "terrain"), ("tree",), ("sky",),
         ("building",), ("vehicle",))  # fmt: skip


@dataclass(frozen=True)
class Misfit:
    """A label map that does not fit its image.

    Attributes:
        id: The frame.
        shift: Pixels to the right and down by which borders would lie better; None where no shift helps.
        agreement: The share of pixels on which the street network agrees.
    """

    id: str
    shift: tuple[int, int] | None
    agreement: float

    def __str__(self) -> str:
        seen = f"the street network agrees on {self.agreement:.0%} of its pixels"
        if self.shift is None:
            return f"{self.id}: its label map seems to be of another image: {seen}"
        right, down = self.shift
        across = f"{abs(right)} pixels to the {'right' if right > 0 else 'left'}"
        along = f"{abs(down)} {'down' if down > 0 else 'up'}"
        return f"{self.id}: its label map seems shifted; {across} and {along} it would fit better, and {seen}"


def misfit_of(frame: Frame) -> Misfit | None:
    """Return how a label map does not fit its image; None where it does, or where nothing can be told.

    Example:
        >>> from roadworthy.datasets import load
        >>> frame = load("world:town", count=1)[0]
        >>> ids = np.roll(frame.labels.ids, 16, axis=1)
        >>> misfit_of(frame), -18 <= misfit_of(frame.replace(labels=LabelMap(ids))).shift[0] <= -14
        (None, True)
    """
    if frame.labels is None or is_estimated(frame):
        return None
    found = _peak(frame)
    if found is None:
        return None
    here, best, shift = found
    shifted = best > 0 and best - here > best * (_GAIN if here < _STRONG else 2 * _GAIN)
    if not shifted and here >= _EDGES:
        return None
    agreement = _agreement(frame, frame.labels)
    if shifted:
        return Misfit(frame.id, shift, agreement)
    return Misfit(frame.id, None, agreement) if agreement < _AGREEMENT else None


def misfits(frames: Iterable[Frame]) -> list[Misfit]:
    """Return the label maps that do not fit, of some frames."""
    return [found for frame in frames if (found := misfit_of(frame)) is not None]


def _peak(frame: Frame) -> tuple[float, float, tuple[int, int]] | None:
    """Return how strong the edges under the borders are, and under the borders where that is most."""
    height = max(8, round(_WIDTH * frame.height / frame.width))
    grey = cv2.cvtColor(frame.image, cv2.COLOR_RGB2GRAY)
    small = cv2.resize(grey, (_WIDTH, height), interpolation=cv2.INTER_AREA).astype(np.float32)
    small = cv2.GaussianBlur(small, (0, 0), 1).astype(np.float32)
    # The root, so that a few strong edges do not decide.
    edges = cv2.magnitude(cv2.Sobel(small, cv2.CV_32F, 1, 0), cv2.Sobel(small, cv2.CV_32F, 0, 1)) ** 0.5
    edges = (edges - edges.mean()) / max(float(edges.std()), 1e-6)
    ids = cv2.resize(frame.label_map.ids, (_WIDTH, height), interpolation=cv2.INTER_NEAREST)
    borders = _borders(np.asarray(ids))
    reach = min(round(_REACH * _WIDTH), height // 4)
    inside = borders[reach:-reach, reach:-reach]
    if inside.sum() < _FEWEST * borders.size:
        return None
    found = cv2.matchTemplate(edges, inside, cv2.TM_CCORR) / inside.sum()
    row, column = np.unravel_index(int(found.argmax()), found.shape)
    scale = frame.width / _WIDTH
    shift = round((int(column) - reach) * scale), round((int(row) - reach) * scale)
    return float(found[reach - 1 : reach + 2, reach - 1 : reach + 2].max()), float(found.max()), shift


def _borders(ids: NDArray[Any]) -> NDArray[np.float32]:
    found = np.zeros(ids.shape, np.float32)
    found[:, 1:][ids[:, 1:] != ids[:, :-1]] = 1
    found[1:][ids[1:] != ids[:-1]] = 1
    return found


def _agreement(frame: Frame, labels: LabelMap) -> float:
    """Return on which share of the pixels, of those that both know, the street network sees the same."""
    other = STREET_SOURCE.opinions([frame])[0].labels
    assert other is not None
    mine, others = (np.stack([one.mask(*names) for names in _SAME]) for one in (labels, other))
    known = mine.any(axis=0) & others.any(axis=0)
    same = np.any(mine & others, axis=0)
    return float(np.asarray(same)[known].mean()) if known.any() else 1.0
