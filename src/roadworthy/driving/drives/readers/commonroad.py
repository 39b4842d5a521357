"""Lanelets: pieces of a lane between two bounds, and where something is on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import read_text
from roadworthy._tables import as_float
from roadworthy.driving.drives.drive import Drive, distances
from roadworthy.errors import InputError, told_as

Series = NDArray[np.float64]
_AHEAD = 300.0  # metres of a route that matter
_LARGEST = 1e12  # nothing on a road is as far away, as fast or as late


@dataclass(frozen=True)
class LaneletPosition:
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

    def locate(self, point: Series) -> tuple[LaneletPosition, float]:
        """Return where a point is, and the direction of the lane there in radians."""
        starts, ways = self.middle[:-1], np.diff(self.middle, axis=0)
        lengths = np.maximum(np.hypot(*ways.T), 1e-9)
        shares = np.clip(((point - starts) * ways).sum(axis=1) / lengths**2, 0, 1)
        nearest = int(np.hypot(*(starts + shares[:, None] * ways - point).T).argmin())
        away = point - starts[nearest]
        way = ways[nearest] / lengths[nearest]
        along = float(self.marks[nearest] + shares[nearest] * lengths[nearest])
        offset = float(away[0] * way[1] - away[1] * way[0])  # to the right is positive
        return LaneletPosition(self.id, along, offset), math.atan2(way[1], way[0])


def places_of(point: Series, heading: float | None, lanelets: Mapping[str, Lanelet]) -> list[LaneletPosition]:
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
                against.append(LaneletPosition(place.lanelet, place.along, -place.offset))
    return sorted(along or against, key=lambda place: abs(place.offset))


def route_ahead(here: LaneletPosition, lanelets: Mapping[str, Lanelet]) -> dict[str, float]:
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
    value = as_float(text)
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


@dataclass(frozen=True)
class Vehicle:
    """A vehicle's states by time step."""

    id: str
    kind: str
    length: float
    width: float
    steps: NDArray[np.intp]
    position: Series
    heading: Series
    speed: Series
    acceleration: Series


@dataclass(frozen=True)
class CommonRoadScenario:
    """What a file says.

    Attributes:
        step: The seconds of a time step.
        lanelets: By id.
        moving: All that moves.
        parked: Parked vehicles.
        broken: What could not be read, a sentence each.
    """

    step: float
    lanelets: dict[str, Lanelet]
    moving: list[Vehicle]
    parked: list[Vehicle]
    broken: list[str]


def read_scenario(path: Path) -> CommonRoadScenario:
    """Read a file, version 2018b or 2020a.

    Raises:
        InputError: It is no scenario, or nothing moves in it.
    """
    root = _root(path)
    step = as_float(root.get("timeStepSize"))
    broken: list[str] = []
    lanelets, moving = _lanelets(root, broken), _moving(root, broken)
    if not moving or not 0 < step < _LARGEST:
        raise InputError(f"{path}: expected moving vehicles and a timeStepSize: no drive in this scenario")
    steps = np.unique(np.concatenate([one.steps for one in moving]))
    return CommonRoadScenario(step, lanelets, moving, _parked(root, steps, broken), broken)


def _root(path: Path) -> ElementTree.Element:
    text = read_text(path)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError(f"{path}: a scenario must not declare a document type or entities")
    with told_as(InputError, f"{path}: broken XML", ElementTree.ParseError):
        root = ElementTree.fromstring(text)
    if root.tag != "commonRoad":
        raise InputError(f"{path}: expected the element commonRoad, got {root.tag}")
    return root


def _lanelets(root: ElementTree.Element, broken: list[str]) -> dict[str, Lanelet]:
    """Return the lanelets by id."""
    found = {}
    for one in root.iter("lanelet"):
        if one.find("leftBound") is None:
            continue  # a reference to a lanelet, not one
        try:
            found[one.get("id", "")] = Lanelet.of(one)
        except ValueError as error:
            broken.append(f"lanelet {one.get('id')}: {error}")
    return found


def _moving(root: ElementTree.Element, broken: list[str]) -> list[Vehicle]:
    """Return all that moves; what cannot be read is added to what is broken."""
    found: list[Vehicle] = []
    for one in [*root.iter("dynamicObstacle"), *(one for one in root.iter("obstacle") if _moves(one))]:
        rows = []
        for state in (one.find("initialState"), *one.iterfind("trajectory/state")):
            try:
                rows += [] if state is None else [_state(state)]
            except ValueError as error:
                broken.append(f"a state of vehicle {one.get('id')}: {error}")
        found += _vehicle(one, rows, broken) if len(rows) > 1 else []
    return found


