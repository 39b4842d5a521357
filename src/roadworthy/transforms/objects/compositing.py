"""Putting cut-outs into a frame so that light, shadow, blur and grain fit; and the edit that adds one.

Only the window of the thing and its shadow is looked at; everything outside it stays as it is, bit for bit.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Dataset
from roadworthy.errors import NotApplicable
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.images import Mask
from roadworthy.models.network import OpensLater
from roadworthy.transforms.objects.gallery import BELIEVED, OWN, SHIPPED, SOLID, CutOut, Gallery
from roadworthy.transforms.objects.harvesting import ELEMENTS, enough, own_things, things_for
from roadworthy.transforms.objects.placement import CutOutPlace, Views, find_place
from roadworthy.transforms.objects.request import (
    RELATIONS,
    ROADSIDE,
    SIDES,
    Draws,
    Edited,
    ObjectEdit,
    Request,
    box_window,
    plan_of,
    window_of,
)
from roadworthy.transforms.objects.request import Window as Slices
from roadworthy.transforms.objects.shadows import draw_shadows, sun_side
from roadworthy.transforms.objects.surroundings import GroundSurroundings, Window, surroundings
from roadworthy.transforms.objects.traffic import agreeing
from roadworthy.transforms.transform import Presets, choice, number, register, word
from roadworthy.transforms.wording import described, metadata_with

Floats = NDArray[np.float32]

_HAZY = {"foggy": 0.15, "snowy": 0.025, "rainy": 0.02}  # the thickest haze of each weather, 1/m
_GAIN = (0.06, 2.5)  # how much darker or brighter a cut-out may become
_TINT = (0.75, 1.35)  # how much a channel may differ from the others in that
_BRIGHTEST = 235.0  # level that the bright parts of a real cut-out reach at most
_TRUST = 0.9  # how far the light follows the ground, whose own colour is not known
_LAMPS = 0.6  # at night, lamps light the ground before them more than what stands on it
_SHARPEST = 0.35  # pixels of blur that no image is without
_QUIETEST = 0.3  # levels of noise that nobody sees
_FAINTEST = 0.004  # share of a pixel below which nothing of a thing is seen
_PALE = 0.6  # of a solid model's colour: clothes are paler
_FOLD, _FOLDS = 0.02, 0.12  # folds of clothes: of the height, and of the light
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
    frame, look = site.frame, look_of(site.frame)
    patch, inside = _sized(place, look, frame)
    there = (slice(inside[1], inside[3]), slice(inside[0], inside[2]))
    alpha: Floats = patch[..., 3] / np.float32(255)
    hidden = site.in_front(inside, place.distance, place.window[3])
    image = frame.image.copy()
    region = np.zeros(image.shape[:2], np.bool_)
    haze, night = haze_of(site), _is_night(frame)
    share = (0.55 if night else 1.0) * (1.0 if haze is None else haze.clear(place.distance))
    # The world draws shadows of its own kind.
    draw_shadows(image, region, site, place, share=share, sun=not night and not frame.drawn)
    cover = np.where(hidden, np.float32(0), alpha)
    colors = _colors(site, place, patch, look, rng)
    window = image[there]
    mixed = window * (1 - cover)[..., None] + np.where(cover[..., None] > 0, colors, np.float32(0))
    touched = cover > _FAINTEST
    window[touched] = np.clip(np.rint(mixed), 0, 255).astype(np.uint8)[touched]
    region[there] |= touched
    solid = alpha > 0.5
    changes = _truth(frame, place, there, solid, solid & ~hidden)
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


def _colors(
    site: GroundSurroundings, place: CutOutPlace, patch: Floats, look: Look, rng: np.random.Generator
) -> Floats:
    """Return the colours of a cut-out in the light of the scene, times alpha, with noise."""
    gain, lift = _light(site, place)
    alpha = patch[..., 3:] / np.float32(255)
    colors: Floats = patch[..., :3] * gain
    if place.cut_out.source == SOLID and place.cut_out.element in BELIEVED and not site.frame.drawn:
        colors = _worn(colors, rng)
    if place.cut_out.element == "traffic light":
        # A lamp shines by itself, however dark it is around.
        lit = _lit(patch)[..., None]
        colors += lit * (patch[..., :3] * np.maximum(gain, 1 - _DIMMED) - colors)
    colors += alpha * lift
    if _is_grey(site.frame):
        colors = np.repeat((colors @ _LUMA)[..., None], 3, axis=2)
    if look.noise > _QUIETEST:
        noise = rng.standard_normal(patch.shape[:2], dtype=np.float32) * np.float32(look.noise)
        colors += noise[..., None] * alpha
    return colors


def _worn(colors: Floats, rng: np.random.Generator) -> Floats:
    """Return the clear, even colours of a solid model as clothes have them: paler, and with folds."""
    grey = (colors @ _LUMA)[..., None]
    noise = rng.standard_normal(colors.shape[:2], dtype=np.float32)
    folds = np.asarray(cv2.GaussianBlur(noise, (0, 0), max(0.8, _FOLD * len(colors))), np.float32)
    light = 1 + folds[..., None] * np.float32(_FOLDS / max(float(folds.std()), 1e-6))
    return np.asarray((grey + np.float32(_PALE) * (colors - grey)) * light, np.float32)


def _lit(patch: Floats) -> Floats:
    """Return how far each pixel of a traffic light belongs to a lit lamp: it is bright, of a clear colour."""
    brightest, darkest = patch[..., :3].max(axis=2), patch[..., :3].min(axis=2)
    bright, clear = (brightest - 120) / 60, (brightest - darkest - 50) / 50
    return np.asarray(np.clip(bright, 0, 1) * np.clip(clear, 0, 1), np.float32)


def _light(site: GroundSurroundings, place: CutOutPlace) -> tuple[Floats, Floats]:
    """Return by what to multiply the colours of a cut-out, and what to add, so that they fit the scene."""
    haze = haze_of(site)
    clear = 1.0 if haze is None else haze.clear(place.distance)
    ground = site.ground_color(place.window, place.cut_out.height) if haze is None else haze.ground
    target = np.array(ground, np.float32)
    ratio = (np.maximum(target, 1) / np.maximum(np.array(place.cut_out.ambience, np.float32), 1)) ** _TRUST
    if _is_night(site.frame):
        ratio *= np.float32(_LAMPS)
    # A cut-out that would be blown out was less bright than its ground says.
    blown = _BRIGHTEST / max(place.cut_out.highlights, 1.0)
    most = _GAIN[1] if site.frame.drawn else min(_GAIN[1], blown)
    luma = float(np.clip(ratio @ _LUMA, _GAIN[0], max(most, _GAIN[0])))
    tint = np.clip(ratio / max(float(ratio @ _LUMA), 1e-3), *_TINT)
    air = (0.0, 0.0, 0.0) if haze is None else haze.color
    lift = np.array(air, np.float32) * np.float32(1 - clear)
    return (luma * tint * clear).astype(np.float32), lift


@lru_cache(maxsize=4)
def _is_grey(frame: Frame) -> bool:
    """Return whether a camera sees no colours."""
    some = frame.image[:: max(1, frame.height // 24), :: max(1, frame.width // 24)].astype(np.int16)
    return int(np.ptp(some, axis=2).max()) <= 2


def _is_night(frame: Frame) -> bool:
    """Return whether a frame shows the night: it says so, or its upper half, where the sky is, is dark."""
    time = frame.metadata.get("time")
    if time is not None:
        return time == "night"
    return sum(cv2.mean(frame.image[: max(1, frame.height // 2)])[:3]) / 3 < 30


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
    band = np.ascontiguousarray(frame.image[top:bottom:step])
    grey = cv2.cvtColor(band, cv2.COLOR_RGB2GRAY).astype(np.float32)
    if width < 8 or len(grey) < 4:
        return Look(_SHARPEST, 0.0)
    difference = np.diff(grey, axis=1)
    whole = np.abs(grey[:, 3:] - grey[:, :-3])
    strong = whole > 40
    blur = _SHARPEST
    if np.count_nonzero(strong) >= 20:
        share = _quantile(np.abs(difference[:, 1:-1])[strong] / whole[strong], 0.8)
        blur = float(np.interp(-min(share, 1.0), np.negative(_SHARES), _BLURS))
    # The second difference does not see slopes; in the flattest parts of an image it sees nothing but noise.
    second = np.abs(difference[:, 1:] - difference[:, :-1])
    blocks = second[:, : second.shape[1] // 16 * 16].reshape(len(grey), -1, 16)
    flattest = _quantile(blocks.mean(axis=2).ravel(), 0.1) if blocks.size else 0.0
    return Look(blur, min(flattest / math.sqrt(6 * 2 / math.pi), 12.0))


def _quantile(values: Floats, share: float) -> float:
    """Return the value below which a share of the values lies; NumPy's own interpolates, and takes longer."""
    place = int(share * (len(values) - 1))
    return float(np.partition(values, place)[place])


