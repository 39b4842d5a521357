"""A low sun in the camera's eye."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from roadworthy.transforms.parameters import number
from roadworthy.transforms.transform import register
from roadworthy.transforms.weather._condition import Condition
from roadworthy.transforms.weather._fields import Colour, Image, Map
from roadworthy.transforms.weather._pixels import spread
from roadworthy.transforms.weather._scene import Surroundings
from roadworthy.transforms.weather._sky import as_image

__all__ = ["NO_SUN", "SunGlare"]

_SPIN = np.float32(0.4)  # radians: how the rays are turned
_SUNLIGHT: Colour = (255.0, 241.0, 214.0)
_GHOSTS = (  # place along the line from the sun through the centre, radius in widths, brightness, colour
    (-0.35, 0.020, 0.20, (0.6, 1.0, 0.7)),
    (0.35, 0.012, 0.22, (1.0, 0.7, 0.5)),
    (0.62, 0.034, 0.14, (0.6, 0.8, 1.0)),
    (1.00, 0.018, 0.20, (0.9, 1.0, 0.6)),
    (1.45, 0.058, 0.12, (0.7, 0.6, 1.0)),
)
NO_SUN = {
    "night": "there is no sun at night",
    **dict.fromkeys(("rainy", "snowy", "foggy"), "the weather hides the sun"),
}


@register("sun-glare", summary="a low sun dazzles the camera", aliases=("sun", "glare"))
@dataclass(frozen=True, kw_only=True)
class SunGlare(Condition):
    """A low sun before the camera: a disc that saturates, a veil of scattered light, rays and reflections.

    Light that is scattered in the lens and on the windscreen adds to the whole image, most round the sun,
    and takes its contrast. Reflections between the lenses lie on the line from the sun through the centre of
    the image, and the road shines below the sun. Disc and rays are hidden where something stands before
    them: known from the label map, estimated from the image without one.
    """

    x: float = number(0.62, "Where the sun is, in widths of the image from the left.", low=-0.5, high=1.5)
    y: float = number(0.18, "Where the sun is, in heights of the image from the top.", low=-0.5, high=1)
    size: float = number(0.022, "Radius of the disc, in widths of the image.", low=0.002, high=0.2)
    ghosts: float = number(1.0, "How bright reflections between the lenses are.", low=0, high=3)

    fact, value = "weather", "sunny"
    bars = NO_SUN
    random = False

    def drawn(self, scene: Surroundings, rng: np.random.Generator) -> Image:
        amount = self.amount
        width, height = scene.small
        rows, columns = (np.arange(n, dtype=np.float32) + np.float32(0.5) for n in (height, width))
        sun_x, sun_y = self.x * width, self.y * height
        across, down = columns - np.float32(sun_x), (rows - np.float32(sun_y))[:, None]
        away = np.hypot(across, down) / np.float32(width)
        open_sky = self._open_sky(scene)
        radius = np.float32(self.size * (0.6 + 0.6 * amount))
        # Light scattered in the lens falls with the distance from the sun, and some of it is everywhere.
        veil = np.float32(0.10) + np.float32(0.85) / (1 + (away / np.float32(0.13)) ** 1.6)
        veil *= np.float32(amount * (0.35 + 0.65 * open_sky))
        disc = np.clip((radius - away) / (np.float32(0.35) * radius) + 1, 0, 1) * np.float32(
            min(1.0, 3 * amount)
        )
        turn = np.arctan2(np.broadcast_to(down, away.shape), np.broadcast_to(across, away.shape))
        rays = (
            np.abs(np.cos(turn * 3 + _SPIN)) ** 40 + np.float32(0.5) * np.abs(np.cos(turn * 5 - _SPIN)) ** 60
        )
        rays *= np.exp(-away / np.float32(0.10 + 0.12 * amount)) * np.float32(0.55 * amount * open_sky)
        shine = self._shine(scene, across, amount)
        light = (veil + rays + shine)[..., None] * np.array(_SUNLIGHT, np.float32)
        if self.ghosts > 0:
            self._add_ghosts(light, amount * self.ghosts * open_sky)
        return _dazzled(scene, light, disc, amount)

    def _open_sky(self, scene: Surroundings) -> float:
        """Return how much of the sun is seen: 0 behind a house, 1 in the open sky or outside the image."""
        if not (0 <= self.x < 1 and 0 <= self.y < 1):
            return 0.5
        width, height = scene.small
        x, y, reach = int(self.x * width), int(self.y * height), max(1, round(self.size * width))
        around = scene.small_sky[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1]
        return float(around.mean()) / 255

    def _shine(self, scene: Surroundings, across: Map, amount: float) -> Map:
        """Return the glitter on the road below the sun."""
        width, height = scene.small
        rows = (np.arange(height, dtype=np.float32) + np.float32(0.5)) * np.float32(scene.height / height)
        below = np.maximum(rows - np.float32(scene.view.horizon), 0)[:, None] / np.float32(scene.height)
        wide = np.float32(0.05) + np.float32(0.35) * below
        band = np.exp(-((across / np.float32(width) / wide) ** 2)) * np.exp(-below / np.float32(0.25))
        starts = np.minimum(below * 30, 1) * (scene.small_road * np.float32(1 / 255))
        return np.asarray(band * starts * np.float32(0.45 * amount), np.float32)

    def _add_ghosts(self, light: Map, strength: float) -> None:
        height, width = light.shape[:2]
        for place, radius, brightness, colour in _GHOSTS:
            x = (self.x + (0.5 - self.x) * (1 + place)) * width
            y = (self.y + (0.5 - self.y) * (1 + place)) * height
            reach = radius * width
            x1, x2 = max(0, int(x - reach)), min(width, int(x + reach) + 2)
            y1, y2 = max(0, int(y - reach)), min(height, int(y + reach) + 2)
            if x1 >= x2 or y1 >= y2:
                continue
            away = np.hypot(np.arange(x1, x2) - x, (np.arange(y1, y2) - y)[:, None]) / reach
            ring = np.clip((1 - away) * 4, 0, 1) * (0.55 + 0.45 * away**2) * (255 * brightness * strength)
            light[y1:y2, x1:x2] += ring[..., None] * np.array(colour)


def _dazzled(scene: Surroundings, light: Map, disc: Map, amount: float) -> Image:
    """Return the image with light added, and the sun's disc where the sky is seen."""
    image = scene.frame.image
    # The camera closes its iris a little.
    darker = cv2.convertScaleAbs(image, alpha=1 - 0.18 * amount)
    result = cv2.add(darker, scene.full(as_image(light)), dst=darker)
    if not disc.any() or not scene.small_sky.any():
        return np.asarray(result, np.uint8)
    sun = scene.full((disc * 255).astype(np.uint8))
    return np.asarray(
        cv2.add(result, spread(np.asarray(cv2.min(sun, scene.sky), np.uint8)), dst=result), np.uint8
    )
