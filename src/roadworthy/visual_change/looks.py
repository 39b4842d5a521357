"""How alike two images look, in all of the image or in a part of it: how near a change comes to its truth."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Map = NDArray[np.float32]

_SCALES = 4
_WINDOW = (9, 9)  # pixels
# What counts as one unit of distance in brightness, in the two axes of colour and in the strength of edges:
# about the difference between a street by day and the same street by night.
_UNITS = (90.0, 12.0, 16.0, 40.0)


def ssim(one: Image, other: Image, part: Mask | None = None) -> float:
    """Return the mean structural similarity of two images without colour, or of a part (Wang et al. 2004).

    Example:
        >>> image = np.zeros((32, 32, 3), np.uint8)
        >>> ssim(image, image)
        1.0
    """
    x, y = (cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float64) for image in (one, other))
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(cv2.GaussianBlur(values, (11, 11), 1.5), np.float64)

    mean_x, mean_y = mean(x), mean(y)
    variances = mean(x * x) - mean_x**2 + mean(y * y) - mean_y**2
    both = mean(x * y) - mean_x * mean_y
    likeness = (
        (2 * mean_x * mean_y + c1) * (2 * both + c2) / ((mean_x**2 + mean_y**2 + c1) * (variances + c2))
    )
    return float(likeness.mean() if part is None else likeness[part].mean())


def look_distance(one: Image, other: Image, part: Mask | None = None) -> float:
    """Return how differently two images look, 0 for the same image: a distance between local statistics.

    In the manner of LPIPS, but without a trained network: at four scales, each half as wide as the one
    before, it compares the mean and the deviation within windows of 9 × 9 pixels of brightness, of two axes
    of colour (CIELAB) and of the strength of edges. Rain that falls elsewhere in the second image so makes
    little difference; more or less of it does.

    Args:
        one: RGB.
        other: RGB, of the same size.
        part: Where to compare them; everywhere when left out.

    Example:
        >>> dark, bright = (np.full((64, 64, 3), level, np.uint8) for level in (40, 200))
        >>> look_distance(dark, dark), look_distance(dark, bright) > 0.3
        (0.0, True)
    """
    share = np.ones(one.shape[:2], np.float32) if part is None else part.astype(np.float32)
    distances = []
    for _ in range(_SCALES):
        difference = np.zeros(one.shape[:2], np.float32)
        for a, b, unit in zip(_features(one), _features(other), _UNITS, strict=True):
            for mine, yours in zip(_local(a), _local(b), strict=True):
                difference += np.abs(mine - yours) / np.float32(unit * len(_UNITS))
        distances.append(float((difference * share).sum() / max(float(share.sum()), 1e-6)))
        one, other = (np.asarray(cv2.pyrDown(image), np.uint8) for image in (one, other))
        size = (one.shape[1], one.shape[0])
        share = np.asarray(cv2.resize(share, size, interpolation=cv2.INTER_AREA), np.float32)
    return float(np.mean(distances))


def _features(image: Image) -> list[Map]:
    lab = cv2.cvtColor(image.astype(np.float32) / np.float32(255), cv2.COLOR_RGB2Lab)
    bright, red_green, yellow_blue = (np.asarray(plane, np.float32) for plane in cv2.split(lab))
    bright = bright * np.float32(2.55)
    edges = cv2.magnitude(cv2.Sobel(bright, cv2.CV_32F, 1, 0), cv2.Sobel(bright, cv2.CV_32F, 0, 1))
    return [bright, red_green, yellow_blue, np.asarray(edges, np.float32) / np.float32(4)]


def _local(values: Map) -> tuple[Map, Map]:
    """Return the mean and the deviation about each pixel."""
    mean = np.asarray(cv2.blur(values, _WINDOW), np.float32)
    square = np.asarray(cv2.blur(values * values, _WINDOW), np.float32)
    return mean, np.sqrt(np.maximum(square - mean * mean, 0))
