"""Shadows and pools of lamp light on the ground, as soft masks in image space."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np

from roadworthy.world.arrays import Array, Bytes, vector
from roadworthy.world.conditions import Light
from roadworthy.world.painter import NEAR
from roadworthy.world.raster import Raster
from roadworthy.world.shapes import LAMP_HEAD

__all__ = ["lamp_pools", "shadow_masks"]


_TURN = np.linspace(0, 2 * np.pi, 12, endpoint=False)
_CIRCLE = vector(np.stack([np.cos(_TURN), np.sin(_TURN)], axis=-1))
_SHADOWS_UNTIL = 75.0
_CAST_LENGTH = 14.0  # metres; a low sun would otherwise throw shadows across the whole picture
_ON_POLES = frozenset({"pole", "traffic sign", "traffic light"})
_CONTACT = {"vehicle": 235, "tree": 150}


class _GroundShapes:
    """Collects outlines on the ground, projects them all at once and fills them into masks."""

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
        sizes = [len(p) for p in self._points]
        ground = np.empty((sum(sizes), 3), dtype=np.float32)
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
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        whole = np.logical_and.reduceat(visible, first).tolist()
        low, high = np.minimum.reduceat(fixed, first), np.maximum.reduceat(fixed, first)
        seen = (high >= 0).all(axis=1) & (low[:, 0] < camera.width * 16) & (low[:, 1] < camera.height * 16)
        for i in np.flatnonzero(seen).tolist():
            start, end = int(first[i]), int(first[i]) + sizes[i]
            outline = fixed[start:end] if whole[i] else fixed[start:end][visible[start:end]]
            if len(outline) >= 3:
                mask, value = self._targets[i]
                cv2.fillConvexPoly(mask, cv2.convexHull(outline), value, cv2.LINE_AA, 4)


@lru_cache(maxsize=8192)
def _footprint(size: tuple[float, float], at: tuple[float, float], heading: float) -> Array:
    """Corners of a footprint on the ground."""
    length, width = size[0] / 2, size[1] / 2
    cos, sin = math.cos(heading), math.sin(heading)
    local = vector([[-length, -width], [-length, width], [length, width], [length, -width]])
    return vector(at) + local @ vector([[cos, sin], [sin, -cos]])


def shadow_masks(shape: tuple[int, ...], raster: Raster, light: Light) -> tuple[Bytes, Bytes]:
    """Return masks (0 none … 255 full) of contact shadows and of shadows cast by the sun."""
    contact = np.zeros(shape, dtype=np.uint8)
    cast = np.zeros(shape, dtype=np.uint8)
    sunny = light.shadow > 0.02
    sun = light.sun_direction.tolist()
    reach = (-sun[0] / max(sun[2], 0.05), -sun[1] / max(sun[2], 0.05))
    eye_x, eye_y, _ = raster.view.origin.tolist()
    shapes = _GroundShapes()
    for placed in raster.geometry.things:
        x, y, z = placed.base.tolist()
        if (x - eye_x) ** 2 + (y - eye_y) ** 2 > _SHADOWS_UNTIL**2:
            continue
        element, mesh = placed.thing.element, placed.mesh
        # A cut-out turns with the camera; its shadow does not.
        heading = 0.0 if mesh.upright else placed.heading
        if element != "building":
            size = (0.25, 0.25) if element in _ON_POLES else mesh.footprint
            shapes.add(contact, _CONTACT.get(element, 190), _footprint(size, (x, y), heading), z)
        if sunny:
            for outline in _cast(
                element, placed.thing.kind, mesh.height, mesh.footprint, (x, y), heading, reach
            ):
                shapes.add(cast, 230, outline, z)
    shapes.fill(raster)
    return _blurred(contact, (3, 3)), _blurred(cast, (3, 3)) if sunny else cast


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


def lamp_pools(shape: tuple[int, ...], raster: Raster) -> Bytes:
    """Return the light of street lamps and of other vehicles' headlights on the ground, 0 to 255."""
    bright, middle, wide = (np.zeros(shape, dtype=np.uint8) for _ in range(3))
    shapes = _GroundShapes()
    for placed in raster.geometry.things:
        if placed.thing.element == "pole":
            spot, radius = placed.to_world((0.0, LAMP_HEAD[1], 0.0)), 7.0
        elif placed.thing.element == "vehicle":
            spot, radius = placed.to_world((placed.mesh.footprint[0] / 2 + 3.2, 0.0, 0.0)), 3.4
        else:
            continue
        for mask, value, share in ((wide, 60, 1.0), (middle, 110, 0.66), (bright, 170, 0.36)):
            shapes.add(mask, value, spot[:2] + _CIRCLE * (radius * share), float(spot[2]))
    shapes.fill(raster)
    pools = np.maximum(np.maximum(wide, middle), bright)
    size = max(3, shape[1] // 32) | 1
    return _blurred(pools, (size, max(3, size // 3) | 1))
