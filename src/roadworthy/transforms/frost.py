"""Frost on the glass in front of the camera."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import cv2
import numpy as np

from roadworthy.transforms._frost_texture import TEXTURES, frost_texture
from roadworthy.transforms.parameters import number
from roadworthy.transforms.transform import Image, ImageTransform, Presets, register

__all__ = ["Frost"]

_SMALLEST = 0.6  # of the largest part of a picture that has the shape of the image


@register("frost", summary="ice crystals grow on the glass in front of the camera")
@dataclass(frozen=True, kw_only=True)
class Frost(ImageTransform):
    """A picture of frost over the image: scale · image + frost · picture (ImageNet-C; Hu et al., section 3).

    The pictures are drawn by the code. A random part of one of them, mirrored or not, is laid over the image.
    Hu et al. let both numbers grow from 0.01 to 1, so that image and frost get brighter together; here the
    image fades as the frost grows, and at an amount of 1 only frost is left.
    """

    scale: float = number(0.7, "What is left of the image.", low=0, high=1, identity=1, strongest=0)
    frost: float = number(0.5, "How much of the frost is added.", low=0, high=1, identity=0)

    family = "weather"
    random = True
    presets: ClassVar[Presets] = {
        f"imagenet-c-{k}": {"scale": scale, "frost": frost}
        for k, (scale, frost) in enumerate(((1.0, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75)), 1)
    }

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        height, width = image.shape[:2]
        picture = _part(frost_texture(int(rng.integers(TEXTURES))), width, height, rng)
        return cast(Image, cv2.addWeighted(image, self.scale, picture, self.frost, 0))


def _part(texture: Image, width: int, height: int, rng: np.random.Generator) -> Image:
    """Return a random part of a texture, as large as an image and mirrored or not."""
    rows, columns = texture.shape[:2]
    share = min(columns / width, rows / height) * rng.uniform(_SMALLEST, 1)
    across, down = max(1, int(width * share)), max(1, int(height * share))
    left, top = (int(rng.integers(room + 1)) for room in (columns - across, rows - down))
    how = cv2.INTER_AREA if share > 1 else cv2.INTER_LINEAR
    part = cv2.resize(texture[top : top + down, left : left + across], (width, height), interpolation=how)
    axis = int(rng.integers(-1, 3))  # OpenCV's: both, up and down, left and right; 2 stands for none of them
    return cast(Image, part if axis == 2 else cv2.flip(part, axis))
