"""Whether a thing that was added to a real frame would be believed; where not, why."""

from __future__ import annotations

import cv2
import numpy as np

from roadworthy.frames import Frame
from roadworthy.images import Mask
from roadworthy.transforms.objects.camera_look import look_of
from roadworthy.transforms.objects.placement import CutOutPlace
from roadworthy.transforms.objects.request import Edited, parts_of, window_of
from roadworthy.transforms.objects.surroundings import GroundSurroundings
from roadworthy.transforms.perspective import GROUND, ROAD, Perspective
from roadworthy.transforms.wording import Numbers

LUMA = np.array([0.299, 0.587, 0.114], np.float32)

_N = Numbers("adding")
# Shares of a solid model's height, and by how many levels it must differ from the colour around it there, or
# how many times as far as that varies.
_OUTLINES = {(0.0, 0.13): (48, 1.6), (0.16, 0.5): (24, 0.0), (0.55, 0.95): (29, 0.0)}
# Width over height of one person, or one vehicle, that is seen whole.
_SHAPES = {"pedestrian": (0.2, 0.5), "vehicle": (1.1, 2.7)}
_GROWS = "a post would seem to grow from its head"
_VISIBLE = 20  # levels by which a thing must differ from what it hides,
# Shares of its height, and how much of them, at least; likewise of people, who look beheaded or without legs.
_LEAST_SEEN = {(0.0, 1.0): 0.3, (0.0, 0.16): 0.4}
_LEAST_OF_PEOPLE = {(0.0, 1.0): 0.6, (0.0, 0.16): 0.6, (0.55, 0.95): 0.5}
# Levels, and how much of people, and of solid models of them, differs so clearly: others look like glass.
_CLEAR = {False: (30, 0.45), True: (40, 0.5)}


