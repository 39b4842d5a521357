"""Traffic signs that can be read, traffic lights and street lamps."""

from __future__ import annotations

import math

from roadworthy.world.classes import POLE, TRAFFIC_LIGHT, TRAFFIC_SIGN
from roadworthy.world.mesh import Color, Mesh, MeshBuilder, shaded
from roadworthy.world.shapes.lettering import lettering, stroke

__all__ = ["LAMP_HEAD", "street_lamp", "traffic_light", "traffic_sign"]

_STEEL: Color = (136, 140, 144)
_RED: Color = (186, 24, 30)
_WHITE: Color = (238, 238, 234)
_BLACK: Color = (26, 26, 28)
_BLUE: Color = (24, 76, 156)
_PLATE_UP = 2.45  # middle of the plate

LAMP_HEAD = (0.0, -2.2, 6.0)
"""Where a street lamp shines from, in its own frame: over the road's edge."""

_SIGNAL: dict[str, tuple[float, Color]] = {
    "red": (0.62, (255, 40, 32)),
    "yellow": (0.31, (255, 190, 40)),
    "green": (0.0, (60, 230, 120)),
}


def _pole(mesh: MeshBuilder, height: float, radius: float, at: float = 0.0) -> None:
    mesh.box(
        (-radius, radius), (at - radius, at + radius), (0.0, height), _STEEL, label=POLE, rank=-1, skip="t"
    )


def traffic_sign(kind: str, value: int, *, near: bool) -> Mesh:
    """Build a ``"stop"``, ``"yield"``, ``"speed limit"`` (with its value) or ``"turn"`` sign."""
    mesh = MeshBuilder(TRAFFIC_SIGN)
    _pole(mesh, _PLATE_UP + 0.2, 0.035)
    front = -0.06

    def plate(points: list[tuple[float, float]], color: Color, rank: int) -> None:
        corners = [(front - 0.001 * rank, r, _PLATE_UP + u) for r, u in points]
        mesh.face(corners, color, centre=(1.0, 0.0, _PLATE_UP), rank=rank, glow=0.05)
        if rank == 1:
            mesh.face([(0.0, r, u) for _, r, u in corners], _STEEL, centre=(-1.0, 0.0, _PLATE_UP), rank=rank)

    def disc(radius: float, color: Color, rank: int, sides: int = 20, turn: float = 0.0) -> None:
        n = sides if near else max(8, sides // 2)
        plate(
            [
                (radius * math.cos(turn + 2 * math.pi * k / n), radius * math.sin(turn + 2 * math.pi * k / n))
                for k in range(n)
            ],
            color,
            rank,
        )

    if kind == "stop":
        mesh_octagon = [
            [
                (r * math.cos(math.pi / 8 + k * math.pi / 4), r * math.sin(math.pi / 8 + k * math.pi / 4))
                for k in range(8)
            ]
            for r in (0.47, 0.43)
        ]
        plate(mesh_octagon[0], _WHITE, 1)
        plate(mesh_octagon[1], _RED, 2)
        if near:
            for quad in lettering("STOP", width=0.64, height=0.26, centre=(0.0, 0.0)):
                plate(list(quad), _WHITE, 3)
        else:
            plate([(-0.32, -0.1), (0.32, -0.1), (0.32, 0.1), (-0.32, 0.1)], (214, 120, 122), 3)
    elif kind == "yield":
        for scale, color, rank in ((1.0, _RED, 1), (0.62, _WHITE, 2)):
            plate(
                [
                    (-0.52 * scale, 0.28 * scale + 0.04),
                    (0.52 * scale, 0.28 * scale + 0.04),
                    (0.0, -0.6 * scale + 0.04),
                ],
                color,
                rank,
            )
    elif kind == "speed limit":
        disc(0.42, _RED, 1)
        disc(0.33, _WHITE, 2)
        for quad in lettering(str(value), width=0.36, height=0.3, centre=(0.0, 0.0), weight=0.19):
            plate(list(quad), _BLACK, 3)
    else:
        disc(0.42, _WHITE, 1)
        disc(0.39, _BLUE, 2)
        for a, b in (((-0.16, -0.24), (-0.16, 0.06)), ((-0.16, 0.06), (0.12, 0.06))):
            plate(list(stroke(a, b, 0.09)), _WHITE, 3)
        plate([(0.08, 0.2), (0.08, -0.08), (0.27, 0.06)], _WHITE, 3)
    return mesh.build((0.2, 0.95))


def traffic_light(color: str, *, near: bool) -> Mesh:
    """Build a traffic light whose ``color`` lamp is lit."""
    mesh = MeshBuilder(TRAFFIC_LIGHT)
    _pole(mesh, 3.5, 0.06)
    mesh.box((-0.14, 0.14), (-0.2, 0.2), (2.55, 3.6), (34, 38, 36))
    sides = 12 if near else 6
    for name, (up, lit) in _SIGNAL.items():
        on = name == color
        mesh.face(
            [
                (
                    -0.15,
                    0.125 * math.cos(2 * math.pi * k / sides),
                    2.76 + up + 0.125 * math.sin(2 * math.pi * k / sides),
                )
                for k in range(sides)
            ],
            lit if on else shaded(lit, 0.2),
            centre=(0.0, 0.0, 2.76 + up),
            rank=2,
            glow=1.0 if on else 0.0,
        )
        if near:
            mesh.face(
                [
                    (-0.16, -0.15, 2.88 + up),
                    (-0.16, 0.15, 2.88 + up),
                    (-0.3, 0.13, 2.9 + up),
                    (-0.3, -0.13, 2.9 + up),
                ],
                (22, 24, 24),
                rank=3,
            )
    return mesh.build((0.3, 0.5))


def street_lamp(*, near: bool) -> Mesh:
    """Build a street lamp whose arm reaches over the road on its left."""
    mesh = MeshBuilder(POLE)
    _pole(mesh, 6.0, 0.07)
    forward, right, up = LAMP_HEAD
    mesh.face(
        [(0.0, 0.0, up), (0.0, right, up + 0.25), (0.0, right, up + 0.35), (0.0, 0.0, up + 0.1)], _STEEL
    )
    mesh.part()
    mesh.box(
        (forward - 0.3, forward + 0.3),
        (right - 0.4, right + 0.25),
        (up + 0.1, up + 0.28),
        shaded(_STEEL, 0.8),
    )
    mesh.face(
        [
            (-0.25, right - 0.35, up + 0.09),
            (-0.25, right + 0.2, up + 0.09),
            (0.25, right + 0.2, up + 0.09),
            (0.25, right - 0.35, up + 0.09),
        ],
        (255, 226, 170),
        rank=2,
        glow=1.0,
    )
    if near:
        mesh.box((-0.12, 0.12), (-0.12, 0.12), (0.0, 0.5), shaded(_STEEL, 0.8), skip="t")
    return mesh.build((0.3, 0.3))
