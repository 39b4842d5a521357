"""Drops of water on the lens or the windscreen before it."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np

from roadworthy.transforms.weather._fields import Image, Map

__all__ = ["with_drops"]

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
