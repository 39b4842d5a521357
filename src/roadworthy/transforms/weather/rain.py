"""What falls: streaks of rain and flakes of snow, drawn in layers from far to near."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import ClassVar

import cv2
import numpy as np

from roadworthy.transforms.transform import Presets, number, register
from roadworthy.transforms.weather._condition import WeatherTransform
from roadworthy.transforms.weather._noise import ground_noise
from roadworthy.transforms.weather._pixels import Colour, Image, Map, Mask, covered, resized, shaded, spread
from roadworthy.transforms.weather._scene import WeatherScene
from roadworthy.transforms.weather._sky import as_image, overcast, sky_share
from roadworthy.transforms.weather.fog import AIR, GREY_SKY, transmission

_FINE = 3  # bits of a fraction of a pixel
_WANDER = 3.0  # degrees: how far the directions of streaks differ from the mean


@dataclass(frozen=True)
class Streaks:
    """Drops at about one distance.

    Attributes:
        share: How many there are, relative to others.
        length: Of the path while the shutter is open, in relation to others.
        thickness: In widths of the image.
        value: How much of what is behind them they hide, up to 255.
    """

    share: float
    length: float
    thickness: float
    value: int


@dataclass(frozen=True)
class Flakes:
    """Flakes at about one distance.

    Attributes:
        share: How many there are, relative to others.
        radius: In widths of the image.
        value: How much of what is behind them they hide, up to 255.
        edge: How soft they are, from 0 (a disc) to 1 (a blot).
    """

    share: float
    radius: float
    value: int
    edge: float


def fallen_streaks(
    rng: np.random.Generator,
    size: tuple[int, int],
    layers: Iterable[Streaks],
    amount: float,
    *,
    most: float,
    length: float,
    angle: float,
) -> Mask:
    """Return how much of each pixel streaks of rain cover.

    Args:
        rng: For where they are.
        size: Width and height of the image.
        layers: From far to near.
        amount: How many of them fall, from 0 to 1. More of them fall beside the same ones, so that a little
            more rain looks a little different.
        most: How many there are of share 1 at amount 1, in an image as high as it is wide.
        length: Of a streak of length 1, in widths of the image.
        angle: Degrees from the vertical in which they fall, positive towards the left.
    """
    width, height = size
    fields: dict[int, Mask] = {}
    for layer in layers:
        number = round(most * layer.share * height / width)
        drawn = rng.random((number, 4))[: round(number * amount)]
        start = (drawn[:, :2] * (1.1, 1.1) - (0.05, 0.1)) * (width, height)
        lean = np.radians(angle + _WANDER * (drawn[:, 2] * 2 - 1))
        path = (0.7 + 0.6 * drawn[:, 3]) * (layer.length * length * width)
        end = start + np.stack([-np.sin(lean) * path, np.cos(lean) * path], -1)
        # Lines one pixel thick are drawn fastest; thicker ones are thin lines of a smaller picture.
        thick = layer.thickness * width
        scale = max(1, round(thick))
        field = fields.setdefault(scale, np.zeros((-(-height // scale), -(-width // scale)), np.uint8))
        ends = np.rint(np.stack([start, end], 1) * ((1 << _FINE) / scale)).astype(np.int32)
        # What is thinner than a pixel is fainter.
        value = round(layer.value * min(1.0, max(thick / scale, 0.45)))
        cv2.polylines(
            field,
            ends,  # type: ignore[call-overload]
            isClosed=False,
            color=value,
            lineType=cv2.LINE_AA,
            shift=_FINE,
        )
    return _united(fields, size)


def _united(fields: dict[int, Mask], size: tuple[int, int]) -> Mask:
    """Return what is drawn in fields of several scales, in one."""
    layers = [np.asarray(resized(field, *size), np.uint8) for field in fields.values()]
    return reduce(lambda one, other: np.asarray(cv2.max(one, other), np.uint8), layers)


def fallen_flakes(
    rng: np.random.Generator,
    size: tuple[int, int],
    layers: Iterable[Flakes],
    amount: float,
    *,
    most: float,
    angle: float,
) -> Mask:
    """Return how much of each pixel flakes of snow cover; the arguments are as for :func:`fallen_streaks`."""
    width, height = size
    fields: dict[int, Mask] = {}
    for layer in layers:
        number = round(most * layer.share * height / width)
        drawn = rng.random((number, 3))[: round(number * amount)]
        radius = layer.radius * width
        # All flakes of a layer are one small shape, set at points of a field that is as coarse as they allow.
        scale = max(1, round(radius))
        across, down = -(-width // scale), -(-height // scale)
        value = layer.value * min(1.0, math.pi * radius**2)
        points = np.zeros((down, across), np.uint8)
        row, column = ((drawn[:, axis] * size).astype(np.intp) for axis, size in ((0, down), (1, across)))
        points[row, column] = (0.55 + 0.45 * drawn[:, 2]) * value
        shape = _flake(radius / scale, layer.edge, angle)
        field = cv2.filter2D(points, cv2.CV_8U, shape, borderType=cv2.BORDER_CONSTANT)
        fields[scale] = np.asarray(cv2.max(field, fields[scale]) if scale in fields else field, np.uint8)
    return _united(fields, size)


def _flake(radius: float, edge: float, angle: float) -> Map:
    """Return the shape of a flake of at most 1.5 pixels: a disc that falls a little while it is seen."""
    axis = np.arange(-3, 4, dtype=np.float32)
    x, y = np.meshgrid(axis, axis)
    turn = math.radians(angle)
    along, aside = y * math.cos(turn) - x * math.sin(turn), y * math.sin(turn) + x * math.cos(turn)
    distance = np.hypot(aside, along / 1.35)
    soft = max(0.7, 1.6 * edge * radius)
    shape: Map = np.clip((radius - distance) / soft + 0.5, 0, 1).astype(np.float32)
    return shape if shape.any() else np.asarray(distance == 0, np.float32)


def brightened(image: Image, cover: Mask, colour: Colour, strength: float) -> Image:
    """Return the image with something bright before it, that never darkens what is behind it."""
    missing = cv2.subtract((*colour, 0.0), image)  # type: ignore[call-overload]
    cv2.multiply(missing, spread(cover), scale=strength / 255, dst=missing)
    return np.asarray(cv2.add(image, missing, dst=missing), np.uint8)


_SPRITE = 48
_KINDS = 12
_WIDE = 5.0  # a drop is a strong lens: it shows this many times its own size, upside down
_LARGEST = 0.032  # radius, in widths of the image


@lru_cache(maxsize=_KINDS)
def _drop(kind: int) -> tuple[Map, Map]:
    """Return how much one drop covers and how bright it is, of a shape of its own."""
    rng = np.random.default_rng((31, kind))
    axis = np.linspace(-1.25, 1.25, _SPRITE, dtype=np.float32)
    x, y = axis[None, :], axis[:, None]
    turn = np.arctan2(y, x)
    outline = np.ones_like(turn)
    for wave in (2, 3, 5):
        outline += np.float32(rng.normal(0, 0.09 / wave)) * np.cos(
            wave * turn + np.float32(rng.uniform(0, 6.3))
        )
    # Gravity pulls its foot down.
    radius = np.hypot(x, y * np.where(y > 0, np.float32(rng.uniform(0.72, 0.95)), 1)) / outline
    cover = np.clip((1 - radius) / 0.22, 0, 1)
    # Less light comes through its rim, and the sky is seen in its foot.
    shade = (np.float32(1.1) - np.float32(0.45) * np.clip(radius, 0, 1) ** 3) * (1 + np.float32(0.18) * y)
    glint = np.exp(-((x + 0.3) ** 2 + (y + 0.42) ** 2) / 0.02) * np.float32(0.5)
    return cover.astype(np.float32), np.asarray(shade + glint, np.float32)


def with_drops(image: Image, rng: np.random.Generator, amount: float, *, most: float) -> Image:
    """Return the image with drops on the lens: `most` of them at amount 1, and fewer of the same below it."""
    height, width = image.shape[:2]
    number = round(most)
    size = np.clip(rng.lognormal(-4.6, 0.55, number), 0.004, _LARGEST) * width
    places = rng.random((number, 2)) * (width, height)
    kinds = rng.integers(0, 2 * _KINDS, number)
    # What a drop shows is out of focus and much smaller, so a small picture of it is enough.
    step = max(1, round(width / 160))
    small = cv2.resize(image, (max(2, width // step), max(2, height // step)), interpolation=cv2.INTER_LINEAR)
    behind = np.asarray(cv2.blur(small, (3, 3))[::-1, ::-1], np.uint8)
    result = image.copy()
    for index in range(round(number * amount)):
        kind = int(kinds[index])
        x, y = places[index].tolist()
        _set(result, behind, (x, y), float(size[index]), _drop(kind // 2), mirror=kind % 2 == 1)
    return result


def _set(
    image: Image,
    behind: Image,
    centre: tuple[float, float],
    radius: float,
    drop: tuple[Map, Map],
    *,
    mirror: bool,
) -> None:
    """Draw one drop into the image; `behind` is the small picture, turned upside down."""
    height, width = image.shape[:2]
    half = max(2, round(1.25 * radius))
    left, top = round(centre[0]) - half, round(centre[1]) - half
    x1, x2 = max(0, left), min(width, left + 2 * half)
    y1, y2 = max(0, top), min(height, top + 2 * half)
    if x1 >= x2 or y1 >= y2:
        return
    cover, shade = (cv2.resize(one, (2 * half, 2 * half), interpolation=cv2.INTER_AREA) for one in drop)
    if mirror:
        cover, shade = cover[:, ::-1], shade[:, ::-1]
    seen = _part(behind, 1 - centre[0] / width, 1 - centre[1] / height, _WIDE * half / width, 2 * half)
    window = (slice(y1 - top, y2 - top), slice(x1 - left, x2 - left))
    inside = image[y1:y2, x1:x2]
    lens = np.minimum(seen[window] * shade[window][..., None], 255)
    inside += ((lens - inside) * cover[window][..., None]).astype(np.int16).astype(np.uint8)


def _part(picture: Image, x: float, y: float, reach: float, size: int) -> Map:
    """Return a square part about a point (in shares of the picture), enlarged to a size in pixels."""
    height, width = picture.shape[:2]
    half = max(1, min(round(reach * width), width // 2, height // 2))
    left = min(max(round(x * width) - half, 0), width - 2 * half)
    top = min(max(round(y * height) - half, 0), height - 2 * half)
    square = np.ascontiguousarray(picture[top : top + 2 * half, left : left + 2 * half])
    return np.asarray(cv2.resize(square, (size, size), interpolation=cv2.INTER_LINEAR), np.float32)


_GLOOM, _GLOOM_OF_SKY = 0.26, 0.42
HAZE = 0.0095
"""Extinction per metre in heavy rain."""
_DROP: Colour = (205.0, 212.0, 220.0)
_LAYERS = (
    Streaks(share=1.0, length=0.5, thickness=1 / 600, value=80),
    Streaks(share=0.5, length=1.0, thickness=1 / 540, value=120),
    Streaks(share=0.12, length=1.9, thickness=1 / 220, value=110),
)
_STREAKS = 940  # of the first layer, in heavy rain and a square image
_DROPS = 60  # on the lens, in heavy rain
_DARKER, _MIRROR = 0.36, 0.62


@register("rain", summary="streaks, a wet road, a grey sky, drops on the lens", aliases=("rainy",))
@dataclass(frozen=True, kw_only=True)
class Rain(WeatherTransform):
    """Rain in the air, on the road and on the lens; each part can be turned off.

    The sky turns grey and the sun goes, as under clouds; what is far away fades. Streaks are drawn in three
    layers, the nearer the longer, thicker and fewer; they catch light and so show before what is dark. The
    road gets darker, and the farther away it is the more it mirrors the sky and what is above it. Drops on
    the lens show what is behind them upside down and small.

    The road, the sky and how far things are away come from the label map and the depth where there are any.
    Without them the road is taken to be a wedge below the horizon, and the sky the bright region at the
    upper edge. DeepTest's rain was made by hand in a photo editor, so the ten levels here are of our own:
    amounts of 0.1 to 1.
    """

    angle: float = number(
        6.0, "How slanted it falls, positive from the upper right.", unit="degrees", low=-60, high=60
    )
    length: float = number(0.04, "How long a streak is, in widths of the image.", low=0.002, high=0.5)
    streaks: float = number(1.0, "How many streaks are in the air.", low=0, high=3)
    wetness: float = number(1.0, "How wet the road is.", low=0, high=1)
    lens: float = number(0.5, "How many drops are on the lens.", low=0, high=3)
    haze: float = number(1.0, "How far distant things fade.", low=0, high=3)
    overcast: float = number(1.0, "How far the sky and its light turn grey.", low=0, high=1)

    fact, value, least_change = "weather", "rainy", 540.0
    presets: ClassVar[Presets] = {
        **WeatherTransform.presets,
        **{f"level-{k}": {"amount": k / 10} for k in range(1, 11)},
    }

    def drawn(self, scene: WeatherScene, rng: np.random.Generator) -> Image:
        amount = self.amount
        image = scene.frame.image
        grey = min(1.0, 6 * amount) * self.overcast
        if grey > 0:
            image = overcast(scene, grey, 1 - _GLOOM * amount * self.overcast)
        if grey > 0 or self.wetness > 0 or self.haze > 0:
            image = self._in_wet_air(image, scene, rng, grey)
        if self.streaks > 0:
            most = _STREAKS * self.streaks
            cover = fallen_streaks(
                rng, scene.frame.size, _LAYERS, amount, most=most, length=self.length, angle=self.angle
            )
            light = (0.3 + 0.7 * 0.84 * (1 - _GLOOM * amount)) * scene.light
            image = brightened(image, cover, shaded(_DROP, light), 0.26 + 0.24 * amount)
        if self.lens > 0:
            image = with_drops(image, rng, amount, most=_DROPS * self.lens)
        return image

    def _in_wet_air(self, image: Image, scene: WeatherScene, rng: np.random.Generator, grey: float) -> Image:
        """Return the image under a grey sky, with a wet road and haze."""
        amount = self.amount
        air = shaded(AIR, scene.light * (1 - _GLOOM * amount))
        sky = GREY_SKY.dimmed(scene.light * (1 - _GLOOM_OF_SKY * amount))
        cover = sky.behind(air, 0.25 * min(1.0, 1.6 * amount)).drawn(scene, rng)
        share, dark = sky_share(scene, grey), None
        if self.wetness > 0:
            wet = self.wetness * amount
            mirror = scene.full(_mirror(scene, rng, wet))
            share = np.asarray(cv2.max(share, cv2.multiply(mirror, scene.road, scale=1 / 255)), np.uint8)
            dark = np.asarray(cv2.convertScaleAbs(scene.road, alpha=-_DARKER * wet, beta=255), np.uint8)
            below = max(0, round(scene.view.horizon * scene.small[1] / scene.height))
            cover[below:] = _mirrored(image, scene, cover, air)[below:]
        seen = transmission(scene, HAZE * amount * self.haze) if self.haze > 0 else None
        return covered(image, cover, share, darker=dark, seen=seen, air=air)


def _mirror(scene: WeatherScene, rng: np.random.Generator, amount: float) -> Mask:
    """Return how much of a mirror the road is, in a thumbnail: more in puddles, and more the farther away."""
    puddles = ground_noise(scene, rng) * np.float32(4.4) - np.float32(1.85)
    mirror = np.clip(puddles, np.float32(0.25), 1)
    mirror *= np.clip((scene.small_distance - np.float32(3)) / np.float32(26), np.float32(0.16), 1)
    return np.asarray(cv2.convertScaleAbs(mirror, alpha=255 * _MIRROR * amount), np.uint8)


def _mirrored(image: Image, scene: WeatherScene, sky: Image, air: Colour) -> Image:
    """Return what a wet road mirrors, small: what is above the horizon, upside down and smeared."""
    width, height = scene.small
    small = np.asarray(resized(image, width, height), np.uint8).copy()
    cv2.copyTo(sky, scene.small_sky, small)
    rows = np.rint(2 * scene.view.horizon * height / scene.height - np.arange(height)).astype(np.intp)
    flipped = cv2.blur(small[np.clip(rows, 0, height - 1)], (max(1, width // 80), max(1, height // 6)))
    # The air before the road is in it as well.
    return as_image(flipped * np.float32(0.5) + np.array(air, np.float32) * np.float32(0.46))
