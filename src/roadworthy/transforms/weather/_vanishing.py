"""Where the road vanishes, from the lines in an image about which nothing else is known."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["vanishing_row"]

_ROWS = (0.25, 0.70)  # of the height, between which a horizon is looked for
_WIDTH = 0.025  # of the height: lines that meet as near to each other as this agree
_NARROWEST = 120  # pixels: enough to see lines
_LEAST_SHARE, _LEAST_PAIRS = 0.45, 12  # of the pairs of lines that must agree


def vanishing_row(image: NDArray[np.uint8]) -> float | None:
    """Return the row in which lines that lean to the left and to the right meet, as kerbs and lane lines do.

    Args:
        image: A thumbnail, RGB.

    Returns:
        None where there are too few such lines, or they do not agree.
    """
    full = image.shape[0]
    if image.shape[1] >= 2 * _NARROWEST:
        image = np.asarray(cv2.pyrDown(image), np.uint8)
    height, width = image.shape[:2]
    top = round(0.3 * height)
    edges = cv2.Canny(cv2.cvtColor(image[top:], cv2.COLOR_RGB2GRAY), 40, 100)
    lines = cv2.HoughLinesP(edges, 1, np.pi / 90, 12, minLineLength=width / 14, maxLineGap=2)
    if lines is None:
        return None
    x, y, x2, y2 = (lines.reshape(-1, 4) + np.array([0, top, 0, top])).astype(np.float64).T
    run, fall = x2 - x, y2 - y
    slope = fall / np.where(run == 0, 1e-9, run)
    leaning = (np.abs(slope) > 0.2) & (np.abs(slope) < 4) & (np.maximum(y, y2) > height / 2)
    left, right = (np.flatnonzero(leaning & side) for side in (slope < 0, slope > 0))
    i, j = (index.ravel() for index in np.meshgrid(left, right))
    across = (y[j] - y[i] + slope[i] * x[i] - slope[j] * x[j]) / (slope[i] - slope[j])
    row = y[i] + slope[i] * (across - x[i])
    low, high = (share * height for share in _ROWS)
    meets = (np.abs(across / width - 0.5) < 0.4) & (row > low) & (row < high)
    if np.count_nonzero(meets) < _LEAST_PAIRS:
        return None
    weight = (np.hypot(run, fall)[i] * np.hypot(run, fall)[j])[meets]
    rows = np.arange(low, high)
    votes = np.exp(-(((rows[:, None] - row[meets]) / (_WIDTH * height)) ** 2)) @ weight
    best = int(votes.argmax())
    return float(rows[best]) * full / height if votes[best] > _LEAST_SHARE * weight.sum() else None
