"""What VSNR measures in an image: the deviation of the details at five scales, and luminance."""

from __future__ import annotations

import math
from collections.abc import Iterator

import cv2
import numpy as np

from roadworthy.visual_change._grey import Doubles, Pixels, reflected
from roadworthy.visual_change._viewing import SCALES, Viewing
from roadworthy.visual_change._visibility import Luminance

__all__ = ["HIGH_GAIN", "LIFTING", "LOW_GAIN", "deviations", "luminance"]

LIFTING = (-1.586134342, -0.052980118, 0.882911076, 0.443506852)
"""The steps of the 9/7 transform: predict, update, predict, update."""
LOW_GAIN, HIGH_GAIN = 1.149604398, 0.869864452
"""What makes the low-pass filter sum to √2, and the high-pass filter likewise at the highest frequency."""


def deviations(image: Pixels) -> Iterator[float]:
    """Yield the deviation of the details at each scale in grey levels, from fine to coarse.

    An image whose sides are no multiples of 32 is continued by reflection. The image is turned after each
    pass and stays so: only the sum over the three orientations is asked for.
    """
    height, width = image.shape
    step = 2**SCALES
    low = reflected(image, 0, -height % step, 0, -width % step)
    for scale in range(1, SCALES + 1):
        halves = [np.asarray(cv2.transpose(half), half.dtype) for half in _lifted(low)]
        (low, *details) = (quarter for half in halves for quarter in _lifted(half))
        # Not about their mean: a pattern of one pixel on, one off has details that are all the same.
        yield math.sqrt(sum(cv2.norm(detail, cv2.NORM_L2SQR) / detail.size for detail in details)) / 2**scale


def luminance(pixels: Pixels, viewing: Viewing) -> Luminance:
    """Return mean and deviation of the luminance, from the counts of the 256 levels of a display."""
    levels = np.rint(pixels.clip(0, 255)).astype(np.uint8)
    counts: Doubles = np.asarray(cv2.calcHist([levels], [0], None, [256], [0, 256]), np.float64)[:, 0]
    luminances = viewing.luminance(np.arange(256.0))
    mean = np.average(luminances, weights=counts)
    return Luminance(float(mean), math.sqrt(np.average((luminances - mean) ** 2, weights=counts)))


def _lifted(image: Pixels) -> tuple[Pixels, Pixels]:
    """Return the low and the high half of one pass of the 9/7 transform over the rows.

    Continued by reflection, the first high row stands before itself, and the last low row after itself.
    """
    low, high = image[0::2].copy(), image[1::2].copy()
    for predict, update in zip(LIFTING[0::2], LIFTING[1::2], strict=True):
        high[:-1] += predict * (low[:-1] + low[1:])
        high[-1] += 2 * predict * low[-1]
        low[1:] += update * (high[:-1] + high[1:])
        low[0] += 2 * update * high[0]
    low *= LOW_GAIN
    high *= HIGH_GAIN
    return low, high
