"""Solid models of what else people test with: cones, dogs, wheelchairs, prams; `solid_figures` draws them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scripts.solid_figures import BRIGHT, HAIRS, LEGS, SKINS, TOPS, Figure, Material, Part, Point, of, person

COATS = (
    (0.10, 0.09, 0.085), (0.62, 0.50, 0.34), (0.33, 0.21, 0.13), (0.74, 0.70, 0.64), (0.45, 0.33, 0.22),
    (0.30, 0.29, 0.28),
)  # fmt: skip


class _Parts(list[Part]):
    """Collects parts."""

    def cone(self, a: Point, b: Point, first: float, last: float, material: int, soft: float = 0.02) -> None:
        self.append(Part(a, b, (first, last), material, soft))

    def ball(self, middle: Point, axes: Point, material: int, soft: float = 0.02) -> None:
        self.append(Part(middle, middle, axes, material, soft, "ellipsoid"))

    def box(
        self, middle: Point, half: Point, material: int, rounding: float = 0.01, narrow: float = 0
    ) -> None:
        self.append(Part(middle, middle, (*half, rounding, narrow, narrow), material, 0.01, "box"))

    def wheel(self, middle: Point, radius: float, tyre: int, metal: int, spokes: int = 0) -> None:
        x, y, z = middle
        self.append(Part(middle, middle, (radius - 0.014, 0.014), tyre, 0.004, "ring"))
        if not spokes:
            self.append(Part(middle, middle, (radius * 0.8, 0.012), metal, 0.004, "wheel"))
        for number in range(spokes):
            angle = math.pi * number / spokes
            up, on = radius * 0.95 * math.cos(angle), radius * 0.95 * math.sin(angle)
            self.cone((x, y + up, z + on), (x, y - up, z - on), 0.0028, 0.0028, metal, 0.001)


def traffic_cone(height: float, bands: int, dark_base: bool) -> Figure:
    """Return a traffic cone with white bands on its square foot."""
    rubber = 2
    materials = (
        Material((0.86, 0.27, 0.07), 0, 0.05, 0.10), Material((0.87, 0.87, 0.85), 0, 0.04, 0.15),
        Material((0.09, 0.09, 0.095) if dark_base else (0.74, 0.23, 0.07), 0, 0.10, 0.05),
    )  # fmt: skip
    parts = _Parts()
    low, wide, narrow = 0.045, 0.185 * height, 0.034
    edges = (0.0, 0.42, 0.62, 1.0) if bands == 1 else (0.0, 0.30, 0.46, 0.60, 0.76, 1.0)
    for number, (start, end) in enumerate(pairwise(edges)):
        ends = [(low + at * (height - low), wide + at * (narrow - wide)) for at in (start, end)]
        (from_y, first), (to_y, last) = ends
        middle, half = (0.0, (from_y + to_y) / 2, 0.0), (to_y - from_y) / 2
        parts.append(Part(middle, middle, (first, last, half), number % 2, 0.001, "stump"))
    parts.box((0, 0.02, 0), (0.27 * height, 0.02, 0.27 * height), rubber, 0.012)
    return Figure(parts, materials, height, width=1.0, reach=1.0)


def dog(rng: np.random.Generator, *, walking: bool = True) -> Figure:
    """Return a dog that looks at the viewer: long or short legs, ears up or hanging."""
    coat, dark, pale = range(3)
    tone = of(rng, COATS)
    lighter = tuple(min(1.0, 0.75 * one + 0.2) for one in tone)
    materials = (
        Material(tone, 0.006, 0.22), Material((0.06, 0.05, 0.05), 0, 0.1, 0.2),
        Material(lighter if rng.random() < 0.5 else tone, 0.006, 0.22),  # type: ignore[arg-type]
    )  # fmt: skip
    size = float(rng.uniform(0.85, 1.1))
    upright, bushy = rng.random() < 0.4, rng.random() < 0.5
    stout = float(rng.uniform(0.9, 1.15))
    parts = _Parts()

    def at(x: float, y: float, z: float) -> Point:
        return size * x, size * y, size * z

    def cone(a: Point, b: Point, first: float, last: float, material: int = coat, soft: float = 0.04) -> None:
        parts.cone(at(*a), at(*b), size * first, size * last, material, soft)

    # Chest, loins, rump.
    parts.ball(at(0, 0.43, 0.20), (0.105 * size * stout, 0.135 * size, 0.17 * size), coat, 0.06)
    cone((0, 0.45, 0.15), (0, 0.47, -0.22), 0.105 * stout, 0.085 * stout, coat, 0.06)
    parts.ball(at(0, 0.45, -0.25), (0.095 * size * stout, 0.115 * size, 0.13 * size), coat, 0.06)
    parts.ball(at(0, 0.37, 0.27), (0.07 * size, 0.09 * size, 0.08 * size), pale, 0.04)
    step = 0.09 if walking else 0.015
    for sign in (1.0, -1.0):
        swing = step * sign
        cone((0.075 * sign, 0.40, 0.23), (0.08 * sign, 0.24, 0.20 + 0.4 * swing), 0.055, 0.035)
        cone((0.08 * sign, 0.24, 0.20 + 0.4 * swing), (0.08 * sign, 0.045, 0.215 + swing), 0.034, 0.026)
        parts.ball(at(0.08 * sign, 0.025, 0.235 + swing), (0.034 * size, 0.025 * size, 0.05 * size), pale)
        # A hind leg goes forward to the knee and back to the hock.
        knee, hock = (0.085 * sign, 0.28, -0.20 - 0.5 * swing), (0.085 * sign, 0.17, -0.36 - 0.9 * swing)
        cone((0.07 * sign, 0.43, -0.27), knee, 0.085, 0.052)
        cone(knee, hock, 0.048, 0.028)
        cone(hock, (0.085 * sign, 0.04, -0.33 - swing), 0.027, 0.024)
        parts.ball(at(0.085 * sign, 0.025, -0.31 - swing), (0.033 * size, 0.025 * size, 0.05 * size), pale)
        ear = (0.055 * sign, 0.715, 0.39)
        if upright:
            cone(ear, (0.07 * sign, 0.80, 0.385), 0.03, 0.008, coat, 0.02)
        else:
            cone((0.07 * sign, 0.70, 0.385), (0.095 * sign, 0.61, 0.40), 0.026, 0.022, coat, 0.01)
        parts.ball(at(0.035 * sign, 0.675, 0.495), (0.011 * size, 0.011 * size, 0.01 * size), dark, 0.003)
    cone((0, 0.49, 0.27), (0, 0.64, 0.40), 0.085, 0.07, coat, 0.06)
    parts.ball(at(0, 0.665, 0.42), (0.075 * size, 0.072 * size, 0.09 * size), coat, 0.03)
    cone((0, 0.645, 0.48), (0, 0.625, 0.585), 0.046, 0.034, pale, 0.03)
    parts.ball(at(0, 0.637, 0.615), (0.017 * size, 0.014 * size, 0.014 * size), dark, 0.004)
    if bushy:
        cone((0, 0.50, -0.36), (0.02, 0.56, -0.55), 0.035, 0.05, coat, 0.04)
        cone((0.02, 0.56, -0.55), (0.03, 0.66, -0.62), 0.048, 0.02, coat, 0.04)
    else:
        cone((0, 0.50, -0.36), (0.02, 0.40, -0.52), 0.03, 0.022, coat, 0.04)
        cone((0.02, 0.40, -0.52), (0.03, 0.36, -0.64), 0.022, 0.010, coat, 0.04)
    return Figure(parts, materials, size * (0.81 if upright else 0.74), width=1.7, reach=1.1)


def wheelchair_user(rng: np.random.Generator, *, walking: bool = True) -> Figure:
    """Return somebody in a wheelchair who looks at the viewer, hands on the rims or in the lap."""
    skin, hair, top, legs, shoes, tyre, metal, seat = range(8)
    materials = (
        Material(of(rng, SKINS), 0, 0.04, 0.03), Material(of(rng, HAIRS), 0, 0.05, 0.05),
        Material(of(rng, TOPS), 0.009, 0.10), Material(of(rng, LEGS), 0.007, 0.14),
        Material((0.10, 0.09, 0.09), 0, 0.1, 0.1), Material((0.06, 0.06, 0.06), 0, 0.1, 0.05),
        Material((0.42, 0.43, 0.45), 0, 0.1, 0.7), Material((0.08, 0.08, 0.09), 0.002, 0.1),
    )  # fmt: skip
    parts = _Parts()
    lean = float(rng.uniform(0.0, 0.06)) + (0.05 if walking else 0.0)
    for sign in (1.0, -1.0):
        parts.wheel((0.29 * sign, 0.30, -0.10), 0.30, tyre, metal, 9)
        rim = (0.325 * sign, 0.30, -0.10)
        parts.append(Part(rim, rim, (0.255, 0.009), metal, 0.003, "ring"))
        parts.ball((0.29 * sign, 0.30, -0.10), (0.03, 0.03, 0.03), metal)
        parts.wheel((0.20 * sign, 0.075, 0.34), 0.075, tyre, metal)
        for a, b in (
            ((0.22, 0.48, -0.20), (0.22, 0.96, -0.30)), ((0.22, 0.96, -0.30), (0.22, 0.97, -0.40)),
            ((0.22, 0.48, -0.20), (0.22, 0.48, 0.26)), ((0.22, 0.48, 0.26), (0.18, 0.10, 0.46)),
            ((0.22, 0.30, -0.10), (0.22, 0.28, 0.26)), ((0.22, 0.48, 0.26), (0.22, 0.14, 0.31)),
            ((0.22, 0.30, -0.10), (0.22, 0.48, -0.20)),
        ):  # fmt: skip
            start, end = ((sign * x, y, z) for x, y, z in (a, b))
            parts.cone(start, end, 0.013, 0.013, metal, 0.005)
        parts.box((0.255 * sign, 0.61, 0.0), (0.012, 0.13, 0.19), seat, 0.01)
        hip, knee, ankle = (0.10 * sign, 0.59, -0.12), (0.115 * sign, 0.59, 0.33), (0.11 * sign, 0.21, 0.44)
        parts.cone(hip, knee, 0.088, 0.064, legs, 0.04)
        parts.cone(knee, ankle, 0.060, 0.048, legs, 0.03)
        parts.cone((0.11 * sign, 0.15, 0.42), (0.12 * sign, 0.135, 0.56), 0.045, 0.036, shoes)
        parts.box((0.12 * sign, 0.095, 0.49), (0.07, 0.008, 0.08), metal, 0.005)
        shoulder = (0.175 * sign, 1.03, -0.15 + lean)
        elbow = (0.265 * sign, 0.80, -0.24) if walking else (0.235 * sign, 0.80, -0.12)
        hand = (0.315 * sign, 0.575, -0.04) if walking else (0.09 * sign, 0.69, 0.14)
        parts.cone(shoulder, elbow, 0.055, 0.045, top, 0.05)
        parts.cone(elbow, hand, 0.044, 0.034, top, 0.03)
        parts.ball(hand, (0.036, 0.040, 0.045), skin, 0.015)
        neck = (0.03 * sign, 1.12, -0.16 + lean), (0.15 * sign, 1.05, -0.15 + lean)
        parts.cone(*neck, 0.042, 0.046, top, 0.05)
    parts.box((0, 0.51, 0.03), (0.22, 0.025, 0.22), seat, 0.02)
    parts.box((0, 0.74, -0.275), (0.21, 0.20, 0.012), seat, 0.01)
    parts.ball((0, 0.62, -0.11), (0.16, 0.11, 0.13), legs, 0.05)
    parts.cone((0, 0.68, -0.13), (0, 0.98, -0.16 + lean), 0.135, 0.150, top, 0.06)
    parts.ball((0, 0.96, -0.15 + lean), (0.17, 0.17, 0.115), top, 0.06)
    face = (0.0, 1.27, -0.11 + lean)
    parts.cone((0, 1.08, -0.15 + lean), face, 0.05, 0.05, skin)
    parts.ball(face, (0.074, 0.105, 0.092), skin, 0.03)
    parts.ball((0, 1.25, face[2] + 0.087), (0.016, 0.025, 0.02), skin)
    parts.ball((0, face[1] + 0.037, face[2] - 0.023), (0.083, 0.083, 0.097), hair, 0.03)
    if rng.random() < 0.4:
        parts.ball((0, 1.20, face[2] - 0.08), (0.085, 0.15, 0.055), hair, 0.05)
    return Figure(parts, materials, 1.40, width=1.5, reach=1.2)


def with_pram(rng: np.random.Generator, *, walking: bool = True) -> Figure:
    """Return somebody who pushes a pram towards the viewer; the middle is between both."""
    pusher = person(rng, walking=walking, pushing=True)
    back, far = 0.45, 0.42  # metres from the middle to the person and to the pram
    shifted = [
        Part((*part.start[:2], part.start[2] - back), (*part.end[:2], part.end[2] - back), part.radii,
             part.material, part.soft, part.shape)
        for part in pusher.parts
    ]  # fmt: skip
    parts = _Parts(shifted)
    cloth, tyre, metal, inside = range(len(pusher.materials), len(pusher.materials) + 4)
    tone = of(rng, BRIGHT if rng.random() < 0.5 else TOPS)
    materials = (
        *pusher.materials, Material(tone, 0.005, 0.08), Material((0.06, 0.06, 0.06), 0, 0.1, 0.05),
        Material((0.36, 0.37, 0.39), 0, 0.1, 0.6), Material((0.70, 0.68, 0.64), 0.004, 0.08),
    )  # fmt: skip
    scale = pusher.height / 1.77
    bar = (1.07 * scale, (0.38 * scale) - back)
    for sign in (1.0, -1.0):
        parts.wheel((0.25 * sign, 0.14, far - 0.30), 0.14, tyre, metal)
        parts.wheel((0.23 * sign, 0.11, far + 0.32), 0.11, tyre, metal)
        for a, b in (
            ((0.24, bar[0], bar[1]), (0.24, 0.62, far - 0.12)),
            ((0.24, 0.62, far - 0.12), (0.23, 0.13, far + 0.32)),
            ((0.24, 0.60, far + 0.10), (0.25, 0.15, far - 0.30)),
        ):  # fmt: skip
            start, end = ((sign * x, y, z) for x, y, z in (a, b))
            parts.cone(start, end, 0.014, 0.014, metal, 0.005)
    parts.cone((-0.24, bar[0], bar[1]), (0.24, bar[0], bar[1]), 0.017, 0.017, tyre, 0.005)
    parts.cone((-0.24, 0.14, far - 0.30), (0.24, 0.14, far - 0.30), 0.012, 0.012, metal, 0.005)
    parts.box((0, 0.64, far), (0.20, 0.13, 0.40), cloth, 0.10)
    parts.box((0, 0.755, far + 0.10), (0.17, 0.03, 0.28), inside, 0.03)
    parts.ball((0, 0.80, far - 0.20), (0.21, 0.23, 0.24), cloth, 0.03)
    parts.box((0, 0.28, far), (0.17, 0.05, 0.22), cloth, 0.03)
    return Figure(parts, materials, pusher.height, width=2.6, reach=1.7)
