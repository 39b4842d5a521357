"""The painter's order, against a slow renderer that shares nothing with it: the nearest face at each ray."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from roadworthy.errors import SceneError
from roadworthy.world import Picture, Scene, WorldObject, classes, render, track
from roadworthy.world.camera import Flags, Floats, Indices, Ints
from roadworthy.world.painter import NEAR
from roadworthy.world.sky import BACKDROP_FACES

GROUND = (classes.ROAD, classes.LINE, classes.CROSSWALK, classes.STOP_LINE, classes.SIDEWALK, classes.TERRAIN)


def test_the_painter_shows_the_nearest_face(picture: Picture) -> None:
    faces = _nearest_faces(picture)
    raster = picture.raster
    hit = faces > 0
    assert hit.mean() > 0.4
    for table in (raster.instance, _ground_as_one(raster.label)):
        painted, wanted = table[raster.index], table[faces]
        inside = ~(_rim(painted) | _rim(wanted))
        wrong = (painted != wanted) & hit & inside
        assert wrong.mean() < 2e-4


def test_more_faces_than_numbers_for_them_are_refused() -> None:
    crowd = tuple(WorldObject(20_000 + k, "vehicle", 105.0, 1.75, kind="school bus") for k in range(600))
    with pytest.raises(SceneError, match="600 things in view are too many"):
        render(Scene(track("meadow"), 100.0, actors=crowd))


def _ground_as_one(label: Ints) -> Ints:
    """Paint lies in the plane of the road: which of them is nearer is not a matter of distance."""
    return np.where(np.isin(label, GROUND), classes.ROAD, label).astype(np.int32)


def _rim(values: Ints) -> Flags:
    """Pixels next to another value, where filling rules may differ by a pixel."""
    kernel = np.ones((3, 3), np.uint8)
    dense = values.astype(np.float32)
    edge = cv2.dilate(dense, kernel) != cv2.erode(dense, kernel)
    return np.asarray(cv2.dilate(edge.astype(np.uint8), kernel), dtype=bool)


def _nearest_faces(picture: Picture) -> Indices:
    """Return the number of the nearest face at each pixel; 0 where only the backdrop is hit."""
    raster = picture.raster
    shape = raster.geometry
    height, width = picture.labels.shape
    ray_x = np.broadcast_to(raster.ray_x, (height, width)).astype(float)
    ray_y = np.broadcast_to(raster.ray_y, (height, width)).astype(float)
    best = np.full((height, width), np.inf)
    face_at = np.zeros((height, width), dtype=np.intp)
    for face in shape.order.tolist():
        first, count = int(shape.faces.first[face]), int(shape.faces.count[face])
        corners = shape.faces.corners[first : first + count].astype(float)
        window = _window(corners, ray_x[0], ray_y[:, 0])
        if window is None:
            continue
        rays = np.stack([ray_x[window], ray_y[window], np.ones_like(ray_x[window])])
        normal = np.cross(corners[1] - corners[0], corners[2 if count < 4 else count // 2] - corners[0])
        if np.linalg.norm(normal) < 1e-9:
            continue
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            depth = (normal @ corners[0]) / np.tensordot(normal, rays, axes=1)
            hits = rays * depth
        inside = np.isfinite(depth) & (depth > NEAR) & _inside(corners, normal, hits)
        # What is painted on a surface lies in its plane: the one painted later is on top.
        nearer = inside & (depth < best[window] * (1 + 4e-4) + 1e-3)
        best[window] = np.where(nearer, np.minimum(depth, best[window]), best[window])
        face_at[window] = np.where(nearer, face + BACKDROP_FACES, face_at[window])
    return face_at


def _window(corners: Floats, x: Floats, y: Floats) -> tuple[slice, slice] | None:
    """Return the rows and columns whose rays can meet a face, None when no ray can."""
    depth = corners[:, 2]
    if depth.max() <= NEAR:
        return None
    if depth.min() <= NEAR:
        return slice(None), slice(None)
    u, v = corners[:, 0] / depth, corners[:, 1] / depth
    left, right = np.searchsorted(x, [u.min(), u.max()]).tolist()
    top, bottom = np.searchsorted(y, [v.min(), v.max()]).tolist()
    if left == right or top == bottom:
        return None
    return slice(top, bottom), slice(left, right)


def _inside(corners: Floats, normal: Floats, hits: Floats) -> Flags:
    """Tell which points in the plane of a face lie inside it, by the even-odd rule."""
    axis = int(np.argmax(np.abs(normal)))
    keep = [k for k in range(3) if k != axis]
    x, y = hits[keep]
    points = corners[:, keep]
    inside = np.zeros(x.shape, dtype=bool)
    for (x0, y0), (x1, y1) in zip(points, np.roll(points, -1, axis=0), strict=True):
        if y0 == y1:
            continue
        with np.errstate(invalid="ignore"):
            crosses = (y0 > y) != (y1 > y)
            inside ^= crosses & (x < x0 + (y - y0) / (y1 - y0) * (x1 - x0))
    return inside
