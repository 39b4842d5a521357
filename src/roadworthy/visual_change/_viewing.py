"""The conditions of viewing, and the thresholds of detection that go with them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from roadworthy.errors import InputError
from roadworthy.visual_change._grey import Doubles

__all__ = ["SCALES", "Viewing"]

SCALES = 5
A0, A1, A2 = 59.8, -0.1258, -0.1087
"""Of the ratio of image contrast to error contrast at the threshold of detection: a0 · f^(a2 ln f + a1)."""


@dataclass(frozen=True, slots=True)
class Viewing:
    """The display and the place of the viewer; the defaults are those of the authors of VSNR.

    Attributes:
        resolution: Pixels per inch.
        distance: From eye to display, in inches.
        black_level: Offset of the voltage; luminance is (black_level + gain · pixel) ^ gamma.
        gain: From pixel value to voltage.
        gamma: Exponent from voltage to luminance.

    Example:
        >>> Viewing().frequencies.round(2).tolist()
        [16.0, 8.0, 4.0, 2.0, 1.0]
        >>> Viewing(distance=0)
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: viewing distance must be a positive number, got 0
    """

    resolution: float = 96.0
    distance: float = 19.1
    black_level: float = 0.0
    gain: float = 0.02874
    gamma: float = 2.2

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value) or value < 0 or (value == 0 and field.name != "black_level"):
                kind = "non-negative" if field.name == "black_level" else "positive"
                raise InputError(
                    f"viewing {field.name.replace('_', ' ')} must be a {kind} number, got {value}"
                )

    @property
    def frequencies(self) -> Doubles:
        """Centre frequency of each scale in cycles per degree of visual angle, from fine to coarse."""
        pixels_per_degree = self.resolution * self.distance * math.tan(math.radians(1))
        return np.asarray(pixels_per_degree * 2.0 ** -np.arange(1, SCALES + 1), np.float64)

    def luminance(self, pixels: float | Doubles) -> Doubles:
        """Return the luminance of pixel values; those outside 0 to 255 are shown as the nearest inside."""
        voltage = self.black_level + self.gain * np.clip(pixels, 0, 255)
        return np.asarray(voltage**self.gamma, np.float64)

    def signal_to_noise(self, visibility: float) -> Doubles:
        """Return the ratio of image contrast to error contrast per scale, for an error of some visibility.

        At 0 the error is at the threshold of detection, at 1 nothing but the error is seen.
        """
        logarithm = np.log(self.frequencies)
        power = ((-1 - A2) * visibility + A2) * logarithm + (1 - A1) * visibility + A1
        return np.asarray(A0 * (1 - visibility) * np.exp(power * logarithm), np.float64)