def _parked(root: ElementTree.Element, steps: NDArray[np.intp], broken: list[str]) -> list[Vehicle]:
    """Return the parked vehicles, which are there at all steps."""
    found: list[Vehicle] = []
    for one in [*root.iter("staticObstacle"), *(one for one in root.iter("obstacle") if not _moves(one))]:
        if (one.findtext("type") or "").strip() != "parkedVehicle":
            continue
        try:
            _, x, y, heading, *_ = _state(one.find("initialState"), moves=False)
        except ValueError as error:
            broken.append(f"parked vehicle {one.get('id')}: {error}")
        else:
            found += _vehicle(one, [(step, x, y, heading, 0.0, 0.0) for step in steps.tolist()], broken)
    return found


def _moves(obstacle: ElementTree.Element) -> bool:
    return obstacle.find("trajectory") is not None


def _vehicle(
    element: ElementTree.Element, rows: Sequence[tuple[float, ...]], broken: list[str]
) -> list[Vehicle]:
    """Return the vehicle of an element, or none and why."""
    id = element.get("id", "?")
    try:
        length, width = _size(element)
    except ValueError as error:
        broken.append(f"vehicle {id}: {error}")
        return []
    table = np.array(rows)
    kind = (element.findtext("type") or "unknown").strip()
    steps, position, heading, speed, acceleration = np.split(table, [1, 3, 4, 5], axis=1)
    return [
        Vehicle(
            id, kind, length, width, steps.ravel().astype(np.intp), position, heading.ravel(), speed.ravel(),
            acceleration.ravel(),
        )
    ]  # fmt: skip


def _size(element: ElementTree.Element) -> tuple[float, float]:
    """Return length and width of a shape; a polygon's are those of the rectangle round it."""
    rectangle = element.find("shape/rectangle")
    if rectangle is not None:
        return number(rectangle, "length"), number(rectangle, "width")
    circle = element.find("shape/circle")
    if circle is not None:
        return (2 * number(circle, "radius"),) * 2
    corners = points_of(element.find("shape/polygon"))
    if len(corners) < 3:
        raise ValueError("expected the shape of a rectangle, a circle or a polygon")
    length, width = np.ptp(corners, axis=0).tolist()
    return length, width


def _state(element: ElementTree.Element | None, *, moves: bool = True) -> tuple[float, ...]:
    """Return step, x, y, heading, speed and acceleration; of the last three, what is not exact is not known.

    Raises:
        ValueError: There is no exact place, or no exact time for one that moves.
    """
    point = None if element is None else element.find("position/point")
    if element is None or point is None:
        raise ValueError("expected an exact position")
    step = number(element, "time/exact") if moves else 0.0
    rest = []
    for name in ("orientation", "velocity", "acceleration"):
        try:
            rest.append(number(element, f"{name}/exact"))
        except ValueError:
            rest.append(np.nan)
    return step, number(point, "x"), number(point, "y"), *rest


Others = Sequence[tuple[Vehicle, int]]
"""Other vehicles, each with its row at a moment."""
_NEAR = 60.0  # metres: further vehicles are nobody's neighbours


def read_commonroad(path: str | PathLike[str], *, ego: str | int | None = None, gap: float = 1.0) -> Drive:
    """Return the drive of one vehicle of a scenario, with what is around it.

    Beside speed, acceleration and position, the drive has what lanelets and other vehicles tell: lane offset,
    lateral clearance and lane, headway and speed of the vehicle ahead on the same route, distance to the
    nearest other vehicle and to the nearest pedestrian ahead on the route, collisions and lane changes.
    Distances are from bumper to bumper. Parked vehicles count. What cannot be read, or is told as an area or
    an interval, is left out, and the notes say so.

    Args:
        path: The XML file, version 2018b or 2020a.
        ego: The id of the vehicle; the one with the longest record if left out.
        gap: Rows further apart than this many seconds have a gap between them.

    Raises:
        InputError: The file is no such scenario, or has no such vehicle.
    """
    scenario = read_scenario(Path(path))
    moving = scenario.moving
    chosen = max(moving, key=lambda one: (len(one.steps), -len(one.id), one.id))
    if ego is not None:
        named = [one for one in moving if one.id == str(ego)]
        if not named:
            known = ", ".join(one.id for one in moving[:20]) + (" …" if len(moving) > 20 else "")
            raise InputError(f"{path}: no vehicle {ego}: there are {known}")
        chosen = named[0]
    signals, events = _around(chosen, [*moving, *scenario.parked], scenario.lanelets)
    name = f"{fspath(path)}#{chosen.id}"
    step, broken = scenario.step, scenario.broken
    drive = Drive.repaired(name, chosen.steps * step, signals, events, gap=max(gap, 1.5 * step))
    return drive.with_notes([f"{len(broken)} × left out; the first: {broken[0]}"] if broken else [])


