"""Putting cut-outs into a frame so that light, shadow, blur and grain fit; and the edit that adds one.

Only the window of the thing and its shadow is looked at; everything outside it stays as it is, bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import NotApplicable
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.images import Image, Mask
from roadworthy.ontology import ontology
from roadworthy.transforms.objects.gallery import CutOut, Gallery
from roadworthy.transforms.objects.placement import CutOutPlace, Views, find_place
from roadworthy.transforms.objects.request import (
    RELATIONS,
    ROADSIDE,
    SIDES,
    Draws,
    Edited,
    ObjectEdit,
    Request,
    plan_of,
)
from roadworthy.transforms.objects.surroundings import GroundSurroundings, Window, surroundings
from roadworthy.transforms.perspective import GROUND
from roadworthy.transforms.transform import Presets, choice, number, register, word
from roadworthy.transforms.wording import metadata_with

Floats = NDArray[np.float32]

_HAZY = {"foggy": 0.15, "snowy": 0.025, "rainy": 0.02}  # the thickest haze of each weather, 1/m
_GAIN = (0.06, 2.5)  # how much darker or brighter a cut-out may become
_TINT = (0.75, 1.35)  # how much a channel may differ from the others in that
_TRUST = 0.9  # how far the light follows the ground, whose own colour is not known
_SHADE = {True: 0.72, False: 0.5}  # how dark the ground is under a vehicle, and at the foot of other things
_CLEARANCE = 0.35  # metres under a vehicle
_LAMPS = 0.6  # at night, lamps light the ground before them more than what stands on it
_SHARPEST = 0.35  # pixels of blur that no image is without
_QUIETEST = 0.3  # levels of noise that nobody sees
_FAINTEST = 0.004  # share of a pixel below which nothing of a thing is seen
_DIMMED = 0.1  # how much darker a lamp looks at most, next to those of daylight
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)


@dataclass(frozen=True, slots=True)
class Look:
    """What a camera made of a scene: the blur of sharp edges in pixels, and its noise in grey levels."""

    blur: float
    noise: float


@dataclass(frozen=True, slots=True)
class Haze:
    """Air that hides what is far away: how much light it swallows for each metre, and its own colour."""

    density: float
    color: tuple[float, float, float]
    ground: tuple[float, float, float]  # colour of the road where no haze is before it

    def clear(self, distance: float) -> float:
        """Return the share of light that comes through."""
        return math.exp(-self.density * distance)


def composited(site: GroundSurroundings, place: CutOutPlace, rng: np.random.Generator) -> Edited:
    """Put a cut-out into a frame at a place: image, label map, instances, boxes and depth.

    Args:
        site: The surroundings of the frame.
        place: What goes where.
        rng: For the noise of the camera.
    """
    frame = site.frame
    look = look_of(frame)
    patch, inside = _sized(place, look, frame)
    alpha: Floats = patch[..., 3] / np.float32(255)
    hidden = site.in_front(inside, place.distance, place.window[3])
    image = frame.image.copy()
    region = np.zeros(image.shape[:2], np.bool_)
    _draw_shadow(image, region, site, place)
    cover = np.where(hidden, np.float32(0), alpha)
    _draw_thing(image, region, site, place, inside, patch, cover, look, rng)
    solid = alpha > 0.5
    changes = _new_truth(frame, place, inside, solid, solid & ~hidden)
    metadata = metadata_with(frame, _note(place))
    return Edited(frame.replace(image=image, metadata=metadata, **changes), region)


def _sized(place: CutOutPlace, look: Look, frame: Frame) -> tuple[Floats, Window]:
    """Return the cut-out as large and as blurred as it is seen, and the window of the image that it is in.

    Colours are multiplied by alpha. Blur spreads it by a few pixels, as far as the image goes.
    """
    left, top, right, bottom = place.window
    scaled = place.cut_out.scaled(bottom - top, right - left, place.mirrored)
    patch: Floats = scaled.astype(np.float32)
    spread = 0
    if look.blur > _SHARPEST:
        # What is made smaller is about a third of a pixel sharp by itself.
        blur = math.sqrt(look.blur**2 - 0.33**2)
        spread = math.ceil(2 * blur)
        wider = cv2.copyMakeBorder(patch, spread, spread, spread, spread, cv2.BORDER_CONSTANT, value=0)
        patch = np.asarray(cv2.GaussianBlur(wider, (0, 0), blur), np.float32)
    left, top, right, bottom = left - spread, top - spread, right + spread, bottom + spread
    inside = (max(0, left), max(0, top), min(frame.width, right), min(frame.height, bottom))
    return patch[inside[1] - top : inside[3] - top, inside[0] - left : inside[2] - left], inside


def _note(place: CutOutPlace) -> dict[str, object]:
    """Return what was added: what, where and how far away."""
    return {
        "element": place.cut_out.element,
        "properties": place.cut_out.properties,
        "cut_out": place.cut_out.name,
        "mirrored": place.mirrored,
        "side": place.side,
        "distance": round(place.distance, 3),
        "box": place.window,
        "foot": place.foot,
    }


def _draw_thing(
    image: Image,
    region: Mask,
    site: GroundSurroundings,
    place: CutOutPlace,
    inside: Window,
    patch: Floats,
    cover: Floats,
    look: Look,
    rng: np.random.Generator,
) -> None:
    """Draw the cut-out in the light of the scene, as far as it covers each pixel."""
    gain, lift = _light(site, place)
    alpha = patch[..., 3:] / np.float32(255)
    colors = patch[..., :3] * gain
    if place.cut_out.element == "traffic light":
        # A lamp shines by itself, however dark it is around.
        lit = _lit(patch)[..., None]
        colors += lit * (patch[..., :3] * np.maximum(gain, 1 - _DIMMED) - colors)
    colors += alpha * lift
    if look.noise > _QUIETEST:
        noise = rng.standard_normal(cover.shape, dtype=np.float32) * np.float32(look.noise)
        colors += noise[..., None] * alpha
    there = (slice(inside[1], inside[3]), slice(inside[0], inside[2]))
    window = image[there]
    mixed = window * (1 - cover)[..., None] + np.where(cover[..., None] > 0, colors, np.float32(0))
    touched = cover > _FAINTEST
    window[touched] = np.clip(np.rint(mixed), 0, 255).astype(np.uint8)[touched]
    region[there] |= touched


def _lit(patch: Floats) -> Floats:
    """Return how far each pixel of a traffic light belongs to a lit lamp: it is bright, of a clear colour."""
    brightest, darkest = patch[..., :3].max(axis=2), patch[..., :3].min(axis=2)
    bright, clear = (brightest - 120) / 60, (brightest - darkest - 50) / 50
    return np.asarray(np.clip(bright, 0, 1) * np.clip(clear, 0, 1), np.float32)


def _light(site: GroundSurroundings, place: CutOutPlace) -> tuple[Floats, Floats]:
    """Return by what to multiply the colours of a cut-out, and what to add, so that they fit the scene."""
    haze = haze_of(site)
    clear = 1.0 if haze is None else haze.clear(place.distance)
    target = np.array(
        site.ground_color(place.window, place.cut_out.height) if haze is None else haze.ground, np.float32
    )
    ratio = (np.maximum(target, 1) / np.maximum(np.array(place.cut_out.ambience, np.float32), 1)) ** _TRUST
    if _is_night(site.frame):
        ratio *= np.float32(_LAMPS)
    luma = float(np.clip(ratio @ _LUMA, *_GAIN))
    tint = np.clip(ratio / max(float(ratio @ _LUMA), 1e-3), *_TINT)
    lift = (
        np.zeros(3, np.float32) if haze is None else np.array(haze.color, np.float32) * np.float32(1 - clear)
    )
    return (luma * tint * clear).astype(np.float32), lift


def _is_night(frame: Frame) -> bool:
    """Return whether a frame shows the night: it says so, or its upper half, where the sky is, is dark."""
    time = frame.metadata.get("time")
    if time is not None:
        return time == "night"
    return sum(cv2.mean(frame.image[: max(1, frame.height // 2)])[:3]) / 3 < 30


def _draw_shadow(image: Image, region: Mask, site: GroundSurroundings, place: CutOutPlace) -> None:
    """Darken the ground where a thing stands: little light from the sky reaches it there."""
    frame = site.frame
    scale = (place.window[3] - place.window[1]) / place.cut_out.height
    bottom = place.window[3]
    below = max(1.0, bottom - site.view.horizon)
    # Rows for each metre of ground before and behind the foot.
    flat = below**2 / (site.view.focal * site.view.camera_height)
    low, high = place.foot
    middle = (low + high) / 2
    wide = ontology().is_a(place.cut_out.element, "vehicle")
    if wide:
        # The whole ground under it is dark, as far up as one sees it between the wheels.
        across, up, down = (high - low) / 2, _CLEARANCE * scale, 0.1 * flat + 0.5
    else:
        across, up, down = (high - low) / 2 + 0.14 * scale, 0.32 * flat + 0.5, 0.12 * flat + 0.5
    soft_x, soft_y = max(1.0, 0.12 * scale), max(0.8, 0.14 * flat)
    x1, x2 = (
        max(0, math.floor(middle - across - soft_x)),
        min(frame.width, math.ceil(middle + across + soft_x)),
    )
    y1, y2 = max(0, math.floor(bottom - up - soft_y)), min(frame.height, math.ceil(bottom + down + soft_y))
    if x1 >= x2 or y1 >= y2:
        return
    columns = np.abs(np.arange(x1, x2, dtype=np.float32) + 0.5 - middle)[None, :]
    rows = np.abs(np.arange(y1, y2, dtype=np.float32) + 0.5 - bottom + (up - down) / 2)[:, None]
    if wide:
        strength = _ramp((across - columns) / soft_x) * _ramp(((up + down) / 2 - rows) / soft_y)
    else:
        radius = np.hypot(columns / (across + soft_x), rows / ((up + down) / 2 + soft_y))
        strength = np.clip(1.25 * (1 - radius**2), 0, 1)
    ground = site.is_any(GROUND)[site.labels.ids[y1:y2, x1:x2]]
    night = _is_night(frame)
    haze = haze_of(site)
    share = _SHADE[wide] * (0.55 if night else 1.0) * (1.0 if haze is None else haze.clear(place.distance))
    strength = strength * ground * np.float32(share)
    window = image[y1:y2, x1:x2]
    touched = strength > 0.004
    darker = np.rint(window * (1 - strength)[..., None]).astype(np.uint8)
    window[touched] = darker[touched]
    region[y1:y2, x1:x2] = touched


def _ramp(value: Floats) -> Floats:
    """Return a smooth step from 0 at -1 to 1 at 1."""
    share = np.clip(value / 2 + 0.5, 0, 1)
    return np.asarray(share * share * (3 - 2 * share), np.float32)


# One frame is changed in many ways one after another.
@lru_cache(maxsize=4)
def look_of(frame: Frame) -> Look:
    """Measure blur and noise of a frame's image.

    At a sharp edge one step between neighbours is most of the whole difference; the more it is blurred, the
    smaller is its share. Noise is what is left where the image is flat.
    """
    height, width = frame.height, frame.width
    # A band around the horizon holds the things of the scene; not more than needed of it.
    top, bottom = round(0.3 * height), max(round(0.75 * height), round(0.3 * height) + 2)
    step = max(1, (bottom - top) // 40)
    grey = cv2.cvtColor(np.ascontiguousarray(frame.image[top:bottom:step]), cv2.COLOR_RGB2GRAY).astype(
        np.float32
    )
    if width < 8 or len(grey) < 4:
        return Look(_SHARPEST, 0.0)
    difference = np.diff(grey, axis=1)
    whole = np.abs(grey[:, 3:] - grey[:, :-3])
    strong = whole > 40
    blur = _SHARPEST
    if np.count_nonzero(strong) >= 20:
        share = _quantile(np.abs(difference[:, 1:-1])[strong] / whole[strong], 0.8)
        blur = float(np.interp(-min(share, 1.0), *_BLUR_CURVE))
    # The second difference does not see slopes; in the flattest parts of an image it sees nothing but noise.
    second = np.abs(difference[:, 1:] - difference[:, :-1])
    blocks = second[:, : second.shape[1] // 16 * 16].reshape(len(grey), -1, 16)
    flattest = _quantile(blocks.mean(axis=2).ravel(), 0.1) if blocks.size else 0.0
    return Look(blur, min(flattest / math.sqrt(6 * 2 / math.pi), 12.0))


def _quantile(values: Floats, share: float) -> float:
    """Return the value below which a share of the values lies; NumPy's own interpolates, and takes longer."""
    place = int(share * (len(values) - 1))
    return float(np.partition(values, place)[place])


