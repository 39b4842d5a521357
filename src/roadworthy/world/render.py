"""Rendering: a scene becomes a picture, and the picture with its truth a frame."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.world import classes
from roadworthy.world.camera import Array, Bytes, Camera, Ids, look_up
from roadworthy.world.driver import careful_driver
from roadworthy.world.lamps import Influence
from roadworthy.world.painter import Silhouette
from roadworthy.world.raster import SUPERSAMPLING, Raster, rasterise
from roadworthy.world.scene import Scene
from roadworthy.world.shading import shade


@dataclass(frozen=True, eq=False)
class Picture:
    """What the camera sees, and what is really there, pixel by pixel.

    Attributes:
        image: RGB, (height, width, 3).
        labels: Class of each pixel, an index into the ontology's label classes.
        instances: Id of the thing that each pixel shows, 0 for what has no box.
        depth: Metres along the camera's axis; infinite for the sky.
        influence: Shadows and lamp light, by which things act on what is around them.
        raster: The face numbers that all of these follow from.

    Example:
        >>> from roadworthy.world import make_scene, render
        >>> picture = render(make_scene("meadow", s=100))
        >>> bool(picture.depth[-1].max() < 10 < picture.depth[0].min())  # the road before us, and the sky
        True
    """

    image: Bytes
    labels: Bytes
    instances: Ids
    depth: Array
    influence: Influence
    raster: Raster


def render(scene: Scene, camera: Camera | None = None) -> Picture:
    """Render a scene.

    Example:
        >>> from roadworthy.world import make_scene, render
        >>> picture = render(make_scene("town", s=40, seed=1))
        >>> picture.image.shape
        (160, 320, 3)
    """
    camera = camera or Camera()
    season = scene.conditions.season
    # Leaves of other colours stay where they are; in winter there is less to be seen than there is.
    raster = rasterise(scene, camera, "summer" if season == "winter" else season)
    labels, depth = _labels(raster), _depth(raster)
    instances = look_up(raster.instance.astype(np.uint16), raster.index)
    if season == "winter":
        bare = rasterise(scene, camera, season)
        image, influence = shade(scene, bare, _labels(bare), _depth(bare))
    else:
        image, influence = shade(scene, raster, labels, depth)
    return Picture(image, labels, instances, depth, influence, raster)


def _labels(raster: Raster) -> Bytes:
    return look_up(raster.label.astype(np.uint8), raster.index)


def _depth(raster: Raster) -> Array:
    with np.errstate(divide="ignore"):
        depth: Array = 1.0 / raster.inverse_depth
    return depth


def boxes_of(picture: Picture) -> Boxes:
    """Return a box round the visible pixels of each thing.

    Occlusion is the share of the thing's pixels inside the picture that something nearer hides; truncation
    is the share of its extent that lies outside the picture.

    Example:
        >>> from roadworthy.world import Scene, WorldObject, render, track
        >>> from roadworthy.world.render import boxes_of
        >>> ahead = WorldObject(7, "vehicle", s=115, d=1.75, kind="van", color="red")
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
    classes, ids = [thing.element for thing in things], [thing.id for thing in things]
    return Boxes(corners, classes, None, ids, occlusion, truncation, [thing.attributes for thing in things])


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