_BLURS = (_SHARPEST, 0.5, 0.65, 0.8, 1.0, 1.3, 1.7, 2.2)
_SHARES = [math.erf(0.5 / (blur * math.sqrt(2))) / math.erf(1.5 / (blur * math.sqrt(2))) for blur in _BLURS]
"""Of the middle step at an edge of three, for each blur."""


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


def _truth(frame: Frame, place: CutOutPlace, there: Slices, solid: Mask, shown: Mask) -> dict[str, object]:
    """Return what is known about the frame now: the thing is there, and hides what is behind it."""
    number = _free_number(frame)
    changes: dict[str, object] = {"labels": _with_labels(frame.label_map, place, there, shown)}
    if frame.instances is not None:
        instances = frame.instances.copy()
        if number > np.iinfo(instances.dtype).max:
            instances = instances.astype(np.int32)
        instances[there][shown] = number
        changes["instances"] = instances
    if frame.boxes is not None and shown.any():
        changes["boxes"] = _with_boxes(frame, frame.boxes, place, there, solid, shown, number)
    if frame.depth is not None:
        depth = frame.depth.copy()
        depth[there][shown] = place.distance
        changes["depth"] = depth
    return changes


def _free_number(frame: Frame) -> int:
    """Return an id that no thing of the frame has."""
    used = [] if frame.instances is None else [int(frame.instances.max())]
    if frame.boxes is not None and frame.boxes.track_ids is not None and len(frame.boxes):
        used.append(int(frame.boxes.track_ids.max()))
    return max(used, default=0) + 1


