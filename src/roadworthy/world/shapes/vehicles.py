"""Cars, vans, trucks, buses and motorcycles, and those in the livery of a service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from roadworthy.world.classes import VEHICLE
from roadworthy.world.mesh import PAINTS, Color, Mesh, MeshBuilder, Pair, Point, ring, shaded
from roadworthy.world.shapes.signs import lettering

_GLASS: Color = (46, 58, 70)
_WINDSCREEN: Color = shaded(_GLASS, 1.35)
_TYRE: Color = (26, 26, 28)
_HUB: Color = (150, 152, 156)
_TRIM: Color = (44, 45, 48)
_TAIL: Color = (206, 30, 26)
_HEAD: Color = (248, 244, 226)
_PLATE: Color = (224, 224, 214)
_CARGO: Color = (214, 214, 208)
_BLUE: Color = (24, 60, 190)


def vehicle(kind: str, color: str, *, near: bool) -> Mesh:
    """Build a vehicle of a type and colour; ``near`` adds the small parts."""
    add, footprint = {
        "car": (_add_car, (4.3, 1.8)),
        "van": (_add_van, (5.0, 2.0)),
        "truck": (_add_truck, (8.0, 2.45)),
        "school bus": (_add_school_bus, (9.2, 2.4)),
        "bus": (_add_bus, (11.0, 2.5)),
        "motorcycle": (_add_motorcycle, (2.1, 0.8)),
        "ambulance": (_add_ambulance, (5.0, 2.0)),
        "police car": (_add_police_car, (4.3, 1.8)),
        "taxi": (_add_taxi, (4.3, 1.8)),
    }[kind]
    mesh = MeshBuilder(VEHICLE)
    add(mesh, PAINTS[color], near)
    return mesh.build(footprint)


@dataclass(frozen=True)
class _Level:
    """A rectangle of a body at one height, as wide to the left as to the right."""

    back: float
    front: float
    half_width: float
    up: float

    def edge(self, sign: int, end: Literal["back", "front"]) -> tuple[Point, Point]:
        """Its back or front edge, which begins at one side."""
        forward, half = getattr(self, end), sign * self.half_width
        return (forward, half, self.up), (forward, -half, self.up)

    def side(self, sign: int) -> tuple[Point, Point]:
        """One of its sides, from back to front."""
        half = sign * self.half_width
        return (self.back, half, self.up), (self.front, half, self.up)


@dataclass(frozen=True)
class _VehicleBody:
    """A body that tapers from one level to another. The sides of a thin one are strips on something wider."""

    low: _Level
    high: _Level

    @property
    def centre(self) -> Point:
        return ((self.low.back + self.low.front) / 2, 0.0, (self.low.up + self.high.up) / 2)

    def end(self, end: Literal["back", "front"]) -> list[Point]:
        return [*self.low.edge(-1, end), *self.high.edge(1, end)]

    def side(self, sign: int) -> list[Point]:
        low, high = self.low.side(sign), self.high.side(sign)
        return [*low, high[1], high[0]]

    def top(self) -> list[Point]:
        left, right = self.high.side(-1), self.high.side(1)
        return [*left, right[1], right[0]]


def _strip(forward: Pair, half_width: float, up: Pair) -> _VehicleBody:
    return _VehicleBody(_Level(*forward, half_width, up[0]), _Level(*forward, half_width, up[1]))


def _hull(mesh: MeshBuilder, body: _VehicleBody, paint: Color, *, roof: Color) -> None:
    """Add all visible faces of a body."""
    for face in (body.end("back"), body.end("front"), body.side(-1), body.side(1)):
        mesh.face(face, paint, centre=body.centre)
    mesh.face(body.top(), roof, centre=body.centre)


def _on_side(mesh: MeshBuilder, sign: int, body: _VehicleBody, color: Color, *, rank: int) -> None:
    """Add one side of a body: a window, a stripe or a gap on the side of a wider one."""
    mesh.face(body.side(sign), color, centre=body.centre, rank=rank)


def _patch(
    mesh: MeshBuilder, forward: float, right: Pair, up: Pair, color: Color, rank: int = 3, glow: float = 0.0
) -> None:
    """Add a rectangle on the back (negative forward) or the front of a vehicle."""
    (r0, r1), (u0, u1) = right, up
    corners = [(forward, r0, u0), (forward, r1, u0), (forward, r1, u1), (forward, r0, u1)]
    mesh.face(corners, color, centre=(0.0, 0.0, (u0 + u1) / 2), rank=rank, glow=glow)


def _mirrored(right: Pair) -> tuple[Pair, Pair]:
    """Return a span on the left and the same on the right."""
    inner, outer = right
    return (-outer, -inner), (inner, outer)


def _lights(mesh: MeshBuilder, back: float, front: float, half_width: float, up: Pair, near: bool) -> None:
    """Add tail lights, headlights and, when near, number plates."""
    outer = half_width - 0.06
    for span in _mirrored((outer - 0.34, outer)):
        _patch(mesh, back - 0.01, span, up, _TAIL, glow=0.85)
        _patch(mesh, front + 0.01, span, up, _HEAD, glow=1.0)
    if near:
        _patch(mesh, back - 0.012, (-0.26, 0.26), (up[0] - 0.14, up[0] - 0.02), _PLATE)
        _patch(mesh, front + 0.012, (-0.26, 0.26), (up[0] - 0.26, up[0] - 0.14), _PLATE)


def _wheels(mesh: MeshBuilder, axles: Sequence[float], half_width: float, radius: float, near: bool) -> None:
    sides = 10 if near else 6
    for axle in axles:
        for sign in (-1, 1):
            for r, color, rank in ((radius, _TYRE, 2), (radius * 0.55, _HUB, 3))[: 2 if near else 1]:
                disc = [(f, sign * half_width, u) for f, u in ring((axle, radius), (r, r), sides)]
                mesh.face(disc, color, centre=(axle, 0, radius), rank=rank)
        # Tyres as seen from behind or in front, below the bumper.
        for sign in (-1, 1):
            inner, outer = sign * (half_width - 0.22), sign * half_width
            for f in (axle - radius, axle + radius):
                tread = [(f, inner, 0.0), (f, outer, 0.0), (f, outer, radius), (f, inner, radius)]
                mesh.face(tread, _TYRE, centre=(axle, sign * (half_width - 0.1), radius), rank=-1)


def _inset(points: Sequence[Point], amount: float) -> list[Point]:
    """Shrink a face towards its middle, leaving a frame of the colour below."""
    f, r, u = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    return [
        (p[0] + (f - p[0]) * amount, p[1] + (r - p[1]) * amount, p[2] + (u - p[2]) * amount) for p in points
    ]


def _add_taxi(mesh: MeshBuilder, paint: Color, near: bool) -> None:
    _add_car(mesh, paint, near)
    mesh.part()
    mesh.box((-0.6, -0.35), (-0.36, 0.36), (1.44, 1.68), _PLATE)
    for f, way in ((-0.61, 1), (-0.34, -1)):
        for quad in lettering("TAXI", width=0.6, height=0.17, centre=(0.0, 1.56)):
            mesh.face([(f, way * r, u) for r, u in quad], _TYRE, centre=(-0.47, 0.0, 1.56), rank=1)


def _add_police_car(mesh: MeshBuilder, paint: Color, near: bool) -> None:
    _add_car(mesh, paint, near)
    for sign in (-1, 1):
        _on_side(mesh, sign, _strip((-2.0, 2.0), 0.895, (0.5, 0.72)), _BLUE, rank=4)
    _patch(mesh, -2.15, (-0.5, 0.5), (0.6, 0.78), _BLUE, rank=4)
    _patch(mesh, 2.16, (-0.5, 0.5), (0.62, 0.8), _BLUE, rank=4)
    _add_beacons(mesh, -0.5, 0.56, 1.44)


def _add_ambulance(mesh: MeshBuilder, paint: Color, near: bool) -> None:
    _add_van(mesh, paint, near)
    for sign in (-1, 1):
        _on_side(mesh, sign, _strip((-2.45, 1.6), 1.005, (0.95, 1.2)), _TAIL, rank=4)
    _patch(mesh, -2.515, (-1.0, 1.0), (1.06, 1.26), _TAIL, rank=4)
    _patch(mesh, 2.4, (-0.9, 0.9), (1.02, 1.2), _TAIL, rank=4)
    _add_beacons(mesh, -2.2, 0.8, 2.15)
    _add_beacons(mesh, 1.0, 0.8, 2.15)


def _add_beacons(mesh: MeshBuilder, forward: float, half: float, up: float) -> None:
    """Add a bar of blue lamps on a roof."""
    mesh.part()
    mesh.box((forward, forward + 0.3), (-half, half), (up, up + 0.16), _BLUE, roof=shaded(_BLUE, 1.3))
    for span in _mirrored((half * 0.35, half)):
        for f in (forward - 0.01, forward + 0.31):
            corners = [(f, span[0], up + 0.02), (f, span[1], up + 0.02), (f, span[1], up + 0.14)]
            corners.append((f, span[0], up + 0.14))
            mesh.face(corners, shaded(_BLUE, 1.6), centre=(forward + 0.15, 0.0, up), rank=1, glow=0.9)


def _add_motorcycle(mesh: MeshBuilder, paint: Color, near: bool) -> None:
    _wheels(mesh, (-0.7, 0.7), 0.08, 0.32, near)
    mesh.box((-0.85, 0.6), (-0.16, 0.16), (0.45, 0.85), paint)
    mesh.box((0.5, 0.6), (-0.4, 0.4), (1.0, 1.08), _TRIM)
    _patch(mesh, -0.87, (-0.11, 0.11), (0.66, 0.8), _TAIL, glow=0.85)
    _patch(mesh, 0.72, (-0.12, 0.12), (0.82, 1.02), _HEAD, glow=1.0)
    mesh.part()
    mesh.box((-0.35, 0.1), (-0.3, 0.3), (0.5, 0.95), _TRIM)
    mesh.box((-0.3, 0.05), (-0.24, 0.24), (0.85, 1.4), shaded(_TRIM, 1.4))
    mesh.part()
    mesh.box((-0.2, 0.12), (-0.14, 0.14), (1.42, 1.72), paint)


def _add_car(mesh: MeshBuilder, paint: Color, near: bool) -> None:
    half = 0.9
    lower = _VehicleBody(_Level(-2.15, 2.15, half, up=0.26), _Level(-2.05, 2.1, half - 0.05, up=0.86))
    _hull(mesh, lower, paint, roof=shaded(paint, 1.06))
    if near:
        sill = _VehicleBody(_Level(-2.15, 2.15, half, up=0.26), _Level(-2.14, 2.14, half, up=0.38))
        door = _VehicleBody(_Level(-0.2, -0.17, half - 0.02, 0.4), _Level(-0.2, -0.17, half - 0.04, 0.84))
        for sign in (-1, 1):
            _on_side(mesh, sign, sill, shaded(paint, 0.55), rank=1)
            _on_side(mesh, sign, door, shaded(paint, 0.6), rank=1)
    _patch(mesh, -2.155, (-half, half), (0.26, 0.42), _TRIM, rank=1)
    _patch(mesh, 2.155, (-half + 0.1, half - 0.1), (0.3, 0.46), _TRIM, rank=1)
    _lights(mesh, -2.14, 2.15, half, (0.6, 0.76), near)
    _wheels(mesh, (-1.35, 1.35), half, 0.33, near)
    mesh.part()
    _add_cabin(mesh, paint, near)


def _add_cabin(mesh: MeshBuilder, paint: Color, near: bool) -> None:
    """Add the upper half of a car: glass all round in a painted frame."""
    waist, roof = _Level(-1.75, 1.0, 0.82, up=0.86), _Level(-1.15, 0.2, 0.62, up=1.44)
    cabin = _VehicleBody(waist, roof)
    _hull(mesh, cabin, paint, roof=shaded(paint, 1.08))
    panes = (cabin.end("back"), cabin.end("front"), cabin.side(-1), cabin.side(1))
    for pane, tint in zip(panes, (_GLASS, _WINDSCREEN, *[shaded(_GLASS, 1.15)] * 2), strict=True):
        mesh.face(_inset(pane, 0.14), tint, centre=cabin.centre, rank=1)
    if near:
        # The sky mirrors in the upper half of the rear window.
        half = waist.half_width * 0.88
        upper = [(roof.back, roof.half_width, roof.up), (roof.back, -roof.half_width, roof.up)]
        mirror = [*_inset(upper, 0.2), *_inset([(-1.4, -half, 1.2), (-1.4, half, 1.2)], 0.25)]
        mesh.face(mirror, shaded(_GLASS, 1.7), centre=cabin.centre, rank=2)


def _add_van(mesh: MeshBuilder, paint: Color, near: bool) -> None:
    half = 1.0
    body = _VehicleBody(_Level(-2.5, 2.5, half, up=0.3), _Level(-2.45, 1.35, half - 0.08, up=2.15))
    _hull(mesh, body, paint, roof=shaded(paint, 1.06))
    _patch(mesh, -2.51, (-half, half), (0.3, 0.48), _TRIM, rank=1)
    _patch(mesh, 2.51, (-half, half), (0.3, 0.52), _TRIM, rank=1)
    cab = _VehicleBody(_Level(0.7, 1.75, 0.965, up=1.3), _Level(0.7, 1.42, 0.93, up=1.95))
    for sign, rear_window in zip((-1, 1), _mirrored((0.08, 0.78)), strict=True):
        _patch(mesh, -2.49, rear_window, (1.3, 1.9), _GLASS, rank=2)
        _on_side(mesh, sign, cab, shaded(_GLASS, 1.2), rank=2)
    windscreen = _VehicleBody(_Level(0.0, 1.9, 0.86, up=1.25), _Level(0.0, 1.42, 0.8, up=2.02))
    mesh.face(windscreen.end("front"), _WINDSCREEN, centre=windscreen.centre, rank=2)
    if near:
        _patch(mesh, -2.495, (-0.015, 0.015), (0.5, 2.05), shaded(paint, 0.6), rank=2)
    _lights(mesh, -2.5, 2.5, half, (0.82, 1.02), near)
    _wheels(mesh, (-1.6, 1.6), half, 0.36, near)


def _add_truck(mesh: MeshBuilder, paint: Color, near: bool) -> None:
    _add_cargo_box(mesh, paint, near)
    mesh.part()
    mesh.box((-4.0, 3.6), (-1.0, 1.0), (0.55, 1.0), _TRIM, skip="t")
    _patch(mesh, -4.02, (-1.1, 1.1), (0.5, 0.72), shaded(_TRIM, 1.3), rank=1)
    _lights(mesh, -4.02, 3.62, 1.1, (0.74, 0.92), near)
    _wheels(mesh, (-2.8, -1.7, 2.8), 1.15, 0.48, near)
    mesh.part()
    mesh.box((2.1, 3.6), (-1.15, 1.15), (0.75, 2.55), paint)
    _patch(mesh, 3.61, (-1.0, 1.0), (1.6, 2.35), _WINDSCREEN, rank=2)
    _patch(mesh, 3.61, (-0.8, 0.8), (0.85, 1.3), _TRIM, rank=2)
    for sign in (-1, 1):
        _on_side(mesh, sign, _strip((2.5, 3.4), 1.16, (1.6, 2.3)), shaded(_GLASS, 1.2), rank=2)


def _add_cargo_box(mesh: MeshBuilder, paint: Color, near: bool) -> None:
    """Add a truck's box, with door hinges, and stripes and a label in the colour of the cab."""
    half = 1.22
    mesh.box((-4.0, 2.0), (-half, half), (1.0, 3.3), _CARGO, grain=0.02)
    _patch(mesh, -4.01, (-half, half), (1.0, 1.12), shaded(_CARGO, 0.5), rank=1)
    if not near:
        return
    for r in (-0.02, -half + 0.05, half - 0.09):
        _patch(mesh, -4.012, (r, r + 0.04), (1.12, 3.2), shaded(_CARGO, 0.68), rank=2)
    for sign in (-1, 1):
        _on_side(mesh, sign, _strip((-3.6, 1.6), 1.225, (1.7, 2.3)), paint, rank=2)
    _patch(mesh, -4.013, (-0.9, -0.15), (2.2, 2.75), paint, rank=2)


