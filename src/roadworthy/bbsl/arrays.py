"""Values of BBSL for many frames at once, as arrays, and the bindings that give them.

Where a row has no value, its numbers are NaN. Every comparison with NaN is false, so a relation that is
neither true nor false there is found by asking for both; nothing else keeps account of what is known. Arrays
have one entry for each row, or none of their axes where all rows are alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from roadworthy.bbsl.specification import ExternalFunction
from roadworthy.bbsl.syntax import Type
from roadworthy.bbsl.type_checking import Axis
from roadworthy.bbsl.values import (
    Box,
    Interval,
    Value,
    as_numbers,
    height_is_missing,
    no_axis,
    size_is_missing,
)
from roadworthy.errors import InputError, check_number
from roadworthy.frames import Boxes

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
class Intervals:
    """Intervals by their ends; an empty one is [∞, -∞], see `values.EMPTY`. Reals are point intervals."""

    lower: Array
    upper: Array

    @classmethod
    def points(cls, values: Array) -> Intervals:
        """Return the intervals of single numbers."""
        return cls(values, values)

    def taken(self, rows: Rows) -> Intervals:
        """Return the values of some rows."""
        return Intervals(_taken(self.lower, rows), _taken(self.upper, rows))

    def below(self, other: Intervals) -> Kleene:
        """Definition 3."""
        return Kleene(self.upper < other.lower, self.upper >= other.lower)

    def at_most(self, other: Intervals) -> Kleene:
        """Say where these reals are less than others or equal to them."""
        return Kleene(self.lower <= other.lower, self.lower > other.lower)

    def same(self, other: Intervals) -> Kleene:
        """Definition 4."""
        known = ~(np.isnan(self.lower) | np.isnan(other.lower))
        alike = (self.lower == other.lower) & (self.upper == other.upper)
        return Kleene(alike, known & ~alike)

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
        boxes = self.boxes.taken(np.repeat(starts[rows], counts) + places(counts))
        return Sets(boxes, counts, self.known[rows])

    def owners(self) -> Rows:
        """Return the row that each box belongs to."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def only(self, kept: Flags) -> Sets:
        """Return the sets without the boxes that are not kept."""
        counts = np.bincount(self.owners()[kept], minlength=len(self.counts))
        return Sets(self.boxes.taken(np.flatnonzero(kept)), counts, self.known)


Many = Kleene | Intervals | BoxArrays | Sets
"""The values of an expression in many rows."""


def joined(several: list[Sets]) -> Sets:
    """Return the unions of sets, row by row; not known where one of them is not."""
    known = np.logical_and.reduce([one.known for one in several])
    # Stable, so that a row keeps its boxes in the order in which they are named.
    order = np.argsort(np.concatenate([one.owners() for one in several]), kind="stable")
    x, y = (
        Intervals(np.concatenate([one.lower for one in sides]), np.concatenate([one.upper for one in sides]))
        for sides in ([one.boxes.x for one in several], [one.boxes.y for one in several])
    )
    union = Sets(BoxArrays(x, y).taken(order), np.stack([one.counts for one in several]).sum(axis=0), known)
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
    return Sets(BoxArrays(a.x.meet(b.x), a.y.meet(b.y)), np.bincount(rows[met], minlength=len(pairs)), known)


def places(counts: Rows) -> Rows:
    """Return 0, 1, 2, … up to each count in turn.

    Example:
        >>> places(np.array([2, 0, 3])).tolist()
        [0, 1, 0, 1, 2]
    """
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _taken(values: NDArray[Entry], rows: Rows) -> NDArray[Entry]:
    return values[rows] if values.ndim else values


# Sets with more boxes are measured one by one: a group of such sets would not fit the cache.
_LARGE = 48


def areas(sets: Sets) -> Array:
    """Return the area of the union of each set, by the sweep of `values.area`; NaN where a set is not known.

    Sets of the same size are swept together. Sums are taken in the order in which `values.area` takes them,
    so that both give the same numbers to the last digit.
    """
    total = np.where(sets.known, 0.0, np.nan)
    starts = np.cumsum(sets.counts) - sets.counts
    ends = np.stack([sets.boxes.x.lower, sets.boxes.x.upper, sets.boxes.y.lower, sets.boxes.y.upper])
    for size in np.unique(sets.counts[sets.counts > 0]):
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


