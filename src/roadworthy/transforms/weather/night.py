"""Night and dusk: the scene lit by its own lamps and ours instead of the sky."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import cv2
import numpy as np

from roadworthy.transforms.parameters import choice, number
from roadworthy.transforms.transform import register
from roadworthy.transforms.weather._condition import Condition
from roadworthy.transforms.weather._fields import Colour, Image, Map
from roadworthy.transforms.weather._lamps import Lamp, lamps_of, lit_windows, pools
from roadworthy.transforms.weather._light import without_shadows
from roadworthy.transforms.weather._noise import noisy
from roadworthy.transforms.weather._pixels import lit
from roadworthy.transforms.weather._scene import Surroundings
from roadworthy.transforms.weather._sky import SkyLook, as_image, under

__all__ = ["Dusk", "Night"]

_BEAM: Colour = (0.84, 0.82, 0.73)  # of our head lights, in relation to daylight
_POOL: Colour = (0.91, 0.73, 0.47)  # of street lamps
_HALO = 150.0
_LEAST_LIGHT = 0.004


@dataclass(frozen=True, kw_only=True)
class _Darkness(Condition):
    """What night and dusk share: less light from the sky, and lamps.

    Class attributes:
        ambient: What is left of the light at normal amount, by channel.
        upright: How much more of it falls on what stands upright.
        look: The sky at normal amount.
        lamp_light: How much lamps add, from 0 to 1.
        grain: Standard deviation of the camera's noise at normal amount, in grey levels.
    """

    headlights: float = number(1.0, "How bright our own head lights are.", low=0, high=2)
    lights: float = number(1.0, "How bright lamps, windows and the lights of vehicles are.", low=0, high=2)
    noise: float = number(1.0, "How noisy the camera is in the dark.", low=0, high=3)
    traffic: str = choice(
        "right", "The side of the road that one drives on; vehicles on the other side show head lights.",
        ("right", "left"),
    )  # fmt: skip

    fact = "time"
    ambient: ClassVar[Colour]
    upright: ClassVar[Colour] = (1.0, 1.0, 1.0)
    look: ClassVar[SkyLook]
    lamp_light: ClassVar[float]
    grain: ClassVar[float]

    def drawn(self, scene: Surroundings, rng: np.random.Generator) -> Image:
        depth = (1.5 * self.amount) ** 0.75  # 1 at normal amount
        ambient = float(np.mean(self.ambient))
        # Lamps come on as the light goes, never faster, so that it only gets darker.
        lamps_on = math.sqrt(min(1.0, (1 - ambient**depth) / (1 - ambient))) * self.lamp_light
        lamps = lamps_of(scene, "left" if self.traffic == "right" else "right") if self.lights > 0 else []
        windows = lit_windows(scene, rng)
        shadows_gone = min(1.0, 3 * self.amount)
        # Without a label map the ground counts as upright too, so it gets less of that light.
        upright = shadows_gone * (0.5 if scene.frame.labels is None else 1.0)
        red, green, blue = (1 + (factor - 1) * upright for factor in self.upright)
        image = without_shadows(scene, shadows_gone, upright=(red, green, blue))
        image = lit(image, self._light(scene, lamps, depth, lamps_on))
        sky = self.look.dimmed(ambient ** (0.8 * (depth - 1))).drawn(scene, rng)
        image = under(image, scene, sky, shadows_gone)
        if windows is not None and self.lights > 0:
            glow = cv2.convertScaleAbs(windows, alpha=0.9 * min(1.0, 2.2 * lamps_on**2 * self.lights))
            image = np.asarray(cv2.max(image, scene.full(np.asarray(glow, np.uint8))), np.uint8)
        if lamps and self.lights > 0:
            image = _with_halos(image, scene, lamps, _HALO * lamps_on * self.lights)
        return noisy(image, rng, self.noise * self.grain * min(1.5, depth))

    def _light(self, scene: Surroundings, lamps: list[Lamp], depth: float, lamps_on: float) -> Map:
        """Return the light on everything in relation to that of the day, in a thumbnail."""
        width, height = scene.small
        beam = headlights(scene) * np.float32(self.headlights * lamps_on**2)
        pool = pools(scene, lamps) * np.float32(1.6 / 255 * self.lights * lamps_on**2)
        field = np.empty((height, width, 3), np.float32)
        for channel, left in enumerate(self.ambient):
            field[..., channel] = max(left**depth, _LEAST_LIGHT)
            field[..., channel] += beam * np.float32(_BEAM[channel])
            field[..., channel] += pool * np.float32(_POOL[channel])
        return field


def headlights(scene: Surroundings) -> Map:
    """Return how strongly dipped head lights reach each pixel of a thumbnail; 1 is about daylight."""
    width, height = scene.small
    focal = np.float32(scene.view.focal)
    column = (np.arange(width, dtype=np.float32) + 0.5) * np.float32(scene.width / width) - scene.width / 2
    row = (np.arange(height, dtype=np.float32) + 0.5) * np.float32(scene.height / height)
    ahead = np.minimum(scene.small_distance, np.float32(400))
    aside = (ahead * (column / focal) - np.float32(0.3)) / (np.float32(2.2) + np.float32(0.2) * ahead)
    # The dipped beam is cut off a little below the horizon.
    down = (row - np.float32(scene.view.horizon)) / focal - np.float32(0.04)
    below = ahead * down[:, None] + np.float32(0.2)
    cut = np.float32(0.61) + np.float32(0.39) * below / (np.float32(0.5) + np.abs(below))
    fall = (1 + (ahead / np.float32(17)) ** 2) * (1 + aside * aside) ** 2
    return np.asarray(np.float32(1.5) * cut / fall, np.float32)


def _with_halos(image: Image, scene: Surroundings, lamps: list[Lamp], strength: float) -> Image:
    """Return the image with the glow round lamps, and the lamps themselves."""
    width, height = scene.small
    scale = width / scene.width
    glow = np.zeros((height, width, 3), np.float32)
    for lamp in lamps:
        if not lamp.visible:
            continue
        radius = float(np.clip(lamp.radius, 3.0, scene.width / 6)) * scale
        x, y = lamp.x * scale - 0.5, lamp.y * height / scene.height - 0.5
        x1, x2 = max(0, int(x - radius)), min(width, int(x + radius) + 2)
        y1, y2 = max(0, int(y - radius)), min(height, int(y + radius) + 2)
        if x1 >= x2 or y1 >= y2:
            continue
        away = np.hypot(np.arange(x1, x2) - x, (np.arange(y1, y2) - y)[:, None]) / max(radius, 1.0)
        halo = np.clip(1 - away, 0, 1) ** 2.2 * (strength * lamp.strength)
        glow[y1:y2, x1:x2] += halo[..., None].astype(np.float32) * np.array(lamp.colour, np.float32)
    result = np.asarray(cv2.add(image, scene.full(as_image(glow))), np.uint8)
    for lamp in lamps:
        if lamp.visible and strength > 0:
            core = max(1, round(lamp.radius * 0.09))
            colour = [min(255.0, 1.6 * strength * lamp.strength * (0.35 + 0.65 * c)) for c in lamp.colour]
            cv2.circle(result, (round(lamp.x), round(lamp.y)), core, colour, -1, cv2.LINE_AA)
    return result


@register("night", summary="the sky goes dark; lamps, windows and our own head lights are what is left")
@dataclass(frozen=True, kw_only=True)
class Night(_Darkness):
    """The scene at night: not darkened evenly, but lit by what shines there.

    Little, bluish light is left from the sky; at normal amount a tenth of the day's. Our dipped head lights
    fall on the road before us and on what stands there, less with the square of the distance. Where a label
    map tells what is what, street lamps shine at the heads of poles and throw pools of light on the ground,
    vehicles have red rear lights or white head lights, traffic lights glow in their colour, and some windows
    of buildings are lit. The shadows of the sun go. The camera gets noisy.

    Without a label map the sky and the distances are estimated from the image, and only our own head lights
    shine.
    """

    value, least_change = "night", 1400.0
    ambient = (0.096, 0.109, 0.162)
    look = SkyLook(
        zenith=(8, 11, 24),
        horizon=(24, 28, 42),
        cloud=(46, 50, 62),
        shade=(14, 17, 27),
        cover=0.4,
        contrast=0.6,
    )
    lamp_light = 1.0
    grain = 4.0


@register(
    "dusk", summary="low, warm light after sunset; the first lamps are on", aliases=("dawn", "twilight")
)
@dataclass(frozen=True, kw_only=True)
class Dusk(_Darkness):
    """The scene after sunset: a warm sky, less than half of the day's light, lamps and windows half on.

    What is known from labels and what is estimated is as for night.
    """

    value, least_change = "dusk", 970.0
    bars: ClassVar[Mapping[str, str]] = {"night": "the time is already night"}
    ambient = (0.441, 0.393, 0.438)
    upright = (1.6, 1.3, 1.08)  # the last sun is low
    look = SkyLook(
        zenith=(64, 74, 128),
        horizon=(240, 172, 118),
        cloud=(244, 176, 140),
        shade=(116, 92, 112),
        cover=0.4,
        contrast=0.55,
        glow=(70, 44, 20),
    )
    lamp_light = 0.55
    grain = 2.2
