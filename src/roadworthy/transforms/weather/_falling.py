"""What falls: streaks of rain and flakes of snow, drawn in layers from far to near."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import cv2
import numpy as np

from roadworthy.transforms.weather._fields import Colour, Image, Map, Mask, resized
from roadworthy.transforms.weather._pixels import spread

__all__ = ["Flakes", "Streaks", "brightened", "fallen_flakes", "fallen_streaks"]

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
