"""The method of specifications: the case that the detections lead to must be the one of the ground truth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from roadworthy.bbsl.base_method import SpecificationMethod, corners_of
from roadworthy.bbsl.bindings import Bindings, View
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.testing.judging import Outside, judge
from roadworthy.bbsl.testing.matching import Matching, match
from roadworthy.bbsl.testing.roles import ObjectRole, object_values
from roadworthy.bbsl.testing.rows import TestRow
from roadworthy.cases import Answers, AwaitVerdicts, Case, Dataset, Predict, Requirement, Scalar, Verdict
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Boxes, Frame

__all__ = ["BbslMethod"]


class BbslMethod(SpecificationMethod):
    """Tests detectors by a specification (Definitions 11 to 13).

    With a role there is one test case for every object of the ground truth, judged by the detection that is
    matched with it; several cases share the answer to one frame. Without one there is a test case for every
    frame, and the values of the external functions come from all of its boxes.

    Arguments and errors are those of `SpecificationMethod`; ``role`` may be None,
    and ``height`` is the height of the image in pixels that y is turned at, that of every image when None.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> from roadworthy.bbsl.testing import find_role
        >>> from roadworthy.datasets import load
        >>> from roadworthy.models import load_model
        >>> from roadworthy.runs import run
        >>> spec = parse('''
        ... exfunction vehicle(): bb endexfunction
        ... case stop PROJ_y(vehicle()) ~ [0, 60] endcase
        ... case NOT stop PROJ_y(vehicle()) > [0, 60] endcase
        ... ''')
        >>> method = BbslMethod(spec, {}, role=find_role(spec, ()))
        >>> requirement = Requirement("S1", "Vehicles nearby are seen nearby", "bbsl")
        >>> result = run(method, requirement, load("world:town", count=2), load_model("detector"))
        >>> sum(result.counts.values()) > 0
        True
    """

    def __init__(
        self,
        spec: Spec,
        bindings: Bindings | Mapping[str, Any],
        *,
        role: ObjectRole | None = None,
        matching: Matching = "best",
        outside: Outside = "fail",
        height: float | None = None,
    ) -> None:
        if spec.is_temporal:
            raise InputError(
                "the specification speaks of several frames: test it over tracks, by BbslTrackMethod"
            )
        super().__init__(spec, bindings, role=role, matching=matching, outside=outside)
        self._height = height

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        """Yield a case for every object, or for every frame."""
        del rng  # nothing here is left to chance
        for frame in data:
            if frame.boxes is None:
                raise InputError(
                    f"frame {frame.id!r} of {data.name} has no boxes, so there is nothing to expect: "
                    "test on data with ground truth"
                )
            asks = (Predict((frame,)),)
            if self.role is None:
                yield Case(frame.id, requirement.id, asks, {"frame": frame.id})
                continue
            for number in range(len(frame.boxes.select(*self.role.classes))):
                known: dict[str, Scalar] = {"frame": frame.id, "object": number}
                yield Case(f"{frame.id}#{number}", requirement.id, asks, known)

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return whether the detections lead to the case that the ground truth leads to.

        Raises:
            NotApplicable: The frame has no ground truth.
            SystemUnderTestError: The system did not answer with boxes.
        """
        predicted = answers.predicted()
        (frame,), (detections,) = predicted.frames, predicted.of(Boxes)
        if frame.boxes is None:
            raise NotApplicable("the frame has no boxes", frame=frame.id)
        if self.role is None:
            return self.frame_row(frame, frame.boxes, detections).verdict(case)
        number = int(str(case.parameters["object"]))
        return self.object_row(frame, frame.boxes, detections, number).verdict(case)

    def frame_row(self, frame: Frame, truth: Boxes, detections: Boxes) -> TestRow:
        """Return the test of a whole frame."""
        found = judge(
            self.spec,
            self._values(frame, truth),
            self._values(frame, detections),
            height=self._height or frame.height,
            width=frame.width,
            moving=self.moving,
            outside=self._outside,
        )
        return TestRow(frame.id, found.expected, found.found, found.passed, found.margin, reason=found.reason)

    def object_row(self, frame: Frame, truth: Boxes, detections: Boxes, number: int) -> TestRow:
        """Return the test of one object: the one with this number among those of the role's classes."""
        role = self.role
        assert role is not None
        objects, others = truth.select(*role.classes), detections.select(*role.elements)
        matched = match(objects, others, self._matching)
        index, iou = int(matched.index[number]), float(matched.iou[number])
        box = corners_of(objects, number)
        detected = None if index < 0 else corners_of(others, index)
        found = judge(
            self.spec,
            {**self._values(frame, truth), **object_values(role, box)},
            {**self._values(frame, detections), **object_values(role, detected)},
            height=self._height or frame.height,
            width=frame.width,
            moving=self.moving,
            outside=self._outside,
        )
        # Out of scope because of the detections, not because of the ground truth.
        missed = detected is None and found.margin == -math.inf
        reason = "not detected" if missed else found.reason
        return TestRow(
            frame.id, found.expected, found.found, found.passed, found.margin, iou, box, detected, reason
        )

    def _values(self, frame: Frame, boxes: Boxes) -> Mapping[str, Any]:
        view = View.of(frame, boxes)
        return self.bindings.values(view if self._height is None else replace(view, height=self._height))
