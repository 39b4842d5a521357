"""A scene: everything that determines one picture of the world, as immutable data."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from roadworthy.errors import SceneError
from roadworthy.world.arrays import vector
from roadworthy.world.camera import Camera, View
from roadworthy.world.conditions import Conditions
from roadworthy.world.things import Scenery, Thing
from roadworthy.world.track import LANE_CENTRE, Track, check_line_style

__all__ = ["Scene"]


@dataclass(frozen=True, eq=False)
class Scene:
    """Where the ego-vehicle is, what stands around it, and what the sky does.

    Args:
        track: The road.
        s: Metres along the track, of the ego-vehicle's rear axle.
        d: Metres to the right of the centre line; the middle of the right-hand lane is 1.75.
        yaw: Radians clockwise from the direction of the road.
        speed: Metres per second.
        scenery: What belongs to the track.
        actors: What belongs to this scene: traffic and people.
        conditions: Weather, time of day and season.
        lines: Whether lane lines are painted on the road.
        centre_line: Type and colour of the centre line instead of the track's own.
        seed: Of camera noise, rain drops and snow flakes.

    Example:
        >>> from roadworthy.world import Scene, Thing, render, track
        >>> empty = Scene(track("meadow"), s=100)
        >>> crowded = empty.replace(actors=(Thing(1, "pedestrian", s=112, d=4),))
        >>> int(render(crowded).instances.max())
        1
    """

    track: Track
    s: float
    d: float = LANE_CENTRE
    yaw: float = 0.0
    speed: float = 0.0
    scenery: Scenery = dataclasses.field(default_factory=Scenery)
    actors: tuple[Thing, ...] = ()
    conditions: Conditions = dataclasses.field(default_factory=Conditions)
    lines: bool = True
    centre_line: tuple[str, str] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.s, self.d, self.yaw, self.speed))):
            raise SceneError(
                "the ego-vehicle's place, yaw and speed must be finite numbers, "
                f"got s={self.s}, d={self.d}, yaw={self.yaw}, speed={self.speed}"
            )
        if self.seed < 0:
            raise SceneError(f"seed must be 0 or more, got {self.seed}")
        ids = {thing.id for thing in self.actors}
        if len(ids) < len(self.actors) or not ids.isdisjoint(self.scenery.ids):
            raise SceneError("two things of a scene have the same id")
        if self.centre_line is not None:
            check_line_style(self.centre_line)
        object.__setattr__(self, "s", self.s % self.track.length)

    def __repr__(self) -> str:
        # The scenery alone would fill the screen.
        sky = self.conditions
        return (
            f"Scene({self.track.name!r}, s={self.s:.1f}, d={self.d:.2f}, yaw={self.yaw:.3f}, "
            f"{len(self.actors)} actors, {sky.weather}, {sky.time}, {sky.season}, seed={self.seed})"
        )

    def replace(self, **changes: Any) -> Scene:
        """Return a copy with some fields changed.

        Example:
            >>> from roadworthy.world import make_scene
            >>> make_scene("town", s=40).replace(d=2.0).d
            2.0
        """
        return dataclasses.replace(self, **changes)

    def view(self, camera: Camera) -> View:
        """Return the camera's place and direction."""
        x, y, z, road_heading, _, grade = self.track.sample(self.s).tolist()
        heading = road_heading - self.yaw
        x += self.d * math.sin(road_heading) + camera.forward * math.cos(heading)
        y += -self.d * math.cos(road_heading) + camera.forward * math.sin(heading)
        z += camera.mount + camera.forward * grade
        pitch = math.atan(grade) - math.radians(camera.tilt)
        return View.at(vector([x, y, z]), heading, pitch)
