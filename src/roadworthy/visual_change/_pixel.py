"""Visual information fidelity in the pixel domain: the authors' `vifp_mscale`."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np

from roadworthy.visual_change._fidelity import fidelity_to_nothing
from roadworthy.visual_change._grey import Doubles, Pixels, reflected

__all__ = ["FLAT", "NEURAL_NOISE", "WINDOWS", "pixel_fidelity"]

WINDOWS = (17, 9, 5, 3)
NEURAL_NOISE = 2.0
FLAT = 1e-10


def pixel_fidelity(reference: Pixels, changed: Pixels) -> float:
    """Return the VIF of the pixels at four scales, each a Gaussian-weighted window.

    A scale at which the window no longer fits is left out; an image smaller than the first window is
    continued by reflection.
    """
    kept = information = 0.0
    variances = []
    for before, after, window in _scales(reference, changed):
        mean, mean_after = _blurred(before, window), _blurred(after, window)
        variance = _blurred(before * before, window) - mean * mean
        variance_after = _blurred(after * after, window) - mean_after * mean_after
        covariance = _blurred(before * after, window) - mean * mean_after
        textured = variance >= FLAT
        gain = np.divide(np.maximum(covariance, 0), variance, out=np.zeros_like(mean), where=textured)
        noise = np.maximum(variance_after - gain * covariance, 0)
        variance = np.where(textured, variance, 0)
        kept += np.log1p(gain * gain * variance / (noise + NEURAL_NOISE)).sum()
        information += np.log1p(variance / NEURAL_NOISE).sum()
        variances.append(np.maximum(variance_after, 0))
    if information == 0:
        return fidelity_to_nothing(variances, NEURAL_NOISE)
    return float(kept / information)


def _scales(reference: Pixels, changed: Pixels) -> Iterator[tuple[Doubles, Doubles, int]]:
    rows, columns = (max(WINDOWS[0] - side, 0) for side in reference.shape)
    # Nothing depends on the mean, and without it less is rounded away.
    before, after = (
        reflected(image, 0, rows, 0, columns) - image.mean(dtype=np.float64) for image in (reference, changed)
    )
    for window in WINDOWS:
        if window != WINDOWS[0]:
            if min(before.shape) < window:
                return
            before, after = _blurred(before, window)[::2, ::2], _blurred(after, window)[::2, ::2]
        if min(before.shape) < window:
            return
        yield before, after, window


def _blurred(image: Doubles, window: int) -> Doubles:
    """Blur as MATLAB's `filter2` does with a Gaussian of deviation window / 5, where the window fits."""
    kernel = cv2.getGaussianKernel(window, window / 5, cv2.CV_64F)
    blurred = np.asarray(cv2.sepFilter2D(image, cv2.CV_64F, kernel, kernel), np.float64)
    reach = window // 2
    return blurred[reach:-reach, reach:-reach]