def _blur_curve() -> tuple[list[float], list[float]]:
    """Return the share of the middle step at an edge of three, negative so that it grows, and the blur."""
    blurs = [_SHARPEST, 0.5, 0.65, 0.8, 1.0, 1.3, 1.7, 2.2]
    shares = [math.erf(0.5 / (blur * math.sqrt(2))) / math.erf(1.5 / (blur * math.sqrt(2))) for blur in blurs]
    return [-share for share in shares], blurs


_BLUR_CURVE = _blur_curve()


@lru_cache(maxsize=2)
def haze_of(site: GroundSurroundings) -> Haze | None:
    """Measure the haze of a frame that is known to be foggy, rainy or snowy; None where there is none.

    The road has one colour, so how its colour changes with the distance shows the haze before it.
    """
    thickest = _HAZY.get(str(site.frame.metadata.get("weather")))
    if thickest is None:
        return None
    road = site.is_any(("road",))[site.labels.ids[site.rows]]
    counts = np.count_nonzero(road, axis=1)
    index = np.flatnonzero(counts >= 3)
    if len(index) < 8:
        return None
    sums = (site.frame.image[site.rows[index]] * road[index][..., None]).sum(axis=1, dtype=np.float64)
    colors = sums / counts[index][:, None]
    distance = site.view.focal / site.scale[index]
    centred = colors - colors.mean(axis=0)
    spread = float((centred**2).sum())
    # For each density a straight line of colour over the light that comes through.
    densities = np.geomspace(0.004, thickest, 24)
    through = np.exp(-densities[:, None] * distance)
    level = through - through.mean(axis=1, keepdims=True)
    slopes = level @ centred / np.maximum((level**2).sum(axis=1, keepdims=True), 1e-12)
    errors = ((centred - level[..., None] * slopes[:, None]) ** 2).sum(axis=(1, 2))
    best = int(errors.argmin())
    air = colors.mean(axis=0) - through[best].mean() * slopes[best]
    red, green, blue = np.clip(air, 0, 255).tolist()
    ground = np.clip(air + slopes[best], 0, 255).tolist()
    haze = Haze(float(densities[best]), (red, green, blue), tuple(ground))
    error = float(errors[best])
    # Where the colour of the road hardly follows the law, it is paint or light that changes it.
    explains = error < 0.3 * spread and np.abs(np.subtract(haze.color, haze.ground)).max() > 12
    return haze if explains else None


