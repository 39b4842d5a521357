"""Buildings and plants along the road."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from roadworthy.world.classes import BUILDING, TREE
from roadworthy.world.conditions import LEAVES, SNOW
from roadworthy.world.mesh import Color, Mesh, MeshBuilder, Outline, Pair, Point, shaded

_WALLS: tuple[Color, ...] = (
    (178, 156, 132), (160, 92, 74), (204, 196, 180), (148, 146, 144), (186, 168, 120), (122, 132, 142),
    (196, 150, 118), (170, 176, 164),
)  # fmt: skip
_ROOFS: tuple[Color, ...] = ((134, 70, 54), (88, 82, 80), (112, 92, 76), (72, 78, 88))
_AWNINGS: tuple[Color, ...] = ((170, 52, 48), (48, 92, 120), (60, 110, 72), (196, 150, 60))
_GLASS: Color = (74, 92, 112)
_FRAME: Color = (226, 222, 212)
_DOOR: Color = (104, 66, 46)
_CHIMNEY: Color = (120, 76, 62)


def building(kind: str, look: int, *, near: bool) -> Mesh:
    """Build a ``"house"`` or a ``"block"``; its front looks towards the road (negative right)."""
    rng = np.random.default_rng(look + 15485863)
    return _house(rng, near) if kind == "house" else _block(rng, near)


@dataclass(frozen=True)
class _Wall:
    """One wall of a rectangular building: where it starts, where it runs, and where outside is."""

    start: Pair  # forward, right
    along: Pair
    outside: Pair
    width: float
    centre: Point  # of the building

    def at(self, along: float, up: float, out: float) -> Point:
        """Return the point so far along the wall, so high, and so far in front of it."""
        return (
            self.start[0] + self.along[0] * along + self.outside[0] * out,
            self.start[1] + self.along[1] * along + self.outside[1] * out,
            up,
        )

    def rectangle(self, along: Pair, up: Pair, out: float) -> tuple[Point, Point, Point, Point]:
        """Return the corners of a rectangle on the wall."""
        (a0, a1), (u0, u1) = along, up
        return self.at(a0, u0, out), self.at(a1, u0, out), self.at(a1, u1, out), self.at(a0, u1, out)


def _walls(length: float, depth: float, centre: Point) -> tuple[_Wall, _Wall, _Wall, _Wall]:
    """Return the wall towards the road, both side walls and the back wall."""
    f, r = length / 2, depth / 2
    return (
        _Wall((-f, -r), (1.0, 0.0), (0.0, -1.0), length, centre),
        _Wall((-f, -r), (0.0, 1.0), (-1.0, 0.0), depth, centre),
        _Wall((f, -r), (0.0, 1.0), (1.0, 0.0), depth, centre),
        _Wall((-f, r), (1.0, 0.0), (0.0, 1.0), length, centre),
    )


def _add_windows(
    mesh: MeshBuilder, rng: Generator, wall: _Wall, up: Pair, grid: tuple[int, int], near: bool
) -> None:
    """Add columns × rows of windows between two heights of a wall."""
    columns, rows = grid
    cell_width, cell_height = wall.width / columns, (up[1] - up[0]) / rows
    width, height = cell_width * 0.5, cell_height * 0.52
    for i in range(columns):
        for j in range(rows):
            glow = 0.9 if rng.random() < 0.45 else 0.0
            tint = shaded(_GLASS, float(rng.uniform(0.75, 1.25)))
            a0 = (i + 0.5) * cell_width - width / 2
            u0 = up[0] + (j + 0.5) * cell_height - height / 2
            a1, u1 = a0 + width, u0 + height
            if near:
                frame = wall.rectangle((a0 - 0.09, a1 + 0.09), (u0 - 0.12, u1 + 0.09), 0.01)
                mesh.face(frame, _FRAME, centre=wall.centre, rank=2)
            pane = wall.rectangle((a0, a1), (u0, u1), 0.02)
            mesh.face(pane, tint, centre=wall.centre, rank=3, glow=glow)
            if near:
                # The sky mirrors in a corner of the pane.
                ends = ((a0, u0 + height * 0.55), (a0 + width * 0.75, u1), (a0, u1))
                corner = [wall.at(along, high, 0.03) for along, high in ends]
                mesh.face(corner, shaded(tint, 1.3), centre=wall.centre, rank=4, glow=glow)


def _block(rng: Generator, near: bool) -> Mesh:
    mesh = MeshBuilder(BUILDING)
    length, depth = float(rng.uniform(9, 14)), float(rng.uniform(8, 11))
    floors = int(rng.integers(2, 6))
    height = 1.0 + floors * 3.1 + 0.6
    paint = shaded(_WALLS[rng.integers(len(_WALLS))], float(rng.uniform(0.9, 1.1)))
    f, r = length / 2, depth / 2
    mesh.box((-f, f), (-r, r), (0.0, height), paint, grain=0.22, roof=shaded(paint, 0.7))
    walls = _walls(length, depth, (0.0, 0.0, height / 2))
    shop = rng.random() < 0.6
    low, rows = (4.1, floors - 1) if shop else (1.0, floors)
    for wall in walls[: 4 if near else 3]:
        # Plinth, cornice and a shop front make it a building rather than a box.
        cornice = wall.rectangle((0.0, wall.width), (height - 0.5, height), 0.015)
        mesh.face(cornice, shaded(paint, 1.16), centre=wall.centre, rank=1)
        plinth = wall.rectangle((0.0, wall.width), (0.0, 0.5), 0.015)
        mesh.face(plinth, shaded(paint, 0.62), centre=wall.centre, rank=1)
        columns = max(2, round(wall.width / 2.8))
        _add_windows(mesh, rng, wall, (low, height - 0.6), (columns, rows), near)
    if shop:
        _add_shop(mesh, rng, walls[0])
    return mesh.build((length, depth))


def _add_shop(mesh: MeshBuilder, rng: Generator, wall: _Wall) -> None:
    """Add an awning over three shop windows."""
    awning = wall.rectangle((0.4, wall.width - 0.4), (3.0, 3.75), 0.03)
    mesh.face(awning, _AWNINGS[rng.integers(len(_AWNINGS))], centre=wall.centre, rank=2)
    width = wall.width / 3
    for k in range(3):
        pane = wall.rectangle((k * width + 0.35, (k + 1) * width - 0.35), (0.55, 2.85), 0.03)
        mesh.face(pane, shaded(_GLASS, 0.9), centre=wall.centre, rank=2, glow=0.8)


def _house(rng: Generator, near: bool) -> Mesh:
    mesh = MeshBuilder(BUILDING)
    length, depth = float(rng.uniform(8, 11)), float(rng.uniform(7, 9))
    paint = shaded(_WALLS[rng.integers(len(_WALLS))], float(rng.uniform(1.0, 1.18)))
    tiles = _ROOFS[rng.integers(len(_ROOFS))]
    eaves = float(rng.uniform(3.0, 5.4))
    ridge = eaves + float(rng.uniform(2.0, 3.0))
    f, r = length / 2, depth / 2
    centre = (0.0, 0.0, eaves / 2)
    mesh.box((-f, f), (-r, r), (0.0, eaves), paint, grain=0.15, faces="bflr")
    for end in (-f, f):
        gable = [(end, -r, eaves), (end, r, eaves), (end, 0.0, ridge)]
        mesh.face(gable, paint, centre=centre, grain=0.15)
    walls = _walls(length, depth, centre)
    floors = 2 if eaves > 4.4 else 1
    for wall in walls[:3]:
        _add_windows(mesh, rng, wall, (0.6, eaves), (max(2, round(wall.width / 2.9)), floors), near)
    mesh.face(walls[0].rectangle((f + 0.3, f + 1.3), (0.0, 2.1), 0.02), _DOOR, centre=centre, rank=4)
    mesh.part()
    _add_roof(mesh, f + 0.45, r + 0.45, (eaves, ridge), tiles)
    if near:
        mesh.part()
        stack = (f * 0.4, f * 0.4 + 0.7), (-0.9, -0.3), (eaves + 0.8, ridge + 0.5)
        mesh.box(*stack, _CHIMNEY, grain=0.2)
    return mesh.build((length + 1.0, depth + 1.0))


def _add_roof(mesh: MeshBuilder, f: float, r: float, up: Pair, tiles: Color) -> None:
    """Add both slopes of a roof that hangs over the walls."""
    eaves, ridge = up
    for sign in (-1, 1):
        slope = [(-f, sign * r, eaves - 0.25), (f, sign * r, eaves - 0.25), (f, 0.0, ridge), (-f, 0.0, ridge)]
        mesh.face(slope, tiles, centre=(0.0, 0.0, eaves - 1.0), grain=0.4, rank=1)


_NEEDLES: tuple[Color, ...] = ((46, 82, 56), (54, 88, 52), (40, 74, 58))
_BARK: Color = (82, 66, 52)
_BARE_SHADOW = 110


def tree(kind: str, look: int, *, near: bool, season: str = "summer") -> Mesh:
    """Build a ``"broadleaf"``, ``"conifer"`` or ``"bush"``; ``look`` chooses its shape and colour."""
    grow = {"broadleaf": _broadleaf, "conifer": _conifer, "bush": _bush}[kind]
    return grow(np.random.default_rng(look + 104729), near, season)


def _blob(rng: Generator, centre: Pair, radius: Pair, points: int) -> Outline:
    """Return an outline with lobes, like a mass of leaves."""
    phase = rng.uniform(0, 2 * math.pi, 3)
    outline = []
    for k in range(points):
        a = 2 * math.pi * k / points
        lobes = 1 + 0.07 * math.sin(3 * a + phase[0]) + 0.06 * math.sin(5 * a + phase[1])
        wobble = lobes + 0.05 * math.sin(9 * a + phase[2]) + float(rng.uniform(-0.05, 0.05))
        x, y = radius[0] * wobble * math.cos(a), radius[1] * wobble * math.sin(a)
        outline.append((centre[0] + x, centre[1] + y))
    return outline


def _leaf(rng: Generator, season: str) -> Color:
    colors = LEAVES.get(season, LEAVES["summer"])
    return colors[rng.integers(len(colors))]


def _broadleaf(rng: Generator, near: bool, season: str) -> Mesh:
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


def _conifer(rng: Generator, near: bool, season: str) -> Mesh:
    mesh = MeshBuilder(TREE, upright=True)
    needle = _NEEDLES[rng.integers(len(_NEEDLES))]
    height = float(rng.uniform(7.0, 12.0))
    width = height * float(rng.uniform(0.17, 0.23))
    trunk = [(-0.16, 0.0), (0.16, 0.0), (0.12, height * 0.3), (-0.12, height * 0.3)]
    mesh.flat(trunk, _BARK, grain=0.5, rank=1)
    tiers, teeth = (6, 7) if near else (3, 3)
    for k in range(tiers):
        low = height * (0.12 + 0.72 * k / tiers)
        tip = (0.0, min(height * (0.12 + 0.72 * (k + 1) / tiers) + height * 0.16, height))
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


def _bush(rng: Generator, near: bool, season: str) -> Mesh:
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


WINTER_BARK: Color = (96, 82, 72)
"""Lighter than in summer: no leaves keep the light from it."""
_SHADED_SNOW = shaded(SNOW, 0.86)
_BEHIND_TRUNK = -5  # rank of a branch before its first generation
_STEEP = 0.45  # snow does not stay on a branch that goes less far to the side than this per metre


def _taper(start: Pair, end: Pair, wide: float, thin: float) -> Outline:
    """Return a branch that is ``wide`` where it starts and ``thin`` where it ends."""
    along, up = end[0] - start[0], end[1] - start[1]
    length = max(math.hypot(along, up), 1e-6)
    across = (-up / length / 2, along / length / 2)
    return [
        (start[0] - across[0] * wide, start[1] - across[1] * wide),
        (start[0] + across[0] * wide, start[1] + across[1] * wide),
        (end[0] + across[0] * thin, end[1] + across[1] * thin),
        (end[0] - across[0] * thin, end[1] - across[1] * thin),
    ]


class _Branches:
    """Grows branches into a cut-out, each with smaller ones to both sides."""

    def __init__(self, mesh: MeshBuilder, rng: Generator, generations: int) -> None:
        self._mesh = mesh
        self._rng = rng
        self._generations = generations

    def grow(self, start: Pair, angle: float, length: float, wide: float, generation: int = 1) -> None:
        """Add a branch at an angle from upright, clockwise, and all that grows from it."""
        end = (start[0] + length * math.sin(angle), start[1] + length * math.cos(angle))
        tint = float(self._rng.uniform(0.8, 1.15))
        branch = _taper(start, end, wide, wide * 0.45)
        self._mesh.flat(branch, shaded(WINTER_BARK, tint), rank=_BEHIND_TRUNK + generation, grain=0.4)
        if generation < 3:
            self._add_snow_on(start, end, wide)
        if generation == self._generations:
            return
        for k in range(3):
            at = 0.4 + 0.28 * k
            place = (start[0] + (end[0] - start[0]) * at, start[1] + (end[1] - start[1]) * at)
            turn = (1 if k % 2 else -1) * float(self._rng.uniform(0.35, 0.75)) * (0.5 if k == 2 else 1.0)
            shorter = length * float(self._rng.uniform(0.42, 0.6))
            self.grow(place, angle + turn, shorter, wide * 0.55, generation + 1)

    def _add_snow_on(self, start: Pair, end: Pair, wide: float) -> None:
        """Snow stays on the upper side of a branch, the more of it the more level the branch is."""
        level = abs(end[0] - start[0]) / max(math.hypot(end[0] - start[0], end[1] - start[1]), 1e-6)
        if level < _STEEP:
            return
        rise = wide * 0.42
        lying = _taper((start[0], start[1] + rise), (end[0], end[1] + rise * 0.5), wide * 0.3, wide * 0.22)
        self._mesh.flat(lying, _SHADED_SNOW, rank=0)


def add_bare_crown(mesh: MeshBuilder, rng: Generator, size: Pair, trunk: Pair, *, near: bool) -> None:
    """Add the branches of a broadleaf tree.

    ``size`` is half the width of its crown and its height, ``trunk`` the same of its trunk.
    """
    (width, height), (thickness, neck) = size, trunk
    # Far away, a few branches stand for all: thinner ones would be lost between the pixels.
    branches = _Branches(mesh, rng, 4 if near else 2)
    thick = 1.0 if near else 1.3
    limbs = 7
    for k in range(limbs):
        share = k / (limbs - 1)
        start = (0.0, height * (0.30 + 0.42 * share))
        lean = (1 if k % 2 else -1) * (1.05 - 0.75 * share) * float(rng.uniform(0.8, 1.1))
        reach = min(width / max(abs(math.sin(lean)), 0.3), (height - start[1]) * 0.95)
        branches.grow(start, lean, reach * 0.92, thickness * thick * (0.75 - 0.3 * share))
    top = (float(rng.uniform(-0.1, 0.1)) * width, height * 0.97)
    leader = _taper((0.0, neck), top, thickness * 1.6, thickness * 0.2)
    mesh.flat(leader, shaded(WINTER_BARK, 0.9), rank=0, grain=0.4)


def add_bare_bush(mesh: MeshBuilder, rng: Generator, size: Pair, *, near: bool) -> None:
    """Add the twigs of a bush: ``size`` is half its width, and its height."""
    width, height = size
    branches = _Branches(mesh, rng, 2)
    stems = 7 if near else 4
    for k in range(stems):
        share = 2 * k / (stems - 1) - 1
        lean = 0.9 * share + float(rng.uniform(-0.12, 0.12))
        branches.grow((share * width * 0.3, 0.0), lean, height * 0.95, 0.05 if near else 0.08)


def add_snow(mesh: MeshBuilder, hem: Outline, tip: Pair, *, rank: int) -> None:
    """Add the snow on one tier of a conifer, from just above its lower hem."""
    # It lies on the bending tips of the twigs, and the middle, nearer to the trunk, stays green.
    rise = tip[1] - min(up for _, up in hem)
    lower = [(right * 0.96, up + rise * 0.07) for right, up in hem]
    back = enumerate(reversed(hem))
    upper = [(right * 0.62, up + rise * (0.34 if k % 2 else 0.2)) for k, (right, up) in back]
    mesh.flat([*lower, *upper], _SHADED_SNOW, rank=rank, grain=0.5, convex=False)