def _add_school_bus(mesh: MeshBuilder, paint: Color, near: bool) -> None:
    half = 1.2
    mesh.box((-4.6, 3.4), (-half, half), (0.5, 2.75), paint, roof=shaded(paint, 1.1))
    windows = 7 if near else 1
    step = 7.4 / windows
    for sign in (-1, 1):
        for up in (0.75, 1.25):
            _on_side(mesh, sign, _strip((-4.6, 3.4), half + 0.01, (up, up + 0.09)), _TYRE, rank=1)
        for k in range(windows):
            start = -4.3 + k * step
            window = _strip((start, start + step * 0.86), half + 0.01, (1.6, 2.25))
            _on_side(mesh, sign, window, shaded(_GLASS, 1.15), rank=2)
    _add_bus_rear(mesh, -4.61, half)
    _lights(mesh, -4.61, 3.41, half, (0.86, 1.06), near)
    if near:
        for quad in lettering("SCHOOL BUS", width=1.35, height=0.2, centre=(0.0, 2.47)):
            mesh.face([(-4.64, r, u) for r, u in quad], _TYRE, centre=(0.0, 0.0, 1.6), rank=4)
    _wheels(mesh, (-3.0, 2.4), 1.16, 0.5, near)
    mesh.part()
    bonnet = _VehicleBody(_Level(3.4, 4.6, 1.05, up=0.5), _Level(3.4, 4.5, 1.0, up=1.5))
    _hull(mesh, bonnet, paint, roof=paint)
    _patch(mesh, 4.62, (-0.6, 0.6), (0.65, 1.25), _TRIM, rank=1)
    mesh.part()
    _patch(mesh, 3.42, (-1.05, 1.05), (1.55, 2.4), _WINDSCREEN, rank=2)


