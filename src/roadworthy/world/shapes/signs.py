"""Traffic signs that can be read, letters as thin quads, traffic lights and street lamps."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from pathlib import Path

from roadworthy.world.classes import POLE, TRAFFIC_LIGHT, TRAFFIC_SIGN
from roadworthy.world.mesh import Color, Mesh, MeshBuilder, Outline, Pair, Point, ring, shaded, stroke

_ADVANCE = 5.6  # from one letter to the next
_WIDTH, _HEIGHT = 4, 6


def _points(line: str) -> Outline:
    return [(float(x), float(y)) for x, y in (point.split(",") for point in line.split())]


@cache
def _glyphs() -> dict[str, list[Outline]]:
    from roadworthy._yaml import read_yaml

    file = read_yaml(Path(__file__).with_name("letters.yaml"), "file of letters", "strokes by letter").data
    return {letter: [_points(line) for line in lines.split("/")] for letter, lines in file.items()}


def lettering(text: str, *, width: float, height: float, centre: Pair, weight: float = 0.2) -> list[Outline]:
    """Return quads that spell ``text`` in a box of a width and height; ``weight`` is a share of the height.

    Example:
        >>> len(lettering("7", width=1.0, height=1.0, centre=(0.0, 0.0)))
        2
    """
    unit_x = width / (len(text) * _ADVANCE - (_ADVANCE - _WIDTH))
    unit_y = height / _HEIGHT
    bottom = centre[1] - height / 2
    quads = []
    for k, letter in enumerate(text):
        left = centre[0] - width / 2 + k * _ADVANCE * unit_x
        for line in _glyphs()[letter]:
            points = [(left + x * unit_x, bottom + y * unit_y) for x, y in line]
            quads += [stroke(a, b, weight * height) for a, b in pairwise(points)]
    return quads


LAMP_HEAD: Point = (0.0, -2.2, 6.0)
"""Where a street lamp shines from, in its own frame: over the road's edge."""

SIGNAL_LAMPS = {"red": 2.76 + 0.62, "yellow": 2.76 + 0.31, "green": 2.76}
"""Height of each lamp of a traffic light, in metres."""

_LAMP_COLORS: dict[str, Color] = {"red": (255, 40, 32), "yellow": (255, 190, 40), "green": (60, 230, 120)}
_STEEL: Color = (136, 140, 144)
_RED: Color = (186, 24, 30)
_WHITE: Color = (238, 238, 234)
_BLACK: Color = (26, 26, 28)
_BLUE: Color = (24, 76, 156)
_PLATE_UP = 2.45  # middle of the plate


def _pole(mesh: MeshBuilder, height: float, radius: float) -> None:
    span = (-radius, radius)
    mesh.box(span, span, (0.0, height), _STEEL, label=POLE, rank=-1, faces="bflr")


def traffic_sign(kind: str, value: int, *, near: bool) -> Mesh:
    """Build a ``"stop"``, ``"yield"``, ``"speed limit"`` (with its value) or ``"turn"`` sign."""
    mesh = MeshBuilder(TRAFFIC_SIGN)
    _pole(mesh, _PLATE_UP + 0.2, 0.035)
    if kind == "speed limit":
        _speed_limit(mesh, value, near)
    else:
        {"stop": _stop, "yield": _yield, "turn": _turn}[kind](mesh, near)
    return mesh.build((0.2, 0.95))


def _layer(mesh: MeshBuilder, outline: Outline, color: Color, rank: int) -> None:
    """Add a layer of the plate, around its middle; the first has a back of steel."""
    front = -0.06 - 0.001 * rank
    points = [(right, _PLATE_UP + up) for right, up in outline]
    mesh.face([(front, r, u) for r, u in points], color, centre=(1.0, 0.0, _PLATE_UP), rank=rank, glow=0.05)
    if rank == 1:
        mesh.face([(0.0, r, u) for r, u in points], _STEEL, centre=(-1.0, 0.0, _PLATE_UP), rank=rank)


def _disc(mesh: MeshBuilder, radius: float, color: Color, rank: int, near: bool) -> None:
    _layer(mesh, ring((0.0, 0.0), (radius, radius), 20 if near else 10), color, rank)


