"""The method of specifications: the case that the detections lead to must be the one of the ground truth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from roadworthy.bbsl.binding_sources import BoxesOf
from roadworthy.bbsl.bindings import Bindings, PerFrame, View
from roadworthy.bbsl.syntax import Spec
from roadworthy.bbsl.testing.judging import OUTSIDE, Outside, judge
from roadworthy.bbsl.testing.matching import MATCHINGS, Matching, match
from roadworthy.bbsl.testing.roles import ObjectRole
from roadworthy.bbsl.testing.rows import Corners, TestRow, check_labels
from roadworthy.bbsl.tracks import box_functions
from roadworthy.cases import (
    Answers,
    AwaitVerdicts,
    BaseMethod,
    Case,
    Dataset,
    Outcome,
    Predict,
    Requirement,
    Scalar,
    Verdict,
    conclude_rate,
)
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Boxes, Frame

__all__ = ["BbslMethod", "allowed_share", "corners_of", "moving_functions", "object_values"]


class BbslMethod(BaseMethod):
    """Tests detectors by a specification (Definitions 11 to 13).

    With a role there is one test case for every object of the ground truth, judged by the detection that is
    matched with it; several cases share the answer to one frame. Without one there is a test case for every
    frame, and the values of the external functions come from all of its boxes.

    The parameter ``allow`` of a requirement is the share of test cases that may fail, 0 when left out.

    Args:
        spec: The specification.
        bindings: What the external functions are bound to, or just their values.
        role: The functions that stand for the object under test; None for a test of whole frames.
        matching: How detections are matched with objects.
        outside: What detections out of scope are, an object that is not detected above all: "fail" as in the
            paper, or "apart".
        height: The height of the image in pixels that y is turned at; that of every image when None.

    Raises:
        SpecificationError: A name is unknown or a type is wrong.
        InputError: A function has no value, or a setting cannot be used.

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
        >>> requirement = Requirement("S1", "Vehicles nearby are seen nearby", "bbsl", {"allow": 0.5})
        >>> result = run(method, requirement, load("world:town", count=2), load_model("detector"))
        >>> sum(result.counts.values()) > 0
        True
    """

    name = "bbsl"

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
        if matching not in MATCHINGS:
            raise InputError(f"matching must be one of {', '.join(MATCHINGS)}, got {matching!r}")
        if outside not in OUTSIDE:
            raise InputError(f"outside must be one of {', '.join(OUTSIDE)}, got {outside!r}")
        if spec.is_temporal:
            raise InputError(
                "the specification speaks of several frames: test it over tracks, by BbslTrackMethod"
            )
        check_labels(spec)
        self.spec = spec
        self.role = role
        self.bindings = bindings if isinstance(bindings, Bindings) else Bindings(bindings)
        self._matching: Matching = matching
        self._outside: Outside = outside
        self._height = height
        spec.prepared.check_bound([*self.bindings.sources, *(role.names if role else ())])

    @property
    def moving(self) -> tuple[str, ...]:
        """The functions whose boxes are detected, so that they may be off."""
        return moving_functions(self.spec, self.bindings, self.role)

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

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        """Return the outcome of a specification that so many test cases may fail."""
        return conclude_rate(requirement, verdicts, max_rate=allowed_share(requirement))


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


def object_values(role: ObjectRole, box: Corners | None) -> dict[str, Any]:
    """Return the values of the functions that stand for the object under test."""
    return {role.function: box, **dict.fromkeys(role.exists, box is not None)}


def allowed_share(requirement: Requirement) -> float:
    """Return the share of test cases that may fail."""
    value = requirement.parameters.get("allow", 0.0)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise InputError(f"allow of {requirement.id!r} must be a share from 0 to 1, got {value!r}")
    return value if not math.isnan(value) else 0.0
