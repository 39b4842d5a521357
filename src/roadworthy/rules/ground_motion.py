"""How a camera sees the ground that it drives over, from how far the vehicle went between two frames.

How large things are in a frame follows from the camera's height alone; how fast they come nearer, from its
focal length too, which a single frame does not tell. Between two frames the ground is stretched by a factor
that depends on both and on the metres in between, which the recorded speed tells: the best factor is looked
for.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Original
from roadworthy.datasets import ChosenFrames, spread
from roadworthy.errors import NotApplicable
from roadworthy.rules.clips import kept, timeline
from roadworthy.transforms.perspective import Perspective
from roadworthy.world.driver import WHEELBASE

Floats = NDArray[np.float32]

_PAIRS, _LEAST_PAIRS = 40, 5
_LOOKED_AT = 9  # frames whose horizon is looked at
_SLOWEST, _STRAIGHT = 3.0, 10.0  # m/s, and degrees at the wheels
_LONGEST = 0.4  # seconds between two frames
_WIDTH = 320
_ROWS, _COLUMNS = (0.58, 0.93), (0.1, 0.9)  # of the image: the road before us
# Focal length times camera's height, in widths of the image times metres.
_SCALES = np.geomspace(0.3, 8.0, 64)
_LEAST_SHARE = 0.25  # of the road before us that must be seen in both frames
_CLEARER = 0.1  # by which the best correlation must exceed that of ground that does not move
_SPREAD = 0.6  # the middle half of all pairs may differ by, as a share of their median


@kept
def ground_view(data: ChosenFrames) -> Perspective:
    """Return how the camera of some data sees the ground, the same for all frames.

    Raises:
        NotApplicable: The frames do not tell, or not with one voice.
    """
    known = timeline(data)
    numbers = [data.indices[place] for place in spread(len(data.indices), _LOOKED_AT)]
    views = [Perspective.of(Original(data, one)().with_known("labels")) for one in numbers]
    frame = Original(data, numbers[0])()
    horizon = float(np.median([one.horizon for one in views]))
    height = float(np.median([one.camera_height for one in views]))
    found = []
    pairs = known.pairs(_LONGEST)
    for place in spread(len(pairs), 4 * _PAIRS):
        first, second = pairs[place]
        signals = known.signals(first)
        if (signals.speed or 0.0) < _SLOWEST or abs(signals.steering or 0.0) > _STRAIGHT:
            continue
        gone = float(signals.speed) * (known.times[second] - known.times[first])
        turned = gone * math.tan(math.radians(signals.steering or 0.0)) / WHEELBASE
        before, after = (_texture(Original(data, one)().image) for one in (first, second))
        scale = _scale(before, after, horizon / frame.height, gone, turned / height)
        found += [] if scale is None else [scale]
        if len(found) == _PAIRS:
            break
    if len(found) < _LEAST_PAIRS:
        raise NotApplicable("the road shows too little to tell how far it is, so nothing keeps its place")
    low, middle, high = np.percentile(found, [25, 50, 75]).tolist()
    if high - low > _SPREAD * middle:
        raise NotApplicable("the road does not move as the recorded speed says, so nothing keeps its place")
    return Perspective(horizon, height, middle * frame.width / height)


def _texture(image: NDArray[np.uint8]) -> Floats:
    """Return what can be told from its neighbours in an image, with equal contrast everywhere."""
    size = (_WIDTH, round(len(image) * _WIDTH / image.shape[1]))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    grey = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY).astype(np.float32)
    fine = grey - np.asarray(cv2.GaussianBlur(grey, (0, 0), 6), np.float32)
    contrast = np.sqrt(np.asarray(cv2.GaussianBlur(fine * fine, (0, 0), 12), np.float32))
    return np.asarray(fine / np.maximum(contrast, 8), np.float32)


def _scale(before: Floats, after: Floats, horizon: float, gone: float, turned: float) -> float | None:
    """Return focal length times camera's height with which the road of two frames fits best; None if unclear.

    Args:
        before: The texture of a frame.
        after: That of a later one.
        horizon: The row of the horizon, of the image's height.
        gone: The metres between them.
        turned: The radians to the right between them, over the camera's height.
    """
    height, width = before.shape
    rows = slice(*(int(share * height) for share in _ROWS))
    columns = slice(*(int(share * width) for share in _COLUMNS))
    y, x = np.mgrid[rows, columns].astype(np.float32)
    below = y + np.float32(0.5 - horizon * height)
    scores = [
        _likeness(before[rows, columns], after, (x, below), horizon * height, gone / pixels, turned * pixels)
        for pixels in (_SCALES * width).tolist()
    ]
    best = int(np.argmax(scores))
    at_an_end = best in (0, len(_SCALES) - 1)
    return None if at_an_end or scores[best] - scores[-1] < _CLEARER else float(_SCALES[best])


def _likeness(
    seen: Floats, after: Floats, where: tuple[Floats, Floats], horizon: float, rate: float, aside: float
) -> float:
    """Return how the ground of a frame correlates with a later one, if it has come nearer and moved aside."""
    (x, below), (height, width) = where, after.shape
    stretch = 1 / np.maximum(1 - np.float32(rate) * below, np.float32(0.2))
    row = horizon + below * stretch - np.float32(0.5)
    column = (x - width / 2) * stretch + np.float32(width / 2 - aside)
    inside = (row < height - 1) & (column > 0) & (column < width - 1) & (stretch < 4)
    if np.count_nonzero(inside) < _LEAST_SHARE * inside.size:
        return -1.0
    warped = cv2.remap(after, column.astype(np.float32), row.astype(np.float32), cv2.INTER_LINEAR)
    one, other = seen[inside], np.asarray(warped)[inside]
    one, other = one - one.mean(), other - other.mean()
    return float(one @ other / max(float(np.sqrt((one @ one) * (other @ other))), 1e-6))
