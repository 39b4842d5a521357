"""Light and colour: the same scene, brighter or darker, flatter or more vivid.

All of these are one formula for every pixel, so the work is done by OpenCV's saturating arithmetic on bytes,
which rounds once, at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.images import Image
from roadworthy.transforms.transform import ImageTransform, choice, number, register
from roadworthy.visual_change import Tolerance

_LUMA = np.array([0.299, 0.587, 0.114])
# From RGB to luma and the two axes of colour, as NTSC has it; the grey axis is the first.
_YIQ = np.array([_LUMA, [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])

_DRAWS = ("ends", "uniform")
_CACHED = 450_000  # bytes that stay in the processor's cache


@register("brightness", summary="the image gets brighter or darker by a bias")
class Brightness(ImageTransform):
    """Every pixel grows by the bias β and stays within 0 to 255.

    In the space "rgb" β is added to all channels (DeepTest, section 3.2 and Table 4). In the space "value" it
    is added to the value of hue, saturation and value, which is the largest channel, and the others follow in
    proportion (ImageNet-C; Hu et al., section 3).

    Attributes:
        bias: What is added.
        space: What it is added to: all channels, or the value of HSV.
    """

    bias: float = number(40.0, unit="levels", low=-255, high=255, identity=0)
    space: str = choice("rgb", choices=("rgb", "value"))

    family = "tone"

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        if self.space == "rgb":
            return _brightened(image, round(self.bias))
        planes = _planes(image)
        value = _largest(planes)
        levels = np.arange(256, dtype=np.float32)
        wanted = np.clip(levels + np.float32(self.bias), 0, 255)
        factor = cv2.LUT(value, wanted / np.maximum(levels, 1))
        changed = cv2.merge([cv2.multiply(plane, factor, dtype=cv2.CV_8U) for plane in planes])
        if self.bias > 0 and cv2.countNonZero(value) < value.size:
            # Black has no proportion of channels to keep: it becomes grey.
            grey = cv2.bitwise_and(cv2.compare(value, 0, cv2.CMP_EQ), round(self.bias))  # type: ignore[call-overload]
            changed = cv2.add(changed, cv2.merge([grey] * 3))
        return cast(Image, changed)


@register("contrast", summary="differences from black or from the mean grow or shrink")
class Contrast(ImageTransform):
    """Every pixel moves away from a pivot, or towards it: pivot + α · (pixel - pivot).

    The pivot is black in DeepTest (section 3.2 and Table 4: each pixel times α), and the mean of each channel
    in ImageNet-C and in Hu et al., section 3.

    Attributes:
        gain: The factor α; below 1 the image gets flatter.
        pivot: The colour that stays as it is.
    """

    gain: float = number(0.5, low=0, high=20, identity=1, strongest=0)
    pivot: str = choice("mean", choices=("mean", "black"))

    family = "tone"

    @property
    def tolerance(self) -> Tolerance | None:
        """What people tolerate of it; what they were shown keeps the mean."""
        return super().tolerance if self.pivot == "mean" else None

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        if self.pivot == "black":
            height, width, channels = image.shape
            flat = cv2.transform(image.reshape(height, width * channels), np.array([[self.gain, 0.0]]))
            return cast(Image, flat.reshape(image.shape))
        return _scaled(image, self.gain, _means(image) * (1 - self.gain))


@register("rgb-shift", summary="each channel is shifted by an amount of its own", aliases=("colour-shift",))
class RGBShift(ImageTransform):
    """Red, green and blue each grow or shrink by a random number of levels (Hu et al., section 3).

    With "ends" each channel moves by the whole shift, up or down at random, so that the shift alone sets the
    strength; at 255 nothing is left of the image. With "uniform" each is drawn from [-shift, shift], as in
    Albumentations, which that paper used.

    Attributes:
        shift: How far a channel may move.
        draw: Each is drawn from the whole range ("uniform"), or lies at one end of it, low or high ("ends").
    """

    shift: float = number(40.0, unit="levels", low=0, high=400, identity=0, strongest=255)
    draw: str = choice("ends", choices=_DRAWS)

    family = "tone"
    random = True

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        return _shifted(image, (self.shift * _drawn(rng, 3, self.draw)).tolist())


@register("colour-jitter", summary="brightness, contrast, colour and hue vary", aliases=("color-jitter",))
class ColourJitter(ImageTransform):
    """Brightness, contrast, saturation and hue change together (Hu et al., section 3).

    Brightness, contrast and saturation are multiplied by factors from [1 - b, 1 + b] for a parameter b:
    brightness about black, contrast about the mean of grey, saturation about each pixel's grey. The hue turns
    about the grey axis of YIQ, so that the luma stays. All four together are one matrix, and the result is
    rounded and cut to 0 to 255 once; Albumentations and torchvision do so after each step.

    With "ends" each factor lies at one end of its range, so that the parameters alone set the strength; that
    of contrast at the lower, because a human sees no less in an image of more contrast. With "uniform" they
    are drawn from all of it, as in Albumentations, which that paper used with one b from 0.5 to 1.

    Attributes:
        brightness: How far the factor of brightness may be from 1.
        contrast: How far the factor of contrast may be from 1.
        saturation: How far the factor of saturation may be from 1.
        hue: How far the hue may turn.
        draw: Each is drawn from the whole range ("uniform"), or lies at one end of it, low or high ("ends").
    """

    brightness: float = number(0.3, low=0, high=1, identity=0, strongest=0.98)
    contrast: float = number(0.3, low=0, high=1, identity=0, strongest=0.98)
    saturation: float = number(0.3, low=0, high=1, identity=0, strongest=0.98)
    hue: float = number(0.1, unit="turns", low=0, high=0.5, identity=0, strongest=0.5)
    draw: str = choice("ends", choices=_DRAWS)

    family = "tone"
    random = True

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        drawn = _drawn(rng, 4, self.draw)
        if self.draw == "ends":
            drawn[1] = -1
        bright, contrast, saturation = 1 + drawn[:3] * (self.brightness, self.contrast, self.saturation)
        grey = np.tile(_LUMA, (3, 1))
        colour = saturation * np.eye(3) + (1 - saturation) * grey
        matrix = bright * contrast * _hue_matrix(drawn[3] * self.hue) @ colour
        offset = bright * (1 - contrast) * (_LUMA @ _means(image))
        affine = np.column_stack([matrix, np.full(3, offset)]).astype(np.float32)
        floats = cv2.transform(image.astype(np.float32), affine)
        # convertScaleAbs is the fast way back to bytes; it takes the absolute value.
        return cast(Image, cv2.convertScaleAbs(cv2.max(floats, cast(Any, 0.0))))


@register("saturate", summary="colours get more vivid, or fade to grey")
class Saturate(ImageTransform):
    """The saturation of HSV becomes scale · saturation + shift (ImageNet-C), hue and value stay.

    A grey pixel has no hue and stays grey; in the code of ImageNet-C a shift turns it red.

    Attributes:
        scale: The factor of the saturation.
        shift: What is added to it.
    """

    scale: float = number(2.0, low=0, high=50, identity=1, strongest=20)
    shift: float = number(0.0, low=-1, high=1, identity=0, strongest=0.2)

    family = "tone"

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        # With V the largest channel and C the distance to the smallest, the saturation is C / V, and a
        # channel is V - (V - channel). Scaling V - channel by k scales the saturation by k; at most V / C
        # makes it 1.
        planes = _planes(image)
        value = _largest(planes)
        chroma = cv2.max(cv2.subtract(value, _smallest(planes)), 1)  # type: ignore[call-overload]
        most = value.astype(np.float32) / chroma.astype(np.float32)
        factor = np.full_like(most, self.scale)
        if self.shift:
            factor += np.float32(self.shift) * most
        factor = np.minimum(factor, most, out=factor)
        lacks = (cv2.multiply(cv2.subtract(value, plane), factor, dtype=cv2.CV_8U) for plane in planes)
        return cast(Image, cv2.merge([cv2.subtract(value, lack) for lack in lacks]))


def _drawn(rng: np.random.Generator, count: int, draw: str) -> NDArray[np.float64]:
    """Return numbers from -1 to 1: any, or only the ends."""
    if draw == "ends":
        return rng.integers(0, 2, count).astype(np.float64) * 2 - 1
    return rng.uniform(-1, 1, count)


def _shifted(image: Image, shift: Sequence[float]) -> Image:
    """Return the image with a number of levels added to each channel."""
    # Adding bytes is five times as fast as adding numbers with a sign, so up and down are two steps.
    levels = [max(-255, min(255, round(one))) for one in shift]
    changed = image
    if max(levels) >= 0:
        changed = cast(Image, cv2.add(changed, cast(Any, (*(max(one, 0) for one in levels), 0))))
    if min(levels) < 0:
        changed = cast(Image, cv2.subtract(changed, cast(Any, (*(max(-one, 0) for one in levels), 0))))
    return changed


def _brightened(image: Image, levels: int) -> Image:
    """Return the image with the same number of levels added to all channels."""
    # OpenCV adds bytes to bytes faster than one number to all, as long as they stay in the processor's cache.
    rows = max(1, _CACHED // (image.shape[1] * 3))
    block = np.full((rows, *image.shape[1:]), abs(levels), np.uint8)
    add = cv2.add if levels >= 0 else cv2.subtract
    changed = np.empty_like(image)
    for top in range(0, len(image), rows):
        part = image[top : top + rows]
        add(part, block[: len(part)], changed[top : top + rows])
    return changed


def _scaled(image: Image, gain: float, offset: NDArray[np.float64]) -> Image:
    """Return gain · image + offset, with an offset for each channel."""
    # OpenCV adds one number to all channels fast, but not one to each: the rest of the offset comes from a
    # second image of one colour. Its weight makes the least and the greatest offset exact and the third
    # almost so.
    least, step = offset.min(), max(np.ptp(offset) / 255, 1e-12)
    rest = np.empty_like(image)
    rest[0] = np.rint((offset - least) / step).astype(np.uint8)
    rest[1:] = rest[0]
    return cast(Image, cv2.addWeighted(image, gain, rest, step, least))


def _means(image: Image) -> NDArray[np.float64]:
    """Return the mean of each channel."""
    height, width = image.shape[:2]
    sums = cv2.reduce(image, 0, cv2.REDUCE_SUM, dtype=cv2.CV_32S)
    return cast("NDArray[np.float64]", sums[0].sum(axis=0, dtype=np.int64) / (height * width))


def _planes(image: Image) -> list[Image]:
    """Return the three channels, each an image of its own."""
    # Three arrays whose addresses differ by a multiple of a page take OpenCV ten times as long: hence the
    # gap.
    size = image.shape[0] * image.shape[1]
    buffer = np.empty((3, size + 192), np.uint8)[:, :size].reshape(3, *image.shape[:2])
    return list(cv2.split(image, list(buffer)))  # type: ignore[arg-type]


def _largest(planes: list[Image]) -> Image:
    return cast(Image, cv2.max(cv2.max(planes[0], planes[1]), planes[2]))


def _smallest(planes: list[Image]) -> Image:
    return cast(Image, cv2.min(cv2.min(planes[0], planes[1]), planes[2]))


def _hue_matrix(turns: float) -> NDArray[np.float64]:
    """Return the matrix that turns colours about the grey axis."""
    cos, sin = math.cos(math.tau * turns), math.sin(math.tau * turns)
    turn = np.array([[1, 0, 0], [0, cos, -sin], [0, sin, cos]])
    return cast("NDArray[np.float64]", np.linalg.inv(_YIQ) @ turn @ _YIQ)
