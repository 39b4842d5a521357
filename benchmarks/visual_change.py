"""Visual change of a pair of images, beside a plain version of the same formulas.

The plain version is the papers written down in double precision with SciPy's filters, one step after the
other; the tests compare the fast one with it. Both take turns, so that a change of the machine's speed hits
both. Set OPENBLAS_NUM_THREADS=1 to keep every library on one core.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import convolve1d, correlate, gaussian_filter

from roadworthy.visual_change import Reference, vif, visual_change, vsnr
from roadworthy.visual_change._pyramid import BAND, FIRST_LOW, LOW

Array = NDArray[np.float64]
Grey = NDArray[np.uint8]

SIZES = ((224, 224), (320, 160), (1242, 375))  # width, height
LEAST = 10  # times as fast as the plain version
ROUNDS = 9
LOW_97 = (0.85269867900889, 0.37740285561283, -0.11062440441844, -0.02384946501956, 0.03782845550726)
HIGH_97 = (-0.78848561640558, 0.41809227322162, 0.04068941760916, -0.06453888262870)


def plain_vif(reference: Grey, changed: Grey) -> float:
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


def _plain_bands(image: Grey) -> Iterator[tuple[Array, Array]]:
    low = correlate(image.astype(np.float64), FIRST_LOW, mode="mirror")
    for _ in range(4):
        yield correlate(low, BAND, mode="mirror"), correlate(low, BAND.T, mode="mirror")
        low = correlate(low, LOW, mode="mirror")[::2, ::2]


def _plain_window(values: Array, size: int) -> Array:
    means: Array = correlate(values, np.full((size, size), 1 / size**2), mode="mirror")[1::3, 1::3]
    return means


def plain_vsnr(reference: Grey, changed: Grey) -> float:
    """VSNR of Chandler and Hemami for sides that are multiples of 32, with the default viewing conditions."""
    pixels, mean = reference.astype(np.float64), float(reference.mean())
    error = changed - pixels
    frequencies = 96 * 19.1 * math.tan(math.pi / 180) / 2.0 ** np.arange(1, 6)

    def ratios(v: float) -> Array:
        b0, b1, b2 = 59.8 * (1 - v), (1 + 0.1258) * v - 0.1258, (-1 + 0.1087) * v - 0.1087
        powers: Array = b0 * frequencies ** (b2 * np.log(frequencies) + b1)
        return powers

    def luminance(values: Array) -> Array:
        luminances: Array = (0.02874 * np.rint(values.clip(0, 255))) ** 2.2
        return luminances

    mean_luminance = luminance(pixels).mean()
    zeta = mean_luminance * (0.02874 * mean) ** (1 - 2.2) / (0.02874 * 2.2)
    contrasts, errors = _plain_deviations(pixels) / zeta, _plain_deviations(error) / zeta
    if (errors <= contrasts / ratios(0)).all():
        shift = abs((0.02874 * (mean + error.mean())) ** 2.2 / (0.02874 * mean) ** 2.2 - 1)
        return math.inf if shift < 0.01 else 20 / shift - 20 * math.log10(1.5)
    total = luminance(error + mean).std() / mean_luminance
    low, high = 0.0, 1.0
    for _ in range(50):
        v = (low + high) / 2
        low, high = (v, high) if np.linalg.norm(contrasts / ratios(v)) < total else (low, v)
    distance = np.linalg.norm(contrasts / ratios(low) - errors)
    distortion = 0.04 * total + 0.96 * distance / math.sqrt(2)
    return 20 * math.log10(luminance(pixels).std() / mean_luminance / distortion)


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


def scene(width: int, height: int) -> tuple[Grey, Grey]:
    """Make a picture with structure at every scale, and a noisy version of it."""
    rng = np.random.default_rng(7)
    pixels = 128 + sum(8 * 2**k * gaussian_filter(rng.normal(size=(height, width)), 1.6**k) for k in range(6))
    noisy = pixels + rng.normal(scale=20, size=pixels.shape)
    reference, changed = (np.rint(np.clip(image, 0, 255)).astype(np.uint8) for image in (pixels, noisy))
    return reference, changed


def _milliseconds(works: list[Callable[[], float]]) -> list[float]:
    """Return the least of several rounds for each, in turns."""
    best = [math.inf] * len(works)
    for _ in range(ROUNDS):
        for index, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[index] = min(best[index], 1000 * (time.perf_counter() - start))
    return best


def _rows(reference: Grey, changed: Grey) -> dict[str, list[Callable[[], float]]]:
    """Return, by measure, the work from two images, with a kept reference, and in the plain version."""
    kept, pair = Reference(reference), (reference, changed)
    return {
        "vif": [partial(vif, *pair), partial(kept.vif, changed), partial(plain_vif, *pair)],
        "vsnr": [partial(vsnr, *pair), partial(kept.vsnr, changed), partial(plain_vsnr, *pair)],
        "visual_change": [
            partial(visual_change, *pair),
            partial(kept.visual_change, changed),
            partial(plain_visual_change, *pair),
        ],
    }


def main() -> None:
    print(f"Visual change of a pair of grey images, milliseconds, best of {ROUNDS}")
    print(f"  {'':24}{'pair':>8}{'kept':>8}{'plain':>9}{'ratio':>7}{'kept':>7}")
    for width, height in SIZES:
        for name, works in _rows(*scene(width, height)).items():
            pair, kept, plain = _milliseconds(works)
            label = f"{width}x{height} {name}"
            verdict = f"  {'ok' if plain / pair >= LEAST else 'SLOW'} (at least {LEAST}x)"
            print(
                f"  {label:24}{pair:8.2f}{kept:8.2f}{plain:9.1f}{plain / pair:6.0f}x{plain / kept:6.0f}x"
                f"{verdict if name == 'visual_change' else ''}"
            )
    print("  pair: from two images; kept: with a Reference that was used before; ratio: plain over ours\n")
