"""Intervals, boxes and sets of boxes, and their relations: Definitions 1 to 7 of the paper.

Here y points up, away from the ego-vehicle: of two things the nearer one has the smaller y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

__all__ = ["EMPTY", "Box", "Interval", "area", "common_boxes", "meet", "overlap", "strictly_within", "within"]


class Interval(NamedTuple):
    """All numbers from lower to upper, both included (Definition 1), y upward."""

    lower: float
    upper: float


class Box(NamedTuple):
    """A bounding box: an interval on each axis (Definition 2), y upward."""

    x: Interval
    y: Interval


EMPTY = Interval(math.inf, -math.inf)
"""What two intervals that do not meet have in common.

With these ends the definitions give what holds of nothing: it lies within everything, below and above
everything, and overlaps nothing.
"""


def overlap(a: Interval, b: Interval) -> bool:
    """Whether two intervals have a number in common; touching is enough (Definition 6).

    Example:
        >>> overlap(Interval(0, 100), Interval(100, 120))
        True
    """
    return b.lower <= a.upper and a.lower <= b.upper


def within(a: Interval, b: Interval) -> bool:
    """Whether an interval lies within another (Definition 5)."""
    return b.lower <= a.lower and a.upper <= b.upper


def strictly_within(a: Interval, b: Interval) -> bool:
    """Whether an interval lies within another that is not the same."""
    return within(a, b) and a != b


def meet(a: Interval, b: Interval) -> Interval:
    """Return what two intervals have in common."""
    return Interval(max(a.lower, b.lower), min(a.upper, b.upper)) if overlap(a, b) else EMPTY


def common_boxes(left: Sequence[Box], right: Sequence[Box]) -> tuple[Box, ...]:
    """Return the common part of every box of one set with every box of the other that it meets.

    Example:
        >>> square = Box(Interval(0, 2), Interval(0, 2))
        >>> common_boxes([square], [Box(Interval(1, 3), Interval(2, 4))])
        (Box(x=Interval(lower=1, upper=2), y=Interval(lower=2, upper=2)),)
    """
    return tuple(
        Box(meet(a.x, b.x), meet(a.y, b.y))
        for a in left
        for b in right
        if overlap(a.x, b.x) and overlap(a.y, b.y)
    )


def area(boxes: Sequence[Box]) -> float:
    """Return the area of the union of boxes, by a sweep along x.

    Subtracting what pairs have in common would be wrong: three equal boxes would then have no area.

    Example:
        >>> square = Box(Interval(0, 2), Interval(0, 2))
        >>> area([square, square, square, Box(Interval(1, 3), Interval(0, 2))])
        6.0
    """
    edges = sorted(edge for box in boxes for edge in box.x)
    by_height = sorted(boxes, key=lambda box: box.y.lower)
    total = 0.0
    for left, right in pairwise(edges):
        if left < right:
            total += (right - left) * _height(
                [box.y for box in by_height if box.x.lower <= left and right <= box.x.upper]
            )
    return total


def _height(intervals: Sequence[Interval]) -> float:
    """Return the length of the union of intervals that are sorted by their lower end."""
    total, reached = 0.0, -math.inf
    for lower, upper in intervals:
        total += max(0.0, upper - max(lower, reached))
        reached = max(reached, upper)
    return total
