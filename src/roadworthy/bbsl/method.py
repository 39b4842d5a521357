"""The methods of specifications, for single frames and along tracks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import numpy as np

from roadworthy.bbsl.bindings import Bindings, BoxesOf, FrameView, PerFrame
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.testing import (
    MATCHINGS,
    OUTSIDE,
    Corners,
    Matching,
    ObjectRole,
    Outside,
    TestRow,
    check_labels,
    judge,
    labels_of,
    match,
    object_values,
    out_of_scope,
    verdict_margin,
)
from roadworthy.bbsl.tracks import Ends, TrackOutcome, box_functions, evaluate_track
from roadworthy.cases import (
    Answers,
    BaseMethod,
    Case,
    CaseStream,
    Dataset,
    Predict,
    Requirement,
    Scalar,
    Verdict,
)
from roadworthy.errors import InputError, NotApplicable, check_choice
from roadworthy.frames import Boxes, Frame

_NO_BOXES = "has no boxes: use data with labels, or say who finds them, such as -o boxes=street"
AnyBindings = Bindings | Mapping[str, Any]


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
        bindings: AnyBindings,
        *,
        role: ObjectRole | None,
        matching: Matching,
        outside: Outside,
    ) -> None:
        check_choice("matching", matching, MATCHINGS)
        check_choice("outside", outside, OUTSIDE)
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
        bindings: AnyBindings,
        *,
        role: ObjectRole | None = None,
        matching: Matching = "best",
        outside: Outside = "fail",
        height: float | None = None,
    ) -> None:
        if spec.is_temporal:
            raise InputError("the specification speaks of several frames: test it with BbslTrackMethod")
        super().__init__(spec, bindings, role=role, matching=matching, outside=outside)
        self._height = height

    def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> CaseStream:
        """Yield a case for every object, or for every frame."""
        del rng  # nothing here is left to chance
        for frame in data:
            if frame.boxes is None:
                raise InputError(f"frame {frame.id!r} of {data.name} {_NO_BOXES}")
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
        return self._judged(frame, self._values(frame, truth), self._values(frame, detections))

    def object_row(self, frame: Frame, truth: Boxes, detections: Boxes, number: int) -> TestRow:
        """Return the test of one object: the one with this number among those of the role's classes."""
        role = self.role
        assert role is not None
        objects, others = truth.select(*role.classes), detections.select(*role.elements)
        matched = match(objects, others, self._matching)
        index, iou = int(matched.index[number]), float(matched.iou[number])
        box = corners_of(objects, number)
        detected = None if index < 0 else corners_of(others, index)
        expected = {**self._values(frame, truth), **object_values(role, box)}
        seen = {**self._values(frame, detections), **object_values(role, detected)}
        found = self._judged(frame, expected, seen)
        # Out of scope because of the detections, not because of the ground truth.
        reason = "not detected" if detected is None and found.margin == -math.inf else found.reason
        return replace(found, iou=iou, truth=box, detection=detected, reason=reason)

    def _judged(self, frame: Frame, truth: Mapping[str, Any], found: Mapping[str, Any]) -> TestRow:
        size = {"height": self._height or frame.height, "width": frame.width}
        row = judge(self.spec, truth, found, **size, moving=self.moving, outside=self._outside)
        return replace(row, frame=frame.id)

    def _values(self, frame: Frame, boxes: Boxes) -> Mapping[str, Any]:
        view = FrameView.of(frame, boxes)
        return self.bindings.values(view if self._height is None else replace(view, height=self._height))


