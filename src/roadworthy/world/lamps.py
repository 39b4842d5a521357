"""Lamps that are lit, and the shadows that things cast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress

import cv2
import numpy as np

from roadworthy.world.camera import Array, Bytes, vector
from roadworthy.world.conditions import Light
from roadworthy.world.ground import Placed
from roadworthy.world.mesh import Mesh, Pair, Point
from roadworthy.world.painter import NEAR, project
from roadworthy.world.raster import Raster
from roadworthy.world.shapes.signs import LAMP_HEAD, SIGNAL_LAMPS

_TURN = np.linspace(0, 2 * np.pi, 12, endpoint=False)
_CIRCLE = vector(np.stack([np.cos(_TURN), np.sin(_TURN), 0 * _TURN], axis=-1))
_SHADOWS_UNTIL = 75.0
_CAST_LENGTH = 14.0  # metres; a low sun would otherwise throw shadows across the whole picture
_ON_POLES = frozenset({"pole", "traffic sign", "traffic light"})
_CONTACT = {"vehicle": 235, "tree": 150}
_FARTHEST = 8000  # pixels; corners farther out than this are cut back


# Corners on the ground, in which mask it is filled, and with which value.
_Shape = tuple[Array, int, int]
_INTO_CONTACT, _INTO_CAST, _INTO_POOLS = range(3)


def _fill(shapes: Sequence[_Shape], masks: Sequence[Bytes], raster: Raster) -> None:
    """Project convex shapes on the ground all at once, and fill them into masks."""
    if not shapes:
        return
    outlines, into, values = zip(*shapes, strict=True)
    sizes = np.array([len(outline) for outline in outlines])
    last = np.cumsum(sizes)
    first = last - sizes
    camera = raster.camera
    points = raster.view.to_camera(np.concatenate(outlines))
    fixed, low, high = project(points, first, camera.projection(), _FARTHEST)
    visible = points[:, 2] >= NEAR
    whole = np.logical_and.reduceat(visible, first)
    low, high = np.rint(low * 16), np.rint(high * 16)
    seen = (high[0] >= 0) & (high[1] >= 0) & (low[0] < camera.width * 16) & (low[1] < camera.height * 16)
    spans = zip(first.tolist(), last.tolist(), whole.tolist(), into, values, strict=True)
    for start, end, complete, mask, value in compress(spans, seen.tolist()):
        outline = fixed[start:end] if complete else fixed[start:end][visible[start:end]]
        if len(outline) >= 3:
            # Only quads are known to go round in order.
            hull = cv2.convexHull(outline) if end - start > 4 else outline
            cv2.fillConvexPoly(masks[mask], hull, value, cv2.LINE_AA, 4)


def ground_masks(
    shape: tuple[int, ...], raster: Raster, light: Light, *, lamps: bool
) -> tuple[Bytes, Bytes, Bytes]:
    """Return masks (0 none … 255 full) of contact shadows, shadows cast by the sun, and light of lamps."""
    masks = contact, cast, pools = [np.zeros(shape, dtype=np.uint8) for _ in range(3)]
    sunny = light.shadow > 0.02
    shapes = _all_shadows(raster, light, sunny=sunny)
    if lamps:
        shapes += _pools(raster.geometry.things)
    _fill(shapes, masks, raster)
    if sunny:
        cast = _blurred(cast, (3, 3))
    if lamps:
        size = max(3, shape[1] // 32) | 1
        pools = _blurred(pools, (size, max(3, size // 3) | 1))
    return _blurred(contact, (3, 3)), cast, pools


def _all_shadows(raster: Raster, light: Light, *, sunny: bool) -> list[_Shape]:
    """Return the shadows under all things that are near, and those that the sun throws."""
    sun = light.sun_direction.tolist()
    reach = (-sun[0] / max(sun[2], 0.05), -sun[1] / max(sun[2], 0.05)) if sunny else None
    placement = raster.geometry.placement
    away = placement.base[:, :2] - raster.view.origin[:2]
    near = np.flatnonzero(away[:, 0] ** 2 + away[:, 1] ** 2 <= _SHADOWS_UNTIL**2)
    shapes: list[_Shape] = []
    for row, (x, y, z) in zip(near.tolist(), placement.base[near].tolist(), strict=True):
        thing, mesh, _, heading = placement.things[row]
        # A cut-out turns with the camera; its shadow does not.
        heading = 0.0 if mesh.upright else heading
        shapes += _shadows(mesh, thing.element, thing.kind, (x, y, z), heading, reach)
    return shapes


@lru_cache(maxsize=16384)
def _shadows(
    mesh: Mesh, element: str, kind: str, at: Point, heading: float, reach: Pair | None
) -> tuple[_Shape, ...]:
    """Return the shadows of a thing; ``reach`` is the length of those in the sun per metre of height."""
    *place, height = at
    outlines = []
    if element != "building":
        size = (0.25, 0.25) if element in _ON_POLES else mesh.footprint
        outlines.append((_footprint(size, place, heading), _INTO_CONTACT, _CONTACT.get(element, 190)))
    if reach is not None:
        cast = _cast(element, kind, mesh.height, mesh.footprint, place, heading, reach)
        outlines += [(outline, _INTO_CAST, mesh.shadow) for outline in cast]
    return tuple((np.insert(outline, 2, height, axis=1), into, value) for outline, into, value in outlines)


def _footprint(size: Pair, at: Sequence[float], heading: float) -> Array:
    """Corners of a footprint on the ground."""
    length, width = size[0] / 2, size[1] / 2
    cos, sin = math.cos(heading), math.sin(heading)
    local = vector([[-length, -width], [-length, width], [length, width], [length, -width]])
    return vector(at) + local @ vector([[cos, sin], [sin, -cos]])


def _pools(things: Sequence[Placed]) -> list[_Shape]:
    """Return the light of street lamps and of other vehicles' headlights on the ground."""
    spots = []
    for placed in things:
        if placed.thing.element == "pole":
            spots.append((placed.to_world((0.0, LAMP_HEAD[1], 0.0)), 7.0))
        elif placed.thing.element == "vehicle":
            spots.append((placed.to_world((placed.mesh.footprint[0] / 2 + 3.2, 0.0, 0.0)), 3.4))
    middle = vector([place for place, _ in spots]).reshape(-1, 1, 3)
    circles = _CIRCLE * vector([radius for _, radius in spots])[:, None, None]
    # From dim to bright, so that where pools overlap the brightest light is seen.
    shapes = []
    for value, share in ((60, 1.0), (110, 0.66), (170, 0.36)):
        shapes += [(outline, _INTO_POOLS, value) for outline in middle + circles * np.float32(share)]
    return shapes


