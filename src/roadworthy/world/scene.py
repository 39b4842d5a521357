"""A scene: everything that determines one picture of the world, and the things that stand in it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np

from roadworthy._yaml import read_yaml
from roadworthy.errors import SceneError, check_known, check_number, suggest
from roadworthy.world.camera import Camera, CameraView, Floats, vector
from roadworthy.world.conditions import Conditions
from roadworthy.world.mesh import PAINTS
from roadworthy.world.track import LANE_CENTRE, Track, check_line_style

FIRST_ACTOR_ID = 20_000
"""Things that belong to one scene are numbered from here; a track's own scenery stays below."""
LAST_ID = 65_535
"""What the 16 bits of an instance map can hold."""

_THINGS = read_yaml(Path(__file__).with_name("things.yaml"), "file of things", "kinds and fields").data
KINDS: dict[str, tuple[str, ...]] = {name: tuple(kinds) for name, kinds in _THINGS["kinds"].items()}
"""The ontology elements that the world can place, and the kinds it has of each."""
USUAL = {**KINDS, "vehicle": KINDS["vehicle"][:4], "pedestrian": ("pedestrian",)}
"""Those that come where none is asked for."""
LIVERIES = {"school bus": "yellow", "ambulance": "white", "police car": "white", "taxi": "yellow"}
"""The paint of vehicles that have but one."""

_MARKINGS = ("crosswalk", "stop line")
_ACROSS = 0.7  # of the sine of a yaw, from which on somebody crosses

_FIELDS: Mapping[str, Mapping[str, Literal["kind", "color"]]] = _THINGS["fields"]


class Details(TypedDict, total=False):
    """The fields of a :class:`WorldObject` that have defaults."""

    kind: str
    yaw: float
    color: str
    value: int
    look: int
    speed: float
    until: float
    braking: float
    lasts: float
    blocks: bool


@dataclass(frozen=True)
class WorldObject:
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
        until: Where somebody who walks across the road stops, or where a vehicle that changes lanes goes, in
            metres to the right of the centre line.
        braking: What a vehicle loses of its speed, in m/s²; below 0 what it gains, up to the speed limit.
        lasts: Seconds for which a traffic light still shows its colour.
        blocks: Whether the careful driver stops for it in our lane, instead of only driving slowly.

    Example:
        >>> WorldObject(1, "vehicle", s=20, d=1.75, kind="school bus").attributes
        {'type': 'school bus', 'color': 'yellow'}
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
    until: float = math.inf
    braking: float = 0.0
    lasts: float = math.inf
    blocks: bool = False

    def __post_init__(self) -> None:
        check_number("an object's id", self.id, SceneError, least=1, most=LAST_ID)
        check_known("the world cannot place", self.element, KINDS, SceneError)
        kinds = KINDS[self.element]
        if not self.kind:
            object.__setattr__(self, "kind", kinds[0])
        elif self.kind not in kinds:
            raise SceneError(f"the world has no {self.element} {self.kind!r}: {suggest(self.kind, kinds)}")
        if self.element == "vehicle":
            if not self.color:
                object.__setattr__(self, "color", LIVERIES.get(self.kind, "silver"))
            elif self.color not in PAINTS:
                raise SceneError(f"unknown vehicle colour {self.color!r}: {suggest(self.color, PAINTS)}")
        if self.value not in range(1000):
            raise SceneError(f"the number on a sign is whole and lies between 0 and 999, got {self.value}")
        _check_finite(self, f"a {self.element}")

    def at(self, s: float) -> WorldObject:
        """Return it at another place along the track, which need not be checked again."""
        moved = object.__new__(WorldObject)
        vars(moved).update(vars(self), s=s)
        return moved

    @property
    def attributes(self) -> dict[str, str]:
        """Its properties in the ontology's words."""
        known = {name: getattr(self, field) for name, field in _FIELDS.get(self.element, {}).items()}
        known = {} if self.kind == "pedestrian" else known
        return {**known, "limit": str(self.value)} if self.kind == "speed limit" else known

    def has(self, properties: Mapping[str, str]) -> bool:
        """Return whether it has all these properties.

        Example:
            >>> WorldObject(1, "traffic light", s=20, d=4.5, kind="green").has({"color": "red"})
            False
        """
        return properties.items() <= self.attributes.items()


