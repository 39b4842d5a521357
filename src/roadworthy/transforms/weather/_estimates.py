"""Which of the labels and depths that a network estimated the image bears out, before weather uses them."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame, LabelMap
from roadworthy.images import Image
from roadworthy.labelling import is_estimated
from roadworthy.ontology import VOID
from roadworthy.transforms.perspective import FAR, ROAD, Perspective
from roadworthy.transforms.wording import Numbers

_N = Numbers("estimates")

Map = NDArray[np.float32]

_BLEEDS = 40  # widths of estimated depth's blur that fit across an image
# How bright sky is at least where it is rough, and where it is smooth, beside the brightest of the image; how
# rough, in grey levels; and how far away woods are at most: a street leads through them.
_SKY_BRIGHT, _SKY_DARK, _SKY_ROUGH, _LOST = 0.8, 0.5, 6.0, np.float32(120)
_COARSE = 200  # pixels of width that are enough for the distance of woods


def believed(frame: Frame) -> Frame:
    """Return a frame with those of its estimated labels and depths that the image bears out."""
    labels, depth = frame.labels, frame.depth
    if labels is not None and is_estimated(frame):
        labels = _with(labels, "tree", _false_sky(labels.mask("sky"), frame.image))
        labels = _with(labels, "sky", _burnt_sky(labels, frame.image))
    if labels is not None and depth is not None and is_estimated(frame, "depth"):
        depth = _grounded(depth, labels, frame.image)
    if labels is frame.labels and depth is frame.depth:
        return frame
    return frame.replace(labels=labels, depth=depth)


def _with(labels: LabelMap, name: str, where: NDArray[np.bool_]) -> LabelMap:
    if name not in labels.classes or not where.any():
        return labels
    return LabelMap(
        np.where(where, labels.ids.dtype.type(labels.classes.index(name)), labels.ids), labels.classes
    )


def _burnt_sky(labels: LabelMap, image: Image) -> NDArray[np.bool_]:
    """Return what is white above the road and hangs together with the sky, but is called woods."""
    road = np.asarray(labels.mask(*ROAD).any(axis=1))
    above = np.arange(len(road)) < (int(road.argmax()) if road.any() else len(road) // 2)
    sky = labels.mask("sky")
    # Letters, poles and twigs that shine are narrower than a gap in the woods.
    wide = _square(max(1, image.shape[1] // 100))
    grey = cv2.morphologyEx(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.MORPH_OPEN, wide)
    burnt = np.asarray((grey >= _N.burnt) & above[:, None] & labels.mask("tree", VOID))
    # Leaves part it into specks.
    return hanging(burnt, sky | (np.arange(len(road)) == 0)[:, None], max(1, image.shape[1] // 160))


def hanging(places: NDArray[np.bool_], sky: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """Return which places hang together with the sky, over gaps of so many pixels to either side."""
    _, parts = cv2.connectedComponents(cv2.dilate((places | sky).view(np.uint8), _square(reach)))
    return np.asarray(places & np.isin(parts, np.unique(parts[sky])))


def _grounded(depth: Map, labels: LabelMap, image: Image) -> Map:
    """Return depth in which the road is a plane, and things are as far away as the ground at their foot.

    A network puts the horizon too high, and compresses what is far; labels and things of known height tell
    that better. What stands beside the road or rises there begins as far away as the road where they meet,
    and never comes nearer from its foot to its top. How many times farther it reaches the network tells.
    """
    step = max(1, round(depth.shape[1] / _COARSE))
    every = np.s_[::step, ::step]
    coarse = LabelMap(np.ascontiguousarray(labels.ids[every]), labels.classes)
    near = np.minimum(depth[every], np.float32(FAR))
    rows, columns = near.shape
    road = coarse.mask(*ROAD)
    picture = Frame("coarse", np.zeros((rows, columns, 3), np.uint8), coarse)
    view = Perspective.of(picture)
    seen = Perspective.of(picture.replace(depth=near, labels=LabelMap(road.view(np.uint8), (VOID, "road"))))
    high = min(view.horizon, max(_N.usual * rows, seen.horizon + _N.tilts * rows))
    horizon = max(np.clip(seen.horizon, high - _N.unsure * rows, high), seen.horizon - 2 * _N.unsure * rows)
    plane = Perspective(horizon * step, view.camera_height, view.focal * step).distances(len(depth))[:, None]
    plane = np.minimum(plane, np.float32(FAR))
    ground = plane[::step]
    walls, soil = coarse.mask("building", VOID), coarse.mask("terrain")
    rises = walls | soil | coarse.mask("tree")
    foot, told = _feet(road | coarse.mask("sidewalk"), rises, ground, near)
    up = (horizon - 0.5 - np.arange(rows, dtype=np.float32)[:, None]) / np.float32(view.focal)
    # Woods and, less so, walls hang together above their feet, however far away those are.
    share = np.clip((up + view.camera_height / foot) / _N.tops, 0, 1)
    wide, wider = (cv2.blur(1 / foot, (columns // part | 1, 1)) for part in (8, 2))
    foot = np.asarray(1 / ((1 - share) / foot + share * np.where(walls, wide, wider)), np.float32)
    steep = (foot * _N.steep + view.camera_height) / np.maximum(_N.steep - up, 0.02)
    most = np.maximum(_N.deep * foot, _N.near_woods)
    most = np.minimum(np.where(soil, most, np.maximum(np.minimum(steep, most), foot)), ground)
    found = np.where(rises, np.minimum(np.clip(told, np.minimum(foot, most), most), _LOST), 0)
    found = np.maximum.accumulate(found[::-1], axis=0)[::-1]
    grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)
    size = max(3, columns // 6) | 1, max(3, columns // 20) | 1
    # Specks between the samples have no woods around them: a twig before the sky.
    field, share = (np.asarray(one, np.float32) for one in (foot / np.maximum(found, 1), rises))
    parts = along_edges(field, grey, size, _N.even, share)
    foot = np.asarray(cv2.resize(foot, depth.shape[::-1], interpolation=cv2.INTER_LINEAR), np.float32)
    even = np.minimum(np.minimum(foot / np.maximum(parts, 0.1), _LOST), plane)
    found = np.where(labels.mask("sky"), np.float32(np.inf), even)
    return _with_things(np.where(labels.mask(*ROAD, "sidewalk"), plane, found), labels, view.focal * step)


def _feet(flat: NDArray[np.bool_], rising: NDArray[np.bool_], ground: Map, depth: Map) -> tuple[Map, Map]:
    """Return how far away what rises beside the road begins, by column, and depth in proportion to that.

    It goes on behind what stands before it.
    """
    from scipy.ndimage import median_filter

    rising = cv2.morphologyEx(rising.view(np.uint8), cv2.MORPH_OPEN, np.ones((5, 1), np.uint8)).view(np.bool_)
    top, columns = np.maximum(flat.argmax(axis=0), 1), np.arange(flat.shape[1])
    known = np.flatnonzero(flat.any(axis=0) & rising[top - 1, columns])
    if not len(known):
        return np.full((1, len(columns)), _N.near_woods, np.float32), depth
    size, lines = len(columns) // int(_N.window) | 1, (ground[top[known], 0], depth[top[known], known])
    foot, seen = (median_filter(np.interp(columns, known, one), size, mode="nearest") for one in lines)
    told = np.asarray(depth * (foot / seen), np.float32)
    return np.asarray(1 / cv2.blur(1 / foot[None], (size // 3 | 1, 1)), np.float32), told


def along_edges(field: Map, grey: Image, size: tuple[int, int], flat: float, share: Map | None = None) -> Map:
    """Return a field smoothed and as large as an image, with its steps where that has edges: a guided filter.

    Args:
        field: As small as may be.
        grey: The image.
        size: Of the window, across and down in the field.
        flat: The variance of brightness, from 0 to 1, that is no edge.
        share: How much each place counts; all alike if left out.
    """
    seen = cv2.resize(grey, field.shape[::-1], interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    weights = np.ones_like(field) if share is None else share
    around = np.maximum(cv2.blur(weights, size), np.float32(1e-6))

    def mean(values: NDArray[Any]) -> Map:
        return np.asarray(cv2.blur(values * weights, size) / around, np.float32)

    light, level = mean(seen), mean(field)
    slope = (mean(seen * field) - light * level) / (mean(seen * seen) - light * light + np.float32(flat))
    parts = (mean(one) for one in (slope, level - slope * light))
    steep, base = (cv2.resize(one, grey.shape[::-1], interpolation=cv2.INTER_LINEAR) for one in parts)
    return np.asarray(steep * (grey / np.float32(255)) + base, np.float32)


def _false_sky(sky: NDArray[np.bool_], image: Image) -> NDArray[np.bool_]:
    """Return what is labelled as sky and does not look so: all of a region, or a part of a large one.

    A region that is narrow everywhere is a pole in the sun.
    """
    likely = sky & _may_be_sky(image)
    count, parts = cv2.connectedComponents(sky.view(np.uint8))
    whole = np.maximum(np.bincount(parts.ravel(), minlength=count), 1)
    good = np.bincount(parts[likely], minlength=count) / whole
    size = max(3, image.shape[1] // 50 | 1)
    soft = cv2.blur(likely.astype(np.float32), (size, size)) > 0.5
    wide = cv2.erode(sky.view(np.uint8), _square(max(1, image.shape[1] // 80))).view(np.bool_)
    good[np.bincount(parts[wide], minlength=count) == 0] = 0
    left = sky & (good >= _N.mostly)[parts] & soft
    # Islands darker than most of what is left at the upper edge are pale grass, walls and signs.
    count, parts = cv2.connectedComponents(left.view(np.uint8))
    sizes = np.maximum(np.bincount(parts.ravel(), minlength=count), 1)
    levels = np.bincount(parts.ravel(), image.max(axis=2).ravel(), minlength=count) / sizes
    top = (sizes * np.isin(np.arange(count), parts[0]))[1:]
    level = levels[1 + top.argmax()] if top.any() else np.percentile(image, 99)
    return np.asarray(sky & ~(left & (levels >= _SKY_BRIGHT * level)[parts]))


def _may_be_sky(image: Image) -> NDArray[np.bool_]:
    """Return what is bright, or smooth and not dark: woods and hills are neither."""
    # A deep blue sky is dark in grey.
    red, green, blue = cv2.split(image)
    grey = np.asarray(cv2.max(cv2.max(red, green), blue), np.uint8)
    size = max(3, image.shape[1] // 100 | 1)
    soft = cv2.blur(grey, (size, size)).astype(np.float32) / max(float(np.percentile(grey, 97)), 1.0)
    small = cv2.resize(grey, None, fx=3 / size, fy=3 / size, interpolation=cv2.INTER_AREA)
    rough = cv2.blur(np.abs(cv2.Laplacian(cv2.blur(small, (3, 3)), cv2.CV_32F)), (9, 9))
    rough = cv2.resize(rough, (image.shape[1], image.shape[0]), interpolation=cv2.INTER_LINEAR)
    bluish = cv2.subtract(blue, red) > _N.blue
    return np.asarray((soft > _SKY_BRIGHT) | ((soft > _SKY_DARK) & ((rough < _SKY_ROUGH) | bluish)))


def _with_things(depth: Map, labels: LabelMap, focal: float) -> Map:
    """Return depth in which vehicles, people and posts are as far away as the ground below them.

    How far away what hangs before the sky is, its size says.
    """
    last, sky = len(depth) - 1, labels.mask("sky")
    posts = labels.mask("pole", "traffic sign", "traffic light")
    # A light and the arm that it hangs on do not always touch.
    near = cv2.dilate(posts.view(np.uint8), _square(depth.shape[1] // 320))
    _, parts, stats, _ = cv2.connectedComponentsWithStats(near)
    for number, (left, top, wide, high, _) in enumerate(stats.tolist()[1:], 1):
        window = np.s_[top : top + high, left : left + wide]
        own = parts[window] == number
        foot = min(top + high, last), left + int(own[-1].argmax())
        depth[window][own & posts[window]] = (
            focal * _N.hanging / max(wide, high) if sky[foot] else depth[foot]
        )
    things = labels.mask("vehicle", "pedestrian", "bicyclist", "traffic cone", "dog")
    left, top, wide, high = cv2.boundingRect(things.view(np.uint8))
    if high:
        part = np.s_[top : min(top + high, last) + 1, left : left + wide]
        own, behind = things[part], depth[part]
        rows, columns = np.ogrid[: len(own), :wide]
        below = np.minimum.accumulate(np.where(own, len(own) - 1, rows)[::-1], axis=0)[::-1]
        share, size = own.astype(np.float32), (max(3, depth.shape[1] // _BLEEDS) | 1,) * 2
        nearness = cv2.blur(share / behind[below, columns], size) / np.maximum(cv2.blur(share, size), 1e-6)
        behind[own] = 1 / np.maximum(nearness[own], 1 / FAR)
    return depth


def _square(reach: int) -> NDArray[np.uint8]:
    return np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)


_ROWS = (0.25, 0.70)  # of the height, between which a horizon is looked for
_NARROWEST = 120  # pixels: enough to see lines
_LEAST_SHARE, _LEAST_PAIRS = 0.45, 12  # of the pairs of lines that must agree


def vanishing_row(image: NDArray[np.uint8]) -> float | None:
    """Return the row in which lines that lean to the left and to the right meet, as kerbs and lane lines do.

    Args:
        image: A thumbnail, RGB.

    Returns:
        None where there are too few such lines, or they do not agree.
    """
    full = image.shape[0]
    if image.shape[1] >= 2 * _NARROWEST:
        image = np.asarray(cv2.pyrDown(image), np.uint8)
    height, width = image.shape[:2]
    top = round(0.3 * height)
    edges = cv2.Canny(cv2.cvtColor(image[top:], cv2.COLOR_RGB2GRAY), 40, 100)
    lines = cv2.HoughLinesP(edges, 1, np.pi / 90, 12, minLineLength=width / 14, maxLineGap=2)
    if lines is None:
        return None
    x, y, x2, y2 = (lines.reshape(-1, 4) + np.array([0, top, 0, top])).astype(np.float64).T
    run, fall = x2 - x, y2 - y
    slope = fall / np.where(run == 0, 1e-9, run)
    leaning = (np.abs(slope) > 0.2) & (np.abs(slope) < 4) & (np.maximum(y, y2) > height / 2)
    left, right = (np.flatnonzero(leaning & side) for side in (slope < 0, slope > 0))
    i, j = (index.ravel() for index in np.meshgrid(left, right))
    across = (y[j] - y[i] + slope[i] * x[i] - slope[j] * x[j]) / (slope[i] - slope[j])
    row = y[i] + slope[i] * (across - x[i])
    low, high = (share * height for share in _ROWS)
    meets = (np.abs(across / width - 0.5) < 0.4) & (row > low) & (row < high)
    if np.count_nonzero(meets) < _LEAST_PAIRS:
        return None
    weight = (np.hypot(run, fall)[i] * np.hypot(run, fall)[j])[meets]
    rows = np.arange(low, high)
    votes = np.exp(-(((rows[:, None] - row[meets]) / (_N.width * height)) ** 2)) @ weight
    best = int(votes.argmax())
    return float(rows[best]) * full / height if votes[best] > _LEAST_SHARE * weight.sum() else None
