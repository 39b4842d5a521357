"""Data sets: one spelling to open them all, and the readers that come with the package.

::

    data = load("world:town", weather="rain", time="night", count=24)
    data[3], data[-1], data[10:20]
"""

from __future__ import annotations

from roadworthy._options import options_of
from roadworthy.datasets._base import BaseDataset, OnError, drives_by_time
from roadworthy.datasets._export import EXPORT_FORMATS, ExportFormat, export
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
from roadworthy.datasets.a2d2 import A2D2Dataset
from roadworthy.datasets.bag import BagDataset
from roadworthy.datasets.bdd100k import Bdd100kDataset
from roadworthy.datasets.camvid import CamVidDataset
from roadworthy.datasets.cityscapes import CityscapesDataset
from roadworthy.datasets.coco import CocoDataset
from roadworthy.datasets.folder import Comma2k19Dataset, FolderDataset, VideoDataset
from roadworthy.datasets.kitti import KittiDataset
from roadworthy.datasets.nuscenes import NuScenesDataset
from roadworthy.datasets.table import TableDataset, ThunderhillDataset, TorcsDataset
from roadworthy.datasets.udacity import UdacityCh2Dataset, UdacitySimDataset
from roadworthy.datasets.world import WorldDataset
from roadworthy.datasets.world_crops import WorldCropsDataset
from roadworthy.datasets.yolo import YoloDataset

__all__ = [
    "A2D2Dataset",
    "BagDataset",
    "BaseDataset",
    "Bdd100kDataset",
    "CamVidDataset",
    "ChosenFrames",
    "CityscapesDataset",
    "CocoDataset",
    "Comma2k19Dataset",
    "EXPORT_FORMATS",
    "ExportFormat",
    "FolderDataset",
    "KittiDataset",
    "NuScenesDataset",
    "OnError",
    "TableDataset",
    "ThunderhillDataset",
    "TorcsDataset",
    "UdacityCh2Dataset",
    "UdacitySimDataset",
    "VideoDataset",
    "WorldCropsDataset",
    "WorldDataset",
    "YoloDataset",
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
