"""Who is on the road: vehicles, pedestrians and bicyclists, and how they move on."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from roadworthy.errors import SceneError
from roadworthy.world.scene import FIRST_ACTOR_ID, Details, Scene, WorldObject
from roadworthy.world.shapes import mesh_of
from roadworthy.world.track import LANE_CENTRE, Track

_KINDS = ("car", "car", "car", "car", "van", "truck", "school bus")
_COLORS = (
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
_SAFE_GAP = 9.0
_SAME_LANE = 1.7


class _Cast:
    """Collects actors with ids and looks of their own."""

    def __init__(self, track: Track, rng: np.random.Generator) -> None:
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
    if not 0 <= density <= 5:
        raise SceneError(f"traffic lies between 0 and 5, got {density}")


def traffic_near(
    track: Track, s: float, rng: np.random.Generator, *, density: float = 1.0
) -> tuple[WorldObject, ...]:
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


def traffic_around(
    track: Track, s: float, rng: np.random.Generator, *, density: float = 1.0
) -> tuple[WorldObject, ...]:
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
    riding = [actor for actor in scene.actors if actor.element in ("vehicle", "bicyclist")]
    moved = []
    for actor in scene.actors:
        pace = _pace(actor, scene, riding) if actor.element == "vehicle" else actor.speed
        s = (actor.s + _direction(actor) * pace * dt) % length
        moved.append(dataclasses.replace(actor, s=s))
    return tuple(moved)


def _direction(actor: WorldObject) -> float:
    return 1.0 if math.cos(actor.yaw) > 0 else -1.0


def _pace(actor: WorldObject, scene: Scene, riding: Sequence[WorldObject]) -> float:
    """Speed of a vehicle that keeps its distance from others and from the ego-vehicle."""
    track, direction = scene.track, _direction(actor)
    pace = actor.speed
    for other in riding:
        gap = direction * track.ahead(actor.s, other.s)
        if other is not actor and 0 < gap < _SAFE_GAP + 4 and abs(other.d - actor.d) < _SAME_LANE:
            pace = min(pace, other.speed * max(0.0, (gap - _SAFE_GAP + 2) / 6))
    gap = direction * track.ahead(actor.s, scene.s)
    if 0 < gap < _SAFE_GAP + 8 and abs(scene.d - actor.d) < _SAME_LANE:
        pace = min(pace, scene.speed * max(0.0, (gap - _SAFE_GAP) / 8))
    return pace