def _add_bus(mesh: MeshBuilder, paint: Color, near: bool) -> None:
    """Add a city bus: a box with a row of windows all round and doors on the right."""
    half = 1.25
    mesh.box((-5.5, 5.5), (-half, half), (0.4, 3.0), paint, roof=shaded(paint, 1.1))
    windows = 8 if near else 1
    step = 10.4 / windows
    for sign in (-1, 1):
        for k in range(windows):
            start = -5.2 + k * step
            window = _strip((start, start + step * 0.92), half + 0.01, (1.5, 2.5))
            _on_side(mesh, sign, window, shaded(_GLASS, 1.15), rank=2)
    for door in (-1.0, 3.8):
        _on_side(mesh, 1, _strip((door, door + 1.2), half + 0.02, (0.5, 2.5)), _GLASS, rank=3)
    _patch(mesh, -5.51, (-1.05, 1.05), (1.6, 2.5), _GLASS, rank=2)
    _patch(mesh, 5.51, (-1.15, 1.15), (1.1, 2.5), _WINDSCREEN, rank=2)
    for f in (-5.52, 5.52):
        _patch(mesh, f, (-0.8, 0.8), (2.6, 2.9), _TRIM, rank=3)
    _lights(mesh, -5.51, 5.51, half, (0.7, 0.92), near)
    _wheels(mesh, (-3.4, 3.2), 1.2, 0.5, near)


def _add_bus_rear(mesh: MeshBuilder, back: float, half: float) -> None:
    """Add bumper, emergency door, windows and warning lamps."""
    _patch(mesh, back, (-half, half), (0.5, 0.7), _TYRE, rank=1)
    _patch(mesh, back, (-half, half), (1.25, 1.34), _TYRE, rank=1)
    _patch(mesh, back - 0.01, (-0.42, 0.42), (1.42, 2.2), _GLASS, rank=2)
    for window, lamp in zip(_mirrored((0.55, 1.05)), _mirrored((0.82, 1.08)), strict=True):
        _patch(mesh, back - 0.01, window, (1.5, 2.15), _GLASS, rank=2)
        _patch(mesh, back - 0.02, lamp, (2.36, 2.58), _TAIL, glow=0.5)
