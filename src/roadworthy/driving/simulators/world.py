"""The built-in world as a simulator: everything about a drive is known exactly."""

from __future__ import annotations

import math

import numpy as np

from roadworthy.driving.simulators._pedals import Foot
from roadworthy.driving.simulators._surroundings import Surroundings
from roadworthy.driving.simulators.protocol import Controls, Situation
from roadworthy.driving.simulators.recording import SECTOR_LENGTH
from roadworthy.errors import InputError
from roadworthy.registry import simulators
from roadworthy.world import Conditions, Observation, Simulation, Track, VehicleLimits, cautions, track
from roadworthy.world.simulation import EGO_HALF_WIDTH
from roadworthy.world.track import LANE_WIDTH, ROAD_HALF_WIDTH
from roadworthy.world.vehicle import WHEELBASE

__all__ = ["WorldSimulator", "world_sectors"]

_SIGNS = {"stop", "yield", "turn", "speed limit"}
_HAZARDS = {"pedestrian", "bicyclist", "red", "yellow", "vehicle"}
_HAZARD_FACTOR = 0.9  # a vehicle far ahead slows nobody down much and is no hazard
_OBEYED = 1.05  # times the speed that the sign leaves


def world_sectors(road: Track) -> tuple[str, ...]:
    """Return the names of a track's sectors: pieces of equal length, as near to 100 m as that goes.

    Equal lengths, and not bends and straights, because sums, counts and times of sectors of one length can be
    compared with each other; and the names are places, the same for whoever drives.

    Example:
        >>> from roadworthy.world import track
        >>> names = world_sectors(track("town"))
        >>> len(names), names[0], names[-1]
        (10, 'town-01', 'town-10')
    """
    count = max(1, round(road.length / SECTOR_LENGTH))
    return tuple(f"{road.name}-{number + 1:02d}" for number in range(count))


