"""Noise of the sensor.

A byte plus noise is a byte again, so noise need not be finer than a level. It is looked up: random bits
choose one of many equally likely values of the distribution. That is several times as fast as drawing from it
one by one, and exact but for its tails: they end at 4.3 standard deviations, those of shot noise at 3.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.transforms._fields import STEPS, looked_up, normal_quantiles, random_bits
from roadworthy.transforms.transform import (
    Image,
    ImageTransform,
    Presets,
    choice,
    number,
    register,
    shortened,
)

_COARSE = 4096  # steps of the tables of shot noise, of which there is one for each level
_NO_NOISE = 1e7  # photons; the noise is then a fifteenth of a level at most


@dataclass(frozen=True, kw_only=True)
class _Noise(ImageTransform):
    family = "noise"
    random = True


@register("gaussian-noise", summary="normal noise is added, as of a sensor in the dark")
@dataclass(frozen=True, kw_only=True)
class GaussianNoise(_Noise):
    """A normal number is added to every channel of every pixel (ImageNet-C; Hu et al., section 3)."""

    sigma: float = number(
        0.1, "Standard deviation, as a share of the range from black to white.", low=0, high=3, identity=0,
        strongest=1,
    )  # fmt: skip

    presets: ClassVar[Presets] = {
        f"imagenet-c-{k}": {"sigma": sigma} for k, sigma in enumerate((0.08, 0.12, 0.18, 0.26, 0.38), 1)
    }

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        # A whole number plus noise, rounded, is the number plus the rounded noise.
        table = np.rint(normal_quantiles() * np.float32(255 * self.sigma)).astype(np.int16)
        noise = looked_up(table, random_bits(rng, image.shape))
        return cast(Image, cv2.add(image, noise, dtype=cv2.CV_8U))


@register("speckle-noise", summary="normal noise in proportion to the brightness is added")
@dataclass(frozen=True, kw_only=True)
class SpeckleNoise(_Noise):
    """Every channel of every pixel is multiplied by a normal number with a mean of 1 (ImageNet-C)."""

    sigma: float = number(0.3, "Standard deviation of the factor.", low=0, high=10, identity=0, strongest=3)

    presets: ClassVar[Presets] = {
        f"imagenet-c-{k}": {"sigma": sigma} for k, sigma in enumerate((0.15, 0.2, 0.35, 0.45, 0.6), 1)
    }

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        table = 1 + normal_quantiles() * np.float32(self.sigma)
        factors = looked_up(table, random_bits(rng, image.shape))
        return cast(Image, cv2.multiply(image, factors, dtype=cv2.CV_8U))


@register(
    "shot-noise", summary="light arrives as single photons, too few of them", aliases=("poisson-noise",)
)
@dataclass(frozen=True, kw_only=True)
class ShotNoise(_Noise):
    """Every channel of every pixel counts photons, whose number has a Poisson distribution (ImageNet-C).

    The noise of white has a standard deviation of 1 / √photons. An amount from 0 to 1 runs along this, so
    that it grows as that of Gaussian noise does.
    """

    photons: float = number(
        25.0, "How many photons make white.", low=0.2, high=_NO_NOISE, identity=_NO_NOISE, strongest=1
    )

    presets: ClassVar[Presets] = {
        f"imagenet-c-{k}": {"photons": photons} for k, photons in enumerate((60.0, 25.0, 12.0, 5.0, 3.0), 1)
    }

    @classmethod
    def strengths(cls, amount: float) -> dict[str, float | int]:
        return {"photons": shortened(1 / max(amount**2, 1 / _NO_NOISE))}

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        cell = random_bits(rng, image.shape) // np.uint16(STEPS // _COARSE)
        row = image.astype(np.int32) * np.int32(_COARSE)
        row += cell
        return looked_up(_poisson_quantiles(self.photons), row)


@register("impulse-noise", summary="some values become black or white", aliases=("salt-and-pepper",))
@dataclass(frozen=True, kw_only=True)
class ImpulseNoise(_Noise):
    """Some values become 0 and as many 255: salt and pepper (ImageNet-C).

    ImageNet-C hits single channels of pixels, Albumentations and Kornia whole pixels.
    """

    share: float = number(0.06, "Share of what is hit.", low=0, high=1, identity=0)
    hits: str = choice("channels", "What is hit at once.", ("channels", "pixels"))

    presets: ClassVar[Presets] = {
        f"imagenet-c-{k}": {"share": share} for k, share in enumerate((0.03, 0.06, 0.09, 0.17, 0.27), 1)
    }

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        height, width, channels = image.shape
        bits = random_bits(rng, (height, width, channels if self.hits == "channels" else 1))
        half = round(self.share / 2 * STEPS)
        salt, spared = (
            cv2.compare(bits, cast(Any, float(limit)), cv2.CMP_LT) for limit in (half, STEPS - half)
        )
        if self.hits == "pixels":
            salt, spared = (cv2.merge([one] * channels) for one in (salt, spared))
        return cast(Image, cv2.bitwise_and(cv2.bitwise_or(image, salt), spared))


@lru_cache(maxsize=4)
def _poisson_quantiles(photons: float) -> NDArray[np.uint8]:
    """Return equally likely levels after the noise, for every level before it, one after another."""
    from scipy import special

    levels = np.arange(256)
    # A count k is shown as the level 255 · k / photons, rounded.
    most = np.floor((levels + 0.5) * photons / 255)
    most -= np.rint(most * 255 / photons) > levels  # halfway between two levels it goes to the even one
    below = special.pdtr(most[None, :], (levels * photons / 255)[:, None])
    below[:, -1] = 1  # what is brighter than white is white
    below[0] = 1  # without light there is no photon
    ends = np.rint(below * _COARSE).astype(np.intp)
    counts = np.diff(ends, axis=1, prepend=0)
    return np.repeat(np.tile(levels.astype(np.uint8), 256), counts.ravel())
