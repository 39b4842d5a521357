"""Putting cut-outs into a frame so that light, shadow, blur and grain fit; and the edit that adds one.

Only the window of the thing and its shadow is looked at; everything outside it stays as it is, bit for bit.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Dataset
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.images import Mask
from roadworthy.labelling import is_estimated
from roadworthy.models.network import OpensLater
from roadworthy.transforms.objects import camera_look
from roadworthy.transforms.objects.believing import LUMA, may_be_road, stands_out, unfit_model, unfit_place
from roadworthy.transforms.objects.camera_look import Look
from roadworthy.transforms.objects.gallery import BELIEVED, OWN, SHIPPED, SOLID, CutOut, Gallery
from roadworthy.transforms.objects.harvesting import ELEMENTS, enough, own_things, things_for
from roadworthy.transforms.objects.paint import brake_light, braking
from roadworthy.transforms.objects.placement import CutOutPlace, Views, find_place, standing
from roadworthy.transforms.objects.request import (
    COMPANIES,
    POSES,
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
from roadworthy.transforms.perspective import GROUND
from roadworthy.transforms.transform import choice, number, register, word
from roadworthy.transforms.wording import Numbers, described, metadata_with

Floats = NDArray[np.float32]

_GAIN = (0.06, 2.5)  # how much darker or brighter a cut-out may become
_N = Numbers("adding")
# How much a channel may differ from the others in that: real cameras see shade as blue as this.
_TINT = {True: (0.75, 1.35), False: (0.5, 1.9)}
_VIVID = np.float32(40)  # levels between the channels of a person's clearest colours at most: more glows


def composited(site: GroundSurroundings, place: CutOutPlace, rng: np.random.Generator) -> Edited:
    """Put a cut-out into a frame at a place: image, label map, instances, boxes and depth.

    Args:
        site: The surroundings of the frame.
        place: What goes where.
        rng: For the noise of the camera.
    """
    frame, look = site.frame, camera_look.look_of(site.frame)
    if not frame.drawn:
        # A camera that turns blurs what is beside the road more than what is ahead.
        look = Look(max(look.blur, camera_look.blur_around(frame, place.window)), look.noise)
    patch, inside = _sized(place, look, frame)
    there = (slice(inside[1], inside[3]), slice(inside[0], inside[2]))
    alpha: Floats = patch[..., 3] / np.float32(255)
    hidden = site.in_front(inside, place.distance, place.window[3])
    image = frame.image.copy()
    region = np.zeros(image.shape[:2], np.bool_)
    haze, night = camera_look.haze_of(site), camera_look.is_night(frame)
    share = (0.55 if night else 1.0) * (1.0 if haze is None else haze.clear(place.distance))
    # The world draws shadows of its own kind.
    draw_shadows(image, region, site, place, share=share, sun=not night and not frame.drawn)
    cover = np.where(hidden, np.float32(0), alpha)
    colors = _colors(site, place, patch, look, rng)
    window = image[there]
    mixed = window * (1 - cover)[..., None] + np.where(cover[..., None] > 0, colors, np.float32(0))
    touched = cover > _N.faintest
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
    if look.blur > camera_look.SHARPEST:
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
        **({} if place.company == "any" else {"company": place.company}),
    }


def _colors(
    site: GroundSurroundings, place: CutOutPlace, patch: Floats, look: Look, rng: np.random.Generator
) -> Floats:
    """Return the colours of a cut-out in the light of the scene, times alpha, with noise."""
    gain, lift = _light(site, place)
    alpha = patch[..., 3:] / np.float32(255)
    colors: Floats = patch[..., :3] * gain
    level = gain @ LUMA  # what makes real colours duller must leave the tint of the scene
    if place.cut_out.source == SOLID and place.cut_out.element in BELIEVED and not site.frame.drawn:
        colors = _worn(patch[..., :3] * level, rng) * (gain / level)
    elif place.cut_out.element == "pedestrian" and not site.frame.drawn:
        colors = np.minimum(patch[..., :3], alpha * np.float32(_N.face * place.cut_out.highlights)) * level
        grey, clear = (colors @ LUMA)[..., None], np.ptp(colors, axis=2)[..., None]
        colors = (grey + np.minimum(1, _VIVID / np.maximum(clear, 1)) * (colors - grey)) * (gain / level)
    if place.cut_out.element == "traffic light" or place.cut_out.pose == "braking":
        # A lamp shines by itself, however dark it is around.
        lit = _lit(patch)[..., None] if place.cut_out.pose == "" else brake_light(patch)[..., None]
        colors += lit * (patch[..., :3] * np.maximum(gain, 1 - _N.dimmed) - colors)
    colors += alpha * lift
    if camera_look.is_grey(site.frame):
        colors = np.repeat((colors @ LUMA)[..., None], 3, axis=2)
    if look.noise > _N.quietest:
        noise = rng.standard_normal(patch.shape[:2], dtype=np.float32) * np.float32(look.noise)
        colors += noise[..., None] * alpha
    return colors


def _worn(colors: Floats, rng: np.random.Generator) -> Floats:
    """Return the clear, even colours of a solid model as clothes have them: paler, and with folds."""
    grey = (colors @ LUMA)[..., None]
    noise = rng.standard_normal(colors.shape[:2], dtype=np.float32)
    folds = np.asarray(cv2.GaussianBlur(noise, (0, 0), max(0.8, _N.fold * len(colors))), np.float32)
    light = 1 + folds[..., None] * np.float32(_N.folds / max(float(folds.std()), 1e-6))
    # Shoes are darker than clothes: little light from the sky reaches them.
    rows = np.linspace(0, 1, len(colors), dtype=np.float32)[:, None, None]
    light *= 1 - _N.shoes * np.clip((rows - _N.ankle) / (1 - _N.ankle), 0, 1)
    return np.asarray(
        (grey + np.float32(_N.pale) * (colors - grey)) * (light * np.float32(_N.dim)), np.float32
    )


def _lit(patch: Floats) -> Floats:
    """Return how far each pixel of a traffic light belongs to a lit lamp: it is bright, of a clear colour."""
    brightest, darkest = patch[..., :3].max(axis=2), patch[..., :3].min(axis=2)
    bright, clear = (brightest - 120) / 60, (brightest - darkest - 50) / 50
    return np.asarray(np.clip(bright, 0, 1) * np.clip(clear, 0, 1), np.float32)


def _light(site: GroundSurroundings, place: CutOutPlace) -> tuple[Floats, Floats]:
    """Return by what to multiply the colours of a cut-out, and what to add, so that they fit the scene."""
    haze = camera_look.haze_of(site)
    clear = 1.0 if haze is None else haze.clear(place.distance)
    ground = site.ground_color(place.window, place.cut_out.height) if haze is None else haze.ground
    target = np.array(ground, np.float32)
    ratio = (np.maximum(target, 1) / np.maximum(np.array(place.cut_out.ambience, np.float32), 1)) ** _N.trust
    if camera_look.is_night(site.frame):
        ratio *= np.float32(_N.lamps)
    if not site.frame.drawn:
        ratio *= np.float32(_shade(site, place, float(target @ LUMA)))
    # A cut-out that would be blown out was less bright than its ground says.
    blown = min(_N.brightest, _N.shines * float(target @ LUMA)) / max(place.cut_out.highlights, 1.0)
    most = _GAIN[1] if site.frame.drawn else min(_GAIN[1], blown)
    luma = float(np.clip(ratio @ LUMA, _GAIN[0], max(most, _GAIN[0])))
    tint = np.clip(ratio / max(float(ratio @ LUMA), 1e-3), *_TINT[site.frame.drawn])
    air = (0.0, 0.0, 0.0) if haze is None else haze.color
    lift = np.array(air, np.float32) * np.float32(1 - clear)
    return (luma * tint * clear).astype(np.float32), lift


def _shade(site: GroundSurroundings, place: CutOutPlace, road: float) -> float:
    """Return how much more light than on the road, or less, there is where a thing stands."""
    left, top, right, bottom = place.window
    deep = max(2, (bottom - top) // 12)
    here = slice(max(0, bottom - deep), bottom + deep), slice(max(0, left), right)
    ground = site.is_any(GROUND)[site.labels.ids[here]]
    level = float(cv2.mean(site.frame.image[here] @ LUMA, ground.view(np.uint8))[0])
    if not ground.any():
        return 1.0
    # A verge throws back less than a road, unless the sun shines there and the road is in the shade.
    shaded, sunlit = level / max(_N.verge * road, 1.0), level / max(_N.sunlit * road, 1.0)
    return float(np.clip(shaded, _N.darkest, np.clip(sunlit, 1.0, _N.brightest_verge)))


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


# These come only where they are asked for.
_RARE = ("school bus", "truck", "bus", "motorcycle", "ambulance", "police car", "taxi")
_ENDS = (("", "away"), ("toward", "side"))  # how things are seen that may stand in for each other
_NO_DATA = "this frame does not say which data it is from: name data to cut from (camvid:PATH)"
_LIKE, _FEW = 0.4, 10  # logarithm of how much brighter it may be where a cut-out comes from, if so many fit


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

    Attributes:
        element: What is added: words of the ontology, such as red car.
        relation: How it stands to the reference.
        reference: A place (roadside, road, lane, sidewalk, crosswalk, terrain), ego-vehicle, or things.
        side: On which side of our path, or of the reference.
        distance: From the camera; 0 leaves it open.
        within: From the camera at most; 0 leaves it open.
        company: In a group, things stand by those added so before.
        pose: What somebody does, as solid models show it.
        smallest: Least height in the image; 0 is 10% of its height (built-in world: 5%), at least 20 (12)
            pixels.
        gallery: Where cut-outs come from: own, the frame's data, and what is shipped where it has none;
            shipped; folders of galleries, or other data, joined by commas.
    """

    element: str = word("pedestrian")
    relation: str = choice("on", choices=RELATIONS)
    reference: str = word(ROADSIDE)
    side: str = choice("either", choices=SIDES)
    distance: float = number(0, low=0, high=100, unit="m")
    within: float = number(0, low=0, high=100, unit="m")
    company: str = choice("any", choices=COMPANIES)
    pose: str = choice("any", choices=("any", *POSES))
    smallest: float = number(0, low=0, high=2000, unit="px")
    gallery: str = word(OWN)

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
        return _things(self.element, self._opened) if self.pose == "any" else self._posed

    @cached_property
    def _posed(self) -> dict[str, tuple[Views, ...]]:
        stance, seen = POSES[self.pose]
        gallery = Gallery.posed() if stance else Gallery.shipped_for(True)
        found = [one for one in gallery.select(self.element) if one.pose == stance and one.facing in seen]
        found = [one for one in found if stance or one.element == "vehicle"]
        found = [lit for one in found if (lit := braking(one))] if self.pose == "braking" else found
        if not found:
            raise InputError(f"no {self.element} is known to be seen {self.pose}")
        return _grouped(found)

    def _things_for(self, frame: Frame) -> dict[str, tuple[Views, ...]]:
        """Return what may be put into a frame: what is drawn in the world's style stands out elsewhere."""
        if self.pose != "any" and self.gallery != SHIPPED:
            self.doubt(frame, f"a {self.element} that is {self.pose} does not look real enough")
        if self.pose != "any" or self.gallery not in (SHIPPED, OWN):
            return self._things
        shipped = _things(self.element, Gallery.shipped_for(frame.drawn))
        if frame.drawn or self.gallery == SHIPPED or not set(shipped) <= set(ELEMENTS):
            return shipped
        parked = "vehicle" in shipped and plan_of(self._request("vehicle")).zone == "roadside"
        if parked and len(shipped) == 1:
            unlike = "beside the road does not look real enough: say where on the road"
            self.doubt(frame, f"a {self.element} {unlike}")
            return shipped
        own = Gallery(things_for(frame)).fitting(self.element)
        if parked or not enough(own):
            # Beside the road vehicles stand on pavements; if none is seen from behind, all come at us.
            own = tuple(one for one in own if one.element != "vehicle")
        ends = (one for end in _ENDS if (one := tuple(cut for cut in own if cut.facing in end)))
        found = _grouped(cut for one in ends for cut in _in_like_light(one, surroundings(frame)))
        if not enough(own):
            # A few would be seen again and again, so others join them.
            plain = "type" not in described(self.element).properties
            for name, things in shipped.items():
                if name in BELIEVED or not self.doubts(frame):
                    usual = [one for one in things if not (plain and one[0].properties.get("type") in _RARE)]
                    found[name] = (*found.get(name, ()), *usual)
        if not found:
            unlike = "solid models do not look real enough: name data that shows some"
            known = f"no {self.element} could be cut out of this data, and {unlike}"
            self.doubt(frame, _NO_DATA if frame.siblings is None else known)
        return found

    def cut_from(self, data: Dataset) -> Gallery | None:
        """Return what is cut out, or comes from elsewhere, for real frames of data; None if only shipped."""
        if self.gallery not in (SHIPPED, OWN):
            return self._opened
        shipped = _things(self.element, Gallery.shipped_for(False))
        return own_things(data).gallery if self.gallery == OWN and set(shipped) <= set(ELEMENTS) else None

    def _request(self, element: str) -> Request:
        place = self.relation, self.reference, self.side, self.distance
        return Request(element, *place, self.within, self.company, self.pose, self.smallest)

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
        site = self._site(frame, element)
        things = agreeing(frame, by_element[element])
        place = find_place(site, things, self._request(element), draws)
        if frame.drawn:
            return place
        self.doubt(frame, unfit_place(site, place))
        if is_estimated(frame) and "road" not in self.ground(place) and may_be_road(site, place):
            self.doubt(frame, "the estimated labels cannot be trusted to tell where the road ends")
        return _lit_as_here(site, place)

    def _site(self, frame: Frame, element: str) -> GroundSurroundings:
        """Return the surroundings of a frame, with the horizon of its data where that was looked at."""
        looked_at = self.gallery == OWN and element in ELEMENTS and not frame.drawn and frame.depth is None
        known = looked_at and frame.siblings is not None
        return surroundings(frame, own_things(frame.siblings).horizon(frame) if known else None)

    def ground(self, place: CutOutPlace) -> tuple[str, ...]:
        """Return the classes that what is at a place may stand on."""
        return plan_of(self._request(place.cut_out.element)).ground

    def put(self, frame: Frame, place: CutOutPlace, rng: np.random.Generator) -> Edited:
        """Put a thing into a frame.

        Raises:
            NotApplicable: It could hardly be seen there.
        """
        edited = composited(self._site(frame, place.cut_out.element), place, rng)
        change = cv2.absdiff(frame.image, edited.frame.image).max(axis=2)
        unseen = "the added object would not stand out from its background"
        if change.max() < _N.least_contrast:
            raise NotApplicable(unseen)
        if self.doubts(frame):
            solid = place.cut_out.source == SOLID and self.gallery == OWN
            self.doubt(frame, "" if stands_out(frame, edited, change, solid=solid) else unseen)
            self.doubt(frame, unfit_model(frame, edited) if solid else "")
        return edited


def _lit_as_here(site: GroundSurroundings, place: CutOutPlace) -> CutOutPlace:
    """Return the place with a solid model turned so that its light side, the left one, faces the sun."""
    side, one = sun_side(site), place.cut_out
    if not side or one.source != SOLID or one.facing or place.mirrored == (side > 0):
        return place
    turned = dataclasses.replace(place, mirrored=side > 0)
    return standing(turned, site.view, sum(place.foot) // 2, place.window[3], place.distance)


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
