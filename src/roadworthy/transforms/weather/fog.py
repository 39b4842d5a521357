"""Fog and clouds: what is far away fades into the air, the sky turns grey, shadows go."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import cv2
import numpy as np

from roadworthy.images import Image
from roadworthy.labelling import is_estimated
from roadworthy.transforms.transform import choice, number, register
from roadworthy.transforms.weather import _scene
from roadworthy.transforms.weather._condition import WeatherTransform
from roadworthy.transforms.weather._estimates import along_edges
from roadworthy.transforms.weather._scene import Colour, Map, Mask, WeatherScene
from roadworthy.transforms.weather._sky import SkyLook, overcast, under
from roadworthy.transforms.wording import Numbers, believable

_N = Numbers("fog")

AIR: Colour = (205.0, 209.0, 212.0)
"""The colour of the air under a grey sky by day."""


def transmission(
    scene: WeatherScene, extinction: float, lumps: tuple[np.random.Generator, float] | None = None
) -> Mask:
    """Return how much of what each pixel shows comes through the air, 255 being all of it.

    Args:
        scene: What is known about the frame.
        extinction: How much light the air takes, per metre.
        lumps: Random numbers for denser and thinner places, and how much they differ, from 0 to 1.
    """
    frame = scene.frame
    estimated = frame.labels is None and frame.depth is None
    if estimated:
        distance, in_sky = scene.small_street, scene.wide_sky
    else:
        distance = scene.small_distance if frame.depth is None else scene.distance
        in_sky = (distance >= _scene.SKY_DISTANCE).view(np.uint8)
    height, width = distance.shape
    density: Map | np.float32 = np.float32(-extinction)
    if lumps is not None:
        rng, contrast = lumps
        noise = _scene.cloud_noise(rng, width, height, width / 4) * 2 - 1
        density = density * (1 + np.float32(contrast) * noise)
    seen = np.asarray(cv2.convertScaleAbs(cv2.exp(np.asarray(distance * density)), alpha=255), np.uint8)
    if estimated:
        # Where the horizon is, is not known very well.
        high = max(1, round(_N.unsure * height))
        seen = np.asarray(cv2.blur(seen, (max(1, high // 2), high)), np.uint8)
    # How long the way to the sky through the haze is depends on how steeply one looks up.
    rows = (np.arange(height, dtype=np.float32) + np.float32(0.5)) * np.float32(scene.height / height)
    climb = np.maximum(np.float32(scene.view.horizon) - rows, np.float32(1e-3)) / np.float32(scene.view.focal)
    high = _N.real_layer if not frame.drawn and not estimated else _N.layer
    through = np.rint(255 * np.exp(np.float32(-extinction * high) / climb)).astype(np.uint8)
    layer = np.repeat(through[:, None], width, axis=1)
    cv2.copyTo(layer, in_sky, seen)
    if frame.depth is not None and (scene.estimated or is_estimated(frame, "depth")):
        # A network's outlines run beside those of the image: what lies between would be a ring. Given ones
        # are jagged along thin poles.
        wide, flat = (max(5, scene.small[0] // 40 | 1), _FLAT) if scene.estimated else (3, _FLAT / 8)
        through = _scene.resized(seen, *scene.small).astype(np.float32)
        seen = np.clip(along_edges(through, scene.grey, (wide, wide), flat), 0, 255).astype(np.uint8)
    elif frame.labels is None or not (frame.depth is None or is_estimated(frame, "depth")):
        return scene.full(seen)
    # The outlines of trees are finer than those that were estimated.
    return _scene.blended(scene.full(seen), scene.full(layer), scene.sky)


_FLAT = 0.004  # a variance of brightness that is no edge


def imagenet_c_fog(image: Image, rng: np.random.Generator, severity: float) -> Image:
    """Return (x + c·plasma)·m / (m + c), m being the brightest value of the image."""
    height, width = image.shape[:2]
    weight, decay = (float(np.interp(severity, range(6), row)) for row in believable()["imagenet-c"]["fog"])
    # What is finer than this is weak in the plasma.
    step = max(1, round(width / 320))
    noise = _plasma(rng, max(2, width // step), max(2, height // step), decay)
    brightest = max(float(image.max()) / 255, 1e-6)
    kept = brightest / (brightest + weight)
    veil = np.asarray(cv2.convertScaleAbs(noise, alpha=255 * brightest * (1 - kept)), np.uint8)
    layer = _scene.spread(np.asarray(_scene.resized(veil, width, height), np.uint8))
    return np.asarray(cv2.addWeighted(image, kept, layer, 1, 0, dst=layer), np.uint8)


def _plasma(rng: np.random.Generator, width: int, height: int, decay: float) -> Map:
    """Return noise from 0 to 1 in which each halving of the grain is `decay` times weaker."""
    total = np.zeros((height, width), np.float32)
    side = max(width, height)
    cells, weight = 2, 1.0
    while cells <= side:
        grid = rng.random((cells + 1, cells + 1), dtype=np.float32)
        # The plasma is square, and the image its upper left part.
        part = grid[: -(-cells * height // side) + 1, : -(-cells * width // side) + 1]
        total += np.float32(weight) * np.asarray(_scene.resized(part, width, height), np.float32)
        cells, weight = cells * 2, weight / decay
    low, high = float(total.min()), float(total.max())
    return (total - np.float32(low)) / np.float32(max(high - low, 1e-6))


def imagenet_c_snow(image: Image, rng: np.random.Generator, severity: float) -> Image:
    """Return whitened colours under noise that is enlarged, thresholded and blurred along one direction."""
    height, width = image.shape[:2]
    looks = [float(np.interp(severity, range(6), row)) for row in believable()["imagenet-c"]["snow"]]
    mean, deviation, zoom, least, radius, sigma, kept = looks
    size = (max(2, round(height / zoom)), max(2, round(width / zoom)))
    noise = rng.standard_normal(size, dtype=np.float32) * np.float32(deviation) + np.float32(mean)
    # Flakes are several pixels wide, and blurred, so half the size shows them as well.
    half = 2 if width >= 480 else 1
    flakes = np.asarray(_scene.resized(noise, -(-width // half), -(-height // half)), np.float32)
    flakes = np.where(flakes < least, np.float32(0), np.clip(flakes, 0, 1)) * np.float32(255)
    kernel = _motion(radius / half, sigma / half, float(rng.uniform(-135, -45)))
    blurred = np.asarray(cv2.filter2D(flakes, cv2.CV_8U, kernel), np.uint8)
    layer = np.asarray(_scene.resized(blurred, width, height), np.uint8)
    grey = _scene.spread(np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8))
    white = cv2.max(image, cv2.convertScaleAbs(grey, alpha=1.5, beta=127.5, dst=grey), dst=grey)
    whitened = cv2.addWeighted(image, kept, white, 1 - kept, 0, dst=white)
    both = np.asarray(cv2.add(layer, cv2.rotate(layer, cv2.ROTATE_180)), np.uint8)
    return np.asarray(cv2.add(whitened, _scene.spread(both), dst=whitened), np.uint8)


def _motion(radius: float, sigma: float, angle: float) -> Map:
    """Return the kernel of ImageMagick's motion blur: half a Gaussian along one direction."""
    size = 2 * round(radius) + 1
    steps = np.arange(size)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    kernel = np.zeros((2 * size + 1, 2 * size + 1), np.float32)
    turn = np.radians(angle)
    x, y = (np.rint(size + steps * part).astype(int) for part in (np.cos(turn), np.sin(turn)))
    np.add.at(kernel, (y, x), weights / weights.sum())
    return kernel