def _new_truth(
    frame: Frame, place: CutOutPlace, inside: Window, solid: Mask, shown: Mask
) -> dict[str, object]:
    """Return what is known about the frame now: the thing is there, and hides what is behind it."""
    left, top, right, bottom = inside
    window = (slice(top, bottom), slice(left, right))
    changes: dict[str, object] = {}
    if frame.labels is not None:
        changes["labels"] = _with_labels(frame.labels, place, inside, shown)
    number = 0
    if frame.instances is not None:
        instances = frame.instances.copy()
        number = int(instances.max()) + 1
        if frame.boxes is not None and frame.boxes.track_ids is not None and len(frame.boxes):
            number = max(number, int(frame.boxes.track_ids.max()) + 1)
        if number > np.iinfo(instances.dtype).max:
            instances = instances.astype(np.int32)
        instances[window][shown] = number
        changes["instances"] = instances
    if frame.boxes is not None:
        changes["boxes"] = _with_boxes(frame, place, inside, solid, shown, number)
    if frame.depth is not None:
        depth = frame.depth.copy()
        depth[window][shown] = place.distance
        changes["depth"] = depth
    return changes


def _with_labels(labels: LabelMap, place: CutOutPlace, inside: Window, shown: Mask) -> LabelMap:
    left, top, right, bottom = place.window
    parts = place.cut_out.scaled_parts(bottom - top, right - left, place.mirrored)
    names = place.cut_out.part_names if parts is not None else (place.cut_out.element,)
    classes = labels.classes + tuple(name for name in dict.fromkeys(names) if name not in labels.classes)
    ids = labels.ids.copy()
    if len(classes) > 256:
        ids = ids.astype(np.uint16)
    numbers = np.array([classes.index(name) for name in names], ids.dtype)
    window = ids[inside[1] : inside[3], inside[0] : inside[2]]
    if parts is None:
        window[shown] = numbers[0]
    else:
        # Where blur made a thing larger, it is what it is at its edge.
        rows = np.clip(np.arange(inside[1], inside[3]) - top, 0, len(parts) - 1)
        columns = np.clip(np.arange(inside[0], inside[2]) - left, 0, parts.shape[1] - 1)
        window[shown] = numbers[parts[np.ix_(rows, columns)]][shown]
    return LabelMap(ids, classes)


