"""Drives in the built-in world as OpenSCENARIO 1.1 with their road as OpenDRIVE 1.7, for other players."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy._files import make_writable, rendered, write_text
from roadworthy.driving.drives import Drive
from roadworthy.driving.simulators import Scenario, WorldSimulator, open_simulator
from roadworthy.driving.simulators.loop import drive as driven
from roadworthy.errors import InputError
from roadworthy.frames import Signals
from roadworthy.models import callable_model
from roadworthy.world import Scene, Track
from roadworthy.world.shapes import mesh_of
from roadworthy.world.simulation import EGO_HALF_WIDTH, EGO_LENGTH, REAR_OVERHANG
from roadworthy.world.track import LANE_WIDTH, ROAD_HALF_WIDTH

_PIECE = 2.0  # metres of an arc of the road
_EVERY = 3  # rows between two vertices of a way
_WAYPOINTS = 25.0  # metres
_SAME = 0.01  # metres by which a drive that is made again may differ
_MOVE = ("vehicle", "bicyclist", "pedestrian")
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
        InputError: It is no drive in the built-in world, cannot be driven again from what is recorded, or a
            file of the scenario is there already.
    """
    if scenario.simulator.partition(":")[0] != "world":
        raise InputError(
            f"{scenario.simulator} does not tell its road: drives on the built-in tracks can be exported"
        )
    road, file = (folder / f"{scenario.track}.{ending}" for ending in ("xodr", "xosc"))
    if there := next((one for one in (file, road) if one.exists()), None):
        raise InputError(f"{there} is there already: write to another folder")
    scenes = _scenes(scenario, drive)
    track = scenes[0].track
    skies = [(float(time), one.conditions) for time, one in zip(drive.time, scenes, strict=True)]
    far = float(drive.signals["distance"][-1])
    text = rendered(
        Path(__file__).with_name("scenario.xosc.jinja"),
        description=f"{drive.name} in {scenario.simulator}: {drive.ended}",
        road=road.name,
        things=_things(drive, scenes),
        skies=[one for place, one in enumerate(skies) if not place or one[1] != skies[place - 1][1]],
        route=(scenes[0].s + np.linspace(0, far, 2 + int(far / _WAYPOINTS))) % track.length,
        seconds=drive.duration,
    )
    make_writable(folder)
    write_text(road, road_text(track))
    write_text(file, text)
    return file, road


def road_text(track: Track) -> str:
    """Return a built-in track as OpenDRIVE: arcs of two metres, its hills, two lanes and their marks.

    Example:
        >>> from roadworthy.world import track
        >>> road_text(track("town")).count("<arc")
        509
    """
    count = round(track.length / _PIECE)
    rows = track.sample(np.arange(count + 1) * track.length / count)
    rows[:, 3] = np.unwrap(rows[:, 3])
    known = {"track": track, "rows": rows.tolist(), "step": track.length / count, "lane": LANE_WIDTH}
    sides = {"least": rows.min(axis=0), "most": rows.max(axis=0), "margin": ROAD_HALF_WIDTH - LANE_WIDTH}
    return rendered(Path(__file__).with_name("road.xodr.jinja"), **known, **sides)


def _scenes(scenario: Scenario, drive: Drive) -> list[Scene]:
    """Return what stood where in each row of a drive, by driving it again as it was answered."""
    simulator = open_simulator(scenario.simulator, **scenario.options)
    assert isinstance(simulator, WorldSimulator)
    unknown = np.full(len(drive), math.nan)
    told = np.stack(
        [drive.signals.get(f"answered_{name}", unknown) for name in ("steering", "speed")], axis=1
    )
    known = [[None if math.isnan(one) else one for one in row] for row in told[:-1].tolist()]
    answers = iter([Signals(steering=steering, speed=speed) for steering, speed in known])
    scenes: list[Scene] = []
    again = driven(
        callable_model(lambda frames: [next(answers) for _ in frames]),
        simulator,
        limits=replace(scenario.limits, seconds=drive.duration - 1e-6),
        watch=lambda _: scenes.append(simulator.scene),
        change=getattr(scenario, "change", None),
    )
    ways = [np.stack([one.signals["x"], one.signals["y"]]) for one in (again, drive)]
    if ways[0].shape != ways[1].shape or np.abs(ways[0] - ways[1]).max() > _SAME:
        raise InputError(
            f"drive {drive.name} cannot be driven again as it was, such as where a model answers pedals, or "
            "the world is of another version"
        )
    return scenes


def _things(drive: Drive, scenes: list[Scene]) -> list[dict[str, Any]]:
    """Return the ego-vehicle and all others that may move, each with its way: time, place and heading."""
    size: dict[str, Any] = {
        "length": EGO_LENGTH,
        "width": 2 * EGO_HALF_WIDTH,
        "height": 1.5,
        "back": EGO_LENGTH / 2 - REAR_OVERHANG,
    }
    found: dict[int, dict[str, Any]] = {
        0: {"name": "Ego", "element": "vehicle", "kind": "car", "speed": scenes[0].speed, "way": [], **size}
    }
    x, y = (drive.signals[name].tolist() for name in "xy")
    for row in sorted({*range(0, len(drive), _EVERY), len(drive) - 1}):
        scene, time = scenes[row], float(drive.time[row])
        _, _, z, heading, *_ = scene.track.at(scene.s)
        found[0]["way"].append((time, x[row], y[row], z, heading - scene.yaw))
        for one in (one for one in scene.actors if one.element in _MOVE):
            mesh = mesh_of(one, near=True)
            (length, width), speed = mesh.footprint, one.speed
            back = 0.0 if one.element == "pedestrian" else _MIDDLE * length
            about: dict[str, Any] = {
                "name": f"{one.element} {one.id}",
                "element": one.element,
                "kind": one.kind,
                "speed": speed,
            }
            size = {"length": length, "width": width, "height": mesh.height, "back": back, "way": []}
            way = found.setdefault(one.id, {**about, **size})["way"]
            at, heading = scene.track.position(one.s, one.d).tolist(), scene.track.at(one.s)[3] - one.yaw
            way.append(
                (time, at[0] - back * math.cos(heading), at[1] - back * math.sin(heading), at[2], heading)
            )
    return [one for one in found.values() if len(one["way"]) > 1]