def _blurred(mask: Bytes, size: tuple[int, int]) -> Bytes:
    return np.asarray(cv2.blur(mask, size), dtype=np.uint8)


def _cast(
    element: str, kind: str, height: float, size: Pair, at: Sequence[float], heading: float, reach: Pair
) -> tuple[Array, ...]:
    """Outlines of the shadow that the sun throws; ``reach`` is its length per metre of height."""
    throw = vector(reach) * height
    length = max(float(np.hypot(throw[0], throw[1])), 1e-6)
    along = throw / length
    length = min(length, _CAST_LENGTH)
    throw = along * length
    across = vector([-along[1], along[0]])
    base = vector(at)
    if element == "tree":
        radius = 0.9 if kind == "bush" else 0.24 * height
        long, wide = _CIRCLE[:, :1] * (along * length * 0.38), _CIRCLE[:, 1:2] * (across * radius)
        return base + throw * 0.62 + long + wide, _strip(base, base + throw * 0.4, across * 0.18)
    if element in _ON_POLES:
        return (_strip(base, base + throw, across * 0.09),)
    foot = _footprint(size, at, heading)
    return (np.vstack([foot, foot + throw]),)


def _strip(start: Array, end: Array, half: Array) -> Array:
    return np.stack([start - half, start + half, end + half, end - half])


_LAMPS_FROM = 0.3  # effect of lamps below which their light drowns in that of the day


@dataclass(frozen=True, eq=False)
class Influence:
    """Shadows and lamp light at each pixel, 0 (none) to 255.

    Attributes:
        contact: Darkness under things that touch the ground.
        cast: Shadows thrown by the sun.
        pools: Light of lamps on the ground; None by day.
        halos: RGB of the glow round lamps; None by day.
    """

    contact: Bytes
    cast: Bytes
    pools: Bytes | None = None
    halos: Bytes | None = None

    @classmethod
    def of(cls, raster: Raster, ground: Bytes, light: Light) -> Influence:
        """Find the influence of all things in view; ``ground`` is 1 where the ground is seen, else 0."""
        lamps = light.lamps > _LAMPS_FROM
        contact, cast, pools = ground_masks(ground.shape, raster, light, lamps=lamps)
        contact *= ground
        cast *= ground
        if not lamps:
            return cls(contact, cast)
        # What stands in a pool of light gets a third of it.
        dimmed = pools // np.uint8(3)
        cv2.copyTo(pools, ground, dimmed)
        return cls(contact, cast, dimmed, halos(ground.shape, raster, light))


