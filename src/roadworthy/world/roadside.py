"""What is around the road: things that stand beside it, and who is on it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Unpack

import numpy as np
from numpy.random import Generator

from roadworthy.errors import SceneError, check_number
from roadworthy.seeding import rng_for
from roadworthy.world.conditions import Conditions
from roadworthy.world.scene import FIRST_ACTOR_ID, Details, Marking, Scene, Scenery, WorldObject, crosses
from roadworthy.world.shapes import mesh_of
from roadworthy.world.track import LANE_CENTRE, ROAD_HALF_WIDTH, Track
from roadworthy.world.track import track as built_in_track

_KINDS = ("car", "car", "car", "car", "van", "truck", "school bus")
_COLORS = ("white", "black", "silver", "grey", "blue", "red", "silver", "white", "green", "brown", "orange")
_SAFE_GAP = 9.0
_SAME_LANE = 1.7
_YIELDING = 4.0  # m/s² with which others brake for people on the road
# Of its speed that a vehicle changes lanes with, in m/s at most, and of the way that is left, in a second.
_ASIDE, _SIDEWAYS, _STEADY = 0.3, 1.8, 1.5
_ROOM = 5.0  # metres free before and behind it where it goes
_FASTER, _PASSING = 7.0, 5.0  # m/s that one who overtakes drives faster than we do, and seconds that it takes
_MEETING = 30.0  # metres that those who come towards it keep
LIT = {"green": 12.0, "yellow": 3.0, "red": 10.0}
"""Seconds for which a traffic light that changes shows its colours, one after the other."""
# Metres behind and before our rear axle, and to each side of it, that nobody walks into.
_BODY = (1.3, 4.0, 1.4)


class _Cast:
    """Collects actors with ids and looks of their own."""

    def __init__(self, track: Track, rng: Generator) -> None:
        self.track = track
        self.rng = rng
        self.actors: list[WorldObject] = []

    def add(self, element: str, s: float, d: float, **details: Unpack[Details]) -> None:
        details["look"] = int(self.rng.integers(10_000))
        number = FIRST_ACTOR_ID + len(self.actors)
        self.actors.append(WorldObject(number, element, s % self.track.length, d, **details))

    def vehicle(self, s: float, *, oncoming: bool) -> None:
        d, yaw = (-LANE_CENTRE, math.pi) if oncoming else (LANE_CENTRE, 0.0)
        kind = str(self.rng.choice(_KINDS))
        color = "yellow" if kind == "school bus" else str(self.rng.choice(_COLORS))
        speed = float(self.rng.uniform(0.55, 0.9)) * self.track.zone(s).limit
        self.add("vehicle", s, d, kind=kind, color=color, yaw=yaw, speed=speed)

    def pedestrian(self, s: float) -> None:
        side = 1 if self.rng.random() < 0.6 else -1
        d = side * float(self.rng.uniform(4.6, 5.6))
        yaw = float(self.rng.choice([0.0, math.pi]))
        self.add("pedestrian", s, d, yaw=yaw, speed=float(self.rng.uniform(0.8, 1.5)))

    def bicyclist(self, s: float) -> None:
        self.add("bicyclist", s, float(self.rng.uniform(2.9, 3.3)), speed=float(self.rng.uniform(3.5, 5.5)))

    def people_at(self, s: float) -> float:
        """Return how many pedestrians to expect around a place."""
        return 0.7 if self.track.zone(s).built_up else 0.12

    def untangled(self) -> tuple[WorldObject, ...]:
        """Return the actors without those that would stand inside one placed before them."""
        kept: list[WorldObject] = []
        for actor in self.actors:
            if all(self._apart(actor, other) for other in kept):
                kept.append(actor)
        return tuple(kept)

    def _apart(self, one: WorldObject, other: WorldObject) -> bool:
        lengths = mesh_of(one, near=True).footprint[0] + mesh_of(other, near=True).footprint[0]
        return abs(self.track.ahead(other.s, one.s)) > lengths / 2 + 1.0 or abs(other.d - one.d) > 1.9


def _check_density(density: float) -> None:
    check_number("traffic", density, SceneError, least=0, most=5)


def traffic_near(track: Track, s: float, rng: Generator, *, density: float = 1.0) -> tuple[WorldObject, ...]:
    """Return vehicles and people in view of a place: ahead in our lane, oncoming, and on the roadside."""
    _check_density(density)
    cast = _Cast(track, rng)
    if rng.random() < 0.45 * density:
        cast.vehicle(s + float(rng.uniform(14, 60)), oncoming=False)
    gap = 10.0
    while rng.random() < min(0.9, 0.6 * density):
        gap += float(rng.uniform(8, 45))
        if gap > 110:
            break
        cast.vehicle(s + gap, oncoming=True)
    for _ in range(int(rng.poisson(cast.people_at(s) * density))):
        cast.pedestrian(s + float(rng.uniform(8, 60)))
    if rng.random() < 0.15 * density:
        cast.bicyclist(s + float(rng.uniform(10, 45)))
    return cast.untangled()


def traffic_around(track: Track, s: float, rng: Generator, density: float) -> tuple[WorldObject, ...]:
    """Return vehicles and people spread over the whole track, leaving room round ``s``."""
    _check_density(density)
    cast = _Cast(track, rng)
    for start in np.arange(40.0, track.length - 40.0, 60.0):
        here = s + float(start)
        if rng.random() < 0.35 * density:
            cast.vehicle(here + float(rng.uniform(0, 40)), oncoming=False)
        if rng.random() < 0.7 * density:
            cast.vehicle(here + float(rng.uniform(0, 40)), oncoming=True)
        for _ in range(int(rng.poisson(cast.people_at(here) * density * 0.5))):
            cast.pedestrian(here + float(rng.uniform(0, 60)))
    return cast.untangled()


def traffic_after(scene: Scene, dt: float) -> tuple[WorldObject, ...]:
    """Return the actors of a scene ``dt`` seconds later; nobody drives into the one ahead."""
    length = scene.track.length
    # Whoever walks on the road is in the way of those who drive there.
    riding = [actor for actor in scene.actors if actor.element in ("vehicle", "bicyclist") or crosses(actor)]
    # Most are nowhere near each other, and all pairs at once tell so in a tenth of the time.
    places = np.asarray([actor.s for actor in riding])
    apart = np.abs(places[:, None] - places) % length
    close = np.minimum(apart, length - apart) < _SAFE_GAP + 5
    others: dict[int, list[WorldObject]] = {actor.id: [] for actor in riding}
    for one, other in np.argwhere(close).tolist():
        if one != other:
            others[riding[one].id].append(riding[other])
    stops = [actor for actor in scene.actors if is_stop(actor) or _overtakes(actor)]
    moved = []
    for actor in scene.actors:
        if crosses(actor):
            moved.append(_a_step_on(actor, scene, dt))
            continue
        if actor.lasts < math.inf:
            moved.append(_a_moment_on(actor, dt))
            continue
        if actor.braking:
            limit = max(actor.speed, scene.track.zone(actor.s).limit)
            speed = min(limit, max(0.0, actor.speed - actor.braking * dt))
            actor = dataclasses.replace(actor, speed=speed)
        pace = actor.speed
        if actor.element == "vehicle":
            pace = _pace(actor, scene, others[actor.id], stops)
        if changes_lanes(actor):
            actor = _a_bit_aside(actor, pace, scene, others[actor.id], dt)
        moved.append(actor.at((actor.s + _direction(actor) * pace * dt) % length))
    return tuple(moved)


def is_stop(thing: WorldObject) -> bool:
    """Return whether something is a light before which those who drive as we do stop."""
    return thing.element == "traffic light" and thing.blocks and thing.d > 0 and thing.kind != "green"


def _a_moment_on(light: WorldObject, dt: float) -> WorldObject:
    """Return a traffic light a moment later, with its next colour when its time has come."""
    kinds, lasts = list(LIT), light.lasts - dt
    if lasts > 0:
        return dataclasses.replace(light, lasts=lasts)
    kind = kinds[(kinds.index(light.kind) + 1) % len(kinds)]
    return dataclasses.replace(light, kind=kind, lasts=LIT[kind])


def changes_lanes(thing: WorldObject) -> bool:
    """Return whether a vehicle changes lanes, or will when nobody is beside it there."""
    return thing.element == "vehicle" and thing.until < math.inf


def comes_over(thing: WorldObject) -> bool:
    """Return whether a vehicle has begun to change lanes."""
    return changes_lanes(thing) and abs(math.sin(thing.yaw)) > 1e-6


def _overtakes(thing: WorldObject) -> bool:
    return changes_lanes(thing) and _direction(thing) * thing.d < 0


def _a_bit_aside(
    car: WorldObject, pace: float, scene: Scene, others: Sequence[WorldObject], dt: float
) -> WorldObject:
    """Return a vehicle that changes lanes, nearer to where it goes; it begins where nobody is in its way.

    One that goes to the other lane overtakes us there and comes back.
    """
    left, way = car.until - car.d, _direction(car)
    outward = way * car.until < 0
    if abs(left) < 0.02:
        back = -car.until if outward else math.inf
        return dataclasses.replace(car, d=car.until, until=back, yaw=0.0 if way > 0 else math.pi)
    room = mesh_of(car, near=True).footprint[0] / 2 + _ROOM
    free = _PASSING * (scene.speed + _FASTER)
    us = way * scene.track.ahead(car.s, scene.s)
    beside = abs(scene.d - car.until) < _SAME_LANE and -room - _BODY[1] < us < free
    for other in scene.actors if outward else others:
        apart = room + mesh_of(other, near=True).footprint[0] / 2
        near = -apart < way * scene.track.ahead(car.s, other.s) < (free if outward else apart)
        beside |= near and abs(other.d - car.until) < _SAME_LANE
    if beside and not comes_over(car):
        return car
    aside = math.copysign(min(_STEADY * abs(left), _ASIDE * pace, _SIDEWAYS), left)
    return dataclasses.replace(
        car, d=car.d + aside * dt, speed=pace, yaw=math.atan2(aside, way * max(pace, 0.1))
    )


def _a_step_on(walker: WorldObject, scene: Scene, dt: float) -> WorldObject:
    """Return somebody who crosses, a step farther; nobody walks into the ego-vehicle."""
    way = math.copysign(1.0, math.sin(walker.yaw))
    left = max(0.0, way * (walker.until - walker.d))
    d = walker.d + way * min(left, walker.speed * dt)
    beside = -_BODY[0] < scene.track.ahead(scene.s, walker.s) < _BODY[1]
    if beside and abs(d - scene.d) < _BODY[2] and abs(d - scene.d) < abs(walker.d - scene.d):
        return walker
    return dataclasses.replace(walker, d=d)


def _direction(actor: WorldObject) -> float:
    return 1.0 if math.cos(actor.yaw) > 0 else -1.0


def _pace(
    actor: WorldObject, scene: Scene, others: Sequence[WorldObject], stops: Sequence[WorldObject]
) -> float:
    """Speed of a vehicle that keeps its distance from others and from us, and stops where it must."""
    track, direction = scene.track, _direction(actor)
    pace = actor.speed
    if _overtakes(actor):
        pace = max(pace, scene.speed + _FASTER)
    for stop in stops:
        light = stop.element == "traffic light"
        if stop is actor or not (direction > 0 if light else abs(stop.d - actor.d) < _SAME_LANE):
            continue
        gap = direction * track.ahead(actor.s, stop.s) - mesh_of(actor, near=True).footprint[0] / 2
        braked = math.sqrt(2 * _YIELDING * max(0.0, gap - (_BODY[0] if light else _MEETING)))
        # Who is too near to stop for yellow drives on.
        if gap > 0 and (stop.kind != "yellow" or braked > 0.8 * pace):
            pace = min(pace, braked)
    for other in others:
        if abs(other.d - actor.d) < _SAME_LANE:
            gap = direction * track.ahead(actor.s, other.s)
            if 0 < gap < _SAFE_GAP + 4 and crosses(other):
                pace = min(pace, math.sqrt(2 * _YIELDING * max(0.0, gap - _SAFE_GAP / 2)))
            elif 0 < gap < _SAFE_GAP + 4:
                pace = min(pace, other.speed * max(0.0, (gap - _SAFE_GAP + 2) / 6))
    gap = direction * track.ahead(actor.s, scene.s)
    if 0 < gap < _SAFE_GAP + 8 and abs(scene.d - actor.d) < _SAME_LANE:
        pace = min(pace, scene.speed * max(0.0, (gap - _SAFE_GAP) / 8))
    return pace


_CROSSING_EVERY = 105.0
_SPEED_SIGN_EVERY = 170.0
_POST = ROAD_HALF_WIDTH + 0.6  # metres from the centre line to signs and lights at crossings
_SIGN_POST = ROAD_HALF_WIDTH + 0.7


@lru_cache(maxsize=32)
def scenery_of(track_name: str, seed: int) -> Scenery:
    """Return the scenery of a built-in track; the same seed always gives the same."""
    planner = _RoadsidePlanner(built_in_track(track_name), rng_for(seed, "scenery", track_name))
    planner.crossings()
    planner.speed_signs()
    planner.turn_signs()
    planner.roadsides()
    return Scenery(tuple(planner.things), tuple(planner.markings))


class _RoadsidePlanner:
    """Places things one after another, keeping them off the road and off each other."""

    def __init__(self, track: Track, rng: Generator) -> None:
        self.track = track
        self.rng = rng
        self.things: list[WorldObject] = []
        self.markings: list[Marking] = []
        self._taken: list[tuple[float, float, float]] = []
        self._road_s = np.arange(0, track.length, 4.0)
        self._road = track.position(self._road_s)[:, :2]

    def place(
        self, element: str, s: float, d: float, *, radius: float | None = None, **details: Unpack[Details]
    ) -> None:
        """Add a thing unless it would stand on a road or in another thing."""
        details["look"] = int(self.rng.integers(10_000))
        thing = WorldObject(len(self.things) + 1, element, s % self.track.length, d, **details)
        if radius is None:
            radius = math.hypot(*mesh_of(thing, near=True).footprint) / 2
        x, y, _ = self.track.position(thing.s, d).tolist()
        if self._on_road(thing, (x, y), radius):
            return
        if any(abs(x - a) < radius + r and math.hypot(x - a, y - b) < radius + r for a, b, r in self._taken):
            return
        self.things.append(thing)
        self._taken.append((x, y, radius))

    def _on_road(self, thing: WorldObject, at: tuple[float, float], radius: float) -> bool:
        """Tell whether a place is too deep inside a bend or too near to another stretch of the road."""
        bend = float(self.track.curvature(thing.s))
        if thing.d * bend > 0 and abs(thing.d) + radius > 0.65 / abs(bend):
            return True
        half = self.track.length / 2
        along = np.abs((self._road_s - thing.s + half) % self.track.length - half)
        clearance = np.hypot(self._road[:, 0] - at[0], self._road[:, 1] - at[1])
        return bool((clearance[along > 25] < ROAD_HALF_WIDTH + 3 + radius).any())

    def crossings(self) -> None:
        """Crosswalks with stop lines and lights or signs, in built-up zones."""
        s = 45.0
        while s < self.track.length - 30:
            if self.track.zone(s).built_up and self._straight(s) and self._straight(s + 8):
                self.markings += [Marking("crosswalk", s), Marking("stop line", s - 1.6)]
                self._guard(s)
                s += _CROSSING_EVERY
            else:
                s += 10.0

    def _straight(self, s: float) -> bool:
        return abs(float(self.track.curvature(s))) < 0.01

    def _guard(self, s: float) -> None:
        """Put a traffic light or a sign at a crossing."""
        guard = self.rng.random()
        if self.track.zone(s).kind == "urban" and guard < 0.6:
            color = ("green", "green", "red", "yellow")[int(self.rng.integers(4))]
            self.place("traffic light", s - 1.2, _POST, kind=color)
        else:
            self.place("traffic sign", s - 1.6, _POST, kind="stop" if guard < 0.8 else "yield")

    def speed_signs(self) -> None:
        """Speed limits where zones begin and in between."""
        zones = self.track.zones
        ends = [*(zone.start for zone in zones[1:]), self.track.length]
        for zone, end in zip(zones, ends, strict=True):
            limit = round(zone.limit * 3.6)
            for s in np.arange(zone.start + 6, end, _SPEED_SIGN_EVERY).tolist():
                self.place("traffic sign", s, _SIGN_POST, kind="speed limit", value=limit)

    def turn_signs(self) -> None:
        """Arrows before sharp bends to the right."""
        s = 0.0
        while s < self.track.length:
            if float(self.track.curvature(s + 25)) > 0.035 and float(self.track.curvature(s)) < 0.02:
                self.place("traffic sign", s, _SIGN_POST, kind="turn")
                s += 60
            s += 5

    def roadsides(self) -> None:
        """Buildings, trees, bushes and lamps, zone by zone."""
        furnish = {
            "urban": self._urban,
            "suburban": self._suburban,
            "rural": self._rural,
            "forest": self._forest,
        }
        for side in (1, -1):
            s = 0.0
            while s < self.track.length:
                s += furnish[self.track.zone(s).kind](s, side)

    def _urban(self, s: float, side: int) -> float:
        self._building("block", s, side, (13.0, 14.5), radius=6.3)
        for offset in (2.0, 9.0):
            if self.rng.random() < 0.55:
                self._tree("broadleaf", s + offset, side * 5.9, radius=1.2)
        if s % 26 < 13:
            self.place("pole", s + 5.5, side * 4.5, yaw=_facing_road(side), radius=0.4)
        return 12.9

    def _suburban(self, s: float, side: int) -> float:
        if self.rng.random() < 0.8:
            self._building("house", s, side, (15, 20), radius=6.5)
        for _ in range(2):
            self._tree("broadleaf", s + self._between(2, 14), side * self._between(7.8, 11), radius=1.6)
        for _ in range(2):
            self._tree("bush", s + self._between(0, 16), side * self._between(6.9, 9), radius=0.8)
        if self.rng.random() < 0.4:
            self._tree("broadleaf", s + self._between(2, 14), side * self._between(24, 45), radius=2.0)
        if side > 0 and s % 36 < 18:
            self.place("pole", s + 8.0, 4.6, radius=0.4)
        return 17.5

    def _rural(self, s: float, side: int) -> float:
        for _ in range(2):
            kind = ("broadleaf", "broadleaf", "bush")[int(self.rng.integers(3))]
            self._tree(kind, s + self._between(0, 14), side * self._between(7.5, 48), radius=1.8)
        if self.rng.random() < 0.08:
            self._building("house", s, side, (22, 34), radius=6.5)
        return 14.0

    def _forest(self, s: float, side: int) -> float:
        for _ in range(3):
            kind = ("conifer", "conifer", "conifer", "broadleaf")[int(self.rng.integers(4))]
            d = min(6.4 + float(self.rng.exponential(8.0)), 40.0)
            self._tree(kind, s + self._between(0, 8), side * d, radius=1.3)
        if self.rng.random() < 0.3:
            self._tree("bush", s, side * self._between(5.6, 7), radius=0.8)
        return 8.0

    def _between(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def _tree(self, kind: str, s: float, d: float, *, radius: float) -> None:
        self.place("tree", s, d, kind=kind, radius=radius)

    def _building(self, kind: str, s: float, side: int, away: tuple[float, float], *, radius: float) -> None:
        d = side * self._between(*away)
        self.place("building", s, d, kind=kind, yaw=_facing_road(side), radius=radius)


def _facing_road(side: int) -> float:
    """Yaw of what has its front on its left."""
    return 0.0 if side > 0 else math.pi


def make_scene(
    track: str = "town",
    s: float = 0.0,
    *,
    seed: int = 0,
    d: float = LANE_CENTRE,
    yaw: float = 0.0,
    conditions: Conditions | None = None,
    traffic: float = 1.0,
    scenery: int = 0,
) -> Scene:
    """Furnish a place on a built-in track with its scenery and with traffic.

    Args:
        track: Name of the track.
        s: Metres along it.
        seed: Chooses the traffic and the camera noise.
        d: Metres to the right of the centre line.
        yaw: Radians clockwise from the direction of the road.
        conditions: Weather, time of day and season; a clear summer day when not given.
        traffic: How much traffic; 0 is none, 1 normal, 5 the most.
        scenery: Which of a track's furnishings: other numbers give other houses, trees and signs.

    Example:
        >>> from roadworthy.world import make_scene
        >>> scene = make_scene("meadow", s=100, seed=1)
        >>> scene.track.name, scene.conditions.weather
        ('meadow', 'sunny')
    """
    road = built_in_track(track)
    check_number("a place on a track", s, SceneError, above=-math.inf, below=math.inf)
    rng = rng_for(seed, "traffic", track, round(s * 1000))
    actors = traffic_near(road, s, rng, density=traffic) if traffic else ()
    around, sky = scenery_of(track, scenery), conditions or Conditions()
    return Scene(road, s, d, yaw, scenery=around, actors=actors, conditions=sky, seed=seed)
