"""Furnishing a track: what stands along it, and who is on it. Everything follows from a seed."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from roadworthy.errors import SceneError
from roadworthy.seeding import rng_for
from roadworthy.world.conditions import Conditions
from roadworthy.world.scene import Scene
from roadworthy.world.shapes import mesh_of
from roadworthy.world.things import FIRST_ACTOR_ID, Marking, Scenery, Thing
from roadworthy.world.track import ROAD_HALF_WIDTH, Track
from roadworthy.world.tracks import track as built_in_track

__all__ = ["make_scene", "scenery_of", "traffic_around", "traffic_near"]

_CAR_COLORS = (
    "white",
    "black",
    "silver",
    "grey",
    "blue",
    "red",
    "silver",
    "white",
    "green",
    "brown",
    "orange",
)
_CROSSING_EVERY = 95.0


@lru_cache(maxsize=32)
def scenery_of(track_name: str, seed: int) -> Scenery:
    """Return the scenery of a built-in track; the same seed always gives the same."""
    track = built_in_track(track_name)
    planner = _Planner(track, rng_for(seed, "scenery", track_name))
    planner.crossings()
    planner.signs()
    planner.roadsides()
    return Scenery(tuple(planner.things), tuple(planner.markings))


class _Planner:
    """Places things one after another, keeping them off the road and off each other."""

    def __init__(self, track: Track, rng: np.random.Generator) -> None:
        self.track = track
        self.rng = rng
        self.things: list[Thing] = []
        self.markings: list[Marking] = []
        self._taken: list[tuple[float, float, float]] = []
        step = np.arange(0, track.length, 4.0)
        self._road = track.position(step)[:, :2]
        self._road_s = step

    def place(
        self, element: str, s: float, d: float, *, radius: float | None = None, **details: object
    ) -> bool:
        """Add a thing unless it would stand on a road or in another thing; tell whether it was added."""
        thing = Thing(
            len(self.things) + 1,
            element,
            s % self.track.length,
            d,
            look=int(self.rng.integers(10_000)),
            **details,
        )  # type: ignore[arg-type]
        if radius is None:
            radius = math.hypot(*mesh_of(thing, near=True).footprint) / 2
        x, y, _ = self.track.position(thing.s, d).tolist()
        bend = float(self.track.curvature(thing.s))
        if d * bend > 0 and abs(d) + radius > 0.65 / abs(bend):
            return False
        away = np.abs(
            (self._road_s - thing.s + self.track.length / 2) % self.track.length - self.track.length / 2
        )
        other_road = away > 25
        clearance = np.hypot(self._road[:, 0] - x, self._road[:, 1] - y)
        if (clearance[other_road] < ROAD_HALF_WIDTH + 3 + radius).any():
            return False
        if any(math.hypot(x - a, y - b) < radius + r for a, b, r in self._taken):
            return False
        self.things.append(thing)
        self._taken.append((x, y, radius))
        return True

    def crossings(self) -> None:
        """Crosswalks with stop lines and lights or signs, in built-up zones."""
        s = 45.0
        while s < self.track.length - 30:
            zone = self.track.zone(s)
            straight = (
                abs(float(self.track.curvature(s))) < 0.01 and abs(float(self.track.curvature(s + 8))) < 0.01
            )
            if zone.kind in ("urban", "suburban") and straight:
                self.markings += [Marking("crosswalk", s), Marking("stop line", s - 1.6)]
                guard = self.rng.random()
                if zone.kind == "urban" and guard < 0.6:
                    color = ("green", "green", "red", "yellow")[int(self.rng.integers(4))]
                    self.place("traffic light", s - 1.2, ROAD_HALF_WIDTH + 0.6, kind=color)
                elif guard < 0.8:
                    self.place("traffic sign", s - 1.6, ROAD_HALF_WIDTH + 0.6, kind="stop")
                else:
                    self.place("traffic sign", s - 1.6, ROAD_HALF_WIDTH + 0.6, kind="yield")
                s += _CROSSING_EVERY
            s += 10.0

    def signs(self) -> None:
        """Speed limits where zones begin and in between, and arrows before sharp bends."""
        zones = self.track.zones
        for zone, following in zip(zones, (*zones[1:], zones[0]), strict=True):
            end = following.start if following.start > zone.start else self.track.length
            for s in np.arange(zone.start + 6, end, 170.0):
                self.place(
                    "traffic sign",
                    float(s),
                    ROAD_HALF_WIDTH + 0.7,
                    kind="speed limit",
                    value=round(zone.limit * 3.6),
                )
        s = 0.0
        while s < self.track.length:
            if float(self.track.curvature(s + 25)) > 0.035 and float(self.track.curvature(s)) < 0.02:
                self.place("traffic sign", s, ROAD_HALF_WIDTH + 0.7, kind="turn")
                s += 60
            s += 5

    def roadsides(self) -> None:
        """Buildings, trees, bushes and lamps, zone by zone."""
        for side in (1, -1):
            s = 0.0
            while s < self.track.length:
                kind = self.track.zone(s).kind
                s += {
                    "urban": self._urban,
                    "suburban": self._suburban,
                    "rural": self._rural,
                    "forest": self._forest,
                }[kind](s, side)

    def _front(self, side: int) -> float:
        # Buildings turn their front (negative right) to the road.
        return 0.0 if side > 0 else math.pi

    def _urban(self, s: float, side: int) -> float:
        self.place(
            "building",
            s,
            side * float(self.rng.uniform(13.0, 14.5)),
            kind="block",
            yaw=self._front(side),
            radius=6.3,
        )
        for offset in (2.0, 9.0):
            if self.rng.random() < 0.55:
                self.place("tree", s + offset, side * 5.9, kind="broadleaf", radius=1.2)
        if s % 26 < 13:
            self.place("pole", s + 5.5, side * 4.5, yaw=self._front(side), radius=0.4)
        return 12.9

    def _suburban(self, s: float, side: int) -> float:
        if self.rng.random() < 0.8:
            self.place(
                "building",
                s,
                side * float(self.rng.uniform(15, 20)),
                kind="house",
                yaw=self._front(side),
                radius=6.5,
            )
        for _ in range(2):
            self.place(
                "tree",
                s + float(self.rng.uniform(2, 14)),
                side * float(self.rng.uniform(7.8, 11)),
                kind="broadleaf",
                radius=1.6,
            )
        for _ in range(2):
            self.place(
                "tree",
                s + float(self.rng.uniform(0, 16)),
                side * float(self.rng.uniform(6.9, 9)),
                kind="bush",
                radius=0.8,
            )
        if self.rng.random() < 0.4:
            self.place(
                "tree",
                s + float(self.rng.uniform(2, 14)),
                side * float(self.rng.uniform(24, 45)),
                kind="broadleaf",
                radius=2.0,
            )
        if side > 0 and s % 36 < 18:
            self.place("pole", s + 8.0, 4.6, radius=0.4)
        return 17.5

    def _rural(self, s: float, side: int) -> float:
        for _ in range(2):
            kind = ("broadleaf", "broadleaf", "bush")[int(self.rng.integers(3))]
            self.place(
                "tree",
                s + float(self.rng.uniform(0, 14)),
                side * float(self.rng.uniform(7.5, 48)),
                kind=kind,
                radius=1.8,
            )
        if self.rng.random() < 0.08:
            self.place(
                "building",
                s,
                side * float(self.rng.uniform(22, 34)),
                kind="house",
                yaw=self._front(side),
                radius=6.5,
            )
        return 14.0

    def _forest(self, s: float, side: int) -> float:
        for _ in range(3):
            kind = ("conifer", "conifer", "conifer", "broadleaf")[int(self.rng.integers(4))]
            near = 6.4 + float(self.rng.exponential(8.0))
            self.place(
                "tree", s + float(self.rng.uniform(0, 8)), side * min(near, 40.0), kind=kind, radius=1.3
            )
        if self.rng.random() < 0.3:
            self.place("tree", s, side * float(self.rng.uniform(5.6, 7)), kind="bush", radius=0.8)
        return 8.0


class _Cast:
    """Collects actors with ids and looks of their own."""

    def __init__(self, track: Track, rng: np.random.Generator) -> None:
        self.track = track
        self.rng = rng
        self.actors: list[Thing] = []

    def add(self, element: str, s: float, d: float, **details: object) -> None:
        number = FIRST_ACTOR_ID + len(self.actors)
        look = int(self.rng.integers(10_000))
        self.actors.append(Thing(number, element, s % self.track.length, d, look=look, **details))  # type: ignore[arg-type]

    def vehicle(self, s: float, d: float, yaw: float) -> None:
        kind = str(self.rng.choice(["car", "car", "car", "car", "van", "truck", "school bus"]))
        color = "yellow" if kind == "school bus" else str(self.rng.choice(_CAR_COLORS))
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
        return 1.5 if self.track.zone(s).kind in ("urban", "suburban") else 0.25


def traffic_near(
    track: Track, s: float, rng: np.random.Generator, *, density: float = 1.0
) -> tuple[Thing, ...]:
    """Return vehicles and people in view of a place: ahead in our lane, oncoming, and on the roadside."""
    cast = _Cast(track, rng)
    if rng.random() < 0.45 * density:
        cast.vehicle(s + float(rng.uniform(14, 60)), 1.75, 0.0)
    gap = 10.0
    while rng.random() < min(0.9, 0.6 * density):
        gap += float(rng.uniform(8, 45))
        if gap > 110:
            break
        cast.vehicle(s + gap, -1.75, math.pi)
    for _ in range(int(rng.poisson(cast.people_at(s) * density))):
        cast.pedestrian(s + float(rng.uniform(8, 60)))
    if rng.random() < 0.15 * density:
        cast.bicyclist(s + float(rng.uniform(10, 45)))
    return tuple(_untangled(cast.actors, track))


def traffic_around(
    track: Track, s: float, rng: np.random.Generator, *, density: float = 1.0
) -> tuple[Thing, ...]:
    """Return vehicles and people spread over the whole track, leaving room round ``s``."""
    cast = _Cast(track, rng)
    for start in np.arange(40.0, track.length - 40.0, 60.0):
        here = s + float(start)
        if rng.random() < 0.35 * density:
            cast.vehicle(here + float(rng.uniform(0, 40)), 1.75, 0.0)
        if rng.random() < 0.7 * density:
            cast.vehicle(here + float(rng.uniform(0, 40)), -1.75, math.pi)
        for _ in range(int(rng.poisson(cast.people_at(here) * density * 0.5))):
            cast.pedestrian(here + float(rng.uniform(0, 60)))
    return tuple(_untangled(cast.actors, track))


def _untangled(actors: list[Thing], track: Track) -> list[Thing]:
    """Drop actors that would stand inside one placed before them."""
    kept: list[Thing] = []
    for actor in actors:
        length = mesh_of(actor, near=True).footprint[0]
        clear = all(
            abs(track.ahead(other.s, actor.s)) > (length + mesh_of(other, near=True).footprint[0]) / 2 + 1.0
            or abs(other.d - actor.d) > 1.9
            for other in kept
        )
        if clear:
            kept.append(actor)
    return kept


def make_scene(
    track: str = "town",
    s: float = 0.0,
    *,
    seed: int = 0,
    d: float = 1.75,
    yaw: float = 0.0,
    conditions: Conditions | None = None,
    traffic: float = 1.0,
) -> Scene:
    """Furnish a place on a built-in track with scenery and traffic.

    Args:
        track: Name of the track.
        s: Metres along it.
        seed: Chooses the scenery, the traffic and the camera noise.
        d: Metres to the right of the centre line.
        yaw: Radians clockwise from the direction of the road.
        conditions: Weather and time of day; a clear day when not given.
        traffic: How much traffic; 0 is none, 1 normal.

    Example:
        >>> from roadworthy.world import make_scene
        >>> make_scene("meadow", s=100, seed=1).track.name
        'meadow'
    """
    road = built_in_track(track)
    if not 0 <= traffic <= 5:
        raise SceneError(f"traffic lies between 0 and 5, got {traffic}")
    if not math.isfinite(s):
        raise SceneError(f"a place on a track is a finite number of metres, got {s}")
    rng = rng_for(seed, "traffic", track, round(s * 1000))
    return Scene(
        road,
        s,
        d,
        yaw,
        scenery=scenery_of(track, 0),
        actors=traffic_near(road, s, rng, density=traffic) if traffic else (),
        conditions=conditions or Conditions(),
        seed=seed,
    )