@simulators.register("world", summary="the built-in tracks: meadow, town, mountain, coast and village")
class WorldSimulator:
    """A drive on a built-in track, with exact signals and events.

    Lines are crossed when a wheel touches the centre line or the edge line of the lane, a crash is touching
    anything that moves or leaving the road, and a collision touching a vehicle, bicyclist or pedestrian.

    Args:
        path: The track.
        weather: What the sky does: sunny, cloudy, rainy, snowy or foggy.
        level: How much of the weather: light, normal, heavy or 0 to 1.
        time: day, dusk or night.
        season: spring, summer, autumn or winter.
        traffic: How much traffic, from 0 to 5; 1 is normal.
        seed: Chooses the traffic and the camera noise.
        scenery: Which of the track's furnishings.
        fps: Steps per second.
        start: Where the drive starts, in metres along the track.

    Raises:
        InputError: There is no such track or weather.

    Example:
        >>> simulator = WorldSimulator("town", traffic=0)
        >>> situation = simulator.reset()
        >>> situation = simulator.step(Controls(steering=0.0, speed=8.0))
        >>> situation.sector, situation.events["line crossing"], situation.frame.size
        ('town-01', False, (320, 160))
    """

    def __init__(
        self,
        path: str = "meadow",
        *,
        weather: str = "sunny",
        level: str | float = "normal",
        time: str = "day",
        season: str = "summer",
        traffic: float = 1.0,
        seed: int = 0,
        scenery: int = 0,
        fps: float = 15.0,
        start: float = 0.0,
    ) -> None:
        if not math.isfinite(start):
            raise InputError(f"start must be a place in metres along the track, got {start}")
        self.name = f"world:{path}"
        self.track = track(path)
        self._limits = VehicleLimits()
        self._simulation = Simulation(
            path,
            seed=seed,
            conditions=Conditions(weather, level, time, season),
            traffic=traffic,
            scenery=scenery,
            frames_per_second=fps,
            limits=self._limits,
        )
        self._sectors = world_sectors(self.track)
        self._start = start
        self._dt = 1.0 / fps
        self._now: Observation | None = None
        self._foot = Foot(self._limits, self._dt, 0.0)
        self._distance = self._along = self._furthest = 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing goes wrong here."""
        return ()

    def reset(self) -> Situation:
        """Put the ego-vehicle at the start, in the middle of its lane, at the careful driver's speed."""
        self._distance = self._along = self._furthest = 0.0
        self._now = self._simulation.reset(self._start)
        self._foot = Foot(self._limits, self._dt, self._now.state.speed)
        return self._situation(self._now, None)

    def step(self, controls: Controls, /) -> Situation:
        """Drive one frame's time; without a wanted speed or throttle, the last wanted speed is kept."""
        before = self._now
        if before is None:
            raise InputError("the simulator must be reset before the first step")
        speed = before.state.speed
        seen = self._simulation.step(controls.steering, speed + self._dt * self._foot.press(controls, speed))
        self._distance += (before.state.speed + seen.state.speed) / 2 * self._dt
        self._along += self.track.ahead(before.scene.s, seen.scene.s)
        self._furthest = max(self._furthest, self._along)
        self._now = seen
        return self._situation(seen, before)

    def close(self) -> None:
        """There is nothing to let go of."""

    def _situation(self, seen: Observation, before: Observation | None) -> Situation:
        around = Surroundings(seen, before, self._dt)
        clearance = self._clearance(seen)
        frame = seen.frame
        target = frame.signals.speed if frame.signals.speed is not None else math.nan
        steered = frame.signals.steering if frame.signals.steering is not None else math.nan
        collision = around.collision()
        careful_for = cautions(seen.scene)
        sign = any(one.cause in _SIGNS for one in careful_for)
        return Situation(
            seen.time,
            frame,
            {
                "speed": seen.state.speed,
                "acceleration": seen.state.acceleration,
                "throttle": self._foot.throttle,
                "brake": self._foot.brake,
                "steering": seen.state.steering,
                "lane_offset": seen.lane_offset,
                "lane": 2.0 if seen.scene.d > 0 else 1.0,
                "lateral_clearance": clearance,
                "distance": self._distance,
                "x": seen.state.x,
                "y": seen.state.y,
                "target_speed": target,
                "target_steering": steered,
                **around.signals(),
            },
            {
                "crash": collision or abs(seen.scene.d) > ROAD_HALF_WIDTH,
                "collision": collision,
                "line crossing": clearance <= 0,
                "hazard": any(one.cause in _HAZARDS and one.factor < _HAZARD_FACTOR for one in careful_for),
                "traffic sign": sign,
                "sign obeyed": sign and seen.state.speed <= _OBEYED * target,
            },
            sector=self._sector(),
            laps=seen.laps,
        )

    def _clearance(self, seen: Observation) -> float:
        """Return the metres from the nearest wheel to a line of the lane, below 0 beyond it."""
        heading, half = seen.state.heading, EGO_HALF_WIDTH
        ahead = np.array([math.cos(heading), math.sin(heading)])
        right = np.array([ahead[1], -ahead[0]])
        rear = np.array([seen.state.x, seen.state.y])
        places = (rear + along * ahead + side * right for along in (0.0, WHEELBASE) for side in (-half, half))
        aside = [self.track.locate(float(x), float(y), near=seen.scene.s)[1] for x, y in places]
        return min(min(aside), LANE_WIDTH - max(aside))

    def _sector(self) -> str:
        """Return the name of the piece of the track; pieces follow each other also where one reverses.

        Laps are counted where the track begins, so that a piece that is driven twice has two names also where
        the drive started in the middle of it.
        """
        length = self.track.length
        place = self._start + self._furthest
        name = self._sectors[min(int(place % length / length * len(self._sectors)), len(self._sectors) - 1)]
        lap = int(place // length) - int(self._start // length)
        return f"{name} lap {lap + 1}" if lap else name
