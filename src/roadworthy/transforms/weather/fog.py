"""Fog: what is far away fades into the colour of the air."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from roadworthy.transforms.parameters import choice, number
from roadworthy.transforms.transform import Presets, register
from roadworthy.transforms.weather._air import AIR, transmission
from roadworthy.transforms.weather._condition import Condition
from roadworthy.transforms.weather._fields import Image, shaded
from roadworthy.transforms.weather._imagenet_c import imagenet_c_fog
from roadworthy.transforms.weather._light import overcast
from roadworthy.transforms.weather._pixels import veiled
from roadworthy.transforms.weather._scene import Surroundings

__all__ = ["Fog"]

KOSCHMIEDER = 3.912
"""Extinction times visibility: -ln 0.02, because two percent of contrast are the least that is seen."""

_GLOOM = 0.10  # how much darker heavy fog is
_CLOSEST = 50.0  # metres of visibility at amount 1


@register("fog", summary="what is far away fades into the colour of the air")
@dataclass(frozen=True, kw_only=True)
class Fog(Condition):
    """Fog that thickens with distance, by Koschmieder's law: I·t + A·(1 - t) with t = exp(-3.912·d / V).

    V is the visibility in metres: `visibility` at amount 1, and visibility / amount^1.5 below it, so with
    the default 260 m in light, 92 m in normal and 50 m in heavy fog. The air A is grey and as bright as the
    brightest part of the image. The distance d is the frame's depth where it is known; else it follows from
    the label map and the perspective; without both from the perspective alone, and what stands beside the
    road is taken to be as far away as the walls of a street. The sky is seen through a layer of 25 metres.
    The light turns into that of an overcast sky, unless `overcast` is 0.

    The style "imagenet-c" is the fog of that benchmark instead: an even veil of plasma noise that knows no
    distance. Its severities 1 to 5 are at the amounts 0.2 to 1. DeepTest's fog was made by hand in a photo
    editor, so the ten levels here are of our own: amounts of 0.1 to 1.
    """

    visibility: float = number(_CLOSEST, "How far one sees at amount 1.", unit="metres", low=5, high=5000)
    overcast: float = number(1.0, "How far the light turns into that of an overcast sky.", low=0, high=1)
    patches: float = number(0.15, "How patchy it is.", low=0, high=1)
    style: str = choice(
        "distance",
        "Whether it thickens with distance or is ImageNet-C's even veil.",
        ("distance", "imagenet-c"),
    )

    fact, value, least_change = "weather", "foggy", 900.0
    presets: ClassVar[Presets] = {
        **Condition.presets,
        **{f"level-{k}": {"amount": k / 10} for k in range(1, 11)},
        **{f"imagenet-c-{k}": {"amount": k / 5, "style": "imagenet-c"} for k in range(1, 6)},
    }

    @property
    def extinction(self) -> float:
        """How much of the light is lost, per metre."""
        return KOSCHMIEDER / self.visibility * float(self.amount**1.5)

    @property
    def severity(self) -> float:
        if self.style == "imagenet-c":
            return self.amount
        return float(min(1.0, (self.extinction * _CLOSEST / KOSCHMIEDER) ** (2 / 3)))

    def drawn(self, scene: Surroundings, rng: np.random.Generator) -> Image:
        if self.style == "imagenet-c":
            return imagenet_c_fog(scene.frame.image, rng, 5 * self.amount)
        share = min(1.0, 6 * self.severity) * self.overcast
        gloom = 1 - _GLOOM * self.severity
        image = overcast(scene, share, gloom) if share > 0 else scene.frame.image
        lumps = (rng, self.patches) if self.patches > 0 else None
        return veiled(image, transmission(scene, self.extinction, lumps), shaded(AIR, scene.light * gloom))
