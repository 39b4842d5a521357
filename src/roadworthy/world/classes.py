"""Label-map class ids of what the world draws, taken from the ontology once."""

from __future__ import annotations

from roadworthy.ontology import ontology

NAMES = ontology().label_classes
_id = NAMES.index

ROAD = _id("road")
LINE = _id("line")
CROSSWALK = _id("crosswalk")
STOP_LINE = _id("stop and yield line")
SIDEWALK = _id("sidewalk")
TERRAIN = _id("terrain")
SKY = _id("sky")
TREE = _id("tree")
BUILDING = _id("building")
POLE = _id("pole")
PEDESTRIAN = _id("pedestrian")
VEHICLE = _id("vehicle")
BICYCLIST = _id("bicyclist")
TRAFFIC_SIGN = _id("traffic sign")
TRAFFIC_LIGHT = _id("traffic light")

BOXED = frozenset({PEDESTRIAN, VEHICLE, BICYCLIST, TRAFFIC_SIGN, TRAFFIC_LIGHT})
"""Classes whose things get a bounding box."""
