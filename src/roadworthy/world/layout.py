"""From a place on a built-in track and a seed to a furnished scene."""

from __future__ import annotations

import math

from roadworthy.errors import SceneError
from roadworthy.seeding import rng_for
from roadworthy.world.conditions import Conditions
from roadworthy.world.roadside import scenery_of
from roadworthy.world.scene import Scene
from roadworthy.world.track import LANE_CENTRE
from roadworthy.world.tracks import track as built_in_track
from roadworthy.world.traffic import traffic_near

__all__ = ["make_scene"]


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
    if not math.isfinite(s):
        raise SceneError(f"a place on a track is a finite number of metres, got {s}")
    rng = rng_for(seed, "traffic", track, round(s * 1000))
    return Scene(
        road,
        s,
        d,
        yaw,
        scenery=scenery_of(track, scenery),
        actors=traffic_near(road, s, rng, density=traffic) if traffic else (),
        conditions=conditions or Conditions(),
        seed=seed,
    )
