"""Painter's algorithm into a buffer of face numbers.

Every face in view is drawn once, far to near, into one integer image. Colour, class, instance and depth of a
pixel all follow from the number of the face that was painted last, so they cannot disagree.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import cv2
import numpy as np

from roadworthy.world.arrays import Array, Flags, Ids, Ints, vector
from roadworthy.world.camera import Projection

__all__ = ["NEAR", "Faces", "Silhouette", "draw", "paint_order", "prepare"]


NEAR = 0.4  # metres; nothing nearer is drawn
_SHIFT = 4  # fractional bits of a corner's position
_SMALLEST = 2.5  # square sub-pixels
_BEFORE, _AFTER, _ANY_TIME, _CANNOT_TELL = range(4)
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


def prepare(corners: Array, count: Ints, convex: Ints, thing: Ints) -> Faces:
    """Compute the plane and depth range of each face."""
    first = np.concatenate([[0], np.cumsum(count)[:-1]]).astype(np.int32)
    depth = corners[:, 2]
    front = np.minimum.reduceat(depth, first)
    back = np.maximum.reduceat(depth, first)
    origin = corners[first]
    # A third corner far from the first two keeps the plane stable on faces with many corners.
    third = corners[first + np.maximum(2, count // 2)]
    a, b = (corners[first + 1] - origin).T, (third - origin).T
    normal: Array = np.stack(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )
    offset: Array = (normal * origin.T).sum(axis=0)
    size = np.abs(normal).sum(axis=0) * np.abs(origin).sum(axis=1)
    edge_on = np.abs(offset) < 3e-5 * size + 1e-9
    divisor: Array = np.where(edge_on, np.float32(1.0), offset)
    plane = normal / divisor
    plane[:, edge_on] = 0.0
    plane[2, edge_on] = 2.0 / np.maximum(front + back, 2 * NEAR)[edge_on]
    return Faces(corners, first, count, convex.astype(bool), thing, plane, front, back)


@dataclass(frozen=True)
class Silhouette:
    """A thing as it was painted, before anything nearer covered it.

    ``window`` is its place in the painted buffer (x1, y1, x2, y2) and ``full`` the same before it was cut at
    the picture's border; ``pixels`` counts its sample pixels.
    """

    window: tuple[int, int, int, int]
    full: tuple[float, float, float, float]
    pixels: int


def draw(
    ids: Ids,
    faces: Faces,
    order: Ints,
    projection: Projection,
    *,
    offset: int,
    measured: dict[int, tuple[int, int]],
    sampling: int,
) -> dict[int, Silhouette]:
    """Paint faces in ``order``; face f gets the number ``f + offset``.

    ``measured`` names things by row, each with its first face and one past its last. The faces of a thing
    are painted one right after another, so its silhouette can be counted as soon as the last is done.
    """
    pixel, low, high = _project(faces, projection)
    behind = faces.front < NEAR
    hidden = np.where(behind, faces.back <= NEAR, _out_of_sight(ids, faces, low, high))
    visible = order[~hidden[order]]
    fixed = np.rint(pixel * (1 << _SHIFT)).astype(np.int32)
    firsts, counts = faces.first[visible].tolist(), faces.count[visible].tolist()
    convex, cut, numbers = faces.convex[visible].tolist(), behind[visible].tolist(), visible.tolist()
    owners = faces.thing[visible]
    last_of_thing = np.flatnonzero(np.diff(owners, append=-2)).tolist()
    silhouettes: dict[int, Silhouette] = {}
    fill_convex, fill = cv2.fillConvexPoly, cv2.fillPoly
    begin = 0
    for stop, row in zip(last_of_thing, owners[last_of_thing].tolist(), strict=True):
        for k in range(begin, stop + 1):
            first, count = firsts[k], counts[k]
            points = fixed[first : first + count]
            if cut[k]:
                points = _clipped(faces.corners[first : first + count], projection, ids)
                if not len(points):
                    continue
            if convex[k]:
                fill_convex(ids, points, numbers[k] + offset, 8, _SHIFT)
            else:
                fill(ids, [points], numbers[k] + offset, 8, _SHIFT)
        begin = stop + 1
        if row in measured:
            own = slice(*measured[row])
            bounds = (*low[own].min(axis=0).tolist(), *high[own].max(axis=0).tolist())
            silhouettes[row] = _silhouette(ids, bounds, own.start + offset, own.stop + offset, sampling)
    return silhouettes


def _project(faces: Faces, projection: Projection) -> tuple[Array, Array, Array]:
    """Return pixel positions of all corners and the bounds of each face."""
    scale = projection.focal / np.maximum(faces.corners[:, 2], NEAR)
    pixel = np.empty((len(scale), 2), dtype=np.float32)
    pixel[:, 0] = faces.corners[:, 0] * scale + projection.centre[0]
    pixel[:, 1] = faces.corners[:, 1] * scale + projection.centre[1]
    np.clip(pixel, -_LIMIT, _LIMIT, out=pixel)
    low = np.minimum.reduceat(pixel, faces.first, axis=0)
    high = np.maximum.reduceat(pixel, faces.first, axis=0)
    return pixel, low, high


def _out_of_sight(ids: Ids, faces: Faces, low: Array, high: Array) -> Flags:
    """Tell which faces lie outside the picture or are too small to be drawn."""
    height, width = ids.shape
    outside: Flags = (high[:, 0] < 0) | (low[:, 0] > width) | (high[:, 1] < 0) | (low[:, 1] > height)
    # Details of things smaller than a sub-pixel or two would only flicker.
    extent = high - low
    outside |= (extent[:, 0] * extent[:, 1] < _SMALLEST) & (faces.thing >= 0)
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
    pixels = int(np.count_nonzero((patch >= first) & (patch < last)))
    return Silhouette((x1, y1, x2, y2), bounds, pixels)


def _clipped(corners: Array, projection: Projection, ids: Ids) -> Ints:
    """Cut a polygon at the near plane and return its corners in fixed-point pixels, none if out of sight."""
    height, width = ids.shape
    kept: list[tuple[float, float]] = []
    points = corners.tolist()
    x0, y0, z0 = points[-1]
    for x1, y1, z1 in points:
        if (z0 >= NEAR) != (z1 >= NEAR):
            t = (NEAR - z0) / (z1 - z0)
            kept.append(((x0 + t * (x1 - x0)) / NEAR, (y0 + t * (y1 - y0)) / NEAR))
        if z1 >= NEAR:
            kept.append((x1 / z1, y1 / z1))
        x0, y0, z0 = x1, y1, z1
    columns = [projection.centre[0] + projection.focal * x for x, _ in kept]
    rows = [projection.centre[1] + projection.focal * y for _, y in kept]
    if len(kept) < 3 or max(columns) < 0 or min(columns) > width or max(rows) < 0 or min(rows) > height:
        return np.empty((0, 2), dtype=np.int32)
    pixel = vector([columns, rows]).T
    return np.rint(np.clip(pixel, -_LIMIT, _LIMIT) * (1 << _SHIFT)).astype(np.int32)


def paint_order(outlines: Array, wide: Flags) -> Ints:
    """Order things far to near by their outlines on the ground, (n, 4, 2) with the camera at the origin.

    For two convex outlines, an edge of one with the other wholly beyond it tells which may hide the other;
    distance alone goes wrong beside long walls. Only pairs that overlap as seen from the camera matter.
    """
    n = len(outlines)
    middle = outlines.mean(axis=1)
    distance = np.hypot(middle[:, 0], middle[:, 1])
    by_distance = np.argsort(-distance, kind="stable").astype(np.int32)
    if n < 2:
        return by_distance
    bearing = np.arctan2(outlines[..., 0], np.maximum(outlines[..., 1], 0.05))
    left, right = bearing.min(axis=1) - 0.01, bearing.max(axis=1) + 0.01
    overlap = (left[:, None] < right[None, :]) & (left[None, :] < right[:, None])
    np.fill_diagonal(overlap, False)
    big = np.flatnonzero(wide)
    first = overlap & (distance[:, None] > distance[None, :])
    if len(big):
        verdict = _occludes(outlines[big], outlines)
        told = overlap[big] & (verdict != _CANNOT_TELL)
        first[big] = np.where(told, verdict == _BEFORE, first[big])
        first[:, big] = np.where(told.T, verdict.T == _AFTER, first[:, big])
    rank = np.empty(n, dtype=np.int32)
    rank[by_distance] = np.arange(n)
    if not (first & (rank[:, None] > rank[None, :])).any():
        return by_distance
    return _topological(first, distance)


def _occludes(big: Array, every: Array) -> Ints:
    """For each pair of a big thing and any thing, tell when the big one must be painted."""
    edge = np.roll(big, -1, axis=1) - big
    normal = np.stack([edge[..., 1], -edge[..., 0]], axis=-1)
    inward = (normal * (big.mean(axis=1, keepdims=True) - big)).sum(axis=-1)
    normal *= np.where(inward > 0, np.float32(-1.0), np.float32(1.0))[..., None]
    border = (normal * big).sum(axis=-1)
    flat = normal.reshape(-1, 2)
    nearest = flat @ every[:, 0].T
    for corner in (1, 2, 3):
        np.minimum(nearest, flat @ every[:, corner].T, out=nearest)
    reach = nearest.reshape(len(big), 4, len(every))
    beyond = reach >= border[..., None] - 0.02
    camera_beyond = (border < 0)[..., None]
    before = (beyond & camera_beyond).any(axis=1)
    after = (beyond & ~camera_beyond).any(axis=1)
    told = np.where(before, _BEFORE, _AFTER)
    told[before & after] = _ANY_TIME
    told[~(before | after)] = _CANNOT_TELL
    return told.astype(np.int32)


def _topological(first: Flags, distance: Array) -> Ints:
    waiting = first.sum(axis=0)
    heap = [(-float(distance[i]), int(i)) for i in np.flatnonzero(waiting == 0)]
    heapq.heapify(heap)
    counts = waiting.tolist()
    order: list[int] = []
    done = np.zeros(len(counts), dtype=bool)
    while len(order) < len(counts):
        if not heap:  # a cycle, which real scenes hardly have: let the farthest go first
            rest = np.flatnonzero(~done)
            pick = int(rest[np.argmax(distance[rest])])
            heap.append((-float(distance[pick]), pick))
        _, i = heapq.heappop(heap)
        if done[i]:
            continue
        done[i] = True
        order.append(i)
        for j in np.flatnonzero(first[i]).tolist():
            counts[j] -= 1
            if counts[j] == 0 and not done[j]:
                heapq.heappush(heap, (-float(distance[j]), j))
    return np.array(order, dtype=np.int32)
