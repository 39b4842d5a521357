"""Which of the labels and depths that a network estimated the image bears out, before weather uses them."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame, LabelMap
from roadworthy.images import Image
from roadworthy.labelling import is_estimated

Map = NDArray[np.float32]

_NEAREST_OF = 30  # percent of a post that is nearer than all of it is taken to be
_BLEEDS = 40  # widths of estimated depth's blur that fit across an image
_ENOUGH = 0.05  # of a blur's window, to tell what is inside or around a thing
# How bright sky is at least where it is rough, and where it is smooth, beside the brightest of the image; how
# rough, in grey levels; and how far away woods are at most: a street leads through them.
_SKY_BRIGHT, _SKY_DARK, _SKY_ROUGH, _WOODS = 0.8, 0.5, 6.0, np.float32(120)
_MOSTLY = 0.7  # of a region of sky that must look so, if any of it is to be believed


def believed(frame: Frame) -> Frame:
    """Return a frame with those of its estimated labels and depths that the image bears out."""
    labels, depth = frame.labels, frame.depth
    if labels is not None and is_estimated(frame):
        false = _false_sky(labels.mask("sky"), frame.image)
        if false.any() and "tree" in labels.classes:
            ids = np.where(false, labels.ids.dtype.type(labels.classes.index("tree")), labels.ids)
            labels = LabelMap(ids, labels.classes)
    if labels is not None and depth is not None and is_estimated(frame, "depth"):
        depth = _sharpened(np.where(labels.mask("tree"), np.minimum(depth, _WOODS), depth), labels)
    if labels is frame.labels and depth is frame.depth:
        return frame
    return frame.replace(labels=labels, depth=depth)


def _false_sky(sky: NDArray[np.bool_], image: Image) -> NDArray[np.bool_]:
    """Return what is labelled as sky and does not look so: all of a region, or a part of a large one."""
    likely = sky & _may_be_sky(image)
    count, parts = cv2.connectedComponents(sky.view(np.uint8))
    whole = np.maximum(np.bincount(parts.ravel(), minlength=count), 1)
    good = np.bincount(parts[likely], minlength=count) / whole
    size = max(3, image.shape[1] // 50 | 1)
    soft = cv2.blur(likely.astype(np.float32), (size, size)) > 0.5
    return np.asarray(sky & ((good < _MOSTLY)[parts] | ~soft))


def _may_be_sky(image: Image) -> NDArray[np.bool_]:
    """Return what is bright, or smooth and not dark: woods and hills are neither."""
    grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)
    size = max(3, image.shape[1] // 100 | 1)
    soft = cv2.blur(grey, (size, size)).astype(np.float32) / max(float(np.percentile(grey, 97)), 1.0)
    small = (
        cv2.resize(grey, None, fx=3 / size, fy=3 / size, interpolation=cv2.INTER_AREA) if size > 3 else grey
    )
    rough = cv2.blur(np.abs(cv2.Laplacian(cv2.blur(small, (3, 3)), cv2.CV_32F)), (9, 9))
    rough = cv2.resize(rough, (image.shape[1], image.shape[0]), interpolation=cv2.INTER_LINEAR)
    return np.asarray((soft > _SKY_BRIGHT) | ((soft > _SKY_DARK) & (rough < _SKY_ROUGH)))


def _sharpened(depth: Map, labels: LabelMap) -> Map:
    """Return estimated depth with the outlines of things as the label map has them.

    A network's depth runs over outlines like water colour. A thing is as far away as its inside, and what is
    beside it as far as what is around.
    """
    inverse = (1 / np.maximum(depth, 0.1)).astype(np.float32)
    reach = max(1, depth.shape[1] // _BLEEDS)
    things = labels.mask("vehicle", "pedestrian", "bicyclist")
    inside = cv2.erode(things.view(np.uint8), _square(max(1, reach // 3))).view(np.bool_)
    sky = np.isinf(depth)
    near = cv2.dilate(things.view(np.uint8), _square(reach)).view(np.bool_) & ~things & ~sky
    found = depth.copy()
    for rim, source in ((things & ~inside, inside), (near, ~near & ~things & ~sky)):
        size = (2 * reach + 1, 2 * reach + 1)
        share = cv2.blur(source.astype(np.float32), size)
        carried = share / np.maximum(cv2.blur(np.where(source, inverse, np.float32(0)), size), 1e-6)
        rim &= share > _ENOUGH
        found[rim] = carried[rim]
    posts = labels.mask("pole", "traffic sign", "traffic light")
    _, parts, stats, _ = cv2.connectedComponentsWithStats(posts.view(np.uint8))
    for number, (left, top, wide, high, _) in enumerate(stats.tolist()[1:], 1):
        window = np.s_[top : top + high, left : left + wide]
        own = parts[window] == number
        # A post is thinner than the network sees: its edges show what is behind it.
        found[window][own] = np.percentile(depth[window][own], _NEAREST_OF)
    return found


def _square(reach: int) -> NDArray[np.uint8]:
    return np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)