_WARM = (1.0, 0.80, 0.50)
_WHITE = (1.0, 0.97, 0.88)
_RED = (1.0, 0.16, 0.12)
_SIGNALS = {"red": _RED, "yellow": (1.0, 0.75, 0.2), "green": (0.25, 1.0, 0.5)}
_SHINING = frozenset({"pole", "traffic light", "vehicle"})
_HALOS_UNTIL = 160.0  # metres


def headlights(raster: Raster, depth: Array, rows: slice) -> Array:
    """Return how strongly dipped headlights reach each pixel of some rows with their depth."""
    ahead = depth.clip(np.float32(0.0), np.float32(400.0))
    # In place, so that few planes go through the cache.
    side = ahead * raster.ray_x[rows]
    side -= np.float32(0.3)
    wide = ahead * np.float32(0.2)
    wide += np.float32(2.2)
    side /= wide
    side *= side
    side += np.float32(1.0)
    # The dipped beam is cut off above the height of the lamps.
    below = raster.ray_y[rows] + np.float32(0.012)
    below *= ahead
    below += np.float32(0.2)
    np.abs(below, out=wide)
    wide += np.float32(0.5)
    below /= wide
    below *= np.float32(1.5 * 0.39)
    below += np.float32(1.5 * 0.61)
    ahead *= np.float32(1 / 17)
    ahead *= ahead
    ahead += np.float32(1.0)
    ahead *= side
    ahead *= side
    below /= ahead
    return below


@lru_cache(maxsize=256)
def _sprite(radius: int, color: tuple[float, float, float], strength: float) -> Bytes:
    """Return a halo as RGB."""
    axis = np.linspace(-1, 1, 2 * radius + 1, dtype=np.float32)
    distance = np.hypot(axis[:, None], axis[None, :])
    glow: Array = np.clip(1 - distance, 0, 1) ** 2.2
    return (glow[..., None] * (vector(color) * np.float32(strength))).astype(np.uint8)


def _sources(placed: Placed, towards_us: bool) -> list[tuple[Point, tuple[float, float, float], float]]:
    """Lamps of a thing that shine our way: local position, colour and size in metres."""
    thing = placed.thing
    if thing.element == "pole":
        return [(LAMP_HEAD, _WARM, 1.5)]
    if thing.element == "traffic light":
        return [((-0.2, 0.0, SIGNAL_LAMPS[thing.kind]), _SIGNALS[thing.kind], 0.9)]
    length, width = placed.mesh.footprint
    forward, color, size = (length / 2, _WHITE, 1.3) if towards_us else (-length / 2, _RED, 0.55)
    up = 0.68 if thing.kind == "car" else 0.92
    return [((forward, sign * (width / 2 - 0.2), up), color, size) for sign in (-1, 1)]


def halos(shape: tuple[int, ...], raster: Raster, light: Light) -> Bytes:
    """Return the glow round every lamp that the camera can see, as RGB to add to the picture."""
    height, width = shape
    glow = np.zeros((height, width, 3), dtype=np.uint8)
    view, projection = raster.view, raster.camera.projection()
    lamps = []
    for row, placed in enumerate(raster.geometry.things):
        if placed.thing.element in _SHINING:
            towards_us = math.cos(placed.heading - view.heading) < 0
            for local, color, size in _sources(placed, towards_us):
                lamps.append((row, placed.to_world(local), color, size))
    seen_at = view.to_camera(vector([place for _, place, _, _ in lamps]).reshape(-1, 3)).tolist()
    for (row, _, color, size), (x, y, z) in zip(lamps, seen_at, strict=True):
        if not NEAR < z < _HALOS_UNTIL:
            continue
        column = round(projection.centre[0] + projection.focal * x / z)
        line = round(projection.centre[1] + projection.focal * y / z)
        if not (0 <= column < width and 0 <= line < height):
            continue
        hidden = raster.inverse_depth[line, column] > 1.02 / z
        if hidden and raster.owner(line, column) != row:
            continue
        radius = int(min(width / 6, max(3.0, size * projection.focal / z)))
        top, left = line - radius, column - radius
        y0, y1 = max(0, top), min(height, top + 2 * radius + 1)
        x0, x1 = max(0, left), min(width, left + 2 * radius + 1)
        halo = _sprite(radius, color, 150 * light.lamps)[y0 - top : y1 - top, x0 - left : x1 - left]
        glow[y0:y1, x0:x1] = cv2.add(glow[y0:y1, x0:x1], halo)
    return glow
