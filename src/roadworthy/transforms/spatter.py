"""Water or mud on the lens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.transforms._fields import smooth_noise
from roadworthy.transforms.parameters import choice, number
from roadworthy.transforms.transform import Image, ImageTransform, Presets, register

__all__ = ["Spatter"]

_WATER, _MUD = (175.0, 238.0, 238.0), (63.0, 42.0, 20.0)  # ImageNet-C's pale turquoise and mud brown
_EDGE = 0.15  # standard deviations of the liquid's height over which its edge runs out


@register("spatter", summary="splashes of water or mud lie on the lens")
@dataclass(frozen=True, kw_only=True)
class Spatter(ImageTransform):
    """Smooth noise above a threshold is liquid on the lens: water shines, mud hides (ImageNet-C).

    ImageNet-C gives the noise, its blur and the threshold for images of 224 pixels. Here the share of the
    image that they come to is given, and the size is relative to the height of the image. Its severities 1 to
    3 are water, 4 and 5 are mud. The slope of the liquid gives it light and shade, where ImageNet-C embosses
    the distance to its edge.
    """

    coverage: float = number(
        0.15, "Share of the image that is covered.", low=0, high=1, identity=0, strongest=0.9
    )
    material: str = choice("water", "What lies on the lens.", ("water", "mud"))
    size: float = number(
        0.013,
        "Of the splashes: standard deviation of the blur, as a share of the height.",
        low=0.001,
        high=0.5,
    )
    opacity: float = number(0.6, "How strongly water shines, or how much mud hides.", low=0, high=1)

    family = "weather"
    random = True
    presets: ClassVar[Presets] = {
        **{
            f"imagenet-c-{k}": {"coverage": coverage, "size": size, "opacity": opacity}
            for k, (coverage, size, opacity) in enumerate(
                ((0.037, 0.018, 0.6), (0.152, 0.013, 0.6), (0.239, 0.009, 0.5)), 1
            )
        },
        **{
            f"imagenet-c-{k}": {"coverage": coverage, "material": "mud", "size": 0.008, "opacity": 0.9}
            for k, coverage in ((4, 0.122), (5, 0.199))
        },
    }

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        from scipy import special

        height, width = image.shape[:2]
        sigma = self.size * height
        surface = smooth_noise(rng, height, width, sigma)
        above = surface - np.float32(special.ndtri(1 - self.coverage) if self.coverage < 1 else -1e6)
        there = np.clip(above * np.float32(1 / _EDGE), 0, 1, out=above)
        there *= np.float32(self.opacity)
        light = _slope(surface, sigma)
        if self.material == "mud":
            colour, kept, shine = _MUD, 1 - there, there * (1 + np.float32(0.25) * light)
        else:
            colour, kept = _WATER, 1 - there * np.maximum(np.float32(-0.4) * light, 0)
            shine = there * (np.float32(0.15) + np.maximum(np.float32(0.45) * light, 0))
        planes = [
            cv2.scaleAdd(shine, level, cv2.multiply(plane, kept, dtype=cv2.CV_32F))
            for plane, level in zip(cv2.split(image), colour, strict=True)
        ]
        return cast(Image, cv2.convertScaleAbs(cv2.merge(planes)))


def _slope(surface: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """Return how far a surface faces the light, which comes from the upper left; its variance is 1."""
    rise = cv2.filter2D(surface, -1, np.array([[-1, -1, 0], [-1, 0, 1], [0, 1, 1]]) / 4)
    # Along a diagonal, the slope of noise that was smoothed by this Gaussian has a variance of 1 / (2
    # sigma²).
    return cast("NDArray[np.float32]", rise * np.float32(max(sigma, 0.7) * math.sqrt(2) / 1.5))
