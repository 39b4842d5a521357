"""The shadows of a thing that is put into a frame: at its foot, and away from the sun where it shines."""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.images import Image, Mask
from roadworthy.ontology import ontology
from roadworthy.transforms.objects.placement import CutOutPlace
from roadworthy.transforms.objects.request import parts_of
from roadworthy.transforms.objects.surroundings import GroundSurroundings
from roadworthy.transforms.perspective import GROUND, ROAD
from roadworthy.transforms.wording import Numbers

Floats = NDArray[np.float32]

_SHADE = {True: 0.72, False: 0.5}  # how dark the ground is under a vehicle, and at the foot of other things
# Likewise in real frames: measured under cars and at the feet of those who are there, by day and in the dark.
_SHADE_REAL, _SHADE_DARK, _BY_DAY = {True: 0.92, False: 0.25}, 0.6, 60.0
_N = Numbers("shadows")
_VOTES = 8  # things, the largest, that are asked where the sun is


def draw_shadows(
    image: Image, region: Mask, site: GroundSurroundings, place: CutOutPlace, *, share: float, sun: bool
) -> None:
    """Darken the ground where little light reaches it.

    Args:
        image: The image, which is changed.
        region: Which pixels were changed, likewise.
        site: The surroundings of the frame.
        place: What stands where.
        share: How much of its shadow is seen, by day and in clear air 1.
        sun: Whether to look for the sun.
    """
    side = sun_side(site) if sun else 0
    if side:
        _cast(image, region, site, place, -side, share)
    _contact(image, region, site, place, share)


def _contact(image: Image, region: Mask, site: GroundSurroundings, place: CutOutPlace, share: float) -> None:
    """Darken the ground where a thing stands: little light from the sky reaches it there."""
    frame = site.frame
    wide = ontology().is_a(place.cut_out.element, "vehicle")
    shade = (_SHADE if frame.drawn else _SHADE_REAL)[wide]
    scale = (place.window[3] - place.window[1]) / place.cut_out.height
    bottom = place.window[3]
    flat = _rows_per_metre(site, bottom)
    low, high = place.foot
    middle = (low + high) / 2
    if wide:
        # The whole ground under it is dark, as far up as one sees it between the wheels.
        across, up, down = (high - low) / 2, _N.clearance * scale, 0.1 * flat + 0.5
    else:
        across, up, down = (high - low) / 2 + 0.14 * scale, 0.32 * flat + 0.5, 0.12 * flat + 0.5
    soft_x, soft_y = max(1.0, 0.12 * scale), max(0.8, 0.14 * flat)
    if wide and not frame.drawn:
        down, soft_y = _N.reach * (bottom - place.window[1]), max(0.8, _N.fades * (bottom - place.window[1]))
        level = sum(site.ground_color(place.window, place.cut_out.height)) / 3
        shade = _SHADE_DARK + (shade - _SHADE_DARK) * min(1.0, level / _BY_DAY) ** 2
    x1, x2 = math.floor(middle - across - soft_x), math.ceil(middle + across + soft_x)
    x1, x2 = max(0, x1), min(frame.width, x2)
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
    _darken(image, region, site, (x1, y1), strength * np.float32(shade * share))


def _cast(
    image: Image, region: Mask, site: GroundSurroundings, place: CutOutPlace, side: int, share: float
) -> None:
    """Darken the ground beside a thing, to the left (-1) or right (1), where it keeps the sun away."""
    frame = site.frame
    left, top, right, bottom = place.window
    if not _is_lit(site, place):
        return
    alpha = place.cut_out.scaled(bottom - top, right - left, place.mirrored)[..., 3]
    flat = _rows_per_metre(site, bottom)
    scale = (bottom - top) / place.cut_out.height
    # A point so many pixels up falls so far to the side, and a little behind the thing.
    across, back = side * _N.long, 0.35 * _N.long * flat / scale
    reach = math.ceil(abs(across) * (bottom - top))
    x1, x2 = max(0, left - reach), min(frame.width, right + reach)
    y1, y2 = max(0, bottom - math.ceil(back * (bottom - top)) - 2), min(frame.height, bottom + 2)
    if x1 >= x2 or y1 >= y2 or back <= 0:
        return
    # Where a pixel of the ground takes its shadow from.
    up = 1 / back
    turn = np.array(
        [
            [1, across * up, x1 - left - across * up * (bottom - y1)],
            [0, up, (bottom - top) - up * (bottom - y1)],
        ],
        np.float64,
    )
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    shadow = cv2.warpAffine(alpha, turn, (x2 - x1, y2 - y1), flags=flags).astype(np.float32) / 255
    shadow = np.asarray(cv2.GaussianBlur(shadow, (0, 0), max(0.6, 0.03 * scale)), np.float32)
    _darken(image, region, site, (x1, y1), np.asarray(shadow * np.float32(_N.sun * share), np.float32))


