"""Closed-loop driving: a model's answers move the vehicle, and the world answers with the next frame."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property

from roadworthy.frames import Frame
from roadworthy.seeding import rng_for
from roadworthy.world.camera import Camera
from roadworthy.world.conditions import Conditions
from roadworthy.world.driver import LANE_CENTRE, careful_driver
from roadworthy.world.layout import scenery_of, traffic_around
from roadworthy.world.scene import Scene
from roadworthy.world.shapes import mesh_of
from roadworthy.world.things import Thing
from roadworthy.world.track import LANE_WIDTH, ROAD_HALF_WIDTH
from roadworthy.world.tracks import track as built_in_track
from roadworthy.world.truth import frame_of
from roadworthy.world.vehicle import VehicleLimits, VehicleState, advance

__all__ = ["Observation", "Simulation"]

_EGO_LENGTH, _EGO_HALF_WIDTH = 4.3, 0.9
_REAR_OVERHANG = 0.8
_SAFE_GAP = 9.0


@dataclass(frozen=True, eq=False)
class Observation:
    """What is true after a step; the frame is rendered only when somebody looks at it.

    Args:
        scene: The whole scene.
        state: Pose, speed and wheels of the ego-vehicle.
        time: Seconds since the start.
        laps: Whole laps driven.
        events: What happened in this step: ``crash``, ``off road``, ``centre line crossed``, ``edge line crossed``.
        camera: The camera that frames are taken with.
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
        camera: Camera | None = None,
        frames_per_second: float = 15.0,
        limits: VehicleLimits | None = None,
    ) -> None:
        self.track = built_in_track(track)
        self.camera = camera or Camera()
        self._seed = seed
        self._conditions = conditions or Conditions()
        self._traffic = traffic
        self._dt = 1.0 / frames_per_second
        self._limits = limits or VehicleLimits()
        self._scenery = scenery_of(track, seed)
        self._now = self.reset()

    def reset(self, s: float = 0.0) -> Observation:
        """Put the ego-vehicle at ``s`` in the middle of its lane, at the careful driver's speed."""
        rng = rng_for(self._seed, "simulation", self.track.name)
        actors = traffic_around(self.track, s, rng, density=self._traffic)
        scene = Scene(
            self.track, s, LANE_CENTRE, 0.0, 0.0, self._scenery, actors, self._conditions, seed=self._seed
        )
        action = careful_driver(scene)
        x, y, _ = self.track.position(scene.s, scene.d).tolist()
        state = VehicleState(
            x, y, float(self.track.heading(scene.s)), action.speed or 0.0, action.steering or 0.0
        )
        self._steps = 0
        self._distance = 0.0
        self._now = Observation(scene.replace(speed=state.speed), state, 0.0, 0, frozenset(), self.camera)
        return self._now

    def step(self, steering: float, speed: float) -> Observation:
        """Drive one frame's time towards a steering angle (degrees, right is positive) and a speed (m/s)."""
        before = self._now
        state = advance(before.state, steering, speed, self._dt, self._limits)
        s, d = self.track.locate(state.x, state.y, near=before.scene.s)
        road = float(self.track.heading(s))
        yaw = math.remainder(road - state.heading, 2 * math.pi)
        self._steps += 1
        self._distance += self.track.ahead(before.scene.s, s)
        scene = before.scene.replace(
            s=s,
            d=d,
            yaw=yaw,
            speed=state.speed,
            actors=self._moved(before.scene),
            seed=(self._seed * 1_000_003 + self._steps) % 2**31,
        )
        self._now = Observation(
            scene,
            state,
            self._steps * self._dt,
            int(max(0.0, self._distance) // self.track.length),
            self._events(scene),
            self.camera,
        )
        return self._now

    def _moved(self, scene: Scene) -> tuple[Thing, ...]:
        """Move traffic and people; nobody drives into the one ahead."""
        track = self.track
        vehicles = [a for a in scene.actors if a.element in ("vehicle", "bicyclist")]
        moved = []
        for actor in scene.actors:
            pace = actor.speed
            direction = 1.0 if math.cos(actor.yaw) > 0 else -1.0
            if actor.element == "vehicle":
                for other in vehicles:
                    gap = direction * track.ahead(actor.s, other.s)
                    if other is not actor and 0 < gap < _SAFE_GAP + 4 and abs(other.d - actor.d) < 1.7:
                        pace = min(pace, other.speed * max(0.0, (gap - _SAFE_GAP + 2) / 6))
                gap = direction * track.ahead(actor.s, scene.s)
                if 0 < gap < _SAFE_GAP + 8 and abs(scene.d - actor.d) < 1.7:
                    pace = min(pace, scene.speed * max(0.0, (gap - _SAFE_GAP) / 8))
            moved.append(dataclasses.replace(actor, s=(actor.s + direction * pace * self._dt) % track.length))
        return tuple(moved)

    def _events(self, scene: Scene) -> frozenset[str]:
        found = set()
        if scene.d - _EGO_HALF_WIDTH < 0:
            found.add("centre line crossed")
        if scene.d + _EGO_HALF_WIDTH > LANE_WIDTH:
            found.add("edge line crossed")
        if abs(scene.d) > ROAD_HALF_WIDTH:
            found.add("off road")
        middle = _EGO_LENGTH / 2 - _REAR_OVERHANG
        for actor in scene.actors:
            length, width = mesh_of(actor, near=True).footprint
            gap = self.track.ahead(scene.s, actor.s) - middle
            if abs(gap) < (length + _EGO_LENGTH) / 2 and abs(actor.d - scene.d) < width / 2 + _EGO_HALF_WIDTH:
                found.add("crash")
        return frozenset(found)
