"""How things look: one mesh per kind, colour and look, built once and shared."""

from __future__ import annotations

import math
from functools import cache

from roadworthy.world.mesh import Mesh
from roadworthy.world.scene import WorldObject, crosses
from roadworthy.world.shapes.people import CYCLE, POSES, bicyclist, pedestrian
from roadworthy.world.shapes.scenery import building, tree
from roadworthy.world.shapes.signs import street_lamp, traffic_light, traffic_sign
from roadworthy.world.shapes.vehicles import vehicle

__all__ = ["mesh_of"]

_LOOKS = 12  # different appearances per kind; more would only fill memory


def mesh_of(thing: WorldObject, *, near: bool, across: bool = False, season: str = "summer") -> Mesh:
    """Return the shared mesh of a thing; ``across`` shows a bicyclist from the side."""
    look = thing.look % _LOOKS
    if thing.element != "tree":
        season = "summer"  # the others look the same all year and are built once
    gait = None
    if crosses(thing):  # the legs go on with the way, and stand together where it ends
        walked = abs(thing.until - thing.d) % CYCLE if math.isfinite(thing.until) else thing.d % CYCLE
        gait = round(walked / CYCLE * POSES) % POSES, thing.yaw % math.tau < math.pi
    return _mesh(thing.element, thing.kind, thing.color, thing.value, look, near, across, season, gait)


@cache
def _mesh(
    element: str,
    kind: str,
    color: str,
    value: int,
    look: int,
    near: bool,
    across: bool,
    season: str,
    gait: tuple[int, bool] | None,
) -> Mesh:
    match element:
        case "vehicle":
            return vehicle(kind, color, near=near)
        case "pedestrian":
            return pedestrian(look, near=near, child=kind == "child", gait=gait)
        case "bicyclist":
            return bicyclist(look, near=near, across=across)
        case "tree":
            return tree(kind, look, near=near, season=season)
        case "building":
            return building(kind, look, near=near)
        case "traffic sign":
            return traffic_sign(kind, value, near=near)
        case "traffic light":
            return traffic_light(kind, near=near)
        case _:
            return street_lamp(near=near)
