"""Filling holes in images of streets: what fills a mask, and the network that ships for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from roadworthy.images import Image, Mask
from roadworthy.models.network import OpensLater
from roadworthy.models.onnx import opened_session
from roadworthy.transforms.objects.request import Window, parts_of

FILL = Path(__file__).with_name("weights") / "fill.onnx"
"""The network's file; ``fill.md`` beside it is its card."""

Floats = NDArray[np.float32]

_SIDE = 32  # sides that the network sees are multiples of it
_MOST_PIXELS = 320 * 288  # that the network sees of a window: more is slower, and larger than it has learned
_AROUND = 0.8  # of a hole's longer side: how much around it the network sees
_LEAST_AROUND = 1 / 12  # likewise, of the image's width
_GRAIN = 1.6  # pixels: what is finer is grain
_MOST_GRAIN = 3.0  # grey levels
_RING = 1 / 40  # of the image's width: how far around a hole its grain is looked at
# Levels between grounds in the same light at most, and of how bright they are; twice as many are in another.
_ALIKE = (15.0, 0.25)
_COARSE = 4  # times smaller is what broad colours are looked at in
# Of the image's width: as far colours are broad; and times as far, for wide holes, and how much that counts.
_BROAD, _FARTHER = 0.012, ((1, 1.0), (4, 0.02), (16, 0.0004))


@dataclass(frozen=True)
class FillNetwork(OpensLater):
    """The filling network that ships.

    It sees windows round the holes, large ones smaller than they are, and all windows of a size together.

    Attributes:
        path: The network's file.
    """

    path: Path = FILL

    @cached_property
    def _session(self) -> Any:
        # With other numbers of threads sums are added in another order, and pixels differ.
        return opened_session(self.path, threads=1)

    def fill(self, images: Sequence[Image], masks: Sequence[Mask]) -> list[Image]:
        """Return the images, filled.

        Example:
            >>> image = np.full((64, 96, 3), 120, np.uint8)
            >>> mask = np.zeros((64, 96), np.bool_)
            >>> mask[20:40, 30:60] = True
            >>> filled = fill_network().fill([image], [mask])[0]
            >>> bool((filled[~mask] == 120).all())
            True
        """
        found = [image.copy() for image in images]
        sizes: dict[tuple[int, int], list[tuple[int, Window]]] = {}
        for number, mask in enumerate(masks):
            for window in _windows(mask):
                sizes.setdefault(_seen_size(window), []).append((number, window))
        for (high, wide), places in sizes.items():
            shown = [cv2.resize(found[n][w], (wide, high), interpolation=cv2.INTER_AREA) for n, w in places]
            holes = [
                cv2.resize(masks[n][w].astype(np.float32), (wide, high), interpolation=cv2.INTER_AREA) > 0
                for n, w in places
            ]
            batch = np.moveaxis(np.stack(shown), 3, 1).astype(np.float32)
            made = self._session.run(
                None, {"image": batch, "mask": np.stack(holes)[:, None].astype(np.float32)}
            )[0]
            for (number, window), new in zip(places, np.moveaxis(made, 1, 3), strict=True):
                part, hole = found[number][window], masks[number][window]
                large = cv2.resize(new, part.shape[1::-1], interpolation=cv2.INTER_CUBIC)
                part[hole] = np.clip(np.rint(large[hole]), 0, 255)
        return found


@lru_cache(maxsize=1)
def fill_network() -> FillNetwork:
    """Return the filling network that ships, opened once.

    Example:
        >>> fill_network().path.name
        'fill.onnx'
    """
    return FillNetwork()


