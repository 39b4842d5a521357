"""Shadows and pools of lamp light on the ground, as soft masks in image space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import cv2
import numpy as np

from roadworthy.world.arrays import Array, Bytes, vector
from roadworthy.world.conditions import Light
from roadworthy.world.painter import NEAR
from roadworthy.world.placement import Placed
from roadworthy.world.raster import Raster
from roadworthy.world.shapes import LAMP_HEAD

_TURN = np.linspace(0, 2 * np.pi, 12, endpoint=False)
_CIRCLE = vector(np.stack([np.cos(_TURN), np.sin(_TURN)], axis=-1))
_SHADOWS_UNTIL = 75.0
_CAST_LENGTH = 14.0  # metres; a low sun would otherwise throw shadows across the whole picture
_ON_POLES = frozenset({"pole", "traffic sign", "traffic light"})
_CONTACT = {"vehicle": 235, "tree": 150}


class _GroundShapes:
    """Collects convex shapes on the ground, projects them all at once and fills them into masks."""

    def __init__(self) -> None:
        self._points: list[Array] = []
        self._heights: list[float] = []
        self._targets: list[tuple[Bytes, int]] = []

    def add(self, mask: Bytes, value: int, outline: Array, height: float) -> None:
        self._points.append(outline)
        self._heights.append(height)
        self._targets.append((mask, value))

    def fill(self, raster: Raster) -> None:
        if not self._points:
            return
        sizes = np.array([len(p) for p in self._points])
        ground = np.empty((int(sizes.sum()), 3), dtype=np.float32)
        ground[:, :2] = np.concatenate(self._points)
        ground[:, 2] = np.repeat(vector(self._heights), sizes)
        points = raster.view.to_camera(ground)
        camera = raster.camera
        projection = camera.projection()
        visible = points[:, 2] >= NEAR
        pixel = points[:, :2] * (projection.focal / np.maximum(points[:, 2:], NEAR))
        pixel += vector(projection.centre)
        np.clip(pixel, -8000, 8000, out=pixel)
        fixed = np.rint(pixel * 16).astype(np.int32)
        last = np.cumsum(sizes)
        first = last - sizes
        whole = np.logical_and.reduceat(visible, first)
        low, high = np.minimum.reduceat(fixed, first), np.maximum.reduceat(fixed, first)
        seen = (high >= 0).all(axis=1) & (low[:, 0] < camera.width * 16) & (low[:, 1] < camera.height * 16)
        rows = np.flatnonzero(seen)
        for i, start, end, all_of_it in zip(
            rows.tolist(), first[rows].tolist(), last[rows].tolist(), whole[rows].tolist(), strict=True
        ):
            outline = fixed[start:end] if all_of_it else fixed[start:end][visible[start:end]]
            if len(outline) >= 3:
                mask, value = self._targets[i]
                # Only quads are known to go round in order.
                hull = cv2.convexHull(outline) if end - start > 4 else outline
                cv2.fillConvexPoly(mask, hull, value, cv2.LINE_AA, 4)


@lru_cache(maxsize=8192)
def _footprint(size: tuple[float, float], at: tuple[float, float], heading: float) -> Array:
    """Corners of a footprint on the ground."""
    length, width = size[0] / 2, size[1] / 2
    cos, sin = math.cos(heading), math.sin(heading)
    local = vector([[-length, -width], [-length, width], [length, width], [length, -width]])
    return vector(at) + local @ vector([[cos, sin], [sin, -cos]])


def ground_masks(
    shape: tuple[int, ...], raster: Raster, light: Light, *, lamps: bool
) -> tuple[Bytes, Bytes, Bytes]:
    """Return masks (0 none … 255 full) of contact shadows, shadows cast by the sun, and light of lamps."""
    contact, cast, pools = (np.zeros(shape, dtype=np.uint8) for _ in range(3))
    shapes = _GroundShapes()
    sunny = light.shadow > 0.02
    _add_shadows(shapes, contact, cast if sunny else None, raster, light)
    if lamps:
        _add_pools(shapes, pools, raster.geometry.things)
    shapes.fill(raster)
    if sunny:
        cast = _blurred(cast, (3, 3))
    if lamps:
        size = max(3, shape[1] // 32) | 1
        pools = _blurred(pools, (size, max(3, size // 3) | 1))
    return _blurred(contact, (3, 3)), cast, pools


def _add_shadows(
    shapes: _GroundShapes, contact: Bytes, cast: Bytes | None, raster: Raster, light: Light
) -> None:
    sun = light.sun_direction.tolist()
    reach = (-sun[0] / max(sun[2], 0.05), -sun[1] / max(sun[2], 0.05))
    placement = raster.geometry.placement
    away = placement.base[:, :2] - raster.view.origin[:2]
    near = np.flatnonzero(away[:, 0] ** 2 + away[:, 1] ** 2 <= _SHADOWS_UNTIL**2)
    for row, (x, y, z) in zip(near.tolist(), placement.base[near].tolist(), strict=True):
        thing, mesh, _, heading = placement.things[row]
        element = thing.element
        # A cut-out turns with the camera; its shadow does not.
        if mesh.upright:
            heading = 0.0
        if element != "building":
            size = (0.25, 0.25) if element in _ON_POLES else mesh.footprint
            shapes.add(contact, _CONTACT.get(element, 190), _footprint(size, (x, y), heading), z)
        if cast is not None:
            for outline in _cast(element, thing.kind, mesh.height, mesh.footprint, (x, y), heading, reach):
                shapes.add(cast, mesh.shadow, outline, z)


def _add_pools(shapes: _GroundShapes, mask: Bytes, things: Sequence[Placed]) -> None:
    """Add the light of street lamps and of other vehicles' headlights on the ground."""
    spots = []
    for placed in things:
        if placed.thing.element == "pole":
            spots.append((placed.to_world((0.0, LAMP_HEAD[1], 0.0)), 7.0))
        elif placed.thing.element == "vehicle":
            spots.append((placed.to_world((placed.mesh.footprint[0] / 2 + 3.2, 0.0, 0.0)), 3.4))
    if not spots:
        return
    middle = vector([place[:2] for place, _ in spots])[:, None]
    circles = _CIRCLE * vector([radius for _, radius in spots])[:, None, None]
    # From dim to bright, so that where pools overlap the brightest light is seen.
    for value, share in ((60, 1.0), (110, 0.66), (170, 0.36)):
        for outline, (place, _) in zip(middle + circles * np.float32(share), spots, strict=True):
            shapes.add(mask, value, outline, place[2])


def _blurred(mask: Bytes, size: tuple[int, int]) -> Bytes:
    return np.asarray(cv2.blur(mask, size), dtype=np.uint8)


@lru_cache(maxsize=8192)
def _cast(
    element: str,
    kind: str,
    height: float,
    size: tuple[float, float],
    at: tuple[float, float],
    heading: float,
    reach: tuple[float, float],
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
        crown = (
            base
            + throw * 0.62
            + _CIRCLE[:, :1] * (along * length * 0.38)
            + _CIRCLE[:, 1:] * (across * radius)
        )
        return crown, _strip(base, base + throw * 0.4, across * 0.18)
    if element in _ON_POLES:
        return (_strip(base, base + throw, across * 0.09),)
    foot = _footprint(size, at, heading)
    return (np.vstack([foot, foot + throw]),)


def _strip(start: Array, end: Array, half: Array) -> Array:
    return np.stack([start - half, start + half, end + half, end - half])
