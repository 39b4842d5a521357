"""Cars, vans, trucks and school buses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from roadworthy.world.classes import VEHICLE
from roadworthy.world.mesh import Color, Mesh, MeshBuilder, Point, shaded
from roadworthy.world.shapes.lettering import lettering

__all__ = ["PAINTS", "vehicle"]

PAINTS: dict[str, Color] = {
    "white": (226, 228, 230),
    "black": (38, 39, 43),
    "silver": (176, 180, 186),
    "grey": (112, 116, 122),
    "blue": (38, 78, 150),
    "red": (168, 34, 36),
    "green": (42, 98, 66),
    "yellow": (232, 178, 34),
    "orange": (214, 108, 32),
    "brown": (98, 70, 52),
}
_GLASS: Color = (46, 58, 70)
_TYRE: Color = (26, 26, 28)
_HUB: Color = (150, 152, 156)
_TRIM: Color = (44, 45, 48)
_TAIL: Color = (206, 30, 26)
_HEAD: Color = (248, 244, 226)
_PLATE: Color = (224, 224, 214)


def vehicle(kind: str, color: str, *, near: bool) -> Mesh:
    """Build a vehicle of a type and colour; ``near`` adds the small parts."""
    paint = PAINTS[color]
    if kind == "car":
        return _car(paint, near)
    if kind == "van":
        return _van(paint, near)
    if kind == "truck":
        return _truck(paint, near)
    return _school_bus(paint, near)


def _wheels(mesh: MeshBuilder, axles: Sequence[float], half: float, radius: float, near: bool) -> None:
    sides = 10 if near else 6
    for axle in axles:
        for side in (-1, 1):
            for r, color, rank in ((radius, _TYRE, 2), (radius * 0.55, _HUB, 3)):
                if rank == 3 and not near:
                    continue
                ring: list[Point] = [
                    (
                        axle + r * math.cos(2 * math.pi * k / sides),
                        side * half,
                        radius + r * math.sin(2 * math.pi * k / sides),
                    )
                    for k in range(sides)
                ]
                mesh.face(ring, color, centre=(axle, 0, radius), rank=rank)
        # Tyres as seen from behind or in front, below the bumper.
        for side in (-1, 1):
            inner, outer = side * (half - 0.22), side * half
            for f in (axle - radius, axle + radius):
                mesh.face(
                    [(f, inner, 0.0), (f, outer, 0.0), (f, outer, radius), (f, inner, radius)],
                    _TYRE,
                    centre=(axle, side * (half - 0.1), radius),
                    rank=-1,
                )


def _patch(
    mesh: MeshBuilder,
    forward: float,
    right: tuple[float, float],
    up: tuple[float, float],
    color: Color,
    *,
    rank: int = 3,
    glow: float = 0.0,
) -> None:
    """Add a rectangle on the back (negative forward) or the front of a vehicle."""
    (r0, r1), (u0, u1) = right, up
    mesh.face(
        [(forward, r0, u0), (forward, r1, u0), (forward, r1, u1), (forward, r0, u1)],
        color,
        centre=(0.0, 0.0, (u0 + u1) / 2),
        rank=rank,
        glow=glow,
    )


def _lights(
    mesh: MeshBuilder, back: float, front: float, half: float, up: tuple[float, float], near: bool
) -> None:
    width = 0.34
    for side in (-1, 1):
        outer, inner = side * (half - 0.06), side * (half - 0.06 - width)
        span = (min(inner, outer), max(inner, outer))
        _patch(mesh, back - 0.01, span, up, _TAIL, glow=0.85)
        _patch(mesh, front + 0.01, span, up, _HEAD, glow=1.0)
    if near:
        _patch(mesh, back - 0.012, (-0.26, 0.26), (up[0] - 0.14, up[0] - 0.02), _PLATE)
        _patch(mesh, front + 0.012, (-0.26, 0.26), (up[0] - 0.26, up[0] - 0.14), _PLATE)


def _hull(
    mesh: MeshBuilder,
    low: Sequence[tuple[float, float]],
    high: Sequence[tuple[float, float]],
    colors: Sequence[Color],
) -> None:
    """Add a frustum between two rectangles given as ((f0, half, u), (f1, half, u)); colours back, front, side, top."""
    (lf0, lh), (lf1, _), (lu, _) = low
    (hf0, hh), (hf1, _), (hu, _) = high
    centre = ((lf0 + lf1) / 2, 0.0, (lu + hu) / 2)
    back, front, side, top = colors
    mesh.face([(lf0, -lh, lu), (lf0, lh, lu), (hf0, hh, hu), (hf0, -hh, hu)], back, centre=centre)
    mesh.face([(lf1, -lh, lu), (lf1, lh, lu), (hf1, hh, hu), (hf1, -hh, hu)], front, centre=centre)
    for sign in (-1, 1):
        mesh.face(
            [(lf0, sign * lh, lu), (lf1, sign * lh, lu), (hf1, sign * hh, hu), (hf0, sign * hh, hu)],
            side,
            centre=centre,
        )
    mesh.face([(hf0, -hh, hu), (hf1, -hh, hu), (hf1, hh, hu), (hf0, hh, hu)], top, centre=centre)


def _inset(points: Sequence[Point], amount: float) -> list[Point]:
    """Shrink a face towards its middle, leaving a frame of the colour below."""
    n = len(points)
    middle = tuple(sum(p[i] for p in points) / n for i in range(3))
    return [
        (
            p[0] + (middle[0] - p[0]) * amount,
            p[1] + (middle[1] - p[1]) * amount,
            p[2] + (middle[2] - p[2]) * amount,
        )
        for p in points
    ]


def _car(paint: Color, near: bool) -> Mesh:
    mesh = MeshBuilder(VEHICLE)
    half = 0.9
    # Lower body: bumper line to waist line, slightly tapered; then the cabin of glass with a painted roof.
    _hull(
        mesh,
        [(-2.15, half), (2.15, half), (0.26, 0)],
        [(-2.05, half - 0.05), (2.1, half - 0.06), (0.86, 0)],
        [paint, paint, paint, shaded(paint, 1.06)],
    )
    body = (0.0, 0.0, 0.5)
    if near:
        for sign in (-1, 1):
            mesh.face(
                [
                    (-2.15, sign * half, 0.26),
                    (2.15, sign * half, 0.26),
                    (2.14, sign * half, 0.38),
                    (-2.14, sign * half, 0.38),
                ],
                shaded(paint, 0.55),
                centre=body,
                rank=1,
            )
            mesh.face(
                [
                    (-0.2, sign * (half - 0.02), 0.4),
                    (-0.17, sign * (half - 0.02), 0.4),
                    (-0.17, sign * (half - 0.04), 0.84),
                    (-0.2, sign * (half - 0.04), 0.84),
                ],
                shaded(paint, 0.6),
                centre=body,
                rank=1,
            )
    _patch(mesh, -2.155, (-half, half), (0.26, 0.42), _TRIM, rank=1)
    _patch(mesh, 2.155, (-half + 0.1, half - 0.1), (0.3, 0.46), _TRIM, rank=1)
    _lights(mesh, -2.14, 2.15, half, (0.6, 0.76), near)
    _wheels(mesh, (-1.35, 1.35), half, 0.33, near)
    mesh.part()
    low, high, waist, top = 0.82, 0.62, 0.86, 1.44
    glass = MeshBuilder.face
    _hull(
        mesh,
        [(-1.75, low), (1.0, low), (waist, 0)],
        [(-1.15, high), (0.2, high), (top, 0)],
        [paint, paint, paint, shaded(paint, 1.08)],
    )
    cabin = (-0.4, 0.0, 1.1)
    panes: list[tuple[list[Point], Color]] = [
        ([(-1.75, -low, waist), (-1.75, low, waist), (-1.15, high, top), (-1.15, -high, top)], _GLASS),
        ([(1.0, -low, waist), (1.0, low, waist), (0.2, high, top), (0.2, -high, top)], shaded(_GLASS, 1.35)),
        (
            [(-1.75, -low, waist), (1.0, -low, waist), (0.2, -high, top), (-1.15, -high, top)],
            shaded(_GLASS, 1.15),
        ),
        (
            [(-1.75, low, waist), (1.0, low, waist), (0.2, high, top), (-1.15, high, top)],
            shaded(_GLASS, 1.15),
        ),
    ]
    for pane, tint in panes:
        glass(mesh, _inset(pane, 0.14), tint, centre=cabin, rank=1)
    if near:
        rear = panes[0][0]
        mesh.face(
            [
                *_inset([rear[3], rear[2]], 0.2)[::-1],
                *_inset([(-1.4, low * 0.88, 1.2), (-1.4, -low * 0.88, 1.2)], 0.25)[::-1],
            ],
            shaded(_GLASS, 1.7),
            centre=cabin,
            rank=2,
        )
    return mesh.build((4.3, 1.8))


def _van(paint: Color, near: bool) -> Mesh:
    mesh = MeshBuilder(VEHICLE)
    half = 1.0
    _hull(
        mesh,
        [(-2.5, half), (2.5, half), (0.3, 0)],
        [(-2.45, half - 0.08), (1.35, half - 0.08), (2.15, 0)],
        [paint, paint, paint, shaded(paint, 1.06)],
    )
    middle = (0.0, 0.0, 1.2)
    _patch(mesh, -2.51, (-half, half), (0.3, 0.48), _TRIM, rank=1)
    _patch(mesh, 2.51, (-half, half), (0.3, 0.52), _TRIM, rank=1)
    # Rear doors with two windows, a windscreen on the sloping front, cab windows at the sides.
    for sign in (-1, 1):
        span = (0.08, 0.78) if sign > 0 else (-0.78, -0.08)
        _patch(mesh, -2.49, span, (1.3, 1.9), _GLASS, rank=2)
        mesh.face(
            [
                (0.7, sign * 0.965, 1.3),
                (1.75, sign * 0.965, 1.3),
                (1.42, sign * 0.93, 1.95),
                (0.7, sign * 0.93, 1.95),
            ],
            shaded(_GLASS, 1.2),
            centre=middle,
            rank=2,
        )
    mesh.face(
        [(1.9, -0.86, 1.25), (1.9, 0.86, 1.25), (1.42, 0.8, 2.02), (1.42, -0.8, 2.02)],
        shaded(_GLASS, 1.35),
        centre=middle,
        rank=2,
    )
    if near:
        _patch(mesh, -2.495, (-0.015, 0.015), (0.5, 2.05), shaded(paint, 0.6), rank=2)
    _lights(mesh, -2.5, 2.5, half, (0.82, 1.02), near)
    _wheels(mesh, (-1.6, 1.6), half, 0.36, near)
    return mesh.build((5.0, 2.0))


def _truck(paint: Color, near: bool) -> Mesh:
    mesh = MeshBuilder(VEHICLE)
    box: Color = (214, 214, 208)
    half = 1.22
    # Cargo box behind, on a dark chassis.
    mesh.box((-4.0, 2.0), (-half, half), (1.0, 3.3), box, grain=0.02)
    _patch(mesh, -4.01, (-half, half), (1.0, 1.12), shaded(box, 0.5), rank=1)
    if near:
        for r in (-0.02, -half + 0.05, half - 0.09):
            _patch(mesh, -4.012, (r, r + 0.04), (1.12, 3.2), shaded(box, 0.68), rank=2)
        for sign in (-1, 1):
            mesh.face(
                [
                    (-3.6, sign * 1.225, 1.7),
                    (1.6, sign * 1.225, 1.7),
                    (1.6, sign * 1.225, 2.3),
                    (-3.6, sign * 1.225, 2.3),
                ],
                paint,
                centre=(0, 0, 2),
                rank=2,
            )
        _patch(mesh, -4.013, (-0.9, -0.15), (2.2, 2.75), paint, rank=2)
    mesh.part()
    mesh.box((-4.0, 3.6), (-1.0, 1.0), (0.55, 1.0), _TRIM, skip="t")
    _patch(mesh, -4.02, (-1.1, 1.1), (0.5, 0.72), shaded(_TRIM, 1.3), rank=1)
    _lights(mesh, -4.02, 3.62, 1.1, (0.74, 0.92), near)
    _wheels(mesh, (-2.8, -1.7, 2.8), 1.15, 0.48, near)
    mesh.part()
    mesh.box((2.1, 3.6), (-1.15, 1.15), (0.75, 2.55), paint)
    cab = (2.8, 0.0, 1.6)
    _patch(mesh, 3.61, (-1.0, 1.0), (1.6, 2.35), shaded(_GLASS, 1.35), rank=2)
    _patch(mesh, 3.61, (-0.8, 0.8), (0.85, 1.3), _TRIM, rank=2)
    for sign in (-1, 1):
        mesh.face(
            [
                (2.5, sign * 1.16, 1.6),
                (3.4, sign * 1.16, 1.6),
                (3.4, sign * 1.16, 2.3),
                (2.5, sign * 1.16, 2.3),
            ],
            shaded(_GLASS, 1.2),
            centre=cab,
            rank=2,
        )
    return mesh.build((8.0, 2.45))


def _school_bus(paint: Color, near: bool) -> Mesh:
    mesh = MeshBuilder(VEHICLE)
    half = 1.2
    mesh.box((-4.6, 3.4), (-half, half), (0.5, 2.75), paint, roof=shaded(paint, 1.1))
    middle = (0.0, 0.0, 1.6)
    for sign in (-1, 1):
        side = sign * (half + 0.01)
        for up in (0.75, 1.25):
            mesh.face(
                [(-4.6, side, up), (3.4, side, up), (3.4, side, up + 0.09), (-4.6, side, up + 0.09)],
                _TYRE,
                centre=middle,
                rank=1,
            )
        count = 7 if near else 1
        step = 7.4 / count
        for k in range(count):
            f0 = -4.3 + k * step
            mesh.face(
                [
                    (f0, side, 1.6),
                    (f0 + step * 0.86, side, 1.6),
                    (f0 + step * 0.86, side, 2.25),
                    (f0, side, 2.25),
                ],
                shaded(_GLASS, 1.15),
                centre=middle,
                rank=2,
            )
    back = -4.61
    _patch(mesh, back, (-half, half), (0.5, 0.7), _TYRE, rank=1)
    _patch(mesh, back, (-half, half), (1.25, 1.34), _TYRE, rank=1)
    _patch(mesh, back - 0.01, (-0.42, 0.42), (1.42, 2.2), _GLASS, rank=2)
    for sign in (-1, 1):
        span = (0.55, 1.05) if sign > 0 else (-1.05, -0.55)
        _patch(mesh, back - 0.01, span, (1.5, 2.15), _GLASS, rank=2)
        lamp = (0.82, 1.08) if sign > 0 else (-1.08, -0.82)
        _patch(mesh, back - 0.02, lamp, (2.36, 2.58), _TAIL, rank=3, glow=0.5)
    _lights(mesh, back, 3.41, half, (0.86, 1.06), near)
    if near:
        for quad in lettering("SCHOOL BUS", width=1.35, height=0.2, centre=(0.0, 2.47)):
            mesh.face([(back - 0.03, r, u) for r, u in quad], _TYRE, centre=middle, rank=4)
    _wheels(mesh, (-3.0, 2.4), 1.16, 0.5, near)
    mesh.part()
    _hull(
        mesh,
        [(3.4, 1.05), (4.6, 0.95), (0.5, 0)],
        [(3.4, 1.0), (4.5, 0.9), (1.5, 0)],
        [paint, paint, paint, paint],
    )
    _patch(mesh, 4.62, (-0.6, 0.6), (0.65, 1.25), _TRIM, rank=1)
    mesh.part()
    _patch(mesh, 3.42, (-1.05, 1.05), (1.55, 2.4), shaded(_GLASS, 1.35), rank=2)
    return mesh.build((9.2, 2.4))
