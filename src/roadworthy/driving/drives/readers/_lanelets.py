"""Lanelets: pieces of a lane between two bounds, and where something is on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

__all__ = ["Lanelet", "Place", "number", "places_of", "points_of", "route_ahead"]

Series = NDArray[np.float64]
_AHEAD = 300.0  # metres of a route that matter
_LARGEST = 1e12  # nothing on a road is as far away, as fast or as late


@dataclass(frozen=True)
class Place:
    """Where something is: on a lanelet, so many metres along its middle and to the right of it."""

    lanelet: str
    along: float
    offset: float


@dataclass(frozen=True, eq=False)
class Lanelet:
    """A piece of a lane.

    Attributes:
        id: Its name.
        middle: Points of its middle line.
        marks: Metres along the middle at those points.
        width: Its mean width.
        outline: The points of both bounds, round it.
        after: The lanelets that it leads to.
        left: The lanelet on its left in the same direction.
        beside: The lanelets beside it, whatever their direction.
    """

    id: str
    middle: Series
    marks: Series
    width: float
    outline: Series
    after: tuple[str, ...]
    left: str | None
    beside: tuple[str, ...]

    @classmethod
    def of(cls, element: Element) -> Lanelet:
        """Return the lanelet of an XML element.

        Raises:
            ValueError: A bound is missing, or has no two places.
        """
        bounds = [points_of(element.find(name)) for name in ("leftBound", "rightBound")]
        if min(len(bound) for bound in bounds) < 2:
            raise ValueError("expected two bounds of two points or more")
        count = max(len(bound) for bound in bounds)
        left, right = (_spread(bound, count) for bound in bounds)
        middle = (left + right) / 2
        marks = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(middle, axis=0).T))])
        if not marks[-1] > 0:
            raise ValueError("expected bounds of some length")
        sides = [element.find(f"adjacent{side}") for side in ("Left", "Right")]
        same = sides[0] is not None and sides[0].get("drivingDir") == "same"
        return cls(
            element.get("id", ""),
            middle,
            marks,
            float(np.hypot(*(left - right).T).mean()),
            np.concatenate([left, right[::-1]]),
            tuple(one.get("ref", "") for one in element.iterfind("successor")),
            sides[0].get("ref") if sides[0] is not None and same else None,
            tuple(side.get("ref", "") for side in sides if side is not None),
        )

    def number(self, lanelets: Mapping[str, Lanelet]) -> int:
        """Return how many lanes of the same direction are on its left."""
        count, side = 0, self.left
        while side in lanelets and side is not None and count < 20:
            count, side = count + 1, lanelets[side].left
        return count

    def holds(self, point: Series) -> bool:
        """Return whether a point is inside."""
        one, two = self.outline, np.roll(self.outline, -1, axis=0)
        crosses = (one[:, 1] > point[1]) != (two[:, 1] > point[1])
        with np.errstate(divide="ignore", invalid="ignore"):
            where = one[:, 0] + (point[1] - one[:, 1]) * (two[:, 0] - one[:, 0]) / (two[:, 1] - one[:, 1])
        return bool(np.count_nonzero(crosses & (point[0] < where)) % 2)

    def locate(self, point: Series) -> tuple[Place, float]:
        """Return where a point is, and the direction of the lane there in radians."""
        starts, ways = self.middle[:-1], np.diff(self.middle, axis=0)
        lengths = np.maximum(np.hypot(*ways.T), 1e-9)
        shares = np.clip(((point - starts) * ways).sum(axis=1) / lengths**2, 0, 1)
        nearest = int(np.hypot(*(starts + shares[:, None] * ways - point).T).argmin())
        away = point - starts[nearest]
        way = ways[nearest] / lengths[nearest]
        along = float(self.marks[nearest] + shares[nearest] * lengths[nearest])
        offset = float(away[0] * way[1] - away[1] * way[0])  # to the right is positive
        return Place(self.id, along, offset), math.atan2(way[1], way[0])


def places_of(point: Series, heading: float | None, lanelets: Mapping[str, Lanelet]) -> list[Place]:
    """Return the places where something is, the most central first.

    Where something heads, lanes that lead its way count; only where there is none, those against it.
    """
    along, against = [], []
    for lanelet in lanelets.values():
        if lanelet.holds(point):
            place, direction = lanelet.locate(point)
            if heading is None or not math.isfinite(heading) or math.cos(direction - heading) > 0:
                along.append(place)
            else:
                against.append(Place(place.lanelet, place.along, -place.offset))
    return sorted(along or against, key=lambda place: abs(place.offset))


def route_ahead(here: Place, lanelets: Mapping[str, Lanelet]) -> dict[str, float]:
    """Return the lanelets that can be reached ahead, with the metres from the begin of this one to theirs."""
    starts = {here.lanelet: 0.0}
    open_ = [here.lanelet]
    while open_:
        current = open_.pop(0)
        end = starts[current] + float(lanelets[current].marks[-1])
        if end - here.along > _AHEAD:
            continue
        for following in lanelets[current].after:
            if following in lanelets and following not in starts:
                starts[following] = end
                open_.append(following)
    return starts


def points_of(element: Element | None) -> Series:
    """Return the points of an XML element.

    Raises:
        ValueError: A point has no place.
    """
    points = [] if element is None else list(element.iterfind("point"))
    return np.array([[number(one, axis) for axis in ("x", "y")] for one in points]).reshape(-1, 2)


def number(element: Element, path: str) -> float:
    """Return the number that an element says.

    Raises:
        ValueError: It says none.
    """
    text = element.findtext(path)
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not abs(value) < _LARGEST:
        raise ValueError(f"expected a number for {path}, got {text!r}")
    return value


def _spread(line: Series, count: int) -> Series:
    """Return a line with so many points, at equal shares of its length; as it is if it has that many."""
    if len(line) == count:
        return line
    marks = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    shares = np.linspace(0, marks[-1], count)
    return np.stack([np.interp(shares, marks, line[:, axis]) for axis in (0, 1)], axis=1)
