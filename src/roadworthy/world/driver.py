"""The careful driver: the vehicle that it moves, how it steers and brakes, and the path that it plans."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from roadworthy._yaml import read_yaml
from roadworthy.errors import SceneError, check_number
from roadworthy.frames import PlannedPath, Signals
from roadworthy.frames.path import FRONT
from roadworthy.world.camera import Camera, Floats
from roadworthy.world.conditions import Conditions
from roadworthy.world.roadside import comes_over, is_stop, traffic_after
from roadworthy.world.scene import Scene, Scenery, WorldObject, crosses
from roadworthy.world.track import LANE_CENTRE, LANE_WIDTH, Track

WHEELBASE = 2.7
MAX_STEERING = 25.0  # degrees at the wheels
AXLE_TO_FRONT = 3.5
"""Metres from the ego-vehicle's rear axle, which its place is that of, to its front."""


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
    check_number("seconds of a step", dt, SceneError, above=0)
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
_HARD, _NEARLY, _LAG = 3.5, 1.0, 0.4  # m/s², metres, and seconds until a foot has moved
_OTHERS_BRAKE = 4.0  # m/s² that vehicles ahead are expected to brake with

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
    speed = min([speed, *(_stopping(scene, actor) for actor in scene.actors if _is_in_the_way(actor))])
    return Signals(speed=speed, steering=lane_keeping(scene.track, scene.s, scene.d, scene.yaw))


def _is_in_the_way(thing: WorldObject) -> bool:
    """Return whether something that we stop for is in our lane, or comes into it."""
    if not thing.blocks or (thing.element == "vehicle" and math.cos(thing.yaw) <= 0):
        return False
    if thing.element == "traffic light":
        return is_stop(thing)
    goal = min(thing.until, LANE_WIDTH) if crosses(thing) or comes_over(thing) else thing.d
    return min(thing.d, goal) < LANE_WIDTH and max(thing.d, goal) > 0


def _stopping(scene: Scene, thing: WorldObject) -> float:
    """Return the speed from which we stop behind something, if it brakes as well."""
    gap = scene.track.ahead(scene.s, thing.s) - AXLE_TO_FRONT
    half = _CAR_LENGTH / 2 if thing.element == "vehicle" else 0.0
    # Who comes over has let us pass, and a light that we have passed is none of ours.
    least = half if comes_over(thing) else 0.0 if thing.element == "traffic light" else -_BEFORE
    if not least < gap < _LOOKOUT:
        return math.inf
    pace = 0.0 if crosses(thing) else thing.speed
    room = gap - half - _BEFORE - _LAG * scene.speed + pace**2 / (2 * _OTHERS_BRAKE)
    # Who is nearly there stands, and who would have to brake harder later on does all he can now.
    if room < _NEARLY or scene.speed**2 > 2 * _HARD * room:
        late = thing.kind == "yellow" and scene.speed**2 / (2 * _HARD) + _LAG * scene.speed > gap
        return math.inf if late else 0.0
    return math.sqrt(2 * _BRAKING * room)


def lane_keeping(track: Track, s: float, d: float, yaw: float) -> float:
    """Return the steering angle in degrees that keeps or regains the middle of the right-hand lane."""
    bend = track.at(s + 1.0)[4]
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
    standing, along = _standing_causes(scene.scenery)
    nearby = np.flatnonzero(np.mod(along - scene.s, scene.track.length) < _LOOKOUT).tolist()
    moving = [(cause, actor) for actor in scene.actors if (cause := _cause(actor))]
    for cause, thing in (*(standing[i] for i in nearby), *moving):
        gap = scene.track.ahead(scene.s, thing.s)
        if gap > 0:
            found.append((cause, gap, thing))
    return found


# Told apart by identity, as where things stand.
@lru_cache(maxsize=64)
def _standing_causes(scenery: Scenery) -> tuple[list[tuple[str, WorldObject]], Floats]:
    """Return what of the scenery concerns whoever drives by, and where along the track it stands."""
    found = [(cause, thing) for thing in scenery.things if (cause := _cause(thing))]
    return found, np.array([thing.s for _, thing in found], dtype=float)


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


_CONCERNS_US = {"pedestrian": (-8.0, 8.0), "bicyclist": (-1.0, 6.5), "vehicle": (0.0, LANE_WIDTH)}
_CONCERNS_US |= dict.fromkeys(("traffic sign", "traffic light"), (0.0, math.inf))  # metres to our right


def _cause(thing: WorldObject) -> str | None:
    """Name the reaction a thing asks for, None when it does not concern us."""
    low, high = _CONCERNS_US.get(thing.element, (0.0, 0.0))
    oncoming = thing.element == "vehicle" and math.cos(thing.yaw) <= 0
    # Who comes over from the left is faster than we are.
    d = math.copysign(thing.until, thing.d - thing.until) if comes_over(thing) else thing.d
    if not low < d < high or oncoming or thing.kind == "green":
        return None
    return thing.kind if thing.element.startswith("traffic") else thing.element


PATH_TIMES = tuple(0.5 * step for step in range(1, 9))
"""Seconds from now at which a path is told."""

_STEP = 0.1
_BRAKING = 2.5  # m/s², towards what it stops for
_BEFORE = 2.0  # metres that its front keeps from what it stops for
_NEAR = 5.0  # metres from somebody to the crosswalk that he uses
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
