"""Rain and snow: falling drops and flakes, wet roads, and snow that settles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from roadworthy.images import Image
from roadworthy.transforms.perspective import GROUND
from roadworthy.transforms.transform import choice, number, register
from roadworthy.transforms.weather import _scene
from roadworthy.transforms.weather._condition import WeatherTransform
from roadworthy.transforms.weather._scene import Colour, Map, Mask, WeatherScene
from roadworthy.transforms.weather._sky import as_image, overcast, sky_share
from roadworthy.transforms.weather.fog import AIR, GREY_SKY, imagenet_c_snow, transmission
from roadworthy.transforms.wording import Numbers

_N = Numbers("precipitation")

_FINE = 3  # bits of a fraction of a pixel


Size = tuple[int, int]
"""Width and height in pixels."""


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
    rng: Generator,
    size: Size,
    layers: Iterable[Streaks],
    amount: float,
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
        lean = np.radians(angle + _N.wander * (drawn[:, 2] * 2 - 1))
        path = (0.7 + 0.6 * drawn[:, 3]) * (layer.length * length * width)
        end = start + np.stack([-np.sin(lean) * path, np.cos(lean) * path], -1)
        # Lines one pixel thick are drawn fastest; thicker ones are thin lines of a smaller picture.
        thick = layer.thickness * width
        scale = max(1, round(thick))
        field = fields.setdefault(scale, np.zeros((-(-height // scale), -(-width // scale)), np.uint8))
        ends = np.rint(np.stack([start, end], 1) * ((1 << _FINE) / scale)).astype(np.int32)
        # What is thinner than a pixel is fainter.
        value = round(layer.value * min(1.0, max(thick / scale, 0.45)))
        cv2.polylines(field, ends, False, value, 1, cv2.LINE_AA, _FINE)  # type: ignore[call-overload]
    return _united(fields, size)


def _united(fields: dict[int, Mask], size: tuple[int, int]) -> Mask:
    """Return what is drawn in fields of several scales, in one."""
    layers = [np.asarray(_scene.resized(field, *size), np.uint8) for field in fields.values()]
    return reduce(lambda one, other: np.asarray(cv2.max(one, other), np.uint8), layers)


def fallen_flakes(
    rng: Generator, size: Size, layers: Iterable[Flakes], amount: float, *, most: float, angle: float
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
    cv2.multiply(missing, _scene.spread(cover), scale=strength / 255, dst=missing)
    return np.asarray(cv2.add(image, missing, dst=missing), np.uint8)


Drop = tuple[Map, Map]
"""How far a drop covers what is behind it, and how bright it is."""

_SPRITE = 48
_KINDS = 12


@lru_cache(maxsize=_KINDS)
def _drop(kind: int) -> Drop:
    """Return how much one drop covers and how bright it is, of a shape of its own."""
    rng = np.random.default_rng((31, kind))
    axis = np.linspace(-1.25, 1.25, _SPRITE, dtype=np.float32)
    x, y = axis[None, :], axis[:, None]
    turn = np.arctan2(y, x)
    outline = np.ones_like(turn)
    for wave in (2, 3, 5):
        height, phase = np.float32(rng.normal(0, 0.09 / wave)), np.float32(rng.uniform(0, 6.3))
        outline += height * np.cos(wave * turn + phase)
    # Gravity pulls its foot down.
    radius = np.hypot(x, y * np.where(y > 0, np.float32(rng.uniform(0.72, 0.95)), 1)) / outline
    cover = np.clip((1 - radius) / 0.22, 0, 1)
    # Less light comes through its rim, and the sky is seen in its foot.
    shade = (np.float32(1.1) - np.float32(0.45) * np.clip(radius, 0, 1) ** 3) * (1 + np.float32(0.18) * y)
    glint = np.exp(-((x + 0.3) ** 2 + (y + 0.42) ** 2) / 0.02) * np.float32(0.5)
    return cover.astype(np.float32), np.asarray(shade + glint, np.float32)


def with_drops(image: Image, rng: Generator, amount: float, *, most: float) -> Image:
    """Return the image with drops on the lens: `most` of them at amount 1, and fewer of the same below it."""
    height, width = image.shape[:2]
    number = round(most)
    size = np.clip(rng.lognormal(-4.6, 0.55, number), 0.004, _N.largest) * width
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
    image: Image, behind: Image, centre: tuple[float, float], radius: float, drop: Drop, *, mirror: bool
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
    seen = _part(behind, 1 - centre[0] / width, 1 - centre[1] / height, _N.wide * half / width, 2 * half)
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


RAIN_HAZE = 0.0095
"""Extinction per metre in heavy rain."""
_DROP: Colour = (205.0, 212.0, 220.0)
_LAYERS = (
    Streaks(share=1.0, length=0.5, thickness=1 / 600, value=80),
    Streaks(share=0.5, length=1.0, thickness=1 / 540, value=120),
    Streaks(share=0.12, length=1.9, thickness=1 / 220, value=110),
)
_STREAKS = 940  # of the first layer, in heavy rain and a square image
_DROPS = 60  # on the lens, in heavy rain


@register("rain", summary="streaks, a wet road, a grey sky, drops on the lens", aliases=("rainy",))
class Rain(WeatherTransform):
    """Rain in the air, on the road and on the lens; each part can be turned off.

    The sky turns grey and the sun goes, as under clouds; what is far away fades. Streaks are drawn in three
    layers, the nearer the longer, thicker and fewer; they catch light and so show before what is dark. The
    road gets darker, and the farther away it is the more it mirrors the sky and what is above it; where there
    are labels of a real frame, all ground gets darker, and the road mirrors cars, lamps and houses about the
    place where they stand. Drops on the lens show what is behind them upside down and small.

    The road, the sky and how far things are away come from the label map and the depth where there are any.
    Without them the road is taken to be a wedge below the horizon, and the sky the bright region at the
    upper edge. DeepTest's rain was made by hand in a photo editor, so the ten levels here are of our own:
    amounts of 0.1 to 1.

    Attributes:
        angle: How slanted it falls, positive from the upper right.
        length: How long a streak is, in widths of the image.
        streaks: How many streaks are in the air.
        wetness: How wet the road is.
        lens: How many drops are on the lens.
        haze: How far distant things fade.
        overcast: How far the sky and its light turn grey.
    """

    angle: float = number(6.0, unit="degrees", low=-60, high=60)
    length: float = number(0.04, low=0.002, high=0.5)
    streaks: float = number(1.0, low=0, high=3)
    wetness: float = number(1.0, low=0, high=1)
    lens: float = number(0.5, low=0, high=3)
    haze: float = number(1.0, low=0, high=3)
    overcast: float = number(1.0, low=0, high=1)

    fact, value, least_change = "weather", "rainy", 540.0

    def drawn(self, scene: WeatherScene, rng: Generator) -> Image:
        amount = self.amount
        image = scene.frame.image
        grey = min(1.0, 6 * amount) * self.overcast
        if grey > 0:
            image = overcast(scene, grey, 1 - _N.gloom * amount * self.overcast)
        if grey > 0 or self.wetness > 0 or self.haze > 0:
            image = self._in_wet_air(image, scene, rng, grey)
        if self.streaks > 0:
            most = _STREAKS * self.streaks
            falling = self.passing(scene.frame, rng)
            cover = fallen_streaks(
                falling, scene.frame.size, _LAYERS, amount, most=most, length=self.length, angle=self.angle
            )
            light = (0.3 + 0.7 * 0.84 * (1 - _N.gloom * amount)) * scene.light
            image = brightened(image, cover, _scene.shaded(_DROP, light), 0.26 + 0.24 * amount)
        if self.lens > 0:
            image = with_drops(image, rng, amount, most=_DROPS * self.lens)
        return image

    def _in_wet_air(self, image: Image, scene: WeatherScene, rng: Generator, grey: float) -> Image:
        """Return the image under a grey sky, with a wet road and haze."""
        amount = self.amount
        air = _scene.shaded(AIR, scene.light * (1 - _N.gloom * amount))
        sky = GREY_SKY.dimmed(scene.light * (1 - _N.gloom_of_sky * amount))
        cover = sky.behind(air, 0.25 * min(1.0, 1.6 * amount)).drawn(scene, rng)
        share, dark = sky_share(scene, grey), None
        if self.wetness > 0:
            wet = self.wetness * amount
            mirror = scene.full(_mirror(scene, rng, wet))
            road = scene.softened(scene.road)
            share = np.asarray(cv2.max(share, cv2.multiply(mirror, road, scale=1 / 255)), np.uint8)
            dark = np.asarray(cv2.convertScaleAbs(scene.soaked, alpha=-_N.darker * wet, beta=255), np.uint8)
            mirrored = _overhead if scene.plain else _mirrored
            there = _scene.resized(road, *scene.small)[..., None] > 0
            if scene.plain:
                there[max(0, round(scene.view.horizon * scene.small[1] / scene.height)) :] = True
            np.copyto(cover, mirrored(image, scene, cover, air), where=there)
        seen = transmission(scene, RAIN_HAZE * amount * self.haze) if self.haze > 0 else None
        return _scene.covered(image, cover, share, darker=dark, seen=seen, air=air)


def _mirror(scene: WeatherScene, rng: Generator, amount: float) -> Mask:
    """Return how much of a mirror the road is, in a thumbnail: in puddles, and far away, more."""
    puddles = _scene.ground_noise(scene, rng) * np.float32(4.4) - np.float32(1.85)
    away, high = scene.small_distance, np.float32(scene.small_view.camera_height)
    if scene.plain:
        mirror = np.clip(puddles, 0.25, 1) * np.clip((away - np.float32(3)) / 26, 0.16, 1) * _N.mirror
    else:  # by Fresnel's law, as Schlick has it
        mirror = np.clip(puddles, _N.least_film, 1) * (1 - high / np.hypot(high, away)) ** 5 * _N.film
    return np.asarray(cv2.convertScaleAbs(mirror, alpha=255 * amount), np.uint8)


def _overhead(image: Image, scene: WeatherScene, sky: Image, air: Colour) -> Image:
    """Return what a wet road mirrors in the world, and without labels: what is above the horizon, smeared."""
    width, height = scene.small
    small = np.asarray(_scene.resized(image, width, height), np.uint8).copy()
    cv2.copyTo(sky, scene.small_sky, small)
    rows = np.rint(2 * scene.view.horizon * height / scene.height - np.arange(height)).astype(np.intp)
    flipped = cv2.blur(small[np.clip(rows, 0, height - 1)], (max(1, width // 80), max(1, height // 6)))
    # The air before the road is in it as well.
    return as_image(flipped * np.float32(0.5) + np.array(air, np.float32) * np.float32(0.46))


def _mirrored(image: Image, scene: WeatherScene, sky: Image, air: Colour) -> Image:
    """Return what a wet road mirrors, small: what stands there, upside down about its foot and smeared."""
    # Nothing in it is fine.
    width, height = (max(2, size // 2) for size in scene.small)
    distance, clouds = (_scene.thinned(one, width, height) for one in (scene.small_distance, scene.small_sky))
    small = _scene.resized(image, width, height)
    # Lamps are brighter than a camera shows.
    small = np.maximum(small, small * np.float32(4) - 600)
    small = np.where(clouds[..., None] > 127, _scene.thinned(sky, width, height), small)
    view, rows = scene.view, np.arange(height, dtype=np.float32)[:, None]
    feet = view.horizon + view.focal * view.camera_height / np.maximum(distance, np.float32(1))
    feet *= np.float32(height / scene.height)
    aim = np.rint(2 * feet - rows).astype(np.intp)
    row, column = np.nonzero((rows < feet - 1) & (aim < height))
    found = np.zeros((height, width, 4), np.float32)
    # From top to bottom: what is nearer hides what is behind it.
    found[aim[row, column], column] = np.dstack([small, np.ones_like(distance)])[row, column]
    smeared = np.asarray(cv2.blur(found, (max(1, width // 100), max(1, height // 16))), np.float32)
    smeared += np.array((*air, 1), np.float32) * np.float32(1e-5)
    smeared += np.float32(0.01) * cv2.blur(found, (max(1, width // 16), max(1, height // 3)))
    return np.asarray(_scene.resized(as_image(smeared[..., :3] / smeared[..., 3:]), *scene.small), np.uint8)


@dataclass(frozen=True)
class SnowCover:
    """What snow lies on, and how thickly; more than 1 hides all of it, wherever the wind blows.

    Attributes:
        by_class: On each class of the label map.
        on_grey: Without a label map, on ground that is grey.
        on_soil: Without a label map, on ground that is green or brown.
        capped: Classes with a cap of snow on them.
        cleared: Without a label map, none lies where the road is thought to be.
    """

    by_class: Mapping[str, float]
    on_grey: float
    on_soil: float
    capped: tuple[str, ...]
    cleared: bool = False


def lying_snow(
    scene: WeatherScene, rng: Generator, cover: SnowCover, *, thick: float, caps: float, most: float
) -> Mask:
    """Return how much snow hides of each pixel of the ground and of what faces up.

    Args:
        scene: What is known about the frame.
        rng: Where the wind leaves patches.
        cover: What it lies on.
        thick: A factor of how thickly it lies.
        caps: How much of it lies on top of things, from 0 to 1.
        most: How much it hides where it hides everything, from 0 to 1.
    """
    # Wind leaves patches.
    patches = (_scene.ground_noise(scene, rng) * 2 - np.float32(1.2)) * np.float32(0.55 * 255)
    share = np.asarray(_scene.resized(patches.astype(np.int16), scene.width, scene.height), np.int16)
    on_ground = scene.by_class(dict.fromkeys(GROUND, 1), 0, np.int16)
    if on_ground is not None:
        share = share * on_ground
    deep = cv2.add(_thickness(scene, cover, thick), share)
    hidden = np.clip(deep, 0, 238, out=deep).astype(np.uint8)
    real = not scene.frame.drawn and scene.frame.labels is not None
    if real:
        # A thin cover shows what it lies on; what a network calls ground may be a bush.
        thin = _N.thinner if scene.estimated else _N.thin
        for factor, scale in ((scene.facing_up, thin), (scene.dusting, 1.0)):
            cv2.multiply(hidden, factor, scale=scale / 255, dst=hidden)
    elif scene.frame.labels is not None:
        cv2.max(hidden, scene.full(_caps(scene, cover.capped, caps)), dst=hidden)
    # Snow has no sharp edges, and what a network saw has none either.
    soft = max(3, scene.width // (32 if scene.estimated else 64)) if real else 3
    return np.asarray(cv2.blur(cv2.convertScaleAbs(hidden, alpha=most), (soft, soft)), np.uint8)


def _thickness(scene: WeatherScene, cover: SnowCover, thick: float) -> NDArray[np.int16]:
    """Return how much snow lies on the ground, before wind makes patches: 255 hides everything."""
    table = {name: 255 * (thick * share - 0.15) for name, share in cover.by_class.items()}
    known = scene.by_class(table, -1000, np.int16)
    if known is not None:
        return known
    # Roads are grey, grass and soil are not, and paint has more colour than both.
    image = scene.frame.image
    red, green, blue = cv2.split(cv2.blur(image, (5, 5)) if cover.cleared else image)
    colour = cv2.subtract(cv2.max(red, green), blue)
    levels = np.arange(256, dtype=np.float32)
    soil = np.clip((levels - 14) / 20, 0, 1) * np.clip((105 - levels) / 20, 0, 1)
    on, beside = (255 * (thick * share - 0.15) for share in (cover.on_grey, cover.on_soil))
    share = cv2.LUT(colour, np.rint(on + (beside - on) * soil).astype(np.int16))
    unlikely = np.rint((scene.ground[:, :1].astype(np.float32) / 255 - 1) * 400).astype(np.int16)
    thickness = np.asarray(np.add(share, unlikely, out=share), np.int16)
    if cover.cleared:
        thickness[scene.road > 127] = -1000
    return thickness


def _caps(scene: WeatherScene, capped: tuple[str, ...], amount: float) -> Mask:
    """Return the snow on top of things, in a thumbnail: below an edge with something farther above it."""
    labels = scene.small_frame.label_map
    distance = scene.small_distance
    height, width = distance.shape
    rows = np.arange(height, dtype=np.int32)[:, None]
    edge = np.zeros((height, width), np.bool_)
    edge[1:] = (labels.ids[1:] != labels.ids[:-1]) | (distance[:-1] > np.float32(1.3) * distance[1:])
    top = edge.copy()
    top[1:] &= distance[:-1] > np.float32(1.15) * distance[1:]
    # Crowns before crowns have no edge that snow would lie along: it would be a slash across both.
    trees = labels.mask("tree")
    top[1:] &= ~(trees[1:] & trees[:-1])
    begins = np.maximum.accumulate(np.where(edge, rows, -1), axis=0)
    on_top = np.maximum.accumulate(np.where(top, rows, -2), axis=0) == begins
    deep = np.float32(_N.cap * scene.view.focal * width / scene.width) / np.maximum(distance, np.float32(1))
    share = np.clip(deep - (rows - begins) + np.float32(0.5), 0, 1) * labels.mask(*capped)
    return np.asarray(share * on_top * np.float32(240 * amount), np.uint8)


SNOW_HAZE = 0.014
"""Extinction per metre in heavy snow."""
_LYING: Colour = (193.0, 199.0, 210.0)  # of snow on the ground under a grey sky
_FLAKE: Colour = (238.0, 240.0, 244.0)
_SNOW_LAYERS = (
    Flakes(share=1.4, radius=1 / 640, value=150, edge=0.6),
    Flakes(share=0.5, radius=1 / 380, value=190, edge=0.6),
    Flakes(share=0.08, radius=1 / 200, value=165, edge=1.0),
)
_FLAKES = 1440  # of share 1, in heavy snow and a square image
_COVER = SnowCover(
    by_class={
        "terrain": 1.25, "sidewalk": 0.95, "road": 0.35, "lane": 0.35, "tree": 0.34, "line": 0.2,
        "crosswalk": 0.2, "stop and yield line": 0.2,
    },
    on_grey=0.35,
    on_soil=0.9,
    capped=("building", "vehicle", "tree", "traffic sign", "traffic light"),
)  # fmt: skip


@register("snow", summary="flakes in the air, snow on the ground and on roofs", aliases=("snowy",))
class Snow(WeatherTransform):
    """Snow that falls and lies; each part can be turned off.

    The sky turns grey and the sun goes, as under clouds; what is far away fades. Flakes are drawn in three
    layers, the nearer the larger and fewer, the nearest out of focus. Snow lies on the ground, less on the
    road than beside it, and as a cap on what faces up: roofs, cars, trees.

    Which ground is which, and what has a cap, is known from the label map. Without one all that lies well
    below the horizon counts as ground, what is green or brown there as a verge, and nothing has a cap.

    The style "imagenet-c" is the snow of that benchmark instead: thresholded noise, blurred along one
    direction, over whitened colours. Its severities 1 to 5 are at the amounts 0.2 to 1.

    Attributes:
        angle: How slanted it falls, positive from the upper right.
        flakes: How many flakes are in the air.
        cover: How much snow lies on the ground and on things.
        haze: How far distant things fade.
        overcast: How far the sky and its light turn grey.
        style: Whether it follows the scene or is ImageNet-C's noise.
    """

    angle: float = number(12.0, unit="degrees", low=-60, high=60)
    flakes: float = number(1.0, low=0, high=3)
    cover: float = number(1.0, low=0, high=1)
    haze: float = number(1.0, low=0, high=3)
    overcast: float = number(1.0, low=0, high=1)
    style: str = choice("scene", choices=("scene", "imagenet-c"))

    fact, value, least_change = "weather", "snowy", 900.0

    def drawn(self, scene: WeatherScene, rng: Generator) -> Image:
        if self.style == "imagenet-c":
            return imagenet_c_snow(scene.frame.image, rng, 5 * self.amount)
        amount = self.amount
        image = scene.frame.image
        grey = min(1.0, 6 * amount) * self.overcast
        if grey > 0:
            image = overcast(scene, grey, 1 - _N.snow_gloom * amount)
        if grey > 0 or self.cover > 0 or self.haze > 0:
            image = self._in_white(image, scene, rng, grey)
        if self.flakes > 0:
            most = _FLAKES * self.flakes
            size, falling = scene.frame.size, self.passing(scene.frame, rng)
            cover = fallen_flakes(falling, size, _SNOW_LAYERS, amount, most=most, angle=self.angle)
            strength = 1.0 if scene.frame.drawn else _N.real_flakes
            image = brightened(image, cover, _scene.shaded(_FLAKE, scene.light), strength)
        return image

    def _in_white(self, image: Image, scene: WeatherScene, rng: Generator, grey: float) -> Image:
        """Return the image under a grey sky, with snow on the ground and haze."""
        amount = self.amount
        gloom = scene.light * (1 - _N.snow_gloom * amount)
        air = _scene.shaded(AIR, gloom)
        white = _scene.shaded(_LYING, gloom * scene.light_on_ground)
        lying = self._lying(scene, rng) if self.cover > 0 else None
        if lying is not None and grey == self.haze == 0:
            return _scene.veiled(image, np.asarray(cv2.bitwise_not(lying), np.uint8), white)
        sky = GREY_SKY.dimmed(scene.light * (1 - _N.snow_gloom_of_sky * amount), contrast=0.4)
        cover = sky.behind(air, 0.45 * min(1.0, 1.6 * amount)).drawn(scene, rng)
        share = sky_share(scene, grey)
        if lying is not None:
            no_sky = (_scene.widened(scene.small_sky, 1) == 0)[..., None]
            np.copyto(cover, as_image(np.array(white, np.float32)), where=no_sky)
            share = np.asarray(cv2.max(share, lying), np.uint8)
        seen = transmission(scene, SNOW_HAZE * amount * self.haze) if self.haze > 0 else None
        return _scene.covered(image, cover, share, seen=seen, air=air)

    def _lying(self, scene: WeatherScene, rng: Generator) -> Mask:
        """Return how much snow hides of each pixel."""
        amount = self.amount
        thick, caps = 1.35 * min(1.0, 0.25 + amount), min(1.0, 0.5 + amount)
        return lying_snow(scene, rng, _COVER, thick=thick, caps=caps, most=min(1.0, 6 * amount) * self.cover)
