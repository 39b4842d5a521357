"""Painter's algorithm into a buffer of face numbers.

Every face in view is drawn once, far to near, into one integer image. Colour, class, instance and depth of a
pixel all follow from the number of the face that was painted last, so they cannot disagree.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import islice

import cv2
import numpy as np

from roadworthy.world.camera import Array, Flags, Ids, Indices, Ints, PinholeProjection
from roadworthy.world.mesh import Column

NEAR = 0.4  # metres; nothing nearer is drawn
_SHIFT = 4  # fractional bits of a corner's position
_SMALLEST = 2.5  # square sub-pixels
_BEFORE, _AFTER, _ANY_TIME, _CANNOT_TELL = range(4)
_NEXT_CORNER = np.array([1, 2, 3, 0])
_LIMIT = 1 << 14  # pixels; corners farther out than this are cut back


@dataclass(frozen=True, eq=False)
class Faces:
    """Flat polygons in camera axes, ready to be painted. Row f of every table belongs to face f."""

    corners: Array  # (v, 3) camera coordinates, faces one after another
    first: Ints
    count: Ints
    convex: Flags
    thing: Ints  # row of the thing it belongs to, -1 for the ground
    plane: Array  # (3, f): 1/depth = plane · (x, y, 1) for a ray (x, y, 1)
    front: Array  # smallest depth of its corners
    back: Array  # largest depth of its corners


def prepare(corners: Array, table: Array, thing: Ints) -> Faces:
    """Compute the plane and depth range of each face from its row in the table of faces."""
    count, convex = table[:, Column.CORNERS].astype(np.int32), table[:, Column.CONVEX].astype(bool)
    first = _starts(count)
    axes = corners.T
    front = np.minimum.reduceat(axes[2], first)
    back = np.maximum.reduceat(axes[2], first)
    start = x, y, z = axes[:, first]
    ax, ay, az = axes[:, first + 1] - start
    # A third corner far from the first two keeps the plane stable on faces with many corners.
    bx, by, bz = axes[:, first + np.maximum(2, count // 2)] - start
    normal: Array = np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])
    offset: Array = normal[0] * x + normal[1] * y + normal[2] * z
    size = np.abs(normal).sum(axis=0) * (np.abs(x) + np.abs(y) + np.abs(z))
    edge_on = np.abs(offset) < 3e-5 * size + 1e-9
    offset[edge_on] = 1.0
    plane = normal / offset
    plane[:, edge_on] = 0.0
    plane[2, edge_on] = 2.0 / np.maximum(front + back, 2 * NEAR)[edge_on]
    return Faces(corners, first, count, convex, thing, plane, front, back)


@dataclass(frozen=True)
class Silhouette:
    """A thing as it was painted, before anything nearer covered it.

    ``window`` is its place in the painted buffer (x1, y1, x2, y2) and ``full`` the same before it was cut at
    the picture's border; ``pixels`` counts its sample pixels.
    """

    window: tuple[int, int, int, int]
    full: tuple[float, float, float, float]
    pixels: int


Spans = dict[int, tuple[int, int]]
"""First face of each thing with a box, and one past its last, by the thing's row."""


def draw(
    ids: Ids, faces: Faces, order: Ints, projection: PinholeProjection, boxed: Spans, offset: int, step: int
) -> dict[int, Silhouette]:
    """Paint faces in ``order``; face f gets the number ``f + offset``.

    ``measured`` names things by row, each with its first face and one past its last. The faces of a thing
    are painted one right after another, so its silhouette can be counted as soon as the last is done.
    """
    corners, first, count, cut = _cut_off(faces)
    fixed, low, high = project(corners, first, projection)
    every = len(faces.count)
    width, height = high[:, :every] - low[:, :every]
    outside = _outside(ids, low, high)
    hidden = faces.front < NEAR
    # Details of things smaller than a sub-pixel or two would only flicker.
    hidden |= (width * height < _SMALLEST) & (faces.thing >= 0)
    hidden |= outside[:every]
    hidden[cut], first[cut], count[cut] = outside[every:], first[every:], count[every:]
    visible = order[~hidden[order]]
    begins = first[visible]
    outlines = map(fixed.__getitem__, map(slice, begins.tolist(), (begins + count[visible]).tolist()))
    painted = zip(outlines, faces.convex[visible].tolist(), (visible + offset).tolist(), strict=True)
    owners = faces.thing[visible]
    last_of_thing = np.flatnonzero(owners != np.append(owners[1:], -2))
    stops = zip((last_of_thing + 1).tolist(), owners[last_of_thing].tolist(), strict=True)
    silhouettes: dict[int, Silhouette] = {}
    fill_convex, fill = cv2.fillConvexPoly, cv2.fillPoly
    start = 0
    for stop, row in (*(one for one in stops if one[1] in boxed), (len(owners), -1)):
        for outline, convex, number in islice(painted, stop - start):
            if convex:
                fill_convex(ids, outline, number, 8, _SHIFT)
            else:
                fill(ids, [outline], number, 8, _SHIFT)
        start = stop
        if row in boxed:
            own = slice(*boxed[row])
            bounds = (*low[:, own].min(axis=1).tolist(), *high[:, own].max(axis=1).tolist())
            silhouettes[row] = _silhouette(ids, bounds, own.start + offset, own.stop + offset, step)
    return silhouettes


