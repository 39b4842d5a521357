"""Rendering: a scene becomes a picture and its truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roadworthy.world.arrays import Array, Bytes, Ids, look_up
from roadworthy.world.camera import Camera
from roadworthy.world.influence import Influence
from roadworthy.world.raster import Raster, rasterise
from roadworthy.world.scene import Scene
from roadworthy.world.shading import shade

__all__ = ["Picture", "render"]


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
