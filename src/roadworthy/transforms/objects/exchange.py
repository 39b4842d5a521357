"""Other things where things stood: a truck in the place of a car."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.transforms.objects.compositing import composited
from roadworthy.transforms.objects.edit import Edited
from roadworthy.transforms.objects.gallery import CutOut, Gallery
from roadworthy.transforms.objects.placement import Place
from roadworthy.transforms.objects.remove import without
from roadworthy.transforms.objects.selection import Selection, Thing, known_things
from roadworthy.transforms.objects.surroundings import Surroundings, surroundings
from roadworthy.transforms.perspective import Perspective, real_height
from roadworthy.transforms.wording import Description

__all__ = ["check_gallery", "exchanged"]

_HALF_LANE = 2.0  # metres; what is farther on the other side of our path comes towards us


def check_gallery(by: Description, gallery: Gallery) -> None:
    """Refuse what the gallery has no cut-out of.

    Raises:
        InputError: It has none; says what it has.
    """
    try:
        gallery.select(str(by))
    except InputError as error:
        raise InputError(f"replace: {error}") from error


def exchanged(
    frame: Frame, old: Selection, by: Description, gallery: Gallery, rng: np.random.Generator
) -> Edited:
    """Put a cut-out where each of the selected things stood."""
    things = sorted(known_things(frame, old), key=lambda one: one.foot)
    found, region = without(frame, old, rng)
    choices = gallery.select(str(by))
    # What is farther away goes first, so that what is nearer hides it.
    for thing in things:
        site = surroundings(found)
        color = thing.properties.get("color")
        alike = [one for one in choices if color and one.properties.get("color") == color] or choices
        wanted = alike[int(rng.integers(len(alike)))].thing
        views = [one for one in choices if one.thing == wanted]
        found, touched = composited(site, _place(frame, site, thing, views, rng), rng)
        region |= touched
    return Edited(found, region)


def _place(
    frame: Frame, site: Surroundings, thing: Thing, views: list[CutOut], rng: np.random.Generator
) -> Place:
    """Return where a cut-out goes: its foot on the foot of what stood there, at the same distance."""
    scale = _scale(frame, thing, site.view)
    view, mirrored = _view(site, thing, views, rng)
    height = max(1, round(view.height * scale))
    width = max(1, round(height * view.shape[1] / view.shape[0]))
    left, right = thing.window[1].start, thing.window[1].stop
    bottom = thing.foot
    # Of a thing that the image cuts off, only one side tells where it stood.
    if left == 0 and right < frame.width:
        left = right - width
    elif right == frame.width and left > 0:
        pass
    else:
        left = round((left + right - width) / 2)
    begins, ends = view.foot_span(mirrored)
    low = round(left + begins * width)
    return Place(
        view,
        mirrored,
        (left, bottom - height, left + width, bottom),
        (low, max(low + 1, round(left + ends * width))),
        site.view.focal / scale,
        "right" if left + width / 2 >= frame.width / 2 else "left",
    )


def _scale(frame: Frame, thing: Thing, view: Perspective) -> float:
    """Return how many pixels a metre has where a thing stands."""
    rows, columns = thing.window
    if frame.depth is not None:
        depth: NDArray[np.float32] = frame.depth[thing.window][thing.pixels]
        depth = depth[np.isfinite(depth) & (depth > 0)]
        if len(depth):
            return view.focal / float(np.median(depth))
    usual = real_height(thing.element, thing.properties)
    whole = rows.start > 0 and columns.start > 0 and columns.stop < frame.width and rows.stop < frame.height
    if usual is not None and whole and not thing.hidden:
        return float(thing.foot - rows.start) / usual
    return max(view.pixels(1.0, thing.foot), 1.0)


def _view(
    site: Surroundings, thing: Thing, views: list[CutOut], rng: np.random.Generator
) -> tuple[CutOut, bool]:
    """Return the cut-out that shows a thing as it is seen there, and whether it is mirrored."""
    middle = (thing.window[1].start + thing.window[1].stop) / 2
    across = middle - site.frame.width / 2
    index = int(np.abs(site.rows - thing.foot).argmin()) if len(site.rows) else -1
    path = float(site.path[index]) if index >= 0 else site.frame.width / 2
    lane = site.view.pixels(_HALF_LANE, thing.foot)
    ours = middle < path + lane if site.traffic == "left" else middle > path - lane
    facing = "away" if ours else "toward"
    known = [one for one in views if one.facing in (facing, "")] or views
    seen = math.degrees(math.atan2(abs(across), site.view.focal))
    best = min(known, key=lambda one: abs(abs(one.bearing) - seen))
    if best.bearing:
        return best, not best.readable and (best.bearing > 0) != (across > 0)
    return best, rng.random() < 0.5 and not best.readable
