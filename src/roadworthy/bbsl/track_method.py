"""Tests over time: the detections of a track must lead, frame by frame, to what the ground truth does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from roadworthy.bbsl.bindings import Bindings, View
from roadworthy.bbsl.evaluation import Outcome as FrameOutcome
from roadworthy.bbsl.method import allowed_share, corners_of, moving_functions, object_values
from roadworthy.bbsl.syntax import Spec
from roadworthy.bbsl.testing.judging import verdict_margin
from roadworthy.bbsl.testing.matching import MATCHINGS, Matching, match
from roadworthy.bbsl.testing.roles import ObjectRole
from roadworthy.bbsl.testing.rows import Corners, TestRow, check_labels
from roadworthy.bbsl.tracks import Ends, TrackOutcome, evaluate_track
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


class BbslTrackMethod(BaseMethod):
    """Tests detectors by a specification that speaks of several frames: one test case for every track.

    A track is one object of the ground truth, by its track id, from the first frame that it is in to the
    last. In each of them the specification is asked about the object, and about the detection that is
    matched with it; where nothing is detected, or the object is hidden, the function has no value. The test
    is passed when in every frame both lead to the same cases.

    The parameter ``allow`` of a requirement is the share of tracks that may fail, 0 when left out.

    Args:
        spec: The specification.
        bindings: What the external functions are bound to, or just their values.
        role: The functions that stand for the object under test.
        matching: How detections are matched with objects.
        ends: What lies beyond a track: "cut" for nothing, "open" for what nobody knows.

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
        role: ObjectRole,
        matching: Matching = "best",
        ends: Ends = "cut",
    ) -> None:
        if matching not in MATCHINGS:
            raise InputError(f"matching must be one of {', '.join(MATCHINGS)}, got {matching!r}")
        check_labels(spec)
        self.spec = spec
        self.role = role
        self.bindings = bindings if isinstance(bindings, Bindings) else Bindings(bindings)
        self._matching: Matching = matching
        self._ends: Ends = ends
        spec.prepared.check_bound([*self.bindings.sources, *role.names])

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
        moving = moving_functions(self.spec, self.bindings, self.role)
        expected = evaluate_track(self.spec, truth, ends=self._ends, moving=moving, **size)
        outcome = evaluate_track(self.spec, found, ends=self._ends, moving=moving, **size)
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
            if expected.applies is not True or expected.unknown:
                continue
            labels = self._labels(expected)
            if outcome.applies is not True or outcome.unknown:
                reason = "the detections are out of scope"
                return TestRow(frame.id, labels, None, False, -math.inf, reason=reason)
            seen = self._labels(outcome)
            row = TestRow(frame.id, labels, seen, labels == seen, verdict_margin(labels, seen, margins))
            if not row.passed:
                return row
            if worst is None or row.margin < worst.margin:
                worst = row
        if worst is None:
            reason = "the specification says nothing of the ground truth in any frame"
            return TestRow(frames[0].id, (), None, None, math.nan, reason=reason)
        return worst

    def _labels(self, outcome: FrameOutcome) -> tuple[str, ...]:
        return tuple(label for label in self.spec.labels if label in outcome.cases)

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        """Return the outcome of a specification that so many tracks may fail."""
        return conclude_rate(requirement, verdicts, max_rate=allowed_share(requirement))
