"""Tests over time: the detections of a track must lead, frame by frame, to what the ground truth does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from roadworthy.bbsl.base_method import SpecificationMethod, corners_of
from roadworthy.bbsl.bindings import Bindings, View
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.testing.judging import Outside, labels_of, out_of_scope, verdict_margin
from roadworthy.bbsl.testing.matching import Matching, match
from roadworthy.bbsl.testing.roles import ObjectRole, object_values
from roadworthy.bbsl.testing.rows import Corners, TestRow
from roadworthy.bbsl.tracks import Ends, TrackOutcome, check_ends, evaluate_track
from roadworthy.cases import Answers, AwaitVerdicts, Case, Dataset, Predict, Requirement, Scalar, Verdict
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame

__all__ = ["BbslTrackMethod"]


@dataclass(frozen=True, eq=False)
class _Source:
    """Reads a frame where it is needed."""

    data: Dataset
    number: int

    def __call__(self) -> Frame:
        return self.data[self.number]


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
        bindings: Bindings | Mapping[str, Any],
        *,
        role: ObjectRole,
        matching: Matching = "best",
        outside: Outside = "fail",
        ends: Ends = "cut",
    ) -> None:
        super().__init__(spec, bindings, role=role, matching=matching, outside=outside)
        check_ends(ends)
        self._ends: Ends = ends

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
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
        sources = [_Source(data, number) for number in range(len(ids))]
        for track, (first, last) in spans.items():
            known: dict[str, Scalar] = {"track": track, "frame": ids[first]}
            asks = (Predict(tuple(sources[first : last + 1])),)
            yield Case(f"track {track}", requirement.id, asks, known)

    def _tracks(self, frame: Frame, name: str) -> list[int]:
        if frame.boxes is None:
            raise InputError(f"frame {frame.id!r} of {name} has no boxes: test on data with ground truth")
        chosen = frame.boxes.select(*self.role.classes)
        if len(chosen) and chosen.track_ids is None:
            raise InputError(
                f"the boxes of frame {frame.id!r} of {name} have no track ids, so nobody knows which belong "
                "together: test on data with tracks, or by a specification of single frames"
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
            known, seen = (self.bindings.values(View.of(frame, one)) for one in (frame.boxes, boxes))
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