class BbslTrackMethod(SpecificationMethod):
    """Tests detectors by a specification that speaks of several frames: one test case for every track.

    A track is one object of the ground truth, by its track id, from the first frame that it is in to the
    last. In each of them the specification is asked about the object, and about the detection that is
    matched with it; where nothing is detected, or the object is hidden, the function has no value. The test
    is passed when in every frame both lead to the same cases.

    Arguments, the parameter ``allow`` (the share of tracks that may fail) and errors are those of
    `SpecificationMethod`; ``ends`` says what lies beyond a track: "cut" for nothing, "open" for what nobody
    knows.
    """

    role: ObjectRole

    def __init__(
        self,
        spec: Spec,
        bindings: AnyBindings,
        *,
        role: ObjectRole,
        matching: Matching = "best",
        outside: Outside = "fail",
        ends: Ends = "cut",
    ) -> None:
        super().__init__(spec, bindings, role=role, matching=matching, outside=outside)
        check_choice("ends", ends, get_args(Ends))
        self._ends: Ends = ends

    def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> CaseStream:
        """Yield a case for every track, in the order in which they begin."""
        del rng  # nothing here is left to chance
        spans: dict[int, tuple[int, int]] = {}
        ids = []
        # Read once to see where tracks begin and end; what is asked about is read again where it is needed.
        for number in range(len(data)):
            frame = data[number]
            ids.append(frame.id)
            for track in self._tracks(frame, data.name):
                first, _ = spans.get(track, (number, number))
                spans[track] = first, number
        sources = [partial(data.__getitem__, number) for number in range(len(ids))]
        # Tracks run through many frames: where no drives are known, all of them belong together.
        clusters = getattr(data, "clusters", ids)
        drives = [data.name] * len(ids) if list(clusters) == ids else clusters
        for track, (first, last) in spans.items():
            known: dict[str, Scalar] = {"track": track, "frame": ids[first]}
            asks = (Predict(tuple(sources[first : last + 1])),)
            yield Case(f"track {track}", requirement.id, asks, known, cluster=drives[first])

    def _tracks(self, frame: Frame, name: str) -> list[int]:
        if frame.boxes is None:
            raise InputError(f"frame {frame.id!r} of {name} {_NO_BOXES}")
        chosen = frame.boxes.select(*self.role.classes)
        if len(chosen) and chosen.track_ids is None:
            raise InputError(
                f"boxes of frame {frame.id!r} of {name} have no track ids: use data with tracks, or a "
                "specification of single frames"
            )
        return [] if chosen.track_ids is None else chosen.track_ids.tolist()

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return whether detections and ground truth lead to the same cases in every frame.

        Raises:
            SystemUnderTestError: The system did not answer with boxes.
        """
        predicted = answers.predicted()
        track = int(str(case.parameters["track"]))
        detections = predicted.of(Boxes)
        truth: list[dict[str, Any]] = []
        found: list[dict[str, Any]] = []
        for frame, boxes in zip(predicted.frames, detections, strict=True):
            box, detected = self._pair(frame, boxes, track)
            assert frame.boxes is not None  # seen to when the case was made
            known, seen = (self.bindings.values(FrameView.of(frame, one)) for one in (frame.boxes, boxes))
            truth.append({**known, **object_values(self.role, box)})
            found.append({**seen, **object_values(self.role, detected)})
        size = {"height": predicted.frames[0].height, "width": predicted.frames[0].width}
        expected, outcome = (
            evaluate_track(self.spec, values, ends=self._ends, moving=self.moving, **size)
            for values in (truth, found)
        )
        return self._row(predicted.frames, expected, outcome).verdict(case)

    def _pair(self, frame: Frame, boxes: Boxes, track: int) -> tuple[Corners | None, Corners | None]:
        """Return the object of a track in a frame, and its detection."""
        assert frame.boxes is not None
        objects, others = frame.boxes.select(*self.role.classes), boxes.select(*self.role.elements)
        tracks = [] if objects.track_ids is None else objects.track_ids.tolist()
        if track not in tracks:
            return None, None
        number = tracks.index(track)
        index = int(match(objects, others, self._matching).index[number])
        return corners_of(objects, number), None if index < 0 else corners_of(others, index)

    def _row(self, frames: tuple[Frame, ...], truth: TrackOutcome, found: TrackOutcome) -> TestRow:
        """Return the worst frame: the first that differs, else the one with the smallest margin."""
        worst: TestRow | None = None
        for frame, expected, outcome, margins in zip(
            frames, truth.outcomes, found.outcomes, found.margins, strict=True
        ):
            if out_of_scope(expected, "the ground truth"):
                continue
            labels = labels_of(expected)
            reason = out_of_scope(outcome, "the detections")
            if reason:
                passed = False if self._outside == "fail" else None
                return TestRow(frame.id, labels, None, passed, -math.inf, reason=reason)
            seen = labels_of(outcome)
            row = TestRow(frame.id, labels, seen, labels == seen, verdict_margin(labels, seen, margins))
            if not row.passed:
                return row
            if worst is None or row.margin < worst.margin:
                worst = row
        if worst is None:
            reason = "the specification says nothing of the ground truth in any frame"
            return TestRow(frames[0].id, (), None, None, math.nan, reason=reason)
        return worst


TEXT = "The detections lead to the case that the ground truth leads to"
"""What every specification requires."""


def method_for(
    spec: Spec, bindings: Bindings, role: ObjectRole | None, *, matching: str = "best", outside: str = "fail"
) -> BbslMethod | BbslTrackMethod:
    """Return the method that tries a specification, over tracks if it speaks of several frames.

    Raises:
        InputError: A setting cannot be used, or no function stands for the object of a track.
    """
    settings: dict[str, Any] = {"matching": matching, "outside": outside}
    if not spec.is_temporal:
        return BbslMethod(spec, bindings, role=role, **settings)
    if role is None:
        raise InputError("over several frames, leave a function of type bb unbound or name it as the object")
    return BbslTrackMethod(spec, bindings, role=role, **settings)


def inputs_of(
    frame: Frame, bindings: Bindings, role: ObjectRole | None
) -> Iterator[tuple[Corners | None, dict[str, Any]]]:
    """Yield what the ground truth of a frame gives a specification: each object's box and all values.

    Where no function stands for an object, there is one input without a box: the whole frame.

    Raises:
        InputError: The frame has no boxes.
    """
    if frame.boxes is None:
        raise InputError(f"frame {frame.id!r} {_NO_BOXES}")
    known = dict(bindings.values(FrameView.of(frame)))
    if role is None:
        yield None, known
        return
    objects = frame.boxes.select(*role.classes)
    for number in range(len(objects)):
        box = corners_of(objects, number)
        yield box, {**known, **object_values(role, box)}
