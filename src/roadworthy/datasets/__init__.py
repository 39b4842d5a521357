"""Data sets: one spelling to open them all, and the readers that come with the package.

::

    data = load("world:town", weather="rain", time="night", count=24)
    data[3], data[-1], data[10:20]
"""

from __future__ import annotations

from roadworthy._options import options_of

# Each registers the readers that it has.
from roadworthy.datasets import a2d2, bag, bdd100k, camvid, cityscapes, coco, folder, nuscenes, table, yolo  # noqa: F401
from roadworthy.datasets._base import BaseDataset, OnError, drives_by_time
from roadworthy.datasets._export import EXPORT_FORMATS, export
from roadworthy.datasets._load import (
    ChosenFrames,
    clusters_of,
    fitting_options,
    load,
    load_fitting,
    reader_for,
    sample_of,
    shuffled_clusters,
    spelled,
    spread,
)
from roadworthy.datasets.kitti import KittiDataset
from roadworthy.datasets.udacity import UdacityCh2Dataset
from roadworthy.datasets.world import WorldCropsDataset, WorldDataset

__all__ = [
    "BaseDataset",
    "ChosenFrames",
    "EXPORT_FORMATS",
    "KittiDataset",
    "OnError",
    "UdacityCh2Dataset",
    "WorldCropsDataset",
    "WorldDataset",
    "clusters_of",
    "drives_by_time",
    "export",
    "fitting_options",
    "load",
    "load_fitting",
    "options_of",
    "reader_for",
    "sample_of",
    "shuffled_clusters",
    "spelled",
    "spread",
]