def _around(
    ego: Vehicle, vehicles: Sequence[Vehicle], lanelets: dict[str, Lanelet]
) -> tuple[dict[str, Series], dict[str, NDArray[np.bool_]]]:
    """Return the signals and events of a vehicle."""
    count = len(ego.steps)
    names = ("lane_offset", "lateral_clearance", "lane", "headway", "lead_speed", "vehicle_distance")
    found = {name: np.full(count, np.nan) for name in (*names, "pedestrian_distance")}
    collision, changed = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    before: LaneletPosition | None = None
    for row, step in enumerate(ego.steps.tolist()):
        present = [(one, int(at[0])) for one in vehicles if len(at := np.flatnonzero(one.steps == step))]
        others = [(one, at) for one, at in present if one is not ego]
        here = _place(ego, row, lanelets, before)
        if here is not None:
            lane = lanelets[here.lanelet]
            found["lane_offset"][row] = here.offset
            found["lateral_clearance"][row] = lane.width / 2 - abs(here.offset) - ego.width / 2
            found["lane"][row] = lane.number(lanelets)
            changed[row] = before is not None and here.lanelet in _beside(lanelets, before.lanelet)
            _look_ahead(ego, here, others, lanelets, found, row)
        before = here or before
        _look_around(ego, row, others, found, collision)
    known = {"x": ego.position[:, 0], "y": ego.position[:, 1], "speed": ego.speed}
    known |= {"acceleration": ego.acceleration, **found}
    signals = {name: values for name, values in known.items() if np.isfinite(values).any()}
    return signals, {"collision": collision, "lane change": changed}


def _place(
    one: Vehicle, row: int, lanelets: dict[str, Lanelet], before: LaneletPosition | None
) -> LaneletPosition | None:
    """Return where a vehicle is: of lanelets that overlap, the one that goes on from where it was."""
    places = places_of(one.position[row], one.heading[row], lanelets)
    if before is not None:
        expected = {before.lanelet, *lanelets[before.lanelet].after}
        places.sort(key=lambda place: (place.lanelet not in expected, abs(place.offset)))
    return places[0] if places else None


def _beside(lanelets: dict[str, Lanelet], id: str) -> set[str]:
    """Return the lanelets beside one, and what they lead to."""
    sides = [side for side in lanelets[id].beside if side in lanelets]
    own = {id, *lanelets[id].after}
    return {*sides, *(further for side in sides for further in lanelets[side].after)} - own


def _look_ahead(
    ego: Vehicle,
    here: LaneletPosition,
    others: Others,
    lanelets: dict[str, Lanelet],
    found: dict[str, Series],
    row: int,
) -> None:
    """Write down who is ahead on the route: the nearest vehicle and the nearest pedestrian."""
    starts = route_ahead(here, lanelets)
    for one, at in others:
        on_foot = one.kind in ("pedestrian", "bicycle")
        for place in places_of(one.position[at], None, lanelets):
            if place.lanelet not in starts:
                continue
            apart = starts[place.lanelet] + place.along - here.along - (ego.length + one.length) / 2
            if apart < -(ego.length + one.length) / 2:
                continue
            name = "pedestrian_distance" if on_foot else "headway"
            if not apart >= found[name][row]:
                found[name][row] = max(apart, 0.0)
                if not on_foot:
                    found["lead_speed"][row] = one.speed[at]


def _look_around(
    ego: Vehicle, row: int, others: Others, found: dict[str, Series], collision: NDArray[np.bool_]
) -> None:
    """Write down how near others come: touching anybody, and the nearest vehicle that is not ahead."""
    near = [(one, at) for one, at in others if np.hypot(*(one.position[at] - ego.position[row])) < _NEAR]
    if not near or not np.isfinite(ego.heading[row]):
        return
    apart = distances(
        (ego.position[row], ego.heading[row], ego.length, ego.width),
        [(one.position[at], one.heading[at], one.length, one.width) for one, at in near],
    )
    collision[row] = bool((apart == 0).any())
    forward = np.array([np.cos(ego.heading[row]), np.sin(ego.heading[row])])
    for (one, at), metres in zip(near, apart.tolist(), strict=True):
        away = one.position[at] - ego.position[row]
        across = abs(float(away @ np.array([-forward[1], forward[0]])))
        ahead = float(away @ forward) > 0 and across < (ego.width + one.width) / 2
        vehicle = one.kind not in ("pedestrian", "bicycle")
        if vehicle and not ahead and not metres >= found["vehicle_distance"][row]:
            found["vehicle_distance"][row] = metres
