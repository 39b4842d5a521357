"""What sits on the lens or the glass before it: frost, water and mud."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import cast

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.images import Image
from roadworthy.transforms.noise import normal_noise, smooth_noise
from roadworthy.transforms.transform import ImageTransform, choice, number, register

Plane = NDArray[np.float32]
Points = NDArray[np.float64]

TEXTURES = 5
_HEIGHT, _WIDTH = 800, 1200
_LENGTH, _BREADTH = 192, 144  # of a feather as it is drawn
_SHIFT = 3  # bits of a pixel's fraction
_FEATHERS = 6
# For each picture: how many points feathers grow from, the median length of a feather, and how unevenly they
# lie.
_KINDS = ((900, 52.0, 0.5), (420, 85.0, 0.7), (1500, 38.0, 0.35), (600, 62.0, 0.9), (1100, 46.0, 0.2))
_GLASS, _ICE = np.array([22, 32, 46], np.float32), np.array([238, 245, 251], np.float32)


@lru_cache(maxsize=TEXTURES)
def frost_texture(number: int) -> Image:
    """Return one of the pictures of frost: RGB, the same in every process."""
    rng = np.random.default_rng([4, number])
    points, length, uneven = _KINDS[number]
    feathers = [_feather(rng) for _ in range(_FEATHERS)]
    grain = cast(Plane, cv2.GaussianBlur(np.abs(normal_noise(rng, (_HEIGHT, _WIDTH))), (5, 5), 0.8)) / 0.8
    # Between the feathers the glass has a thin film of ice.
    ice = 0.13 + 0.03 * _cloud(rng, 120) + 0.03 * _cloud(rng, 12, 4) + 0.07 * (grain - 1)
    turn, size, cover = 2.4 * _cloud(rng, 200), 0.4 * _cloud(rng, 140), uneven * _cloud(rng, 140)
    for number_of_point in range(points):
        x, y = rng.uniform(-30, _WIDTH + 30), rng.uniform(-30, _HEIGHT + 30)
        place = min(max(int(y), 0), _HEIGHT - 1), min(max(int(x), 0), _WIDTH - 1)
        if cover[place] + rng.normal(0, 0.4) < -0.6 * uneven:
            continue
        # The first grow where there is room, and get long.
        longest = length * math.exp(rng.normal(0, 0.3) + size[place]) * (1.3 - 0.7 * number_of_point / points)
        middle = turn[place] + rng.normal(0, 0.8)
        for _ in range(rng.integers(2, 8)):
            feather = feathers[rng.integers(_FEATHERS)]
            reach = min(max(longest * rng.uniform(0.5, 1.3), 16.0), 330.0)
            slim = rng.uniform(0.55, 1.0) * rng.choice((-1, 1))
            _grow(ice, feather, (x, y), middle + rng.uniform(-1.3, 1.3), reach, slim)
    ice *= 0.8 + 0.2 * grain
    ice = 0.95 * ice + 0.25 * cv2.GaussianBlur(ice, (31, 31), 5)
    tint = _cloud(rng, 240)[:, :, None] * np.array([-2, 1, 2], np.float32)
    picture = _GLASS + tint + (_ICE - _GLASS) * np.clip(ice, 0, 1)[:, :, None] ** np.float32(0.9)
    texture = np.clip(picture, 0, 255).astype(np.uint8)
    texture.setflags(write=False)
    return texture  # type: ignore[no-any-return]


def _cloud(rng: np.random.Generator, sigma: float, octaves: int = 2) -> Plane:
    """Return noise of several sizes, with variance 1."""
    sizes = (max(sigma / 2**k, 0.7) for k in range(octaves))
    noises = (smooth_noise(rng, _HEIGHT, _WIDTH, size) for size in sizes)
    total = sum(np.float32(0.55**k) * noise for k, noise in enumerate(noises))
    return cast(Plane, total / np.std(total))


def _feather(rng: np.random.Generator) -> list[Plane]:
    """Return one feather, its light and what it covers, in several sizes, each half as large."""
    light, cover = (np.zeros((_BREADTH, _LENGTH), np.uint8) for _ in range(2))

    def draw(starts: Points, ends: Points, shade: float, covered: int, thick: int) -> None:
        lines = np.rint(np.stack([starts, ends], axis=1) * 2**_SHIFT).astype(np.int32)
        cv2.polylines(cover, lines, False, covered, thick + 2, cv2.LINE_AA, _SHIFT)
        cv2.polylines(light, lines, False, shade, thick, cv2.LINE_AA, _SHIFT)

    angle, wide, gap = rng.uniform(0.66, 1.05), rng.uniform(0.62, 1.2), rng.uniform(4.0, 6.5)
    along = np.arange(5, _LENGTH - 3, gap)
    for side, shading in ((-1, 1.0), (1, 0.7)):
        lengths = wide * (_LENGTH - along) ** 0.78 * np.clip(along / 24, 0.35, 1)
        for start, length in zip(along, lengths * rng.uniform(0.7, 1.1, len(along)), strict=True):
            turn = angle + rng.normal(0, 0.04)
            shade = rng.uniform(150, 255) * shading
            root = np.array([[start, _BREADTH / 2]])
            direction = np.array([math.cos(turn), side * math.sin(turn)])
            draw(root, root + length * direction, shade, 170, 1)
            at = np.arange(4, length, 3.6)
            if not len(at):
                continue
            roots = root + at[:, None] * direction
            twigs = (1 - at / length) * 0.3 * length * rng.uniform(0.4, 1, len(at)) + 1.5
            for bend, dim in ((0.0, 0.8), (1.9 * turn, 0.6)):
                twig = np.array([math.cos(bend), side * math.sin(bend)])
                draw(roots, roots + twigs[:, None] * twig, dim * shade, 140, 1)
    draw(np.array([[0.0, _BREADTH / 2]]), np.array([[_LENGTH - 5.0, _BREADTH / 2]]), 235, 255, 2)
    sizes: list[Plane] = [np.dstack([light, cover]).astype(np.float32) / np.float32(255)]
    for _ in range(3):
        half = cv2.resize(sizes[-1], None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        # Thin lines get dim when they are shrunk; they stay a little brighter than that.
        sizes.append(np.minimum(half * np.array([1.25, 1.1]), 1).astype(np.float32))
    return sizes


def _grow(
    ice: Plane, sizes: list[Plane], root: tuple[float, float], direction: float, length: float, slim: float
) -> None:
    """Draw a feather into the ice; a negative `slim` is its mirror image."""
    level = min(max(int(math.log2(_LENGTH / length) + 0.35), 0), len(sizes) - 1)
    feather = sizes[level]
    height, width = feather.shape[:2]
    cos, sin = (length / width * one for one in (math.cos(direction), math.sin(direction)))
    matrix = np.array([[cos, -sin * slim, root[0]], [sin, cos * slim, root[1]]])
    matrix[:, 2] -= matrix[:, 1] * height / 2
    corners = np.array([[0, 0], [width, 0], [0, height], [width, height]]) @ matrix[:, :2].T + matrix[:, 2]
    left, top = np.maximum(np.floor(corners.min(axis=0)), 0).astype(int).tolist()
    right, bottom = np.minimum(np.ceil(corners.max(axis=0)), (_WIDTH, _HEIGHT)).astype(int).tolist()
    if right - left < 2 or bottom - top < 2:
        return
    matrix[:, 2] -= (left, top)
    placed = cv2.warpAffine(feather, matrix, (right - left, bottom - top))
    part = ice[top:bottom, left:right]
    facing = 0.5 + 0.5 * math.cos(direction - 0.9)
    part += placed[:, :, 1] * (0.13 + 0.16 * facing - part) * 0.85
    np.maximum(part, placed[:, :, 0] * (0.42 + 0.5 * facing), out=part)


_SMALLEST = 0.6  # of the largest part of a picture that has the shape of the image


@register("frost", summary="ice crystals grow on the glass in front of the camera")
class Frost(ImageTransform):
    """A picture of frost over the image: scale · image + frost · picture (ImageNet-C; Hu et al., section 3).

    The pictures are drawn by the code. A random part of one of them, mirrored or not, is laid over the image.
    Hu et al. let both numbers grow from 0.01 to 1, so that image and frost get brighter together; here the
    image fades as the frost grows, and at an amount of 1 only frost is left.

    Attributes:
        scale: What is left of the image.
        frost: How much of the frost is added.
    """

    scale: float = number(0.7, low=0, high=1, identity=1, strongest=0)
    frost: float = number(0.5, low=0, high=1, identity=0)

    family = "weather"
    random = True

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        height, width = image.shape[:2]
        picture = _part(frost_texture(int(rng.integers(TEXTURES))), width, height, rng)
        return cast(Image, cv2.addWeighted(image, self.scale, picture, self.frost, 0))


def _part(texture: Image, width: int, height: int, rng: np.random.Generator) -> Image:
    """Return a random part of a texture, as large as an image and mirrored or not."""
    rows, columns = texture.shape[:2]
    share = min(columns / width, rows / height) * rng.uniform(_SMALLEST, 1)
    across, down = max(1, int(width * share)), max(1, int(height * share))
    left, top = (int(rng.integers(room + 1)) for room in (columns - across, rows - down))
    how = cv2.INTER_AREA if share > 1 else cv2.INTER_LINEAR
    part = cv2.resize(texture[top : top + down, left : left + across], (width, height), interpolation=how)
    axis = int(rng.integers(-1, 3))  # OpenCV's: both, up and down, left and right; 2 stands for none of them
    return cast(Image, part if axis == 2 else cv2.flip(part, axis))


_WATER, _MUD = (175.0, 238.0, 238.0), (63.0, 42.0, 20.0)  # ImageNet-C's pale turquoise and mud brown
_EDGE = 0.15  # standard deviations of the liquid's height over which its edge runs out


@register("spatter", summary="splashes of water or mud lie on the lens")
class Spatter(ImageTransform):
    """Smooth noise above a threshold is liquid on the lens: water shines, mud hides (ImageNet-C).

    ImageNet-C gives the noise, its blur and the threshold for images of 224 pixels. Here the share of the
    image that they come to is given, and the size is relative to the height of the image. Its severities 1 to
    3 are water, 4 and 5 are mud. The slope of the liquid gives it light and shade, where ImageNet-C embosses
    the distance to its edge.

    Attributes:
        coverage: Share of the image covered.
        material: What lies on the lens.
        size: Size of the splashes: standard deviation of the blur, as a share of the height.
        opacity: How strongly water shines, or how much mud hides.
    """

    coverage: float = number(0.15, low=0, high=1, identity=0, strongest=0.9)
    material: str = choice("water", choices=("water", "mud"))
    size: float = number(0.013, low=0.001, high=0.5)
    opacity: float = number(0.6, low=0, high=1)

    family = "weather"
    random = True

    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        from scipy import special

        height, width = image.shape[:2]
        sigma = self.size * height
        surface = smooth_noise(rng, height, width, sigma)
        above = surface - np.float32(special.ndtri(1 - self.coverage) if self.coverage < 1 else -1e6)
        there = np.clip(above * np.float32(1 / _EDGE), 0, 1, out=above)
        there *= np.float32(self.opacity)
        light = _slope(surface, sigma)
        if self.material == "mud":
            colour, kept, shine = _MUD, 1 - there, there * (1 + np.float32(0.25) * light)
        else:
            colour, kept = _WATER, 1 - there * np.maximum(np.float32(-0.4) * light, 0)
            shine = there * (np.float32(0.15) + np.maximum(np.float32(0.45) * light, 0))
        planes = [
            cv2.scaleAdd(shine, level, cv2.multiply(plane, kept, dtype=cv2.CV_32F))
            for plane, level in zip(cv2.split(image), colour, strict=True)
        ]
        return cast(Image, cv2.convertScaleAbs(cv2.merge(planes)))


def _slope(surface: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    """Return how far a surface faces the light, which comes from the upper left; its variance is 1."""
    rise = cv2.filter2D(surface, -1, np.array([[-1, -1, 0], [-1, 0, 1], [0, 1, 1]]) / 4)
    # Along a diagonal, the slope of noise that was smoothed by this Gaussian has a variance of 1 / (2
    # sigma²).
    return cast("NDArray[np.float32]", rise * np.float32(max(sigma, 0.7) * math.sqrt(2) / 1.5))
