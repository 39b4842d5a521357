"""The visual change as the papers write it down: in double precision, one step after the other.

The tests compare the fast version with it, and the benchmark measures what being fast is worth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import convolve1d, correlate
from scipy.signal import convolve2d

from roadworthy.visual_change._fidelity import BAND, FIRST_LOW, LOW

Array = NDArray[np.float64]
Grey = NDArray[np.uint8]

LOW_97 = (0.85269867900889, 0.37740285561283, -0.11062440441844, -0.02384946501956, 0.03782845550726)
HIGH_97 = (-0.78848561640558, 0.41809227322162, 0.04068941760916, -0.06453888262870)


def plain_vif(reference: Grey | Array, changed: Grey | Array) -> float:
    """VIF of Sheikh and Bovik, step by step as in their MATLAB code."""
    kept = information = 0.0
    levels = zip(_plain_bands(reference), _plain_bands(changed), strict=True)
    for level, (own, others) in enumerate(levels):
        size = 2 ** (4 - level) + 1
        margin = math.ceil((size - 1) / 2 / 3)
        for x, y in zip(own, others, strict=True):
            height, width = (side // 3 for side in x.shape)
            if min(height, width) <= 2 * margin:
                continue
            x, y = x[: 3 * height, : 3 * width], y[: 3 * height, : 3 * width]
            mean, mean_y = _plain_window(x, size), _plain_window(y, size)
            variance = _plain_window(x * x, size) - mean**2
            covariance = _plain_window(x * y, size) - mean * mean_y
            variance_y = _plain_window(y * y, size) - mean_y**2
            gain = np.maximum(covariance, 0) / np.maximum(variance, 1e-15)
            noise = np.maximum(variance_y - gain * covariance, 0)
            vectors = np.stack(
                [x[i : i + 3 * height - 2, j : j + 3 * width - 2].ravel() for i in range(3) for j in range(3)]
            )
            eigenvalues = np.linalg.eigvalsh(np.cov(vectors, bias=True))
            blocks = np.stack([x[i::3, j::3] for i in range(3) for j in range(3)]).reshape(9, -1)
            whitened = np.linalg.solve(np.cov(vectors, bias=True), blocks)
            multiplier = (whitened * blocks).sum(axis=0).reshape(height, width) / 9
            inner = (slice(margin, -margin), slice(margin, -margin))
            for eigenvalue in eigenvalues:
                signal = multiplier * eigenvalue
                kept += np.log2(1 + gain**2 * signal / (noise + 0.4))[inner].sum()
                information += np.log2(1 + signal / 0.4)[inner].sum()
    return kept / information


def _plain_bands(image: Grey | Array) -> Iterator[tuple[Array, Array]]:
    low = correlate(image.astype(np.float64), FIRST_LOW, mode="mirror")
    for _ in range(4):
        yield correlate(low, BAND, mode="mirror"), correlate(low, BAND.T, mode="mirror")
        low = correlate(low, LOW, mode="mirror")[::2, ::2]


def _plain_window(values: Array, size: int) -> Array:
    means: Array = correlate(values, np.full((size, size), 1 / size**2), mode="mirror")[1::3, 1::3]
    return means


def plain_vif_pixel(reference: Grey, changed: Grey) -> float:
    """VIF of pixels, as in the authors' `vifp_mscale`; a scale whose window does not fit is left out."""
    x, y = reference.astype(np.float64), changed.astype(np.float64)
    kept = information = 0.0
    for scale in range(4):
        size = 2 ** (4 - scale) + 1
        places = np.arange(size) - size // 2
        bell = np.exp(-(places**2) / (2 * (size / 5) ** 2))
        window = np.outer(bell, bell) / bell.sum() ** 2

        def weighted(values: Array, window: Array = window) -> Array:
            means: Array = convolve2d(values, window, mode="valid")
            return means

        if scale and min(x.shape) >= size:
            x, y = weighted(x)[::2, ::2], weighted(y)[::2, ::2]
        if min(x.shape) < size:
            break
        mean, mean_y = weighted(x), weighted(y)
        variance, variance_y = weighted(x * x) - mean**2, weighted(y * y) - mean_y**2
        covariance = weighted(x * y) - mean * mean_y
        gain = np.maximum(covariance, 0) / np.maximum(variance, 1e-10)
        noise = np.maximum(variance_y - gain * covariance, 1e-10)
        kept += np.log10(1 + gain**2 * variance / (noise + 2)).sum()
        information += np.log10(1 + variance / 2).sum()
    return kept / information


