"""Solid models of people, drawn by sphere tracing: all that is seen is a smooth distance field.

A figure is a list of parts, each a round cone, an ellipsoid, a box or a wheel with a material; parts of one
material flow into each other. Light comes from the whole sky, less of it from below and into folds, and a
little more from the sun's side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Point = tuple[float, float, float]
Color = tuple[float, float, float]

_NEAR = 0.0012  # metres from a surface at which a ray has arrived
_STEPS = 120
_TOGETHER = 2048  # points that are looked at together: what is far from all of them need not be
_CLOSE = 0.46  # metres: as far as shading looks
_TILE = 32  # pixels; rays go from tile to tile
_EYE_HEIGHT = 1.35


@dataclass(frozen=True)
class Material:
    """What a surface looks like.

    Attributes:
        color: RGB from 0 to 1, as paint under white light.
        folds: How deep its folds are, in metres.
        weave: How much its colour changes from place to place, as a share.
        shine: How much of the sky it mirrors.
        stripes: Metres between stripes, 0 for none.
    """

    color: Color
    folds: float = 0.0
    weave: float = 0.05
    shine: float = 0.0
    stripes: float = 0.0


@dataclass(frozen=True)
class Part:
    """A piece of a figure.

    Attributes:
        start, end: Metres: to the right, up and towards the viewer before the figure is turned. Both ends of
            a cone; the middle of all else.
        radii: Of a cone at both ends; half the axes of an ellipsoid; half the sides of a box, its rounding,
            and by which shares its top is narrower and shorter; radius and half the width of a wheel; radius
            of a ring and of its tube; radii of a stump below and above, and half its height.
        material: An index into the figure's materials.
        soft: How far it flows into its neighbours, in metres.
        shape: What it is.
    """

    start: Point
    end: Point
    radii: tuple[float, ...]
    material: int
    soft: float = 0.03
    shape: Literal["cone", "ellipsoid", "box", "wheel", "ring", "stump"] = "cone"

    @property
    def bounds(self) -> tuple[Point, Point]:
        """The corners of a box around it."""
        ends = [self.start, self.end] if self.shape == "cone" else [self.start]
        if self.shape == "cone":
            half: tuple[float, ...] = (max(self.radii),) * 3
        elif self.shape in ("wheel", "ring"):
            across = self.radii[0] + (self.radii[1] if self.shape == "ring" else 0)
            half = (self.radii[1], across, across)
        elif self.shape == "stump":
            half = (self.radii[0], self.radii[2], self.radii[0])
        else:
            half = self.radii[:3]
        low, high = (np.array(ends).min(0) - half, np.array(ends).max(0) + half)
        return tuple(low.tolist()), tuple(high.tolist())

    def distances(self, points: Floats) -> Floats:
        """Return how far points, a column each, are away; less than that inside a narrowing box."""
        radii = [np.float32(one) for one in self.radii]
        if self.shape == "cone":
            return _cone(
                points, np.array(self.start, np.float32), np.array(self.end, np.float32), *self.radii
            )
        x, y, z = (row - np.float32(at) for row, at in zip(points, self.start, strict=True))
        if self.shape == "ellipsoid":
            return _ellipsoid(x, y, z, *radii)
        if self.shape == "ring":
            return np.asarray(np.hypot(np.hypot(y, z) - radii[0], x) - radii[1])
        if self.shape == "stump":
            up = np.clip(y / (2 * radii[2]) + np.float32(0.5), 0, 1)
            beyond = [np.hypot(x, z) - (radii[0] + up * (radii[1] - radii[0])), np.abs(y) - radii[2]]
            return np.float32(0.9) * _outside(beyond)
        rounding = np.float32(0.03) if self.shape == "wheel" else radii[3]
        if self.shape == "wheel":
            beyond = [np.hypot(y, z) - (radii[0] - rounding), np.abs(x) - (radii[1] - rounding)]
            return _outside(beyond) - rounding
        up = np.clip(y / (2 * radii[1]) + np.float32(0.5), 0, 1)
        sides = (radii[0] * (1 - radii[4] * up), radii[1], radii[2] * (1 - radii[5] * up))
        beyond = [np.abs(at) - (half - rounding) for at, half in zip((x, y, z), sides, strict=True)]
        return np.float32(0.8) * (_outside(beyond) - rounding)


@dataclass(frozen=True)
class Figure:
    """Parts and materials of something solid, standing on the ground at the origin."""

    parts: Sequence[Part]
    materials: Sequence[Material]
    height: float
    width: float = field(default=1.2)
    reach: float = 1.6  # metres from the middle within which it lies
    distance: float = 11.0  # from which it is looked at


def _cone(points: Floats, start: Floats, end: Floats, first: float, last: float) -> Floats:
    """Return the distance to a round cone; exact for equal radii and near enough for others."""
    along = end - start
    x, y, z = points - start[:, None]
    share = np.clip((x * along[0] + y * along[1] + z * along[2]) / max(float(along @ along), 1e-9), 0, 1)
    gap = np.sqrt((x - share * along[0]) ** 2 + (y - share * along[1]) ** 2 + (z - share * along[2]) ** 2)
    return np.asarray(gap - (np.float32(first) + np.float32(last - first) * share), np.float32)


def _outside(beyond: Sequence[Floats]) -> Floats:
    """Return the distance to a box, given how far points are beyond its sides, negative inside."""
    inside = np.minimum(reduce(np.maximum, beyond), 0)
    return np.asarray(np.sqrt(sum(np.maximum(one, 0) ** 2 for one in beyond)) + inside, np.float32)


def _ellipsoid(x: Floats, y: Floats, z: Floats, *axes: np.float32) -> Floats:
    scaled = [at / axis for at, axis in zip((x, y, z), axes, strict=True)]
    length = np.sqrt(sum(one * one for one in scaled))
    slope = np.sqrt(sum((one / axis) ** 2 for one, axis in zip(scaled, axes, strict=True)))
    distance = length * (length - 1) / np.maximum(slope, np.float32(1e-6))
    return np.asarray(np.where(length < 1e-6, -min(axes), distance), np.float32)


def _noise(points: Floats, scale: float, seed: int) -> Floats:
    """Return smooth noise from -1 to 1: a few waves in random directions."""
    rng = np.random.default_rng(seed)
    total = np.zeros(len(points), np.float32)
    for _ in range(6):
        direction = rng.normal(size=3)
        direction *= rng.uniform(0.6, 1.7) * 2 * math.pi / scale / np.linalg.norm(direction)
        total += np.sin(points @ direction.astype(np.float32) + np.float32(rng.uniform(0, 7)))
    return np.asarray(total / 6, np.float32)


class _Field:
    """The distance to a figure, and the material at a place."""

    def __init__(self, figure: Figure, turn: float, seed: int) -> None:
        cosine, sine = math.cos(turn), math.sin(turn)
        # Columns: the figure's axes as the viewer sees them.
        self.turned = np.array([[cosine, 0, -sine], [0, 1, 0], [sine, 0, cosine]], np.float32)
        self.figure, self.seed = figure, seed
        self.folds = np.array([one.folds for one in figure.materials], np.float32)
        bounds = np.array([part.bounds for part in figure.parts], np.float32)
        self.low, self.high = bounds[:, 0], bounds[:, 1]

    def distances(self, points: Floats) -> tuple[Floats, NDArray[np.intp]]:
        """Return distance and material of points in the viewer's axes; neighbours must follow each other."""
        best = np.empty(len(points), np.float32)
        material = np.empty(len(points), np.intp)
        for start in range(0, len(points), _TOGETHER):
            some = slice(start, start + _TOGETHER)
            best[some], material[some] = self._near(points[some])
        return best, material

    def _near(self, points: Floats) -> tuple[Floats, NDArray[np.intp]]:
        """Return distance and material of a few points, by the parts that are close to any of them."""
        own = np.ascontiguousarray((points @ self.turned).T)
        apart = np.maximum(self.low - own.max(1), own.min(1) - self.high)
        away = np.linalg.norm(np.maximum(apart, 0), axis=1)
        close = away < _CLOSE
        beyond = np.float32(away[~close].min(initial=9.0))
        by_material = np.full((len(self.figure.materials), len(points)), beyond, np.float32)
        for number in np.flatnonzero(close).tolist():
            part = self.figure.parts[number]
            found = part.distances(own)
            before = by_material[part.material]
            # A smooth minimum: the parts of a sleeve or a body are one surface.
            mixed = np.clip(0.5 + 0.5 * (before - found) / part.soft, 0, 1)
            by_material[part.material] = (
                before + (found - before) * mixed - part.soft * mixed * (1 - mixed)
            ).astype(np.float32)
        material = by_material.argmin(0)
        best = by_material.min(0)
        near = best < 0.06
        if near.any():
            depth = self.folds[material[near]]
            if depth.any():
                crease = own[:, near].T
                best[near] += depth * (
                    _noise(crease, 0.16, self.seed) + 0.5 * _noise(crease, 0.07, self.seed + 1)
                )
        return best, material


