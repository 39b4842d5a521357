"""Counterfactuals: the same scene with one thing changed.

Everything else keeps its place, its look and its random numbers, so the two pictures differ only where the
changed thing, its shadow and its light are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Unpack

from numpy.random import Generator

from roadworthy.errors import SceneError, check_choice, suggest
from roadworthy.ontology import Element, ontology
from roadworthy.world.ground import SIDEWALK_OUTER
from roadworthy.world.roadside import LIT
from roadworthy.world.scene import (
    FIRST_ACTOR_ID,
    KINDS,
    LAST_ID,
    Details,
    Marking,
    Scene,
    Scenery,
    WorldObject,
    check_details,
    details_of,
)
from roadworthy.world.track import LANE_CENTRE, LANE_WIDTH, ROAD_HALF_WIDTH

_PLACES: dict[str, float] = {
    "sidewalk": ROAD_HALF_WIDTH + 1.2,
    "lane": LANE_CENTRE,
    "oncoming lane": -LANE_CENTRE,
    "road edge": LANE_WIDTH - 0.4,
    "kerb": ROAD_HALF_WIDTH + 0.6,
    "verge": SIDEWALK_OUTER + 1.5,
}
_MARKINGS = {"crosswalk": "crosswalk", "stop line": "stop and yield line"}


def add(
    scene: Scene,
    what: str,
    *,
    ahead: float = 20.0,
    place: str | float = "sidewalk",
    side: str = "right",
    **details: Unpack[Details],
) -> Scene:
    """Return the scene with one thing more.

    Args:
        scene: The scene to change.
        what: An ontology element or a kind of one: ``"pedestrian"``, ``"truck"``, ``"green light"``, …
        ahead: Metres ahead of the ego-vehicle.
        place: ``"sidewalk"``, ``"lane"``, ``"oncoming lane"``, ``"road edge"``, ``"kerb"`` or ``"verge"``, or
            metres to the right of the centre line.
        side: ``"right"`` or ``"left"`` of the road, for the named places.
        details: Other fields of :class:`WorldObject`: ``kind``, ``color``, ``value``, ``yaw``, ``look``.

    Example:
        >>> from roadworthy.world import add, careful_driver, make_scene
        >>> scene = make_scene("meadow", s=100, seed=1)
        >>> with_pedestrian = add(scene, "pedestrian", ahead=15)
        >>> careful_driver(with_pedestrian).speed < careful_driver(scene).speed
        True
    """
    check_details(details)
    element, properties = ontology().resolve_with_properties(what)
    fields: Details = {**details_of(element.name, properties), **details}
    used = scene.scenery.ids.union(actor.id for actor in scene.actors)
    number = next(i for i in range(FIRST_ACTOR_ID, LAST_ID + 1) if i not in used)
    s = (scene.s + ahead) % scene.track.length
    thing = WorldObject(number, element.name, s, _across(place, side), **fields)
    return scene.replace(actors=(*scene.actors, thing))


def _across(place: str | float, side: str) -> float:
    """Return metres to the right of the centre line."""
    if not isinstance(place, str):
        return float(place)
    if place not in _PLACES:
        raise SceneError(f"unknown place {place!r}: {suggest(place, _PLACES)}, or metres from the centre")
    check_choice("side", side, ("right", "left"), SceneError)
    return _PLACES[place] * (1 if side == "right" else -1)


def remove(scene: Scene, what: str) -> Scene:
    """Return the scene without any of an element, such as ``"line"``, ``"building"`` or ``"crosswalk"``.

    Example:
        >>> from roadworthy.world import make_scene, remove
        >>> remove(make_scene("town", s=40, seed=1), "lane line").lines
        False
    """
    element, properties = ontology().resolve_with_properties(what)
    if element.name == "line" and properties:
        raise SceneError(f"the world has all its lines or none: cannot remove {what!r}, only 'line'")
    gone = _below(element, (*KINDS, *_MARKINGS.values(), "line"))
    if not gone:
        raise SceneError(f"the world cannot do without {what!r}")

    def kept(things: tuple[WorldObject, ...]) -> tuple[WorldObject, ...]:
        return tuple(t for t in things if not (t.element in gone and t.has(properties)))

    markings = tuple(m for m in scene.scenery.markings if _MARKINGS[m.kind] not in gone)
    return scene.replace(
        scenery=_changed(scene.scenery, kept(scene.scenery.things), markings),
        actors=kept(scene.actors),
        lines=scene.lines and "line" not in gone,
    )


def replace(scene: Scene, what: str, by: str, **details: Unpack[Details]) -> Scene:
    """Return the scene with every thing of one element replaced where it stands.

    Args:
        scene: The scene to change.
        what: What goes, e.g. ``"building"``, ``"red light"`` or (of the centre line) ``"solid line"``.
        by: What comes in its place, e.g. ``"tree"``, ``"green light"`` or ``"dashed line"``.
        details: Further fields of what comes, as in :func:`add`.

    Example:
        >>> from roadworthy.world import make_scene, replace
        >>> scene = replace(make_scene("town", s=40, seed=1), "building", "tree")
        >>> sorted({thing.element for thing in scene.scenery.things if thing.element in ("building", "tree")})
        ['tree']
    """
    element, wanted = ontology().resolve_with_properties(what)
    if element.name == "line":
        return _repainted(scene, wanted, by)
    old = _below(element, KINDS)
    if not old:
        raise SceneError(f"the world cannot replace {what!r}: {suggest(element.name, KINDS)}")
    check_details(details)
    new, properties = ontology().resolve_with_properties(by)
    fields: Details = {**details_of(new.name, properties), **details}
    WorldObject(1, new.name, 0.0, 0.0, **fields)  # refused even where there is nothing to replace

    def swapped(thing: WorldObject) -> WorldObject:
        if thing.element not in old or not thing.has(wanted):
            return thing
        if thing.element == new.name:
            return dataclasses.replace(thing, **fields)
        moves = ontology().is_a(new.name, "dynamic object")
        kept: Details = {"yaw": thing.yaw, "look": thing.look, "speed": thing.speed if moves else 0.0}
        merged: Details = {**kept, **fields}
        return WorldObject(thing.id, new.name, thing.s, thing.d, **merged)

    scenery = scene.scenery
    return scene.replace(
        scenery=_changed(scenery, tuple(map(swapped, scenery.things)), scenery.markings),
        actors=tuple(map(swapped, scene.actors)),
    )


def _repainted(scene: Scene, wanted: Mapping[str, str], by: str) -> Scene:
    """Return the scene with another type or colour of centre line, if the one it has is the one meant."""
    new, properties = ontology().resolve_with_properties(by)
    if new.name != "line" or not properties:
        raise SceneError(f"a line can be replaced by another line, such as 'dashed line', not by {by!r}")
    kind, color = scene.centre_line or scene.track.zone(scene.s).centre
    if any({"type": kind, "color": color}[key] != value for key, value in wanted.items()):
        return scene
    return scene.replace(centre_line=(properties.get("type", kind), properties.get("color", color)))


def with_changing_lights(scene: Scene, rng: Generator | None = None) -> Scene:
    """Return the scene with traffic lights that go through their colours, before which one stops.

    Args:
        scene: The scene.
        rng: Chooses how long each shows its colour already; all of it is left where it is not given.

    Example:
        >>> from roadworthy.world import make_scene, traffic_after
        >>> from roadworthy.world.edits import with_changing_lights
        >>> scene = with_changing_lights(make_scene("town", s=40, traffic=0))
        >>> [(one.kind, after.kind) for one, after in zip(scene.actors, traffic_after(scene, 12.5))][0]
        ('green', 'yellow')
    """
    scenery, lights = _lights_apart(scene.scenery)
    others = [one for one in scene.actors if one.element != "traffic light"]
    lights += tuple(one for one in scene.actors if one.element == "traffic light")
    left = [LIT[one.kind] * (1.0 if rng is None else 1.0 - float(rng.random())) for one in lights]
    changing = [
        dataclasses.replace(one, blocks=True, lasts=lasts) for one, lasts in zip(lights, left, strict=True)
    ]
    return scene.replace(scenery=scenery, actors=(*others, *changing))


# Told apart by identity, as what is drawn of scenery.
@lru_cache(maxsize=64)
def _lights_apart(scenery: Scenery) -> tuple[Scenery, tuple[WorldObject, ...]]:
    lights = tuple(one for one in scenery.things if one.element == "traffic light")
    others = tuple(one for one in scenery.things if one not in lights)
    return _changed(scenery, others, scenery.markings), lights


def _below(element: Element, names: Iterable[str]) -> set[str]:
    """Return those of the names that are the element or one of its kinds."""
    return {name for name in names if ontology().is_a(name, element.name)}


def _changed(scenery: Scenery, things: tuple[WorldObject, ...], markings: tuple[Marking, ...]) -> Scenery:
    # What is worked out from scenery is kept by identity, so the same scenery must stay the same object.
    same = things == scenery.things and markings == scenery.markings
    return scenery if same else Scenery(things, markings)


def with_conditions(
    scene: Scene,
    *,
    weather: str | None = None,
    level: str | float | None = None,
    time: str | None = None,
    season: str | None = None,
) -> Scene:
    """Return the scene under another sky or in another season; what is not given stays.

    Example:
        >>> from roadworthy.world import make_scene, with_conditions
        >>> with_conditions(make_scene("town", s=40, seed=1), time="night").conditions.time
        'night'
    """
    given = {"weather": weather, "level": level, "time": time, "season": season}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return scene.replace(conditions=dataclasses.replace(scene.conditions, **changes))
