"""Things in a labelled frame that are seen whole, alone and clearly, and why others are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import FrozenDict
from roadworthy.transforms.objects.surroundings import Surroundings, Window
from roadworthy.transforms.perspective import GROUND

__all__ = ["HARVESTED", "POLED", "Looks", "Refusal", "Thing", "height_of", "things_of"]

Mask = NDArray[np.bool_]

POLED = ("traffic sign", "traffic light")
"""The elements that stand on a pole."""

_CROWDED = 0.12  # share of the outline that may touch other things
_BOARD = 0.35  # least height of a sign's board, in terms of the least height of a cut-out
_HIDDEN = 0.03  # share that may be hidden or outside, where that is known


@dataclass(frozen=True)
class Looks:
    """What a thing must be like to be taken for a whole one."""

    aspect: tuple[float, float]  # width over height
    metres: tuple[float, float]  # height
    filled: float  # least share of its box
    solid: float = 0.0  # least share of its convex hull: what is less is more than one thing


HARVESTED: Mapping[str, Looks] = {
    "pedestrian": Looks((0.22, 0.52), (1.3, 2.1), 0.45, 0.65),
    "bicyclist": Looks((0.3, 1.4), (1.3, 2.2), 0.38, 0.6),
    "vehicle": Looks((0.75, 3.0), (1.1, 4.2), 0.66, 0.91),
    "traffic sign": Looks((0.06, 0.7), (1.6, 5.0), 0.1),
    "traffic light": Looks((0.05, 0.5), (2.0, 6.5), 0.08),
}
"""The elements that can be harvested, and what they must look like."""


class Refusal(str):
    """Why a thing was not taken."""

    __slots__ = ()


@dataclass(frozen=True)
class Thing:
    """A thing in a frame that is seen whole, alone and clearly."""

    element: str
    box: Window
    mask: Mask  # within the box
    parts: Mask | None = None  # where it is the thing itself and not its pole
    single: bool = False  # whether it is known to be one thing
    properties: Mapping[str, str] = field(default_factory=FrozenDict)


def things_of(site: Surroundings, element: str, smallest: int) -> Iterator[Thing | Refusal]:
    """Yield what a frame has of an element, or why it is not taken."""
    frame = site.frame
    boxes = frame.boxes
    if frame.instances is not None and boxes is not None and boxes.track_ids is not None:
        for index in range(len(boxes)):
            if boxes.classes[index] != element:
                continue
            shares = [share[index] for share in (boxes.occlusion, boxes.truncation) if share is not None]
            if any(share > _HIDDEN for share in shares):
                yield Refusal("partly hidden")
                continue
            mask = frame.instances == boxes.track_ids[index]
            yield _found(site, element, mask, smallest, boxes.attributes[index], single=True)
        return
    mask = site.is_any((element,))[site.labels.ids]
    count, components = cv2.connectedComponents(mask.view(np.uint8))
    for number in range(1, count):
        yield _found(site, element, components == number, smallest, {}, single=False)


def _found(
    site: Surroundings,
    element: str,
    mask: Mask,
    smallest: int,
    properties: Mapping[str, str],
    *,
    single: bool,
) -> Thing | Refusal:
    whole = _with_pole(site, mask) if element in POLED else mask
    left, top, width, height = cv2.boundingRect(whole.view(np.uint8))
    box = (left, top, left + width, top + height)
    window = (slice(top, box[3]), slice(left, box[2]))
    parts = mask[window] if element in POLED else None
    thing = Thing(element, box, whole[window], parts, single, properties)
    reason = _trouble(site, thing, smallest)
    return thing if reason is None else reason


def _with_pole(site: Surroundings, mask: Mask) -> Mask:
    """Return a sign or light with the pole below it."""
    left, top, width, height = cv2.boundingRect(mask.view(np.uint8))
    pole = site.is_any(("pole",))[site.labels.ids]
    column = pole.copy()
    column[: top + height // 2] = False
    column[:, :left] = False
    column[:, left + width :] = False
    _, components = cv2.connectedComponents((column | mask).view(np.uint8))
    own = np.bincount(components[mask]).argmax()
    return np.asarray((components == own) & (column | mask))


def _trouble(site: Surroundings, thing: Thing, smallest: int) -> Refusal | None:
    """Return why a thing cannot be taken; None if it can."""
    left, top, right, bottom = thing.box
    height, width = bottom - top, right - left
    looks = HARVESTED[thing.element]
    if height < smallest:
        return Refusal("too small")
    if left <= 0 or top <= 0 or right >= site.frame.width or bottom >= site.frame.height:
        return Refusal("at the edge of the image")
    if _on_ground(site, thing) < 0.6:
        return Refusal("does not stand on visible ground")
    if _crowded(site, thing) > _CROWDED:
        return Refusal("touches other things")
    pixels = int(np.count_nonzero(thing.mask))
    # One thing that is known to be one may be wider, such as a person who strides.
    widest = looks.aspect[1] * (1.3 if thing.single else 1.0)
    if not looks.aspect[0] <= width / height <= widest or pixels < looks.filled * thing.mask.size:
        return Refusal("unlikely shape")
    if not thing.single and (pixels < looks.solid * _hull(thing.mask) or _several(thing)):
        return Refusal("more than one thing")
    if thing.parts is not None and np.count_nonzero(thing.parts.any(axis=1)) < _BOARD * smallest:
        return Refusal("too small")
    if not looks.metres[0] <= height_of(site, thing) <= looks.metres[1]:
        return Refusal("unlikely size")
    return None


def _hull(mask: Mask) -> float:
    """Return the area of a mask's convex hull in pixels."""
    points = np.argwhere(mask)[:, ::-1].astype(np.int32)
    return float(cv2.contourArea(cv2.convexHull(points)))


