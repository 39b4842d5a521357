"""How visible a change is to people, and how alike two images look."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.images import Image, Mask
from roadworthy.visual_change._fidelity import Doubles, Grid, Pixels, reflected

SCALES = 5
A0, A1, A2 = 59.8, -0.1258, -0.1087
"""Of the ratio of image contrast to error contrast at the threshold of detection: a0 · f^(a2 ln f + a1)."""


@dataclass(frozen=True, slots=True)
class Viewing:
    """The display and the place of the viewer; the defaults are those of the authors of VSNR.

    Attributes:
        resolution: Pixels per inch.
        distance: From eye to display, in inches.
        black_level: Offset of the voltage; luminance is (black_level + gain · pixel) ^ gamma.
        gain: From pixel value to voltage.
        gamma: Exponent from voltage to luminance.

    Example:
        >>> Viewing().frequencies.round(2).tolist()
        [16.0, 8.0, 4.0, 2.0, 1.0]
        >>> Viewing(distance=0)
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: viewing distance must be a positive number, got 0
    """

    resolution: float = 96.0
    distance: float = 19.1
    black_level: float = 0.0
    gain: float = 0.02874
    gamma: float = 2.2

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value) or value < 0 or (value == 0 and field.name != "black_level"):
                kind = "non-negative" if field.name == "black_level" else "positive"
                name = field.name.replace("_", " ")
                raise InputError(f"viewing {name} must be a {kind} number, got {value}")

    @property
    def frequencies(self) -> Doubles:
        """Centre frequency of each scale in cycles per degree of visual angle, from fine to coarse."""
        pixels_per_degree = self.resolution * self.distance * math.tan(math.radians(1))
        return np.asarray(pixels_per_degree * 2.0 ** -np.arange(1, SCALES + 1), np.float64)

    def luminance(self, pixels: float | Doubles) -> Doubles:
        """Return the luminance of pixel values; those outside 0 to 255 are shown as the nearest inside."""
        voltage = self.black_level + self.gain * np.clip(pixels, 0, 255)
        return np.asarray(voltage**self.gamma, np.float64)

    def signal_to_noise(self, visibility: float) -> Doubles:
        """Return the ratio of image contrast to error contrast per scale, for an error of some visibility.

        At 0 the error is at the threshold of detection, at 1 nothing but the error is seen.
        """
        logarithm = np.log(self.frequencies)
        power = ((-1 - A2) * visibility + A2) * logarithm + (1 - A1) * visibility + A1
        return np.asarray(A0 * (1 - visibility) * np.exp(power * logarithm), np.float64)


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
        halves = [np.asarray(cv2.transpose(half), half.dtype) for half in lifted(low)]
        (low, *details) = (quarter for half in halves for quarter in lifted(half))
        # Not about their mean: a pattern of one pixel on, one off has details that are all the same.
        yield math.sqrt(sum(cv2.norm(detail, cv2.NORM_L2SQR) / detail.size for detail in details)) / 2**scale


def luminance(pixels: Pixels, viewing: Viewing) -> Luminance:
    """Return mean and deviation of the luminance, from the counts of the 256 levels of a display."""
    levels = np.rint(pixels.clip(0, 255)).astype(np.uint8)
    counts: Doubles = np.asarray(cv2.calcHist([levels], [0], None, [256], [0, 256]), np.float64)[:, 0]
    luminances = viewing.luminance(np.arange(256.0))
    mean = np.average(luminances, weights=counts)
    return Luminance(float(mean), math.sqrt(np.average((luminances - mean) ** 2, weights=counts)))


def lifted(image: Grid) -> tuple[Grid, Grid]:
    """Return the low and the high half of one pass of the 9/7 transform over the rows.

    Continued by reflection, the first high row stands before itself, and the last low row after itself.
    """
    low, high = 1 * image[..., 0::2, :], 1 * image[..., 1::2, :]  # copies
    for predict, update in zip(LIFTING[0::2], LIFTING[1::2], strict=True):
        high[..., :-1, :] += predict * (low[..., :-1, :] + low[..., 1:, :])
        high[..., -1, :] += 2 * predict * low[..., -1, :]
        low[..., 1:, :] += update * (high[..., :-1, :] + high[..., 1:, :])
        low[..., 0, :] += 2 * update * high[..., 0, :]
    low *= LOW_GAIN
    high *= HIGH_GAIN
    return low, high


ALPHA = 0.04
"""Weight of perceived contrast against the disruption of global precedence."""
WEBER = 0.01
"""The share of the mean luminance from which a change of brightness is seen."""
WEBER_DISTORTION = 1.5
"""The distortion that the authors' code assigns to a change of brightness alone."""
ROUNDING = 1e-4
"""A deviation in grey levels below this is a rounding error of single precision."""

