"""From a picture to a Frame: label map, boxes with occlusion, depth and what the careful driver does."""

from __future__ import annotations

import cv2
import numpy as np

from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.world import classes
from roadworthy.world.camera import Camera
from roadworthy.world.driver import careful_driver
from roadworthy.world.painter import Silhouette
from roadworthy.world.raster import SUPERSAMPLING
from roadworthy.world.render import Picture, render
from roadworthy.world.scene import Scene

__all__ = ["boxes_of", "frame_of"]


def boxes_of(picture: Picture) -> Boxes:
    """Return a box round the visible pixels of each thing.

    Occlusion is the share of the thing's pixels inside the picture that something nearer hides; truncation
    is the share of its extent that lies outside the picture.

    Example:
        >>> from roadworthy.world import Scene, Thing, boxes_of, render, track
        >>> ahead = Thing(7, "vehicle", s=115, d=1.75, kind="van", color="red")
        >>> boxes = boxes_of(render(Scene(track("meadow"), s=100, actors=(ahead,))))
        >>> boxes.classes, boxes.occlusion, dict(boxes.attributes[0])
        (('vehicle',), array([0.], dtype=float32), {'type': 'van', 'color': 'red'})
    """
    raster = picture.raster
    corners, things, occlusion, truncation = [], [], [], []
    for row, silhouette in sorted(raster.silhouettes.items()):
        thing = raster.geometry.things[row].thing
        x1, y1, x2, y2 = (v // SUPERSAMPLING for v in silhouette.window)
        mask = (picture.instances[y1 : y2 + 1, x1 : x2 + 1] == thing.id).view(np.uint8)
        visible = cv2.countNonZero(mask) if mask.size else 0
        if visible == 0:
            continue
        left, top, wide, high = cv2.boundingRect(mask)
        things.append(thing)
        corners.append((x1 + left, y1 + top, x1 + left + wide, y1 + top + high))
        occlusion.append(1 - visible / silhouette.pixels)
        truncation.append(_truncation(silhouette, raster.camera))
    if not corners:
        return Boxes.empty()
    return Boxes(
        corners,
        [thing.element for thing in things],
        track_ids=[thing.id for thing in things],
        occlusion=occlusion,
        truncation=truncation,
        attributes=[thing.attributes for thing in things],
    )


def _truncation(silhouette: Silhouette, camera: Camera) -> float:
    width, height = camera.width * SUPERSAMPLING, camera.height * SUPERSAMPLING
    x1, y1, x2, y2 = silhouette.full
    inside = max(0.0, min(x2, width) - max(x1, 0.0)) * max(0.0, min(y2, height) - max(y1, 0.0))
    return min(1.0, max(0.0, 1 - inside / max((x2 - x1) * (y2 - y1), 1e-6)))


def frame_of(scene: Scene, camera: Camera | None = None, *, id: str = "world") -> Frame:
    """Render a scene with all its ground truth.

    Example:
        >>> from roadworthy.world import frame_of, make_scene
        >>> frame = frame_of(make_scene("town", s=40, seed=1))
        >>> frame.size, frame.labels.present()["road"] > 1000
        ((320, 160), True)
    """
    picture = render(scene, camera)
    conditions = scene.conditions
    return Frame(
        id=id,
        image=picture.image,
        labels=LabelMap(picture.labels, classes.NAMES),
        instances=picture.instances,
        boxes=boxes_of(picture),
        depth=picture.depth,
        signals=careful_driver(scene),
        metadata={
            "weather": conditions.weather if conditions.level > 0 else "sunny",
            "level": conditions.level_name,
            "time": conditions.time,
            "season": conditions.season,
            "place": scene.track.zone(scene.s).kind,
            "track": scene.track.name,
        },
    )
