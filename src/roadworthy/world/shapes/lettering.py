"""Letters and digits as thin quads, so that signs can be read and stay vectors."""

from __future__ import annotations

from itertools import pairwise

from roadworthy.world.shapes.outlines import Outline, stroke

__all__ = ["lettering"]

# The points "x,y" of each stroke on a 4 (wide) × 6 (high) grid, y up; a slash begins a new stroke.
_STROKES = {
    "0": "0,1 1,0 3,0 4,1 4,5 3,6 1,6 0,5 0,1",
    "1": "1,5 2,6 2,0",
    "2": "0,5 1,6 3,6 4,5 4,4 0,0 4,0",
    "3": "0,5.5 1,6 3,6 4,5 4,4 3,3 1.5,3 / 3,3 4,2 4,1 3,0 1,0 0,0.5",
    "4": "3,0 3,6 0,2 4,2",
    "5": "4,6 0,6 0,3.4 3,3.4 4,2.4 4,1 3,0 1,0 0,0.6",
    "6": "3.5,6 1,5.5 0,3.5 0,1 1,0 3,0 4,1 4,2.5 3,3.4 0.2,3.2",
    "7": "0,6 4,6 1.5,0",
    "8": "1,3.2 0,4.2 0,5 1,6 3,6 4,5 4,4.2 3,3.2 1,3.2 0,2.2 0,1 1,0 3,0 4,1 4,2.2 3,3.2",
    "9": "3.8,2.8 1,2.6 0,3.6 0,5 1,6 3,6 4,5 4,2.5 3,0.5 0.5,0",
    "B": "0,0 0,6 3,6 4,5 4,4 3,3.2 0,3.2 / 3,3.2 4,2.2 4,1 3,0 0,0",
    "C": "4,5 3,6 1,6 0,5 0,1 1,0 3,0 4,1",
    "H": "0,0 0,6 / 4,0 4,6 / 0,3 4,3",
    "L": "0,6 0,0 4,0",
    "O": "0,1 1,0 3,0 4,1 4,5 3,6 1,6 0,5 0,1",
    "P": "0,0 0,6 3,6 4,5 4,4 3,3 0,3",
    "S": "4,5.2 3,6 1,6 0,5 0,4 1,3.2 3,2.8 4,2 4,1 3,0 1,0 0,0.8",
    "T": "0,6 4,6 / 2,6 2,0",
    "U": "0,6 0,1 1,0 3,0 4,1 4,6",
    " ": "",
}
_ADVANCE = 5.6  # from one letter to the next
_WIDTH, _HEIGHT = 4, 6


def _points(line: str) -> Outline:
    return [(float(x), float(y)) for x, y in (point.split(",") for point in line.split())]


_GLYPHS = {letter: [_points(line) for line in lines.split("/")] for letter, lines in _STROKES.items()}


def lettering(
    text: str, *, width: float, height: float, centre: tuple[float, float], weight: float = 0.2
) -> list[Outline]:
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
        for line in _GLYPHS[letter]:
            points = [(left + x * unit_x, bottom + y * unit_y) for x, y in line]
            quads += [stroke(a, b, weight * height) for a, b in pairwise(points)]
    return quads
