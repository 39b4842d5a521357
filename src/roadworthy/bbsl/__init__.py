"""Formal specifications of object detection: what a detector must get right, said over bounding boxes.

::

    spec = parse(text)                                   a tree, with the place of every part in the text
    spec.check_types()                                   every unbound name and wrong type at once
    spec.cases({"vehicle": [x1, y1, x2, y2], …}, height=375)     the labels of the cases that hold
    spec.evaluate_many({"vehicle": boxes, …}, height=375)        the same for millions of boxes
    spec.check()                                         exhaustive, exclusionary, non-redundant?
"""

from __future__ import annotations

from roadworthy.bbsl.arrays import RaggedBoxes
from roadworthy.bbsl.bindings import Bindings, FrameView, PerFrame, load_bindings
from roadworthy.bbsl.parsing import load, parse
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.syntax import SpecificationError
from roadworthy.bbsl.values import Box, Interval

__all__ = [
    "Bindings", "Box", "Interval", "PerFrame", "RaggedBoxes", "Spec", "SpecificationError", "FrameView",
    "load", "load_bindings", "parse",
]  # fmt: skip
