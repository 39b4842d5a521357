"""The air between the camera and the scene."""

from __future__ import annotations

import cv2
import numpy as np

from roadworthy.transforms.weather._fields import Colour, Map, Mask
from roadworthy.transforms.weather._noise import cloud_noise
from roadworthy.transforms.weather._pixels import blended
from roadworthy.transforms.weather._scene import SKY_DISTANCE, Surroundings

__all__ = ["AIR", "transmission"]

AIR: Colour = (205.0, 209.0, 212.0)
"""The colour of the air under a grey sky by day."""

_LAYER = 25.0  # metres: how high the haze reaches, through which the sky is seen
_UNSURE = 0.1  # of the height: how well the horizon is known without labels


def transmission(
    scene: Surroundings, extinction: float, lumps: tuple[np.random.Generator, float] | None = None
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
        in_sky = (distance >= SKY_DISTANCE).view(np.uint8)
    height, width = distance.shape
    density: Map | np.float32 = np.float32(-extinction)
    if lumps is not None:
        rng, contrast = lumps
        density = density * (1 + np.float32(contrast) * (cloud_noise(rng, width, height, width / 4) * 2 - 1))
    seen = np.asarray(cv2.convertScaleAbs(cv2.exp(np.asarray(distance * density)), alpha=255), np.uint8)
    if estimated:
        # Where the horizon is, is not known very well.
        high = max(1, round(_UNSURE * height))
        seen = np.asarray(cv2.blur(seen, (max(1, high // 2), high)), np.uint8)
    # How long the way to the sky through the haze is depends on how steeply one looks up.
    rows = (np.arange(height, dtype=np.float32) + np.float32(0.5)) * np.float32(scene.height / height)
    climb = np.maximum(np.float32(scene.view.horizon) - rows, np.float32(1e-3)) / np.float32(scene.view.focal)
    through = np.rint(255 * np.exp(np.float32(-extinction * _LAYER) / climb)).astype(np.uint8)
    layer = np.repeat(through[:, None], width, axis=1)
    cv2.copyTo(layer, in_sky, seen)
    if frame.labels is None or frame.depth is not None:
        return scene.full(seen)
    # The outlines of trees are finer than the thumbnail that the estimate was made for.
    return blended(scene.full(seen), scene.full(layer), scene.sky)