def _with_boxes(
    frame: Frame, place: CutOutPlace, inside: Window, solid: Mask, shown: Mask, number: int
) -> Boxes:
    """Return the boxes with that of the new thing, and with what it hides of the others."""
    boxes = frame.boxes
    assert boxes is not None
    corners, occlusion, kept = _hidden_by(frame, boxes, inside, shown)
    rows, columns = np.flatnonzero(shown.any(axis=1)), np.flatnonzero(shown.any(axis=0))
    if not len(rows):
        return boxes
    x, y = inside[0], inside[1]
    new = (x + columns[0], y + rows[0], x + columns[-1] + 1, y + rows[-1] + 1)
    left, top, right, bottom = place.window
    wide, high = min(right, frame.width) - max(left, 0), min(bottom, frame.height) - max(top, 0)
    within = wide * high / ((right - left) * (bottom - top))
    hidden = 1 - np.count_nonzero(shown) / np.count_nonzero(solid)
    tracked = boxes.track_ids is not None if len(boxes) else frame.instances is not None

    def column(values: NDArray[np.generic] | None, value: float) -> NDArray[np.generic] | None:
        return None if values is None else np.append(values[kept], value)

    unknown = np.full(len(boxes), np.nan)
    return Boxes(
        np.vstack([corners[kept], new]),
        [*(name for name, keep in zip(boxes.classes, kept, strict=True) if keep), place.cut_out.element],
        scores=column(boxes.scores, 1.0),
        track_ids=column(
            boxes.track_ids if len(boxes) else np.empty(0, np.int64), _free_number(frame, number)
        )
        if tracked
        else None,
        occlusion=column(occlusion, hidden),
        truncation=column(unknown if boxes.truncation is None else boxes.truncation, 1 - within),
        attributes=[
            *(facts for facts, keep in zip(boxes.attributes, kept, strict=True) if keep),
            place.cut_out.properties,
        ],
    )