def _several(thing: Thing) -> bool:
    """Return whether a thing is a row of parked cars, or two people side by side."""
    mask = thing.mask
    height = len(mask)
    if thing.element == "vehicle":
        columns = np.flatnonzero(mask.any(axis=0))
        lowest = height - mask[::-1].argmax(axis=0)[columns]
        ends = np.percentile(lowest[len(lowest) // 20 : -(len(lowest) // 20) or None], [2, 98])
        return bool(ends[1] - ends[0] > 0.32 * height)
    if thing.element == "pedestrian":
        heads = mask[: max(2, height // 7)].any(axis=0)
        return int(np.count_nonzero(np.diff(heads.astype(np.int8), prepend=0) == 1)) > 1
    return False


def _on_ground(site: Surroundings, thing: Thing) -> float:
    """Return the share of a thing's lowest pixels that have ground below them."""
    left, _, right, bottom = thing.box
    foot = max(1, round(0.04 * len(thing.mask)))
    columns = np.flatnonzero(thing.mask[-foot:].any(axis=0)) + left
    ids = site.labels.ids[bottom : bottom + max(1, foot), left:right]
    ground = np.asarray(site.is_any(GROUND)[ids].any(axis=0))
    return float(np.mean(ground[columns - left])) if len(columns) else 0.0


def _crowded(site: Surroundings, thing: Thing) -> float:
    """Return the share of a thing's outline beside which there are other things."""
    left, top, right, bottom = (
        max(0, thing.box[0] - 3),
        max(0, thing.box[1] - 3),
        min(site.frame.width, thing.box[2] + 3),
        min(site.frame.height, thing.box[3] + 3),
    )
    own = np.zeros((bottom - top, right - left), np.uint8)
    y, x = thing.box[1] - top, thing.box[0] - left
    own[y : y + thing.mask.shape[0], x : x + thing.mask.shape[1]] = thing.mask
    ring = cv2.dilate(own, np.ones((5, 5), np.uint8)).view(np.bool_) & ~own.view(np.bool_)
    names = ["dynamic object", "ego-vehicle"]
    if thing.element not in POLED:
        names += ["traffic sign", "traffic light", "pole"]
    others = site.is_any(tuple(names))[site.labels.ids[top:bottom, left:right]]
    return int(np.count_nonzero(others & ring)) / max(1, int(np.count_nonzero(ring)))


def height_of(site: Surroundings, thing: Thing) -> float:
    """Return how high a thing is, by its distance where that is known, else by where it stands."""
    _, top, _, bottom = thing.box
    if site.frame.depth is not None:
        left, right = thing.box[0], thing.box[2]
        depth = site.frame.depth[top:bottom, left:right][thing.mask]
        depth = depth[np.isfinite(depth)]
        if len(depth):
            return float(np.percentile(depth, 5)) * (bottom - top) / site.view.focal
    return site.view.metres(bottom - top, bottom)