def _starts(counts: Ints) -> Ints:
    """Return where each of some groups begins that follow one another."""
    return np.cumsum(counts, dtype=np.int32) - counts


def project(
    corners: Array, first: Ints | Indices, projection: PinholeProjection, limit: int = _LIMIT
) -> tuple[Ints, Array, Array]:
    """Return fixed-point pixel positions of all corners (v, 2), and the bounds of each face, (2, f)."""
    scale = projection.focal / np.maximum(corners[:, 2], NEAR)
    pixel = np.empty((2, len(scale)), dtype=np.float32)
    for k, centre in enumerate(projection.centre):
        np.multiply(corners[:, k], scale, out=pixel[k])
        pixel[k] += centre
    np.clip(pixel, -limit, limit, out=pixel)
    low = np.minimum.reduceat(pixel, first, axis=1)
    high = np.maximum.reduceat(pixel, first, axis=1)
    pixel *= 1 << _SHIFT
    fixed = np.empty((len(scale), 2), dtype=np.int32)
    fixed.T[:] = np.rint(pixel, out=pixel)
    return fixed, low, high


def _outside(ids: Ids, low: Array, high: Array) -> Flags:
    """Tell which faces lie outside the picture."""
    height, width = ids.shape
    outside: Flags = (high[0] < 0) | (low[0] > width) | (high[1] < 0) | (low[1] > height)
    return outside


def _silhouette(
    ids: Ids, bounds: tuple[float, float, float, float], first: int, last: int, sampling: int
) -> Silhouette:
    """Count the sample pixels that show the numbers from ``first`` up to ``last``."""
    height, width = ids.shape
    # The window starts on a sample pixel and leaves room for the border that filling adds.
    x1 = max(0, int(bounds[0] - 2)) // sampling * sampling
    y1 = max(0, int(bounds[1] - 2)) // sampling * sampling
    x2, y2 = min(width, int(bounds[2] + 3)), min(height, int(bounds[3] + 3))
    patch = ids[y1:y2:sampling, x1:x2:sampling]
    return Silhouette((x1, y1, x2, y2), bounds, int(np.count_nonzero((patch >= first) & (patch < last))))


def _cut_off(faces: Faces) -> tuple[Array, Ints, Ints, Indices]:
    """Cut faces at the near plane.

    What lies beyond it of those that reach through it follows after all other faces: return all corners, the
    first and the number of those of each face, and which faces were cut.
    """
    cut = np.flatnonzero((faces.front < NEAR) & (faces.back > NEAR))
    count = faces.count[cut]
    starts = _starts(count)
    within = np.arange(int(count.sum()), dtype=np.int32) - np.repeat(starts, count)
    row = np.repeat(faces.first[cut], count) + within
    before = np.where(within == 0, row + np.repeat(count, count), row) - 1
    here, there = faces.corners.T[:, row], faces.corners.T[:, before]
    beyond = here[2] >= NEAR
    # Each corner gives up to two: where the edge that leads to it crosses the plane, and itself.
    keep = np.stack([beyond != (there[2] >= NEAR), beyond], axis=1)
    rise = np.where(keep[:, 0], here[2] - there[2], np.float32(1.0))
    crossing = there + (here - there) * ((NEAR - there[2]) / rise)
    rest = np.stack([crossing, here], axis=2)[:, keep]
    sizes = np.add.reduceat(keep.sum(axis=1, dtype=np.int32), starts) if len(cut) else starts
    corners = np.concatenate([faces.corners.T, rest], axis=1).T
    first = np.concatenate([faces.first, len(faces.corners) + _starts(sizes)])
    return corners, first, np.concatenate([faces.count, sizes]), cut


