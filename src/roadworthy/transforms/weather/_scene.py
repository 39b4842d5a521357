"""What is known or estimated about a frame before weather comes over it, and noise that lies in the scene."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame, LabelMap
from roadworthy.images import Image
from roadworthy.labelling import is_estimated
from roadworthy.ontology import VOID, ontology
from roadworthy.transforms.affine import move_boxes
from roadworthy.transforms.perspective import FAR, GROUND, ROAD, Perspective, distance_map
from roadworthy.transforms.weather._estimates import believed, hanging, vanishing_row
from roadworthy.transforms.wording import TRAVELLED, Numbers
from roadworthy.world.sky import fractal_noise

_N = Numbers("scene")

Mask = NDArray[np.uint8]  # 0 no … 255 yes
Map = NDArray[np.float32]
Colour = tuple[float, float, float]


def resized(field: NDArray[Any], width: int, height: int) -> NDArray[Any]:
    """Return a smooth field enlarged or shrunk to a size."""
    if field.shape[:2] == (height, width):
        return field
    return np.asarray(cv2.resize(field, (width, height), interpolation=cv2.INTER_LINEAR))


def thinned(values: NDArray[Any], width: int, height: int) -> NDArray[Any]:
    """Return some values of a map, those nearest to the centres of larger pixels, so that none is mixed."""
    return np.asarray(cv2.resize(values, (width, height), interpolation=cv2.INTER_NEAREST_EXACT))


def widened(mask: Mask, reach: int) -> Mask:
    """Return a mask that reaches so many pixels farther; with a negative number, less far."""
    size = 2 * abs(reach) + 1
    change = cv2.dilate if reach > 0 else cv2.erode
    return np.asarray(change(mask, np.ones((size, size), np.uint8)), np.uint8)


def above(mask: Mask, level: float) -> Mask:
    """Return where a mask exceeds a level: 255 there and 0 elsewhere."""
    return np.asarray(cv2.threshold(mask, level, 255, cv2.THRESH_BINARY)[1], np.uint8)


def percentile(values: Mask, share: float, where: Mask | None = None) -> float | None:
    """Return the value that a share of all values, or of those in a mask, does not exceed; None of none."""
    counts = np.cumsum(cv2.calcHist([values], [0], where, [256], [0, 256]).ravel())
    return float(np.searchsorted(counts, share * counts[-1])) if counts[-1] else None


def shaded(colour: Colour, light: float) -> Colour:
    """Return a colour in more or less light."""
    red, green, blue = colour
    return red * light, green * light, blue * light


def spread(mask: Mask) -> Image:
    """Return a mask as an image with three equal channels."""
    return np.asarray(cv2.cvtColor(mask, cv2.COLOR_GRAY2RGB), np.uint8)


def veiled(image: Image, seen: Mask, colour: Colour) -> Image:
    """Return the image behind a veil of one colour: as much of it as `seen` says, the rest is the veil."""
    result = spread(seen)
    cv2.multiply(image, result, scale=1 / 255, dst=result)
    return np.asarray(cv2.add(result, _veil(seen, colour), dst=result), np.uint8)


def _veil(seen: Mask, colour: Colour) -> Image:
    planes = [cv2.convertScaleAbs(seen, alpha=-channel / 255, beta=channel) for channel in colour]
    return np.asarray(cv2.merge(planes), np.uint8)


def blended(one: Image, other: Image, share: Mask) -> Image:
    """Return one image or mask with a share of another one in each pixel."""
    there = share if one.ndim == 2 else spread(share)
    result = cv2.multiply(other, there, scale=1 / 255)
    rest = cv2.bitwise_not(there)
    cv2.multiply(one, rest, scale=1 / 255, dst=rest)
    return np.asarray(cv2.add(result, rest, dst=result), np.uint8)


def covered(
    image: Image, cover: Image, share: Mask, *, darker: Mask | None = None, seen: Mask | None, air: Colour
) -> Image:
    """Return the image with a share of another one, in haze: first `blended` and then `veiled`, but faster.

    Args:
        image: RGB.
        cover: Another image, of any size.
        share: How much of it is seen in each pixel.
        darker: What is left of the brightness of the image itself; all of it when left out.
        seen: How much of both comes through the haze; None is all of it.
        air: The colour of the haze.
    """
    height, width = image.shape[:2]
    kept = np.asarray(cv2.bitwise_not(share), np.uint8)
    for factor in (darker, seen):
        if factor is not None:
            cv2.multiply(kept, factor, scale=1 / 255, dst=kept)
    result = spread(kept)
    cv2.multiply(image, result, scale=1 / 255, dst=result)
    there = spread(share if seen is None else np.asarray(cv2.multiply(share, seen, scale=1 / 255), np.uint8))
    cv2.multiply(resized(cover, width, height), there, scale=1 / 255, dst=there)
    cv2.add(result, there, dst=result)
    return result if seen is None else np.asarray(cv2.add(result, _veil(seen, air), dst=result), np.uint8)


def greyed(image: Image, amount: float) -> Image:
    """Return the image with less colour: at amount 1 it is grey."""
    if amount <= 0:
        return image
    grey = spread(np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8))
    return np.asarray(cv2.addWeighted(image, 1 - amount, grey, amount, 0, dst=grey), np.uint8)


def lit(image: Image, light: Map) -> Image:
    """Return the image multiplied by light: a smooth field with three channels, of any size."""
    height, width = image.shape[:2]
    return np.asarray(cv2.multiply(image, resized(light, width, height), dtype=cv2.CV_8U), np.uint8)


_FLAT = 16  # grey levels between neighbours in a thumbnail: more is no sky


def estimated_sky(image: Image, horizon: float) -> Mask:
    """Return where the sky seems to be in a thumbnail; nothing where no region looks like it.

    The sky is bright or blue, smooth, and hangs together with the upper edge of the image.

    Args:
        image: The thumbnail, RGB.
        horizon: The row of the horizon.
    """
    height, width = image.shape[:2]
    end = max(2, min(height, math.ceil(horizon + _N.below * height)))
    upper = image[:end]
    grey = np.asarray(cv2.cvtColor(upper, cv2.COLOR_RGB2GRAY), np.uint8)
    bright = max(80.0, 0.62 * (percentile(grey, 0.97) or 0.0))
    blueish = cv2.subtract(cv2.extractChannel(upper, 2), cv2.extractChannel(upper, 0)) > 18
    blueish &= grey > max(75.0, 0.6 * bright)
    rough = cv2.morphologyEx(grey, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8))
    may_be = ((grey > bright) | blueish) & (rough < _FLAT)
    _, parts, stats, _ = cv2.connectedComponentsWithStats(may_be.view(np.uint8), connectivity=4)
    sky = (stats[:, cv2.CC_STAT_AREA] >= _N.least * height * width) & (stats[:, cv2.CC_STAT_TOP] <= 1)
    sky[0] = False
    found = np.zeros((height, width), np.uint8)
    found[:end] = np.where(sky, np.uint8(255), np.uint8(0))[np.asarray(parts, np.int32)]
    # What is rough beside the sky, such as wires and edges of clouds, was left out.
    return np.asarray(cv2.morphologyEx(found, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8)), np.uint8)


Number = TypeVar("Number", np.uint8, np.int16)

SKY_DISTANCE = np.float32(5000)
"""Metres that stand for the sky."""

_THUMBNAIL = 320  # pixels: smooth fields such as light and haze are worked out at about this width
# How bright a pixel must be beside the sky to be partly, and wholly, sky: at its rim, and between leaves.
_MIXED, _SEEN_THROUGH = (0.40, 0.85), (0.70, 0.92)
_CAST = (0.7, 1.4)  # limits of a correction of colour


@lru_cache(maxsize=2)
def surroundings(frame: Frame) -> WeatherScene:
    """Return what is known about a frame; one frame is changed in many ways one after another."""
    return WeatherScene(frame)


class WeatherScene:
    """What is known or estimated about a frame, each fact worked out when it is first asked for.

    A thumbnail is the image made smaller by a whole number, to about 320 pixels across. What is smooth is
    worked out in it, because that takes a fraction of the time.
    """

    def __init__(self, frame: Frame) -> None:
        self.frame = believed(frame)
        self.estimated = is_estimated(frame)
        self.plain = frame.drawn or frame.labels is None
        self.width, self.height = frame.size
        step = max(1, round(self.width / _THUMBNAIL))
        self.small = max(2, -(-self.width // step)), max(2, -(-self.height // step))

    def full(self, field: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return a field of the thumbnail, or of any size, as large as the image."""
        return np.asarray(resized(field, self.width, self.height), np.uint8)

    @cached_property
    def view(self) -> Perspective:
        """How the ground is seen."""
        small, (width, height) = self.small_view, self.small
        horizon, focal = small.horizon * self.height / height, small.focal * self.width / width
        return Perspective(horizon, small.camera_height, focal)

    @cached_property
    def small_view(self) -> Perspective:
        """How the ground is seen in the thumbnail."""
        view = Perspective.of(self.small_frame)
        frame = self.frame
        if frame.labels is None and frame.depth is None and (frame.boxes is None or not len(frame.boxes)):
            row = vanishing_row(self.thumbnail)
            view = view if row is None else replace(view, horizon=row)
        return view

    @cached_property
    def thumbnail(self) -> Image:
        """The image, small."""
        return np.asarray(resized(self.frame.image, *self.small), np.uint8)

    @cached_property
    def small_grey(self) -> Mask:
        """How bright each pixel of the thumbnail is."""
        return np.asarray(cv2.cvtColor(self.thumbnail, cv2.COLOR_RGB2GRAY), np.uint8)

    @cached_property
    def colourless(self) -> bool:
        """Whether a grey camera saw it."""
        red, green, blue = cv2.split(self.thumbnail)
        even = cv2.norm(red, green, cv2.NORM_INF) == cv2.norm(red, blue, cv2.NORM_INF) == 0
        return even and bool(np.ptp(self.small_grey))

    @cached_property
    def grey(self) -> Mask:
        """How bright each pixel is."""
        return np.asarray(cv2.cvtColor(self.frame.image, cv2.COLOR_RGB2GRAY), np.uint8)

    @cached_property
    def small_frame(self) -> Frame:
        """The thumbnail with what is known about the frame."""
        frame, (width, height) = self.frame, self.small
        labels = frame.labels
        if labels is not None:
            labels = LabelMap(thinned(labels.ids, width, height), labels.classes)
        boxes = frame.boxes
        if boxes is not None:
            shrunk = np.array([[width / self.width, 0, 0], [0, height / self.height, 0]])
            boxes = move_boxes(boxes, shrunk, width, height)
        depth = None if frame.depth is None else thinned(frame.depth, width, height)
        return Frame(frame.id, self.thumbnail, labels, boxes=boxes, depth=depth)

    def by_class(
        self, values: Mapping[str, float], otherwise: float, dtype: type[Number]
    ) -> NDArray[Number] | None:
        """Return a number for each pixel's class or the nearest one above it; None without a label map."""
        labels = self.frame.labels
        if labels is None:
            return None
        table = np.full(max(256, len(labels.classes)), otherwise, dtype)
        table[: len(labels.classes)] = _by_class(labels.classes, tuple(values.items()), otherwise)
        if labels.ids.dtype == np.uint8:
            return np.asarray(cv2.LUT(labels.ids, table), dtype)
        return table[labels.ids]

    def mask(self, *classes: str) -> Mask | None:
        """Return where the label map has any of the classes or one below them; None without a label map."""
        return self.by_class(dict.fromkeys(classes, 255), 0, np.uint8)

    def known_mask(self, *classes: str) -> Mask:
        """Return where a label map, which the frame must have, shows any of the classes."""
        mask = self.mask(*classes)
        assert mask is not None
        return mask

    def _known_sky(self) -> Mask | None:
        if self.frame.labels is not None:
            return self.mask("sky")
        if self.frame.depth is not None:
            return np.isinf(self.frame.depth).view(np.uint8) * np.uint8(255)
        return None

    @cached_property
    def small_sky(self) -> Mask:
        """Where the sky is, in a thumbnail."""
        known = self._known_sky()
        if known is None:
            return estimated_sky(self.thumbnail, self.small_view.horizon)
        return np.asarray(thinned(known, *self.small), np.uint8)

    @cached_property
    def wide_sky(self) -> Mask:
        """Where the sky may be, in a thumbnail: what is rough beside it was left out of the estimate."""
        return widened(self.small_sky, max(1, 3 * self.small[0] // self.width))

    def _likeness(self) -> Callable[[float, float], Mask]:
        """Return a function that says how much each pixel has the colour of the sky.

        It takes how bright a pixel must be, in relation to the sky, to be partly and to be wholly sky.
        """
        there = above(self.small_sky, 127)
        bright = max(percentile(self.small_grey, 0.1, there) or 255.0, 1.0)
        red_of_sky, _, blue_of_sky, _ = cv2.mean(self.thumbnail, there)
        levels = np.arange(256, dtype=np.float32)
        # Leaves and trunks in the sun are bright, but they are warmer than the sky.
        warm = 12 if self.estimated else 24
        by_hue = np.clip(1 - (levels - max(red_of_sky - blue_of_sky, 0.0) - warm / 3) / warm, 0, 1) * 255
        red, _, blue = cv2.split(self.frame.image)
        hue = cv2.LUT(cv2.subtract(red, blue), by_hue.astype(np.uint8))

        def like(partly: float, wholly: float) -> Mask:
            by_light = np.clip((levels / bright - partly) / (wholly - partly), 0, 1) * 255
            return np.asarray(cv2.min(hue, cv2.LUT(self.grey, by_light.astype(np.uint8))), np.uint8)

        return like

    @cached_property
    def sky(self) -> Mask:
        """How much of each pixel is sky.

        A label map gives a tree as one blob, with sky between its leaves, and the pixels along an outline
        are part sky. So beside the known sky, in trees and in what is void, pixels that have the colour of
        the sky count as sky.
        """
        known = self._known_sky()
        if not cv2.countNonZero(self.small_sky if known is None else known):
            return np.zeros((self.height, self.width), np.uint8)
        like = self._likeness()
        if known is None:
            # The estimate is coarse: at its rim the colour decides.
            core, rim = self.full(widened(self.small_sky, -1)), self.full(self.wide_sky)
            return np.asarray(cv2.max(core, cv2.min(like(*_MIXED), rim)), np.uint8)
        mixed = cv2.min(like(*_MIXED), widened(known, max(1, round(self.width / 640))))
        airy, thin = self.mask("tree", VOID), self.mask("pole", "traffic sign", "traffic light")
        if airy is not None and thin is not None:
            if self.estimated:
                # The street network labels what it sees between leaves as sky itself, but not between twigs.
                cv2.min(airy, widened(known, max(1, self.width // 16)), dst=airy)
            airy[min(max(round(self.view.horizon), 0), self.height) :] = 0
            through = np.asarray(cv2.min(like(*_SEEN_THROUGH), airy), np.uint8)
            if not self.frame.drawn:
                # A lit wall or a board far below the sky is none of it.
                through[~hanging(through > 0, known > 0, max(3, self.width // 40))] = 0
            mixed = cv2.subtract(cv2.max(mixed, through), thin)
        found = np.asarray(cv2.max(known, mixed), np.uint8)
        return _without_specks(found) if self.estimated else found

    @cached_property
    def light(self) -> float:
        """How bright the day is, 1 for a clear one, as far as the brightest part of the image tells."""
        return float(np.clip((percentile(self.small_grey, 0.96) or 0.0) / _N.daylight, 0.15, 1.0))

    @cached_property
    def light_on_ground(self) -> float:
        """How brightly the road is lit, 1 for an open street by day; narrow ones are darker than the sky."""
        level = percentile(self.small_grey, 0.75, above(self.small_road, 127))
        return 1.0 if level is None else float(np.clip(math.sqrt(level / _N.usual_road), 0.4, 1.0))

    @cached_property
    def tone(self) -> float:
        """The exponent that makes a dark road as bright as a camera shows it where the sky is not bright."""
        level = percentile(self.small_grey, 0.5, above(self.small_road, 127))
        if self.frame.drawn or self.frame.labels is None or level is None:
            return 1.0
        level = max(level, 2.0)
        wanted = min(_N.exposed_road, 2 * level)
        return math.log(wanted / 255) / math.log(level / 255) if level < _N.exposed_road else 1.0

    @cached_property
    def distance(self) -> Map:
        """Metres to what each pixel shows, at most that of the sky: exact where depth is known."""
        if self.frame.depth is None:
            return np.asarray(resized(self.small_distance, self.width, self.height), np.float32)
        return np.minimum(distance_map(self.frame), SKY_DISTANCE)

    @cached_property
    def small_distance(self) -> Map:
        """Metres to what each pixel of a thumbnail shows, at most that of the sky."""
        if self.frame.depth is not None:
            return np.minimum(distance_map(self.small_frame), SKY_DISTANCE)
        found = self.small_street.copy()
        found[self.small_sky > 127] = SKY_DISTANCE
        return found

    @cached_property
    def small_street(self) -> Map:
        """Metres to what stands and lies there, in a thumbnail, estimated without depth."""
        width, height = self.small
        view, labels = self.small_view, self.small_frame.labels
        aside = np.arange(width, dtype=np.float32) + np.float32(0.5 - width / 2)
        walls = 1 / np.hypot(aside / np.float32(view.focal * _N.street), np.float32(1 / _N.street_end))
        ground = np.minimum(view.distances(height), np.float32(FAR))[:, None]
        found: Map = np.minimum(ground, walls)
        if labels is not None:
            found = np.minimum(distance_map(self.small_frame), SKY_DISTANCE)
            # Where their feet are hidden, things are put far too near or far; a street narrows that down.
            fixed = labels.mask("static object", VOID)
            likely = np.clip(found, walls * np.float32(0.5), walls * np.float32(4))
            found = np.minimum(np.where(fixed, _evened(likely, fixed), found), ground)
        return found

    @cached_property
    def road(self) -> Mask:
        """What one drives on; without a label map a wedge below the horizon, soft at its edges."""
        known = self.mask(*ROAD)
        return self.full(self.small_road) if known is None else known

    @property
    def soaked(self) -> Mask:
        """What gets dark in the rain: the road, and in real frames all ground, whatever a network says."""
        if self.plain or not self.estimated:
            return self.road if self.plain else self.ground
        ground = self.known_mask(*GROUND, VOID)
        ground[: min(max(round(self.view.horizon), 0), self.height)] = 0
        return self.softened(ground)

    def softened(self, mask: Mask) -> Mask:
        """Return a mask without a sharp edge where a network guessed it."""
        size = (max(3, self.width // 24),) * 2
        return np.asarray(cv2.blur(mask, size), np.uint8) if self.estimated else mask

    @cached_property
    def small_road(self) -> Mask:
        """What one drives on, in a thumbnail."""
        if self.frame.labels is not None:
            return np.asarray(thinned(self.road, *self.small), np.uint8)
        width, height = self.small
        view = self.small_view
        below = np.maximum(np.arange(height, dtype=np.float32)[:, None] + np.float32(0.5 - view.horizon), 0)
        columns = np.abs(np.arange(width, dtype=np.float32) + np.float32(0.5 - width / 2))
        # The road is about 5 metres wide to either side of us, and fades out over another 4.
        metres = columns * np.float32(view.camera_height) / (below + np.float32(1e-3))
        wedge = np.clip((9 - metres) / 4, 0, 1) * np.clip(below / np.float32(0.03 * height), 0, 1)
        return np.asarray(wedge * 255, np.uint8)

    @cached_property
    def facing_up(self) -> Mask:
        """How much of what is labelled as ground lies, as far as depth tells: bushes and banks stand up.

        What stands up is as far away as its foot, which is nearer than the ground would be there.
        """
        if self.frame.depth is None or not self.estimated:
            return np.full((self.height, self.width), 255, np.uint8)
        ground = np.minimum(self.small_view.distances(self.small[1]), SKY_DISTANCE)[:, None]
        steep = cv2.blur(ground / np.maximum(self.small_distance, np.float32(0.5)), (5, 5))
        lies = np.clip((_N.stands - steep) / (_N.stands - _N.lies), 0, 1)
        # Far away the network cannot tell a bank from a meadow.
        lies *= np.clip((_N.farthest_bank - ground) / (0.6 * _N.farthest_bank), 0, 1)
        return self.full((lies * 255).astype(np.uint8))

    @cached_property
    def dusting(self) -> Mask:
        """How much of a cover lies on what may be bushes: all where it is smooth, else on top of leaves."""
        grey = self.grey.astype(np.float32)
        size = max(5, self.width // 48 | 1)
        mean = cv2.blur(grey, (size, size))
        rough = cv2.blur(np.abs(grey - mean), (size, size)) / np.maximum(mean, 16)
        smooth = np.clip((_N.rough_bush - rough) / (_N.rough_bush - _N.smooth_lawn), 0, 1)
        on_top = np.clip((grey / np.maximum(mean, 8) - 0.75) / 0.6, 0, 1)
        return np.asarray(255 * (smooth + (1 - smooth) * on_top), np.uint8)

    @cached_property
    def cast(self) -> Colour:
        """The factors that make the road of a real frame grey, as it is under clouds and in lamplight."""
        road = above(self.small_road, 127)
        if self.frame.drawn or self.frame.labels is None or not cv2.countNonZero(road):
            return 1.0, 1.0, 1.0
        colour = np.maximum(cv2.mean(self.thumbnail, road)[:3], 8.0)
        red, green, blue = np.clip(colour.mean() / colour, *_CAST).tolist()
        return red, green, blue

    @cached_property
    def ground(self) -> Mask:
        """What lies flat: roads, sidewalks, terrain; without a label map all well below the horizon."""
        known = self.mask(*GROUND)
        if known is not None:
            return known
        # Just below the horizon there are more things than ground.
        rows = (np.arange(self.height) + 0.5 - self.view.horizon) / self.height
        column = np.clip((rows - 0.06) / 0.16, 0, 1) * 255
        return np.repeat(column.astype(np.uint8)[:, None], self.width, axis=1)


@lru_cache(maxsize=64)
def _by_class(
    classes: tuple[str, ...], known: tuple[tuple[str, float], ...], otherwise: float
) -> tuple[float, ...]:
    """Return the number of each class, or of the nearest one above it."""
    values = dict(known)
    lines = ((one,) if one == VOID else (one, *ontology().ancestors(one)) for one in classes)
    return tuple(next((values[one] for one in line if one in values), otherwise) for line in lines)


def _without_specks(sky: Mask) -> Mask:
    """Return a sky without single leaves in it, whose twigs are too thin to be seen."""
    _, top, _, high = cv2.boundingRect(sky)
    upper = sky[: top + high]
    _, parts, stats, _ = cv2.connectedComponentsWithStats(cv2.bitwise_not(above(upper, 127)))
    small = stats[:, cv2.CC_STAT_AREA] < _N.speck * sky.size
    small[0] = False
    if small.any():
        # Their rims are part sky.
        cv2.max(upper, widened(small[parts].view(np.uint8) * np.uint8(255), 2), dst=upper)
    return sky


def _evened(distance: Map, where: NDArray[np.bool_]) -> Map:
    """Return distances averaged sideways over those pixels that count: a wall has no steps."""
    wide = max(3, distance.shape[1] // 10) | 1
    share = where.astype(np.float32)
    total = cv2.blur(share / distance, (wide, 3))
    return np.asarray(cv2.blur(share, (wide, 3)) / np.maximum(total, np.float32(1e-6)), np.float32)


_TILE = 512  # pixels; a power of two, so that wrapping is one bit operation
_LUMP = 128  # pixels across the largest lumps of the tile


@lru_cache(maxsize=1)
def _clouds() -> Map:
    """Return soft noise from 0 to 1 that repeats in both directions, the same for everybody."""
    tile = fractal_noise(np.random.default_rng(7), _TILE, _TILE, _LUMP, 6)
    return np.asarray(np.clip(tile - tile.mean() + 0.5, 0, 1), np.float32)


def cloud_noise(rng: np.random.Generator, width: int, height: int, lump: float) -> Map:
    """Return soft noise from 0 to 1 whose largest lumps are about so many pixels across."""
    scale = _LUMP / max(lump, 1.0)
    down, across = (max(2, min(_TILE, round(size * scale))) for size in (height, width))
    top, left = (int(v) for v in rng.integers(0, _TILE, 2))
    tile = np.take(_clouds(), np.arange(top, top + down), axis=0, mode="wrap")
    tile = np.take(tile, np.arange(left, left + across), axis=1, mode="wrap")
    return np.asarray(resized(tile, width, height), np.float32)


def ground_noise(scene: WeatherScene, rng: np.random.Generator, lump: float = 11.0) -> Map:
    """Return soft noise from 0 to 1 that lies on the ground, in a thumbnail; lumps are in metres."""
    width, height = scene.small
    top, left = (float(v) for v in rng.uniform(0, _TILE, 2))
    # What lies on the ground stays behind when we drive on.
    top += float(str(scene.frame.metadata.get(TRAVELLED, 0))) * _LUMP / lump
    view = scene.small_view
    ahead = np.minimum(view.distances(height), np.float32(300))
    aside = (np.arange(width, dtype=np.float32) + np.float32(0.5 - width / 2)) / np.float32(view.focal)
    texels = np.float32(_LUMP / lump)
    row = (np.float32(top) + ahead * texels).astype(np.intp) & (_TILE - 1)
    column = (np.float32(left) + ahead[:, None] * (aside * texels)).astype(np.intp) & (_TILE - 1)
    noise = np.take(_clouds().ravel(), row[:, None] * _TILE + column) - np.float32(0.5)
    # Farther away lumps are smaller than pixels, and a few of them would stand for all.
    noise *= np.minimum(np.float32(4 * lump) / ahead, 1)[:, None]
    return np.asarray(noise + np.float32(0.5), np.float32)


@lru_cache(maxsize=1)
def _grain() -> Image:
    """Return camera noise of 32 levels about 128, coarser in colour than in brightness, twice each way."""
    rng = np.random.default_rng(17)
    bright = rng.normal(0, 24, (_TILE, _TILE, 1))
    colour = np.asarray(cv2.blur(rng.normal(0, 48, (_TILE, _TILE, 3)), (3, 3)))
    return np.tile(np.asarray(np.clip(np.rint(128 + bright + colour), 0, 255), np.uint8), (2, 2, 1))


def noisy(image: Image, rng: np.random.Generator, deviation: float) -> Image:
    """Return the image with camera noise of a standard deviation, in grey levels."""
    top, left = (int(v) for v in rng.integers(0, _TILE, 2))
    if deviation <= 0:
        return image
    height, width = image.shape[:2]
    grain = _grain()[top : top + min(height, _TILE), left : left + min(width, _TILE)]
    if height > _TILE or width > _TILE:
        down, across = (size - min(size, _TILE) for size in (height, width))
        grain = np.asarray(cv2.copyMakeBorder(grain, 0, down, 0, across, cv2.BORDER_WRAP), np.uint8)
    weight = deviation / 32
    return np.asarray(cv2.addWeighted(image, 1, grain, weight, -128 * weight), np.uint8)
