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
    raster = rasterise(scene, camera)
    labels = look_up(raster.label.astype(np.uint8), raster.index)
    instances = look_up(raster.instance.astype(np.uint16), raster.index)
    with np.errstate(divide="ignore"):
        depth = 1.0 / raster.inverse_depth
    image, influence = shade(scene, raster, labels, depth)
    return Picture(image, labels, instances, depth, influence, raster)
