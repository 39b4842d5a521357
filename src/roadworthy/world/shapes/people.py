"""Pedestrians and bicyclists: upright cut-outs made of limbs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy._yaml import read_yaml
from roadworthy.world.classes import BICYCLIST, PEDESTRIAN
from roadworthy.world.mesh import Color, Mesh, MeshBuilder, Outline, Pair, ring, shaded, stroke, tinted

_SKINS: tuple[Color, ...] = ((236, 196, 166), (204, 154, 116), (150, 104, 72), (98, 66, 48))
_HAIRS: tuple[Color, ...] = ((44, 32, 26), (92, 62, 38), (176, 140, 86), (120, 120, 122))
_COATS: tuple[Color, ...] = (
    (172, 44, 44), (40, 76, 132), (56, 104, 74), (206, 158, 52), (96, 66, 110), (58, 60, 66),
    (196, 196, 190), (214, 106, 50),
)  # fmt: skip
_TROUSERS: tuple[Color, ...] = ((42, 48, 66), (60, 54, 48), (34, 34, 38), (96, 92, 84))
_CHILD = 0.66, 1.35  # of an adult's size, and how much larger the head is than at that size
_NECK = 1.46  # metres, of an adult
CYCLE, POSES = 1.4, 12
"""Metres that two steps of somebody who walks take, and the poses on the way."""
_SWING = 0.26  # metres by which a foot is ahead
_SHOES: Color = (36, 32, 30)
_RUBBER: Color = (28, 28, 30)
_SPOKES: Color = (120, 120, 124)


def _pick(rng: np.random.Generator, colors: tuple[Color, ...]) -> Color:
    return colors[rng.integers(len(colors))]


def pedestrian(look: int, *, near: bool, child: bool = False, gait: tuple[int, bool] | None = None) -> Mesh:
    """Build a pedestrian; ``look`` chooses clothes, hair, skin and height.

    It chooses stride and direction, too, unless a gait says the pose, and whether it goes to the right.
    """
    rng = np.random.default_rng(look)
    skin, hair, coat, trousers = (_pick(rng, colors) for colors in (_SKINS, _HAIRS, _COATS, _TROUSERS))
    scale = float(rng.uniform(0.92, 1.06))
    stride = float(rng.uniform(0.05, 0.2))
    mesh = MeshBuilder(PEDESTRIAN, upright=True)
    scale *= _CHILD[0] if child else 1.0
    to_the_right = bool(rng.random() < 0.5)
    if gait is not None:
        stride, to_the_right = _SWING * math.sin(math.tau * gait[0] / POSES), gait[1]
    figure = _Figure(mesh, scale, 1 if to_the_right else -1, _CHILD[1] if child else 1.0)
    _add_legs(figure, trousers, stride)
    _add_torso(figure, coat, stride, near)
    _add_arm(figure, coat, skin, stride if gait is None else -stride)
    _add_head(figure, skin, hair)
    return mesh.build((0.4, 0.55 * scale))


@dataclass(frozen=True)
class _Figure:
    """Draws a person of a size who walks to the right (1) or to the left (-1)."""

    mesh: MeshBuilder
    scale: float
    facing: int
    head: float = 1.0

    def limb(self, start: Pair, end: Pair, width: float, color: Color, rank: int) -> None:
        line = stroke((self.facing * start[0], start[1]), (self.facing * end[0], end[1]), width)
        self.mesh.flat([(r * self.scale, u * self.scale) for r, u in line], color, rank=rank)

    def shape(self, outline: Outline, color: Color, rank: int) -> None:
        if self.head != 1 and min(u for _, u in outline) > _NECK:
            outline = [(self.head * r, _NECK + self.head * (u - _NECK)) for r, u in outline]
        points = [(self.facing * r * self.scale, u * self.scale) for r, u in outline]
        self.mesh.flat(points, color, rank=rank, convex=False)


def _add_legs(figure: _Figure, trousers: Color, stride: float) -> None:
    shade = shaded(trousers, 0.78)
    far_knee, near_knee = (-0.07 - stride * 0.4, 0.46), (0.09 + stride * 0.5, 0.48)
    figure.limb((-0.07, 0.84), far_knee, 0.15, shade, 1)
    figure.limb(far_knee, (-0.09 - stride, 0.1), 0.12, shade, 1)
    figure.limb((0.08, 0.84), near_knee, 0.16, trousers, 2)
    figure.limb(near_knee, (0.1 + stride, 0.1), 0.12, trousers, 2)
    for foot, tint in ((-0.09 - stride, 0.8), (0.1 + stride, 1.0)):
        shoe = [(foot - 0.07, 0.0), (foot + 0.16, 0.0), (foot + 0.13, 0.07), (foot - 0.06, 0.12)]
        figure.shape(shoe, shaded(_SHOES, tint), 3)


def _add_torso(figure: _Figure, coat: Color, stride: float, near: bool) -> None:
    """Add the coat and the far arm behind it."""
    figure.limb((-0.18, 1.34), (-0.24 - stride * 0.6, 0.98), 0.11, shaded(coat, 0.7), 1)
    front = [(0.18, 0.78), (0.2, 1.12), (0.23, 1.36), (0.13, 1.46)]
    figure.shape([(-0.17, 0.78), *front, (-0.12, 1.46), (-0.22, 1.36), (-0.19, 1.1)], coat, 4)
    figure.shape([(0.05, 0.78), *front, (0.08, 1.44)], shaded(coat, 0.8), 5)
    if near:
        figure.limb((0.0, 0.8), (0.0, 1.42), 0.02, shaded(coat, 0.6), 6)
        figure.shape([(-0.18, 0.78), (0.19, 0.78), (0.19, 0.83), (-0.18, 0.83)], shaded(coat, 0.55), 6)


def _add_arm(figure: _Figure, coat: Color, skin: Color, stride: float) -> None:
    figure.limb((0.19, 1.36), (0.27, 1.1), 0.11, shaded(coat, 0.88), 6)
    figure.limb((0.27, 1.1), (0.25 + stride * 0.5, 0.92), 0.09, shaded(coat, 0.84), 6)
    figure.shape(ring((0.26 + stride * 0.5, 0.86), (0.05, 0.06), 6), skin, 7)


def _add_head(figure: _Figure, skin: Color, hair: Color) -> None:
    figure.limb((0.0, 1.44), (0.0, 1.52), 0.1, shaded(skin, 0.8), 5)
    figure.shape(ring((0.0, 1.6), (0.1, 0.125), 10), skin, 7)
    whole = ring((-0.01, 1.62), (0.115, 0.125), 14)
    figure.shape([p for p in whole if p[1] >= 1.6 or p[0] < -0.07], hair, 8)


def bicyclist(look: int, *, near: bool, across: bool) -> Mesh:
    """Build a bicyclist seen from behind, or ``across`` (from the side)."""
    rng = np.random.default_rng(look + 7919)
    own = {
        "skin": _pick(rng, _SKINS),
        "coat": _pick(rng, _COATS),
        "trousers": _pick(rng, _TROUSERS),
        "helmet": _pick(rng, _COATS),
        "frame": _pick(rng, _COATS),
    }
    colors = {**_BICYCLISTS["colors"], **own}
    mesh = MeshBuilder(BICYCLIST, upright=True)
    if across:
        _add_bicycle_wheels(mesh, near)
    for shape, where, color, rank, *options in _BICYCLISTS["across" if across else "behind"]:
        how = dict(options[0]) if options else {}
        above = how.pop("above", -math.inf)
        outline = [point for point in _OUTLINES[shape](where) if point[1] >= above]
        mesh.flat(outline, tinted(color, colors), rank=rank, **how)
    return mesh.build((0.6, 1.7) if across else (1.6, 0.6))


_BICYCLISTS = read_yaml(Path(__file__).with_name("bicyclists.yaml"), "file of bicyclists", "views").data
_OUTLINES: dict[str, Callable[[list[Any]], Outline]] = {
    "line": lambda where: stroke((where[0], where[1]), (where[2], where[3]), where[4]),
    "ring": lambda where: ring((where[0], where[1]), (where[2], where[3]), where[4]),
    "outline": lambda where: [(right, up) for right, up in where],
}


def _add_bicycle_wheels(mesh: MeshBuilder, near: bool) -> None:
    sides = 16 if near else 8
    for hub in (-0.52, 0.52):
        outer, inner = (ring((hub, 0.34), (radius, radius), sides) for radius in (0.34, 0.29))
        for k in range(sides):
            j = (k + 1) % sides
            mesh.flat([outer[k], outer[j], inner[j], inner[k]], _RUBBER, rank=1)
        if near:
            for k in range(0, sides, 4):
                mesh.flat(stroke(inner[k], inner[(k + sides // 2) % sides], 0.012), _SPOKES, rank=0)
