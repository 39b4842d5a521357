"""From label maps and relative depth to what engines need: metres, single things, and their boxes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Boxes, Frame, LabelMap

CAMERA_HEIGHT = 1.45
"""Metres above the road that a camera is taken to be at: usual behind a windscreen."""

Map = NDArray[np.float32]

_FIELD_OF_VIEW = math.radians(72.0)  # as elsewhere where nothing is known about the lens
_FARTHEST = 400.0  # metres
_ROAD = ("road", "line", "crosswalk", "stop and yield line")
_LEAST_ROAD = 0.02  # of the image: less of it is no plane
_LEAST_SKY = 0.01  # likewise
_THINGS = ("vehicle", "pedestrian", "bicyclist")
_LEAST_THING = 0.00015  # of the image: a smaller one is a speck
_STEP = 1.25  # times as far away from one pixel to the next: two things


def metric_depth(
    inverse: Map, labels: LabelMap, *, focal: float | None = None, camera_height: float = CAMERA_HEIGHT
) -> Map | None:
    """Return metres for relative inverse depth, by the plane of the road; None where too little road is seen.

    On a flat road inverse depth grows by 1 / (focal × camera height) with each row below the horizon. What
    is infinitely far, the sky, says where inverse depth is 0.

    Args:
        inverse: Relative inverse depth; its scale and shift are free.
        labels: The label map: road gives the scale, sky the shift.
        focal: Focal length in pixels; that of a field of view of 72° when left out.
        camera_height: Metres of the camera above the road.

    Example:
        >>> rows = np.repeat(np.arange(100, dtype=np.float32)[:, None], 60, axis=1)
        >>> labels = LabelMap(np.where(rows < 40, 15, 1).astype(np.uint8))
        >>> inverse = np.maximum(rows + 0.5 - 40, 0) * 0.01 + 0.2
        >>> depth = metric_depth(inverse, labels, focal=80.0, camera_height=1.5)
        >>> round(float(depth[79, 30]), 2) == round(80 * 1.5 / 39.5, 2)
        True
    """
    height, width = labels.shape
    road = labels.mask(*_ROAD) & ~np.isnan(inverse)
    rows, columns = np.nonzero(road)
    if len(rows) < _LEAST_ROAD * road.size or np.ptp(rows) < 0.1 * height:
        return None
    step = max(1, len(rows) // 20_000)
    rows, columns = rows[::step], columns[::step]
    values = inverse[rows, columns].astype(np.float64)
    slope, offset = _line(rows.astype(np.float64) + 0.5, values)
    sky = labels.mask("sky")
    far = inverse[sky & ~np.isnan(inverse)]
    shift = float(np.median(far) if len(far) > _LEAST_SKY * sky.size else np.nanpercentile(inverse, 1))
    # The plane must end at the horizon, which lies above the road: else sky and road contradict each other.
    if slope <= 0 or not -0.5 * height < (shift - offset) / slope < rows.min() + 0.1 * height:
        return None
    focal = width / 2 / math.tan(_FIELD_OF_VIEW / 2) if focal is None else focal
    true = (inverse - shift) / np.float32(slope * focal * camera_height)
    depth = 1 / np.maximum(true, 1 / _FARTHEST)
    depth[sky] = np.inf
    return np.asarray(depth, np.float32)


def _line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Return slope and offset of a line through points, of which some are no part of it."""
    weights = np.ones(len(x))
    slope = offset = 0.0
    for _ in range(5):
        mean_x, mean_y = np.average(x, weights=weights), np.average(y, weights=weights)
        slope = float((weights * (x - mean_x)) @ (y - mean_y) / ((weights * (x - mean_x)) @ (x - mean_x)))
        offset = float(mean_y - slope * mean_x)
        error = np.abs(y - slope * x - offset)
        weights = 1 / (1 + (error / (3 * np.median(error) + 1e-9)) ** 2)
    return slope, offset


def focal_of(frame: Frame) -> tuple[float | None, float | None]:
    """Return focal length and camera height where the data says them, as Cityscapes does."""
    camera = frame.metadata.get("camera")
    if not isinstance(camera, Mapping):
        return None, None
    found = [(camera.get(part) or {}).get(key) for part, key in (("intrinsic", "fy"), ("extrinsic", "z"))]
    return found[0], found[1]


def instances_of(labels: LabelMap, inverse: Map | None = None) -> NDArray[np.uint16]:
    """Return a number for each vehicle, pedestrian and bicyclist, 0 elsewhere.

    A thing is what hangs together, and is parted where the distance leaps.

    Args:
        labels: The label map.
        inverse: Inverse depth, relative or not; None if it is not known.

    Example:
        >>> ids = np.zeros((40, 80), np.uint8)
        >>> ids[10:30, 5:25] = ids[12:30, 40:70] = 12
        >>> labels = LabelMap(ids)
        >>> labels.classes[12], np.unique(instances_of(labels)).tolist()
        ('vehicle', [0, 1, 2])
    """
    found = np.zeros(labels.shape, np.uint16)
    apart = None if inverse is None else _leaps(inverse)
    count = 0
    for word in _THINGS:
        mask = labels.mask(word)
        parted = mask if apart is None else mask & ~apart
        number, parts, stats, _ = cv2.connectedComponentsWithStats(parted.view(np.uint8), connectivity=4)
        for one in range(1, number):
            left, top, width, height, area = stats[one].tolist()
            if area < _LEAST_THING * mask.size:
                continue
            count += 1
            window = found[top : top + height, left : left + width]
            window[parts[top : top + height, left : left + width] == one] = count
        if apart is not None:
            _grow(found, mask)
    return found


def _leaps(inverse: Map) -> NDArray[np.bool_]:
    """Return where something much farther away lies beside a pixel."""
    near = np.maximum(inverse, 1e-3)
    return np.asarray(cv2.dilate(near, np.ones((3, 3))) > _STEP * cv2.erode(near, np.ones((3, 3))))


def _grow(found: NDArray[np.uint16], mask: NDArray[np.bool_]) -> None:
    """Give the pixels of a class that are no thing's the number of the nearest thing beside them."""
    reach = np.ones((3, 3), np.uint8)
    for _ in range(3):
        open_ = mask & (found == 0)
        if not open_.any():
            return
        found[open_] = cv2.dilate(found, reach)[open_]


def boxes_of(instances: NDArray[np.uint16], labels: LabelMap) -> Boxes:
    """Return the box round each thing.

    Example:
        >>> ids = np.zeros((40, 80), np.uint8)
        >>> ids[10:30, 5:25] = 12
        >>> boxes_of(instances_of(LabelMap(ids)), LabelMap(ids)).xyxy.tolist()
        [[5.0, 10.0, 25.0, 30.0]]
    """
    from scipy.ndimage import find_objects

    corners, classes, tracks = [], [], []
    for number, place in enumerate(find_objects(instances), 1):
        if place is None:
            continue
        inside = labels.ids[place][instances[place] == number]
        word = labels.classes[int(np.bincount(inside).argmax())]
        corners.append([place[1].start, place[0].start, place[1].stop, place[0].stop])
        classes.append(word)
        tracks.append(number)
    return Boxes(np.array(corners, np.float32).reshape(-1, 4), classes, track_ids=tracks)
