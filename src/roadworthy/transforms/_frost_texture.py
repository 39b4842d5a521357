"""Pictures of frost on a pane of glass, drawn rather than photographed.

Ice grows on glass as feathers: a stem, barbs on both sides of it at one angle, and smaller barbs on those.
Several feathers fan out from one point; where they meet, the later ones lie on the earlier. A few feathers
are drawn once, and a picture is made of some thousand turned and scaled copies, brighter where they face the
light.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import cast

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.transforms._fields import normal_noise, smooth_noise
from roadworthy.transforms.transform import Image

__all__ = ["TEXTURES", "frost_texture"]

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
    total = sum(
        np.float32(0.55**k) * smooth_noise(rng, _HEIGHT, _WIDTH, max(sigma / 2**k, 0.7))
        for k in range(octaves)
    )
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