def rendered(
    figures: Sequence[Figure], *, turn: float, height: int, seed: int, sun: float = 0.25
) -> list[NDArray[np.uint8]]:
    """Return figures of the same parts and other materials as RGBA, as a car's camera sees them.

    Args:
        figures: What is drawn.
        turn: Degrees that it is turned to its left; 0 looks at the viewer.
        height: Of the pictures, in pixels.
        seed: Of folds and weave.
        sun: How much stronger the light from the upper left is than the rest.
    """
    figure = figures[0]
    fine, coarse = 2, 8
    # What is nearer than the middle is seen larger, and reaches farther up and down.
    larger = figure.distance / (figure.distance - figure.reach)
    lowest = _EYE_HEIGHT * (1 - larger)
    highest = max(figure.height * 1.06, _EYE_HEIGHT + (figure.height - _EYE_HEIGHT) * larger)
    pixel = figure.height / (height * fine)
    tall = math.ceil((highest - lowest) / pixel / _TILE) * _TILE
    wide = math.ceil(figure.width / pixel / _TILE) * _TILE
    eye = np.array([0, _EYE_HEIGHT, figure.distance], np.float32)
    solid = _Field(figure, math.radians(turn), seed)
    start = np.full((tall // coarse, wide // coarse), figure.distance - figure.reach, np.float32)
    far = figure.distance + figure.reach
    rough, _ = _traced(
        solid, eye, _rays(eye, start.shape, pixel * coarse, lowest), start.ravel(), far, pixel * coarse
    )
    # Beside a hit there may be another one nearer, by less than it is wide.
    near = cv2.erode(rough.reshape(start.shape), np.ones((3, 3), np.uint8)) - 3 * pixel * coarse
    order = _tiled(tall, wide)
    begin = np.asarray(cv2.resize(near, (wide, tall), interpolation=cv2.INTER_NEAREST), np.float32)
    rays = _rays(eye, (tall, wide), pixel, lowest)[order]
    travelled, hit = _traced(solid, eye, rays, begin.ravel()[order], far, _NEAR)
    points = eye + rays[hit] * travelled[hit, None]
    light, glint, material = _lit(solid, points, -rays[hit], sun)
    pictures = []
    for one in figures:
        rgba = np.zeros((tall * wide, 4), np.float32)
        colors = _painted(one, solid, points, material) * light[:, None] + glint
        rgba[order[hit]] = np.concatenate([colors, np.ones((len(colors), 1), np.float32)], 1)
        pictures.append(_cropped(rgba.reshape(tall, wide, 4), fine))
    return pictures


def _tiled(tall: int, wide: int) -> NDArray[np.intp]:
    """Return the pixels of an image, tile after tile."""
    numbers = np.arange(tall * wide).reshape(tall // _TILE, _TILE, wide // _TILE, _TILE)
    return np.asarray(numbers.transpose(0, 2, 1, 3).ravel(), np.intp)


def _rays(eye: Floats, shape: tuple[int, int], pixel: float, lowest: float) -> Floats:
    """Return the directions from the eye through the pixels of a plane above the origin, from a height on."""
    rows, columns = np.mgrid[: shape[0], : shape[1]].astype(np.float32)
    x = (columns.ravel() + 0.5 - shape[1] / 2) * pixel
    y = (shape[0] - rows.ravel() - 0.5) * pixel + lowest
    rays = np.stack([x, y, np.zeros_like(x)], 1) - eye
    return np.asarray(rays / np.linalg.norm(rays, axis=1, keepdims=True), np.float32)


def _traced(
    solid: _Field, eye: Floats, rays: Floats, begin: Floats, far: float, near: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return how far rays go until something is near, and whether it is; what begins too far stays."""
    travelled = begin.astype(np.float32).copy()
    hit = np.zeros(len(rays), np.bool_)
    alive = np.flatnonzero(travelled < far - 1e-3)
    for _ in range(_STEPS):
        if not len(alive):
            break
        gap, _ = solid.distances(eye + rays[alive] * travelled[alive, None])
        arrived = gap < near
        hit[alive[arrived]] = True
        travelled[alive] += np.where(arrived, 0, gap * 0.8).astype(np.float32)
        alive = alive[~arrived & (travelled[alive] < far)]
    travelled[~hit] = far + 99
    return travelled, hit


def _cropped(picture: Floats, fine: int) -> NDArray[np.uint8]:
    picture[..., :3] *= picture[..., 3:]
    size = (picture.shape[1] // fine, picture.shape[0] // fine)
    small = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.float32)
    small[..., :3] /= np.maximum(small[..., 3:], 1e-3)
    columns = np.flatnonzero((small[..., 3] > 0.02).any(0))
    rows = np.flatnonzero((small[..., 3] > 0.02).any(1))
    small = small[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    # From light to what a screen shows.
    small[..., :3] = np.clip(small[..., :3], 0, 1) ** (1 / 2.2)
    return np.asarray(np.rint(small * 255), np.uint8)


def _lit(solid: _Field, points: Floats, views: Floats, sun: float) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return how much light reaches places, the colours that they mirror, and their materials."""
    step = 0.004
    # Four corners of a cube tell the slope as well as six faces.
    corners = np.array([[1, -1, -1], [-1, -1, 1], [-1, 1, -1], [1, 1, 1]], np.float32)
    normals: Floats = sum(
        corner * solid.distances(points + corner * np.float32(step))[0][:, None] for corner in corners
    )
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-6)
    _, material = solid.distances(points)
    # How much of the sky a place sees: less where something is close in front of it.
    free = np.ones(len(points), np.float32)
    for away in (0.03, 0.08, 0.16, 0.3):
        free *= np.clip(0.45 + 0.55 * solid.distances(points + normals * np.float32(away))[0] / away, 0, 1)
    sky = 0.5 + 0.5 * normals[:, 1]
    ground = np.clip(-normals[:, 1], 0, 1) * 0.25 + 0.12 * (1 - sky)
    light = 0.85 * sky * free + ground * free + 0.05
    direction: Floats = np.array([-0.55, 0.7, 0.45], np.float32)
    direction /= np.linalg.norm(direction)
    side = np.clip(normals @ direction, 0, 1)
    shade = np.ones(len(points), np.float32)
    for away in (0.05, 0.12, 0.25, 0.45):
        shade = np.minimum(
            shade, np.clip(8 * solid.distances(points + direction * np.float32(away))[0] / away, 0, 1)
        )
    light = light * (1 - sun * 0.5) + sun * 1.7 * side * shade
    shine = np.array([one.shine for one in solid.figure.materials], np.float32)[material]
    facing = np.abs((normals * views).sum(1))
    mirrored = 2 * facing[:, None] * normals - views
    # Fresnel's law, nearly: what is looked at flatly mirrors more.
    share = shine * (0.07 + 0.93 * (1 - facing) ** 5) * (0.35 + 0.65 * free)
    return light.astype(np.float32), share[:, None].astype(np.float32) * _around(mirrored), material


def _around(directions: Floats) -> Floats:
    """Return what is seen in directions from a street: sky, a dark line of houses and trees, the road."""
    up = directions[:, 1]
    skyline = 0.10 + 0.05 * np.sin(7 * np.arctan2(directions[:, 0], directions[:, 2]))
    sky = np.array([0.80, 0.90, 1.0], np.float32) * (1.5 - 0.6 * np.clip(up, 0, 1))[:, None]
    houses = np.array([0.16, 0.16, 0.15], np.float32)
    road = np.array([0.20, 0.20, 0.20], np.float32) * (1 - 0.5 * np.clip(-up, 0, 1))[:, None]
    seen = _step((up - skyline) / 0.06)[:, None] * (sky - houses) + houses
    return np.asarray(seen + _step((-up - 0.02) / 0.05)[:, None] * (road - seen), np.float32)


def _step(value: Floats) -> Floats:
    share = np.clip(value * 0.5 + 0.5, 0, 1)
    return np.asarray(share * share * (3 - 2 * share), np.float32)


def _painted(figure: Figure, solid: _Field, points: Floats, material: NDArray[np.intp]) -> Floats:
    """Return the colours of places as paint, without light."""
    materials = figure.materials
    paint = np.array([one.color for one in materials], np.float32)[material] ** np.float32(2.2)
    weave = np.array([one.weave for one in materials], np.float32)[material]
    own = points @ solid.turned
    uneven = _noise(own, 0.05, solid.seed + 2) + 0.6 * _noise(own, 0.3, solid.seed + 3)
    paint = paint * (1 + weave * uneven)[:, None]
    stripes = np.array([one.stripes for one in materials], np.float32)[material]
    striped = (stripes > 0) & (np.modf(own[:, 1] / np.maximum(stripes, 1e-3))[0] > 0.5)
    return np.asarray(np.where(striped[:, None], paint * 0.35 + 0.3, paint), np.float32)


SKINS = ((0.93, 0.78, 0.68), (0.87, 0.68, 0.55), (0.76, 0.55, 0.41), (0.55, 0.38, 0.27), (0.38, 0.26, 0.19))
HAIRS = ((0.13, 0.10, 0.09), (0.25, 0.16, 0.10), (0.45, 0.32, 0.20), (0.62, 0.52, 0.38), (0.55, 0.54, 0.53))
TOPS = (
    (0.16, 0.19, 0.26), (0.12, 0.12, 0.13), (0.45, 0.46, 0.47), (0.42, 0.14, 0.14), (0.20, 0.30, 0.24),
    (0.78, 0.76, 0.72), (0.22, 0.33, 0.48), (0.50, 0.42, 0.32), (0.60, 0.40, 0.22), (0.30, 0.22, 0.33),
)  # fmt: skip
LEGS = ((0.20, 0.25, 0.36), (0.13, 0.13, 0.15), (0.42, 0.38, 0.32), (0.30, 0.31, 0.33), (0.28, 0.34, 0.45))


BRIGHT = (
    (0.62, 0.16, 0.16), (0.16, 0.30, 0.58), (0.75, 0.58, 0.16), (0.22, 0.46, 0.28), (0.66, 0.34, 0.46),
    (0.80, 0.79, 0.76), (0.30, 0.52, 0.60), (0.70, 0.38, 0.16),
)  # fmt: skip
CHILD = (0.98, 1.42)  # metres: from four to eleven years


def person(
    rng: np.random.Generator, *, walking: bool = True, child: float = 0.0, pushing: bool = False
) -> Figure:
    """Return somebody: tall or small, slim or stout, walking or standing, in everyday clothes.

    Args:
        rng: Draws all that differs.
        walking: Or standing.
        child: From the youngest, above 0, to the oldest, 1; 0 is an adult. The head of a child of four is a
            fifth of its height, that of an adult a seventh and a half.
        pushing: Whether both hands are in front, as on a bar.
    """
    height = float(np.clip(rng.normal(1.71, 0.085), 1.5, 1.92))
    stout = float(np.clip(rng.normal(1.0, 0.09), 0.85, 1.25))
    large = broad = legged = 1.0
    if child:
        height, large = CHILD[0] + child * (CHILD[1] - CHILD[0]), 1.50 - 0.25 * child
        broad, legged, stout = 1.16 - 0.08 * child, 0.86 + 0.08 * child, 1.12 * stout
    s = height / (1.75 + 0.225 * (large - 1) - 0.93 * (1 - legged))
    swing = float(rng.uniform(0.2, 0.4)) if walking else float(rng.uniform(0.0, 0.12))
    side = 1.0 if rng.random() < 0.5 else -1.0
    long_hair, coat, bag = rng.random() < 0.4, rng.random() < 0.35, rng.random() < 0.4
    shorts, sleeves = rng.random() < 0.12, rng.random() < 0.75
    coat &= not child
    skin = Material(of(rng, SKINS), 0, 0.04, 0.03)
    hair = Material(of(rng, HAIRS), 0.003, 0.22, 0.02)
    tops = BRIGHT if child else TOPS
    top = Material(of(rng, tops), 0.010, 0.10, 0.0, 0.055 if rng.random() < 0.12 else 0.0)
    legs = Material(of(rng, LEGS), 0.008, 0.14)
    shoes = Material((0.10, 0.09, 0.09) if rng.random() < 0.6 else (0.62, 0.62, 0.62), 0, 0.1, 0.05)
    luggage = Material(of(rng, tops), 0.004, 0.08)
    materials = (skin, hair, top, legs, shoes, luggage)
    parts: list[Part] = []

    def at(point: Point) -> Point:
        x, y, z = point
        return s * x, s * (legged * y if y < 0.93 else y - 0.93 * (1 - legged)), s * z

    def cone(a: Point, b: Point, first: float, last: float, material: int, soft: float = 0.03) -> None:
        scaled = [at(point) for point in (a, b)]
        radii = (first * s * stout, last * s * stout) if material in (2, 3) else (first * s, last * s)
        parts.append(Part(scaled[0], scaled[1], radii, material, soft))

    def ball(middle: Point, axes: Point, material: int, soft: float = 0.03) -> None:
        radii = tuple(s * one for one in axes)
        parts.append(Part(at(middle), at(middle), radii, material, soft, "ellipsoid"))

    def head(up: float, ahead: float, axes: Point, material: int, soft: float = 0.03) -> None:
        wide, high, deep = (large * one for one in axes)
        ball(
            (0, 1.53 + large * (up - 1.53), lean + large * ahead), (broad * wide, high, deep), material, soft
        )

    def box(middle: Point, half: Point, rounding: float) -> None:
        radii = (*(s * one for one in half), rounding, 0.1, 0.1)
        parts.append(Part(at(middle), at(middle), radii, 5, 0.02, "box"))

    lean = 0.03 if walking else 0.0
    for sign in (1.0, -1.0):
        forward = swing * side * sign
        hip = (0.095 * sign, 0.93, 0.0)
        knee = (
            0.10 * sign,
            0.50 + 0.03 * abs(forward),
            0.21 * math.sin(forward) + 0.04 * abs(forward) + 0.01,
        )
        back = min(0.0, forward)
        ankle = (
            0.10 * sign,
            0.085 + 0.10 * abs(back) * 2,
            knee[2] + 0.42 * math.sin(forward * 0.75 + 1.2 * back) - 0.02,
        )
        bare = 0 if shorts else 3
        cone(hip, knee, 0.072 if coat else 0.088, 0.062, 3, 0.04)
        cone(knee, ankle, 0.060 if bare == 3 else 0.05, 0.052 if bare == 3 else 0.038, bare, 0.03)
        toe = (ankle[0] + 0.015 * sign, max(0.035, ankle[1] - 0.05), ankle[2] + 0.14)
        cone((ankle[0], max(0.04, ankle[1] - 0.045), ankle[2] - 0.03), toe, 0.045, 0.036, 4, 0.02)
        shoulder = (0.168 * sign, 1.405, lean)
        arm = -forward * 0.8
        elbow = (0.225 * sign, 1.15, lean + 0.22 * math.sin(arm))
        bend = 0.25 + 0.35 * max(0.0, arm)
        hand = (0.215 * sign, 0.90 + 0.10 * max(0.0, arm), elbow[2] + 0.24 * math.sin(arm + bend))
        if pushing:
            elbow, hand = (0.235 * sign, 1.16, lean + 0.10), (0.20 * sign, 1.09, lean + 0.36)
        cone(shoulder, elbow, 0.054, 0.045, 2, 0.05)
        cone((0.03 * sign, 1.495, lean - 0.01), (0.15 * sign, 1.425, lean), 0.042, 0.046, 2, 0.05)
        cone(elbow, hand, 0.044, 0.034, 2 if sleeves else 0, 0.03)
        ball((hand[0], hand[1] - 0.055, hand[2] + 0.01), (0.026, 0.058, 0.036), 0, 0.015)
    ball((0, 0.97, 0.0), ((0.12 if coat else 0.155) * stout, 0.12, (0.09 if coat else 0.11) * stout), 3, 0.05)
    ball((0, 1.07, 0.01), (0.150 * stout, 0.15, 0.115 * stout), 2, 0.06)
    ball((0, 1.30, lean), (0.168 * stout, 0.20, 0.118 * stout), 2, 0.06)
    if coat:
        long = float(rng.uniform(0.55, 0.82))
        cone((0, 1.10, 0.0), (0, long, 0.0), 0.150, 0.175 + 0.10 * swing, 2, 0.06)
    cone((0, 1.45, lean - 0.01), (0, 1.58, lean + 0.005), 0.058, 0.052, 0, 0.03)
    head(1.63, 0.020, (0.069, 0.105, 0.090), 0)
    head(1.566, 0.056, (0.045, 0.042, 0.048), 0)
    head(1.618, 0.112, (0.012, 0.024, 0.014), 0, 0.02)
    for sign in (1.0, -1.0):
        ear = 1.53 + large * 0.088
        ball((0.074 * broad * large * sign, ear, lean), (0.011, 0.030 * large, 0.019 * large), 0, 0.01)
    # Hair: on top, and behind down to the nape, narrower there than above.
    head(1.668, -0.010, (0.076, 0.086, 0.094), 1)
    head(1.610, -0.046, (0.063, 0.072, 0.056), 1, 0.04)
    if long_hair:
        head(1.570, -0.060, (0.068, 0.120, 0.048), 1, 0.05)
        head(1.475, -0.075, (0.055, 0.085, 0.032), 1, 0.05)
    if bag and not pushing:
        if rng.random() < 0.5 or child:
            box((0, 1.26, lean - 0.165), (0.135, 0.20, 0.075), 0.06)
        else:
            box((0.27 * side, 0.92, 0.0), (0.045, 0.13, 0.16), 0.035)
            cone((0.27 * side, 1.03, 0.0), (0.10 * side, 1.47, lean), 0.012, 0.012, 5, 0.01)
    return Figure(parts, materials, height * 1.01)


def of(rng: np.random.Generator, colors: Sequence[Color]) -> Color:
    """Return one of some colours, a little darker or brighter."""
    red, green, blue = np.clip(
        np.array(colors[int(rng.integers(len(colors)))]) * rng.uniform(0.85, 1.15), 0, 1
    )
    return float(red), float(green), float(blue)
