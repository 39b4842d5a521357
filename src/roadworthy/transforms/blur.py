"""Convolution with large kernels: faster than by the frequency domain, and exact to a level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.images import Image
from roadworthy.transforms.transform import ImageTransform, choice, number, register

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
    below, right = rows - 1 - above, columns - 1 - left
    padded = cv2.copyMakeBorder(image, above, below, left, right, cv2.BORDER_REPLICATE)
    total: NDArray[np.int16] | None = None
    for top, bottom, first, last in _pieces(kernel):
        piece = kernel[top:bottom, first:last] * np.float32(_FRACTION)
        inside = padded[top : height + bottom - 1, first : width + last - 1]
        edge = cv2.BORDER_REPLICATE
        part = cv2.filter2D(inside, cv2.CV_16S, piece, anchor=(0, 0), borderType=edge)[:height, :width]
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


# The quantiles of the sum of two numbers that are even over -1 to 1.
_QUANTILES = (np.arange(256) + 0.5) / 256
_TWO_MOVES = np.where(_QUANTILES < 0.5, np.sqrt(8 * _QUANTILES) - 2, 2 - np.sqrt(8 * (1 - _QUANTILES)))
_FINEST = 4.0  # pixels at the corner of the image between two images of a zoom


_SQUARE: dict[str, Any] = {
    "unit": "pixels", "low": 1, "high": 255, "identity": 1, "strongest": 41, "integer": True
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Blur(ImageTransform):
    family = "blur"


@register("averaging-blur", summary="each pixel becomes the mean of a square", aliases=("box-blur",))
class AveragingBlur(_Blur):
    """Each pixel becomes the mean of the square round it: DeepTest, Table 4, averaging.

    Attributes:
        size: Side of the square.
    """

    size: int = number(5, **_SQUARE)

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        return cast(Image, cv2.blur(image, (self.size, self.size)))


@register("gaussian-blur", summary="each pixel becomes a mean weighted by a Gaussian")
class GaussianBlur(_Blur):
    """Each pixel becomes a mean of those round it, weighted by a Gaussian.

    DeepTest gives the size of the kernel (Table 4, Gaussian) and leaves the standard deviation to OpenCV,
    which takes 0.3 · ((size - 1) / 2 - 1) + 0.8. Table 4 prints 3, 5, 7 and 3 once more, so its fourth preset
    is its first. ImageNet-C gives the standard deviation.

    Attributes:
        sigma: Standard deviation of the Gaussian.
        size: Side of the kernel, an odd number; 0 for three sigma to each side.
    """

    sigma: float = number(2.0, unit="pixels", low=0, high=100, identity=0, strongest=20)
    size: int = number(0, unit="pixels", low=0, high=301, integer=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_odd(self.name, self.size or 1)

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        return gaussian_blurred(image, self.sigma, self.size)


@register("median-blur", summary="each pixel becomes the median of a square")
class MedianBlur(_Blur):
    """Each channel of a pixel becomes the median of the square round it: DeepTest, Table 4, median.

    Attributes:
        size: Side of the square, an odd number.
    """

    size: int = number(5, **_SQUARE)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_odd(self.name, self.size)

    @classmethod
    def strengths(cls, amount: float) -> dict[str, float | int]:
        (size,) = cls.parameters()
        return {"size": int(size.at(amount)) // 2 * 2 + 1}

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        return cast(Image, cv2.medianBlur(image, self.size))


@register("bilateral-blur", summary="pixels become the mean of those near them in place and colour")
class BilateralBlur(_Blur):
    """Each pixel becomes a mean of those near in place and in colour: DeepTest, Table 4, bilateral filter.

    Edges stay: a pixel of a very different colour has no weight. A diameter of 1 changes nothing, nor does a
    `sigma_colour` of 0.

    Attributes:
        diameter: Diameter of the circle.
        sigma_colour: Standard deviation over colours.
        sigma_space: Standard deviation over places.
    """

    diameter: int = number(9, unit="pixels", low=1, high=61, identity=1, strongest=21, integer=True)
    sigma_colour: float = number(75.0, unit="levels", low=0, high=1000, identity=0, strongest=250)
    sigma_space: float = number(75.0, unit="pixels", low=0.1, high=1000)

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        if self.diameter == 1 or self.sigma_colour == 0:
            return image.copy()
        return cast(Image, cv2.bilateralFilter(image, self.diameter, self.sigma_colour, self.sigma_space))


@register("defocus-blur", summary="the lens is out of focus")
class DefocusBlur(_Blur):
    """Each point becomes a disc, as behind a lens out of focus (ImageNet-C; Hu et al., section 3).

    The disc is smoothed by a Gaussian of 3 × 3 pixels (5 × 5 above a radius of 8), so that its edge is not
    jagged.

    Attributes:
        radius: Radius of the disc.
        alias_blur: Standard deviation of the Gaussian that smooths the disc.
    """

    radius: float = number(4.0, unit="pixels", low=0, high=100, identity=0, strongest=20)
    alias_blur: float = number(0.5, unit="pixels", low=0, high=5, identity=0, strongest=1)

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        return convolved(image, disc_kernel(self.radius, self.alias_blur))


@register("motion-blur", summary="the camera moves in a straight line while the shutter is open")
class MotionBlur(_Blur):
    """Each point becomes a line, in a random direction near the one that is given.

    With the profile "even" all of the line has the same weight, as in a camera whose shutter opens and closes
    at once, and its middle stays in place (Albumentations, Kornia). With "fading" the weight falls from the
    start of the line as half a Gaussian (ImageNet-C: a radius r and a standard deviation s there are a length
    of 2r and a fade of s / 2r).

    Attributes:
        length: Length of the line.
        angle: Direction, clockwise from the right.
        spread: How far the direction may be from it.
        profile: How the weight runs along the line.
        fade: Standard deviation of a fading weight, as a share of the length.
    """

    length: float = number(15.0, unit="pixels", low=0, high=500, identity=0, strongest=100)
    angle: float = number(0.0, unit="degrees", low=-180, high=180)
    spread: float = number(45.0, unit="degrees", low=0, high=180)
    profile: str = choice("even", choices=("even", "fading"))
    fade: float = number(0.3, low=0.01, high=10)

    random = True

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        angle = self.angle + self.spread * rng.uniform(-1, 1)
        fade = self.fade * self.length if self.profile == "fading" else None
        return line_convolved(image, *line_kernel(self.length, angle, fade))


@register("zoom-blur", summary="the camera zooms in while the shutter is open")
class ZoomBlur(_Blur):
    """The mean of the image and its enlargements up to a factor, about the centre (ImageNet-C).

    It is made by doubling: the mean of n images and its enlargement give the mean of 2n. So there are enough
    of them that their edges are not seen one by one, where ImageNet-C has 11 to 16. Factors from 1 to `zoom`
    have the same weight; ImageNet-C counts the image itself twice.

    Attributes:
        zoom: The largest factor.
    """

    zoom: float = number(1.2, low=1, high=10, identity=1, strongest=2)

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        height, width = image.shape[:2]
        doublings = math.ceil(math.log2(max(2, (self.zoom - 1) * math.hypot(width, height) / 2 / _FINEST)))
        ratio = self.zoom ** (1 / (2**doublings - 1))
        blurred = image
        for _ in range(doublings):
            # Geometric factors lie closer together where they are small: the larger ones get the weight for
            # that.
            weight = ratio / (1 + ratio)
            blurred = cv2.addWeighted(blurred, 1 - weight, _enlarged(blurred, ratio), weight, 0)  # type: ignore[assignment]
            ratio **= 2
        return blurred


@register("glass-blur", summary="seen through rough glass: pixels change places with their neighbours")
class GlassBlur(_Blur):
    """Pixels are blurred, moved at random to places nearby, and blurred again (ImageNet-C).

    ImageNet-C swaps each pixel with one at most `delta` away, in a loop over all of them, so that a pixel is
    moved twice in each iteration: when its turn comes, and when another chooses it. Here every pixel is taken
    at once from a place that is as far away as two such moves, in every iteration.

    Attributes:
        sigma: Standard deviation of the blur.
        delta: How far a pixel may move.
        iterations: How often pixels move.
    """

    sigma: float = number(0.9, unit="pixels", low=0, high=50, identity=0, strongest=4)
    delta: float = number(2.0, unit="pixels", low=0, high=100, identity=0, strongest=12)
    iterations: int = number(2, low=1, high=20, integer=True)

    random = True

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        height, width = image.shape[:2]
        places = _places(height, width)
        steps = np.rint(self.delta * _TWO_MOVES).astype(np.int16)
        for _ in range(self.iterations):
            bits = rng.integers(0, 256, places.shape, np.uint8)
            places = cv2.add(places, cv2.LUT(bits, steps))  # type: ignore[assignment]
        blurred = gaussian_blurred(image, self.sigma) if self.sigma else image
        how, border = cv2.INTER_NEAREST, cv2.BORDER_REFLECT_101
        moved = cast(Image, cv2.remap(blurred, places, cast(Any, None), how, borderMode=border))
        return gaussian_blurred(moved, self.sigma) if self.sigma else moved


def _check_odd(owner: str, size: int) -> None:
    if size % 2 == 0:
        raise InputError(f"{owner}: size must be odd, so that a pixel is in its middle, got {size}")


def _enlarged(image: Image, factor: float) -> Image:
    height, width = image.shape[:2]
    inverse = 1 / factor
    x, y = ((1 - inverse) * (size - 1) / 2 for size in (width, height))
    matrix = np.array([[inverse, 0, x], [0, inverse, y]])
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return cast(Image, cv2.warpAffine(image, matrix, (width, height), flags=flags))


@lru_cache(maxsize=1)
def _places(height: int, width: int) -> NDArray[np.int16]:
    """Return the column and row of every pixel."""
    places = np.empty((height, width, 2), np.int16)
    places[:, :, 0] = np.arange(width)
    places[:, :, 1] = np.arange(height)[:, None]
    places.setflags(write=False)
    return places
