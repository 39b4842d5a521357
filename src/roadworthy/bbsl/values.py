"""Intervals, boxes and their relations (Definitions 1 to 7), and image pixels as BBSL coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roadworthy.bbsl.syntax import Type
from roadworthy.bbsl.type_checking import Axis
from roadworthy.errors import InputError, check_number
from roadworthy.frames import Boxes


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
    met = ((a, b) for a in left for b in right if overlap(a.x, b.x) and overlap(a.y, b.y))
    return tuple(Box(meet(a.x, b.x), meet(a.y, b.y)) for a, b in met)


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
            inside = [box.y for box in by_height if box.x.lower <= left and right <= box.x.upper]
            total += (right - left) * _height(inside)
    return total


def _height(intervals: Sequence[Interval]) -> float:
    """Return the length of the union of intervals that are sorted by their lower end."""
    total, reached = 0.0, -math.inf
    for lower, upper in intervals:
        total += max(0.0, upper - max(lower, reached))
        reached = max(reached, upper)
    return total


Value = bool | float | Interval | Box | tuple[Box, ...] | None
"""A value of BBSL; None where there is none."""


@dataclass(frozen=True)
class Coordinates:
    """Turns values that come in, and those that go out as arguments of external functions.

    Attributes:
        height: The height of the image in pixels; None when it is not known.
        width: Its width.
    """

    height: float | None = None
    width: float | None = None

    def __post_init__(self) -> None:
        for name in ("height", "width"):
            size = getattr(self, name)
            check_number(name, size, above=0, below=math.inf)

    def image(self) -> Box:
        """Return IMG, the box of the whole image.

        Raises:
            InputError: The size of the image is not known.
        """
        if self.width is None or self.height is None:
            raise size_is_missing()
        return Box(Interval(0.0, float(self.width)), Interval(0.0, float(self.height)))

    def inward(self, value: Any, kind: Type, name: str, axis: Axis = "open") -> Value:
        """Return the value of BBSL that a user's value stands for; None for None and NaN.

        Raises:
            InputError: It is no value of this type; `name` says of which function.
        """
        if value is None:
            return None
        match kind:
            case Type.BOOL:
                return _truth(value, name)
            case Type.REAL:
                number = _numbers(value, 1, kind, name)[0]
                return None if math.isnan(number) else number
            case Type.INTERVAL:
                return self._interval(value, name, axis)
            case Type.BB:
                return self._box(value, name)
            case Type.SET_BB:
                return self._boxes(value, name)

    def _interval(self, value: Any, name: str, axis: Axis) -> Interval | None:
        if isinstance(value, Interval):
            return _ordered(value, name)
        first, second = _numbers(value, 2, Type.INTERVAL, name)
        if math.isnan(first) or math.isnan(second):
            return None
        pair = _ordered(Interval(first, second), name)
        if axis == "both":
            raise InputError(
                f"{name}() is compared on both axes: bind a roadworthy.bbsl.Interval(lower, upper), y upward"
            )
        if axis == "unsaid":
            raise no_axis(name)
        return self._turned(pair, name) if axis == "y" else pair

    def _turned(self, pair: Interval, name: str) -> Interval:
        if self.height is None:
            raise height_is_missing(name)
        return Interval(float(self.height) - pair.upper, float(self.height) - pair.lower)

    def _box(self, value: Any, name: str) -> Box | None:
        if isinstance(value, Box):
            return Box(_ordered(Interval(*value.x), name), _ordered(Interval(*value.y), name))
        if isinstance(value, Boxes):
            if len(value) != 1:
                raise InputError(f"{name}() must be one box, got {len(value)}: select one of them")
            value = value.xyxy[0]
        numbers = _numbers(value, 4, Type.BB, name)
        if any(map(math.isnan, numbers)):
            return None
        left, top, right, bottom = numbers
        upright = self._turned(_ordered(Interval(top, bottom), name), name)
        return Box(_ordered(Interval(left, right), name), upright)

    def _boxes(self, value: Any, name: str) -> tuple[Box, ...]:
        rows: Any = value.xyxy if isinstance(value, Boxes) else value
        single = isinstance(rows, (Box, str)) or (isinstance(rows, np.ndarray) and rows.ndim == 0)
        if single or not isinstance(rows, (Sequence, np.ndarray)):
            raise InputError(f"{name}() must be a set of boxes, of shape (n, 4), got {rows!r}")
        boxes = [self._box(row, f"box {index} of {name}") for index, row in enumerate(rows)]
        for index, box in enumerate(boxes):
            if box is None:
                raise InputError(f"box {index} of {name}() has a number that is NaN: leave the box out")
        return tuple(box for box in boxes if box is not None)

    def outward(self, value: Value, axis: Axis = "open") -> Any:
        """Return a value of BBSL as an external function takes it: boxes and intervals in image pixels.

        Raises:
            InputError: An interval is to be turned and the height is not known, or its axis is not.
        """
        if isinstance(value, Interval):
            if axis == "both":
                raise InputError("a function is called with intervals of both axes: declare two functions")
            return tuple(self._turned(value, "an argument") if axis == "y" else value)
        if isinstance(value, Box):
            low, high = self._turned(value.y, "an argument")
            return (value.x.lower, low, value.x.upper, high)
        return [self.outward(box) for box in value] if isinstance(value, tuple) else value


def size_is_missing() -> InputError:
    """Return what to raise where IMG is asked for and the size of the image is not known."""
    return InputError("IMG needs the size of the image: give width=… and height=…")


def no_axis(name: str) -> InputError:
    """Return the error for an interval of which nothing says whether it is to be turned."""
    return InputError(
        f"{name}() is compared with numbers alone, which does not say whether it lies along x or y: add "
        f"PROJ_x(IMG) ⊇ {name}() or PROJ_y(IMG) ⊇ {name}()"
    )


def height_is_missing(name: str) -> InputError:
    """Return what to raise where the value of a function must be turned and the height is not known."""
    return InputError(f"turning {name}() to y upward needs the height of the image: give height=…")


def as_numbers(value: Any, *, truth: bool = False) -> NDArray[np.float64]:
    """Return lists, tuples and arrays of any number type as an array, in which None becomes NaN.

    Args:
        value: What numpy can read.
        truth: Whether true and false stand for 1 and 0.

    Raises:
        TypeError: It holds something else, such as "3", which numpy would read as 3.
        ValueError: It is none that numpy can read.

    Example:
        >>> as_numbers([1, None]).tolist()
        [1.0, nan]
    """
    array = np.asarray(value)
    if array.dtype.kind in ("US" if truth else "USb"):
        raise TypeError("expected numbers")
    return array.astype(np.float64)


def _truth(value: Any, name: str) -> bool | None:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (float, np.floating)) and math.isnan(value):
        return None
    raise InputError(f"{name}() must be true or false, or None where that is not known, got {value!r}")


def _numbers(value: Any, count: int, kind: Type, name: str) -> list[float]:
    """Return so many numbers, in which NaN says that there is no value."""
    try:
        array = as_numbers(value)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (() if count == 1 else (count,)):
        shapes = {1: "one number", 2: "two numbers, lower and upper", 4: "four numbers x1, y1, x2, y2"}
        raise InputError(f"{name}() is {kind}: expected {shapes[count]}, got {value!r}")
    numbers: list[float] = array.reshape(-1).tolist()
    if any(map(math.isinf, numbers)):
        raise InputError(f"{name}() must be finite, got {value!r}")
    return numbers


def _ordered(pair: Interval, name: str) -> Interval:
    if not pair.lower <= pair.upper:
        raise InputError(f"{name}() has a lower end above its upper end: [{pair.lower:g}, {pair.upper:g}]")
    return pair
