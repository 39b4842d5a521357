"""Noise of the sensor and faults of the digital picture, as ImageNet-C has them.

A byte plus noise is a byte again, so noise need not be finer than a level. It is looked up: random bits
choose one of many equally likely values of the distribution. That is several times as fast as drawing from it
one by one, and exact but for its tails: they end at 4.3 standard deviations, those of shot noise at 3.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame
from roadworthy.images import Image
from roadworthy.transforms.affine import BORDERS, moved_maps
from roadworthy.transforms.transform import (
    ImageTransform,
    Keeps,
    Transform,
    choice,
    number,
    register,
    shortened,
)

Scalar = TypeVar("Scalar", bound=np.generic)

STEPS = 65536
_FINENESS = 2.0  # points of the grid of smooth noise in a standard deviation of its Gaussian


def random_bits(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.uint16]:
    """Return sixteen random bits for every element of an array."""
    count = math.prod(shape)
    words = rng.integers(0, 2**64, (count + 3) // 4, np.uint64)
    return words.view(np.uint16)[:count].reshape(shape)


def looked_up(table: NDArray[Scalar], index: NDArray[Any]) -> NDArray[Scalar]:
    """Return the table's entries at an array of indices that are known to lie inside it."""
    # Wrapping costs less than the check.
    return np.take(table, index, mode="wrap")


@lru_cache(maxsize=1)
def normal_quantiles() -> NDArray[np.float32]:
    """Return equally likely values of the standard normal distribution, with mean 0 and variance 1."""
    from scipy import special

    values = special.ndtri((np.arange(STEPS) + 0.5) / STEPS)
    table = (values / values.std()).astype(np.float32)
    table.setflags(write=False)
    return table  # type: ignore[no-any-return]