@dataclass(frozen=True)
class RaggedBoxes:
    """The boxes of many frames, laid end to end.

    Attributes:
        xyxy: All boxes in image pixels, those of the first frame first, shape (m, 4).
        counts: How many of them each frame has, shape (n,); -1 where a frame has no value.

    Raises:
        InputError: The counts are not those of the boxes.

    Example:
        >>> RaggedBoxes.of([[[0, 0, 2, 2], [1, 1, 3, 3]], [], None]).counts.tolist()
        [2, 0, -1]
    """

    xyxy: Array
    counts: Rows

    def __post_init__(self) -> None:
        xyxy, counts = np.asarray(self.xyxy), np.asarray(self.counts)
        if xyxy.ndim != 2 or xyxy.shape[1] != 4:
            raise InputError(f"the boxes of all frames must have shape (m, 4), got {xyxy.shape}")
        if counts.ndim != 1 or counts.dtype.kind not in "iu":
            raise InputError(f"expected a whole number of boxes for each frame, got {self.counts!r}")
        if (wanted := np.maximum(counts, 0).sum()) != len(xyxy):
            raise InputError(f"the frames must have {len(xyxy)} boxes, as many as there are, got {wanted}")
        object.__setattr__(self, "xyxy", xyxy)
        object.__setattr__(self, "counts", counts)

    @classmethod
    def of(cls, frames: Sequence[Any]) -> RaggedBoxes:
        """Lay out the boxes of frames: for each a `Boxes`, something of shape (k, 4), or None.

        Raises:
            InputError: Something else is among them.
        """
        parts, counts = [], []
        for index, frame in enumerate(frames):
            rows = frame.xyxy if isinstance(frame, Boxes) else [] if frame is None else frame
            try:
                part = as_numbers(rows)
            except (TypeError, ValueError):
                raise InputError(f"the boxes of frame {index} must be numbers, got {rows!r}") from None
            part = part.reshape(0, 4) if part.size == 0 else part
            if part.ndim != 2 or part.shape[1] != 4:
                raise InputError(f"the boxes of frame {index} must have shape (k, 4), got {part.shape}")
            parts.append(part)
            counts.append(-1 if frame is None else len(part))
        return cls(np.concatenate(parts) if parts else np.zeros((0, 4)), np.asarray(counts, np.intp))


