"""What comes in: images checked, and turned to grey."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import described
from roadworthy.errors import FrameError

Image = NDArray[np.uint8] | NDArray[np.floating[Any]]
Pixels = NDArray[np.floating[Any]]
"""Of single or double precision."""
Doubles = NDArray[np.float64]
Grid = TypeVar("Grid", bound=Any)
"""An array of rows and columns, or a tensor of several."""

RGB_WEIGHTS = (0.2989, 0.5870, 0.1140)


def checked(image: object, name: str) -> Image:
    """Return the image itself, or raise a FrameError that says what is wrong with it."""
    if (
        not isinstance(image, np.ndarray)
        or not (image.ndim == 2 or (image.ndim == 3 and image.shape[2] == 3))
        or not (image.dtype == np.uint8 or np.issubdtype(image.dtype, np.floating))
    ):
        raise FrameError(
            f"the {name} must have shape (height, width) or (height, width, 3) and dtype uint8 or float "
            f"with values from 0 to 255, got {described(image)}"
        )
    if image.size == 0:
        size = f"{image.shape[0]} × {image.shape[1]}"
        raise FrameError(f"the {name} must be at least one pixel high and wide, got {size}")
    if image.dtype != np.uint8 and not np.isfinite(image).all():
        place = tuple(np.argwhere(~np.isfinite(image))[0])
        got = f"{image[place]} at row {place[0]}, column {place[1]}"
        raise FrameError(f"the {name} must hold finite values, got {got}")
    return image


def grey(image: Image) -> Pixels:
    """Return a checked image in grey, always as a new array.

    Single precision is enough where values are whole numbers. A smooth image of finer values has subbands so
    weak that the rounding errors of single precision would count.
    """
    whole = image.dtype == np.uint8
    pixels: Pixels = np.array(image, np.float32 if whole else np.float64, order="C")
    if pixels.ndim == 2:
        return pixels
    mixed: Pixels = np.asarray(cv2.transform(pixels, np.array([RGB_WEIGHTS])), pixels.dtype)
    # rgb2gray keeps the class of its input.
    return np.rint(mixed, out=mixed) if whole else mixed


def reflected(image: Pixels, top: int, bottom: int, left: int, right: int) -> Pixels:
    """Continue an image by reflection about its edge pixels ("reflect1"), any number of times."""
    if not (top or bottom or left or right):
        return image
    return np.asarray(cv2.copyMakeBorder(image, top, bottom, left, right, cv2.BORDER_REFLECT_101))


def _unfolded(quarter: list[list[float]], *, sign: int = 1) -> Doubles:
    """Mirror the upper left quarter of a filter to the right, and downwards with the sign given."""
    corner = np.array(quarter)
    upper = np.hstack([corner, corner[:, -2::-1]])
    return np.vstack([upper, sign * upper[-2::-1]])


FIRST_LOW = _unfolded(
    [
        [0.00341614, -0.01551246, -0.03848215],
        [-0.01551246, 0.05586982, 0.15925570],
        [-0.03848215, 0.15925570, 0.40304148],
    ]
)
"""lo0filt: takes away what lies above the finest level."""

LOW = 2 * _unfolded(
    [
        [0.00085404, -0.00244917, -0.00387812, -0.00944432, -0.00962054],
        [-0.00244917, -0.00523281, -0.00661117, 0.00410600, 0.01002988],
        [-0.00387812, -0.00661117, 0.01396746, 0.03277038, 0.03981393],
        [-0.00944432, 0.00410600, 0.03277038, 0.06426333, 0.08169618],
        [-0.00962054, 0.01002988, 0.03981393, 0.08169618, 0.10096540],
    ]
)
"""lofilt: what goes on to the next level, which has every second row and column."""

BAND = _unfolded(
    [
        [0.00277643, 0.00496194, 0.01026699, 0.01455399],
        [-0.00986904, -0.00893064, 0.01189859, 0.02755155],
        [-0.01021852, -0.03075356, -0.08226445, -0.11732297],
        [0.0, 0.0, 0.0, 0.0],
    ],
    sign=-1,
)
"""One column of bfilts. Its transpose is, but for the sign, the one three columns on."""


def _filtered(image: Pixels, kernel: Doubles) -> Pixels:
    return np.asarray(cv2.filter2D(image, -1, kernel, borderType=cv2.BORDER_REFLECT_101))


def _halved(image: Pixels) -> Pixels:
    """Filter with `LOW` at every second row and column.

    Even and odd rows and columns are filtered on their own, so that nothing is computed to be thrown away.
    """
    reach = len(LOW) // 2
    grown = reflected(image, reach, reach, reach, reach)
    rows, columns = ((side + 1) // 2 for side in image.shape)
    half = np.zeros((rows, columns), image.dtype)
    for row, column in product(range(2), repeat=2):
        phase, kernel = grown[row::2, column::2], LOW[row::2, column::2]
        part = cv2.filter2D(phase, -1, kernel, anchor=(0, 0), borderType=cv2.BORDER_CONSTANT)
        half += part[:rows, :columns]
    return half


WINDOWS = (17, 9, 5, 3)
PIXEL_NOISE = 2.0
PIXEL_FLAT = 1e-10


def pixel_fidelity(reference: Pixels, changed: Pixels) -> float:
    """Return the VIF of the pixels at four scales, each a Gaussian-weighted window.

    A scale at which the window no longer fits is left out; an image smaller than the first window is
    continued by reflection.
    """
    kept = information = 0.0
    variances = []
    rows, columns = (max(WINDOWS[0] - side, 0) for side in reference.shape)
    # Nothing depends on the mean, and without it less is rounded away.
    pair = reference, changed
    before, after = (reflected(one, 0, rows, 0, columns) - one.mean(dtype=np.float64) for one in pair)
    for variance, variance_after, covariance in local_moments(before, after, _blurred):
        textured = variance >= PIXEL_FLAT
        gain = np.divide(np.maximum(covariance, 0), variance, out=np.zeros_like(variance), where=textured)
        noise = np.maximum(variance_after - gain * covariance, 0)
        variance = np.where(textured, variance, 0)
        kept += np.log1p(gain * gain * variance / (noise + PIXEL_NOISE)).sum()
        information += np.log1p(variance / PIXEL_NOISE).sum()
        variances.append(np.maximum(variance_after, 0))
    if information == 0:
        return fidelity_to_nothing(variances, PIXEL_NOISE)
    return float(kept / information)


def local_moments(
    before: Grid, after: Grid, blurred: Callable[[Grid, int], Grid]
) -> Iterator[tuple[Grid, Grid, Grid]]:
    """Yield the local variances of two images and their covariance, from the finest scale to the coarsest."""
    for window in WINDOWS:
        if min(before.shape[-2:]) < window:
            return
        if window != WINDOWS[0]:
            before, after = (blurred(image, window)[..., ::2, ::2] for image in (before, after))
            if min(before.shape[-2:]) < window:
                return
        mean, mean_after = blurred(before, window), blurred(after, window)
        variance = blurred(before * before, window) - mean * mean
        variance_after = blurred(after * after, window) - mean_after * mean_after
        yield variance, variance_after, blurred(before * after, window) - mean * mean_after


def _blurred(image: Doubles, window: int) -> Doubles:
    """Blur as MATLAB's `filter2` does with a Gaussian of deviation window / 5, where the window fits."""
    kernel = cv2.getGaussianKernel(window, window / 5, cv2.CV_64F)
    blurred = np.asarray(cv2.sepFilter2D(image, cv2.CV_64F, kernel, kernel), np.float64)
    reach = window // 2
    return blurred[reach:-reach, reach:-reach]


