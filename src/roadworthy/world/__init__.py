"""The built-in proving ground: roads, scenery, traffic, weather and light, with the truth known exactly.

::

    scene = make_scene("town", s=40, seed=1)      # where we are, what stands around us, what the sky does
    frame = frame_of(scene)                       # picture, label map, boxes, depth, speed and steering
    changed = add(scene, "pedestrian", ahead=15)  # a counterfactual: the same scene with one thing changed
    Simulation("town").step(steering, speed)      # closed-loop driving
"""

from roadworthy.world.camera import Camera
from roadworthy.world.conditions import LEVELS, SEASONS, TIMES, WEATHERS, Conditions
from roadworthy.world.driver import (
    PATH_TIMES,
    VehicleLimits,
    VehicleState,
    advance,
    careful_driver,
    careful_path,
    cautions,
)
from roadworthy.world.edits import add, remove, replace, with_conditions
from roadworthy.world.render import Picture, frame_of, render
from roadworthy.world.roadside import make_scene, traffic_after
from roadworthy.world.scene import Scene, Scenery, WorldObject
from roadworthy.world.simulation import Observation, Simulation
from roadworthy.world.track import HELD_OUT_TRACK_NAMES, TRACK_NAMES, Track, track

__all__ = [
    "LEVELS",
    "SEASONS",
    "TIMES",
    "HELD_OUT_TRACK_NAMES",
    "PATH_TIMES",
    "TRACK_NAMES",
    "WEATHERS",
    "Camera",
    "Conditions",
    "Observation",
    "Picture",
    "Scene",
    "Scenery",
    "Simulation",
    "WorldObject",
    "Track",
    "VehicleLimits",
    "VehicleState",
    "add",
    "advance",
    "careful_driver",
    "careful_path",
    "cautions",
    "frame_of",
    "make_scene",
    "remove",
    "render",
    "replace",
    "track",
    "traffic_after",
    "with_conditions",
]