def _with_labels(labels: LabelMap, place: CutOutPlace, there: Slices, shown: Mask) -> LabelMap:
    left, top, right, bottom = place.window
    parts = place.cut_out.scaled_parts(bottom - top, right - left, place.mirrored)
    names = place.cut_out.part_names if parts is not None else (place.cut_out.element,)
    classes = labels.classes_with(*names)
    ids = labels.ids.copy()
    if len(classes) > 256:
        ids = ids.astype(np.uint16)
    numbers = np.array([classes.index(name) for name in names], ids.dtype)
    if parts is None:
        ids[there][shown] = numbers[0]
    else:
        # Where blur made a thing larger, it is what it is at its edge.
        rows, columns = (np.arange(side.start, side.stop) for side in there)
        rows, columns = rows - top, columns - left
        nearest = np.ix_(np.clip(rows, 0, len(parts) - 1), np.clip(columns, 0, parts.shape[1] - 1))
        ids[there][shown] = numbers[parts[nearest]][shown]
    return LabelMap(ids, classes)


def _with_boxes(
    frame: Frame, boxes: Boxes, place: CutOutPlace, there: Slices, solid: Mask, shown: Mask, number: int
) -> Boxes:
    """Return the boxes with that of the thing, and without those of what it hides."""
    rows, columns = window_of(shown)
    x, y = there[1].start, there[0].start
    left, top, right, bottom = place.window
    wide, high = min(right, frame.width) - max(left, 0), min(bottom, frame.height) - max(top, 0)
    within = wide * high / ((right - left) * (bottom - top))
    hidden = 1 - np.count_nonzero(shown) / np.count_nonzero(solid)
    tracked = boxes.track_ids is not None if len(boxes) else frame.instances is not None
    new = Boxes(
        [(x + columns.start, y + rows.start, x + columns.stop, y + rows.stop)],
        [place.cut_out.element],
        scores=None if boxes.scores is None else [1.0],
        track_ids=[number] if tracked else None,
        occlusion=[hidden],
        truncation=[1 - within],
        attributes=[place.cut_out.properties],
    )
    return Boxes.concatenate([_hidden_by(frame, boxes, there, shown), new])


