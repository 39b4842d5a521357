"""Some of the things of a kind: half of the trees, the nearest sign, those on the left, the centre line."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.images import Mask
from roadworthy.transforms.objects.request import parts_of
from roadworthy.transforms.objects.selection import ObjectSelection, SelectedObject, known_things
from roadworthy.transforms.objects.surroundings import GroundSurroundings, surroundings
from roadworthy.transforms.perspective import ROAD
from roadworthy.transforms.wording import ElementDescription

PARTS = ("all", "half", "nearest", "left", "right", "centre", "edge")

_OF_LINES = ("left", "right", "centre", "edge")
_EDGE = 0.9  # metres: as far from the road's edge, at most, is a line that marks it
_OURS = (0.9, 2.9)  # metres from our path: where the line beside our lane is that divides the road


def check_part(what: ElementDescription, part: str) -> None:
    """Refuse a part that things of a kind do not have.

    Raises:
        InputError: Lines are not counted, and nothing else has a centre.
    """
    fits = part in _OF_LINES if what.element == "line" else part not in ("centre", "edge")
    if part != "all" and not fits:
        raise InputError(f"the part {part!r} cannot be told of a {what.element}")


def part_of(frame: Frame, chosen: ObjectSelection, part: str) -> ObjectSelection:
    """Return some of the things that are selected.

    Raises:
        NotApplicable: There is no such part: one tree has no half.
    """
    if part == "all":
        return chosen
    if chosen.what.element == "line":
        mask = _lines(surroundings(frame), chosen.mask, part)
        if not mask.any():
            raise NotApplicable(f"no line is seen at the {part} of the road")
        return dataclasses.replace(chosen, mask=mask)
    things = sorted(_each(frame, chosen), key=lambda one: (-one.foot, one.window[1].start))
    if part == "half":
        if len(things) < 2:
            raise NotApplicable(f"there is one {chosen.what} only, of which half cannot go")
        kept = things[::2] if len(things) % 2 == 0 else things[1::2]
    elif part == "nearest":
        if chosen.what.is_a("static object") and not _is_one(frame, things[0]):
            raise NotApplicable(f"which pixels belong to the nearest {chosen.what} is not known in the frame")
        kept = things[:1]
    else:
        kept = [one for one in things if _side(frame, one) == part]
        if not kept:
            raise NotApplicable(f"there is no {chosen.what} on the {part}")
    mask = np.zeros_like(chosen.mask)
    for one in kept:
        mask[one.window] |= one.pixels
    boxes = [one.box for one in kept if one.box >= 0]
    return dataclasses.replace(chosen, mask=mask, boxes=np.array(boxes, np.intp))


def _each(frame: Frame, chosen: ObjectSelection) -> Iterator[SelectedObject]:
    """Yield the things that are selected, one by one where the frame tells touching ones apart."""
    for one in known_things(frame, chosen):
        if one.box >= 0 or frame.instances is None:
            yield one
            continue
        owners = np.where(one.pixels, frame.instances[one.window], 0)
        numbers = [number for number in np.unique(owners).tolist() if number]
        for number in numbers:
            pixels = owners == number
            foot = one.window[0].start + int(np.flatnonzero(pixels.any(axis=1))[-1]) + 1
            yield dataclasses.replace(one, pixels=pixels, foot=foot)
        if not numbers:
            yield one


def _is_one(frame: Frame, thing: SelectedObject) -> bool:
    """Return whether a thing is known to be one, and no row of trees."""
    return thing.box >= 0 or (
        frame.instances is not None and bool(frame.instances[thing.window][thing.pixels].any())
    )


def _side(frame: Frame, thing: SelectedObject) -> str:
    """Return the side of our path on which a thing stands."""
    site = surroundings(frame)
    middle = thing.window[1].start + float(np.flatnonzero(thing.pixels.any(axis=0)).mean())
    if not len(site.rows):
        return "left" if middle < frame.width / 2 else "right"
    near = int(np.abs(site.rows + 1 - thing.foot).argmin())
    return "left" if middle < site.path[near] else "right"


def _lines(site: GroundSurroundings, mask: Mask, part: str) -> Mask:
    """Return the pixels of the lines at the edge or the middle of the road, or left or right of our path."""
    found = np.zeros_like(mask)
    carriageway = site.is_any(ROAD)[site.labels.ids]
    for window, pixels in parts_of(mask) if len(site.rows) else ():
        # The row with most of the line tells best how far across it is.
        row = window[0].start + int(pixels.sum(axis=1).argmax())
        middle = window[1].start + float(np.flatnonzero(pixels[row - window[0].start]).mean())
        near = int(np.abs(site.rows - row).argmin())
        if part in ("left", "right"):
            wanted = (middle < site.path[near]) == (part == "left")
        else:
            to_edge, to_path = _across(site, carriageway[row], middle, near)
            at_edge = to_edge <= _EDGE
            wanted = at_edge if part == "edge" else not at_edge and _OURS[0] <= to_path <= _OURS[1]
        if wanted:
            found[window] |= pixels
    return found


def _across(site: GroundSurroundings, road: Mask, middle: float, near: int) -> tuple[float, float]:
    """Return how many metres a line is from the nearest edge of the road that is seen, and from our path."""
    ends = np.flatnonzero(~road)
    gap = np.abs(ends[ends != middle] - middle).min(initial=np.inf)
    scale = float(site.scale[near])
    return float(gap) / scale, abs(middle - float(site.path[near])) / scale
