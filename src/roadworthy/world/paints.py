"""Colours that vehicles are painted in, by their ontology names."""

from __future__ import annotations

from roadworthy.world.mesh import Color

__all__ = ["PAINTS"]

PAINTS: dict[str, Color] = {
    "white": (226, 228, 230),
    "black": (38, 39, 43),
    "silver": (176, 180, 186),
    "grey": (112, 116, 122),
    "blue": (38, 78, 150),
    "red": (168, 34, 36),
    "green": (42, 98, 66),
    "yellow": (232, 178, 34),
    "orange": (214, 108, 32),
    "brown": (98, 70, 52),
}
