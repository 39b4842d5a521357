"""How good the answers of detectors and classifiers are, collected batch by batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from roadworthy.cases import ClassScores, Prediction
from roadworthy.frames import Boxes, Frame
from roadworthy.models.average_precision import COCO_THRESHOLDS, average_precision
from roadworthy.models.comparison import Measure
from roadworthy.models.confusion import Confusion, confusion, true_class
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.network import Network
from roadworthy.models.outputs import words_for
from roadworthy.models.protocols import SystemUnderTest

__all__ = ["BoxScorer", "ClassScorer", "answered_classes", "with_all_boxes"]

_LOWEST_SCORE = 0.01


class BoxScorer:
    """Collects boxes.

    Args:
        classes: Words of the ontology to tell apart; the elements that occur when left out, all kinds of
            vehicles in one.
        min_height: Things lower than this, in pixels, are neither asked for nor held against the detector.
        max_occlusion: Likewise for things hidden to a larger share.

    Example:
        >>> things = Boxes([[0, 0, 4, 4]], ["car"])
        >>> frame = Frame("a", np.zeros((8, 8, 3), np.uint8), boxes=things)
        >>> scorer = BoxScorer(min_height=0)
        >>> scorer.add([frame], [Boxes([[0, 0, 4, 3]], ["car"], scores=[0.9])])
        >>> [str(one) for one in scorer.measures()]
        ['mAP@0.5 100%', 'mAP@[.5:.95] 60%', 'AP@0.5 vehicle 100%']
    """

    def __init__(
        self, classes: Sequence[str] | None = None, *, min_height: float = 8.0, max_occlusion: float = 0.8
    ) -> None:
        self._classes = classes
        self._min_height, self._max_occlusion = min_height, max_occlusion
        self._truth: list[Boxes] = []
        self._ignored: list[Boxes] = []
        self._found: list[Boxes] = []

    def add(self, frames: Sequence[Frame], answers: Sequence[Prediction]) -> None:
        """Take the boxes for some frames; those of frames about which nothing is known are left out."""
        for frame, answer in zip(frames, answers, strict=True):
            assert isinstance(answer, Boxes)
            if frame.boxes is not None:
                self._truth.append(frame.boxes)
                self._found.append(answer)
                self._ignored.append(_dont_care(frame))

    def measures(self) -> list[Measure]:
        """Return mAP at an IoU of 0.5, mAP over COCO's thresholds, and AP at 0.5 of each class."""
        found = average_precision(
            self._truth,
            self._found,
            classes=self._classes,
            iou=COCO_THRESHOLDS,
            ignored=self._ignored,
            min_height=self._min_height,
            max_occlusion=self._max_occlusion,
        )
        if not any(found.things):
            return []
        at_half = found.at(0.5)
        values = {"mAP@0.5": at_half.mean, "mAP@[.5:.95]": found.mean}
        values |= {
            f"AP@0.5 {word}": at_half.of(word)
            for word, things in zip(found.classes, found.things, strict=True)
            if things
        }
        return [Measure(name, value, "share", len(self._truth)) for name, value in values.items()]


def _dont_care(frame: Frame) -> Boxes:
    """Return the regions in which KITTI's annotators left out road users."""
    regions: Any = frame.metadata.get("dont_care", ())
    return Boxes(np.array(regions, np.float64).reshape(-1, 4), ["object"] * len(regions))


class ClassScorer:
    """Collects class scores. The true class of a frame is ``frame.metadata["class"]``.

    Example:
        >>> frame = Frame("a", np.zeros((8, 8, 3), np.uint8), metadata={"class": "car"})
        >>> scorer = ClassScorer()
        >>> scorer.add([frame], [ClassScores(("car", "truck"), np.array([0.9, 0.1]))])
        >>> [str(one) for one in scorer.measures()]
        ['accuracy 100%', 'recall of car 100%']
    """

    def __init__(self) -> None:
        self._truth: list[str] = []
        self._found: list[str] = []

    def add(self, frames: Sequence[Frame], answers: Sequence[Prediction]) -> None:
        """Take the class scores for some frames; those of frames without a known class are left out."""
        for frame, answer in zip(frames, answers, strict=True):
            assert isinstance(answer, ClassScores)
            word = true_class(frame)
            if word is not None:
                self._truth.append(word)
                self._found.append(answer.best)

    @property
    def confusion(self) -> Confusion:
        """What was taken for what."""
        return confusion(self._truth, self._found)

    def measures(self) -> list[Measure]:
        """Return the accuracy, and of each class the share that was recognised."""
        if not self._truth:
            return []
        table = self.confusion
        images = dict(zip(table.classes, table.counts.sum(axis=1).tolist(), strict=True))
        recalls = [
            Measure(f"recall of {name}", value, "share", images[name]) for name, value in table.recall.items()
        ]
        return [Measure("accuracy", table.accuracy, "share", len(self._truth)), *recalls]


def answered_classes(system: SystemUnderTest) -> tuple[str, ...] | None:
    """Return the words of the ontology that a detector answers with; None when it does not tell.

    Example:
        >>> from roadworthy.models import load_model
        >>> answered_classes(load_model("truth")) is None
        True
    """
    output = getattr(system, "output", None)
    if not isinstance(output, DetectionOutput):
        return None
    words = words_for(output.classes, output.class_names, output.on_unknown)
    return tuple(dict.fromkeys(word for word in words if word is not None))


def with_all_boxes(system: SystemUnderTest) -> SystemUnderTest:
    """Return a detector that also gives the boxes it is hardly sure of, and those of its second choice.

    Average precision asks how the boxes of each class are ranked, so the threshold that suits a user would
    cut it short, and so would leaving out the truck that overlaps a car. Others measure without both, too.
    What is no network with a declared threshold stays as it is.
    """
    if not isinstance(system, Network) or not isinstance(system.output, DetectionOutput):
        return system
    output = dataclasses.replace(
        system.output,
        score_threshold=min(_LOWEST_SCORE, system.output.score_threshold),
        iou_threshold_across=None,
    )
    spec: Any = dataclasses.replace(system.spec, output=output)
    return Network(system.name, system.runtime, spec, timeout=system.timeout, notes=system.notes)