class ArrayCoordinates:
    """Turns what functions are bound to into values for every frame.

    Args:
        functions: The external functions that are used.
        bindings: What they are bound to.
        height: The height of the images, one for all or one for each.
        width: Their width.
        count: The number of frames, where nothing else tells it.

    Raises:
        InputError: Values do not fit together.
    """

    def __init__(
        self,
        functions: Mapping[str, ExternalFunction],
        bindings: Mapping[str, Any],
        height: Any,
        width: Any,
        count: int | None,
    ) -> None:
        self._given: dict[str, Any] = {}
        check_number("count of frames", count, least=0)
        sizes: dict[str, int] = {} if count is None else {"count": count}
        for name, function in functions.items():
            if function.parameters:
                continue
            bound = bindings[name]
            value = _array(bound() if callable(bound) else bound, function.result, name)
            self._given[name] = value
            if isinstance(value, RaggedBoxes):
                sizes[f"{name}()"] = len(value.counts)
            elif function.result is not Type.SET_BB and value.ndim > (function.result in _ENDS):
                sizes[f"{name}()"] = len(value)
        self.height = _size(height, "height", sizes)
        self.width = _size(width, "width", sizes)
        if len(set(sizes.values())) > 1:
            told = ", ".join(f"{name} {size}" for name, size in sizes.items())
            raise InputError(f"all bindings must be for the same number of frames, got {told}")
        self.count = next(iter(sizes.values()), 1)

    def image(self) -> BoxArrays:
        """Return IMG for every frame.

        Raises:
            InputError: The size of the images is not known.
        """
        if self.width is None or self.height is None:
            raise size_is_missing()
        return BoxArrays(
            Intervals(np.zeros_like(self.width), self.width),
            Intervals(np.zeros_like(self.height), self.height),
        )

    def value(self, function: ExternalFunction, axis: Axis) -> Many:
        """Return the values of a function without parameters in every frame."""
        given, name = self._given[function.name], function.name
        match function.result:
            case Type.BOOL:
                return Kleene(given == 1, given == 0)
            case Type.REAL:
                return Intervals.points(given)
            case Type.INTERVAL:
                return self._interval(given, name, axis)
            case Type.BB:
                return self._box(given, name)
            case Type.SET_BB:
                return self._sets(given, name)

    def _interval(self, given: Array, name: str, axis: Axis) -> Intervals:
        if axis == "both":
            raise InputError(f"{name}() is compared with intervals on both axes: declare two functions")
        if axis == "unsaid":
            raise no_axis(name)
        pair = _ordered(given[..., 0], given[..., 1], name)
        return self._turned(pair, name) if axis == "y" else pair

    def _turned(self, pair: Intervals, name: str, height: Array | None = None) -> Intervals:
        height = self.height if height is None else height
        if height is None:
            raise height_is_missing(name)
        return Intervals(height - pair.upper, height - pair.lower)

    def _box(self, given: Array, name: str, height: Array | None = None) -> BoxArrays:
        missing = np.asarray(np.isnan(given).any(axis=-1))
        if missing.any():
            given = np.where(missing[..., None], np.nan, given)
        left, top, right, bottom = np.moveaxis(given, -1, 0)
        x, y = _ordered(left, right, name), _ordered(top, bottom, name)
        return BoxArrays(x, self._turned(y, name, height))

    def _sets(self, given: RaggedBoxes | Array | None, name: str) -> Sets:
        if given is None:
            given = RaggedBoxes(np.zeros((0, 4)), np.full(self.count, -1, np.intp))
        if not isinstance(given, RaggedBoxes):
            given = RaggedBoxes(np.tile(given, (self.count, 1)), np.full(self.count, len(given), np.intp))
        if np.isnan(given.xyxy).any():
            row = int(np.isnan(given.xyxy).any(axis=1).argmax())
            raise InputError(f"box {row} of {name}() has a number that is NaN: leave the box out")
        if np.isinf(given.xyxy).any():
            raise InputError(f"{name}() must be finite")
        counts = np.maximum(given.counts, 0)
        height = self.height
        if height is not None and height.ndim:
            height = np.repeat(height, counts)
        return Sets(self._box(given.xyxy, name, height), counts, given.counts >= 0)


# How many numbers an interval, or a box, is given by; such a value has an axis also for one frame.
_ENDS = {Type.INTERVAL: 2, Type.BB: 4, Type.SET_BB: 4}


def _array(value: Any, kind: Type, name: str) -> Any:
    """Return what a function is bound to as an array of numbers, or as ragged boxes; None for no set."""
    if isinstance(value, RaggedBoxes):
        if kind is not Type.SET_BB:
            raise InputError(f"{name}() is {kind}, got sets of boxes")
        return value
    if kind is Type.SET_BB and value is None:
        return None
    if isinstance(value, (Interval, Box)) or (
        isinstance(value, (list, tuple)) and any(isinstance(one, (Interval, Box)) for one in value)
    ):
        raise InputError(f"{name}() must be given in image pixels, as numbers, for many frames at once")
    if isinstance(value, Boxes):
        value = value.xyxy
    if kind is Type.SET_BB and isinstance(value, (list, tuple)) and not _is_one_set(value):
        return RaggedBoxes.of(value)
    if isinstance(value, (list, tuple)) and kind in (Type.INTERVAL, Type.BB):
        nothing = (np.nan,) * _ENDS[kind]
        value = [nothing if one is None else one for one in value]
    try:
        array = as_numbers(value, truth=kind is Type.BOOL)
    except (TypeError, ValueError):
        raise InputError(f"{name}() is {kind}: expected numbers, got {value!r}") from None
    return _checked(array, kind, name)


def _is_one_set(value: Sequence[Any]) -> bool:
    """Whether a list holds the boxes of one set, for all frames, and not one set for each frame."""
    return bool(value) and all(
        isinstance(one, (list, tuple, np.ndarray)) and np.shape(one) == (4,) for one in value
    )


