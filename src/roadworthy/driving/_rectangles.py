"""How far rectangles that are turned any way are apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]
Rectangle = tuple[Series, float, float, float]
"""Centre, heading in radians, length and width."""


def distances(one: Rectangle, others: Sequence[Rectangle]) -> Series:
    """Return the distance of a rectangle from each of others, 0 where they touch.

    Example:
        >>> car = (np.zeros(2), 0.0, 4.0, 2.0)
        >>> distances(car, [(np.array([7.0, 0.0]), 0.0, 4.0, 2.0), (np.array([3.0, 1.0]), 0.5, 4.0, 2.0)])
        array([3., 0.])
    """
    own = _corners(one)
    found = np.empty(len(others))
    for number, other in enumerate(others):
        theirs = _corners(other)
        found[number] = 0.0 if _overlap(own, theirs) else min(_apart(own, theirs), _apart(theirs, own))
    return found


def _corners(rectangle: Rectangle) -> Series:
    centre, heading, length, width = rectangle
    heading = heading if np.isfinite(heading) else 0.0
    ahead = np.array([np.cos(heading), np.sin(heading)]) * length / 2
    aside = np.array([-np.sin(heading), np.cos(heading)]) * width / 2
    return np.stack(
        [centre + ahead + aside, centre - ahead + aside, centre - ahead - aside, centre + ahead - aside]
    )


def _overlap(one: Series, two: Series) -> bool:
    """Return whether no edge of either has the other wholly beyond it."""
    for corners in (one, two):
        for edge in (corners[1] - corners[0], corners[2] - corners[1]):
            own, theirs = one @ edge, two @ edge
            if own.max() < theirs.min() or theirs.max() < own.min():
                return False
    return True


def _apart(points: Series, corners: Series) -> float:
    """Return the least distance of points from the edges of a rectangle."""
    ways = np.roll(corners, -1, axis=0) - corners
    squares = np.maximum((ways**2).sum(axis=1), 1e-18)
    away = points[:, None] - corners[None]
    shares = np.clip((away * ways).sum(axis=2) / squares, 0, 1)
    return float(np.hypot(*np.moveaxis(away - shares[..., None] * ways, 2, 0)).min())
