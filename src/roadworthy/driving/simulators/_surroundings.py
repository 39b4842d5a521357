"""Who is near the ego-vehicle in the built-in world, and how near."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from roadworthy.driving._rectangles import Rectangle, distances
from roadworthy.world import Observation, Thing
from roadworthy.world.shapes import mesh_of
from roadworthy.world.simulation import EGO_HALF_WIDTH, EGO_LENGTH, REAR_OVERHANG
from roadworthy.world.track import LANE_CENTRE, LANE_WIDTH

__all__ = ["Surroundings"]

_IN_VIEW = 150.0  # metres; nobody farther away is measured
_TOUCHING = 12.0  # metres along the track within which two vehicles may touch
_FRONT = EGO_LENGTH - REAR_OVERHANG  # metres from our rear axle to our front
_WALKING = 8.0  # metres from the centre line; the careful driver slows down for pedestrians within


class Surroundings:
    """The traffic round the ego-vehicle.

    Args:
        seen: What is true now.
        before: What was true a step before; None at the start.
        dt: The seconds between both.
    """

    def __init__(self, seen: Observation, before: Observation | None, dt: float) -> None:
        self._track = seen.scene.track
        self._near = [
            (self._track.ahead(seen.scene.s, actor.s), actor)
            for actor in seen.scene.actors
            if abs(self._track.ahead(seen.scene.s, actor.s)) < _IN_VIEW
        ]
        self._earlier = {} if before is None else {actor.id: actor.s for actor in before.scene.actors}
        self._dt = dt
        heading = seen.state.heading
        middle = EGO_LENGTH / 2 - REAR_OVERHANG
        centre = np.array(
            [seen.state.x + middle * math.cos(heading), seen.state.y + middle * math.sin(heading)]
        )
        self._ego: Rectangle = (centre, heading, EGO_LENGTH, 2 * EGO_HALF_WIDTH)

    def collision(self) -> bool:
        """Return whether the ego-vehicle touches anybody."""
        close = [actor for gap, actor in self._near if abs(gap) < _TOUCHING]
        return bool((distances(self._ego, [self._rectangle(one) for one in close]) == 0).any())

    def signals(self) -> dict[str, float]:
        """Return the signals that traffic gives; NaN where there is nobody."""
        lead, gap = self._lead()
        return {
            "headway": gap,
            "lead_speed": math.nan if lead is None else self._pace(lead),
            "vehicle_distance": self._nearest(
                actor
                for ahead, actor in self._near
                if actor.element == "vehicle" and ahead - _half_length(actor) < _FRONT
            ),
            "pedestrian_distance": self._nearest(
                actor
                for ahead, actor in self._near
                if actor.element == "pedestrian" and ahead > 0 and abs(actor.d) < _WALKING
            ),
        }

    def _lead(self) -> tuple[Thing | None, float]:
        """Return the vehicle ahead in our lane, and the metres from our front to its rear."""
        found: tuple[Thing | None, float] = (None, math.nan)
        for ahead, actor in self._near:
            mine = actor.element == "vehicle" and abs(actor.d - LANE_CENTRE) < LANE_WIDTH / 2
            if not mine or ahead <= 0 or math.cos(actor.yaw) <= 0:
                continue
            gap = max(0.0, ahead - _FRONT - _half_length(actor))
            if found[0] is None or gap < found[1]:
                found = (actor, gap)
        return found

    def _pace(self, actor: Thing) -> float:
        """Return how fast a vehicle really went; its own speed is what it would like."""
        earlier = self._earlier.get(actor.id)
        return actor.speed if earlier is None else self._track.ahead(earlier, actor.s) / self._dt

    def _nearest(self, actors: Iterator[Thing]) -> float:
        apart = distances(self._ego, [self._rectangle(one) for one in actors])
        return float(apart.min()) if len(apart) else math.nan

    def _rectangle(self, actor: Thing) -> Rectangle:
        length, width = mesh_of(actor, near=True).footprint
        centre = self._track.position(actor.s, actor.d)[:2]
        return centre, float(self._track.heading(actor.s)) - actor.yaw, length, width


def _half_length(actor: Thing) -> float:
    return mesh_of(actor, near=True).footprint[0] / 2