def _free_number(frame: Frame, number: int) -> int:
    """Return the number of the new thing: that in the instance map, or one that no box has."""
    assert frame.boxes is not None
    if number or frame.boxes.track_ids is None or not len(frame.boxes):
        return max(number, 1)
    return int(frame.boxes.track_ids.max()) + 1


def _hidden_by(
    frame: Frame, boxes: Boxes, inside: Window, shown: Mask
) -> tuple[NDArray[np.float64], NDArray[np.float64], Mask]:
    """Return corners and occlusion of the boxes that were there, and which of them can still be seen."""
    left, top, right, bottom = inside
    corners = boxes.xyxy.astype(np.float64)
    occlusion = np.full(len(boxes), np.nan) if boxes.occlusion is None else boxes.occlusion.astype(np.float64)
    kept = np.ones(len(boxes), np.bool_)
    meets = (
        (corners[:, 0] < right) & (corners[:, 2] > left) & (corners[:, 1] < bottom) & (corners[:, 3] > top)
    )
    exact = frame.instances is not None and boxes.track_ids is not None
    for index in np.flatnonzero(meets).tolist():
        x1, y1 = (max(0, math.floor(value)) for value in corners[index, :2].tolist())
        x2, y2 = (math.ceil(value) for value in corners[index, 2:].tolist())
        x2, y2 = min(x2, frame.width), min(y2, frame.height)
        before = np.ones((max(0, y2 - y1), max(0, x2 - x1)), np.bool_)
        if frame.instances is not None and boxes.track_ids is not None:
            before = frame.instances[y1:y2, x1:x2] == boxes.track_ids[index]
        after = before.copy()
        a, b, c, d = max(x1, left), max(y1, top), min(x2, right), min(y2, bottom)
        after[b - y1 : d - y1, a - x1 : c - x1] &= ~shown[b - top : d - top, a - left : c - left]
        total, still = np.count_nonzero(before), np.count_nonzero(after)
        if not total or still == total:
            continue
        # Where it was not known how much is hidden, what is hidden now is the least that is.
        occlusion[index] = 1 - (1 - np.nan_to_num(occlusion[index])) * still / total
        kept[index] = still > 0
        if exact and still:
            rows, columns = np.flatnonzero(after.any(axis=1)), np.flatnonzero(after.any(axis=0))
            corners[index] = (x1 + columns[0], y1 + rows[0], x1 + columns[-1] + 1, y1 + rows[-1] + 1)
    return corners, occlusion, kept


