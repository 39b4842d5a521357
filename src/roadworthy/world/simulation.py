"""Closed-loop driving in the world, and drivers with one seeded fault each."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from roadworthy._frozen import FrozenDict
from roadworthy.errors import SceneError, check_number
from roadworthy.frames import Frame, Signals
from roadworthy.seeding import rng_for
from roadworthy.world.camera import Camera
from roadworthy.world.conditions import Conditions
from roadworthy.world.driver import VehicleLimits, VehicleState, advance, careful_driver, lane_keeping
from roadworthy.world.edits import remove, with_changing_lights, with_conditions
from roadworthy.world.render import frame_of
from roadworthy.world.roadside import scenery_of, traffic_after, traffic_around
from roadworthy.world.scene import Scene
from roadworthy.world.shapes import mesh_of
from roadworthy.world.track import LANE_CENTRE, LANE_WIDTH, ROAD_HALF_WIDTH
from roadworthy.world.track import track as built_in_track

EGO_LENGTH, EGO_HALF_WIDTH = 4.3, 0.9
"""Of the ego-vehicle, in metres."""
REAR_OVERHANG = 0.8
"""Metres from its rear axle, which its place is that of, to its rear."""


@dataclass(frozen=True, eq=False)
class Observation:
    """What is true after a step; the frame is rendered only when somebody looks at it.

    Args:
        scene: The whole scene.
        state: Pose, speed and wheels of the ego-vehicle.
        time: Seconds since the start.
        laps: Whole laps driven.
        events: What happened in this step: ``crash``, ``off road``, ``centre line crossed`` or
            ``edge line crossed``.
        camera: The camera that frames are taken with.

    Example:
        >>> from roadworthy.world import Simulation
        >>> seen = Simulation("meadow", traffic=0).step(steering=0.0, speed=10.0)
        >>> seen.laps, sorted(seen.events), seen.frame.size
        (0, [], (320, 160))
    """

    scene: Scene
    state: VehicleState
    time: float
    laps: int
    events: frozenset[str]
    camera: Camera

    @property
    def lane_offset(self) -> float:
        """Metres to the right of the middle of the lane."""
        return self.scene.d - LANE_CENTRE

    @cached_property
    def frame(self) -> Frame:
        """The camera's frame with its ground truth."""
        return frame_of(self.scene, self.camera, id=f"{self.scene.track.name}-{self.time:08.3f}")


