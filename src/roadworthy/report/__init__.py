"""Reports: frames, figures and pages for people, and files of results for other tools."""

from __future__ import annotations

from roadworthy.report.drawing import (
    OVERLAYS,
    Image,
    draw_difference,
    draw_frame,
    draw_legend,
    parse_overlays,
)
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
    "OVERLAYS",
    "Image",
    "Pair",
    "Tile",
    "contact_sheet",
    "draw_difference",
    "draw_frame",
    "draw_legend",
    "frame_sheet",
    "pair_sheet",
    "parse_overlays",
    "prediction_sheet",
    "transform_strip",
    "variants",
]
