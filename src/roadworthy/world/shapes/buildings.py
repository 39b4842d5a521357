"""Houses and city blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roadworthy.world.classes import BUILDING
from roadworthy.world.mesh import Color, Mesh, MeshBuilder, Point, shaded

_WALLS: tuple[Color, ...] = (
    (178, 156, 132),
    (160, 92, 74),
    (204, 196, 180),
    (148, 146, 144),
    (186, 168, 120),
    (122, 132, 142),
    (196, 150, 118),
    (170, 176, 164),
)
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

    start: tuple[float, float]  # forward, right
    along: tuple[float, float]
    outside: tuple[float, float]
    width: float
    centre: Point  # of the building

    def at(self, along: float, up: float, out: float) -> Point:
        """Return the point so far along the wall, so high, and so far in front of it."""
        return (
            self.start[0] + self.along[0] * along + self.outside[0] * out,
            self.start[1] + self.along[1] * along + self.outside[1] * out,
            up,
        )

    def rectangle(
        self, along: tuple[float, float], up: tuple[float, float], out: float
    ) -> tuple[Point, Point, Point, Point]:
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
    mesh: MeshBuilder,
    rng: np.random.Generator,
    wall: _Wall,
    up: tuple[float, float],
    grid: tuple[int, int],
    near: bool,
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
                corner = (
                    wall.at(a0, u0 + height * 0.55, 0.03),
                    wall.at(a0 + width * 0.75, u1, 0.03),
                    wall.at(a0, u1, 0.03),
                )
                mesh.face(corner, shaded(tint, 1.3), centre=wall.centre, rank=4, glow=glow)


def _block(rng: np.random.Generator, near: bool) -> Mesh:
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


def _add_shop(mesh: MeshBuilder, rng: np.random.Generator, wall: _Wall) -> None:
    """Add an awning over three shop windows."""
    awning = wall.rectangle((0.4, wall.width - 0.4), (3.0, 3.75), 0.03)
    mesh.face(awning, _AWNINGS[rng.integers(len(_AWNINGS))], centre=wall.centre, rank=2)
    width = wall.width / 3
    for k in range(3):
        pane = wall.rectangle((k * width + 0.35, (k + 1) * width - 0.35), (0.55, 2.85), 0.03)
        mesh.face(pane, shaded(_GLASS, 0.9), centre=wall.centre, rank=2, glow=0.8)


def _house(rng: np.random.Generator, near: bool) -> Mesh:
    mesh = MeshBuilder(BUILDING)
    length, depth = float(rng.uniform(8, 11)), float(rng.uniform(7, 9))
    paint = shaded(_WALLS[rng.integers(len(_WALLS))], float(rng.uniform(1.0, 1.18)))
    tiles = _ROOFS[rng.integers(len(_ROOFS))]
    eaves = float(rng.uniform(3.0, 5.4))
    ridge = eaves + float(rng.uniform(2.0, 3.0))
    f, r = length / 2, depth / 2
    centre = (0.0, 0.0, eaves / 2)
    mesh.box((-f, f), (-r, r), (0.0, eaves), paint, grain=0.15, skip="t")
    for end in (-f, f):
        gable = [(end, -r, eaves), (end, r, eaves), (end, 0.0, ridge)]
        mesh.face(gable, paint, centre=centre, grain=0.15)
    walls = _walls(length, depth, centre)
    floors = 2 if eaves > 4.4 else 1
    for wall in walls[:3]:
        columns = max(2, round(wall.width / 2.9))
        _add_windows(mesh, rng, wall, (0.6, eaves), (columns, floors), near)
    door = walls[0].rectangle((f + 0.3, f + 1.3), (0.0, 2.1), 0.02)
    mesh.face(door, _DOOR, centre=centre, rank=4)
    mesh.part()
    _add_roof(mesh, f + 0.45, r + 0.45, (eaves, ridge), tiles)
    if near:
        mesh.part()
        stack = (f * 0.4, f * 0.4 + 0.7), (-0.9, -0.3), (eaves + 0.8, ridge + 0.5)
        mesh.box(*stack, _CHIMNEY, grain=0.2)
    return mesh.build((length + 1.0, depth + 1.0))


def _add_roof(mesh: MeshBuilder, f: float, r: float, up: tuple[float, float], tiles: Color) -> None:
    """Add both slopes of a roof that hangs over the walls."""
    eaves, ridge = up
    for sign in (-1, 1):
        slope = [
            (-f, sign * r, eaves - 0.25),
            (f, sign * r, eaves - 0.25),
            (f, 0.0, ridge),
            (-f, 0.0, ridge),
        ]
        mesh.face(slope, tiles, centre=(0.0, 0.0, eaves - 1.0), grain=0.4, rank=1)