def _windows(mask: Mask) -> list[Window]:
    """Return windows round the holes of a mask; holes near each other share one, and very many the image."""
    height, width = mask.shape
    least = max(_SIDE // 2, round(_LEAST_AROUND * width))
    reach = np.ones((least | 1, least | 1), np.uint8)
    joined = cv2.dilate(mask.view(np.uint8), reach).view(np.bool_)
    found = []
    for (rows, columns), _ in parts_of(joined):
        more = max(least, round(_AROUND * max(rows.stop - rows.start, columns.stop - columns.start)))
        found.append((_grown(rows, more, height), _grown(columns, more, width)))
    seen = sum(math.prod(_seen_size(window)) for window in found)
    return found if seen <= _MOST_PIXELS else [(slice(0, height), slice(0, width))]


def _grown(span: slice, more: int, end: int) -> slice:
    return slice(max(0, span.start - more), min(end, span.stop + more))


def _seen_size(window: Window) -> tuple[int, int]:
    """Return how high and wide a window is as the network sees it."""
    high, wide = (one.stop - one.start for one in window)
    scale = min(1.0, (_MOST_PIXELS / (high * wide)) ** 0.5)
    return max(_SIDE, round(high * scale / _SIDE) * _SIDE), max(_SIDE, round(wide * scale / _SIDE) * _SIDE)


def evened(image: Image, filled: Image, mask: Mask, ground: Mask) -> Image:
    """Return a filled image whose hole has the broad colours of the ground around it, and its own detail.

    The network sees dark roads as purple, and paints clouds where much paint lies close together. Where the
    ground around is much brighter or darker, it lies in another light, and tells nothing.

    Args:
        image: As it was.
        filled: The same, filled.
        mask: The hole, as far as it shows ground.
        ground: What is seen of that ground around it.
    """
    if not ground.any() or not mask.any():
        return filled
    reach = max(1.0, _BROAD * image.shape[1] / _COARSE)
    seen, hole = _coarse(image, ground), _coarse(filled, mask)
    several = [share * cv2.GaussianBlur(seen, (0, 0), times * reach) for times, share in _FARTHER]
    sums = np.sum(several, axis=0), cv2.GaussianBlur(hole, (0, 0), reach)
    around, own = (one[..., :3] / np.maximum(one[..., 3:], 1e-7) for one in sums)
    light, apart = (one.mean(axis=2, keepdims=True) for one in (own, np.asarray(around - own)))
    alike = np.minimum(_ALIKE[0], _ALIKE[1] * np.maximum(light, 1.0))
    change = (around - own) * np.clip(2 - np.abs(apart) / alike, 0, 1)
    change = cv2.resize(change, mask.shape[::-1], interpolation=cv2.INTER_LINEAR)
    result = filled.copy()
    result[mask] = np.clip(np.rint(filled[mask] + change[mask]), 0, 255)
    return result


def _coarse(image: Image, where: Mask) -> Floats:
    """Return the colours of some pixels in a small image, times their number, and that number."""
    size = max(1, where.shape[1] // _COARSE), max(1, where.shape[0] // _COARSE)
    some = np.dstack([image, np.ones(where.shape, np.uint8)]) * where[..., None].astype(np.float32)
    return np.asarray(cv2.resize(some, size, interpolation=cv2.INTER_AREA), np.float32)


def grained(image: Image, filled: Image, mask: Mask, rng: Generator) -> Image:
    """Return a filled image with as much grain in the hole as the image has around it.

    Args:
        image: As it was.
        filled: The same, filled.
        mask: The hole.
        rng: For the grain.
    """
    reach = max(3, round(_RING * image.shape[1]))
    ring = cv2.dilate(mask.view(np.uint8), np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)) > 0
    ring &= ~mask
    if not ring.any() or not mask.any():
        return filled
    around, inside = (_fineness(one, where) for one, where in ((image, ring), (filled, mask)))
    lacks = np.sqrt(max(around**2 - inside**2, 0.0))
    noise = cv2.GaussianBlur(rng.standard_normal(mask.shape, np.float32), (0, 0), 0.6)[mask]
    noise *= lacks / max(float(noise.std()), 1e-6)
    result = filled.copy()
    result[mask] = np.clip(np.rint(filled[mask] + noise[:, None]), 0, 255)
    return result


def _fineness(image: Image, where: Mask) -> float:
    """Return how strong what is finer than a pixel or two is, in grey levels, edges left out."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32)
    fine = np.abs(grey - cv2.GaussianBlur(grey, (0, 0), _GRAIN))[where]
    # What is rough around a hole, such as leaves, is no grain: the smoother half tells.
    return min(float(2 * np.percentile(fine, 30)), _MOST_GRAIN)