BLOCK = 3
NEURAL_NOISE = 0.4
REACHES = (8, 4, 2, 1)
"""How far a window of 17, 9, 5 or 3 pixels reaches from the middle of its block; the finest level first."""
MARGINS = {8: 3, 4: 2, 2: 1, 1: 1}
"""Blocks left out at each border, so that no window reaches over it."""
SMALLEST_SIDE = BLOCK * (2 * MARGINS[REACHES[0]] + 1)
FLAT = {np.dtype(np.float32): 1e-9, np.dtype(np.float64): 1e-18}
"""A local variance below this is a rounding error at the finest level; each further level doubles values."""
SINGULAR = {np.dtype(np.float32): 1e-8, np.dtype(np.float64): 1e-14}
"""An eigenvalue of a covariance below this share of the largest is a rounding error."""


class VifReference:
    """What the model of VIF says about a reference image alone."""

    def __init__(self, grey: Pixels) -> None:
        self._subbands = tuple(Subband.of(band, reach) for band, reach in _subbands(grey))
        self._information = sum(subband.information for subband in self._subbands)

    def fidelity(self, grey: Pixels) -> float:
        """Return VIF: the information about the scene in the changed image over that in the reference."""
        pairs = zip(self._subbands, _subbands(grey), strict=True)
        if self._information == 0:
            changes = ((own.change(band)[1], own.flat_below) for own, (band, _) in pairs)
            variances = (np.where(variance < flat, 0, variance) for variance, flat in changes)
            return fidelity_to_nothing(variances, NEURAL_NOISE)
        return sum(own.information_kept(band) for own, (band, _) in pairs) / self._information


