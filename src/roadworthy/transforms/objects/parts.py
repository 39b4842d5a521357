"""Some of the things of a kind: half of the trees, the nearest sign, those on the left, the centre line."""

from __future__ import annotations

import dataclasses

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
PART_TEXT = (
    "Which of them: all, about half, the nearest, those on one side; of lines, those of centre or edge."
)

_OF_LINES = ("left", "right", "centre", "edge")
_EDGE = 0.12  # of the road's width: as far from its edge, at most, is a line that marks it
_MIDDLE = 0.2  # of the road's width: as far from its middle, at most, is the line that divides it


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
    things = sorted(known_things(frame, chosen), key=lambda one: (-one.foot, one.window[1].start))
    if part == "half":
        if len(things) < 2:
            raise NotApplicable(f"there is one {chosen.what} only, of which half cannot go")
        kept = things[::2] if len(things) % 2 == 0 else things[1::2]
    elif part == "nearest":
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


def _side(frame: Frame, thing: SelectedObject) -> str:
    """Return the side of our path on which a thing stands."""
    site = surroundings(frame)
    columns = thing.window[1]
    middle = (columns.start + columns.stop) / 2
    if not len(site.rows):
        return "left" if middle < frame.width / 2 else "right"
    near = int(np.abs(site.rows + 1 - thing.foot).argmin())
    return "left" if middle < site.path[near] else "right"


def _lines(site: GroundSurroundings, mask: Mask, part: str) -> Mask:
    """Return the pixels of the lines at the edge or the middle of the road, or left or right of our path."""
    found = np.zeros_like(mask)
    if not len(site.rows):
        return found
    carriageway = site.is_any(ROAD)[site.labels.ids]
    for window, pixels in parts_of(mask):
        # The row with most of the line tells best how far across it is.
        row = window[0].start + int(pixels.sum(axis=1).argmax())
        columns = window[1].start + np.flatnonzero(pixels[row - window[0].start])
        middle = float(columns.mean())
        near = int(np.abs(site.rows - row).argmin())
        if part in ("left", "right"):
            wanted = (middle < site.path[near]) == (part == "left")
        else:
            road = np.flatnonzero(carriageway[row])
            across = (middle - road[0]) / max(1, road[-1] - road[0])
            wanted = min(across, 1 - across) <= _EDGE if part == "edge" else abs(across - 0.5) <= _MIDDLE
        if wanted:
            found[window] |= pixels
    return found
