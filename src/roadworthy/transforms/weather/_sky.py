"""Skies to set in the place of the one that is seen: a gradient, and clouds before it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np

from roadworthy.transforms.weather._fields import Colour, Image, Map, Mask, resized, shaded
from roadworthy.transforms.weather._noise import cloud_noise
from roadworthy.transforms.weather._pixels import blended
from roadworthy.transforms.weather._scene import Surroundings

__all__ = ["SkyLook", "as_image", "sky_share", "under"]

_TOP = 0.8  # tangent of the elevation at which the colour of the zenith is reached


@dataclass(frozen=True)
class SkyLook:
    """What a sky looks like; all colours are RGB.

    Attributes:
        zenith: High up.
        horizon: Low down.
        cloud: The bright side of clouds.
        shade: The dark side of clouds.
        cover: How much of it clouds hide, from 0 to 1.
        contrast: How strongly they stand out, from 0 to 1.
        glow: What the sun below the horizon adds where it is, to one side that is drawn by lot.
    """

    zenith: Colour
    horizon: Colour
    cloud: Colour
    shade: Colour
    cover: float = 1.0
    contrast: float = 0.5
    glow: Colour | None = None

    def dimmed(self, light: float, contrast: float | None = None) -> SkyLook:
        """Return the same sky in less light, and with another contrast if given."""
        return replace(
            self,
            zenith=shaded(self.zenith, light),
            horizon=shaded(self.horizon, light),
            cloud=shaded(self.cloud, light),
            shade=shaded(self.shade, light),
            contrast=self.contrast if contrast is None else contrast,
            glow=None if self.glow is None else shaded(self.glow, light),
        )

    def behind(self, veil: Colour, share: float) -> SkyLook:
        """Return the same sky with a veil of one colour before it."""

        def seen(colour: Colour) -> Colour:
            red, green, blue = (
                one * (1 - share) + other * share for one, other in zip(colour, veil, strict=True)
            )
            return red, green, blue

        return replace(
            self,
            zenith=seen(self.zenith),
            horizon=seen(self.horizon),
            cloud=seen(self.cloud),
            shade=seen(self.shade),
        )

    def drawn(self, scene: Surroundings, rng: np.random.Generator) -> Image:
        """Return the sky for the whole picture, as small as the scene's thumbnail."""
        # A sky has nothing fine in it.
        width, height = (max(2, size // 2) for size in scene.small)
        rows = (np.arange(height, dtype=np.float32) + np.float32(0.5)) * np.float32(scene.height / height)
        climb = np.clip((np.float32(scene.view.horizon) - rows) / np.float32(scene.view.focal), 0.0, None)
        up = np.minimum(climb / np.float32(_TOP), 1)[:, None, None]
        sky = np.repeat(_between(self.horizon, self.zenith, up ** np.float32(0.6)), width, axis=1)
        if self.glow is not None:
            across = (np.arange(width, dtype=np.float32) + np.float32(0.5)) / np.float32(width)
            turn = (across - np.float32(rng.uniform(-0.3, 1.3))) * np.float32(scene.width / scene.view.focal)
            shine = np.exp(np.float32(-2.2) * np.hypot(turn, 1.5 * climb[:, None]))
            sky += shine[..., None] * np.array(self.glow, np.float32)
        noise = cloud_noise(rng, width, height, width / 2.2)
        higher = np.roll(noise, max(1, height // 14), axis=0)
        # Clouds are bright above and dark below, and fade out towards the horizon.
        dense = np.clip((noise - np.float32(0.62 - 0.36 * self.cover)) * 3, 0, 1)[..., None]
        dense = dense * np.minimum(up * 5, 1) * np.float32(self.contrast)
        side = np.clip(np.float32(0.62) + (noise - higher) * np.float32(2.4), 0, 1)[..., None]
        sky += (_between(self.shade, self.cloud, side) - sky) * dense
        return np.asarray(resized(as_image(sky), *scene.small), np.uint8)


def _between(one: Colour, other: Colour, share: Map) -> Map:
    first, second = (np.array(colour, np.float32) for colour in (one, other))
    return np.asarray(first + (second - first) * share, np.float32)


def under(image: Image, scene: Surroundings, sky: Image, amount: float) -> Image:
    """Return the image with another sky; `amount` says how far it takes the place of the one that is seen."""
    share = sky_share(scene, amount)
    if not cv2.countNonZero(share):
        return image
    return blended(image, scene.full(sky), share)


def sky_share(scene: Surroundings, amount: float) -> Mask:
    """Return how much of each pixel is to be another sky."""
    return scene.sky if amount >= 1 else np.asarray(cv2.convertScaleAbs(scene.sky, alpha=amount), np.uint8)


def as_image(field: Map) -> Image:
    """Return a field of colours in bytes."""
    return np.clip(field, 0, 255).astype(np.uint8)