_LEAST_CONTRAST = (
    32  # levels: a thing that differs less from what it hides can hardly be seen, as in the dark
)


@register("add", summary="a thing stands in the frame that was not there, in the right place, size and light")
class Add(ObjectEdit):
    """A thing of an ontology element, cut out of another picture, stands in the frame.

    - ``on`` the roadside, road, lane, sidewalk, crosswalk or terrain: with the whole foot on it. At the
      roadside things stand beside the road, vehicles if they can on the side on which one drives;
      bicyclists ride on the road's edge.
    - ``in front of`` the ego-vehicle is ahead on our lane, ``beside`` it on the next.
    - ``in front of``, ``behind`` and ``beside`` other things are meant as seen from the camera.
    - ``closer`` and ``farther`` place what ``on`` would place, with the same seed, nearer or farther away;
      with things as reference, nearer or farther away than the largest of them.

    The same seed gives the same thing on the same side at any distance. What it is and where it
    stands is noted in ``metadata["added"]``; the place is left out of it when the image moves later.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.transforms import make_transform
        >>> frame = load("world:town", count=1)[0]
        >>> changed = make_transform("add", element="pedestrian")(frame, 1)
        >>> len(changed.boxes) - len(frame.boxes)
        1
    """

    element: str = word("pedestrian", "What is added: words of the ontology, such as red car.")
    relation: str = choice("on", "How it stands to the reference.", RELATIONS)
    reference: str = word(
        ROADSIDE, "A place (roadside, road, lane, sidewalk, crosswalk, terrain), ego-vehicle, or things."
    )
    side: str = choice("either", "On which side of our path, or of the reference.", SIDES)
    distance: float = number(0, "From the camera; 0 leaves it open.", low=0, high=100, unit="m")
    gallery: str = word("shipped", "Where cut-outs come from: shipped, or folders joined by commas.")

    presets: ClassVar[Presets] = {
        "pedestrian": {"element": "pedestrian"},
        "pedestrian-ahead": {"element": "pedestrian", "relation": "in front of", "reference": "ego-vehicle"},
        "bicyclist": {"element": "bicyclist"},
        "vehicle-ahead": {"element": "vehicle", "relation": "in front of", "reference": "ego-vehicle"},
        "speed-limit-sign": {"element": "speed limit sign"},
        "traffic-light": {"element": "traffic light"},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        for things in self._things.values():
            plan_of(self._request(things[0][0].element))

    @property
    def _things(self) -> dict[str, tuple[Views, ...]]:
        return _things(self.element, Gallery.opened(self.gallery))

    def _request(self, element: str) -> Request:
        return Request(element, self.relation, self.reference, self.side, self.distance)

    def edit(self, frame: Frame, rng: np.random.Generator) -> Edited:
        draws = Draws.of(rng)
        by_element = self._things
        element = list(by_element)[int(draws.thing * len(by_element))]
        site = surroundings(frame)
        place = find_place(site, by_element[element], self._request(element), draws)
        edited = composited(site, place, rng)
        if cv2.norm(frame.image, edited.frame.image, cv2.NORM_INF) < _LEAST_CONTRAST:
            raise NotApplicable("the added object would not stand out from its background")
        return edited


@lru_cache(maxsize=64)
def _things(words: str, gallery: Gallery) -> dict[str, tuple[Views, ...]]:
    """Return the things of a gallery that fit a description, by their elements, each with all its views."""
    found: dict[str, dict[str, list[CutOut]]] = {}
    for cut_out in gallery.select(words):
        found.setdefault(cut_out.element, {}).setdefault(cut_out.thing, []).append(cut_out)
    return {element: tuple(map(tuple, things.values())) for element, things in found.items()}
