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
from roadworthy.transforms.perspective import ROAD, Perspective
from roadworthy.transforms.wording import Numbers

_N = Numbers("estimates")

Map = NDArray[np.float32]

_BLEEDS = 40  # widths of estimated depth's blur that fit across an image
# How bright sky is at least where it is rough, and where it is smooth, beside the brightest of the image; how
# rough, in grey levels; and how far away woods are at most: a street leads through them.
_SKY_BRIGHT, _SKY_DARK, _SKY_ROUGH, _WOODS = 0.8, 0.5, 6.0, np.float32(120)
_COARSE = 160  # pixels of width that are enough for the distance of woods


def believed(frame: Frame) -> Frame:
    """Return a frame with those of its estimated labels and depths that the image bears out."""
    labels, depth = frame.labels, frame.depth
    if labels is not None and is_estimated(frame):
        labels = _with(labels, "tree", _false_sky(labels.mask("sky"), frame.image))
        burnt = _burnt_sky(labels, frame.image)
        labels = _with(labels, "sky", burnt)
        if depth is not None and labels is not frame.labels:
            depth = np.where(burnt, np.float32(np.inf), depth)
    if labels is not None and depth is not None and is_estimated(frame, "depth"):
        depth = _sharpened(_receding(depth, labels, frame.image), labels)
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
    grey = cv2.morphologyEx(
        cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.MORPH_OPEN, _square(max(1, image.shape[1] // 100))
    )
    burnt = np.asarray((grey >= _N.burnt) & above[:, None] & labels.mask("tree", VOID))
    if not burnt.any():
        return burnt
    # Leaves part it into specks.
    near = cv2.dilate((burnt | sky).view(np.uint8), _square(max(1, image.shape[1] // 160)))
    count, parts = cv2.connectedComponents(near)
    hangs = np.zeros(count, np.bool_)
    hangs[np.unique(np.concatenate([parts[sky], parts[0]]))] = True
    hangs[0] = False
    return np.asarray(burnt & hangs[parts])


def _receding(depth: Map, labels: LabelMap, image: Image) -> Map:
    """Return depth in which woods and walls never come nearer from their foot to their top.

    The network loses far woods, and sees single crowns among them as near as the road. It does not tell woods
    from hills either, but what towers in the image is near.
    """
    step = max(1, round(depth.shape[1] / _COARSE))
    every = np.s_[::step, ::step]
    coarse = LabelMap(np.ascontiguousarray(labels.ids[every]), labels.classes)
    standing, sky = coarse.mask("tree", "building", VOID), coarse.mask("sky")
    ground = coarse.mask(*ROAD, "sidewalk", "terrain")
    near = np.minimum(depth[every], _WOODS)
    columns = near.shape[1]
    found = np.maximum.accumulate(np.where(standing | ground, near, 0)[::-1], axis=0)[::-1]
    view = Perspective.of(Frame("coarse", np.zeros((*near.shape, 3), np.uint8), coarse, depth=near))
    high = np.maximum(max(view.horizon, _N.highest_horizon * len(near)) - standing.argmax(axis=0), 1.0)
    most = np.where(standing.any(axis=0), _N.tallest * view.focal / high, _WOODS).astype(np.float32)
    # Woods stand upright: their tops are about as far away as their foot.
    foot = found[len(near) - 1 - standing[::-1].argmax(axis=0), np.arange(columns)]
    farthest = cv2.dilate(foot[None], np.ones((1, max(3, columns // 5) | 1), np.uint8))[0]
    most = np.minimum(most, np.maximum(_N.deep * farthest, _N.near_woods))
    found = np.minimum(found, 1 / cv2.blur(1 / most[None], (max(3, columns // 2) | 1, 1)))
    # The network calls woods below the horizon terrain: no step shows where the one becomes the other.
    share = ((standing | coarse.mask("terrain")) & ~sky).astype(np.float32)
    grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)
    size = max(3, columns // 6) | 1, max(3, columns // 5) | 1
    # Where no sample near is of woods, as at a twig before the sky, it is as far away as woods are at most.
    even = 1 / np.clip(along_edges(1 / np.maximum(found, 1), grey, size, _N.even, share), 1 / _WOODS, 1)
    return np.where(labels.mask("tree", "building", "terrain", VOID), even, depth).astype(np.float32)


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
    # Islands darker than most of what is left are pale grass and walls.
    count, parts = cv2.connectedComponents(left.view(np.uint8))
    sizes = np.maximum(np.bincount(parts.ravel(), minlength=count), 1)
    levels = np.bincount(parts.ravel(), image.max(axis=2).ravel(), minlength=count) / sizes
    bright = levels >= _SKY_BRIGHT * levels[1 + sizes[1:].argmax() if count > 1 else 0]
    return np.asarray(sky & ~(left & bright[parts]))


def _may_be_sky(image: Image) -> NDArray[np.bool_]:
    """Return what is bright, or smooth and not dark: woods and hills are neither."""
    # A deep blue sky is dark in grey.
    red, green, blue = cv2.split(image)
    grey = np.asarray(cv2.max(cv2.max(red, green), blue), np.uint8)
    size = max(3, image.shape[1] // 100 | 1)
    soft = cv2.blur(grey, (size, size)).astype(np.float32) / max(float(np.percentile(grey, 97)), 1.0)
    small = (
        cv2.resize(grey, None, fx=3 / size, fy=3 / size, interpolation=cv2.INTER_AREA) if size > 3 else grey
    )
    rough = cv2.blur(np.abs(cv2.Laplacian(cv2.blur(small, (3, 3)), cv2.CV_32F)), (9, 9))
    rough = cv2.resize(rough, (image.shape[1], image.shape[0]), interpolation=cv2.INTER_LINEAR)
    bluish = cv2.subtract(blue, red) > _N.blue
    return np.asarray((soft > _SKY_BRIGHT) | ((soft > _SKY_DARK) & ((rough < _SKY_ROUGH) | bluish)))


def _sharpened(depth: Map, labels: LabelMap) -> Map:
    """Return estimated depth with the outlines of things as the label map has them.

    A network's depth runs over outlines like water colour. A thing is as far away as its inside, and what is
    beside it as far as what is around.
    """
    found = depth.copy()
    reach = max(1, depth.shape[1] // _BLEEDS)
    things = labels.mask("vehicle", "pedestrian", "bicyclist")
    if things.any():
        left, top, wide, high = cv2.boundingRect(things.view(np.uint8))
        more = 3 * reach  # as far as anything is looked at
        part = np.s_[max(0, top - more) : top + high + more, max(0, left - more) : left + wide + more]
        found[part] = _outlined(depth[part], things[part], reach)
    poles = labels.mask("pole")
    posts = poles | labels.mask("traffic sign", "traffic light")
    _, parts, stats, _ = cv2.connectedComponentsWithStats(posts.view(np.uint8))
    for number, (left, top, wide, high, _) in enumerate(stats.tolist()[1:], 1):
        window = np.s_[top : top + high, left : left + wide]
        own = parts[window] == number
        # A post is thinner than the network sees: its edges show what is behind it.
        inside = np.sort(depth[window][own])
        found[window][own] = inside[
            int((_N.nearest_of if poles[window][own].any() else _N.hanging) * len(inside))
        ]
    return found


def _outlined(depth: Map, things: NDArray[np.bool_], reach: int) -> Map:
    """Return depth in which things are as far away as their inside, and what is beside them as the rest."""
    inverse = (1 / np.maximum(depth, 0.1)).astype(np.float32)
    inside = cv2.erode(things.astype(np.uint8), _square(max(1, reach // 3))).view(np.bool_)
    sky = np.isinf(depth)
    near = cv2.dilate(things.astype(np.uint8), _square(reach)).view(np.bool_) & ~things & ~sky
    found = depth.copy()
    # What is around is carried up to the thing, and fades out away from it: a step would show as a ring.
    away = cv2.distanceTransform((~things).view(np.uint8), cv2.DIST_C, 3) / (reach + 1)
    away = np.clip(1.5 * away - 0.5, 0, 1)
    around = ~near & ~things & ~sky
    for rim, source, wide, fades in ((things & ~inside, inside, reach, 0.0), (near, around, 2 * reach, away)):
        size = (2 * wide + 1, 2 * wide + 1)
        share = cv2.blur(source.astype(np.float32), size)
        carried = cv2.blur(np.where(source, inverse, np.float32(0)), size) / np.maximum(share, 1e-6)
        carried += (inverse - carried) * fades
        rim &= share > _N.enough
        found[rim] = 1 / np.maximum(carried[rim], 1e-6)
    return found


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