def _hidden_by(frame: Frame, boxes: Boxes, there: Slices, shown: Mask) -> Boxes:
    """Return the boxes of what a thing does not hide wholly, as far as it is still seen."""
    covered = np.zeros((frame.height, frame.width), np.bool_)
    covered[there] = shown
    corners = boxes.xyxy.astype(np.float64)
    occlusion = np.full(len(boxes), np.nan) if boxes.occlusion is None else boxes.occlusion.astype(np.float64)
    kept = np.ones(len(boxes), np.bool_)
    for index in range(len(boxes)):
        window = box_window(corners[index])
        before = np.ones_like(covered[window])
        if exact := frame.instances is not None and boxes.track_ids is not None:
            before = frame.instances[window] == boxes.track_ids[index]
        after = before & ~covered[window]
        total, still = np.count_nonzero(before), np.count_nonzero(after)
        if not total or still == total:
            continue
        # Where it was not known how much is hidden, what is hidden now is the least that is.
        occlusion[index] = 1 - (1 - np.nan_to_num(occlusion[index])) * still / total
        kept[index] = still > 0
        if exact and still:
            rows, columns = window_of(after)
            x, y = window[1].start, window[0].start
            corners[index] = (x + columns.start, y + rows.start, x + columns.stop, y + rows.stop)
    return boxes.replace(xyxy=corners, occlusion=occlusion)[kept]


_LEAST_CONTRAST = 32  # levels: a thing that differs less from what it hides can hardly be seen
_RARE = ("school bus", "truck")  # come only where they are asked for
_ENDS = (("", "away"), ("toward", "side"))  # how things are seen that may stand in for each other
_LIKE, _FEW = 0.4, 10  # logarithm of how much brighter it may be where a cut-out comes from, if so many fit
_VISIBLE, _LEAST_SEEN = 20, 0.15  # levels, and the share of its box that must differ by them in real shade


@register("add", summary="a thing stands in the frame that was not there, in the right place, size and light")
class Add(OpensLater, ObjectEdit):
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
    within: float = number(0, "From the camera at most; 0 leaves it open.", low=0, high=100, unit="m")
    smallest: float = number(
        0,
        "Least height in the image; 0 is 5% of its height, and 20 pixels (built-in world: 12) at least.",
        low=0,
        high=2000,
        unit="px",
    )
    gallery: str = word(
        OWN,
        "Where cut-outs come from: own, the frame's data, and what is shipped where it has none; shipped; "
        "folders of galleries, or other data, joined by commas.",
    )

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

    @cached_property
    def _opened(self) -> Gallery:
        # Once for all frames: to see whether a folder has changed takes longer than a frame.
        return Gallery.opened(self.gallery)

    @property
    def _things(self) -> dict[str, tuple[Views, ...]]:
        return _things(self.element, self._opened)

    def _things_for(self, frame: Frame) -> dict[str, tuple[Views, ...]]:
        """Return what may be put into a frame: what is drawn in the world's style stands out elsewhere."""
        if self.gallery not in (SHIPPED, OWN):
            return self._things
        shipped = _things(self.element, Gallery.shipped_for(frame.drawn))
        if frame.drawn or self.gallery == SHIPPED or not set(shipped) <= set(ELEMENTS):
            return shipped
        parked = "vehicle" in shipped and plan_of(self._request("vehicle")).zone == "roadside"
        if parked and len(shipped) == 1:
            raise NotApplicable(
                f"a {self.element} beside the road does not look real enough: say where on the road, or name "
                "data to cut from, gallery=camvid:PATH, or gallery=shipped for the models"
            )
        own = Gallery(things_for(frame)).fitting(self.element)
        if parked or not enough(own):
            # Beside the road vehicles stand on pavements; if none is seen from behind, all come at us.
            own = tuple(one for one in own if one.element != "vehicle")
        ends = (one for end in _ENDS if (one := tuple(cut for cut in own if cut.facing in end)))
        by_end = [_in_like_light(one, surroundings(frame)) for one in ends]
        found = _grouped(cut for several in by_end for cut in several)
        if not enough(own):
            # A few would be seen again and again, so others join them, in turn.
            plain = "type" not in described(self.element).properties
            for name, things in shipped.items():
                if name not in BELIEVED:
                    continue
                others = [one for one in things if not (plain and one[0].properties.get("type") in _RARE)]
                mine = [_grouped(several).get(name, ()) for several in by_end]
                turns = (
                    (*(one[number % len(one)] for one in mine if one), other)
                    for number, other in enumerate(others)
                )
                found[name] = tuple(one for turn in turns for one in turn)
        if not found and frame.siblings is None:
            raise NotApplicable(
                "this frame does not say which data it is from: name data to cut from, gallery=camvid:PATH, "
                "or gallery=shipped"
            )
        if not found:
            raise NotApplicable(
                f"no {self.element} could be cut out of this data, and solid models do not look real enough: "
                "name data that shows some, or gallery=shipped for the models"
            )
        return found

    def cut_from(self, data: Dataset) -> Gallery | None:
        """Return what is cut out, or comes from elsewhere, for real frames of data; None if only shipped."""
        if self.gallery not in (SHIPPED, OWN):
            return self._opened
        shipped = _things(self.element, Gallery.shipped_for(False))
        return own_things(data).gallery if self.gallery == OWN and set(shipped) <= set(ELEMENTS) else None

    def _request(self, element: str) -> Request:
        place = self.relation, self.reference, self.side, self.distance
        return Request(element, *place, self.smallest, self.within)

    def edit(self, frame: Frame, rng: np.random.Generator) -> Edited:
        return self.put(frame, self.placed(frame, rng), rng)

    def placed(self, frame: Frame, rng: np.random.Generator) -> CutOutPlace:
        """Return what would be put into a frame, and where.

        Raises:
            NotApplicable: There is no such place.
        """
        draws = Draws.of(rng)
        by_element = self._things_for(frame)
        element = list(by_element)[int(draws.thing * len(by_element))]
        site = surroundings(frame)
        things = agreeing(frame, by_element[element])
        place = find_place(site, things, self._request(element), draws)
        return place if frame.drawn else _lit_as_here(site, place)

    def ground(self, place: CutOutPlace) -> tuple[str, ...]:
        """Return the classes that what is at a place may stand on."""
        return plan_of(self._request(place.cut_out.element)).ground

    def put(self, frame: Frame, place: CutOutPlace, rng: np.random.Generator) -> Edited:
        """Put a thing into a frame.

        Raises:
            NotApplicable: It could hardly be seen there.
        """
        edited = composited(surroundings(frame), place, rng)
        change = cv2.absdiff(frame.image, edited.frame.image)
        left, top, right, bottom = (max(0, side) for side in place.window)
        seen = np.mean(change[top:bottom, left:right].max(axis=2) >= _VISIBLE)
        if change.max() < _LEAST_CONTRAST or (not frame.drawn and seen < _LEAST_SEEN):
            raise NotApplicable("the added object would not stand out from its background")
        return edited


