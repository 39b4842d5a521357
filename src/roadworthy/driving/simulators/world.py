"""A foot on the pedals of the built-in vehicle: it follows a wanted speed as a driver does, not at once.

The vehicle of the world reaches any speed that its engine and brakes allow within one frame. A network's wish
jumps by a metre a second from frame to frame, so that a vehicle that followed each of them would press
throttle and brake in turn, two or three times a second. A driver's foot does not: it follows the wish with a
delay, lifts before it brakes, and does not brake for what lifting takes care of.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import compress

import numpy as np

from roadworthy import world
from roadworthy.driving.drives.drive import Rectangle, distances
from roadworthy.driving.simulators.loop import SECTOR_LENGTH, Controls, ScenarioChange, Situation
from roadworthy.errors import InputError, NotApplicable, check_choice, check_known, check_number
from roadworthy.registry import simulators
from roadworthy.world.driver import WHEELBASE
from roadworthy.world.shapes import mesh_of
from roadworthy.world.simulation import DRIVE_FAULTS, EGO_HALF_WIDTH, EGO_LENGTH, REAR_OVERHANG
from roadworthy.world.track import LANE_CENTRE, LANE_WIDTH, ROAD_HALF_WIDTH

_SMOOTHING = 0.4  # seconds over which wishes are averaged
_RESPONSE = 0.8  # seconds in which two thirds of a difference in speed are made up
_RESISTANCE = 0.5  # m/s² that a vehicle in gear loses without pedals
_MOVING = 2.0  # m/s from which it loses all of that
_LATE = 0.8  # m/s² more than lifting gives must be wanted before the foot goes to the brake
_TOUCH = 0.06  # of the brake, that a foot on it presses at least
_HOLDING = 0.1  # of the brake, by which a vehicle that should stand is brought and kept to a stand
_STANDING = 0.5  # m/s; below this wish it should stand


class Foot:
    """Turns wanted speeds into throttle and brake, one step after the other.

    Throttle works against a resistance of 0.5 m/s², so that lifting slows down without braking, and a steady
    speed takes some throttle. The brake is taken when 0.8 m/s² more than that are wanted, and kept until
    lifting is enough.

    Args:
        limits: What engine and brakes can do.
        dt: Seconds of a step.
        speed: The speed at the start.

    Example:
        >>> foot = Foot(world.VehicleLimits(), 1 / 15, speed=10.0)
        >>> acceleration = foot.press(Controls(0.0, speed=9.9), 10.0)  # a little slower: it only lifts
        >>> foot.brake, 0 < foot.throttle < 0.2, -0.5 < acceleration < 0
        (0.0, True, True)
    """

    def __init__(self, limits: world.VehicleLimits, dt: float, speed: float) -> None:
        self._limits = limits
        self._dt = dt
        self._share = 1.0 - math.exp(-dt / _SMOOTHING)
        self._wanted = speed
        self._braking = False
        self.throttle = self._lifted(0.0, speed)
        self.brake = 0.0

    def press(self, controls: Controls, speed: float) -> float:
        """Press the pedals for one step and return the acceleration in m/s².

        Args:
            controls: What is wanted: a throttle, or a speed; without either, the last wish stays.
            speed: The present speed in m/s.
        """
        if controls.throttle is not None:
            pedal = max(-1.0, min(1.0, controls.throttle))
            self.throttle, self.brake, self._wanted = max(0.0, pedal), max(0.0, -pedal), speed
            self._braking = pedal < 0
        else:
            if controls.speed is not None:
                wanted = max(0.0, min(self._limits.speed, controls.speed))
                self._wanted += self._share * (wanted - self._wanted)
            self._follow(speed)
        if self.brake:
            return -self.brake * self._grip(speed) - _resistance(speed)
        return self.throttle * self._strength(speed) - _resistance(speed)

    def _follow(self, speed: float) -> None:
        acceleration = (self._wanted - speed) / _RESPONSE
        beyond = -acceleration - _resistance(speed)
        self._braking = beyond > (0.0 if self._braking else _LATE)
        self.throttle = 0.0 if self._braking else self._lifted(acceleration, speed)
        self.brake = max(_TOUCH, min(1.0, beyond / self._grip(speed))) if self._braking else 0.0
        if self._wanted < _STANDING and speed < _MOVING:
            self._braking, self.throttle, self.brake = True, 0.0, max(self.brake, _HOLDING)

    def _lifted(self, acceleration: float, speed: float) -> float:
        """Return the throttle that gives an acceleration, 0 where even that is too much."""
        return max(0.0, min(1.0, (acceleration + _resistance(speed)) / self._strength(speed)))

    def _strength(self, speed: float) -> float:
        """Return what full throttle gives before resistance takes its part."""
        return self._limits.acceleration + _resistance(speed)

    def _grip(self, speed: float) -> float:
        """Return what the full brake gives beside resistance."""
        return self._limits.braking - _resistance(speed)


def _resistance(speed: float) -> float:
    return _RESISTANCE * min(1.0, max(0.0, speed) / _MOVING)


_IN_VIEW = 150.0  # metres; nobody farther away is measured
_TOUCHING = 12.0  # metres along the track within which two vehicles may touch
_USERS = ("vehicle", "bicyclist", "pedestrian")
_FRONT = EGO_LENGTH - REAR_OVERHANG  # metres from our rear axle to our front
_WALKING = 8.0  # metres from the centre line; the careful driver slows down for pedestrians within


class TrafficAround:
    """The traffic round the ego-vehicle.

    Args:
        seen: What is true now.
        before: What was true a step before; None at the start.
        dt: The seconds between both.
    """

    def __init__(self, seen: world.Observation, before: world.Observation | None, dt: float) -> None:
        self._track = seen.scene.track
        self._near = [
            (ahead, actor)
            for actor in seen.scene.actors
            if abs(ahead := self._track.ahead(seen.scene.s, actor.s)) < _IN_VIEW
        ]
        self._earlier = {} if before is None else {actor.id: actor.s for actor in before.scene.actors}
        self._dt = dt
        heading = seen.state.heading
        middle = EGO_LENGTH / 2 - REAR_OVERHANG
        centre = np.array(
            [seen.state.x + middle * math.cos(heading), seen.state.y + middle * math.sin(heading)]
        )
        ego: Rectangle = (centre, heading, EGO_LENGTH, 2 * EGO_HALF_WIDTH)
        self._apart = distances(ego, [self._rectangle(actor) for _, actor in self._near]).tolist()

    def collision(self) -> bool:
        """Return whether the ego-vehicle touches anybody."""
        measured = zip(self._near, self._apart, strict=True)
        return any(apart == 0 and abs(ahead) < _TOUCHING for (ahead, _), apart in measured)

    def signals(self) -> dict[str, float]:
        """Return the signals that traffic gives; NaN where there is nobody."""
        lead, gap = self._lead()
        return {
            "headway": gap,
            "lead_speed": math.nan if lead is None else self._pace(lead),
            "vehicle_distance": self._nearest(
                actor.element == "vehicle" and ahead - _half_length(actor) < _FRONT
                for ahead, actor in self._near
            ),
            "pedestrian_distance": self._nearest(
                actor.element == "pedestrian" and ahead > 0 and abs(actor.d) < _WALKING
                for ahead, actor in self._near
            ),
        }

    def change(self, added: Collection[int]) -> dict[str, float]:
        """Return how far away what a change added is, and all others; NaN where there is nobody."""
        ahead = [
            ahead - _FRONT - (_half_length(actor) if actor.element == "vehicle" else 0.0)
            for ahead, actor in self._near
            if actor.id in added
        ]
        return {
            "change_ahead": min(ahead, default=math.nan),
            "change_distance": self._nearest(actor.id in added for _, actor in self._near),
            "others_distance": self._nearest(actor.element in _USERS for _, actor in self._near),
        }

    def _lead(self) -> tuple[world.WorldObject | None, float]:
        """Return the vehicle ahead in our lane, and the metres from our front to its rear."""
        found: tuple[world.WorldObject | None, float] = (None, math.nan)
        for ahead, actor in self._near:
            mine = actor.element == "vehicle" and abs(actor.d - LANE_CENTRE) < LANE_WIDTH / 2
            if not mine or ahead <= 0 or math.cos(actor.yaw) <= 0:
                continue
            gap = max(0.0, ahead - _FRONT - _half_length(actor))
            if found[0] is None or gap < found[1]:
                found = (actor, gap)
        return found

    def _pace(self, actor: world.WorldObject) -> float:
        """Return how fast a vehicle really went; its own speed is what it would like."""
        earlier = self._earlier.get(actor.id)
        return actor.speed if earlier is None else self._track.ahead(earlier, actor.s) / self._dt

    def _nearest(self, chosen: Iterable[bool]) -> float:
        return min(compress(self._apart, chosen), default=math.nan)

    def _rectangle(self, actor: world.WorldObject) -> Rectangle:
        length, width = mesh_of(actor, near=True).footprint
        x, y, _, heading, *_ = self._track.at(actor.s)
        centre = np.array([x + actor.d * np.sin(heading), y - actor.d * np.cos(heading)])
        return centre, heading - actor.yaw, length, width


def _half_length(actor: world.WorldObject) -> float:
    return mesh_of(actor, near=True).footprint[0] / 2


CAREFUL = "careful"
"""The driver without a fault."""
_SIGNS = {"stop", "yield", "turn", "speed limit"}
_HAZARDS = {"pedestrian", "bicyclist", "red", "yellow", "vehicle"}
_HAZARD_FACTOR = 0.9  # a vehicle far ahead slows nobody down much and is no hazard
_OBEYED = 1.05  # times the speed that the sign leaves


def world_sectors(road: world.Track) -> tuple[str, ...]:
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
        lights: Whether traffic lights are standing, in the colours of the furnishing, or changing; then all
            stop for them.
        fps: Steps per second.
        start: Where the drive starts, in metres along the track.
        driver: Who the model ``truth`` is: careful, or a driver with a fault, such as pedestrian-blind.

    Raises:
        InputError: There is no such track or weather.

    Example:
        >>> simulator = WorldSimulator("town", traffic=0)
        >>> situation = simulator.reset()
        >>> situation = simulator.step(Controls(steering=0.0, speed=8.0))
        >>> situation.sector, situation.events["line crossing"], situation.frame.size
        ('town-01', False, (320, 160))
    """

    notes: tuple[str, ...] = ()
    """Nothing goes wrong here."""

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
        lights: str = "standing",
        fps: float = 15.0,
        start: float = 0.0,
        driver: str = CAREFUL,
    ) -> None:
        check_number("start", start, above=-math.inf, below=math.inf)
        check_known("there is no driver", driver, (CAREFUL, *DRIVE_FAULTS))
        check_choice("lights", lights, ("standing", "changing"))
        self._driver = DRIVE_FAULTS[driver].driver if driver in DRIVE_FAULTS else None
        self._added: tuple[int, ...] | None = None
        self.name = f"world:{path}"
        self.track = world.track(path)
        self._limits = world.VehicleLimits()
        self._simulation = world.Simulation(
            path,
            seed=seed,
            conditions=world.Conditions(weather, level, time, season),
            traffic=traffic,
            scenery=scenery,
            lights=lights == "changing",
            frames_per_second=fps,
            limits=self._limits,
        )
        self._sectors = world_sectors(self.track)
        self._start = start
        self._dt = 1.0 / fps
        self._now: world.Observation | None = None
        self._foot = Foot(self._limits, self._dt, 0.0)
        self._distance = self.along = self._furthest = 0.0

    def reset(self) -> Situation:
        """Put the ego-vehicle at the start, in the middle of its lane, at the careful driver's speed."""
        self._distance = self.along = self._furthest = 0.0
        self._added = None
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
        self.along += self.track.ahead(before.scene.s, seen.scene.s)
        self._furthest = max(self._furthest, self.along)
        self._now = seen
        return self._situation(seen, before)

    @property
    def scene(self) -> world.Scene:
        """What stands where now."""
        if self._now is None:
            raise InputError("the simulator must be reset before the first step")
        return self._now.scene

    def check_change(self, change: ScenarioChange, /) -> None:
        """Refuse what cannot change here; see `ChangeableSimulator`."""
        with suppress(NotApplicable):
            change.in_world(self._simulation.reset(self._start).scene)

    def change(self, change: ScenarioChange, /) -> None:
        """Make a change now; see `ChangeableSimulator`."""
        scene, self._added = change.in_world(self.scene)
        self._now = self._simulation.change(scene)

    def close(self) -> None:
        """There is nothing to let go of."""

    def _situation(self, seen: world.Observation, before: world.Observation | None) -> Situation:
        around = TrafficAround(seen, before, self._dt)
        clearance = self._clearance(seen)
        frame = seen.frame
        changed = {} if self._added is None else around.change(self._added)
        target = frame.signals.speed if frame.signals.speed is not None else math.nan
        steered = frame.signals.steering if frame.signals.steering is not None else math.nan
        if self._driver is not None:
            frame = frame.replace(signals=self._driver(seen.scene))
        collision = around.collision()
        careful_for = world.cautions(seen.scene)
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
                **changed,
            },
            {
                **({"changed": True} if self._added is not None else {}),
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

    def _clearance(self, seen: world.Observation) -> float:
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
