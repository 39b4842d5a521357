"""What grows: where leaves and grass are, crowns without leaves, and grass that has withered."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from roadworthy.images import Image
from roadworthy.transforms.transform import number, register
from roadworthy.transforms.weather import _scene
from roadworthy.transforms.weather._condition import LEVELS, WeatherTransform, known
from roadworthy.transforms.weather._scene import Colour, Mask, WeatherScene
from roadworthy.transforms.weather._sky import sunshine, without_shadows
from roadworthy.transforms.weather.fog import Fog, transmission
from roadworthy.transforms.weather.precipitation import RAIN_HAZE, SNOW_HAZE, SnowCover, lying_snow
from roadworthy.transforms.wording import Numbers

_N = Numbers("winter")

_TILE = 512  # pixels
_BOUGHS = 8  # of the tile, each way
_FINE_TWIGS = 64  # how much those too small to be drawn hide, of 255
_PARTLY = 40  # of 255: leaves that hide what is behind them
_DARK = np.uint8(56)  # grey level below which colours say little
_BEFORE_TREES = ("dynamic object", "ego-vehicle", "traffic infrastructure")  # and never what lies behind
_TWIG: Colour = (98.0, 86.0, 78.0)
_SNOW: Colour = (206.0, 211.0, 219.0)
# How green, or how yellow, of 128, a pixel must be to be perhaps, and surely, a leaf: in what the label map
# calls a tree; anywhere; and where the road is thought to be, with shadows that look green beside sunlight.
_PERHAPS_GREEN, _PERHAPS_WARM = (3.0, 12.0), (20.0, 30.0)
_GREEN, _WARM = (8.0, 18.0), (38.0, 54.0)
_GREEN_ON_ROAD = (18.0, 30.0)
_ROUGH_GREEN, _ROUGH_WARM = (6.0, 16.0), (16.0, 40.0)  # eighths of a grey level between neighbours, likewise
_WITHERED: Colour = (1.02, 0.95, 0.88)  # of a withered leaf's brightness, by channel
_STRAW: Colour = (1.04, 0.94, 0.74)  # of its green, by channel


def foliage(scene: WeatherScene) -> tuple[Mask, Mask]:
    """Return how surely each pixel shows leaves, and how surely grass.

    Leaves are green, yellow or red, and grass is green. Where the label map knows of trees and terrain, a
    little colour is enough. Without one, leaves are what is rough and has their colour in a whole region
    above the horizon, for a camera looks over what is lower than itself; what is green below it is grass.
    """
    greener, warmer = _colours(scene, scene.frame.image)
    perhaps = _either(_surely(greener, *_PERHAPS_GREEN), _surely(warmer, *_PERHAPS_WARM))
    trees, terrain = scene.mask("tree"), scene.mask("terrain")
    if trees is not None and terrain is not None:
        # The street network knows terrain; what it calls a tree beside the road is a hedge.
        verge = np.zeros_like(trees) if scene.estimated else _verge(scene, trees)
        leaves = _both(_scene.widened(perhaps, 1), np.asarray(cv2.subtract(trees, verge), np.uint8))
        return leaves, _either(_both(_surely(greener, *_PERHAPS_GREEN), terrain), verge)
    # A thumbnail shows regions; to the pixel, what may be a leaf there is one.
    greener, warmer = _colours(scene, scene.thumbnail)
    rough = _roughness(scene)
    leafy = _either(
        _both(_surely(greener, *_GREEN), _surely(rough, *_ROUGH_GREEN)),
        _both(_surely(warmer, *_WARM), _surely(rough, *_ROUGH_WARM)),
    )
    grass = _surely(greener, *_GREEN)
    cv2.copyTo(_surely(greener, *_GREEN_ON_ROAD), _scene.above(scene.small_road, 127), grass)
    horizon = min(max(round(scene.small_view.horizon), 0), len(grass))
    leafy[horizon:], grass[:horizon] = 0, 0
    leaves = _both(scene.full(_opened(leafy, 5, 5)), np.asarray(cv2.bitwise_not(scene.sky), np.uint8))
    return _both(leaves, perhaps), _both(scene.full(_opened(grass, 5, 5)), perhaps)


def _verge(scene: WeatherScene, trees: Mask) -> Mask:
    """Return what a label map calls a tree and is a verge: low and wide. Many data sets have no grass."""
    low = _scene.thinned(trees, *scene.small)
    low[: min(max(round(scene.small_view.horizon + 0.02 * len(low)), 0), len(low))] = 0
    return _both(scene.full(_opened(low, max(3, scene.small[0] // 8), 1)), trees)


def _either(one: Mask, other: Mask) -> Mask:
    return np.asarray(cv2.max(one, other), np.uint8)


def _both(one: Mask, other: Mask) -> Mask:
    return np.asarray(cv2.min(one, other), np.uint8)


def _opened(mask: Mask, width: int, height: int) -> Mask:
    """Return a mask without what is smaller than so many pixels; what the picture cuts off does not count."""
    box = np.ones((height, width), np.uint8)
    found = cv2.morphologyEx(mask, cv2.MORPH_OPEN, box, borderType=cv2.BORDER_CONSTANT, borderValue=0)
    return np.asarray(found, np.uint8)


def _surely(share: Mask, low: float, high: float) -> Mask:
    """Return 0 for shares below ``low``, 255 for those above ``high``, and in between what is in between."""
    table = np.clip((np.arange(256) - low) / (high - low), 0, 1) * 255
    return np.asarray(cv2.LUT(share, np.rint(table).astype(np.uint8)), np.uint8)


def _colours(scene: WeatherScene, image: Image) -> tuple[Mask, Mask]:
    """Return how green each pixel is, and how yellow or green, both in relation to how bright it is."""
    # Single pixels have any colour, above all in the dark.
    size = max(5, image.shape[1] // 100 | 1)
    red, green, blue = cv2.split(cv2.blur(image, (size, size)))
    # A green cast of the light shows on the road, which is grey.
    cast = np.maximum(cv2.mean(scene.thumbnail, _scene.above(scene.small_road, 127))[:3], 1.0)
    gain = float(np.clip((cast[0] + cast[2]) / 2 / cast[1], 0.85, 1.0))
    green = cv2.convertScaleAbs(green, alpha=gain)
    bright = np.maximum(cv2.max(red, green), _DARK)
    # Paint that is yellow has little blue as well, but more red than green.
    than_both = cv2.subtract(green, cv2.addWeighted(red, 0.5, blue, 0.5, 0))
    more = cv2.min(than_both, cv2.addWeighted(green, 3, red, -2.85, 0))
    greener = cv2.divide(more, bright, scale=128)
    warmer = cv2.divide(cv2.subtract(green, blue), bright, scale=128)
    return np.asarray(greener, np.uint8), np.asarray(warmer, np.uint8)


def _roughness(scene: WeatherScene) -> Mask:
    """Return how much neighbours differ in a thumbnail: leaves do, walls and vehicles do not."""
    differ = cv2.absdiff(scene.small_grey, cv2.blur(scene.small_grey, (3, 3)))
    return np.asarray(cv2.blur(cv2.convertScaleAbs(differ, alpha=8), (7, 7)), np.uint8)


def withered(image: Image, where: Mask) -> Image:
    """Return the image with what is green in a mask turned to the colour of straw."""
    channel = cv2.extractChannel(image, 1)
    straw = cv2.merge([cv2.convertScaleAbs(channel, alpha=share) for share in _STRAW])
    return _scene.blended(image, np.asarray(straw, np.uint8), where)


def bared(image: Image, scene: WeatherScene, leaves: Mask, rng: Generator) -> Image:
    """Return the image with bare branches in the place of leaves, some snow on them.

    What would be seen between branches is not known; it is made of what is seen around the leaves.

    Args:
        image: RGB.
        scene: What is known about the frame.
        leaves: How surely each pixel shows leaves that have fallen.
        rng: Where the branches are.
    """
    left, top, width, height = cv2.boundingRect(leaves)
    if width == 0:
        return image
    part = np.s_[top : top + height, left : left + width]
    if not scene.frame.drawn:
        return _frosted(image, scene, leaves)
    light = scene.light * scene.light_on_ground
    crown = scene.full(_behind(image, scene, leaves))[part]
    twigs, snow = _branches(scene, rng, part)
    # The light and shade of the leaves stays, that of twigs too fine to be drawn.
    fine = scene.grey[part]
    seen = cv2.addWeighted(fine, 0.8, cv2.blur(fine, (7, 7)), -0.8, 255 * _N.between)
    seen = _scene.spread(np.asarray(cv2.multiply(seen, cv2.bitwise_not(twigs), scale=1 / 255), np.uint8))
    cv2.multiply(crown, seen, scale=1 / (255 * _N.between), dst=seen)
    planes = [
        cv2.addWeighted(twigs, dark * light / 255, snow, (white - dark) * light / 255, 0)
        for dark, white in zip(_TWIG, _SNOW, strict=True)
    ]
    result = image.copy()
    bare = np.asarray(cv2.add(seen, cv2.merge(planes)), np.uint8)
    result[part] = _scene.blended(image[part], bare, leaves[part])
    return result


def _frosted(image: Image, scene: WeatherScene, leaves: Mask) -> Image:
    """Return the image with withered leaves and rime on them: bare branches drawn over a photo are noise."""
    grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)
    brown = cv2.merge([cv2.convertScaleAbs(grey, alpha=share) for share in _WITHERED])
    rime = cv2.convertScaleAbs(scene.dusting, alpha=_N.rime)
    white = _scene.shaded(_SNOW, scene.light)
    frosted = _scene.veiled(np.asarray(brown, np.uint8), np.asarray(cv2.bitwise_not(rime), np.uint8), white)
    return _scene.blended(image, frosted, leaves)


def _behind(image: Image, scene: WeatherScene, leaves: Mask) -> Image:
    """Return what is seen around leaves, carried on into them, in a thumbnail."""
    small = np.asarray(_scene.resized(image, *scene.small), np.float32)
    hiding = _scene.above(np.asarray(_scene.resized(leaves, *scene.small), np.uint8), _PARTLY)
    before = scene.mask(*_BEFORE_TREES)
    if before is not None:
        hiding = _either(hiding, _scene.thinned(before, *scene.small))
    hiding = _scene.widened(hiding, 1)
    around = np.asarray(cv2.bitwise_not(hiding), np.uint8)
    weight = around.astype(np.float32) * np.float32(1 / 255)
    total = small * weight[..., None]
    found = np.zeros_like(small)
    left = np.ones_like(weight)
    for part in (40, 12, 4):
        size = (max(3, scene.small[0] // part) | 1, max(3, scene.small[0] // part // 2) | 1)
        share = cv2.blur(weight, size)
        sure = np.minimum(share * np.float32(6), 1)
        found += (left * sure / np.maximum(share, np.float32(1e-3)))[..., None] * cv2.blur(total, size)
        left *= 1 - sure
    found += left[..., None] * np.array(cv2.mean(small, around)[:3], np.float32)
    return np.clip(found, 0, 255).astype(np.uint8)


def _branches(scene: WeatherScene, rng: Generator, part: tuple[slice, slice]) -> tuple[Mask, Mask]:
    """Return branches and the snow on them in a part of the picture, larger where things are near."""
    top, left = (int(v) for v in rng.integers(0, _TILE, 2))
    texels = np.minimum(scene.small_distance * np.float32(_N.texels / scene.view.focal), _N.finest)
    # In steps of two: a scale that changed from pixel to pixel would bend the branches.
    step = np.clip(np.rint(np.log2(np.float32(_N.finest) / np.maximum(texels, np.float32(1e-3)))), 0, 3)
    steps = cv2.resize(step.astype(np.uint8), scene.frame.size, interpolation=cv2.INTER_NEAREST)[part]
    rows = np.arange(part[0].start, part[0].stop) + top
    columns = np.arange(part[1].start, part[1].stop) + left
    found = np.empty(steps.shape, np.uint16)
    for k in range(4):
        here = steps == k
        if here.any():
            tile = _enlarged(k)
            drawn = tile.take(rows, axis=0, mode="wrap").take(columns, axis=1, mode="wrap")
            np.copyto(found, drawn, where=here)
    both = found.view(np.uint8).reshape(*found.shape, 2)
    return np.ascontiguousarray(both[..., 0]), np.ascontiguousarray(both[..., 1])


@lru_cache(maxsize=4)
def _enlarged(step: int) -> NDArray[np.uint16]:
    """Return the tile at one of four scales; two bytes are looked up together."""
    size = round(_TILE * 2**step / _N.finest)
    interpolation = cv2.INTER_AREA if size < _TILE else cv2.INTER_LINEAR
    tile = np.asarray(cv2.resize(_thicket(), (size, size), interpolation=interpolation), np.uint8)
    return tile.view(np.uint16)[..., 0]


@lru_cache(maxsize=1)
def _thicket() -> Image:
    """Return branches, and snow on their upper sides, as two channels that repeat in both directions."""
    rng = np.random.default_rng(23)
    wide = np.zeros((3 * _TILE, 3 * _TILE), np.uint8)
    for k in range(_BOUGHS**2):
        x, y = ((cell + float(rng.uniform(0, 1))) * _TILE / _BOUGHS + _TILE for cell in divmod(k, _BOUGHS))
        _grow(wide, rng, (x, y), float(rng.uniform(-1.0, 1.0)), 85.0, 3.0)
    # Whatever leaves the tile on one side comes in on the other.
    twigs = wide.reshape(3, _TILE, 3, _TILE).max(axis=(0, 2))
    higher = np.roll(twigs, 2, axis=0)
    snow = cv2.blur(cv2.subtract(twigs, higher), (2, 2))
    return np.asarray(cv2.merge([np.maximum(cv2.blur(twigs, (2, 2)), np.uint8(_FINE_TWIGS)), snow]), np.uint8)


def _grow(
    canvas: Mask, rng: Generator, start: tuple[float, float], angle: float, length: float, wide: float
) -> None:
    """Draw a branch at an angle from upright, clockwise, and all that grows from it."""
    end = start[0] + length * math.sin(angle), start[1] - length * math.cos(angle)
    first, last = ((round(x * 16), round(y * 16)) for x, y in (start, end))
    cv2.line(canvas, first, last, 255, max(1, round(wide)), cv2.LINE_AA, 4)
    if wide < 0.7:
        return
    for k in range(4):
        at = 0.3 + 0.23 * k
        place = start[0] + (end[0] - start[0]) * at, start[1] + (end[1] - start[1]) * at
        turn = (1 if k % 2 else -1) * float(rng.uniform(0.35, 0.8))
        _grow(canvas, rng, place, angle + turn, length * float(rng.uniform(0.4, 0.6)), wide * 0.5)


_CAPPED = ("building", "traffic sign", "traffic light")
_COVER = SnowCover({"terrain": 1.05, "sidewalk": 0.72}, 0.0, 1.05, _CAPPED, cleared=True)
_LYING: Colour = (226.0, 231.0, 238.0)
_LOW_SUN: Colour = (0.90, 0.92, 0.95)  # of the light on open ground is left when the sun stands low
_UPRIGHT: Colour = (1.12, 1.10, 1.06)  # which faces the low sun, and the light of the snow


@register("winter", summary="bare trees, snow beside the road and on roofs, cold light", aliases=("wintry",))
class Winter(WeatherTransform):
    """The same place in winter, on a day without snowfall: the sky and the road stay.

    Leaves fall and give way to bare branches, through which what is around them is seen; grass withers. Snow
    lies beside the road and on roofs, thinly on the pavement and at the road's edge, and is darker where
    shadows fall. The light turns paler and colder.

    What is a crown, what is ground and what is road is known from the label map, and of a crown only what is
    green loses its leaves. Without a label map all that is green above the ground counts as a crown, and what
    is green or brown below the horizon as a verge.

    On real frames leaves wither and get rime instead of giving way to branches. Only about half of them look
    real, so they are made only if `realism` is any.

    Attributes:
        cover: How much snow lies.
        bare: How far leaves have fallen and grass has withered.
        cold: How far the light turns paler and colder.
    """

    cover: float = number(1.0, low=0, high=1)
    bare: float = number(1.0, low=0, high=1)
    cold: float = number(1.0, low=0, high=1)

    fact, value, least_change, painted = "season", "winter", 600.0, True

    def drawn(self, scene: WeatherScene, rng: Generator) -> Image:
        share = min(1.0, 1.5 * self.amount)
        original = scene.frame.image
        leaves, grass = foliage(scene)
        image = _in_cold_light(scene, share * self.cold) if self.cold > 0 else original
        if self.bare > 0:
            image = withered(image, _scaled(grass, share * self.bare))
        if self.cover > 0:
            image = _under_snow(image, scene, rng, grass, self.amount, self.cover)
        if cv2.countNonZero(scene.small_sky):
            image = _scene.blended(image, original, scene.sky)
        if self.bare > 0:
            image = bared(image, scene, _scaled(leaves, share * self.bare), rng)
        return image

    @property
    def _without_effect(self) -> str:
        return f"{self._already}, or nothing grows here"


def _scaled(mask: Mask, share: float) -> Mask:
    return mask if share >= 1 else np.asarray(cv2.convertScaleAbs(mask, alpha=share), np.uint8)


def _in_cold_light(scene: WeatherScene, amount: float) -> Image:
    """Return the image in the light of a low sun, as far as the sun shines."""
    sun = amount * (0.3 + 0.7 * sunshine(scene))

    def part(colour: Colour) -> Colour:
        red, green, blue = (1 - sun * (1 - one) for one in colour)
        return red, green, blue

    return without_shadows(scene, 0.2 * sun, light=part(_LOW_SUN), upright=part(_UPRIGHT))


def _under_snow(
    image: Image, scene: WeatherScene, rng: Generator, grass: Mask, amount: float, most: float
) -> Image:
    """Return the image with snow on the ground, lit as the ground under it is."""
    thick = min(1.15, 0.33 + amount)
    hidden = lying_snow(scene, rng, _COVER, thick=thick, caps=min(1.0, 0.4 + amount), most=most)
    more = _scaled(grass, 0.9)
    terrain = scene.mask("terrain")
    if terrain is not None:
        # Where terrain is known, the wind has left its patches.
        more = np.asarray(cv2.max(cv2.subtract(more, terrain), scene.full(_edges(scene, rng))), np.uint8)
    if scene.estimated:
        more = _both(_both(more, scene.facing_up), scene.dusting)
    hidden = np.asarray(cv2.max(hidden, _scaled(more, min(1.0, thick) * most)), np.uint8)
    haze = _extinction(scene)
    if haze > 0:
        cv2.multiply(hidden, transmission(scene, haze), scale=1 / 255, dst=hidden)
    white = _scene.shaded(_LYING, scene.light * scene.light_on_ground)
    lit = cv2.multiply(hidden, _light_on(scene, hidden), scale=1 / 255)
    snow = cv2.merge([cv2.convertScaleAbs(lit, alpha=channel / 255) for channel in white])
    seen = _scene.spread(np.asarray(cv2.bitwise_not(hidden), np.uint8))
    cv2.multiply(image, seen, scale=1 / 255, dst=seen)
    return np.asarray(cv2.add(seen, snow, dst=seen), np.uint8)


def _extinction(scene: WeatherScene) -> float:
    """Return how much light the air takes per metre, as far as the metadata tell: haze hides snow, too."""
    amount = LEVELS.get(str(scene.frame.metadata.get("level")), LEVELS["normal"])
    weather = known(scene.frame, "weather")
    if weather == "foggy":
        return Fog(amount=amount).extinction
    return amount * {"rainy": RAIN_HAZE, "snowy": SNOW_HAZE}.get(weather or "", 0.0)


def _light_on(scene: WeatherScene, hidden: Mask) -> Mask:
    """Return how brightly the snow is lit: what was dark on the ground was in the shade."""
    small = _scene.thinned(hidden, *scene.small)
    level = _scene.percentile(scene.small_grey, 0.6, _scene.above(small, 64))
    darkest = _N.darkest
    if known(scene.frame, "time") == "night" or scene.light < _N.night:
        # Where no lamp shines, neither sun nor sky does.
        level, darkest = max(level or 0.0, _N.lamplit), 0.0
    soft = cv2.blur(scene.grey, (9, 9))
    table = np.clip(np.arange(256) / max(level or 255.0, 1.0) * 1.15, darkest, 1)
    return np.asarray(cv2.LUT(soft, np.rint(255 * table).astype(np.uint8)), np.uint8)


def _edges(scene: WeatherScene, rng: Generator) -> Mask:
    """Return the thin snow along the edge of the road, in a thumbnail."""
    labels = scene.small_frame.label_map
    beside = labels.mask("terrain", "sidewalk")
    if not beside.any():
        return np.zeros(beside.shape, np.uint8)
    away = cv2.distanceTransform(np.where(beside, 0, 255).astype(np.uint8), cv2.DIST_L2, 3)
    height = len(away)
    reach = np.float32(_N.edge * scene.small_view.focal) / scene.small_view.distances(height)
    share = np.clip(1 - away / np.maximum(reach, np.float32(0.5))[:, None], 0, 1)
    share *= _scene.thinned(scene.road, *scene.small) > 127
    share *= _scene.ground_noise(scene, rng, lump=2.0)
    return np.asarray(share * 255, np.uint8)
