"""Data sets: one spelling to open them all, and the readers that come with the package.

::

    data = load("world:town", weather="rain", time="night", count=24)
    data[3], data[-1], data[10:20]
"""

from __future__ import annotations

from roadworthy.datasets._base import BaseDataset
from roadworthy.datasets._load import load
from roadworthy.datasets._options import Option, options_of
from roadworthy.datasets.world import WorldDataset

__all__ = ["BaseDataset", "Option", "WorldDataset", "load", "options_of"]
