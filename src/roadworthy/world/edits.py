"""Counterfactuals: the same scene with one thing changed.

Everything else keeps its place, its look and its random numbers, so the two pictures differ only where the
changed thing, its shadow and its light are.
"""

from __future__ import annotations

import dataclasses

from roadworthy.errors import SceneError
from roadworthy.ontology import ontology
from roadworthy.world.conditions import Conditions
from roadworthy.world.ground import SIDEWALK_OUTER
from roadworthy.world.scene import Scene
from roadworthy.world.things import FIRST_ACTOR_ID, Scenery, Thing
from roadworthy.world.track import LANE_WIDTH, ROAD_HALF_WIDTH

__all__ = ["add", "remove", "replace", "with_conditions"]

_PLACES: dict[str, float] = {
    "sidewalk": ROAD_HALF_WIDTH + 1.2,
    "lane": LANE_WIDTH / 2,
    "oncoming lane": -LANE_WIDTH / 2,
    "road edge": LANE_WIDTH - 0.4,
    "kerb": ROAD_HALF_WIDTH + 0.6,
    "verge": SIDEWALK_OUTER + 1.5,
}
_MARKINGS = {"crosswalk": "crosswalk", "stop and yield line": "stop line"}


def add(
    scene: Scene,
    what: str,
    *,
    ahead: float = 20.0,
    place: str | float = "sidewalk",
    side: str = "right",
    **details: object,
) -> Scene:
    """Return the scene with one thing more.

    Args:
        scene: The scene to change.
        what: An ontology element or a kind of one: ``"pedestrian"``, ``"truck"``, ``"tree"``, …
        ahead: Metres ahead of the ego-vehicle.
        place: ``"sidewalk"``, ``"lane"``, ``"oncoming lane"``, ``"road edge"``, ``"kerb"``, ``"verge"``, or metres
            to the right of the centre line.
        side: ``"right"`` or ``"left"`` of the road, for the named places.
        details: Further fields of :class:`Thing`, such as ``kind``, ``color``, ``value``, ``yaw``, ``look``.

    Example:
        >>> from roadworthy.world import add, careful_driver, make_scene
        >>> scene = make_scene("meadow", s=100, seed=1)
        >>> with_pedestrian = add(scene, "pedestrian", ahead=15)
        >>> careful_driver(with_pedestrian).speed < careful_driver(scene).speed
        True
    """
    element, properties = ontology().resolve_with_properties(what)
    if isinstance(place, str):
        if place not in _PLACES:
            raise SceneError(
                f"unknown place {place!r}: choose one of {', '.join(_PLACES)}, or metres from the centre line"
            )
        if side not in ("right", "left"):
            raise SceneError(f"side must be 'right' or 'left', got {side!r}")
        d = _PLACES[place] * (1 if side == "right" else -1)
    else:
        d = float(place)
    details = {**({"kind": properties["type"]} if "type" in properties else {}), **details}
    used = {thing.id for thing in (*scene.actors, *scene.scenery.things)}
    number = next(i for i in range(FIRST_ACTOR_ID, 65_536) if i not in used)
    thing = Thing(number, element.name, (scene.s + ahead) % scene.track.length, d, **details)  # type: ignore[arg-type]
    return scene.replace(actors=(*scene.actors, thing))


def remove(scene: Scene, what: str) -> Scene:
    """Return the scene without any of an element: ``"line"``, ``"building"``, ``"vehicle"``, ``"crosswalk"``, …

    Example:
        >>> from roadworthy.world import make_scene, remove
        >>> remove(make_scene("town", s=40, seed=1), "lane line").lines
        False
    """
    element, properties = ontology().resolve_with_properties(what)
    if element.name == "line":
        return scene.replace(lines=False)
    scenery = scene.scenery
    if element.name in _MARKINGS:
        kept = tuple(m for m in scenery.markings if m.kind != _MARKINGS[element.name])
        return scene.replace(scenery=dataclasses.replace(scenery, markings=kept))

    def stays(thing: Thing) -> bool:
        if not ontology().is_a(thing.element, element.name):
            return True
        return any(thing.attributes.get(key) != value for key, value in properties.items())

    return scene.replace(
        scenery=Scenery(tuple(filter(stays, scenery.things)), scenery.markings),
        actors=tuple(filter(stays, scene.actors)),
    )


def replace(scene: Scene, what: str, by: str, **details: object) -> Scene:
    """Return the scene with every thing of one element replaced where it stands.

    Example:
        >>> from roadworthy.world import make_scene, replace
        >>> scene = replace(make_scene("town", s=40, seed=1), "building", "tree")
        >>> sorted({thing.element for thing in scene.scenery.things if thing.element in ("building", "tree")})
        ['tree']
    """
    old, wanted = ontology().resolve_with_properties(what)
    new, properties = ontology().resolve_with_properties(by)
    details = {**({"kind": properties["type"]} if "type" in properties else {}), **details}

    def swapped(thing: Thing) -> Thing:
        if thing.element != old.name or any(thing.attributes.get(k) != v for k, v in wanted.items()):
            return thing
        if new.name == old.name:
            return dataclasses.replace(thing, **details)  # type: ignore[arg-type]
        return Thing(
            thing.id, new.name, thing.s, thing.d, yaw=thing.yaw, look=thing.look, speed=thing.speed, **details
        )  # type: ignore[arg-type]

    return scene.replace(
        scenery=Scenery(tuple(map(swapped, scene.scenery.things)), scene.scenery.markings),
        actors=tuple(map(swapped, scene.actors)),
    )


def with_conditions(
    scene: Scene, *, weather: str | None = None, level: str | float | None = None, time: str | None = None
) -> Scene:
    """Return the scene under another sky.

    Example:
        >>> from roadworthy.world import make_scene, with_conditions
        >>> with_conditions(make_scene("town", s=40, seed=1), time="night").conditions.time
        'night'
    """
    now = scene.conditions
    return scene.replace(
        conditions=Conditions(
            weather if weather is not None else now.weather,
            level if level is not None else now.level,  # type: ignore[arg-type]
            time if time is not None else now.time,
        )
    )
