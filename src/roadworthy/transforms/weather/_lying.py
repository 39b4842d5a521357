"""Snow that lies: on the ground, thinner or thicker by what it lies on, and as a cap on things."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.transforms.perspective import GROUND
from roadworthy.transforms.weather._fields import Mask, resized
from roadworthy.transforms.weather._noise import ground_noise
from roadworthy.transforms.weather._scene import Surroundings

__all__ = ["SnowCover", "lying_snow"]

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
    scene: Surroundings,
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


def _thickness(scene: Surroundings, cover: SnowCover, thick: float) -> NDArray[np.int16]:
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


def _caps(scene: Surroundings, capped: tuple[str, ...], amount: float) -> Mask:
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
