"""A slow renderer that shares nothing with the painter: every face against every ray, nearest hit wins."""

from __future__ import annotations

import numpy as np

from roadworthy.world import Picture
from roadworthy.world.backdrop import BACKDROP_FACES

Map = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def nearest_faces(picture: Picture) -> Map:
    """Return the number of the nearest face at each pixel; 0 where only the backdrop is hit."""
    raster = picture.raster
    shape = raster.geometry
    height, width = picture.labels.shape
    ray_x = np.broadcast_to(raster.ray_x, (height, width)).astype(float)
    ray_y = np.broadcast_to(raster.ray_y, (height, width)).astype(float)
    best = np.full((height, width), np.inf)
    face_at = np.zeros((height, width), dtype=np.int64)
    for face in shape.order.tolist():
        first, count = int(shape.faces.first[face]), int(shape.faces.count[face])
        corners = shape.faces.corners[first : first + count].astype(float)
        if corners[:, 2].max() <= 0.4:
            continue
        window = _window(corners, raster.ray_x[0], raster.ray_y[:, 0])
        if window is None:
            continue
        rays = ray_x[window], ray_y[window]
        normal = np.cross(corners[1] - corners[0], corners[2 if count < 4 else count // 2] - corners[0])
        if np.linalg.norm(normal) < 1e-9:
            continue
        facing = normal[0] * rays[0] + normal[1] * rays[1] + normal[2]
        with np.errstate(divide="ignore", invalid="ignore"):
            depth = (normal @ corners[0]) / facing
        inside = np.isfinite(depth) & (depth > 0.4) & _inside(corners, normal, rays, depth)
        # What is painted on a surface lies in its plane: the one painted later is on top.
        nearer = inside & (depth < best[window] * (1 + 4e-4) + 1e-3)
        best[window] = np.where(nearer, np.minimum(depth, best[window]), best[window])
        face_at[window] = np.where(nearer, face + BACKDROP_FACES, face_at[window])
    return face_at


def _window(corners: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[slice, slice] | None:  # type: ignore[type-arg]
    if corners[:, 2].min() <= 0.4:
        return slice(None), slice(None)
    u, v = corners[:, 0] / corners[:, 2], corners[:, 1] / corners[:, 2]
    left, right = np.searchsorted(x, u.min()), np.searchsorted(x, u.max())
    top, bottom = np.searchsorted(y, v.min()), np.searchsorted(y, v.max())
    if left == right or top == bottom:
        return None
    return slice(int(top), int(bottom)), slice(int(left), int(right))


def _inside(corners, normal, rays, depth):  # type: ignore[no-untyped-def]
    """Even-odd rule in the face's own plane."""
    axis = int(np.argmax(np.abs(normal)))
    keep = [k for k in range(3) if k != axis]
    with np.errstate(invalid="ignore", over="ignore"):
        hit = np.stack([rays[0] * depth, rays[1] * depth, depth])[keep]
    points = corners[:, keep]
    inside = np.zeros(depth.shape, dtype=bool)
    for a, b in zip(points, np.roll(points, -1, axis=0), strict=True):
        if a[1] == b[1]:
            continue
        with np.errstate(invalid="ignore"):
            crosses = (a[1] > hit[1]) != (b[1] > hit[1])
            inside ^= crosses & (hit[0] < a[0] + (hit[1] - a[1]) / (b[1] - a[1]) * (b[0] - a[0]))
    return inside
