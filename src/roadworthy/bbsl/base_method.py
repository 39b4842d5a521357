"""What the methods of specifications share, of single frames and of tracks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from roadworthy.bbsl.binding_sources import BoxesOf
from roadworthy.bbsl.bindings import Bindings, PerFrame
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.testing.judging import Outside, check_outside
from roadworthy.bbsl.testing.matching import Matching, check_matching
from roadworthy.bbsl.testing.roles import ObjectRole
from roadworthy.bbsl.testing.rows import Corners, check_labels
from roadworthy.bbsl.tracks import box_functions
from roadworthy.cases import BaseMethod
from roadworthy.frames import Boxes

__all__ = ["SpecificationMethod", "corners_of", "moving_functions"]


class SpecificationMethod(BaseMethod):
    """What tests of single frames and of tracks have in common.

    Args:
        spec: The specification.
        bindings: What the external functions are bound to, or just their values.
        role: The functions that stand for the object under test.
        matching: How detections are matched with objects.
        outside: What detections out of scope are, an object that is not detected above all: "fail" as in the
            paper, or "apart".

    Raises:
        SpecificationError: A name is unknown or a type is wrong.
        InputError: A function has no value, or a setting cannot be used.
    """

    name = "bbsl"

    def __init__(
        self,
        spec: Spec,
        bindings: Bindings | Mapping[str, Any],
        *,
        role: ObjectRole | None,
        matching: Matching,
        outside: Outside,
    ) -> None:
        check_matching(matching)
        check_outside(outside)
        check_labels(spec)
        self.spec = spec
        self.role = role
        self.bindings = bindings if isinstance(bindings, Bindings) else Bindings(bindings)
        self._matching: Matching = matching
        self._outside: Outside = outside
        spec.prepared.check_bound([*self.bindings.sources, *(role.names if role else ())])

    @property
    def moving(self) -> tuple[str, ...]:
        """The functions whose boxes are detected, so that they may be off."""
        return moving_functions(self.spec, self.bindings, self.role)


def moving_functions(spec: Spec, bindings: Bindings, role: ObjectRole | None) -> tuple[str, ...]:
    """Return the functions whose boxes are detected: the object under test, and what is taken from all boxes.

    What is the same in every frame does not move, nor does what comes from a table or a label map.
    """
    taken = [name for name, one in bindings.sources.items() if isinstance(one, BoxesOf | PerFrame)]
    detected = {*taken, *(role.names if role else ())}
    return tuple(name for name in box_functions(spec) if name in detected)


def corners_of(boxes: Boxes, number: int) -> Corners:
    """Return the corners of one box as numbers."""
    x1, y1, x2, y2 = boxes.xyxy[number].astype(np.float64).tolist()
    return (x1, y1, x2, y2)
