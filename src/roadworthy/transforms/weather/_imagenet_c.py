"""The fog and the snow of ImageNet-C (Hendrycks and Dietterich 2019), which know nothing of the scene.

Their five severities are rows of numbers; between them, and from severity 0, which changes nothing, to 1, the
numbers are interpolated.
"""

from __future__ import annotations

import cv2
import numpy as np

from roadworthy.transforms.weather._fields import Image, Map, resized
from roadworthy.transforms.weather._pixels import spread

__all__ = ["imagenet_c_fog", "imagenet_c_snow"]

# Of severities 0 to 5: the weight of the plasma, and how fast its finer parts decay.
_FOG = ((0.0, 1.5, 2.0, 2.5, 2.5, 3.0), (2.0, 2.0, 2.0, 1.7, 1.5, 1.4))
# Likewise: mean and deviation of the noise, its size, what counts as a flake, length and spread of the blur,
# and what is left of the colours.
_SNOW = (
    (-0.5, 0.1, 0.2, 0.55, 0.55, 0.55),
    (0.3, 0.3, 0.3, 0.3, 0.3, 0.3),
    (3.0, 3.0, 2.0, 4.0, 4.5, 2.5),
    (0.5, 0.5, 0.5, 0.9, 0.85, 0.85),
    (10.0, 10.0, 12.0, 12.0, 12.0, 12.0),
    (4.0, 4.0, 4.0, 8.0, 8.0, 12.0),
    (1.0, 0.8, 0.7, 0.7, 0.65, 0.55),
)


def imagenet_c_fog(image: Image, rng: np.random.Generator, severity: float) -> Image:
    """Return (x + c·plasma)·m / (m + c), m being the brightest value of the image."""
    height, width = image.shape[:2]
    weight, decay = (float(np.interp(severity, range(6), row)) for row in _FOG)
    # What is finer than this is weak in the plasma.
    step = max(1, round(width / 320))
    noise = _plasma(rng, max(2, width // step), max(2, height // step), decay)
    brightest = max(float(image.max()) / 255, 1e-6)
    kept = brightest / (brightest + weight)
    veil = np.asarray(cv2.convertScaleAbs(noise, alpha=255 * brightest * (1 - kept)), np.uint8)
    layer = spread(np.asarray(resized(veil, width, height), np.uint8))
    return np.asarray(cv2.addWeighted(image, kept, layer, 1, 0, dst=layer), np.uint8)


def _plasma(rng: np.random.Generator, width: int, height: int, decay: float) -> Map:
    """Return noise from 0 to 1 in which each halving of the grain is `decay` times weaker."""
    total = np.zeros((height, width), np.float32)
    side = max(width, height)
    cells, weight = 2, 1.0
    while cells <= side:
        grid = rng.random((cells + 1, cells + 1), dtype=np.float32)
        # The plasma is square, and the image its upper left part.
        part = grid[: -(-cells * height // side) + 1, : -(-cells * width // side) + 1]
        total += np.float32(weight) * np.asarray(resized(part, width, height), np.float32)
        cells, weight = cells * 2, weight / decay
    low, high = float(total.min()), float(total.max())
    return (total - np.float32(low)) / np.float32(max(high - low, 1e-6))


def imagenet_c_snow(image: Image, rng: np.random.Generator, severity: float) -> Image:
    """Return whitened colours under noise that is enlarged, thresholded and blurred along one direction."""
    height, width = image.shape[:2]
    mean, deviation, zoom, least, radius, sigma, kept = (
        float(np.interp(severity, range(6), row)) for row in _SNOW
    )
    size = (max(2, round(height / zoom)), max(2, round(width / zoom)))
    noise = rng.standard_normal(size, dtype=np.float32) * np.float32(deviation) + np.float32(mean)
    # Flakes are several pixels wide, and blurred, so half the size shows them as well.
    half = 2 if width >= 480 else 1
    flakes = np.asarray(resized(noise, -(-width // half), -(-height // half)), np.float32)
    flakes = np.where(flakes < least, np.float32(0), np.clip(flakes, 0, 1)) * np.float32(255)
    kernel = _motion(radius / half, sigma / half, float(rng.uniform(-135, -45)))
    blurred = np.asarray(cv2.filter2D(flakes, cv2.CV_8U, kernel), np.uint8)
    layer = np.asarray(resized(blurred, width, height), np.uint8)
    grey = spread(np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8))
    white = cv2.max(image, cv2.convertScaleAbs(grey, alpha=1.5, beta=127.5, dst=grey), dst=grey)
    whitened = cv2.addWeighted(image, kept, white, 1 - kept, 0, dst=white)
    both = np.asarray(cv2.add(layer, cv2.rotate(layer, cv2.ROTATE_180)), np.uint8)
    return np.asarray(cv2.add(whitened, spread(both), dst=whitened), np.uint8)


def _motion(radius: float, sigma: float, angle: float) -> Map:
    """Return the kernel of ImageMagick's motion blur: half a Gaussian along one direction."""
    size = 2 * round(radius) + 1
    steps = np.arange(size)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    kernel = np.zeros((2 * size + 1, 2 * size + 1), np.float32)
    turn = np.radians(angle)
    x, y = (np.rint(size + steps * part).astype(int) for part in (np.cos(turn), np.sin(turn)))
    np.add.at(kernel, (y, x), weights / weights.sum())
    return kernel