def _stop(mesh: MeshBuilder, near: bool) -> None:
    for radius, color, rank in ((0.47, _WHITE, 1), (0.43, _RED, 2)):
        _layer(mesh, ring((0.0, 0.0), (radius, radius), 8, turn=math.pi / 8), color, rank)
    if near:
        for quad in lettering("STOP", width=0.64, height=0.26, centre=(0.0, 0.0)):
            _layer(mesh, quad, _WHITE, 3)
    else:
        _layer(mesh, [(-0.32, -0.1), (0.32, -0.1), (0.32, 0.1), (-0.32, 0.1)], (214, 120, 122), 3)


def _yield(mesh: MeshBuilder, _near: bool) -> None:
    for scale, color, rank in ((1.0, _RED, 1), (0.62, _WHITE, 2)):
        top, tip = 0.28 * scale + 0.04, -0.6 * scale + 0.04
        _layer(mesh, [(-0.52 * scale, top), (0.52 * scale, top), (0.0, tip)], color, rank)


def _speed_limit(mesh: MeshBuilder, value: int, near: bool) -> None:
    _disc(mesh, 0.42, _RED, 1, near)
    _disc(mesh, 0.33, _WHITE, 2, near)
    for quad in lettering(f"{value:.0f}", width=0.36, height=0.3, centre=(0.0, 0.0), weight=0.19):
        _layer(mesh, quad, _BLACK, 3)


def _turn(mesh: MeshBuilder, near: bool) -> None:
    _disc(mesh, 0.42, _WHITE, 1, near)
    _disc(mesh, 0.39, _BLUE, 2, near)
    shaft = (stroke((-0.16, -0.24), (-0.16, 0.06), 0.09), stroke((-0.16, 0.06), (0.12, 0.06), 0.09))
    for part in (*shaft, [(0.08, 0.2), (0.08, -0.08), (0.27, 0.06)]):
        _layer(mesh, part, _WHITE, 3)


def traffic_light(color: str, *, near: bool) -> Mesh:
    """Build a traffic light whose ``color`` lamp is lit."""
    mesh = MeshBuilder(TRAFFIC_LIGHT)
    _pole(mesh, 3.5, 0.06)
    mesh.box((-0.14, 0.14), (-0.2, 0.2), (2.55, 3.6), (34, 38, 36))
    for name, up in SIGNAL_LAMPS.items():
        on = name == color
        lens = [(-0.15, r, u) for r, u in ring((0.0, up), (0.125, 0.125), 12 if near else 6)]
        tint = _LAMP_COLORS[name] if on else shaded(_LAMP_COLORS[name], 0.2)
        mesh.face(lens, tint, centre=(0.0, 0.0, up), rank=2, glow=1.0 if on else 0.0)
        if near:
            low, high = up + 0.12, up + 0.14
            visor = [(-0.16, -0.15, low), (-0.16, 0.15, low), (-0.3, 0.13, high), (-0.3, -0.13, high)]
            mesh.face(visor, (22, 24, 24), rank=3)
    return mesh.build((0.3, 0.5))


def street_lamp(*, near: bool) -> Mesh:
    """Build a street lamp whose arm reaches over the road on its left."""
    mesh = MeshBuilder(POLE)
    _pole(mesh, 6.0, 0.07)
    forward, right, up = LAMP_HEAD
    arm = [(0.0, 0.0, up), (0.0, right, up + 0.25), (0.0, right, up + 0.35), (0.0, 0.0, up + 0.1)]
    mesh.face(arm, _STEEL)
    mesh.part()
    head = (forward - 0.3, forward + 0.3), (right - 0.4, right + 0.25), (up + 0.1, up + 0.28)
    mesh.box(*head, shaded(_STEEL, 0.8))
    low, high, bottom = right - 0.35, right + 0.2, up + 0.09
    glass = [(-0.25, low, bottom), (-0.25, high, bottom), (0.25, high, bottom), (0.25, low, bottom)]
    mesh.face(glass, (255, 226, 170), rank=2, glow=1.0)
    if near:
        mesh.box((-0.12, 0.12), (-0.12, 0.12), (0.0, 0.5), shaded(_STEEL, 0.8), faces="bflr")
    return mesh.build((0.3, 0.3))
