"""The path of the careful driver: where it will be in the next seconds, braking for what is in its way."""

from __future__ import annotations

import math

import numpy as np

from roadworthy.frames import PlannedPath, Signals
from roadworthy.frames.path import FRONT
from roadworthy.world.camera import Camera
from roadworthy.world.driver import VehicleState, advance, careful_driver
from roadworthy.world.roadside import traffic_after
from roadworthy.world.scene import Scene, WorldObject
from roadworthy.world.track import LANE_CENTRE, LANE_WIDTH

PATH_TIMES = tuple(0.5 * step for step in range(1, 9))
"""Seconds from now at which a path is told."""

_STEP = 0.1
_BRAKING = 2.5  # m/s², towards what it stops for
_BEFORE = 2.0  # metres that its front keeps from what it stops for
_NEAR = 5.0  # metres from somebody to the crosswalk that he uses
_LOOKOUT = 70.0
_STOPS = ("red", "stop")


def careful_path(scene: Scene, camera: Camera | None = None) -> PlannedPath:
    """Return the path of the careful driver, from the point below its camera.

    It drives as `careful_driver` says at every moment, and brakes in time for red lights, stop signs and
    whoever is in its lane; before a crosswalk, where they are at one. Everybody else moves on meanwhile.

    Example:
        >>> from roadworthy.world import add, careful_path, make_scene
        >>> scene = make_scene("meadow", s=100, traffic=0)
        >>> walker = add(scene, "pedestrian", ahead=20, place="lane")
        >>> free, blocked = careful_path(scene), careful_path(walker)
        >>> bool(free.points[-1, 0] > 40), bool(blocked.points[-1, 0] < 15)
        (True, True)
    """
    road, forward = scene.track, (camera or Camera()).forward
    # Who is careful has slowed down before it comes to this.
    now = _braking(scene, careful_driver(scene), forward)
    x, y, _ = road.position(scene.s, scene.d).tolist()
    start = float(road.heading(scene.s)) - scene.yaw
    state = VehicleState(x, y, start, now.speed or 0.0, now.steering or 0.0)
    origin = np.array([x + forward * math.cos(start), y + forward * math.sin(start)])
    axes = np.array([[math.cos(start), math.sin(start)], [math.sin(start), -math.cos(start)]])
    points = []
    for _ in range(round(PATH_TIMES[-1] / _STEP)):
        action = _braking(scene, careful_driver(scene), forward)
        state = advance(state, action.steering or 0.0, action.speed or 0.0, _STEP)
        s, d = road.locate(state.x, state.y, near=scene.s)
        yaw = math.remainder(float(road.heading(s)) - state.heading, 2 * math.pi)
        scene = scene.replace(s=s, d=d, yaw=yaw, speed=state.speed, actors=traffic_after(scene, _STEP))
        below = [state.x + forward * math.cos(state.heading), state.y + forward * math.sin(state.heading)]
        points.append(axes @ (np.array(below) - origin))
    chosen = [round(time / _STEP) - 1 for time in PATH_TIMES]
    return PlannedPath(np.array(points)[chosen], np.array(PATH_TIMES))


def _braking(scene: Scene, action: Signals, forward: float) -> Signals:
    """Return what the driver does, slowly enough to stop before what is in the way."""
    front = forward + FRONT
    rooms = [scene.track.ahead(scene.s, at) - front - _BEFORE for at in _stops(scene)]
    # What the front has passed is no reason to stop any more.
    room = min((one for one in rooms if one > -_BEFORE), default=math.inf)
    if room == math.inf:
        return action
    allowed = math.sqrt(2 * _BRAKING * max(room, 0.0))
    return Signals(speed=min(action.speed or 0.0, allowed), steering=action.steering)


def _stops(scene: Scene) -> list[float]:
    """Return where along the track there is something to stop for."""
    gaps = np.mod(scene.scenery.along - scene.s, scene.track.length)
    nearby = [scene.scenery.things[i] for i in np.flatnonzero(gaps < _LOOKOUT).tolist()]
    found = [thing for thing in (*nearby, *scene.actors) if _blocks(thing)]
    crossings = [one.s for one in scene.scenery.markings if one.kind == "crosswalk"]
    places = []
    for thing in found:
        near = [at for at in crossings if abs(scene.track.ahead(at, thing.s)) < _NEAR]
        places.append(min([thing.s, *near], key=lambda at: scene.track.ahead(scene.s, at)))
    return [at for at in places if 0 < scene.track.ahead(scene.s, at) < _LOOKOUT]


def _blocks(thing: WorldObject) -> bool:
    if thing.element in ("traffic light", "traffic sign"):
        return thing.d > 0 and thing.kind in _STOPS
    in_lane = abs(thing.d - LANE_CENTRE) < LANE_WIDTH / 2
    return in_lane and (thing.element == "pedestrian" or (thing.element == "vehicle" and thing.speed == 0))