def _lit_as_here(site: GroundSurroundings, place: CutOutPlace) -> CutOutPlace:
    """Return the place with a solid model turned so that its light side, the left one, faces the sun."""
    side = sun_side(site)
    one = place.cut_out
    if not side or one.source != SOLID or one.facing or place.mirrored == (side > 0):
        return place
    left, _, right, _ = place.window
    begins, ends = one.foot_span(side > 0)
    foot = (left + round(begins * (right - left)), left + max(1, round(ends * (right - left))))
    return dataclasses.replace(place, mirrored=side > 0, foot=foot)


@lru_cache(maxsize=64)
def _things(words: str, gallery: Gallery) -> dict[str, tuple[Views, ...]]:
    """Return the things of a gallery that fit a description, by their elements, each with all its views."""
    return _grouped(gallery.select(words))


def _in_like_light(cut_outs: Sequence[CutOut], site: GroundSurroundings) -> Sequence[CutOut]:
    """Return the cut-outs that were seen in about as much light as a frame has, or a few that come near."""
    road = site.ground_color((0, 0, site.frame.width, site.frame.height - 1), 1.0)
    here = max(1.0, sum(road) / 3)
    unlike = {one: abs(math.log(max(1.0, sum(one.ambience) / 3) / here)) for one in cut_outs}
    nearest = sorted(cut_outs, key=unlike.__getitem__)
    alike = sum(share < _LIKE for share in unlike.values())
    return nearest[: max(_FEW, alike)]


def _grouped(cut_outs: Iterable[CutOut]) -> dict[str, tuple[Views, ...]]:
    """Return cut-outs by their elements and things, each with all its views."""
    found: dict[str, dict[str, list[CutOut]]] = {}
    for cut_out in cut_outs:
        found.setdefault(cut_out.element, {}).setdefault(cut_out.thing, []).append(cut_out)
    return {element: tuple(map(tuple, things.values())) for element, things in found.items()}