def crosses(thing: WorldObject) -> bool:
    """Return whether somebody walks across the road, or did and stands where that ended."""
    return thing.element == "pedestrian" and abs(math.sin(thing.yaw)) > _ACROSS


def _check_finite(placed: WorldObject | Scene, what: str) -> None:
    numbers = {name: getattr(placed, name) for name in ("s", "d", "yaw", "speed")}
    if not all(map(math.isfinite, numbers.values())):
        got = ", ".join(f"{name}={value}" for name, value in numbers.items())
        raise SceneError(f"place, yaw and speed of {what} must be finite numbers, got {got}")


def check_details(details: Mapping[str, object]) -> None:
    """Refuse fields that a thing does not have."""
    for name in details:
        check_known("a thing has no", name, Details.__annotations__, SceneError)


def details_of(element: str, properties: Mapping[str, str]) -> Details:
    """Return the fields that give a thing these properties, the way back from ``WorldObject.attributes``.

    Example:
        >>> details_of("traffic light", {"color": "green"})
        {'kind': 'green'}
    """
    details: Details = {}
    for name, value in properties.items():
        if (element, name) == ("traffic sign", "limit"):
            details["value"] = int(value)
            continue
        field = _FIELDS.get(element, {}).get(name)
        if field is None:
            raise SceneError(f"the world cannot show the {name} {value!r} of a {element}")
        details[field] = value
    return details


@dataclass(frozen=True)
class Marking:
    """Paint across the road: a ``"crosswalk"`` or a ``"stop line"`` at ``s``.

    Example:
        >>> Marking("crosswalk", s=45.0).kind
        'crosswalk'
    """

    kind: str
    s: float

    def __post_init__(self) -> None:
        check_known("unknown marking", self.kind, _MARKINGS, SceneError)


@dataclass(frozen=True, eq=False)
class Scenery:
    """What belongs to a track: things that do not move, and markings on the road.

    Example:
        >>> Scenery((WorldObject(1, "tree", s=20, d=8),), (Marking("crosswalk", s=45.0),)).along
        array([20.])
    """

    things: tuple[WorldObject, ...] = ()
    markings: tuple[Marking, ...] = ()

    @cached_property
    def along(self) -> Floats:
        """The ``s`` of each thing, for finding those in view."""
        return np.array([thing.s for thing in self.things], dtype=float)

    @cached_property
    def ids(self) -> frozenset[int]:
        """The ids of its things."""
        return frozenset(thing.id for thing in self.things)


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
        >>> from roadworthy.world import Scene, WorldObject, render, track
        >>> empty = Scene(track("meadow"), s=100)
        >>> crowded = empty.replace(actors=(WorldObject(1, "pedestrian", s=112, d=4),))
        >>> int(render(crowded).instances.max())
        1
    """

    track: Track
    s: float
    d: float = LANE_CENTRE
    yaw: float = 0.0
    speed: float = 0.0
    scenery: Scenery = dataclasses.field(default_factory=Scenery)
    actors: tuple[WorldObject, ...] = ()
    conditions: Conditions = dataclasses.field(default_factory=Conditions)
    lines: bool = True
    centre_line: tuple[str, str] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _check_finite(self, "the ego-vehicle")
        check_number("seed", self.seed, SceneError, least=0)
        ids = {thing.id for thing in self.actors}
        if len(ids) < len(self.actors) or not ids.isdisjoint(self.scenery.ids):
            raise SceneError("two objects of a scene have the same id")
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

    def view(self, camera: Camera) -> CameraView:
        """Return the camera's place and direction."""
        x, y, z, road_heading, _, grade = self.track.at(self.s)
        heading = road_heading - self.yaw
        x += self.d * math.sin(road_heading) + camera.forward * math.cos(heading)
        y += -self.d * math.cos(road_heading) + camera.forward * math.sin(heading)
        z += camera.mount + camera.forward * grade
        return CameraView.at(vector([x, y, z]), heading, math.atan(grade) - math.radians(camera.tilt))