class Simulation:
    """A drive on a built-in track.

    Args:
        track: Name of the track.
        seed: Chooses the traffic and the camera noise.
        conditions: Weather, time of day and season; a clear summer day when not given.
        traffic: How much traffic; 0 is none, 1 normal, 5 the most.
        scenery: Which of the track's furnishings, as in :func:`make_scene`.
        lights: Whether traffic lights change; all stop for them then.
        camera: The camera that frames are taken with.
        frames_per_second: How many steps a second has.
        limits: What the ego-vehicle can do.

    Example:
        >>> from roadworthy.world import Simulation, careful_driver
        >>> simulation = Simulation("meadow", seed=1)
        >>> seen = simulation.reset()
        >>> for _ in range(30):
        ...     action = careful_driver(seen.scene)
        ...     seen = simulation.step(action.steering, action.speed)
        >>> abs(seen.lane_offset) < 0.2
        True
    """

    def __init__(
        self,
        track: str = "meadow",
        *,
        seed: int = 0,
        conditions: Conditions | None = None,
        traffic: float = 1.0,
        scenery: int = 0,
        lights: bool = False,
        camera: Camera | None = None,
        frames_per_second: float = 15.0,
        limits: VehicleLimits | None = None,
    ) -> None:
        check_number("frames per second", frames_per_second, SceneError, above=0, below=math.inf)
        self.track = built_in_track(track)
        self.camera = camera or Camera()
        self._seed = seed
        self._conditions = conditions or Conditions()
        self._traffic = traffic
        self._lights = lights
        self._dt = 1.0 / frames_per_second
        self._limits = limits or VehicleLimits()
        self._scenery = scenery_of(track, scenery)
        self._now = self.reset()

    def reset(self, s: float = 0.0) -> Observation:
        """Put the ego-vehicle at ``s`` in the middle of its lane, at the careful driver's speed."""
        rng = rng_for(self._seed, "simulation", self.track.name)
        actors = traffic_around(self.track, s, rng, density=self._traffic)
        around, sky = self._scenery, self._conditions
        scene = Scene(self.track, s, scenery=around, actors=actors, conditions=sky, seed=self._seed)
        if self._lights:
            scene = with_changing_lights(scene, rng_for(self._seed, "lights"))
        action = careful_driver(scene)
        x, y, _ = self.track.position(scene.s, scene.d).tolist()
        heading = float(self.track.heading(scene.s))
        state = VehicleState(x, y, heading, action.speed or 0.0, action.steering or 0.0)
        self._steps = 0
        self._distance = 0.0
        self._now = Observation(scene.replace(speed=state.speed), state, 0.0, 0, frozenset(), self.camera)
        return self._now

    def step(self, steering: float, speed: float) -> Observation:
        """Drive one frame's time towards a steering angle (degrees, right is positive) and a speed (m/s)."""
        before = self._now
        state = advance(before.state, steering, speed, self._dt, self._limits)
        s, d = self.track.locate(state.x, state.y, near=before.scene.s)
        yaw = math.remainder(self.track.at(s)[3] - state.heading, 2 * math.pi)
        self._steps += 1
        self._distance += self.track.ahead(before.scene.s, s)
        actors = traffic_after(before.scene, self._dt)
        seed = (self._seed * 1_000_003 + self._steps) % 2**31
        scene = before.scene.replace(s=s, d=d, yaw=yaw, speed=state.speed, actors=actors, seed=seed)
        time, laps = self._steps * self._dt, int(max(0.0, self._distance) // self.track.length)
        self._now = Observation(scene, state, time, laps, self._events(scene), self.camera)
        return self._now

    def change(self, scene: Scene) -> Observation:
        """Go on in another scene, such as one with somebody more on the road; what is changed lasts."""
        self._now = dataclasses.replace(self._now, scene=scene)
        return self._now

    def _events(self, scene: Scene) -> frozenset[str]:
        happens = {
            "centre line crossed": scene.d - EGO_HALF_WIDTH < 0,
            "edge line crossed": scene.d + EGO_HALF_WIDTH > LANE_WIDTH,
            "off road": abs(scene.d) > ROAD_HALF_WIDTH,
        }
        found = {event for event, true in happens.items() if true}
        middle = EGO_LENGTH / 2 - REAR_OVERHANG
        for actor in scene.actors:
            length, width = mesh_of(actor, near=True).footprint
            gap = self.track.ahead(scene.s, actor.s) - middle
            if abs(gap) < (length + EGO_LENGTH) / 2 and abs(actor.d - scene.d) < width / 2 + EGO_HALF_WIDTH:
                found.add("crash")
        return frozenset(found)


Driver = Callable[[Scene], Signals]

_HASTE = 0.25  # the share of speed that a downpour adds, where the careful driver takes as much away


@dataclass(frozen=True)
class DriverFault:
    """One ability that a driver lacks.

    Attributes:
        name: A word or two, such as "pedestrian-blind".
        summary: What is wrong with the driver.
        driver: The driver that has the fault.
    """

    name: str
    summary: str
    driver: Driver


def _blind_to(element: str) -> Driver:
    def drive(scene: Scene) -> Signals:
        return careful_driver(remove(scene, element))

    return drive


def _as_by_day(scene: Scene) -> Signals:
    return careful_driver(with_conditions(scene, time="day") if scene.conditions.time == "night" else scene)


def _by_lines_alone(scene: Scene) -> Signals:
    """Drive between the lines on both sides; where there are none, between the edges of the whole road."""
    careful = careful_driver(scene)
    if scene.lines:
        return careful
    # Lane keeping makes for the middle of our lane; moved by as much, for the middle of the road.
    steering = lane_keeping(scene.track, scene.s, scene.d + LANE_CENTRE, scene.yaw)
    return dataclasses.replace(careful, steering=steering)


def _faster_in_rain(scene: Scene) -> Signals:
    rain = scene.conditions.amount("rainy")
    if rain == 0:
        return careful_driver(scene)
    dry = careful_driver(with_conditions(scene, weather="sunny"))
    assert dry.speed is not None
    return dataclasses.replace(dry, speed=dry.speed * (1 + _HASTE * rain))


def _by_name(*faults: DriverFault) -> Mapping[str, DriverFault]:
    return FrozenDict({fault.name: fault for fault in faults})


FAULTS = _by_name(
    DriverFault("pedestrian-blind", "does not see pedestrians", _blind_to("pedestrian")),
    DriverFault("sign-blind", "does not see traffic signs", _blind_to("traffic sign")),
    DriverFault("night-blind", "drives as fast at night as by day", _as_by_day),
    DriverFault(
        "lines-only",
        "steers by the lane lines alone: without them it takes the whole road for its lane",
        _by_lines_alone,
    ),
    DriverFault("rain-hasty", "drives the faster the more it rains", _faster_in_rain),
)
"""The faults by their names."""
DRIVE_FAULTS = _by_name(
    *FAULTS.values(),
    DriverFault("light-blind", "does not see traffic lights", _blind_to("traffic light")),
    DriverFault("traffic-blind", "does not see other vehicles", _blind_to("vehicle")),
)
"""These, and those that only a drive shows."""
