"""Meshes: flat faces in an object's own frame, with what the renderer needs to know about each.

Local axes are forward, right, up, in metres, with the origin on the ground under the object. A mesh is a
prototype: it is built once, shared by every thing that looks alike, and placed anew in each frame.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from roadworthy._yaml import read_yaml
from roadworthy.world import classes
from roadworthy.world.camera import Array, vector

Color = tuple[float, float, float]
Point = tuple[float, float, float]
Pair = tuple[float, float]
"""A place in a plane, or from where to where along one axis."""


class Column:
    """Columns of the table of faces, one for all, because it is joined in every frame."""

    COLOR = slice(0, 3)
    NORMAL = slice(3, 6)
    UP = 5  # how far the normal points up
    GLOW = 6  # 0 lit by the scene … 1 shines by itself when lamps are on
    GRAIN = 7  # strength of the surface texture
    CORNERS = 8
    RANK = 9  # order inside a part: a window is painted after its wall
    LABEL = 10  # label-map class id
    CULL = 11  # 1 when the face is invisible from behind
    CONVEX = 12  # 0 when its outline has dents, which takes a slower way to fill it
    MIDDLE = slice(13, 16)  # of its convex part, all of whose faces are painted by the distance from there
    COUNT = 16


@dataclass(frozen=True, eq=False)
class Mesh:
    """A prototype object: the corners of its faces one after another, and a row for each in ``faces``.

    ``upright`` meshes are flat cut-outs that always turn towards the camera.
    """

    corners: Array
    faces: Array
    footprint: Pair  # length and width on the ground
    height: float
    upright: bool = False
    shadow: int = 230  # how dark a shadow it throws in the sun, up to 255

    @cached_property
    def reach(self) -> float:
        """Metres from its origin to its farthest corner, looking from above."""
        return math.hypot(*self.footprint) / 2 + (2.6 if self.upright else 0.3)

    @cached_property
    def first_boxed(self) -> int | None:
        """The first face that counts for the thing's box, None without one; the pole of a sign has none."""
        boxed = np.isin(self.faces[:, Column.LABEL], list(classes.BOXED))
        return int(np.argmax(boxed)) if boxed.any() else None


def shaded(color: Color, amount: float) -> Color:
    """Return a lighter (amount > 1) or darker (< 1) version of a colour."""
    r, g, b = (min(255.0, c * amount) for c in color)
    return (r, g, b)


def tinted(text: str, colors: Mapping[str, Color]) -> Color:
    """Return the colour that a text names, such as "coat" or "coat*0.8", which is darker."""
    name, _, amount = text.partition("*")
    return shaded(colors[name], float(amount or 1.0))