def fidelity_to_nothing(variances: Iterable[Doubles], noise: float) -> float:
    """Return VIF for a flat reference, which holds no information, from local variances of the changed image.

    It is what VIF would be for a texture of vanishing contrast whose gain is known to be 1: 1 where the
    changed image is flat as well, and the nearer to 0 the stronger the texture that came into it.
    """
    shares = [(noise / (noise + variance)).ravel() for variance in variances]
    return float(np.concatenate(shares).mean())


@dataclass(frozen=True, eq=False)
class Subband:
    """The Gaussian scale mixture of one subband of the reference: a block is s · u, with u from N(0, C)."""

    coefficients: Pixels
    reach: int
    flat_below: float
    mean: Doubles
    """Of the coefficients, in the window of each block; so is the variance."""
    variance: Doubles
    """Infinite where the window is flat, so that its gain is 0."""
    multiplier: Doubles
    """s² per block; 0 where the window is flat."""
    polynomial: list[float]
    """Coefficients, highest power first, of Π (1 + x λ) over the eigenvalues λ of C."""
    information: float
    """Σ log(1 + s² λ / σ²) over blocks and eigenvalues: the denominator of VIF."""

    @classmethod
    def of(cls, coefficients: Pixels, reach: int) -> Subband:
        """Estimate the model from the coefficients of a subband."""
        mean = _window_means(coefficients, reach)
        variance = _window_means(coefficients * coefficients, reach) - mean * mean
        flat_below = FLAT[coefficients.dtype] * (REACHES[0] / reach) ** 2
        flat = variance < flat_below
        variance[flat] = np.inf

        eigenvalues, eigenvectors = np.linalg.eigh(_block_covariance(coefficients))
        real = eigenvalues > max(SINGULAR[coefficients.dtype] * eigenvalues[-1], 0)
        eigenvalues = eigenvalues[real]
        whitening = (eigenvectors[:, real] / np.sqrt(eigenvalues)).T
        margin = BLOCK * MARGINS[reach]
        white = whitening @ _blocks(coefficients[margin:-margin, margin:-margin])
        multiplier = np.einsum("ij,ij->j", white, white).reshape(mean.shape) / max(len(eigenvalues), 1)
        multiplier[flat] = 0

        polynomial = [1.0]
        for eigenvalue in eigenvalues.tolist():
            pairs = zip([*polynomial, 0], [0, *polynomial], strict=True)
            polynomial = [eigenvalue * high + low for high, low in pairs]
        information = _information(polynomial, multiplier / NEURAL_NOISE)
        return cls(coefficients, reach, flat_below, mean, variance, multiplier, polynomial, information)

    def change(self, changed: Pixels) -> tuple[Doubles, Doubles]:
        """Return covariance with the reference, and variance, of the changed subband around each block."""
        mean = _window_means(changed, self.reach)
        covariance = _window_means(self.coefficients * changed, self.reach) - self.mean * mean
        return covariance, _window_means(changed * changed, self.reach) - mean * mean

    def information_kept(self, changed: Pixels) -> float:
        """Return Σ log(1 + g² s² λ / (σ_v² + σ²)): the numerator of VIF.

        The gain g and the noise σ_v² are those of the regression of the changed coefficients on the original
        ones. Where the change turns their sign, nothing is kept.
        """
        covariance, variance = self.change(changed)
        gain = np.maximum(covariance, 0) / self.variance
        noise = np.maximum(variance - gain * covariance, 0)
        return _information(self.polynomial, gain * gain * self.multiplier / (noise + NEURAL_NOISE))


def missing_pixels(side: int) -> tuple[int, int]:
    """Return by how many pixels a side too short even for the finest level is continued at each end."""
    missing = max(SMALLEST_SIDE - side, 0)
    return missing // 2, missing - missing // 2