def paint_order(middle: Array, outlines: Array, wide: Flags) -> Ints:
    """Order things far to near by their outlines on the ground, (n, 4, 2) with the camera at the origin.

    For two convex outlines, an edge of one with the other wholly beyond it tells which may hide the other;
    distance alone goes wrong beside long walls. Only pairs that overlap as seen from the camera matter.
    """
    n = len(outlines)
    distance = np.hypot(middle[:, 0], middle[:, 1])
    by_distance = np.argsort(-distance, kind="stable").astype(np.int32)
    big = np.flatnonzero(wide)
    if n < 2 or not len(big):
        return by_distance
    bearing = np.arctan2(outlines[..., 0], np.maximum(outlines[..., 1], 0.05))
    left, right = bearing.min(axis=1) - 0.01, bearing.max(axis=1) + 0.01
    overlap = (left[big, None] < right) & (right[big, None] > left)
    overlap[np.arange(len(big)), big] = False
    rank = np.empty(n, dtype=np.int32)
    rank[by_distance] = np.arange(n)
    verdict = _occludes(middle[big], outlines[big], outlines)
    nearer = rank > rank[big, None]
    # Only a big thing can ask for another order than that by distance.
    if not (overlap & (verdict == np.where(nearer, _AFTER, _BEFORE))).any():
        return by_distance
    first = (left[:, None] < right) & (right[:, None] > left) & (distance[:, None] > distance)
    told = overlap & (verdict != _CANNOT_TELL)
    first[big] = np.where(told, verdict == _BEFORE, first[big])
    first[:, big] = np.where(told.T, verdict.T == _AFTER, first[:, big])
    return _topological(first, by_distance)


def _occludes(middle: Array, big: Array, every: Array) -> Ints:
    """For each pair of a big thing and any thing, tell when the big one must be painted."""
    x, y = big[..., 0], big[..., 1]
    normal_x, normal_y = y[:, _NEXT_CORNER] - y, x - x[:, _NEXT_CORNER]
    inward = normal_x * (middle[:, :1] - x) + normal_y * (middle[:, 1:] - y) > 0
    outward = np.where(inward, np.float32(-1.0), np.float32(1.0))
    normal_x *= outward
    normal_y *= outward
    border = normal_x * x + normal_y * y
    flat = np.stack([normal_x.ravel(), normal_y.ravel()], axis=-1)
    nearest = flat @ every[:, 0].T
    for corner in (1, 2, 3):
        np.minimum(nearest, flat @ every[:, corner].T, out=nearest)
    beyond = nearest.reshape(len(big), 4, len(every)) >= border[..., None] - 0.02
    camera_beyond = (border < 0)[..., None]
    before = (beyond & camera_beyond).any(axis=1)
    after = (beyond & ~camera_beyond).any(axis=1)
    told = np.where(before, _BEFORE, _AFTER)
    told[before & after] = _ANY_TIME
    told[~(before | after)] = _CANNOT_TELL
    return told.astype(np.int32)


def _topological(first: Flags, by_distance: Ints) -> Ints:
    """Order things so that each comes after all that are to be painted first, and else from far to near."""
    first = first[by_distance][:, by_distance]
    waiting = first.sum(axis=0).tolist()
    before, after = (axis.tolist() for axis in np.nonzero(first))
    ends = np.searchsorted(before, np.arange(len(first) + 1)).tolist()
    ready = [one for one, count in enumerate(waiting) if not count]
    order: list[int] = []
    rest = dict.fromkeys(range(len(first)))
    while rest:
        # In a cycle, which real scenes hardly have, the farthest goes first.
        one = heapq.heappop(ready) if ready else next(iter(rest))
        del rest[one]
        order.append(one)
        for other in after[ends[one] : ends[one + 1]]:
            waiting[other] -= 1
            if not waiting[other] and other in rest:
                heapq.heappush(ready, other)
    return by_distance[order]
