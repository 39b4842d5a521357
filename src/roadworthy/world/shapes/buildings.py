"""Houses and city blocks."""

from __future__ import annotations

import numpy as np

from roadworthy.world.classes import BUILDING
from roadworthy.world.mesh import Color, Mesh, MeshBuilder, Point, shaded

__all__ = ["building"]

_WALLS: tuple[Color, ...] = (
    (178, 156, 132), (160, 92, 74), (204, 196, 180), (148, 146, 144), (186, 168, 120), (122, 132, 142), (196, 150, 118),
    (170, 176, 164),
)  # fmt: skip
_ROOFS: tuple[Color, ...] = ((134, 70, 54), (88, 82, 80), (112, 92, 76), (72, 78, 88))
_GLASS: Color = (74, 92, 112)
_LIT: Color = (255, 214, 140)


def building(kind: str, look: int, *, near: bool) -> Mesh:
    """Build a ``"house"`` or a ``"block"``; its front looks towards the road (negative right)."""
    rng = np.random.default_rng(look + 15485863)
    return _house(rng, near) if kind == "house" else _block(rng, near)


def _windows(
    mesh: MeshBuilder,
    rng: np.random.Generator,
    origin: Point,
    along: Point,
    size: tuple[float, float],
    grid: tuple[int, int],
    centre: Point,
    near: bool,
    low: float = 0.0,
) -> None:
    """Add a grid of windows on a wall that starts at ``origin`` and runs ``along`` it."""
    width, height = size
    columns, rows = grid
    cell_w, cell_h = width / columns, (height - low) / rows
    pane_w, pane_h = cell_w * 0.5, cell_h * 0.52

    def at(w: float, h: float, out: float) -> Point:
        normal = (-along[1], along[0])
        sign = 1 if (origin[0] - centre[0]) * normal[0] + (origin[1] - centre[1]) * normal[1] > 0 else -1
        return (
            origin[0] + along[0] * w + sign * normal[0] * out,
            origin[1] + along[1] * w + sign * normal[1] * out,
            h,
        )

    for i in range(columns):
        for j in range(rows):
            lit = rng.random() < 0.45
            w0 = (i + 0.5) * cell_w - pane_w / 2
            h0 = low + (j + 0.5) * cell_h - pane_h / 2
            if near:
                mesh.face(
                    [
                        at(w, h, 0.01)
                        for w, h in (
                            (w0 - 0.09, h0 - 0.12),
                            (w0 + pane_w + 0.09, h0 - 0.12),
                            (w0 + pane_w + 0.09, h0 + pane_h + 0.09),
                            (w0 - 0.09, h0 + pane_h + 0.09),
                        )
                    ],
                    (226, 222, 212),
                    centre=centre,
                    rank=2,
                )
            tint = shaded(_GLASS, float(rng.uniform(0.75, 1.25)))
            mesh.face(
                [
                    at(w, h, 0.02)
                    for w, h in ((w0, h0), (w0 + pane_w, h0), (w0 + pane_w, h0 + pane_h), (w0, h0 + pane_h))
                ],
                tint,
                centre=centre,
                rank=3,
                glow=0.9 if lit else 0.0,
            )
            if near:
                mesh.face(
                    [
                        at(w, h, 0.03)
                        for w, h in (
                            (w0, h0 + pane_h * 0.55),
                            (w0 + pane_w * 0.75, h0 + pane_h),
                            (w0, h0 + pane_h),
                        )
                    ],
                    shaded(tint, 1.3),
                    centre=centre,
                    rank=4,
                    glow=0.9 if lit else 0.0,
                )


