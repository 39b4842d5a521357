"""Values of BBSL for many rows at once, and their relations: Definitions 1 to 7 over arrays.

Where a row has no value, its numbers are NaN. Every comparison with NaN is false, so a relation that is
neither true nor false there is found by asking for both; nothing else keeps account of what is known. Arrays
have one entry for each row, or none of their axes where all rows are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.intp]
Entry = TypeVar("Entry", bound=np.generic)


@dataclass(frozen=True)
class Kleene:
    """Truth values: where they are true and where they are false; neither where they are not known."""

    true: Flags
    false: Flags

    @classmethod
    def constant(cls, value: bool) -> Kleene:
        """Return one truth value for all rows."""
        return cls(np.asarray(value), np.asarray(not value))

    def taken(self, rows: Rows) -> Kleene:
        """Return the values of some rows."""
        return Kleene(_taken(self.true, rows), _taken(self.false, rows))

    def __and__(self, other: Kleene) -> Kleene:
        return Kleene(self.true & other.true, self.false | other.false)

    def __or__(self, other: Kleene) -> Kleene:
        return Kleene(self.true | other.true, self.false & other.false)

    def __invert__(self) -> Kleene:
        return Kleene(self.false, self.true)

    def same(self, other: Kleene) -> Kleene:
        """Say where both are alike."""
        return (self & other) | (~self & ~other)

    def numbers(self, count: int) -> NDArray[np.int8]:
        """Return 1 where true, 0 where false and -1 where not known, for so many rows."""
        known = (self.true | self.false).astype(np.int8)
        return np.array(np.broadcast_to(self.true.astype(np.int8) + known - np.int8(1), count))


@dataclass(frozen=True)
class Reals:
    """Numbers."""

    value: Array

    def taken(self, rows: Rows) -> Reals:
        """Return the values of some rows."""
        return Reals(_taken(self.value, rows))

    def below(self, other: Reals, *, strictly: bool) -> Kleene:
        """Say where these are less than others, or equal to them unless strictly."""
        a, b = self.value, other.value
        return Kleene(a < b, a >= b) if strictly else Kleene(a <= b, a > b)

    def same(self, other: Reals) -> Kleene:
        """Say where both are equal."""
        a, b = self.value, other.value
        return Kleene(a == b, (a < b) | (a > b))


@dataclass(frozen=True)
class Intervals:
    """Intervals by their ends; an empty one is [∞, -∞], see `values.EMPTY`."""

    lower: Array
    upper: Array

    def taken(self, rows: Rows) -> Intervals:
        """Return the values of some rows."""
        return Intervals(_taken(self.lower, rows), _taken(self.upper, rows))

    def below(self, other: Intervals) -> Kleene:
        """Definition 3."""
        return Kleene(self.upper < other.lower, self.upper >= other.lower)

    def same(self, other: Intervals) -> Kleene:
        """Definition 4."""
        return Reals(self.lower).same(Reals(other.lower)) & Reals(self.upper).same(Reals(other.upper))

    def within(self, other: Intervals) -> Kleene:
        """Definition 5."""
        return Kleene(
            (other.lower <= self.lower) & (self.upper <= other.upper),
            (other.lower > self.lower) | (self.upper > other.upper),
        )

    def overlaps(self, other: Intervals) -> Kleene:
        """Definition 6."""
        return Kleene(
            (other.lower <= self.upper) & (self.lower <= other.upper),
            (other.lower > self.upper) | (self.lower > other.upper),
        )

    def meet(self, other: Intervals) -> Intervals:
        """Return what both have in common."""
        lower, upper = np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper)
        empty = lower > upper
        return Intervals(np.where(empty, np.inf, lower), np.where(empty, -np.inf, upper))


@dataclass(frozen=True)
class BoxArrays:
    """Boxes by their sides; in a row without a value every end is NaN."""

    x: Intervals
    y: Intervals

    def taken(self, rows: Rows) -> BoxArrays:
        """Return the values of some rows."""
        return BoxArrays(self.x.taken(rows), self.y.taken(rows))

    def same(self, other: BoxArrays) -> Kleene:
        """Say where both are equal."""
        return self.x.same(other.x) & self.y.same(other.y)

    def within(self, other: BoxArrays) -> Kleene:
        """Say where these lie within others."""
        return self.x.within(other.x) & self.y.within(other.y)

    def overlaps(self, other: BoxArrays) -> Kleene:
        """Say where both have a point in common."""
        return self.x.overlaps(other.x) & self.y.overlaps(other.y)

    def missing(self) -> Flags:
        """Say which rows have no value."""
        return np.isnan(self.x.lower)


@dataclass(frozen=True)
class Sets:
    """Sets of boxes, laid end to end.

    Attributes:
        boxes: All boxes, those of the first row first.
        counts: How many of them each row has.
        known: Which rows have a value; those without have no boxes.
    """

    boxes: BoxArrays
    counts: Rows
    known: Flags

    def taken(self, rows: Rows) -> Sets:
        """Return the values of some rows."""
        counts = self.counts[rows]
        starts = np.cumsum(self.counts) - self.counts
        return Sets(
            self.boxes.taken(np.repeat(starts[rows], counts) + places(counts)), counts, self.known[rows]
        )

    def owners(self) -> Rows:
        """Return the row that each box belongs to."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def only(self, kept: Flags) -> Sets:
        """Return the sets without the boxes that are not kept."""
        counts = np.bincount(self.owners()[kept], minlength=len(self.counts))
        return Sets(self.boxes.taken(np.flatnonzero(kept)), counts, self.known)


