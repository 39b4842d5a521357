"""The areas of unions of boxes for many rows at once."""

from __future__ import annotations

import numpy as np

from roadworthy.bbsl.arrays import Array, Sets

__all__ = ["areas"]

_LARGE = 48
"""Sets with more boxes are measured one by one: a group of such sets would not fit the cache."""


def areas(sets: Sets) -> Array:
    """Return the area of the union of each set, by the sweep of `values.area`; NaN where a set is not known.

    Sets of the same size are swept together. Sums are taken in the order in which `values.area` takes them,
    so that both give the same numbers to the last digit.
    """
    total = np.where(sets.known, 0.0, np.nan)
    starts = np.cumsum(sets.counts) - sets.counts
    ends = np.stack([sets.boxes.x.lower, sets.boxes.x.upper, sets.boxes.y.lower, sets.boxes.y.upper])
    for size in np.unique(sets.counts):
        if size == 0:
            continue
        rows = np.flatnonzero(sets.counts == size)
        # Groups of a size that fits the processor's cache; one by one where a set alone is large.
        step = 1 if size > _LARGE else max(1, 200_000 // int(size))
        for first in range(0, len(rows), step):
            chosen = rows[first : first + step]
            total[chosen] = _swept(ends[:, starts[chosen][:, None] + np.arange(size)])
    return total


def _swept(ends: Array) -> Array:
    """Return the areas of sets of equal size; the ends have shape (4, sets, boxes)."""
    left, right, low, high = ends
    if left.shape[1] == 1:
        alone: Array = (right - left)[:, 0] * (high - low)[:, 0]
        return alone
    order = np.argsort(low, axis=1, kind="stable")
    left, right, low, high = (np.take_along_axis(one, order, axis=1) for one in (left, right, low, high))
    edges = np.sort(np.concatenate([left, right], axis=1), axis=1)
    total = np.zeros(len(left))
    for strip in range(edges.shape[1] - 1):
        start, stop = edges[:, strip], edges[:, strip + 1]
        covering = (left <= start[:, None]) & (stop[:, None] <= right)
        height = np.zeros(len(left))
        reached = np.full(len(left), -np.inf)
        for box in range(left.shape[1]):
            here = covering[:, box]
            grown = np.maximum(0.0, high[:, box] - np.maximum(low[:, box], reached))
            height = np.where(here, height + grown, height)
            reached = np.where(here, np.maximum(reached, high[:, box]), reached)
        total += np.where(start < stop, (stop - start) * height, 0.0)
    return total