class MeshBuilder:
    """Collects faces and makes a :class:`Mesh` of them."""

    def __init__(self, label: int, *, upright: bool = False) -> None:
        self._label = label
        self._upright = upright
        self._corners: list[Array] = []
        self._parts: list[list[list[float]]] = [[]]

    def part(self) -> None:
        """Start a new convex part."""
        self._parts.append([])

    def face(
        self,
        points: Sequence[Point] | NDArray[np.float64],
        color: Color,
        *,
        centre: Point | None = None,
        rank: int = 0,
        glow: float = 0.0,
        grain: float = 0.0,
        label: int | None = None,
        convex: bool = True,
    ) -> None:
        """Add a flat face; with ``centre`` it is seen only from outside (away from that point)."""
        corners = vector(points)
        (ax, ay, az), (bx, by, bz) = (corners[1:3] - corners[0]).tolist()
        normal = vector([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])
        normal = normal / max(float(np.linalg.norm(normal)), 1e-9)
        if self._upright:
            normal = vector([-1.0, 0.0, 0.0])
        elif centre is not None and normal @ (corners.mean(axis=0) - np.asarray(centre)) < 0:
            normal = -normal
        self._corners.append(corners)
        label = self._label if label is None else label
        row = (*color, *normal.tolist(), glow, grain, len(corners), rank, label, centre is not None, convex)
        self._parts[-1].append([*row, 0, 0, 0])

    def flat(
        self,
        points: Outline,
        color: Color,
        *,
        rank: int,
        glow: float = 0.0,
        grain: float = 0.0,
        convex: bool = True,
    ) -> None:
        """Add a face of an upright cut-out from (right, up) points."""
        outline = [(0.0, right, up) for right, up in points]
        self.face(outline, color, rank=rank, glow=glow, grain=grain, convex=convex)

    def box(
        self,
        forward: Pair,
        right: Pair,
        up: Pair,
        color: Color,
        *,
        top: tuple[Pair, Pair] | None = None,
        faces: str = "bflrt",
        inset: float = 0.0,
        roof: Color | None = None,
        rank: int = 0,
        glow: float = 0.0,
        grain: float = 0.0,
        label: int | None = None,
    ) -> None:
        """Add faces of a box: (b)ack, (f)ront, (l)eft, (r)ight, (t)op.

        With ``top``, the forward and right span of its upper end, it tapers; ``inset`` is the share by which
        faces are smaller, so that a frame of what is below stays.
        """
        (f0, f1), (r0, r1), (u0, u1) = forward, right, up
        (g0, g1), (s0, s1) = top or (forward, right)
        centre = ((f0 + f1) / 2, (r0 + r1) / 2, (u0 + u1) / 2)
        for side, points in {
            "b": [(f0, r0, u0), (f0, r1, u0), (g0, s1, u1), (g0, s0, u1)],
            "f": [(f1, r0, u0), (f1, r1, u0), (g1, s1, u1), (g1, s0, u1)],
            "l": [(f0, r0, u0), (f1, r0, u0), (g1, s0, u1), (g0, s0, u1)],
            "r": [(f0, r1, u0), (f1, r1, u0), (g1, s1, u1), (g0, s1, u1)],
            "t": [(g0, s0, u1), (g1, s0, u1), (g1, s1, u1), (g0, s1, u1)],
        }.items():
            if side in faces:
                corners = np.array(points)
                corners += (corners.mean(axis=0) - corners) * inset
                tint = roof if side == "t" and roof is not None else color
                self.face(corners, tint, centre=centre, rank=rank, glow=glow, grain=grain, label=label)

    def build(self, footprint: Pair, *, shadow: int = Mesh.shadow) -> Mesh:
        """Make the mesh."""
        faces, end = vector([face for part in self._parts for face in part]), 0
        for part in filter(None, self._parts):
            own = slice(end, end := end + len(part))
            faces[own, Column.MIDDLE] = np.concatenate(self._corners[own]).mean(axis=0)
        corners = np.concatenate(self._corners)
        return Mesh(corners, faces, footprint, float(corners[:, 2].max()), self._upright, shadow)


LOOK = read_yaml(Path(__file__).with_name("look.yaml"), "file of colours", "colours by name").data
"""Colours, and what light there is."""


def colors(table: Mapping[str, Sequence[float]]) -> dict[str, Color]:
    """Return colours by their names."""
    return {name: (r, g, b) for name, (r, g, b) in table.items()}


PAINTS = colors(LOOK["paints"])


Outline = list[Pair]


def ring(centre: Pair, radius: Pair, sides: int, *, turn: float = 0.0) -> Outline:
    """Return a regular polygon, stretched to a horizontal and a vertical radius, turned by an angle."""
    angles = [2 * math.pi * k / sides + turn for k in range(sides)]
    return [(centre[0] + radius[0] * math.cos(a), centre[1] + radius[1] * math.sin(a)) for a in angles]


def stroke(start: Pair, end: Pair, thickness: float) -> Outline:
    """Return the quad of a straight stroke; its square ends reach a third of its thickness farther."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    nx, ny = -dy / length * thickness / 2, dx / length * thickness / 2
    ex, ey = dx / length * thickness / 3, dy / length * thickness / 3
    x0, y0, x1, y1 = start[0] - ex, start[1] - ey, end[0] + ex, end[1] + ey
    return [(x0 + nx, y0 + ny), (x1 + nx, y1 + ny), (x1 - nx, y1 - ny), (x0 - nx, y0 - ny)]