KOSCHMIEDER = 3.912
"""Extinction times visibility: -ln 0.02, because two percent of contrast are the least that is seen."""


@register("fog", summary="what is far away fades into the colour of the air")
class Fog(WeatherTransform):
    """Fog that thickens with distance, by Koschmieder's law: I·t + A·(1 - t) with t = exp(-3.912·d / V).

    V is the visibility in metres: `visibility` at amount 1, and visibility / amount^1.5 below it, so with
    the default 260 m in light, 92 m in normal and 50 m in heavy fog. The air A is grey and as bright as the
    brightest part of the image. The distance d is the frame's depth where it is known; else it follows from
    the label map and the perspective; without both from the perspective alone, and what stands beside the
    road is taken to be as far away as the walls of a street. The sky is seen through a layer of 25 metres.
    The light turns into that of an overcast sky, unless `overcast` is 0.

    The style "imagenet-c" is the fog of that benchmark instead: an even veil of plasma noise that knows no
    distance. Its severities 1 to 5 are at the amounts 0.2 to 1. DeepTest's fog was made by hand in a photo
    editor, so the ten levels here are of our own: amounts of 0.1 to 1.

    Attributes:
        visibility: How far one sees at amount 1.
        overcast: How far the light turns into that of an overcast sky.
        patches: How patchy it is.
        style: Whether it thickens with distance or is ImageNet-C's even veil.
    """

    visibility: float = number(_N.closest, unit="metres", low=5, high=5000)
    overcast: float = number(1.0, low=0, high=1)
    patches: float = number(0.15, low=0, high=1)
    style: str = choice("distance", choices=("distance", "imagenet-c"))

    fact, value, least_change = "weather", "foggy", 900.0

    @property
    def extinction(self) -> float:
        """How much of the light is lost, per metre."""
        return KOSCHMIEDER / self.visibility * float(self.amount**1.5)

    @property
    def severity(self) -> float:
        if self.style == "imagenet-c":
            return self.amount
        return float(min(1.0, (self.extinction * _N.closest / KOSCHMIEDER) ** (2 / 3)))

    def drawn(self, scene: WeatherScene, rng: np.random.Generator) -> Image:
        if self.style == "imagenet-c":
            return imagenet_c_fog(scene.frame.image, rng, 5 * self.amount)
        share = min(1.0, 6 * self.severity) * self.overcast
        gloom = 1 - _N.gloom * self.severity
        image = overcast(scene, share, gloom) if share > 0 else scene.frame.image
        lumps = (rng, self.patches) if self.patches > 0 else None
        seen = transmission(scene, self.extinction, lumps)
        return _scene.veiled(image, seen, _scene.shaded(AIR, scene.light * gloom))


