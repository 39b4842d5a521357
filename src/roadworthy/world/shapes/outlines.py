"""Flat outlines in (right, up) metres that shapes are made of."""

from __future__ import annotations

import math

Outline = list[tuple[float, float]]


def ring(
    centre: tuple[float, float], radius: tuple[float, float], sides: int, *, turn: float = 0.0
) -> Outline:
    """Return a regular polygon, stretched to a horizontal and a vertical radius, turned by an angle."""
    angles = [2 * math.pi * k / sides + turn for k in range(sides)]
    return [(centre[0] + radius[0] * math.cos(a), centre[1] + radius[1] * math.sin(a)) for a in angles]


def stroke(start: tuple[float, float], end: tuple[float, float], thickness: float) -> Outline:
    """Return the quad of a straight stroke; its square ends reach a third of its thickness farther."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    nx, ny = -dy / length * thickness / 2, dx / length * thickness / 2
    ex, ey = dx / length * thickness / 3, dy / length * thickness / 3
    return [
        (start[0] - ex + nx, start[1] - ey + ny),
        (end[0] + ex + nx, end[1] + ey + ny),
        (end[0] + ex - nx, end[1] + ey - ny),
        (start[0] - ex - nx, start[1] - ey - ny),
    ]