def unfit_place(site: GroundSurroundings, place: CutOutPlace) -> str:
    """Return why a thing cannot look real at a place: its light or its size is not known; empty if it can."""
    if not _N.highest_horizon < site.view.horizon / site.frame.height < _N.lowest_horizon:
        return "how large things are is not known: the horizon is not seen"
    one = place.cut_out
    if one.element == "vehicle" and abs(one.bearing) > _N.askew and place.distance < _N.far:
        return "no vehicle of this data is seen from straight behind, as one so near would be"
    if one.element in ("pedestrian", "bicyclist") and (reason := _unfit_person(site, place)):
        return reason
    red, green, blue = site.ground_color(place.window, one.height)
    bottom, deep = place.window[3], max(2, (place.window[3] - place.window[1]) // 12)
    stood_on = site.frame.image[max(0, bottom - deep) : bottom + deep, slice(*place.foot)]
    blinded = green < _N.flare * min(red, blue) or np.median(stood_on @ LUMA) > _N.burnt
    blinded |= float(np.dot((red, green, blue), LUMA)) > _N.glare
    return "the sun blinds the camera where it would stand" if blinded else ""


def _unfit_person(site: GroundSurroundings, place: CutOutPlace) -> str:
    """Return why somebody would tread on things, or be a giant or a dwarf beside what is there."""
    unknown = "how large things are is not known: {} otherwise"
    (low, end), bottom, high = place.foot, place.window[3], place.window[3] - place.window[1]
    near, below = max(1, round(_N.near_feet * high)), bottom - site.view.horizon
    around = site.labels.ids[bottom - near : bottom + max(1, near // 2), max(0, low - near) : end + near]
    if site.is_any(GROUND)[around].mean() < _N.free:
        return "something stands where its feet would be"
    told, least, ends = False, _N.speck * site.labels.ids.size, site.frame.height * (1 - _N.level)
    for word, (slim, stout) in _SHAPES.items():
        for (rows, columns), _ in parts_of(site.labels.mask(word), int(least)):
            foot, seen = rows.stop - site.view.horizon, rows.stop - rows.start
            shape = (columns.stop - columns.start) / seen
            if rows.stop >= ends or rows.start == 0 or foot < _N.far_off * below or not slim < shape < stout:
                continue
            if word == "pedestrian" and not 1 / _N.like < high / seen * foot / below < _N.like:
                return unknown.format("somebody who is there tells")
            if word == "vehicle" and high / seen * min(1.0, foot / below) > _N.taller:
                return "it would be a giant beside the vehicles in the frame"
            told |= high / seen * foot / below > 1 / _N.like
    alone = Perspective.of(site.frame).metres(high, bottom) / place.cut_out.height
    return "" if told or 1 / _N.agrees < alone < _N.agrees else unknown.format("the frames around tell")


def unfit_model(frame: Frame, edited: Edited) -> str:
    """Return a complaint where a solid model is a silhouette, shines, or does not stand out."""
    own = frame.label_map.ids != edited.frame.label_map.ids
    before, after = (float(np.median(one.image[own] @ LUMA)) for one in (frame, edited.frame))
    fits = max(_N.darkest_model, _N.darker * before) < after < _N.brighter * before and before < _N.glare
    return unfit_outline(frame, edited) if fits else "it would be too dark or too bright for its place"


def may_be_road(site: GroundSurroundings, place: CutOutPlace) -> bool:
    """Return whether a frame is blurred, or its labels put vehicles on terrain, or road behind a place."""
    if look_of(site.frame).blur > _N.blurred * site.frame.width:
        return True
    ground, vehicles = (site.labels.mask(word) for word in ("terrain", "vehicle"))
    feet = vehicles[:-4] & ~vehicles[1:-3] & ~vehicles[4:]
    if np.count_nonzero(feet & ground[4:]) > _N.driven * np.count_nonzero(feet):
        return True
    behind = site.labels.ids[max(0, place.window[1]) : place.window[3] - 1, slice(*place.foot)]
    return bool(np.count_nonzero(site.is_any(ROAD)[behind]) > _N.road_behind * behind.size)


def unfit_outline(frame: Frame, edited: Edited) -> str:
    """Return a complaint where a solid model melts into what is around it, or a post rises from its head."""
    own = np.asarray(frame.label_map.ids != edited.frame.label_map.ids, np.bool_)
    rows, columns = window_of(own)
    high, reach = rows.stop - rows.start, max(3, round(_N.around * (rows.stop - rows.start)))
    near = tuple(slice(max(0, side.start - reach), side.stop + reach) for side in (rows, columns))
    own, colors, top = own[near], edited.frame.image[near].astype(np.float32), rows.start - near[0].start
    rim = cv2.dilate(own.view(np.uint8), np.ones((3, 3), np.uint8)).view(np.bool_)
    for (start, end), (least, times) in _OUTLINES.items():
        part = np.zeros_like(own)
        span = slice(top + round(start * high), top + max(1, round(end * high)))
        part[span] = own[span]
        around = cv2.dilate(part.view(np.uint8), np.ones((2 * reach + 1,) * 2, np.uint8)) > rim
        if not part.any() or not around.any():
            continue
        apart = np.abs(colors - np.median(colors[around], axis=0)).max(axis=2)
        if np.median(apart[part]) < max(least, times * np.percentile(apart[around], 75)):
            return "it could not be told from what is around it"
    step, reach, end = max(1, round(high / 60)), round(_N.above * high), max(1, high // 8)
    last = min(rows.stop, len(frame.image) - 1)
    for part, outside, reason in (
        (own[top : top + end], slice(max(0, rows.start - reach), max(1, rows.start)), _GROWS),
        (own[top + high - end : top + high], slice(last, last + reach), "it would seem to stand on a post"),
    ):
        there = np.flatnonzero(part.any(axis=0))
        middle, half = near[1].start + (there[0] + there[-1]) // 2, max(3, np.ptp(there) // 2) + step
        level = (frame.image[outside, max(0, middle - half) : middle + half + 1] @ LUMA).mean(axis=0)
        if np.abs(level[2 * step :] - level[: -2 * step]).max(initial=0) >= _N.post:
            return reason
    return ""


def stands_out(frame: Frame, edited: Edited, change: Mask, *, solid: bool = False) -> bool:
    """Return whether enough of a thing, and of its upper end, differs from what was seen in its place."""
    own = np.asarray(frame.label_map.ids != edited.frame.label_map.ids, np.bool_)
    if not own.any():
        return False
    rows, columns = window_of(own)
    own, seen = own[rows, columns], change[rows, columns] >= _VISIBLE
    person = edited.frame.label_map.mask("pedestrian")[rows, columns][own].mean() > 0.5
    level, share = _CLEAR[solid]
    if person and (change[rows, columns][own] >= level).mean() < share:
        return False
    for (start, end), least in (_LEAST_OF_PEOPLE if person else _LEAST_SEEN).items():
        part = slice(round(start * len(own)), max(1, round(end * len(own))))
        if own[part].any() and seen[part][own[part]].mean() < least:
            return False
    return True
