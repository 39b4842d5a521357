"""Letters and digits as thin quads, so that signs can be read and stay vectors."""

from __future__ import annotations

import math
from functools import cache

__all__ = ["lettering", "stroke"]

Quad = tuple[tuple[float, float], ...]

# Strokes on a 4 (wide) × 6 (high) grid, y up.
_GLYPHS: dict[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    "0": (((0, 1), (1, 0), (3, 0), (4, 1), (4, 5), (3, 6), (1, 6), (0, 5), (0, 1)),),
    "1": (((1, 5), (2, 6), (2, 0)),),
    "2": (((0, 5), (1, 6), (3, 6), (4, 5), (4, 4), (0, 0), (4, 0)),),
    "3": (((0, 5.5), (1, 6), (3, 6), (4, 5), (4, 4), (3, 3), (1.5, 3)), ((3, 3), (4, 2), (4, 1), (3, 0), (1, 0), (0, 0.5))),
    "4": (((3, 0), (3, 6), (0, 2), (4, 2)),),
    "5": (((4, 6), (0, 6), (0, 3.4), (3, 3.4), (4, 2.4), (4, 1), (3, 0), (1, 0), (0, 0.6)),),
    "6": (((3.5, 6), (1, 5.5), (0, 3.5), (0, 1), (1, 0), (3, 0), (4, 1), (4, 2.5), (3, 3.4), (0.2, 3.2)),),
    "7": (((0, 6), (4, 6), (1.5, 0)),),
    "8": (((1, 3.2), (0, 4.2), (0, 5), (1, 6), (3, 6), (4, 5), (4, 4.2), (3, 3.2), (1, 3.2), (0, 2.2), (0, 1), (1, 0), (3, 0), (4, 1), (4, 2.2), (3, 3.2)),),
    "9": (((3.8, 2.8), (1, 2.6), (0, 3.6), (0, 5), (1, 6), (3, 6), (4, 5), (4, 2.5), (3, 0.5), (0.5, 0)),),
    "B": (((0, 0), (0, 6), (3, 6), (4, 5), (4, 4), (3, 3.2), (0, 3.2)), ((3, 3.2), (4, 2.2), (4, 1), (3, 0), (0, 0))),
    "C": (((4, 5), (3, 6), (1, 6), (0, 5), (0, 1), (1, 0), (3, 0), (4, 1)),),
    "H": (((0, 0), (0, 6)), ((4, 0), (4, 6)), ((0, 3), (4, 3))),
    "L": (((0, 6), (0, 0), (4, 0)),),
    "O": (((0, 1), (1, 0), (3, 0), (4, 1), (4, 5), (3, 6), (1, 6), (0, 5), (0, 1)),),
    "P": (((0, 0), (0, 6), (3, 6), (4, 5), (4, 4), (3, 3), (0, 3)),),
    "S": (((4, 5.2), (3, 6), (1, 6), (0, 5), (0, 4), (1, 3.2), (3, 2.8), (4, 2), (4, 1), (3, 0), (1, 0), (0, 0.8)),),
    "T": (((0, 6), (4, 6)), ((2, 6), (2, 0))),
    "U": (((0, 6), (0, 1), (1, 0), (3, 0), (4, 1), (4, 6)),),
    " ": (),
}  # fmt: skip


def stroke(a: tuple[float, float], b: tuple[float, float], thickness: float) -> Quad:
    """Return the quad of a straight stroke with square ends."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = math.hypot(dx, dy) or 1.0
    nx, ny = -dy / length * thickness / 2, dx / length * thickness / 2
    ex, ey = dx / length * thickness / 3, dy / length * thickness / 3
    return (
        (a[0] - ex + nx, a[1] - ey + ny),
        (b[0] + ex + nx, b[1] + ey + ny),
        (b[0] + ex - nx, b[1] + ey - ny),
        (a[0] - ex - nx, a[1] - ey - ny),
    )


@cache
def lettering(
    text: str, *, width: float, height: float, centre: tuple[float, float], weight: float = 0.2
) -> tuple[Quad, ...]:
    """Return quads in (right, up) metres that spell ``text`` inside a box of the given size.

    Example:
        >>> len(lettering("7", width=1.0, height=1.0, centre=(0.0, 0.0)))
        2
    """
    advance = 5.6
    unit_x = width / (len(text) * advance - (advance - 4))
    unit_y = height / 6
    thickness = weight * height
    quads = []
    for k, character in enumerate(text):
        left = centre[0] - width / 2 + k * advance * unit_x
        bottom = centre[1] - height / 2
        for line in _GLYPHS[character]:
            points = [(left + x * unit_x, bottom + y * unit_y) for x, y in line]
            quads += [stroke(a, b, thickness) for a, b in zip(points, points[1:], strict=False)]
    return tuple(quads)
