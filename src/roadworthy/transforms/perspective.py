"""Where the ground lies in an image: the horizon, how far away each row is, and how large things are there.

The ground is taken for a plane and the camera for one without roll. Then the horizon is a row, the distance
of the ground is inversely proportional to the number of rows below it, and an upright thing as high as the
camera reaches from its foot to the horizon, wherever it stands. Rows are those of boxes: row y is the upper
edge of pixel y, so the foot of a thing is the lower edge of its box.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame, LabelMap
from roadworthy.images import Mask
from roadworthy.transforms.wording import believable

Map = NDArray[np.float32]
Vector = NDArray[np.float64]

ROAD = ("road", "lane", "line", "crosswalk", "stop and yield line")
"""The classes of what one drives on, paint included."""
GROUND = (*ROAD, "sidewalk", "terrain")
"""The classes that lie flat."""
FAR = 400.0
"""Metres; where the ground is farther away than this, and where it is not known, this is taken."""

_CAMERA_HEIGHT = (1.45, 0.2)  # metres: what is usual behind a windscreen, and how much it differs
_HORIZON = (0.45, 0.10)  # of the image's height, likewise
_FIELD_OF_VIEW = math.radians(72.0)
# Width over height of things seen whole, alone and upright; vans and trucks from behind are no measure.
_SHAPES = {"vehicle": (1.1, 2.7), "pedestrian": (0.2, 0.62), "bicyclist": (0.3, 0.9)}

# Things that are all at one distance, that of their foot; sign and light stand on the pole that carries them.
_COMPACT = (
    ("vehicle",), ("pedestrian", "bicyclist"), ("pole", "traffic sign", "traffic light"),
    ("traffic cone", "dog"),
)  # fmt: skip


def real_height(element: str, properties: Mapping[str, str] | None = None) -> float | None:
    """Return how high things of an element usually are, in metres; None for those that have no usual height.

    Example:
        >>> real_height("pedestrian"), real_height("pedestrian", {"type": "child"}), real_height("road")
        (1.72, 1.2, None)
    """
    kind = (properties or {}).get("type", "")
    heights: Mapping[str, float] = believable()["heights"].get(element, {})
    return heights.get(kind, heights.get("usual"))


@dataclass(frozen=True, slots=True)
class Perspective:
    """How the ground plane is seen in an image.

    Attributes:
        horizon: The row in which the plane of the road would vanish; it may lie outside the image.
        camera_height: Metres of the camera above the road.
        focal: Focal length in pixels.

    Example:
        >>> view = Perspective(horizon=68.5, camera_height=1.45, focal=220.0)
        >>> round(view.distance(100.4), 6), view.distance(60)
        (10.0, inf)
        >>> round(view.pixels(1.45, 100.4), 6)
        31.9
    """

    horizon: float
    camera_height: float
    focal: float

    def distance(self, row: float) -> float:
        """Return how far away the ground is in a row, in metres along the optical axis."""
        below = row - self.horizon
        return self.focal * self.camera_height / below if below > 0 else math.inf

    def row(self, distance: float) -> float:
        """Return the row in which the ground at a distance is seen."""
        return self.horizon + self.focal * self.camera_height / distance

    def pixels(self, metres: float, row: float) -> float:
        """Return how large something upright or across, so many metres, is where its foot is in a row."""
        return metres * max(row - self.horizon, 0.0) / self.camera_height

    def metres(self, pixels: float, row: float) -> float:
        """Return how large a thing is that covers so many pixels and has its foot in a row."""
        return pixels * self.camera_height / max(row - self.horizon, 1e-6)

    def distances(self, height: int) -> Map:
        """Return the distance of the ground in the middle of each row, infinite above the horizon."""
        below = np.arange(height) + 0.5 - self.horizon
        with np.errstate(divide="ignore"):
            found = np.where(below > 0, self.focal * self.camera_height / np.maximum(below, 1e-9), np.inf)
        return found.astype(np.float32)

    @classmethod
    def of(cls, frame: Frame) -> Perspective:
        """Estimate the perspective of a frame from all that is known about it.

        With a depth map the plane of the road is fitted to it. Without one, the horizon follows from things
        whose real height is known, from how the road narrows, and from where road and sky end; without labels
        and boxes usual values are taken.
        """
        return _perspective(frame)


# A frame is changed in many ways one after another.
@lru_cache(maxsize=4)
def _perspective(frame: Frame) -> Perspective:
    plane = _plane(frame)
    things = _things(frame)
    # Unknowns: the row of the horizon and the camera's height. Each piece of evidence is a line of a linear
    # system; those that disagree with the others lose their weight, because not every vehicle is a car and
    # not every pedestrian a grown-up.
    size = frame.height
    lines = [(1.0, 0.0, _HORIZON[0] * size, _HORIZON[1] * size), (0.0, 1.0, *_CAMERA_HEIGHT)]
    low, high = -math.inf, math.inf
    if plane is not None:
        lines.append((1.0, 0.0, plane[0], 1e-4 * size))
    elif frame.labels is not None:
        road = frame.labels.mask(*ROAD)
        low, high, seen_far = _limits(frame.labels, road)
        if (narrowing := _vanishing_row(road)) is not None:
            lines.append((1.0, 0.0, narrowing, 0.025 * size))
        if seen_far:
            lines.append((1.0, 0.0, high - 0.02 * size, 0.04 * size))
            # What ends above the road stands on none: it is a sign, or nothing.
            things = [one for one in things if one[0] > high]
    lines += [(1.0, height / real, foot, 0.004 * size + 0.08 * height) for foot, height, real in things]
    horizon, camera_height = _solved(np.array(lines))
    if low < high:
        horizon = min(max(horizon, low), high)
    focal = frame.width / 2 / math.tan(_FIELD_OF_VIEW / 2)
    if plane is not None:
        focal = 1 / (plane[1] * camera_height)
    return Perspective(float(horizon), float(camera_height), float(focal))


def _solved(lines: Vector) -> tuple[float, float]:
    """Return the two unknowns of an overdetermined system, lines being (factor, factor, value, deviation)."""
    factors = lines[:, :2] / lines[:, 3:]
    values = lines[:, 2] / lines[:, 3]
    weights = np.ones(len(lines))
    solution: Vector = values[:2]
    for _ in range(6):
        weighted = factors * weights[:, None]
        solution = np.asarray(np.linalg.solve(weighted.T @ factors, weighted.T @ values), np.float64)
        error = values - factors @ solution
        weights = 1 / (1 + (error / 1.5) ** 2)
        weights[1] = 1.0  # what is usual for the camera's height is no measurement that may be an outlier
    return float(solution[0]), float(np.clip(solution[1], 0.9, 3.0))


def _plane(frame: Frame) -> tuple[float, float] | None:
    """Return the horizon of the road's plane and how much inverse depth grows with each row below it."""
    if frame.depth is None:
        return None
    # A thousand points are enough for a plane.
    every = (slice(None, None, max(1, frame.height // 80)), slice(None, None, max(1, frame.width // 32)))
    depth = frame.depth[every]
    if frame.labels is not None:
        on_road = LabelMap(np.ascontiguousarray(frame.labels.ids[every]), frame.labels.classes).mask(*ROAD)
    else:
        on_road = np.zeros(depth.shape, np.bool_)
        third = depth.shape[1] // 3
        on_road[depth.shape[0] * 2 // 3 :, third : depth.shape[1] - third] = True
    with np.errstate(invalid="ignore"):
        on_road &= np.isfinite(depth) & (depth > 0.1)
    row, column = np.nonzero(on_road)
    if len(row) < 20 or np.ptp(row) < 3:
        return None
    rows = row * every[0].step + 0.5
    inverse = 1.0 / depth[row, column].astype(np.float64)
    weights = np.ones(len(rows))
    slope = offset = mean_inverse = 0.0
    for _ in range(4):
        total = weights.sum()
        mean_row, mean_inverse = weights @ rows / total, weights @ inverse / total
        centred = rows - mean_row
        slope = (weights * centred) @ (inverse - mean_inverse) / ((weights * centred) @ centred)
        offset = mean_inverse - slope * mean_row
        error = np.abs(inverse - slope * rows - offset)
        weights = 1 / (1 + (error / (3 * np.median(error) + 1e-9)) ** 2)
    # What is equally far in all rows is no road, whichever way its depth is rounded.
    return (-offset / slope, slope) if slope * frame.height > 1e-6 * mean_inverse else None


def _things(frame: Frame) -> list[tuple[float, float, float]]:
    """Return foot row and height in pixels of each thing seen whole, and its usual height in metres."""
    found: list[tuple[float, float, float]] = []
    if frame.boxes is not None and len(frame.boxes):
        boxes = frame.boxes
        hidden = np.zeros(len(boxes))
        for share in (boxes.occlusion, boxes.truncation):
            hidden = np.maximum(hidden, 0.0 if share is None else np.nan_to_num(share))
        for index in np.flatnonzero(hidden < 0.05):
            element, facts = boxes.classes[index], boxes.attributes[index]
            found += _usable(frame, element, facts, *boxes.xyxy[index].tolist())
    elif frame.labels is not None:
        for element in _SHAPES:
            mask = frame.labels.mask(element).view(np.uint8)
            for left, top, width, height, _ in cv2.connectedComponentsWithStats(mask)[2][1:].tolist():
                found += _usable(frame, element, {}, left, top, left + width, top + height)
    return found


def _usable(
    frame: Frame, element: str, properties: Mapping[str, str], *corners: float
) -> list[tuple[float, float, float]]:
    left, top, right, foot = corners
    height = foot - top
    inside = left > 0 and top > 0 and right < frame.width and foot < frame.height
    if element not in _SHAPES or height < max(6, 0.03 * frame.height) or not inside:
        return []
    narrowest, widest = (0.0, math.inf) if "type" in properties else _SHAPES[element]
    metres = real_height(element, properties)
    return [(foot, height, metres)] if metres and narrowest < (right - left) / height < widest else []


def _limits(labels: LabelMap, road: Mask) -> tuple[float, float, bool]:
    """Return the rows between which the horizon lies, and whether the road is seen far enough to end near it.

    The sky ends above the horizon and the road below it.
    """
    few = max(3, road.shape[1] // 80)
    sky = np.flatnonzero(np.count_nonzero(labels.mask("sky"), axis=1) >= few)
    rows = np.flatnonzero(np.count_nonzero(road, axis=1) >= few)
    high = float(rows[0]) if len(rows) else math.inf
    # Sky that is seen below the top of the road says that the road leads uphill, not where the horizon is.
    above = sky[sky < high]
    low = float(above[-1] + 1) if len(above) else -math.inf
    # A road that leaves the image at its side is not seen to its end.
    seen_far = bool(len(rows)) and not (road[rows[0], 0] or road[rows[0], -1])
    return low, high, seen_far


def _vanishing_row(road: Mask) -> float | None:
    """Return the row in which the road would have no width, from how its width shrinks; None if unclear."""
    height, width = road.shape
    left = road.argmax(axis=1)
    right = width - road[:, ::-1].argmax(axis=1)
    inside = np.flatnonzero(road.any(axis=1) & (left > 1) & (right < width - 1))
    if len(inside) < max(8, height // 30):
        return None
    rows, widths = inside + 0.5, (right - left)[inside].astype(np.float64)
    # Theil and Sen's line: the median of the slopes between rows far enough apart.
    half = len(rows) // 2
    slope = float(np.median((widths[-half:] - widths[:half]) / (rows[-half:] - rows[:half])))
    if slope < 0.3:
        return None
    ends = rows - widths / slope
    end = float(np.median(ends))
    return end if np.median(np.abs(ends - end)) < 0.03 * height else None


def distance_map(frame: Frame) -> Map:
    """Return how far away each pixel is, in metres along the optical axis; infinite in the sky.

    Known depth is taken as it is. Elsewhere the ground follows from the perspective, and upright things are
    as far away as the ground on which they stand. Without labels all that is above the horizon is far away.

    Example:
        >>> frame = Frame("a", np.zeros((100, 60, 3), np.uint8))
        >>> distances = distance_map(frame)
        >>> bool(distances[0, 0] == FAR > distances[70, 0] > distances[99, 0] > 0)
        True
    """
    if frame.depth is not None and not np.isnan(frame.depth).any():
        return frame.depth
    estimated = _estimated_distances(frame)
    if frame.depth is None:
        return estimated
    return np.where(np.isnan(frame.depth), estimated, frame.depth)


@lru_cache(maxsize=2)
def _estimated_distances(frame: Frame) -> Map:
    view = Perspective.of(frame)
    ground = np.minimum(view.distances(frame.height), np.float32(FAR))
    if frame.labels is None:
        found = np.repeat(ground[:, None], frame.width, axis=1)
    else:
        feet = _foot_rows(frame.labels)
        found = np.append(ground, np.float32(FAR))[feet]
        found[frame.labels.mask("sky")] = np.inf
    found.setflags(write=False)
    return found


def _foot_rows(labels: LabelMap) -> NDArray[np.intp]:
    """Return for each pixel the row of the ground that is as far away; one beyond the last where unknown."""
    from scipy.ndimage import median_filter

    height, width = labels.shape
    rows = np.arange(height, dtype=np.intp)[:, None]
    flat = labels.mask(*GROUND)
    feet = np.where(flat, rows, -1)
    on_ground = np.ones_like(flat)
    on_ground[:-1] = flat[1:]
    compact = np.zeros_like(flat)
    for names in _COMPACT:
        mask = labels.mask(*names)
        compact |= mask
        count, components, stats, _ = cv2.connectedComponentsWithStats(mask.view(np.uint8))
        stands = np.zeros(count, np.bool_)
        stands[components[mask & on_ground]] = True
        bottom = np.where(stands, stats[:, cv2.CC_STAT_TOP] + stats[:, cv2.CC_STAT_HEIGHT] - 1, -1)
        feet = np.where(mask, bottom[components], feet)
    for index in np.unique(labels.ids[~(flat | compact)]).tolist():
        mask = labels.ids == index
        if labels.classes[index] == "sky":
            continue
        standing = mask & on_ground
        columns = np.flatnonzero(standing.any(axis=0))
        if len(columns):
            lowest = height - 1 - standing[::-1].argmax(axis=0)[columns]
            # A wall goes on behind what hides its foot; single columns that stand out would show as stripes.
            smooth = median_filter(lowest, size=width // 40 * 2 + 1, mode="nearest")
            line = np.rint(np.interp(np.arange(width), columns, smooth)).astype(np.intp)
            feet = np.where(mask, np.maximum(line, rows), feet)
    # What stands on nothing is as far away as what is seen below it.
    nearest = np.minimum.accumulate(np.where(feet >= 0, rows, height)[::-1], axis=0)[::-1]
    return np.take_along_axis(np.vstack([feet, np.full((1, width), height)]), nearest, axis=0)