def _checked(array: Array, kind: Type, name: str) -> Array:
    if kind is Type.BOOL:
        if array.ndim > 1 or not (np.isnan(array) | (array == 0) | (array == 1)).all():
            raise InputError(f"{name}() must be true or false in each frame, NaN where that is not known")
        return array
    shapes = {Type.REAL: "(n,)", Type.INTERVAL: "(n, 2)", Type.BB: "(n, 4)", Type.SET_BB: "(k, 4)"}
    if kind in (Type.INTERVAL, Type.BB) and array.ndim == 0 and np.isnan(array):
        return np.full(_ENDS[kind], np.nan)
    fits = array.ndim <= 1 if kind is Type.REAL else array.ndim in (1, 2) and array.shape[-1] == _ENDS[kind]
    if not fits or (kind is Type.SET_BB and array.ndim != 2):
        raise InputError(f"{name}() is {kind}: expected shape {shapes[kind]}, got {array.shape}")
    if np.isinf(array).any():
        raise InputError(f"{name}() must be finite")
    return array


def _size(value: Any, what: str, sizes: dict[str, int]) -> Array | None:
    if value is None:
        return None
    try:
        array = as_numbers(value)
    except (TypeError, ValueError):
        array = np.zeros(1)
    if array.ndim > 1 or not ((array > 0) & (array < np.inf)).all():
        raise InputError(f"{what} must be a number of pixels, or one for each frame, got {value!r}")
    if array.ndim:
        sizes[what] = len(array)
    return array


def _ordered(lower: Array, upper: Array, name: str) -> Intervals:
    """Return intervals; without a value in both ends where one end has none."""
    wrong = np.atleast_1d(lower > upper)
    if wrong.any():
        row = int(wrong.argmax())
        ends = f"[{np.atleast_1d(lower)[row]:g}, {np.atleast_1d(upper)[row]:g}]"
        raise InputError(f"{name}() has a lower end above its upper end in row {row}: {ends}")
    missing = np.isnan(lower) | np.isnan(upper)
    if missing.any():
        lower, upper = np.where(missing, np.nan, lower), np.where(missing, np.nan, upper)
    return Intervals(lower, upper)


def one_value(values: Many, row: int, kind: Type) -> Value:
    """Return the value of one row as `evaluation` has it."""
    one = values.taken(np.array([row]))
    match one:
        case Kleene():
            return True if one.true.item() else False if one.false.item() else None
        case Intervals():
            pair = _pair(one)
            return pair.lower if pair is not None and kind is Type.REAL else pair
        case BoxArrays():
            x, y = _pair(one.x), _pair(one.y)
            return None if x is None or y is None else Box(x, y)
    if not one.known.item():
        return None
    boxes = (one.boxes.taken(np.array([index])) for index in range(int(one.counts.item())))
    return tuple(Box(Interval(*_ends(box.x)), Interval(*_ends(box.y))) for box in boxes)


def _ends(one: Intervals) -> tuple[float, float]:
    return one.lower.item(), one.upper.item()


def _pair(one: Intervals) -> Interval | None:
    ends = Interval(*_ends(one))
    return None if np.isnan(ends.lower) else ends


def many_values(values: Sequence[Any], kind: Type) -> Many:
    """Return values as `evaluation` has them, one for each row, as arrays."""
    known = np.array([one is not None for one in values], np.bool_)
    match kind:
        case Type.BOOL:
            true = np.array([one is True for one in values], np.bool_)
            return Kleene(true, known & ~true)
        case Type.BB:
            return _boxes(values)
        case Type.SET_BB:
            counts = np.array([len(one or ()) for one in values], np.intp)
            return Sets(_boxes([box for one in values for box in one or ()]), counts, known)
    numbers = _numbers(values, _ENDS.get(kind, 1))
    return Intervals(numbers[0], numbers[-1])


def _boxes(values: Sequence[Box | None]) -> BoxArrays:
    left, right, low, high = _numbers(values, 4)
    return BoxArrays(Intervals(left, right), Intervals(low, high))


def _numbers(values: Sequence[Any], count: int) -> Array:
    """Return the so many numbers of each value, one value in each column."""
    rows = [np.full(count, np.nan) if one is None else np.ravel(one) for one in values]
    return np.array(rows, np.float64).reshape(-1, count).T
