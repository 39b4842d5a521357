"""Skies to set in the place of the one that is seen, and the light under an overcast one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import cv2
import numpy as np

from roadworthy.images import Image
from roadworthy.transforms.perspective import ROAD
from roadworthy.transforms.weather import _scene
from roadworthy.transforms.weather._condition import known
from roadworthy.transforms.weather._scene import Colour, Map, Mask, WeatherScene
from roadworthy.transforms.wording import Numbers

_N = Numbers("skies")

_WITHOUT_SUN = (0.747, 0.761, 0.784)  # of the light on open ground is left when clouds hide the sun
_SHADE = (1.14, 1.0, 0.78)  # shadows are blue: how much of each channel they lack, in logarithms
_WHITE: Colour = (1.0, 1.0, 1.0)
_BYTES = np.maximum(np.arange(256, dtype=np.float64), 1)


def sunshine(scene: WeatherScene) -> float:
    """Return how sunny the image is thought to be, from 0 to 1."""
    weather, time = known(scene.frame, "weather"), known(scene.frame, "time")
    if time == "night" or weather in ("cloudy", "rainy", "snowy", "foggy"):
        return 0.0
    if weather == "sunny":
        return 1.0
    # Where light comes from all sides, nothing is very dark beside what is bright.
    dark, bright = (_scene.percentile(scene.small_grey, share) or 0.0 for share in (0.05, 0.95))
    return _N.unknown_sun * float(np.clip((bright - dark - 50) / 80, 0, 1))


def overcast(scene: WeatherScene, amount: float, gloom: float = 1.0) -> Image:
    """Return the image in the light of an overcast sky: no sun, soft shadows, less colour.

    Args:
        scene: What is known about the frame.
        amount: How far the light becomes so, from 0 to 1.
        gloom: A further factor of all light.
    """
    sunny = sunshine(scene)
    sun = sunny * amount
    # What was gloomy before gets little gloomier.
    gloom = 1 - (1 - gloom) * (0.3 + 0.7 * sunny)
    red, green, blue = ((1 - sun * (1 - left)) * gloom for left in _WITHOUT_SUN)
    tone = 1 - (1 - scene.tone) * amount
    image = without_shadows(scene, sun, light=(red, green, blue), neutral=_N.neutral * amount, tone=tone)
    return _scene.greyed(image, _N.less_colour * amount)


def without_shadows(
    scene: WeatherScene,
    amount: float,
    *,
    light: Colour = _WHITE,
    upright: Colour = _WHITE,
    neutral: float = 0.0,
    tone: float = 1.0,
) -> Image:
    """Return the image with what lies in the shade lifted, because light no longer comes from the sun above.

    Each kind of ground is about equally bright all over, so what is darker than most of it is in the shade,
    unless it is very dark: that is the foot of a thing. Upright things are in part turned away from the sun,
    so what is dark there is lifted a little as well.

    Args:
        scene: What is known about the frame.
        amount: How far shadows go, from 0 to 1.
        light: A factor for everything, by channel.
        upright: A further factor for what stands upright, by channel.
        neutral: How much of the colour cast of a real frame goes, from 0 to 1.
        tone: An exponent of all brightness before; below 1 what is dark gets brighter.
    """
    # One byte says how much a pixel is lifted: 0 to 127 for the ground, from 128 on for what stands upright.
    lifts = np.zeros((scene.height, scene.width), np.uint8)
    tints: Colour | None = None
    if amount > 0:
        soft = cv2.blur(scene.grey, (5, 5))
        for ground, lift in _grounds(scene):
            if (found := _sunlit(scene, ground)) is not None:
                level, tints = found[0], tints or found[1]
                sure = np.clip((_BYTES / level - 0.12) / 0.12, 0, 1)
                curve = np.log(np.clip(level / _BYTES, 1, _N.brightest_lift)) * sure * lift * amount
                cv2.copyTo(cv2.LUT(soft, np.rint(curve * _N.steps).astype(np.uint8)), ground, lifts)
        for things, lift in _things(scene):
            curve = np.log(np.clip(_N.upright_level / _BYTES, 1, _N.brightest_lift)) * lift * amount
            cv2.copyTo(cv2.LUT(soft, np.rint(128 + curve * _N.steps).astype(np.uint8)), things, lifts)
    logs = np.arange(128) / _N.steps
    factors = [
        np.concatenate([np.exp(logs * tint), np.exp(logs) * more]) * factor
        for tint, more, factor in zip(tints or _SHADE, upright, light, strict=True)
    ]
    most = max(float(factor.max()) for factor in factors)
    planes = [cv2.LUT(lifts, np.rint(factor * (255 / most)).astype(np.uint8)) for factor in factors]
    if scene.estimated and amount > 0:
        # No step shows where a network's classes meet.
        planes = [cv2.blur(one, (max(3, scene.width // 40),) * 2) for one in planes]
    image = _balanced(scene, neutral, tone)
    if amount > 0 and not scene.frame.drawn and scene.frame.labels is not None:
        image = _without_sunlit_woods(image, scene, amount)
    return np.asarray(cv2.multiply(image, cv2.merge(planes), scale=most / 255), np.uint8)


def _without_sunlit_woods(image: Image, scene: WeatherScene, amount: float) -> Image:
    """Return the image with woods and banks as dark in the sun as elsewhere, and no blue between leaves."""
    left = np.full((scene.height, scene.width), 255, np.uint8)
    for name in ("tree", "terrain"):
        grown = scene.known_mask(name)
        level = _scene.percentile(scene.small_grey, 0.5, _scene.thinned(grown, *scene.small))
        if level is not None:
            curve = np.minimum(1, (_N.sunlit_woods * max(level, _N.dark_woods) / _BYTES) ** (0.6 * amount))
            cv2.copyTo(cv2.LUT(scene.grey, np.rint(255 * curve).astype(np.uint8)), grown, left)
    woods = scene.known_mask("tree")
    bluer = cv2.subtract(cv2.extractChannel(image, 2), cv2.extractChannel(image, 0))
    gaps = cv2.bitwise_and(woods, np.asarray(cv2.convertScaleAbs(bluer, alpha=6 * amount), np.uint8))
    image = _scene.blended(image, _scene.greyed(image, 1.0), np.asarray(gaps, np.uint8))
    soft = np.asarray(cv2.blur(left, (max(3, scene.width // 40),) * 2) if scene.estimated else left, np.uint8)
    return np.asarray(cv2.multiply(image, _scene.spread(soft), scale=1 / 255), np.uint8)


def _balanced(scene: WeatherScene, amount: float, tone: float) -> Image:
    """Return the image with less of its colour cast, and in another tone; what was about white becomes so."""
    image = scene.frame.image
    levels = 255 * (np.arange(256) / 255) ** tone
    if amount <= 0 or scene.cast == _WHITE:
        return image if tone == 1 else np.asarray(cv2.LUT(image, np.rint(levels).astype(np.uint8)), np.uint8)
    tables = np.clip(np.outer(levels, np.array(scene.cast) ** amount), 0, 255)
    result = np.asarray(cv2.LUT(image, np.rint(tables).astype(np.uint8)[None]), np.uint8)
    # The road is bluer in the shade than what is white beside it, where the camera clips as well.
    darkest = cv2.min(cv2.min(*cv2.split(image)[:2]), cv2.extractChannel(image, 2))
    white = np.clip((np.arange(256) - 120) / 60, 0, 1) * 255
    warm = cv2.subtract(cv2.extractChannel(image, 0), cv2.extractChannel(image, 2))
    cold = np.clip((40 - np.arange(256)) / 20, 0, 1) * 255  # yellow paint is no white
    share = np.asarray(
        cv2.min(cv2.LUT(darkest, white.astype(np.uint8)), cv2.LUT(warm, cold.astype(np.uint8))), np.uint8
    )
    return _scene.blended(result, _scene.greyed(image, amount), share)


def _grounds(scene: WeatherScene) -> Iterator[tuple[Mask, float]]:
    """Yield where each kind of ground is, and how far shadows on it are lifted."""
    if scene.frame.labels is None:
        yield _scene.above(scene.road, 127), 0.5
        return
    # Paint on a real road is lifted as what is around it, else a faint line in the shade ends up darker.
    road = ("road", "lane") if scene.frame.drawn else ROAD
    for classes, lift in ((road, 0.95), (("sidewalk",), 0.8), (("terrain",), 0.4)):
        yield scene.known_mask(*classes), lift


def _things(scene: WeatherScene) -> Iterator[tuple[Mask, float]]:
    """Yield where things stand upright, and how far they are lifted; trees are dark in any light."""
    if scene.frame.labels is None:
        # Neither edge has to be sharp, for the factors on both sides differ little.
        sky = cv2.resize(scene.small_sky, scene.frame.size, interpolation=cv2.INTER_NEAREST)
        yield np.asarray(cv2.bitwise_not(cv2.max(_scene.above(scene.road, 127), sky)), np.uint8), 0.3
        return
    built = scene.known_mask("building", "dynamic object", "pole", "traffic sign", "traffic light")
    trees = scene.known_mask("tree")
    yield trees, 0.0
    walls = _scene.percentile(scene.small_grey, _N.dark_walls, _scene.thinned(built, *scene.small))
    if walls is not None and not (scene.frame.drawn or scene.estimated):
        # Who labels by hand calls bare twigs trees, through which walls are seen, and not leaves.
        red, green, blue = cv2.split(cv2.blur(scene.frame.image, (9, 9)))
        bare = cv2.bitwise_and(trees, _scene.above(np.asarray(cv2.max(green, red), np.uint8), walls))
        built = np.asarray(cv2.max(built, np.where(green > cv2.max(red, blue), np.uint8(0), bare)))
    yield built, 0.6


def _sunlit(scene: WeatherScene, ground: Mask) -> tuple[float, Colour | None] | None:
    """Return how bright some ground is in the sun, and how much of each channel its shade, if any, lacks."""
    small = _scene.thinned(ground, *scene.small)
    pixels = cv2.countNonZero(small)
    level = _scene.percentile(scene.small_grey, 0.7, small)
    if level is None or pixels < 16 or level < 1:
        return None
    grey = scene.small_grey
    lit_part = cv2.bitwise_and(small, _scene.above(grey, 0.9 * level))
    dark = cv2.bitwise_not(_scene.above(grey, 0.7 * level))
    shade = cv2.bitwise_and(cv2.bitwise_and(small, _scene.above(grey, 0.25 * level)), dark)
    if cv2.countNonZero(shade) < 0.02 * pixels:
        return level, None
    in_sun, in_shade = (np.maximum(cv2.mean(scene.thumbnail, part)[:3], 1.0) for part in (lit_part, shade))
    lack = np.log(in_sun / in_shade)
    red, green, blue = np.clip(lack / max(float(lack.mean()), 1e-3), 0.5, 1.5).tolist()
    return level, (red, green, blue)


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
        glow = None if self.glow is None else _scene.shaded(self.glow, light)
        dimmed = self._with_colours(lambda colour: _scene.shaded(colour, light))
        return replace(dimmed, contrast=self.contrast if contrast is None else contrast, glow=glow)

    def behind(self, veil: Colour, share: float) -> SkyLook:
        """Return the same sky with a veil of one colour before it."""

        def seen(colour: Colour) -> Colour:
            pairs = zip(colour, veil, strict=True)
            red, green, blue = (own * (1 - share) + other * share for own, other in pairs)
            return red, green, blue

        return self._with_colours(seen)

    def _with_colours(self, change: Callable[[Colour], Colour]) -> SkyLook:
        zenith, horizon, cloud, shade = map(change, (self.zenith, self.horizon, self.cloud, self.shade))
        return replace(self, zenith=zenith, horizon=horizon, cloud=cloud, shade=shade)

    def drawn(self, scene: WeatherScene, rng: np.random.Generator) -> Image:
        """Return the sky for the whole picture, as small as the scene's thumbnail."""
        # A sky has nothing fine in it.
        width, height = (max(2, size // 2) for size in scene.small)
        rows = (np.arange(height, dtype=np.float32) + np.float32(0.5)) * np.float32(scene.height / height)
        climb = np.clip((np.float32(scene.view.horizon) - rows) / np.float32(scene.view.focal), 0.0, None)
        up = np.minimum(climb / np.float32(_N.top), 1)[:, None, None]
        sky = np.repeat(_between(self.horizon, self.zenith, up ** np.float32(0.6)), width, axis=1)
        if self.glow is not None:
            across = (np.arange(width, dtype=np.float32) + np.float32(0.5)) / np.float32(width)
            turn = (across - np.float32(rng.uniform(-0.3, 1.3))) * np.float32(scene.width / scene.view.focal)
            shine = np.exp(np.float32(-2.2) * np.hypot(turn, 1.5 * climb[:, None]))
            sky += shine[..., None] * np.array(self.glow, np.float32)
        noise = _scene.cloud_noise(rng, width, height, width / 2.2)
        higher = np.roll(noise, max(1, height // 14), axis=0)
        # Clouds are bright above and dark below, and fade out towards the horizon.
        dense = np.clip((noise - np.float32(0.62 - 0.36 * self.cover)) * 3, 0, 1)[..., None]
        dense = dense * np.minimum(up * 5, 1) * np.float32(self.contrast)
        side = np.clip(np.float32(0.62) + (noise - higher) * np.float32(2.4), 0, 1)[..., None]
        sky += (_between(self.shade, self.cloud, side) - sky) * dense
        return np.asarray(_scene.resized(as_image(sky), *scene.small), np.uint8)


def _between(one: Colour, other: Colour, share: Map) -> Map:
    first, second = (np.array(colour, np.float32) for colour in (one, other))
    return np.asarray(first + (second - first) * share, np.float32)


def under(image: Image, scene: WeatherScene, sky: Image, amount: float) -> Image:
    """Return the image with another sky; `amount` says how far it takes the place of the one that is seen."""
    share = sky_share(scene, amount)
    if not cv2.countNonZero(share):
        return image
    return _scene.blended(image, scene.full(sky), share)


def sky_share(scene: WeatherScene, amount: float) -> Mask:
    """Return how much of each pixel is to be another sky."""
    return scene.sky if amount >= 1 else np.asarray(cv2.convertScaleAbs(scene.sky, alpha=amount), np.uint8)


def as_image(field: Map) -> Image:
    """Return a field of colours in bytes."""
    return np.clip(field, 0, 255).astype(np.uint8)
