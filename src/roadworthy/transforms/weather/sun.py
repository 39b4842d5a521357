"""A low sun in the camera's eye, and shadows that fall across the road."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from roadworthy.images import Image
from roadworthy.transforms.perspective import Perspective
from roadworthy.transforms.transform import choice, number, register
from roadworthy.transforms.weather._condition import WeatherTransform, unfit_light
from roadworthy.transforms.weather._scene import Colour, Map, Mask, WeatherScene, spread
from roadworthy.transforms.weather._sky import as_image
from roadworthy.transforms.wording import believable

_SPIN = np.float32(0.4)  # radians: how the rays are turned
_SUNLIGHT: Colour = (255.0, 241.0, 214.0)
NO_SUN = dict.fromkeys(("rainy", "snowy", "foggy"), "the weather hides the sun")
NO_SUN["night"] = "there is no sun at night"


@register("sun-glare", summary="a low sun dazzles the camera", aliases=("sun", "glare"))
class SunGlare(WeatherTransform):
    """A low sun before the camera: a disc that saturates, a veil of scattered light, rays and reflections.

    Light that is scattered in the lens and on the windscreen adds to the whole image, most round the sun,
    and takes its contrast. Reflections between the lenses lie on the line from the sun through the centre of
    the image, and the road shines below the sun. Disc and rays are hidden where something stands before
    them: known from the label map, estimated from the image without one.

    Attributes:
        x: Where the sun is, in widths of the image from the left.
        y: Where the sun is, in heights of the image from the top.
        size: Radius of the disc, in widths of the image.
        ghosts: How bright reflections between the lenses are.
    """

    x: float = number(0.62, low=-0.5, high=1.5)
    y: float = number(0.18, low=-0.5, high=1)
    size: float = number(0.022, low=0.002, high=0.2)
    ghosts: float = number(1.0, low=0, high=3)

    fact, value = "weather", "sunny"
    bars = NO_SUN
    random = False

    def drawn(self, scene: WeatherScene, rng: Generator) -> Image:
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
        disc = np.clip((radius - away) / (np.float32(0.35) * radius) + 1, 0, 1)
        disc *= np.float32(min(1.0, 3 * amount))
        turn = np.arctan2(np.broadcast_to(down, away.shape), np.broadcast_to(across, away.shape))
        rays = np.abs(np.cos(turn * 3 + _SPIN)) ** 40
        rays += np.float32(0.5) * np.abs(np.cos(turn * 5 - _SPIN)) ** 60
        rays *= np.exp(-away / np.float32(0.10 + 0.12 * amount)) * np.float32(0.55 * amount * open_sky)
        shine = self._shine(scene, across, amount)
        light = (veil + rays + shine)[..., None] * np.array(_SUNLIGHT, np.float32)
        if self.ghosts > 0:
            self._add_ghosts(light, amount * self.ghosts * open_sky)
        return _dazzled(scene, light, disc, amount)

    def _unfit(self, scene: WeatherScene) -> str:
        return ""  # a sun may dazzle in any light

    def _open_sky(self, scene: WeatherScene) -> float:
        """Return how much of the sun is seen: 0 behind a house, 1 in the open sky or outside the image."""
        if not (0 <= self.x < 1 and 0 <= self.y < 1):
            return 0.5
        width, height = scene.small
        x, y, reach = int(self.x * width), int(self.y * height), max(1, round(self.size * width))
        around = scene.small_sky[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1]
        return float(around.mean()) / 255

    def _shine(self, scene: WeatherScene, across: Map, amount: float) -> Map:
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
        for place, radius, brightness, colour in believable()["ghosts"]:
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


def _dazzled(scene: WeatherScene, light: Map, disc: Map, amount: float) -> Image:
    """Return the image with light added, and the sun's disc where the sky is seen."""
    image = scene.frame.image
    # The camera closes its iris a little.
    darker = cv2.convertScaleAbs(image, alpha=1 - 0.18 * amount)
    result = cv2.add(darker, scene.full(as_image(light)), dst=darker)
    if not disc.any() or not scene.small_sky.any():
        return np.asarray(result, np.uint8)
    sun = scene.full((disc * 255).astype(np.uint8))
    bright = spread(np.asarray(cv2.min(sun, scene.sky), np.uint8))
    return np.asarray(cv2.add(result, bright, dst=result), np.uint8)


Points = NDArray[np.float64]

_SHADE: Colour = (0.40, 0.44, 0.52)  # what is left of the light; the sky still lights it, and that is blue
_FARTHEST = 90.0  # metres
_TURN = np.linspace(0, 2 * np.pi, 14, endpoint=False)
_CIRCLE = np.stack([np.cos(_TURN), np.sin(_TURN)], -1)
_MOST = 8  # things that throw shadows
_BLOTS = 26  # of the crown of a tree
CASTERS = ("mixed", "trees", "buildings", "poles")