def plain_vsnr(reference: Grey, changed: Grey) -> float:
    """VSNR of Chandler and Hemami for sides that are multiples of 32, with the default viewing conditions."""
    pixels, mean = reference.astype(np.float64), float(reference.mean())
    error = changed - pixels

    def luminance(values: Array) -> Array:
        luminances: Array = (0.02874 * np.rint(values.clip(0, 255))) ** 2.2
        return luminances

    mean_luminance = luminance(pixels).mean()
    zeta = mean_luminance * (0.02874 * mean) ** (1 - 2.2) / (0.02874 * 2.2)
    contrasts, errors = _plain_deviations(pixels) / zeta, _plain_deviations(error) / zeta
    if plain_excess(reference, changed) <= 1:
        shift = abs((0.02874 * (mean + error.mean())) ** 2.2 / (0.02874 * mean) ** 2.2 - 1)
        return math.inf if shift < 0.01 else 20 / shift - 20 * math.log10(1.5)
    total = luminance(error + mean).std() / mean_luminance
    low, high = 0.0, 1.0
    for _ in range(50):
        v = (low + high) / 2
        low, high = (v, high) if np.linalg.norm(contrasts / _plain_ratios(v)) < total else (low, v)
    distance = np.linalg.norm(contrasts / _plain_ratios(low) - errors)
    distortion = 0.04 * total + 0.96 * distance / math.sqrt(2)
    return 20 * math.log10(luminance(pixels).std() / mean_luminance / distortion)


def plain_excess(reference: Grey | Array, changed: Grey | Array) -> float:
    """How many times the threshold of detection the change is, at the scale where it is seen best."""
    pixels = reference.astype(np.float64)
    thresholds = _plain_deviations(pixels) / _plain_ratios(0)
    return float((_plain_deviations(changed - pixels) / thresholds).max())


def _plain_ratios(v: float) -> Array:
    """Contrast of the image over that of the error at the five scales, for an error of visibility v."""
    frequencies = 96 * 19.1 * math.tan(math.pi / 180) / 2.0 ** np.arange(1, 6)
    b0, b1, b2 = 59.8 * (1 - v), (1 + 0.1258) * v - 0.1258, (-1 + 0.1087) * v - 0.1087
    powers: Array = b0 * frequencies ** (b2 * np.log(frequencies) + b1)
    return powers


def _plain_deviations(image: Array) -> Array:
    low_pass, high_pass = (np.array([*half[:0:-1], *half]) for half in (LOW_97, HIGH_97))
    deviations = []
    for scale in range(1, 6):
        low, high = (
            convolve1d(image, kernel, axis=0, mode="mirror")[start::2]
            for kernel, start in ((low_pass, 0), (high_pass, 1))
        )
        quarters = [
            convolve1d(half, kernel, axis=1, mode="mirror")[:, start::2]
            for half in (low, high)
            for kernel, start in ((low_pass, 0), (high_pass, 1))
        ]
        image = quarters[0]
        deviations.append(math.sqrt(sum((quarter**2).mean() for quarter in quarters[1:])) / 2**scale)
    return np.array(deviations)


def plain_visual_change(reference: Grey, changed: Grey) -> float:
    """Definition 1, both measures computed to the end."""
    if plain_vsnr(reference, changed) == math.inf:
        return 0.0
    return min(max(1 - plain_vif(reference, changed), 0.0), 1.0)
