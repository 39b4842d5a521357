"""Things that stand or move on and beside the road."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from roadworthy.errors import SceneError, suggest
from roadworthy.ontology import ontology

__all__ = ["FIRST_ACTOR_ID", "Marking", "Scenery", "Thing"]

FIRST_ACTOR_ID = 20_000
"""Things that belong to one scene are numbered from here; a track's own scenery stays below."""

_KINDS: dict[str, tuple[str, ...]] = {
    "vehicle": ("car", "van", "truck", "school bus"),
    "pedestrian": ("pedestrian",),
    "bicyclist": ("bicyclist",),
    "tree": ("broadleaf", "conifer", "bush"),
    "building": ("house", "block"),
    "traffic sign": ("stop", "yield", "speed limit", "turn"),
    "traffic light": ("red", "yellow", "green"),
    "pole": ("street lamp",),
}


@dataclass(frozen=True)
class Thing:
    """One object of the world.

    Args:
        id: Its instance and track id, 1 to 65535, unique in a scene.
        element: Its ontology element, e.g. ``"vehicle"``.
        s: Metres along the track.
        d: Metres to the right of the centre line.
        kind: Which sort of it, e.g. ``"truck"``; the element's first kind when empty.
        yaw: Radians clockwise from the direction of the road; π is oncoming.
        color: Paint, for vehicles.
        value: The number on a speed limit sign (km/h).
        look: Chooses among appearances (clothes, crown, windows).
        speed: Metres per second along its own yaw.

    Example:
        >>> Thing(1, "pedestrian", s=20, d=5).kind
        'pedestrian'
    """

    id: int
    element: str
    s: float
    d: float
    kind: str = ""
    yaw: float = 0.0
    color: str = ""
    value: int = 50
    look: int = 0
    speed: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.id <= 65_535:
            raise SceneError(f"a thing's id lies between 1 and 65535, got {self.id}")
        if self.element not in _KINDS:
            raise SceneError(f"the world has no {self.element!r} to place: {suggest(self.element, _KINDS)}")
        kinds = _KINDS[self.element]
        if not self.kind:
            object.__setattr__(self, "kind", kinds[0])
        elif self.kind not in kinds:
            raise SceneError(f"unknown kind {self.kind!r} of {self.element}: {suggest(self.kind, kinds)}")
        if self.element == "vehicle":
            if not self.color:
                object.__setattr__(self, "color", "yellow" if self.kind == "school bus" else "silver")
            colors = ontology()["vehicle"].properties["color"]
            if self.color not in colors:
                raise SceneError(f"unknown vehicle colour {self.color!r}: {suggest(self.color, colors)}")
        if not all(np.isfinite([self.s, self.d, self.yaw, self.speed])):
            raise SceneError(f"thing {self.id} has a position or speed that is not a number")

    @property
    def attributes(self) -> dict[str, str]:
        """Its properties in the ontology's words."""
        if self.element == "vehicle":
            return {"type": self.kind, "color": self.color}
        if self.element == "traffic sign":
            return {"type": self.kind}
        if self.element == "traffic light":
            return {"color": self.kind}
        return {}


@dataclass(frozen=True)
class Marking:
    """Paint across the road: a ``"crosswalk"`` or a ``"stop line"`` at ``s``."""

    kind: str
    s: float


@dataclass(frozen=True, eq=False)
class Scenery:
    """What belongs to a track: things that do not move, and markings on the road."""

    things: tuple[Thing, ...] = ()
    markings: tuple[Marking, ...] = ()

    @cached_property
    def along(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """The ``s`` of each thing, for finding those in view."""
        return np.array([thing.s for thing in self.things])
