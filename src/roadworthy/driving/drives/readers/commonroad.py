"""Scenarios of CommonRoad: one vehicle's drive among the others."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving._rectangles import distances
from roadworthy.driving.drives.drive import Drive
from roadworthy.driving.drives.readers._lanelets import Lanelet, Place, places_of, route_ahead
from roadworthy.driving.drives.readers._scenarios import Vehicle, read_scenario
from roadworthy.errors import InputError

__all__ = ["read_commonroad"]

Series = NDArray[np.float64]
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
            raise InputError(
                f"{path}: no vehicle {ego}: there are {', '.join(one.id for one in moving[:20])}"
                + (" …" if len(moving) > 20 else "")
            )
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
    before: Place | None = None
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


def _place(one: Vehicle, row: int, lanelets: dict[str, Lanelet], before: Place | None) -> Place | None:
    """Return where a vehicle is: of lanelets that overlap, the one that goes on from where it was."""
    places = places_of(one.position[row], one.heading[row], lanelets)
    if before is not None:
        expected = {before.lanelet, *lanelets[before.lanelet].after}
        places.sort(key=lambda place: (place.lanelet not in expected, abs(place.offset)))
    return places[0] if places else None


def _beside(lanelets: dict[str, Lanelet], id: str) -> set[str]:
    """Return the lanelets beside one, and what they lead to."""
    sides = [side for side in lanelets[id].beside if side in lanelets]
    return {*sides, *(further for side in sides for further in lanelets[side].after)} - {
        id,
        *lanelets[id].after,
    }


def _look_ahead(
    ego: Vehicle,
    here: Place,
    others: Sequence[tuple[Vehicle, int]],
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
    ego: Vehicle,
    row: int,
    others: Sequence[tuple[Vehicle, int]],
    found: dict[str, Series],
    collision: NDArray[np.bool_],
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