def levels_of(side: int) -> list[int]:
    """Return the reach of the window of each level; one whose margins leave no block is left out."""
    reaches = []
    for reach in REACHES:
        if side // BLOCK > 2 * MARGINS[reach]:
            reaches.append(reach)
        side = (side + 1) // 2
    return reaches


def _subbands(grey: Pixels) -> Iterator[tuple[Pixels, int]]:
    """Yield each subband, cropped to whole blocks, with the reach of its window."""
    # No subband depends on the mean, and without it less is rounded away.
    grey = grey - float(grey.mean(dtype=np.float64))
    rows, columns = (missing_pixels(side) for side in grey.shape)
    yield from oriented_bands(reflected(grey, *rows, *columns), _filtered, _halved)


def oriented_bands(
    grey: Grid, filtered: Callable[[Grid, Doubles], Grid], halved: Callable[[Grid], Grid]
) -> Iterator[tuple[Grid, int]]:
    """Yield the horizontal and the vertical subband of each level, cropped to whole blocks, and its reach."""
    low = filtered(grey, FIRST_LOW)
    for level, reach in enumerate(levels_of(min(grey.shape[-2:]))):
        if level:
            low = halved(low)
        height, width = (side // BLOCK * BLOCK for side in low.shape[-2:])
        for kernel in (BAND, BAND.T):
            yield filtered(low, kernel)[..., :height, :width], reach


def _window_means(values: Pixels, reach: int) -> Doubles:
    """Return the mean over the window around every block that does not lie in the margin."""
    turned: Pixels = np.asarray(cv2.transpose(_window_sums(values, reach)), values.dtype)
    sums = np.asarray(cv2.transpose(_window_sums(turned, reach)), np.float64)
    sums /= (2 * reach + 1) ** 2
    return sums


def _window_sums(values: Pixels, reach: int) -> Pixels:
    """Sum over rows. A window is made of whole blocks and, for some reaches, one more row at each end."""
    first, middle, last = (values[row::BLOCK] for row in range(BLOCK))
    blocks = first + middle
    blocks += last
    margin = MARGINS[reach]
    count = len(blocks) - 2 * margin
    side, rest = divmod(reach - 1, BLOCK)
    sums = blocks[margin - side :][:count].copy()
    for shift in range(1 - side, side + 1):
        sums += blocks[margin + shift :][:count]
    if rest:
        sums += last[margin - side - 1 :][:count]
        sums += first[margin + side + 1 :][:count]
    return sums


def _blocks(values: Pixels) -> Doubles:
    """Return the blocks that lie side by side as the columns of a matrix of 9 rows."""
    height, width = (side // BLOCK for side in values.shape)
    split = values.reshape(height, BLOCK, width, BLOCK).transpose(1, 3, 0, 2)
    return split.astype(np.float64, order="C").reshape(BLOCK * BLOCK, -1)


def _block_covariance(values: Pixels) -> Doubles:
    """Return the 9 × 9 covariance of the pixels of a block, over all blocks, the overlapping ones too.

    The products come from 2 ab = a² + b² - (a - b)²: OpenCV sums squares in double precision, and without a
    copy of the shifted images.
    """
    height, width = (side - BLOCK + 1 for side in values.shape)
    # Nearly centred already, so that little is lost when the products of the means are subtracted.
    values = values - float(values.mean(dtype=np.float64))
    shifts = product(range(BLOCK), repeat=2)
    pixels = [values[row : row + height, column : column + width] for row, column in shifts]
    squares = np.array([cv2.norm(pixel, cv2.NORM_L2SQR) for pixel in pixels])
    distances = np.zeros((len(pixels), len(pixels)))
    for (one, pixel), (two, other) in combinations(enumerate(pixels), 2):
        distances[one, two] = distances[two, one] = cv2.norm(pixel, other, cv2.NORM_L2SQR)
    means = np.array([cv2.mean(pixel)[0] for pixel in pixels])
    moments = (squares[:, np.newaxis] + squares - distances) / (2 * height * width)
    return np.asarray(moments - np.outer(means, means), np.float64)


def _information(polynomial: list[float], ratios: Doubles) -> float:
    """Return Σ log Π (1 + ratio · λ): one logarithm per block instead of one per eigenvalue."""
    products = np.full_like(ratios, polynomial[0])
    for coefficient in polynomial[1:]:
        products *= ratios
        products += coefficient
    return float(np.log(products, out=products).sum())