Many = Kleene | Reals | Intervals | BoxArrays | Sets
"""The values of an expression in many rows."""


def joined(several: list[Sets]) -> Sets:
    """Return the unions of sets, row by row; not known where one of them is not."""
    known = np.logical_and.reduce([one.known for one in several])
    owners = np.concatenate([one.owners() for one in several])
    # Stable, so that a row keeps its boxes in the order in which they are named.
    order = np.argsort(owners, kind="stable")
    whole = BoxArrays(
        *(
            Intervals(
                np.concatenate([getattr(one.boxes, axis).lower for one in several]),
                np.concatenate([getattr(one.boxes, axis).upper for one in several]),
            )
            for axis in ("x", "y")
        )
    )
    counts = np.stack([one.counts for one in several]).sum(axis=0)
    union = Sets(whole.taken(order), counts, known)
    return union if known.all() else union.only(known[union.owners()])


def common(left: Sets, right: Sets) -> Sets:
    """Return the common parts of the boxes of two sets that meet, row by row."""
    known = left.known & right.known
    pairs = np.where(known, left.counts * right.counts, 0)
    place = places(pairs)
    rows = np.repeat(np.arange(len(pairs)), pairs)
    starts_left, starts_right = (np.cumsum(one.counts) - one.counts for one in (left, right))
    wide = right.counts[rows]
    a = left.boxes.taken(starts_left[rows] + place // np.maximum(wide, 1))
    b = right.boxes.taken(starts_right[rows] + place % np.maximum(wide, 1))
    met = np.flatnonzero(a.overlaps(b).true)
    a, b = a.taken(met), b.taken(met)
    counts = np.bincount(rows[met], minlength=len(pairs))
    return Sets(BoxArrays(a.x.meet(b.x), a.y.meet(b.y)), counts, known)


def places(counts: Rows) -> Rows:
    """Return 0, 1, 2, … up to each count in turn.

    Example:
        >>> places(np.array([2, 0, 3])).tolist()
        [0, 1, 0, 1, 2]
    """
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _taken(values: NDArray[Entry], rows: Rows) -> NDArray[Entry]:
    return values[rows] if values.ndim else values


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
