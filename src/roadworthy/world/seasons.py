"""What the seasons do to what grows: colours of leaves and grass, and where snow lies in winter."""

from __future__ import annotations

from roadworthy.world import classes
from roadworthy.world.mesh import Color

__all__ = ["LEAVES", "SNOW", "WINTER_COVER", "grass"]

LEAVES: dict[str, tuple[Color, ...]] = {
    "spring": ((128, 160, 66), (116, 152, 68), (142, 166, 76), (104, 144, 72), (152, 170, 92)),
    "summer": ((84, 118, 48), (70, 108, 50), (98, 124, 52), (62, 96, 54), (112, 128, 58)),
    "autumn": ((198, 142, 44), (176, 98, 40), (212, 168, 62), (146, 76, 42), (164, 138, 60)),
}
"""Of broadleaf trees and bushes, which have none in winter; a look has the same place in each season."""

SNOW: Color = (236, 240, 246)

_GRASS: dict[str, tuple[Color, float]] = {  # what grass turns to, and how far
    "spring": ((112, 164, 66), 0.4),
    "autumn": ((154, 128, 70), 0.55),
    "winter": ((142, 130, 100), 0.75),
}

WINTER_COVER = {classes.TERRAIN: 0.86, classes.SIDEWALK: 0.38}
"""How much of each class snow hides in winter; the road is cleared but for its edges."""


def grass(color: Color, season: str) -> Color:
    """Return the colour of what is green in summer in another season."""
    if season not in _GRASS:
        return color
    to, share = _GRASS[season]
    red, green, blue = (one * (1 - share) + other * share for one, other in zip(color, to, strict=True))
    return red, green, blue
