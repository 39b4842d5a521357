"""The careful driver, and the vehicle that it moves: a kinematic bicycle with limits on its actuators."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from roadworthy._yaml import read_yaml
from roadworthy.errors import SceneError
from roadworthy.frames import Signals
from roadworthy.world.conditions import Conditions
from roadworthy.world.scene import Scene, WorldObject
from roadworthy.world.track import LANE_CENTRE, LANE_WIDTH, Track

WHEELBASE = 2.7
MAX_STEERING = 25.0  # degrees at the wheels


@dataclass(frozen=True)
class VehicleLimits:
    """What steering, engine and brakes can do.

    Args:
        steering: Largest angle in degrees at the wheels.
        steering_rate: Degrees per second.
        acceleration: In m/s².
        braking: In m/s².
        speed: Highest speed in m/s.

    Example:
        >>> weak = VehicleLimits(braking=2.0)
        >>> advance(VehicleState(0.0, 0.0, 0.0, speed=10.0), 0.0, 0.0, dt=0.5, limits=weak).speed
        9.0
    """

    steering: float = MAX_STEERING
    steering_rate: float = 80.0
    acceleration: float = 2.5
    braking: float = 7.0
    speed: float = 40.0


@dataclass(frozen=True)
class VehicleState:
    """Pose of the rear axle in world coordinates, speed, and where the wheels point.

    Args:
        x: Metres to the east.
        y: Metres to the north.
        heading: Radians counter-clockwise from east.
        speed: In m/s.
        steering: Degrees at the wheels, positive to the right.
        acceleration: In m/s², over the last step.

    Example:
        >>> VehicleState(x=0.0, y=0.0, heading=0.0, speed=10.0).steering
        0.0
    """

    x: float
    y: float
    heading: float
    speed: float = 0.0
    steering: float = 0.0
    acceleration: float = 0.0


def advance(
    state: VehicleState, steering: float, speed: float, dt: float, limits: VehicleLimits | None = None
) -> VehicleState:
    """Move for ``dt`` seconds towards a steering angle (degrees) and a speed (m/s).

    Example:
        >>> start = VehicleState(0.0, 0.0, 0.0, speed=10.0)
        >>> advance(start, steering=0.0, speed=10.0, dt=0.1).x
        1.0
        >>> advance(start, steering=0.0, speed=0.0, dt=0.1).speed  # the brakes give 7 m/s²
        9.3
    """
    if not (math.isfinite(steering) and math.isfinite(speed)):
        raise SceneError(f"steering and speed must be finite numbers, got {steering} and {speed}")
    if not dt > 0:
        raise SceneError(f"a step takes more than 0 seconds, got {dt}")
    limits = limits or VehicleLimits()
    wanted = max(-limits.steering, min(limits.steering, steering))
    turn = limits.steering_rate * dt
    angle = state.steering + max(-turn, min(turn, wanted - state.steering))
    target = max(0.0, min(limits.speed, speed))
    change = max(-limits.braking * dt, min(limits.acceleration * dt, target - state.speed))
    new_speed = state.speed + change
    travelled = (state.speed + new_speed) / 2 * dt
    curvature = math.tan(math.radians(angle)) / WHEELBASE
    # Along an arc, so that the step length does not matter while the wheels are still.
    middle = state.heading - curvature * travelled / 2
    half = curvature * travelled / 2
    chord = travelled * (math.sin(half) / half if abs(half) > 1e-9 else 1.0)
    x, y = state.x + chord * math.cos(middle), state.y + chord * math.sin(middle)
    return VehicleState(x, y, state.heading - curvature * travelled, new_speed, angle, change / dt)


_Cause = tuple[str, float, WorldObject]

_LATERAL_ACCELERATION = 2.0
_COMFORTABLE_BRAKING = 1.5
_PREVIEW = np.arange(0.0, 61.0, 2.0)
_CORRECTION_LENGTH = 8.0  # metres over which an error in position is driven out
_CAR_LENGTH, _STANDSTILL_GAP = 4.4, 3.0
_LOOKOUT = 70.0  # metres; no cause counts from farther away

# Cause: seen from this many metres, factor right in front of us, factor at that distance.
_REACTIONS: dict[str, tuple[float, float, float]] = read_yaml(
    Path(__file__).with_name("reactions.yaml"), "file of reactions", "causes"
).data


@dataclass(frozen=True)
class Caution:
    """One reason to drive more slowly, and the factor it puts on the speed.

    Example:
        >>> from roadworthy.world import cautions, make_scene, with_conditions
        >>> cautions(with_conditions(make_scene("meadow", s=100, traffic=0), time="night"))
        [Caution(cause='night', factor=0.8)]
    """

    cause: str
    factor: float


def careful_driver(scene: Scene) -> Signals:
    """Return the speed and steering of the careful driver in a scene.

    Example:
        >>> from roadworthy.world import careful_driver, make_scene, with_conditions
        >>> scene = make_scene("meadow", s=100, seed=1)
        >>> careful_driver(scene).speed > careful_driver(with_conditions(scene, time="night")).speed
        True
    """
    causes = _causes(scene)
    speed = min(_road_speed(scene.track, scene.s), _posted_speed(causes))
    for caution in _cautions(scene.conditions, causes):
        speed *= caution.factor
    return Signals(speed=speed, steering=lane_keeping(scene.track, scene.s, scene.d, scene.yaw))


def lane_keeping(track: Track, s: float, d: float, yaw: float) -> float:
    """Return the steering angle in degrees that keeps or regains the middle of the right-hand lane."""
    bend = float(track.curvature(s + 1.0))
    follow = bend / (1 - bend * LANE_CENTRE)
    correct = -2 * (d - LANE_CENTRE) / _CORRECTION_LENGTH**2 - 2 * math.sin(yaw) / _CORRECTION_LENGTH
    angle = math.degrees(math.atan(WHEELBASE * (follow + correct)))
    return max(-MAX_STEERING, min(MAX_STEERING, angle))


def _road_speed(track: Track, s: float) -> float:
    """Speed that limit and bends allow, braking early enough for the bends ahead."""
    ahead = s + _PREVIEW
    in_bends = np.sqrt(_LATERAL_ACCELERATION / np.maximum(np.abs(track.curvature(ahead)), 1e-4))
    limits = np.array([zone.limit for zone in track.zones])[track.zone_index(ahead)]
    return float(np.sqrt(np.minimum(in_bends, limits) ** 2 + 2 * _COMFORTABLE_BRAKING * _PREVIEW).min())


def cautions(scene: Scene) -> list[Caution]:
    """Return every reason for caution in a scene, the weather first.

    Example:
        >>> from roadworthy.world import add, cautions, make_scene
        >>> scene = add(make_scene("meadow", s=100, traffic=0), "pedestrian", ahead=40)
        >>> [caution.cause for caution in cautions(scene)]
        ['pedestrian']
    """
    return _cautions(scene.conditions, _causes(scene))


def _cautions(conditions: Conditions, causes: Iterable[_Cause]) -> list[Caution]:
    found = _cautions_of_conditions(conditions)
    room = math.inf
    for cause, gap, _ in causes:
        if cause == "vehicle":
            room = min(room, gap - _CAR_LENGTH - _STANDSTILL_GAP)
        elif gap < _REACTIONS[cause][0]:
            found.append(_reaction(cause, gap))
    if room < _REACTIONS["vehicle"][0]:
        found.append(_reaction("vehicle", max(room, 0.0)))
    return found


def _causes(scene: Scene) -> list[_Cause]:
    """Return what concerns us, how far ahead it is, and the thing itself."""
    found = []
    gaps = np.mod(scene.scenery.along - scene.s, scene.track.length)
    nearby = [scene.scenery.things[i] for i in np.flatnonzero(gaps < _LOOKOUT).tolist()]
    for thing in (*nearby, *scene.actors):
        cause = _cause(thing)
        if cause is not None:
            gap = scene.track.ahead(scene.s, thing.s)
            if gap > 0:
                found.append((cause, gap, thing))
    return found


def _posted_speed(causes: Iterable[_Cause]) -> float:
    """Return the lowest speed on a speed limit sign ahead."""
    reach = _REACTIONS["speed limit"][0]
    posted = (thing.value / 3.6 for cause, gap, thing in causes if cause == "speed limit" and gap < reach)
    return min(posted, default=math.inf)


def _cautions_of_conditions(conditions: Conditions) -> list[Caution]:
    found = []
    if conditions.time != "day":
        found.append(Caution(conditions.time, 0.8 if conditions.time == "night" else 0.92))
    effect = {"rainy": 0.25, "snowy": 0.40, "foggy": 0.50}.get(conditions.weather, 0.0)
    if effect * conditions.level > 0:
        found.append(Caution(conditions.weather, 1 - effect * conditions.level))
    if conditions.season == "winter":
        found.append(Caution("winter", 0.85))  # also a cleared road can be slippery
    return found


def _reaction(cause: str, gap: float) -> Caution:
    reach, close, far = _REACTIONS[cause]
    return Caution(cause, close + (far - close) * gap / reach)


def _cause(thing: WorldObject) -> str | None:
    """Name the reaction a thing asks for, None when it does not concern us."""
    matters = {
        "pedestrian": abs(thing.d) < 8.0,
        "bicyclist": -1.0 < thing.d < 6.5,
        "vehicle": 0.0 < thing.d < LANE_WIDTH and math.cos(thing.yaw) > 0,
        "traffic sign": thing.d > 0,
        "traffic light": thing.d > 0 and thing.kind != "green",
    }
    if not matters.get(thing.element):
        return None
    return thing.kind if thing.element.startswith("traffic") else thing.element
