"""Shadows that fall across the road."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.transforms.parameters import choice, number
from roadworthy.transforms.perspective import Perspective
from roadworthy.transforms.transform import register
from roadworthy.transforms.weather._condition import Condition
from roadworthy.transforms.weather._fields import Colour, Image, Mask
from roadworthy.transforms.weather._scene import Surroundings
from roadworthy.transforms.weather.sun import NO_SUN

__all__ = ["Shadow"]

Points = NDArray[np.float64]

_SHADE: Colour = (0.40, 0.44, 0.52)  # what is left of the light; the sky still lights it, and that is blue
_FARTHEST = 90.0  # metres
_TURN = np.linspace(0, 2 * np.pi, 14, endpoint=False)
_CIRCLE = np.stack([np.cos(_TURN), np.sin(_TURN)], -1)
_MOST = 8  # things that throw shadows
_BLOTS = 26  # of the crown of a tree
CASTERS = ("mixed", "trees", "buildings", "poles")


@register("shadow", summary="shadows of trees, buildings or poles fall across the road", aliases=("shadows",))
@dataclass(frozen=True, kw_only=True)
class Shadow(Condition):
    """Shadows on the ground, of things beside the road that need not be in the image.

    They are laid out on the ground in metres and then seen in perspective, with soft edges; trees let spots
    of light through. They fall on the ground alone where a label map tells it; without one on all that lies
    well below the horizon, and so on vehicles there as well.
    """

    caster: str = choice("mixed", "What throws them.", CASTERS)
    side: str = choice("either", "From which side of the road they fall.", ("either", "left", "right"))
    darkness: float = number(1.0, "How dark they are; 0 leaves no trace.", low=0, high=1.5)

    bars = NO_SUN

    def drawn(self, scene: Surroundings, rng: np.random.Generator) -> Image:
        left = rng.random() < 0.5 if self.side == "either" else self.side == "left"
        kinds = CASTERS[1:] if self.caster == "mixed" else (self.caster,)
        mask = np.zeros(scene.small[::-1], np.uint8)
        # All are laid out, so that a larger amount adds to the shadows of a smaller one.
        for index, distance in enumerate(_places(rng)):
            kind = kinds[int(rng.integers(len(kinds)))]
            outlines, values = _outlines(kind, rng, distance, -1.0 if left else 1.0)
            if index <= self.amount * (_MOST - 1):
                _fill(mask, scene.small_view, outlines, values)
        soft = max(1, scene.small[0] // 110)
        shade = scene.full(np.asarray(cv2.blur(mask, (2 * soft + 1, soft | 1)), np.uint8))
        where = cv2.multiply(shade, scene.ground, scale=1 / 255)
        strength = min(1.0, 0.55 + 0.45 * self.amount) * self.darkness * min(1.0, 6 * self.amount)
        planes = [
            cv2.convertScaleAbs(where, alpha=-max(0.0, min(1.0, strength * (1 - c))), beta=255)
            for c in _SHADE
        ]
        return np.asarray(cv2.multiply(scene.frame.image, cv2.merge(planes), scale=1 / 255), np.uint8)


def _places(rng: np.random.Generator) -> list[float]:
    """Return how far ahead things stand: one of them near, and the others spread as the image shows them."""
    further = rng.uniform(np.log(5.0), np.log(38.0), _MOST - 1)
    return [float(rng.uniform(5.0, 9.0)), *np.exp(further).tolist()]


def _outlines(
    kind: str, rng: np.random.Generator, ahead: float, side: float
) -> tuple[list[Points], list[int]]:
    """Return the parts of one shadow: outlines in metres to the right and ahead, and how dark each is."""
    foot = np.array([side * rng.uniform(5.0, 8.0), ahead])
    along = np.array([-side, rng.uniform(-0.35, 0.35)])
    along /= np.hypot(*along)
    across = np.array([-along[1], along[0]])
    if kind == "poles":
        return [_strip(foot, foot + along * rng.uniform(8, 14), across * 0.12)], [255]
    if kind == "buildings":
        return [_strip(foot, foot + along * rng.uniform(5.5, 10), across * rng.uniform(4, 11))], [255]
    length, crown = rng.uniform(7, 12), rng.uniform(1.6, 3.2)
    # Leaves let spots of light through: a crown is a heap of blots, some of them thin.
    centres = foot + along * length * 0.8 + rng.normal(0, 0.55 * crown, (_BLOTS, 2))
    blots = centres[:, None] + _CIRCLE * (rng.uniform(0.15, 0.42, (_BLOTS, 1, 1)) * crown)
    values = sorted(rng.integers(150, 256, _BLOTS).tolist())
    return [*blots, _strip(foot, foot + along * length * 0.6, across * 0.22)], [*values, 255]


def _strip(start: Points, end: Points, half: Points) -> Points:
    return np.stack([start - half, start + half, end + half, end - half])


def _fill(mask: Mask, view: Perspective, outlines: list[Points], values: list[int]) -> None:
    """Draw outlines on the ground into a mask, the darkest last; what is darker there already stays."""
    points = np.concatenate(outlines)
    ahead = np.clip(points[:, 1], 1.5, _FARTHEST)
    columns = mask.shape[1] / 2 + view.focal * points[:, 0] / ahead
    rows = view.horizon + view.focal * view.camera_height / ahead
    fixed = np.rint(np.clip(np.stack([columns, rows], -1), -4000, 8000) * 8).astype(np.int32)
    drawn = np.zeros_like(mask)
    ends = np.cumsum([len(outline) for outline in outlines])
    for corners, value in zip(np.split(fixed, ends[:-1]), values, strict=True):
        cv2.fillConvexPoly(drawn, corners, value, cv2.LINE_AA, 3)
    cv2.max(mask, drawn, dst=mask)
