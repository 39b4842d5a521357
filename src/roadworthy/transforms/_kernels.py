"""Convolution with large kernels: faster than by the frequency domain, and exact to a level."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import cast

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.transforms.transform import Image

__all__ = ["convolved", "disc_kernel", "gaussian_blurred", "line_convolved", "line_kernel"]

Kernel = NDArray[np.float32]

_DIRECT = 130  # cells; OpenCV convolves a kernel below this directly, a larger one by the frequency domain
_WIDEST = 45  # cells a side; beyond it the frequency domain is faster than a sum of separable kernels
_RESIDUE = 0.06  # of a kernel's weight may be in the wrong place: less than one level in an image
_LEAST = 1e-3  # of the largest weight of a kernel; a smaller one is left out
_FRACTION = 128  # 255 times this fits into 16 bits with a sign


def gaussian_blurred(image: Image, sigma: float, size: int = 0) -> Image:
    """Return an image blurred by a Gaussian of a standard deviation in pixels.

    Args:
        image: Of any number of channels.
        sigma: The standard deviation.
        size: How many pixels wide the kernel is, an odd number; 0 for three standard deviations to each side.
    """
    if 0 < size <= 7 and math.isclose(sigma, 0.15 * size + 0.35):
        # The deviation that OpenCV itself takes for a size; it then has kernels of round numbers.
        return cast(Image, cv2.GaussianBlur(image, (size, size), 0))
    # Faster than OpenCV's GaussianBlur, and rounded only once.
    kernel = cv2.getGaussianKernel(size or 2 * math.ceil(3 * sigma) + 1, sigma, cv2.CV_32F)
    return cast(Image, cv2.sepFilter2D(image, -1, kernel, kernel))


@lru_cache(maxsize=32)
def disc_kernel(radius: float, alias_blur: float) -> Kernel:
    """Return the kernel of ImageNet-C's defocus blur: a disc, smoothed by a small Gaussian.

    Between two whole radii the two discs are mixed, so that the kernel changes steadily and a radius of 0 is
    the identity.
    """
    smoothing = 0 if alias_blur == 0 else 1 if radius <= 8 else 2
    reach = math.ceil(radius) + smoothing
    offsets = np.arange(-reach, reach + 1)
    distance = np.hypot(offsets[:, None], offsets[None, :])
    kernel = np.zeros(distance.shape, np.float32)
    whole, part = int(radius), radius - int(radius)
    for one, weight in ((whole, 1 - part), (whole + 1, part)):
        disc = distance <= one
        kernel += np.float32(weight / disc.sum()) * disc
    if smoothing:
        size = 2 * smoothing + 1
        edge = cv2.BORDER_CONSTANT
        kernel = cast(Kernel, cv2.GaussianBlur(kernel, (size, size), alias_blur, borderType=edge))
    kernel = _thinned(kernel)
    kernel.setflags(write=False)
    return kernel


def _thinned(kernel: NDArray[np.floating]) -> Kernel:
    """Return a kernel without weights that are too small to count, and with a sum of one."""
    kept = np.where(kernel < _LEAST * kernel.max(), 0, kernel)
    return (kept / kept.sum()).astype(np.float32)  # type: ignore[no-any-return]


def convolved(image: Image, kernel: Kernel) -> Image:
    """Return an image convolved with a kernel that is the same left and right, up and down."""
    if kernel.size < _DIRECT or max(kernel.shape) > _WIDEST:
        return cast(Image, cv2.filter2D(image, -1, kernel))
    total: NDArray[np.float32] | None = None
    for column, row in _separable(kernel.shape[0], kernel.tobytes()):
        part = cv2.sepFilter2D(image, cv2.CV_32F, row, column)
        total = part if total is None else cv2.add(total, part, total)  # type: ignore[assignment]
    return cast(Image, cv2.convertScaleAbs(cast("NDArray[np.float32]", total)))


@lru_cache(maxsize=32)
def _separable(side: int, data: bytes) -> tuple[tuple[Kernel, Kernel], ...]:
    """Return pairs of a column and a row whose products add up to a square kernel."""
    kernel = np.frombuffer(data, np.float32).reshape(side, side).astype(np.float64)
    columns, weights, rows = np.linalg.svd(kernel)
    pairs: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    rest = kernel.copy()
    while len(pairs) < side and np.abs(rest).sum() > _RESIDUE:
        rank = len(pairs)
        # Symmetric to the last bit, because OpenCV is faster then.
        column, row = ((one + one[::-1]) / 2 for one in (columns[:, rank] * weights[rank], rows[rank]))
        pairs.append((column, row))
        rest -= np.outer(column, row)
    # The weights still add up to one, so that the image gets neither darker nor brighter.
    total = sum(float(column.sum() * row.sum()) for column, row in pairs)
    return tuple(((column / total).astype(np.float32), row.astype(np.float32)) for column, row in pairs)


def line_kernel(length: float, angle: float, fade: float | None) -> tuple[Kernel, tuple[int, int]]:
    """Return the kernel of a straight motion, and the row and column in it that stand for no motion.

    Args:
        length: How far it goes, in pixels.
        angle: Its direction, in degrees clockwise from the right.
        fade: The standard deviation of the half Gaussian by which its weight falls from its start, in pixels;
            None for a weight that is even, with the middle of the motion in place.
    """
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    longest = max(abs(cos), abs(sin))
    # One point for each pixel along the longer axis, the last one with the share of a pixel that is left.
    steps = length * longest
    at = np.arange(math.floor(steps) + 2) / longest
    weight = np.clip(steps + 1 - np.arange(len(at)), 0, 1)
    if fade is None:
        at = at - (at * weight).sum() / weight.sum()
    else:
        weight *= np.exp(-(at**2) / (2 * fade**2))
    points = np.stack([at * sin, at * cos], axis=1)
    first = np.floor(points.min(axis=0)).astype(int)
    last = np.floor(points.max(axis=0)).astype(int) + 1
    kernel = np.zeros(tuple(last - first + 1), np.float64)
    low = np.floor(points).astype(int)
    share = points - low
    for corner in np.array([[0, 0], [0, 1], [1, 0], [1, 1]]):
        part = np.where(corner, share, 1 - share).prod(axis=1)
        rows, columns = (low + corner - first).T
        np.add.at(kernel, (rows, columns), weight * part)
    return _thinned(kernel), (-int(first[0]), -int(first[1]))


def line_convolved(image: Image, kernel: Kernel, origin: tuple[int, int]) -> Image:
    """Return an image convolved with a kernel that is empty but for a thin line.

    OpenCV skips the empty cells of a kernel, but only of a small one. So the line is cut into pieces.
    """
    height, width = image.shape[:2]
    rows, columns = kernel.shape
    above, left = origin
    padded = cv2.copyMakeBorder(
        image, above, rows - 1 - above, left, columns - 1 - left, cv2.BORDER_REPLICATE
    )
    total: NDArray[np.int16] | None = None
    for top, bottom, first, last in _pieces(kernel):
        piece = kernel[top:bottom, first:last] * np.float32(_FRACTION)
        part = cv2.filter2D(
            padded[top : height + bottom - 1, first : width + last - 1],
            cv2.CV_16S,
            piece,
            anchor=(0, 0),
            borderType=cv2.BORDER_REPLICATE,
        )[:height, :width]
        total = part if total is None else cv2.add(total, part)  # type: ignore[assignment]
    return cast(Image, cv2.convertScaleAbs(cast("NDArray[np.int16]", total), alpha=1 / _FRACTION))


def _pieces(kernel: Kernel) -> list[tuple[int, int, int, int]]:
    """Return rows and columns (from, to) of pieces that hold all cells with a weight, each small."""
    if kernel.shape[0] > kernel.shape[1]:
        turned = _pieces(kernel.T)
        return [(first, last, top, bottom) for top, bottom, first, last in turned]
    pieces = []
    columns = np.flatnonzero(kernel.any(axis=0))
    first, end = int(columns[0]), int(columns[-1]) + 1
    while first < end:
        rows = np.flatnonzero(kernel[:, first])
        top, bottom, last = int(rows[0]), int(rows[-1]) + 1, first + 1
        while last < end:
            rows = np.flatnonzero(kernel[:, last])
            higher, lower = min(top, int(rows[0])), max(bottom, int(rows[-1]) + 1)
            if (lower - higher) * (last + 1 - first) >= _DIRECT:
                break
            top, bottom, last = higher, lower, last + 1
        pieces.append((top, bottom, first, last))
        first = last
    return pieces
