"""What a CommonRoad scenario says: its lanelets and who moves or is parked on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import read_text
from roadworthy.driving.drives.readers._lanelets import Lanelet, number, points_of
from roadworthy.errors import InputError

__all__ = ["Scenario", "Vehicle", "read_scenario"]

Series = NDArray[np.float64]


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
class Scenario:
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


def read_scenario(path: Path) -> Scenario:
    """Read a file, version 2018b or 2020a.

    Raises:
        InputError: It is no scenario, or nothing moves in it.
    """
    root = _root(path)
    try:
        step = float(root.get("timeStepSize", "nan"))
    except ValueError:
        step = np.nan
    broken: list[str] = []
    lanelets, moving = _lanelets(root, broken), _moving(root, broken)
    if not moving or not 0 < step < np.inf:
        raise InputError(f"{path}: expected moving vehicles and a timeStepSize: no drive in this scenario")
    steps = np.unique(np.concatenate([one.steps for one in moving]))
    return Scenario(step, lanelets, moving, _parked(root, steps, broken), broken)


def _root(path: Path) -> ElementTree.Element:
    text = read_text(path)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError(f"{path}: a scenario must not declare a document type or entities")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(f"{path}: broken XML: {error}") from None
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
    obstacles = [*root.iter("dynamicObstacle"), *(one for one in root.iter("obstacle") if _moves(one))]
    for one in obstacles:
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
    obstacles = [*root.iter("staticObstacle"), *(one for one in root.iter("obstacle") if not _moves(one))]
    for one in obstacles:
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
