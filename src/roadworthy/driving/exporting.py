"""Drives in the built-in world as OpenSCENARIO 1.1 with their road as OpenDRIVE 1.7, for other players."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy._files import make_writable, rendered, write_text
from roadworthy.driving.drives import Drive
from roadworthy.driving.simulators import Scenario, Situation, WorldSimulator, open_simulator
from roadworthy.driving.simulators.loop import drive as driven
from roadworthy.errors import InputError
from roadworthy.frames import Signals
from roadworthy.models import callable_model
from roadworthy.world import Scene, Track
from roadworthy.world.driver import WHEELBASE
from roadworthy.world.shapes import mesh_of
from roadworthy.world.simulation import EGO_HALF_WIDTH, EGO_LENGTH, REAR_OVERHANG
from roadworthy.world.track import LANE_WIDTH, ROAD_HALF_WIDTH

_PIECE = 2.0  # metres of an arc of the road
_EVERY = 3  # rows between two vertices of a way
_WAYPOINTS = 25.0  # metres
_SAME = 0.01  # metres by which a drive that is made again may differ
_CATEGORIES = {"van": "van", "truck": "truck", "bus": "bus", "school bus": "bus", "motorcycle": "motorbike"}
_MIDDLE = 0.3  # of a vehicle's length, from its rear axle


def export_drive(scenario: Scenario, drive: Drive, folder: Path) -> tuple[Path, Path]:
    """Write a recorded drive as a scenario with its road.

    Everybody but the ego-vehicle moves as in the drive. The ego-vehicle has its route and the speed that it
    began with, and drives as it was driven unless the parameter ego_as_driven is false.

    Args:
        scenario: Where it was driven, with the change on the way if there was one.
        drive: What was recorded.
        folder: Where the files are written.

    Returns:
        The files of the scenario and of the road.

    Raises:
        InputError: It is no drive in the built-in world, or cannot be driven again from what is recorded.
    """
    if scenario.simulator.partition(":")[0] != "world":
        raise InputError(
            f"{scenario.simulator} does not tell its road and traffic: drives in world:town and the other built-in "
            "tracks can be exported"
        )
    scenes = _scenes(scenario, drive)
    first, track = scenes[0], scenes[0].track
    make_writable(folder)
    road, file = folder / f"{track.name}.xodr", folder / f"{track.name}.xosc"
    write_text(road, road_text(track))
    far = float(drive.signals["distance"][-1])
    skies = [(float(time), one.conditions) for time, one in zip(drive.time, scenes, strict=True)]
    skies = [one for place, one in enumerate(skies) if not place or one[1] != skies[place - 1][1]]
    text = rendered(
        Path(__file__).with_name("scenario.xosc.jinja"),
        description=f"{drive.name} in {scenario.simulator}: {drive.ended}",
        road=road.name,
        things=[_ego(drive, scenes), *_others(drive, scenes)],
        skies=skies,
        route=[round((first.s + at) % track.length, 2) for at in np.linspace(0, far, 2 + int(far / _WAYPOINTS))],
        seconds=round(drive.duration, 3),
    )
    write_text(file, text)
    return file, road


def road_text(track: Track) -> str:
    """Return a built-in track as OpenDRIVE: arcs of two metres, its hills, two lanes and their marks.

    Example:
        >>> from roadworthy.world import track
        >>> road_text(track("town")).count("<arc")
        693
    """
    count = round(track.length / _PIECE)
    ends = np.linspace(0, track.length, count + 1)
    rows = track.sample(np.where(ends < track.length, ends, 0.0))
    heading, step = np.unwrap(rows[:, 3]), track.length / count
    pieces = []
    for place in range(count):
        (x, y, z, _, _, grade), (_, _, after, _, _, next_grade) = rows[place], rows[place + 1]
        rise = (after - z) / step
        numbers = {
            **{"s": place * step, "x": x, "y": y, "hdg": heading[place], "length": step},
            "curvature": (heading[place + 1] - heading[place]) / step,
            **{"a": z, "b": grade, "c": (3 * rise - 2 * grade - next_grade) / step},
            "d": (grade + next_grade - 2 * rise) / step**2,
        }
        pieces.append({name: f"{number:.9g}" for name, number in numbers.items()})
    west, south, *_ = rows.min(axis=0)
    east, north, *_ = rows.max(axis=0)
    sides = {"north": north, "south": south, "east": east, "west": west}
    return rendered(
        Path(__file__).with_name("road.xodr.jinja"),
        name=track.name,
        length=f"{track.length:.9g}",
        zones=track.zones,
        pieces=pieces,
        lane=LANE_WIDTH,
        margin=round(ROAD_HALF_WIDTH - LANE_WIDTH, 3),
        **{name: f"{side:.2f}" for name, side in sides.items()},
    )


def _scenes(scenario: Scenario, drive: Drive) -> list[Scene]:
    """Return what stood where in each row of a drive, by driving it again as it was answered."""
    simulator = open_simulator(scenario.simulator, **scenario.options)
    assert isinstance(simulator, WorldSimulator)
    steering, speed = (drive.signals.get(f"answered_{name}", np.array([])) for name in ("steering", "speed"))
    if not len(steering):
        raise InputError(f"drive {drive.name} does not tell what was steered: record it again")
    speeds = [None if math.isnan(one) else one for one in speed.tolist()] or [None] * len(drive)
    told = zip(steering.tolist()[:-1], speeds[:-1], strict=True)
    answers = iter([Signals(steering=one, speed=other) for one, other in told])
    scenes: list[Scene] = []

    def watch(_: Situation) -> None:
        scenes.append(simulator.scene)

    again = driven(
        callable_model(lambda frames: [next(answers) for _ in frames]),
        simulator,
        limits=replace(scenario.limits, seconds=drive.duration - 1e-6),
        watch=watch,
        change=getattr(scenario, "change", None),
    )
    same = len(again) == len(drive) and all(
        np.abs(again.signals[name] - drive.signals[name]).max() < _SAME for name in ("x", "y")
    )
    if not same:
        raise InputError(f"drive {drive.name} cannot be driven again as it was: its model answered pedals, not a speed")
    return scenes


def _ego(drive: Drive, scenes: list[Scene]) -> dict[str, Any]:
    rows = [*range(0, len(drive) - 1, _EVERY), len(drive) - 1]
    way = [
        _vertex(drive, row, drive.signals["x"][row], drive.signals["y"][row], scenes[row], scenes[row].s, 0.0)
        for row in rows
    ]
    for one, row in zip(way, rows, strict=True):
        one["h"] = round(scenes[row].track.at(scenes[row].s)[3] - scenes[row].yaw, 5)
    size = {"length": EGO_LENGTH, "width": 2 * EGO_HALF_WIDTH, "height": 1.5, "wheelbase": WHEELBASE}
    told = {"name": "Ego", "kind": "car", "category": "car", "speed": round(scenes[0].speed, 3)}
    return {**told, **size, "centre": EGO_LENGTH / 2 - REAR_OVERHANG, "way": way}


def _others(drive: Drive, scenes: list[Scene]) -> Iterator[dict[str, Any]]:
    """Yield the vehicles, bicyclists and pedestrians, each with its way."""
    seen: dict[int, list[int]] = {}
    for row, scene in enumerate(scenes):
        for actor in scene.actors:
            if actor.element in ("vehicle", "bicyclist", "pedestrian"):
                seen.setdefault(actor.id, []).append(row)
    for number, rows in seen.items():
        if len(rows) < 2:
            continue
        by_row = {row: next(one for one in scenes[row].actors if one.id == number) for row in rows}
        actor, mesh = by_row[rows[0]], mesh_of(by_row[rows[0]], near=True)
        length, width = mesh.footprint
        back = 0.0 if actor.element == "pedestrian" else _MIDDLE * length
        way = []
        for row in dict.fromkeys([*rows[::_EVERY], rows[-1]]):
            one, scene = by_row[row], scenes[row]
            x, y, _ = scene.track.position(one.s, one.d).tolist()
            heading = scene.track.at(one.s)[3] - one.yaw
            x, y = x - back * math.cos(heading), y - back * math.sin(heading)
            way.append(_vertex(drive, row, x, y, scene, one.s, heading))
        category = {"bicyclist": "bicycle", "pedestrian": "pedestrian"}.get(actor.element)
        told = {"name": f"{actor.element} {number}", "kind": actor.kind, "centre": back, "wheelbase": 2 * back}
        size = {"length": length, "width": width, "height": mesh.height, "speed": round(actor.speed, 3)}
        yield {**told, **size, "category": category or _CATEGORIES.get(actor.kind, "car"), "way": way}


def _vertex(drive: Drive, row: int, x: float, y: float, scene: Scene, s: float, heading: float) -> dict[str, float]:
    z = scene.track.at(s)[2]
    numbers = {"t": drive.time[row], "x": x, "y": y, "z": z, "h": heading}
    return {name: round(float(number), 5 if name == "h" else 3) for name, number in numbers.items()}
