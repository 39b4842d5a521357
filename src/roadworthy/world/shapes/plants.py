"""Trees and bushes: upright cut-outs with leafy outlines."""

from __future__ import annotations

import math

import numpy as np

from roadworthy.world.classes import TREE
from roadworthy.world.mesh import Color, Mesh, MeshBuilder, shaded
from roadworthy.world.seasons import LEAVES
from roadworthy.world.shapes.outlines import Outline
from roadworthy.world.shapes.winter_plants import WINTER_BARK, add_bare_bush, add_bare_crown, add_snow

__all__ = ["tree"]

_NEEDLES: tuple[Color, ...] = ((46, 82, 56), (54, 88, 52), (40, 74, 58))
_BARK: Color = (82, 66, 52)
_BARE_SHADOW = 110


def tree(kind: str, look: int, *, near: bool, season: str = "summer") -> Mesh:
    """Build a ``"broadleaf"``, ``"conifer"`` or ``"bush"``; ``look`` chooses its shape and colour."""
    rng = np.random.default_rng(look + 104729)
    if kind == "conifer":
        return _conifer(rng, near, season)
    if kind == "bush":
        return _bush(rng, near, season)
    return _broadleaf(rng, near, season)


def _blob(
    rng: np.random.Generator, centre: tuple[float, float], radius: tuple[float, float], points: int
) -> Outline:
    """Return an outline with lobes, like a mass of leaves."""
    phase = rng.uniform(0, 2 * math.pi, 3)
    outline = []
    for k in range(points):
        a = 2 * math.pi * k / points
        lobes = 1 + 0.07 * math.sin(3 * a + phase[0]) + 0.06 * math.sin(5 * a + phase[1])
        wobble = lobes + 0.05 * math.sin(9 * a + phase[2]) + float(rng.uniform(-0.05, 0.05))
        outline.append(
            (centre[0] + radius[0] * wobble * math.cos(a), centre[1] + radius[1] * wobble * math.sin(a))
        )
    return outline


def _leaf(rng: np.random.Generator, season: str) -> Color:
    colors = LEAVES.get(season, LEAVES["summer"])
    return colors[rng.integers(len(colors))]


def _broadleaf(rng: np.random.Generator, near: bool, season: str) -> Mesh:
    mesh = MeshBuilder(TREE, upright=True)
    leaf = _leaf(rng, season)
    height = float(rng.uniform(5.5, 9.0))
    width = float(rng.uniform(1.7, 2.6))
    crown = height * 0.62
    half = height - crown
    trunk = height * 0.035 + 0.04
    foot, neck, top = trunk * 1.5, trunk * 0.8, crown * 0.8
    bark = WINTER_BARK if season == "winter" else _BARK
    mesh.flat([(-foot, 0.0), (foot, 0.0), (neck, top), (-neck, top)], bark, grain=0.5, rank=1)
    if near:
        edge = trunk * 0.2
        shade = [(edge, 0.0), (foot, 0.0), (neck, top), (edge, top)]
        mesh.flat(shade, shaded(bark, 0.7), grain=0.5, rank=1)
    if season == "winter":
        add_bare_crown(mesh, rng, (width, height), (trunk, top), near=near)
        return mesh.build((0.8, 0.8), shadow=_BARE_SHADOW)
    points = 30 if near else 13
    outline = _blob(rng, (0.0, crown), (width, half), points)
    mesh.flat(outline, shaded(leaf, 0.62), rank=2, grain=0.8, convex=False)
    puffs = 5 if near else 1
    for k in range(puffs):
        a = 2 * math.pi * (k + float(rng.uniform(-0.2, 0.2))) / puffs
        at = (width * 0.42 * math.cos(a), crown + half * 0.4 * math.sin(a) + 0.1 * half)
        tint = 0.86 + 0.16 * math.sin(a) - 0.1 * math.cos(a)
        puff = _blob(rng, at, (width * 0.46, half * 0.44), points * 2 // 3)
        mesh.flat(puff, shaded(leaf, tint), rank=3 + (k % 2), grain=0.9, convex=False)
    at = (-0.22 * width, crown + half * 0.38)
    sunny = _blob(rng, at, (width * 0.42, half * 0.36), points * 2 // 3)
    mesh.flat(sunny, shaded(leaf, 1.14), rank=5, grain=0.9, convex=False)
    return mesh.build((0.8, 0.8))


def _conifer(rng: np.random.Generator, near: bool, season: str) -> Mesh:
    mesh = MeshBuilder(TREE, upright=True)
    needle = _NEEDLES[rng.integers(len(_NEEDLES))]
    height = float(rng.uniform(7.0, 12.0))
    width = height * float(rng.uniform(0.17, 0.23))
    trunk = [(-0.16, 0.0), (0.16, 0.0), (0.12, height * 0.3), (-0.12, height * 0.3)]
    mesh.flat(trunk, _BARK, grain=0.5, rank=1)
    tiers, teeth = (6, 7) if near else (3, 3)
    for k in range(tiers):
        low = height * (0.12 + 0.72 * k / tiers)
        top = height * (0.12 + 0.72 * (k + 1) / tiers) + height * 0.16
        tip = (0.0, min(top, height))
        reach = width * (1 - 0.8 * k / tiers)
        hem = []
        for j in range(teeth * 2 + 1):
            r = -reach + 2 * reach * j / (teeth * 2)
            notch = (0.0 if j % 2 == 0 else 0.045 * height) * (1 - 0.5 * k / tiers)
            drop = notch + float(rng.uniform(0, 0.02)) * height
            hem.append((r * (1 - drop / height), low + drop + 0.05 * height * (abs(r) / reach) ** 2 * 0.4))
        mesh.flat([*hem, tip], shaded(needle, 0.8 + 0.3 * k / tiers), rank=2 + k, grain=0.9, convex=False)
        if near or k == 0:
            shade = [(0.12 * reach, low + 0.05 * height), (reach * 0.92, low + 0.06 * height), tip]
            mesh.flat(shade, shaded(needle, 0.62 + 0.3 * k / tiers), rank=2 + k, grain=0.9, convex=False)
        if season == "winter":
            add_snow(mesh, hem, tip, rank=2 + k)
    return mesh.build((0.8, 0.8))


def _bush(rng: np.random.Generator, near: bool, season: str) -> Mesh:
    mesh = MeshBuilder(TREE, upright=True)
    leaf = _leaf(rng, season)
    width, height = float(rng.uniform(0.7, 1.4)), float(rng.uniform(0.7, 1.3))
    if season == "winter":
        add_bare_bush(mesh, rng, (width, height), near=near)
        return mesh.build((0.8, 1.6), shadow=_BARE_SHADOW)
    points = 20 if near else 10
    lower = _blob(rng, (0.0, height * 0.45), (width, height * 0.55), points)
    mesh.flat([(r, max(0.0, u)) for r, u in lower], shaded(leaf, 0.68), rank=1, grain=0.9, convex=False)
    upper = _blob(rng, (-0.15 * width, height * 0.58), (width * 0.7, height * 0.36), points)
    mesh.flat(upper, leaf, rank=2, grain=0.9, convex=False)
    return mesh.build((0.8, 1.6))