def _block(rng: np.random.Generator, near: bool) -> Mesh:
    mesh = MeshBuilder(BUILDING)
    length, depth = float(rng.uniform(9, 14)), float(rng.uniform(8, 11))
    floors = int(rng.integers(2, 6))
    height = 1.0 + floors * 3.1 + 0.6
    wall = shaded(_WALLS[rng.integers(len(_WALLS))], float(rng.uniform(0.9, 1.1)))
    f, r = length / 2, depth / 2
    centre = (0.0, 0.0, height / 2)
    mesh.box((-f, f), (-r, r), (0.0, height), wall, grain=0.22, roof=shaded(wall, 0.7))
    # Plinth, cornice and a shop front make it a building rather than a box.
    shop = rng.random() < 0.6
    sides: list[tuple[Point, Point, float]] = [
        ((-f, -r, 0.0), (1.0, 0.0, 0.0), length),
        ((-f, -r, 0.0), (0.0, 1.0, 0.0), depth),
        ((f, -r, 0.0), (0.0, 1.0, 0.0), depth),
        ((-f, r, 0.0), (1.0, 0.0, 0.0), length),
    ]

    def band(
        start: Point,
        along: Point,
        width: float,
        low: float,
        high: float,
        color: Color,
        rank: int,
        glow: float = 0.0,
        inset: float = 0.0,
    ) -> None:
        out = 0.015 * rank
        normal = (-along[1], along[0])
        sign = 1 if (start[0]) * normal[0] + (start[1]) * normal[1] > 0 else -1
        a = (
            start[0] + along[0] * inset + sign * normal[0] * out,
            start[1] + along[1] * inset + sign * normal[1] * out,
        )
        b = (a[0] + along[0] * (width - 2 * inset), a[1] + along[1] * (width - 2 * inset))
        mesh.face([(*a, low), (*b, low), (*b, high), (*a, high)], color, centre=centre, rank=rank, glow=glow)

    for start, along, width in sides[: 4 if near else 3]:
        band(start, along, width, height - 0.5, height, shaded(wall, 1.16), 1)
        band(start, along, width, 0.0, 0.5, shaded(wall, 0.62), 1)
        columns = max(2, round(width / 2.8))
        _windows(
            mesh,
            rng,
            start,
            along,
            (width, height - 0.6),
            (columns, floors - 1 if shop else floors),
            centre,
            near,
            low=4.1 if shop else 1.0,
        )
    if shop:
        start, along, width = sides[0]
        awning = ((170, 52, 48), (48, 92, 120), (60, 110, 72), (196, 150, 60))[int(rng.integers(4))]
        band(start, along, width, 3.0, 3.75, awning, 2, inset=0.4)
        panes = 3
        for k in range(panes):
            w = width / panes
            s = (start[0] + k * w, start[1], 0.0)
            band(s, along, w, 0.55, 2.85, shaded(_GLASS, 0.9), 2, glow=0.8, inset=0.35)
    return mesh.build((length, depth))


def _house(rng: np.random.Generator, near: bool) -> Mesh:
    mesh = MeshBuilder(BUILDING)
    length, depth = float(rng.uniform(8, 11)), float(rng.uniform(7, 9))
    wall = shaded(_WALLS[rng.integers(len(_WALLS))], float(rng.uniform(1.0, 1.18)))
    roof = _ROOFS[rng.integers(len(_ROOFS))]
    eaves = float(rng.uniform(3.0, 5.4))
    ridge = eaves + float(rng.uniform(2.0, 3.0))
    f, r = length / 2, depth / 2
    centre = (0.0, 0.0, eaves / 2)
    mesh.box((-f, f), (-r, r), (0.0, eaves), wall, grain=0.15, skip="t")
    for end in (-f, f):
        mesh.face([(end, -r, eaves), (end, r, eaves), (end, 0.0, ridge)], wall, centre=centre, grain=0.15)
    floors = 2 if eaves > 4.4 else 1
    for start, along, width in (
        ((-f, -r, 0.0), (1.0, 0.0, 0.0), length),
        ((-f, -r, 0.0), (0.0, 1.0, 0.0), depth),
        ((f, -r, 0.0), (0.0, 1.0, 0.0), depth),
    ):
        _windows(
            mesh,
            rng,
            start,
            along,
            (width, eaves),
            (max(2, round(width / 2.9)), floors),
            centre,
            near,
            low=0.6,
        )
    door = -r - 0.02
    mesh.face(
        [(0.3, door, 0.0), (1.3, door, 0.0), (1.3, door, 2.1), (0.3, door, 2.1)],
        (104, 66, 46),
        centre=centre,
        rank=4,
    )
    mesh.part()
    over = 0.45
    for sign in (-1, 1):
        mesh.face(
            [
                (-f - over, sign * (r + over), eaves - 0.25),
                (f + over, sign * (r + over), eaves - 0.25),
                (f + over, 0.0, ridge),
                (-f - over, 0.0, ridge),
            ],
            roof,
            centre=(0.0, 0.0, eaves - 1.0),
            grain=0.4,
            rank=1,
        )
    if near:
        mesh.part()
        mesh.box((f * 0.4, f * 0.4 + 0.7), (-0.9, -0.3), (eaves + 0.8, ridge + 0.5), (120, 76, 62), grain=0.2)
    return mesh.build((length + 1.0, depth + 1.0))
