"""Snow that lies: on the ground, thinner or thicker by what it lies on, and as a cap on things."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.transforms.perspective import GROUND
from roadworthy.transforms.transform import Presets, choice, number, register
from roadworthy.transforms.weather._condition import WeatherTransform
from roadworthy.transforms.weather._noise import ground_noise
from roadworthy.transforms.weather._pixels import (
    Colour,
    Image,
    Mask,
    covered,
    resized,
    shaded,
    veiled,
    widened,
)
from roadworthy.transforms.weather._scene import WeatherScene
from roadworthy.transforms.weather._sky import as_image, overcast, sky_share
from roadworthy.transforms.weather.fog import AIR, GREY_SKY, imagenet_c_snow, transmission
from roadworthy.transforms.weather.rain import Flakes, brightened, fallen_flakes

_CAP = 0.16  # metres: how deep the snow on top of things looks


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
    scene: WeatherScene,
    rng: np.random.Generator,
    cover: SnowCover,
    *,
    thick: float,
    caps: float,
    most: float,
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
    patches = (ground_noise(scene, rng) * 2 - np.float32(1.2)) * np.float32(0.55 * 255)
    share = np.asarray(resized(patches.astype(np.int16), scene.width, scene.height), np.int16)
    on_ground = scene.by_class(dict.fromkeys(GROUND, 1), 0, np.int16)
    if on_ground is not None:
        share = share * on_ground
    deep = cv2.add(_thickness(scene, cover, thick), share)
    hidden = np.clip(deep, 0, 238, out=deep).astype(np.uint8)
    if scene.frame.labels is not None:
        cv2.max(hidden, scene.full(_caps(scene, cover.capped, caps)), dst=hidden)
    # Snow has no sharp edges.
    return np.asarray(cv2.blur(cv2.convertScaleAbs(hidden, alpha=most), (3, 3)), np.uint8)


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
    labels = scene.small_frame.labels
    assert labels is not None
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
    deep = np.float32(_CAP * scene.view.focal * width / scene.width) / np.maximum(distance, np.float32(1))
    share = np.clip(deep - (rows - begins) + np.float32(0.5), 0, 1) * labels.mask(*capped)
    return np.asarray(share * on_top * np.float32(240 * amount), np.uint8)


_GLOOM, _GLOOM_OF_SKY = 0.08, 0.05
HAZE = 0.014
"""Extinction per metre in heavy snow."""
_LYING: Colour = (193.0, 199.0, 210.0)  # of snow on the ground under a grey sky
_FLAKE: Colour = (238.0, 240.0, 244.0)
_LAYERS = (
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
@dataclass(frozen=True, kw_only=True)
class Snow(WeatherTransform):
    """Snow that falls and lies; each part can be turned off.

    The sky turns grey and the sun goes, as under clouds; what is far away fades. Flakes are drawn in three
    layers, the nearer the larger and fewer, the nearest out of focus. Snow lies on the ground, less on the
    road than beside it, and as a cap on what faces up: roofs, cars, trees.

    Which ground is which, and what has a cap, is known from the label map. Without one all that lies well
    below the horizon counts as ground, what is green or brown there as a verge, and nothing has a cap.

    The style "imagenet-c" is the snow of that benchmark instead: thresholded noise, blurred along one
    direction, over whitened colours. Its severities 1 to 5 are at the amounts 0.2 to 1.
    """

    angle: float = number(
        12.0, "How slanted it falls, positive from the upper right.", unit="degrees", low=-60, high=60
    )
    flakes: float = number(1.0, "How many flakes are in the air.", low=0, high=3)
    cover: float = number(1.0, "How much snow lies on the ground and on things.", low=0, high=1)
    haze: float = number(1.0, "How far distant things fade.", low=0, high=3)
    overcast: float = number(1.0, "How far the sky and its light turn grey.", low=0, high=1)
    style: str = choice(
        "scene", "Whether it follows the scene or is ImageNet-C's noise.", ("scene", "imagenet-c")
    )

    fact, value, least_change = "weather", "snowy", 900.0
    presets: ClassVar[Presets] = {
        **WeatherTransform.presets,
        **{f"imagenet-c-{k}": {"amount": k / 5, "style": "imagenet-c"} for k in range(1, 6)},
    }

    def drawn(self, scene: WeatherScene, rng: np.random.Generator) -> Image:
        if self.style == "imagenet-c":
            return imagenet_c_snow(scene.frame.image, rng, 5 * self.amount)
        amount = self.amount
        image = scene.frame.image
        grey = min(1.0, 6 * amount) * self.overcast
        if grey > 0:
            image = overcast(scene, grey, 1 - _GLOOM * amount)
        if grey > 0 or self.cover > 0 or self.haze > 0:
            image = self._in_white(image, scene, rng, grey)
        if self.flakes > 0:
            most = _FLAKES * self.flakes
            cover = fallen_flakes(rng, scene.frame.size, _LAYERS, amount, most=most, angle=self.angle)
            image = brightened(image, cover, shaded(_FLAKE, scene.light), 1.0)
        return image

    def _in_white(self, image: Image, scene: WeatherScene, rng: np.random.Generator, grey: float) -> Image:
        """Return the image under a grey sky, with snow on the ground and haze."""
        amount = self.amount
        gloom = scene.light * (1 - _GLOOM * amount)
        air = shaded(AIR, gloom)
        white = shaded(_LYING, gloom * scene.light_on_ground)
        lying = self._lying(scene, rng) if self.cover > 0 else None
        if lying is not None and grey == self.haze == 0:
            return veiled(image, np.asarray(cv2.bitwise_not(lying), np.uint8), white)
        sky = GREY_SKY.dimmed(scene.light * (1 - _GLOOM_OF_SKY * amount), contrast=0.4)
        cover = sky.behind(air, 0.45 * min(1.0, 1.6 * amount)).drawn(scene, rng)
        share = sky_share(scene, grey)
        if lying is not None:
            no_sky = (widened(scene.small_sky, 1) == 0)[..., None]
            np.copyto(cover, as_image(np.array(white, np.float32)), where=no_sky)
            share = np.asarray(cv2.max(share, lying), np.uint8)
        seen = transmission(scene, HAZE * amount * self.haze) if self.haze > 0 else None
        return covered(image, cover, share, seen=seen, air=air)

    def _lying(self, scene: WeatherScene, rng: np.random.Generator) -> Mask:
        """Return how much snow hides of each pixel."""
        amount = self.amount
        thick, caps = 1.35 * min(1.0, 0.25 + amount), min(1.0, 0.5 + amount)
        return lying_snow(scene, rng, _COVER, thick=thick, caps=caps, most=min(1.0, 6 * amount) * self.cover)
