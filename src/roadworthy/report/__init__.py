"""Reports: frames, figures and pages for people, and files of results for other tools."""

from __future__ import annotations

from roadworthy.report.drawing import Image
from roadworthy.report.sheets import (
    Pair,
    Tile,
    contact_sheet,
    frame_sheet,
    pair_sheet,
    prediction_sheet,
    transform_strip,
    variants,
)

__all__ = [
    "Image",
    "Pair",
    "Tile",
    "contact_sheet",
    "frame_sheet",
    "pair_sheet",
    "prediction_sheet",
    "transform_strip",
    "variants",
]