def _darken(
    image: Image, region: Mask, site: GroundSurroundings, corner: tuple[int, int], strength: Floats
) -> None:
    """Darken the ground of a window; what stands on it stays as it is."""
    x, y = corner
    there = (slice(y, y + strength.shape[0]), slice(x, x + strength.shape[1]))
    strength = strength * site.is_any(GROUND)[site.labels.ids[there]]
    window = image[there]
    touched = strength > 0.004
    darker = np.rint(window * (1 - strength)[..., None]).astype(np.uint8)
    window[touched] = darker[touched]
    region[there] |= touched


def _rows_per_metre(site: GroundSurroundings, bottom: int) -> float:
    """Return the rows for each metre of ground before and behind a foot."""
    return max(1.0, bottom - site.view.horizon) ** 2 / (site.view.focal * site.view.camera_height)


def _ramp(value: Floats) -> Floats:
    """Return a smooth step from 0 at -1 to 1 at 1."""
    share = np.clip(value / 2 + 0.5, 0, 1)
    return np.asarray(share * share * (3 - 2 * share), np.float32)


def _is_lit(site: GroundSurroundings, place: CutOutPlace) -> bool:
    """Return whether the sun reaches a place: its ground is about as bright as the road is."""
    usual = _road_level(site)
    here = sum(site.ground_color(place.window, place.cut_out.height)) / 3
    return usual > 0 and here > _N.lit * usual


@lru_cache(maxsize=4)
def _road_level(site: GroundSurroundings) -> float:
    """Return how bright the bright parts of the road are."""
    step = max(1, site.frame.height // 120)
    road = site.is_any(ROAD)[site.labels.ids[::step, ::step]]
    levels = site.frame.image[::step, ::step][road]
    return float(np.percentile(levels.mean(axis=1), 75)) if len(levels) > 50 else 0.0


@lru_cache(maxsize=4)
def sun_side(site: GroundSurroundings) -> int:
    """Return where the sun stands: -1 on the left, 1 on the right; 0 where no shadows tell.

    The ground beside what stands on the road is darker on the side that its shadow falls to. At least two
    things must say so, and hardly any the contrary.
    """
    things = site.is_any(("vehicle", "pedestrian", "bicyclist"))[site.labels.ids]
    least = max(60, site.frame.height * site.frame.width // 1500)
    found = sorted(parts_of(things, least), key=lambda one: -one[1].size)[:_VOTES]
    votes = [_vote(site, rows, columns) for (rows, columns), _ in found]
    left, right = votes.count(-1), votes.count(1)
    if max(left, right) < 2 or min(left, right) * 4 > max(left, right):
        return 0
    return 1 if left > right else -1


def _vote(site: GroundSurroundings, rows: slice, columns: slice) -> int:
    """Return on which side of a thing its shadow lies, -1 for the left; 0 where neither is darker."""
    high = rows.stop - rows.start
    near, far = max(1, round(0.04 * high)), max(3, round(0.45 * high))
    band = slice(max(0, rows.stop - max(2, round(0.10 * high))), min(site.frame.height, rows.stop + 1))
    levels = []
    beside = (columns.start - far, columns.start - near), (columns.stop + near, columns.stop + far)
    for start, stop in beside:
        if start < 0 or stop > site.frame.width:
            return 0
        window = (band, slice(start, stop))
        road = site.is_any(ROAD)[site.labels.ids[window]]
        if np.mean(road) < 0.6:
            return 0
        levels.append(float(site.frame.image[window][road].mean()))
    if min(levels) > _N.darker * max(levels):
        return 0
    return -1 if levels[0] < levels[1] else 1