FLAT = 1e-9
"""A deviation of luminance below this share of its mean is a rounding error."""


class Luminance(NamedTuple):
    """Of an image on a display."""

    mean: float
    deviation: float


@dataclass(frozen=True, eq=False)
class Masking:
    """What the model of VSNR says about a reference image alone: how much of a change it hides."""

    viewing: Viewing
    mean: float
    """Of the grey image."""
    deviations: Doubles
    """Of its details at the five scales, in grey levels."""

    def hides_details(self, deviations: Iterable[float]) -> bool:
        """Return whether the error is below the threshold at every scale; end at the first where not."""
        return all(found <= most for found, most in zip(deviations, self._thresholds, strict=True))

    def hides_shift(self, mean_error: float) -> bool:
        """Return whether the change of brightness is too small to be seen."""
        return self._shift(mean_error) < WEBER

    def brightness_decibels(self, mean_error: float) -> float:
        """Return VSNR of an error whose details are hidden: infinite when the change of brightness is too."""
        shift = self._shift(mean_error)
        return math.inf if shift < WEBER else 20 / shift - 20 * math.log10(WEBER_DISTORTION)

    def detail_decibels(self, deviations: Doubles, image: Luminance, error: Luminance) -> float:
        """Return VSNR of an error whose details are seen.

        It is 20 log10(C(I) / (α C(E) + (1 - α) d / √2)), with the contrasts C of the image and of the error,
        and the distance d of the error's contrasts at the five scales from those that look most natural. The
        luminance of the error is that of the error on top of the mean of the image.
        """
        viewing = self.viewing
        voltage = viewing.black_level + viewing.gain * self.mean
        if image.deviation <= FLAT * image.mean or voltage <= 0:
            return -math.inf
        error_contrast = error.deviation / image.mean
        # The contrast of one grey level, to the first order.
        level = viewing.gain * viewing.gamma * voltage ** (viewing.gamma - 1) / image.mean
        precedence = level * np.linalg.norm(self._most_natural(error_contrast / level) - deviations)
        distortion = ALPHA * error_contrast + (1 - ALPHA) * float(precedence) / math.sqrt(2)
        return 20 * math.log10(image.deviation / image.mean / distortion)

    @cached_property
    def _thresholds(self) -> list[float]:
        thresholds = np.maximum(self.deviations / self.viewing.signal_to_noise(0), ROUNDING)
        return [float(threshold) for threshold in thresholds]

    def _shift(self, mean_error: float) -> float:
        """Return the relative change of luminance that goes with the mean of the error."""
        before = float(self.viewing.luminance(self.mean))
        after = float(self.viewing.luminance(self.mean + mean_error))
        if before == after:
            return 0.0
        return abs(after - before) / before if before else math.inf

    def _most_natural(self, deviation: float) -> Doubles:
        """Return how an error of this deviation would be spread over the scales if it kept their precedence.

        The deviation grows with the visibility, so that bisection finds it.
        """
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            spread = self.deviations / self.viewing.signal_to_noise(middle)
            low, high = (middle, high) if np.linalg.norm(spread) < deviation else (low, middle)
        return np.asarray(self.deviations / self.viewing.signal_to_noise(low), np.float64)


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
    above, below = (2 * mean_x * mean_y + c1) * (2 * both + c2), mean_x**2 + mean_y**2 + c1
    likeness = above / (below * (variances + c2))
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
