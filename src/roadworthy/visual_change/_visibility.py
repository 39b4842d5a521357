"""Whether a change can be seen at all: the visual signal-to-noise ratio.

Chandler and Hemami, "VSNR: A Wavelet-Based Visual Signal-to-Noise Ratio for Natural Images", IEEE
Transactions on Image Processing 16(9), 2007. The contrast of the image masks the change: it is visible when
at any of five scales of a 9/7 wavelet transform its contrast is above the threshold of detection there. It
is visible also when the mean luminance moves by a hundredth (Weber's law). This second test is in the
authors' code only, where it compares the luminance of the mean with the mean luminance and so finds
identical images different.

What is measured in the images comes in as numbers, from `_details` or, for tensors, from `_tensors`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from roadworthy.visual_change._grey import Doubles
from roadworthy.visual_change._viewing import Viewing

__all__ = ["Luminance", "Masking"]

ALPHA = 0.04
"""Weight of perceived contrast against the disruption of global precedence."""
WEBER = 0.01
"""The share of the mean luminance from which a change of brightness is seen."""
WEBER_DISTORTION = 1.5
"""The distortion that the authors' code assigns to a change of brightness alone."""
ROUNDING = 1e-4
"""A deviation in grey levels below this is a rounding error of single precision."""

FLAT = 1e-9
"""A deviation of luminance below this share of its mean is a rounding error."""


class Luminance(NamedTuple):
    """Of an image on a display."""

    mean: float
    deviation: float


@dataclass(frozen=True, eq=False)
class Masking:
    """What the model of VSNR says about a reference image alone: how much of a change it hides."""

    viewing: Viewing
    mean: float
    """Of the grey image."""
    deviations: Doubles
    """Of its details at the five scales, in grey levels."""

    def hides_details(self, deviations: Iterable[float]) -> bool:
        """Return whether the error is below the threshold at every scale; end at the first where not."""
        return all(found <= most for found, most in zip(deviations, self._thresholds, strict=True))

    def hides_shift(self, mean_error: float) -> bool:
        """Return whether the change of brightness is too small to be seen."""
        return self._shift(mean_error) < WEBER

    def brightness_decibels(self, mean_error: float) -> float:
        """Return VSNR of an error whose details are hidden: infinite when the change of brightness is too."""
        shift = self._shift(mean_error)
        return math.inf if shift < WEBER else 20 / shift - 20 * math.log10(WEBER_DISTORTION)

    def detail_decibels(self, deviations: Doubles, image: Luminance, error: Luminance) -> float:
        """Return VSNR of an error whose details are seen.

        It is 20 log10(C(I) / (α C(E) + (1 - α) d / √2)), with the contrasts C of the image and of the error,
        and the distance d of the error's contrasts at the five scales from those that look most natural. The
        luminance of the error is that of the error on top of the mean of the image.
        """
        viewing = self.viewing
        voltage = viewing.black_level + viewing.gain * self.mean
        if image.deviation <= FLAT * image.mean or voltage <= 0:
            return -math.inf
        error_contrast = error.deviation / image.mean
        # The contrast of one grey level, to the first order.
        level = viewing.gain * viewing.gamma * voltage ** (viewing.gamma - 1) / image.mean
        precedence = level * np.linalg.norm(self._most_natural(error_contrast / level) - deviations)
        distortion = ALPHA * error_contrast + (1 - ALPHA) * float(precedence) / math.sqrt(2)
        return 20 * math.log10(image.deviation / image.mean / distortion)

    @cached_property
    def _thresholds(self) -> list[float]:
        thresholds = np.maximum(self.deviations / self.viewing.signal_to_noise(0), ROUNDING)
        return [float(threshold) for threshold in thresholds]

    def _shift(self, mean_error: float) -> float:
        """Return the relative change of luminance that goes with the mean of the error."""
        before = float(self.viewing.luminance(self.mean))
        after = float(self.viewing.luminance(self.mean + mean_error))
        if before == after:
            return 0.0
        return abs(after - before) / before if before else math.inf

    def _most_natural(self, deviation: float) -> Doubles:
        """Return how an error of this deviation would be spread over the scales if it kept their precedence.

        The deviation grows with the visibility, so that bisection finds it.
        """
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            spread = self.deviations / self.viewing.signal_to_noise(middle)
            low, high = (middle, high) if np.linalg.norm(spread) < deviation else (low, middle)
        return np.asarray(self.deviations / self.viewing.signal_to_noise(low), np.float64)