def normal_noise(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return normally distributed numbers, with mean 0 and variance 1.

    They are looked up by sixteen random bits each, which is five times as fast as drawing them; their tails
    end at 4.3 standard deviations.
    """
    return looked_up(normal_quantiles(), random_bits(rng, shape))


def smooth_noise(
    rng: np.random.Generator, height: int, width: int, sigma: float, layers: int = 1
) -> NDArray[np.float32]:
    """Return white noise smoothed by a Gaussian: normally distributed, with mean 0 and variance 1.

    Args:
        rng: Where the noise comes from.
        height: Rows.
        width: Columns.
        sigma: The standard deviation of the Gaussian, in pixels.
        layers: How many independent fields; the last axis of the result, left out where it is 1.
    """
    # Smooth noise is the same on a coarse grid: it is drawn and blurred there, and then enlarged.
    step = max(1.0, sigma / _FINENESS)
    rows, columns = math.ceil(height / step), math.ceil(width / step)
    spread = sigma / step
    reach = math.ceil(3 * spread)
    white = normal_noise(rng, (rows + 2 * reach, columns + 2 * reach, layers))
    kernel = cv2.getGaussianKernel(2 * reach + 1, max(spread, 1e-3), cv2.CV_32F)
    # The variance stays that of the white noise. Interpolation between points with this correlation takes
    # away a part of it, which is given back.
    kept = math.sqrt((2 + math.exp(-1 / (4 * spread**2))) / 3) if step > 1 else 1.0
    kernel = kernel / (np.linalg.norm(kernel) * kept)
    smooth = cv2.sepFilter2D(white, -1, kernel, kernel)[reach : reach + rows, reach : reach + columns]
    if step > 1:
        smooth = cv2.resize(smooth, (width, height), interpolation=cv2.INTER_LINEAR)
    return cast("NDArray[np.float32]", smooth)


_COARSE = 4096  # steps of the tables of shot noise, of which there is one for each level
_NO_NOISE = 1e7  # photons; the noise is then a fifteenth of a level at most


@dataclass(frozen=True, kw_only=True)
class _Noise(ImageTransform):
    family = "noise"
    random = True


@register("gaussian-noise", summary="normal noise is added, as of a sensor in the dark")
class GaussianNoise(_Noise):
    """A normal number is added to every channel of every pixel (ImageNet-C; Hu et al., section 3).

    Attributes:
        sigma: Standard deviation, as a share of the range from black to white.
    """

    sigma: float = number(0.1, low=0, high=3, identity=0, strongest=1)

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        # A whole number plus noise, rounded, is the number plus the rounded noise.
        table = np.rint(normal_quantiles() * np.float32(255 * self.sigma)).astype(np.int16)
        noise = looked_up(table, random_bits(rng, image.shape))
        return cast(Image, cv2.add(image, noise, dtype=cv2.CV_8U))


@register("speckle-noise", summary="normal noise in proportion to the brightness is added")
class SpeckleNoise(_Noise):
    """Every channel of every pixel is multiplied by a normal number with a mean of 1 (ImageNet-C).

    Attributes:
        sigma: Standard deviation of the factor.
    """

    sigma: float = number(0.3, low=0, high=10, identity=0, strongest=3)

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        table = 1 + normal_quantiles() * np.float32(self.sigma)
        factors = looked_up(table, random_bits(rng, image.shape))
        return cast(Image, cv2.multiply(image, factors, dtype=cv2.CV_8U))


@register("shot-noise", summary="light arrives as single photons, too few", aliases=("poisson-noise",))
class ShotNoise(_Noise):
    """Every channel of every pixel counts photons, whose number has a Poisson distribution (ImageNet-C).

    The noise of white has a standard deviation of 1 / √photons. An amount from 0 to 1 runs along this, so
    that it grows as that of Gaussian noise does.

    Attributes:
        photons: How many photons make white.
    """

    photons: float = number(25.0, low=0.2, high=_NO_NOISE, identity=_NO_NOISE, strongest=1)

    @classmethod
    def strengths(cls, amount: float) -> dict[str, float | int]:
        return {"photons": shortened(1 / max(amount**2, 1 / _NO_NOISE))}

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        cell = random_bits(rng, image.shape) // np.uint16(STEPS // _COARSE)
        row = image.astype(np.int32) * np.int32(_COARSE)
        row += cell
        return looked_up(_poisson_quantiles(self.photons), row)


@register("impulse-noise", summary="some values become black or white", aliases=("salt-and-pepper",))
class ImpulseNoise(_Noise):
    """Some values become 0 and as many 255: salt and pepper (ImageNet-C).

    ImageNet-C hits single channels of pixels, Albumentations and Kornia whole pixels.

    Attributes:
        share: Share of what is hit.
        hits: What is hit at once.
    """

    share: float = number(0.06, low=0, high=1, identity=0)
    hits: str = choice("channels", choices=("channels", "pixels"))

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        height, width, channels = image.shape
        bits = random_bits(rng, (height, width, channels if self.hits == "channels" else 1))
        half = round(self.share / 2 * STEPS)
        limits: tuple[Any, Any] = float(half), float(STEPS - half)
        salt, spared = (cv2.compare(bits, limit, cv2.CMP_LT) for limit in limits)
        if self.hits == "pixels":
            salt, spared = (cv2.merge([one] * channels) for one in (salt, spared))
        return cast(Image, cv2.bitwise_and(cv2.bitwise_or(image, salt), spared))


@lru_cache(maxsize=4)
def _poisson_quantiles(photons: float) -> NDArray[np.uint8]:
    """Return equally likely levels after the noise, for every level before it, one after another."""
    from scipy import special

    levels = np.arange(256)
    # A count k is shown as the level 255 · k / photons, rounded.
    most = np.floor((levels + 0.5) * photons / 255)
    most -= np.rint(most * 255 / photons) > levels  # halfway between two levels it goes to the even one
    below = special.pdtr(most[None, :], (levels * photons / 255)[:, None])
    below[:, -1] = 1  # what is brighter than white is white
    below[0] = 1  # without light there is no photon
    ends = np.rint(below * _COARSE).astype(np.intp)
    counts = np.diff(ends, axis=1, prepend=0)
    return np.repeat(np.tile(levels.astype(np.uint8), 256), counts.ravel())


Map = NDArray[np.float32]
Ids = NDArray[np.uint16 | np.int32]


@register("jpeg", summary="the image is stored as a JPEG file and read again", aliases=("jpeg-compression",))
class JPEG(ImageTransform):
    """The image after it was stored as a JPEG file (ImageNet-C; Hu et al., section 3).

    The quality runs over all that JPEG has. At 100 the image is not stored at all, so that nothing changes.
    (Hu et al. draw from 1 to 1000 and cut at 100, so that nine of ten of their images are hardly changed.)

    Attributes:
        quality: Quality of the file.
    """

    quality: int = number(25, low=1, high=100, identity=100, strongest=1, integer=True)

    family = "digital"

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        if max(image.shape) > 65500:
            raise InputError(f"jpeg: an image must be at most 65500 pixels wide and high, got {image.shape}")
        swapped = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
        _, data = cv2.imencode(".jpg", swapped, [cv2.IMWRITE_JPEG_QUALITY, self.quality])
        return cast(Image, cv2.imdecode(data, cv2.IMREAD_COLOR_RGB))


@register("pixelate", summary="the image has fewer, larger pixels")
class Pixelate(ImageTransform):
    """The image is shrunk, each pixel the mean of what it covers, and enlarged as it is (ImageNet-C).

    An amount from 0 to 1 runs over blocks of 2 to 100 pixels, each as many times as large as the one before:
    with parts of a pixel, a larger block can be closer to the image than a smaller one.

    Attributes:
        resolution: Share of the width and height that is left.
    """

    resolution: float = number(0.4, low=0.001, high=1, identity=1, strongest=0.01)

    family = "digital"

    @classmethod
    def strengths(cls, amount: float) -> dict[str, float | int]:
        block = max(2, round(100**amount)) if amount > 0 else 1
        return {"resolution": shortened(1 / block)}

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        height, width = image.shape[:2]
        share = self.resolution
        # 0.3333 means blocks of three: OpenCV takes the mean of whole blocks exactly, and faster.
        block = round(1 / share)
        if share == shortened(1 / block):
            share = 1 / block
        if min(width, height) * share >= 1:
            # With factors instead of a size, blocks are as large as they say even if they do not fit in
            # evenly.
            small = cv2.resize(image, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
        else:
            size = max(1, round(width * share)), max(1, round(height * share))
            small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        return cast(Image, cv2.resize(small, (width, height), interpolation=cv2.INTER_NEAREST))


@register("elastic", summary="the image is stretched and squeezed from place to place")
class Elastic(Transform):
    """Every place moves by a smooth random field and a random affine map; labels move with it (ImageNet-C).

    ImageNet-C smooths noise from [-1, 1] by a Gaussian and multiplies it by an α, all for images of 224
    pixels; what comes out has a standard deviation of α / (σ √(12 π)). Here this is given itself, and all
    lengths are shares of the image's height, so that a large image is warped like a small one. Its first two
    presets move little but the whole.

    Attributes:
        displacement: Standard deviation of how far places move, as a share of the height.
        smoothness: Standard deviation of the Gaussian that smooths the moves, as a share of the height.
        tilt: How far the corners of a triangle in the middle are moved, as a share of the height.
        border: What fills the part that nothing is moved to.
    """

    displacement: float = number(0.01, low=0, high=0.2, identity=0, strongest=0.03)
    smoothness: float = number(0.02, low=0.002, high=1)
    tilt: float = number(0.0, low=0, high=0.3, identity=0, strongest=0.1)
    border: str = choice("mirror", choices=tuple(BORDERS))

    family = "digital"
    keeps = Keeps.MOVED
    random = True

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        x, y = self._sources(frame.width, frame.height, rng)

        def moved(values: NDArray[Any], outside: float) -> NDArray[Any]:
            edge = cv2.BORDER_CONSTANT
            return cv2.remap(values, x, y, cv2.INTER_NEAREST, borderMode=edge, borderValue=(outside,) * 4)

        image = cv2.remap(frame.image, x, y, cv2.INTER_LINEAR, borderMode=BORDERS[self.border])
        changed = frame.replace(image=image, **moved_maps(frame, moved))
        if frame.boxes is None:
            return changed
        return changed.replace(boxes=_moved_boxes(frame.boxes, x, y, frame.instances, changed.instances))

    def _sources(self, width: int, height: int, rng: np.random.Generator) -> tuple[Map, Map]:
        """Return the column and the row that every pixel is taken from; pixel i has its centre at i."""
        field = smooth_noise(rng, height, width, self.smoothness * height, layers=2)
        side = min(width, height) / 3
        centre = np.array([(width - 1) / 2, (height - 1) / 2])
        before = centre + np.array([[-side, -side], [side, -side], [-side, side]])
        after = before + rng.uniform(-1, 1, (3, 2)) * self.tilt * height
        matrix = cv2.getAffineTransform(after.astype(np.float32), before.astype(np.float32))
        columns, rows = np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)[:, None]
        sources = []
        for axis in (0, 1):
            along_x, along_y, start = matrix[axis].astype(np.float32)
            source = field[:, :, axis] * np.float32(self.displacement * height)
            source += along_x * columns
            source += along_y * rows + start
            sources.append(source)
        return sources[0], sources[1]


def _moved_boxes(boxes: Boxes, x: Map, y: Map, before: Ids | None, after: Ids | None) -> Boxes:
    """Return the boxes where pixels are taken from the columns x and rows y.

    Where the pixels of the thing are known, the sides of its box move as far as the outermost of them.
    Elsewhere what is followed is a shape in the box that leaves out its corners, because things seldom fill
    them.
    """
    height, width = x.shape
    sides_before, sides_after = ({} if one is None else _sides(one) for one in (before, after))
    ids = [None] * len(boxes) if boxes.track_ids is None else boxes.track_ids.tolist()
    found, seen = [], []
    for index, (thing, corners) in enumerate(zip(ids, boxes.xyxy.astype(np.float64), strict=True)):
        if thing in sides_before:
            moved = sides_after.get(thing)
            if moved is not None:
                shifted = corners + (moved - sides_before[thing])
                # A box much smaller than the thing's pixels could be turned inside out.
                moved = shifted if (shifted[2:] > shifted[:2]).all() else moved
        else:
            moved = _followed(corners, x, y)
        if moved is not None:
            found.append(np.clip(moved, 0, [width, height, width, height]))
            seen.append(index)
    kept = boxes[np.array(seen, np.intp)]
    xyxy = np.array(found).reshape(-1, 4)
    truncation = kept.truncation
    if truncation is not None:
        at_edge = ((xyxy <= 0) | (xyxy >= [width, height, width, height])).any(axis=1)
        truncation = np.where(at_edge, np.float32(np.nan), truncation)
    return kept.replace(xyxy=xyxy, truncation=truncation)


def _sides(instances: Ids) -> dict[int | None, NDArray[np.float64]]:
    """Return the box round the pixels of every thing, by its id."""
    from scipy import ndimage

    names: NDArray[Any] = np.arange(1, 65536)
    numbered: NDArray[Any] = instances
    if instances.dtype != np.uint16:  # then ids may be too large to count up to
        names, numbered = np.unique(instances, return_inverse=True)
        numbered = numbered.reshape(instances.shape) + 1
    sides: dict[int | None, NDArray[np.float64]] = {}
    for name, place in zip(names.tolist(), ndimage.find_objects(numbered), strict=False):
        if place is not None:
            down, across = place
            sides[name] = np.array([across.start, down.start, across.stop, down.stop], np.float64)
    return sides


def _followed(corners: NDArray[np.float64], x: Map, y: Map) -> NDArray[np.float64] | None:
    """Return the box round the pixels that are taken from inside a box; None if there are none."""
    left, top, right, bottom = corners
    across = (x + np.float32(0.5 - (left + right) / 2)) / np.float32(max((right - left) / 2, 0.5))
    down = (y + np.float32(0.5 - (top + bottom) / 2)) / np.float32(max((bottom - top) / 2, 0.5))
    inside = across**4 + down**4 <= 1
    columns, rows = np.flatnonzero(inside.any(axis=0)), np.flatnonzero(inside.any(axis=1))
    if not len(columns):
        return None
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], np.float64)