GREY_SKY = SkyLook((156, 164, 174), (204, 209, 214), (214, 215, 217), (140, 147, 157), contrast=0.55)


@register("cloudy", summary="clouds cover the sky; light turns grey and shadows soft", aliases=("clouds",))
class Cloudy(WeatherTransform):
    """An overcast sky in the place of the one that is seen, and its light on everything.

    The sun's share of the light goes, shadows on the ground are lifted (where a label map tells the ground)
    and colours lose some of their strength. Where the sky is, is taken from the label map; without one the
    smooth and bright region at the upper edge counts as sky.

    Attributes:
        contrast: How strongly single clouds stand out.
    """

    contrast: float = number(0.5, low=0, high=1)

    fact, value, least_change = "weather", "cloudy", 360.0
    bars: ClassVar[Mapping[str, str]] = {
        weather: f"the weather is already {weather}" for weather in ("rainy", "snowy", "foggy")
    }

    def drawn(self, scene: WeatherScene, rng: np.random.Generator) -> Image:
        share = math.sqrt(self.amount)
        image = overcast(scene, share, 1 - _N.clouds_gloom * self.amount)
        # Few clouds are white, many are grey.
        bright = scene.light * (1.12 - _N.gloom_of_sky * self.amount)
        look = GREY_SKY.dimmed(bright, contrast=1.1 * self.contrast)
        return under(image, scene, look.drawn(scene, rng), share)