@register("shadow", summary="shadows of trees, buildings or poles fall across the road", aliases=("shadows",))
class Shadow(WeatherTransform):
    """Shadows on the ground, of things beside the road that need not be in the image.

    They are laid out on the ground in metres and then seen in perspective, with soft edges; trees let spots
    of light through. They fall on the ground alone where a label map tells it; without one on all that lies
    well below the horizon, and so on vehicles there as well.

    Attributes:
        caster: What throws them.
        side: From which side of the road they fall.
        darkness: How dark they are; 0 leaves no trace.
    """

    caster: str = choice("mixed", choices=CASTERS)
    side: str = choice("either", choices=("either", "left", "right"))
    darkness: float = number(1.0, low=0, high=1.5)

    bars = NO_SUN

    def _unfit(self, scene: WeatherScene) -> str:
        return unfit_light(scene)  # where there are shadows, more may be

    def drawn(self, scene: WeatherScene, rng: Generator) -> Image:
        left = rng.random() < 0.5 if self.side == "either" else self.side == "left"
        kinds = CASTERS[1:] if self.caster == "mixed" else (self.caster,)
        mask = np.zeros(scene.small[::-1], np.uint8)
        # All are laid out, so that a larger amount adds to the shadows of a smaller one.
        for index, distance in enumerate(_places(rng)):
            kind = kinds[int(rng.integers(len(kinds)))]
            outlines, values = _outlines(kind, rng, distance, -1.0 if left else 1.0)
            if index <= self.amount * (_MOST - 1):
                _fill(mask, scene.small_view, outlines, values)
        soft = max(1, scene.small[0] // 110)
        shade = scene.full(np.asarray(cv2.blur(mask, (2 * soft + 1, soft | 1)), np.uint8))
        where = cv2.multiply(shade, scene.ground, scale=1 / 255)
        strength = min(1.0, 0.55 + 0.45 * self.amount) * self.darkness * min(1.0, 6 * self.amount)
        lacks = np.clip(strength * (1 - np.array(_SHADE)), 0.0, 1.0).tolist()
        planes = [cv2.convertScaleAbs(where, alpha=-lack, beta=255) for lack in lacks]
        return np.asarray(cv2.multiply(scene.frame.image, cv2.merge(planes), scale=1 / 255), np.uint8)


def _places(rng: Generator) -> list[float]:
    """Return how far ahead things stand: one of them near, and the others spread as the image shows them."""
    further = rng.uniform(np.log(5.0), np.log(38.0), _MOST - 1)
    return [float(rng.uniform(5.0, 9.0)), *np.exp(further).tolist()]


def _outlines(kind: str, rng: Generator, ahead: float, side: float) -> tuple[list[Points], list[int]]:
    """Return the parts of one shadow: outlines in metres to the right and ahead, and how dark each is."""
    foot = np.array([side * rng.uniform(5.0, 8.0), ahead])
    along = np.array([-side, rng.uniform(-0.35, 0.35)])
    along /= np.hypot(*along)
    across = np.array([-along[1], along[0]])
    if kind == "poles":
        return [_strip(foot, foot + along * rng.uniform(8, 14), across * 0.12)], [255]
    if kind == "buildings":
        return [_strip(foot, foot + along * rng.uniform(5.5, 10), across * rng.uniform(4, 11))], [255]
    length, crown = rng.uniform(7, 12), rng.uniform(1.6, 3.2)
    # Leaves let spots of light through: a crown is a heap of blots, some of them thin.
    centres = foot + along * length * 0.8 + rng.normal(0, 0.55 * crown, (_BLOTS, 2))
    blots = centres[:, None] + _CIRCLE * (rng.uniform(0.15, 0.42, (_BLOTS, 1, 1)) * crown)
    values = sorted(rng.integers(150, 256, _BLOTS).tolist())
    return [*blots, _strip(foot, foot + along * length * 0.6, across * 0.22)], [*values, 255]


def _strip(start: Points, end: Points, half: Points) -> Points:
    return np.stack([start - half, start + half, end + half, end - half])


def _fill(mask: Mask, view: Perspective, outlines: list[Points], values: list[int]) -> None:
    """Draw outlines on the ground into a mask, the darkest last; what is darker there already stays."""
    points = np.concatenate(outlines)
    ahead = np.clip(points[:, 1], 1.5, _FARTHEST)
    columns = mask.shape[1] / 2 + view.focal * points[:, 0] / ahead
    rows = view.horizon + view.focal * view.camera_height / ahead
    fixed = np.rint(np.clip(np.stack([columns, rows], -1), -4000, 8000) * 8).astype(np.int32)
    drawn = np.zeros_like(mask)
    ends = np.cumsum([len(outline) for outline in outlines])
    for corners, value in zip(np.split(fixed, ends[:-1]), values, strict=True):
        cv2.fillConvexPoly(drawn, corners, value, cv2.LINE_AA, 3)
    cv2.max(mask, drawn, dst=mask)
