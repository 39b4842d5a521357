"""What comes in: images checked, and turned to grey."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import described
from roadworthy._yaml import read_yaml
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


_FILTERS = read_yaml(Path(__file__).with_name("filters.yaml"), "file of filters", "filters by name").data
FIRST_LOW = _unfolded(_FILTERS["lo0filt"])
"""lo0filt: takes away what lies above the finest level."""
LOW = 2 * _unfolded(_FILTERS["lofilt"])
"""lofilt: what goes on to the next level, which has every second row and column."""
BAND = _unfolded(_FILTERS["bfilts"], sign=-1)
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


class Grids(NamedTuple):
    """What is done otherwise with an array, which is one image, than with a tensor, which is several."""

    library: Any
    """numpy or torch."""
    reflected: Callable[..., Any]
    filtered: Callable[[Any, Doubles], Any]
    halved: Callable[[Any], Any]
    blurred: Callable[[Any, int], Any]
    window_means: Callable[[Any, int], Any]
    blocks: Callable[[Any], Any]
    covariance: Callable[[Any], Any]

    def doubles(self, grey: Any) -> Any:
        """Return the images in double precision."""
        return self.library.asarray(grey, dtype=self.library.float64)

    def centred(self, grey: Any) -> Any:
        """Return the images without their means: nothing depends on these, and so less is rounded away."""
        mean = grey.mean(axis=(-2, -1), keepdims=True, dtype=self.library.float64)
        return grey - self.library.asarray(mean, dtype=grey.dtype)


WINDOWS = (17, 9, 5, 3)
PIXEL_NOISE = 2.0
PIXEL_FLAT = 1e-10


def pixel_fidelity(reference: Grid, changed: Grid, grids: Grids) -> Any:
    """Return the VIF of the pixels at four scales, each a Gaussian-weighted window.

    A scale at which the window no longer fits is left out; an image smaller than the first window is
    continued by reflection.
    """
    where, log1p = grids.library.where, grids.library.log1p
    kept = information = 0.0
    variances = []
    rows, columns = (max(WINDOWS[0] - side, 0) for side in reference.shape[-2:])
    pair = (grids.centred(grids.doubles(one)) for one in (reference, changed))
    before, after = (grids.reflected(one, 0, rows, 0, columns) for one in pair)
    for variance, variance_after, covariance in local_moments(before, after, grids.blurred):
        textured = variance >= PIXEL_FLAT
        gain = covariance.clip(min=0) / where(textured, variance, math.inf)
        noise = (variance_after - gain * covariance).clip(min=0)
        variance = where(textured, variance, 0)
        kept = kept + _total(log1p(gain * gain * variance / (noise + PIXEL_NOISE)))
        information = information + _total(log1p(variance / PIXEL_NOISE))
        variances.append(variance_after.clip(min=0))
    return _share_kept(kept, information, variances, PIXEL_NOISE, grids)


def _share_kept(kept: Any, information: Any, variances: list[Any], noise: float, grids: Grids) -> Any:
    """Return the share of the information that is kept.

    A flat reference holds none. There it is what VIF would be for a texture of vanishing contrast whose gain
    is known to be 1: 1 where the changed image is flat as well, and the nearer to 0 the stronger the texture
    that came into it, which its local variances tell.
    """
    empty = information == 0
    if not empty.any():
        return kept / information
    shares = [noise / (noise + variance) for variance in variances]
    blocks = sum(one.shape[-2] * one.shape[-1] for one in shares)
    nothing = sum(map(_total, shares)) / blocks
    return grids.library.where(empty, nothing, kept / grids.library.where(empty, 1, information))


def _total(values: Any) -> Any:
    return values.sum(axis=(-2, -1))


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
FLAT = {"float32": 1e-9, "float64": 1e-18}
"""A local variance below this is a rounding error at the finest level; each further level doubles values."""
SINGULAR = {"float32": 1e-8, "float64": 1e-14}
"""An eigenvalue of a covariance below this share of the largest is a rounding error."""


class VifReference:
    """What the model of VIF says about a reference image alone; of tensors, about several or one for all."""

    def __init__(self, grey: Any, grids: Grids) -> None:
        self._grids = grids
        self._subbands = [Subband.of(band, reach, grids) for band, reach in _subbands(grey, grids)]
        self._information: Any = sum(subband.information for subband in self._subbands)

    def fidelity(self, grey: Any) -> Any:
        """Return VIF: the information about the scene in the changed image over that in the reference.

        What is kept is Σ log(1 + g² s² λ / (σ_v² + σ²)). The gain g and the noise σ_v² are those of the
        regression of the changed coefficients on the original ones. Where the change turns their sign,
        nothing is kept.
        """
        kept: Any = 0.0
        variances = []
        any_empty = bool((self._information == 0).any())
        for own, (band, _) in zip(self._subbands, _subbands(grey, self._grids), strict=True):
            mean = self._grids.window_means(band, own.reach)
            products = self._grids.window_means(own.coefficients * band, own.reach)
            covariance = products - own.mean * mean
            variance = self._grids.window_means(band * band, own.reach) - mean * mean
            gain = covariance.clip(min=0) / own.variance
            noise = (variance - gain * covariance).clip(min=0)
            ratios = gain * gain * own.multiplier / (noise + NEURAL_NOISE)
            kept = kept + _information(own.polynomial, ratios, self._grids)
            if any_empty:
                variances.append(self._grids.library.where(variance < own.flat_below, 0, variance))
        return _share_kept(kept, self._information, variances, NEURAL_NOISE, self._grids)


@dataclass(frozen=True, eq=False)
class Subband:
    """The Gaussian scale mixture of one subband of the reference: a block is s · u, with u from N(0, C)."""

    coefficients: Any
    reach: int
    flat_below: float
    mean: Any
    """Of the coefficients, in the window of each block; so is the variance."""
    variance: Any
    """Infinite where the window is flat, so that its gain is 0."""
    multiplier: Any
    """s² per block; 0 where the window is flat."""
    polynomial: list[Any]
    """Coefficients, highest power first, of Π (1 + x λ) over the eigenvalues λ of C."""
    information: Any
    """Σ log(1 + s² λ / σ²) over blocks and eigenvalues: the denominator of VIF."""

    @classmethod
    def of(cls, coefficients: Any, reach: int, grids: Grids) -> Subband:
        """Estimate the model from the coefficients of a subband."""
        where, precision = grids.library.where, str(coefficients.dtype).removeprefix("torch.")
        mean = grids.window_means(coefficients, reach)
        variance = grids.window_means(coefficients * coefficients, reach) - mean * mean
        flat_below = FLAT[precision] * (REACHES[0] / reach) ** 2
        flat = variance < flat_below

        eigenvalues, eigenvectors = grids.library.linalg.eigh(grids.covariance(coefficients))
        real = eigenvalues > (SINGULAR[precision] * eigenvalues[..., -1:]).clip(min=0)
        # An eigenvalue of 0 adds no information: log(1 + 0).
        eigenvalues = where(real, eigenvalues, 0)
        whitening = (eigenvectors / where(real, eigenvalues, math.inf)[..., None, :] ** 0.5).mT
        margin = BLOCK * MARGINS[reach]
        white = whitening @ grids.blocks(coefficients[..., margin:-margin, margin:-margin])
        multiplier = grids.library.einsum("...ij,...ij->...j", white, white).reshape(mean.shape)
        multiplier = where(flat, 0, multiplier / real.sum(axis=-1).clip(min=1)[..., None, None])

        polynomial: list[Any] = [1.0]
        for number in range(eigenvalues.shape[-1]):
            pairs = zip([*polynomial, 0], [0, *polynomial], strict=True)
            polynomial = [eigenvalues[..., number, None, None] * high + low for high, low in pairs]
        information = _information(polynomial, multiplier / NEURAL_NOISE, grids)
        known = mean, where(flat, math.inf, variance), multiplier, polynomial, information
        return cls(coefficients, reach, flat_below, *known)


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


def _subbands(grey: Any, grids: Grids) -> Iterator[tuple[Any, int]]:
    """Yield the horizontal and the vertical subband of each level, cropped to whole blocks, and its reach."""
    rows, columns = (missing_pixels(side) for side in grey.shape[-2:])
    grey = grids.reflected(grids.centred(grey), *rows, *columns)
    low = grids.filtered(grey, FIRST_LOW)
    for level, reach in enumerate(levels_of(min(grey.shape[-2:]))):
        if level:
            low = grids.halved(low)
        height, width = (side // BLOCK * BLOCK for side in low.shape[-2:])
        for kernel in (BAND, BAND.T):
            yield grids.filtered(low, kernel)[..., :height, :width], reach


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


def _information(polynomial: list[Any], ratios: Any, grids: Grids) -> Any:
    """Return Σ log Π (1 + ratio · λ): one logarithm per block instead of one per eigenvalue."""
    products = polynomial[0] * ratios + polynomial[1]
    for coefficient in polynomial[2:]:
        products *= ratios
        products += coefficient
    return _total(grids.library.log(products, out=products))


ARRAYS = Grids(np, reflected, _filtered, _halved, _blurred, _window_means, _blocks, _block_covariance)
