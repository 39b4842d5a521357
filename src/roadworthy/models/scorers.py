"""How good answers are: errors of signals, confusions of classes, scores collected batch by batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import ClassScores, InverseDepth, Prediction
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.models.average_precision import COCO_THRESHOLDS, average_precision, lie_in, parted
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.network import Network
from roadworthy.models.outputs import SegmentationOutput, words_for
from roadworthy.models.protocols import SystemUnderTest
from roadworthy.ontology import VOID, normalized


def true_class(frame: Frame) -> str | None:
    """Return the class of a whole image, which is kept in its metadata; None when it is not known.

    Example:
        >>> true_class(Frame("a", np.zeros((4, 6, 3), np.uint8), metadata={"class": "truck"}))
        'truck'
    """
    found = frame.metadata.get("class")
    return found if isinstance(found, str) else None


@dataclass(frozen=True, eq=False)
class Confusion:
    """How often images of each class were taken for each class.

    Attributes:
        classes: The classes, true ones and answered ones.
        counts: True classes × answered classes.
    """

    classes: tuple[str, ...]
    counts: NDArray[np.int64]

    @property
    def accuracy(self) -> float:
        """The share of right answers; NaN without answers."""
        total = self.counts.sum()
        return float(np.trace(self.counts) / total) if total else float("nan")

    @property
    def recall(self) -> dict[str, float]:
        """For each class that occurs, the share of its images that were recognised."""
        rows = enumerate(zip(self.classes, self.counts, strict=True))
        return {name: float(row[number] / row.sum()) for number, (name, row) in rows if row.sum()}

    def worst(self, count: int = 3) -> list[tuple[str, str, int]]:
        """Return the most frequent confusions: the true class, what it was taken for, how often."""
        wrong = self.counts.copy()
        np.fill_diagonal(wrong, 0)
        order = np.argsort(-wrong, axis=None, kind="stable")[:count]
        places = [divmod(int(one), len(self.classes)) for one in order]
        found = ((row, column, int(wrong[row, column])) for row, column in places)
        return [(self.classes[row], self.classes[column], times) for row, column, times in found if times]


def confusion(truth: Sequence[str], answers: Sequence[str], classes: Iterable[str] = ()) -> Confusion:
    """Return how often images of each class were taken for each class.

    Words count as the same when they differ in case, hyphens or underscores only.

    Args:
        truth: The true class of each image.
        answers: The class that was answered.
        classes: Classes to begin the table with; all that occur follow.

    Example:
        >>> table = confusion(["car", "car", "truck"], ["car", "truck", "Truck"])
        >>> round(table.accuracy, 3), table.recall, table.worst()
        (0.667, {'car': 0.5, 'truck': 1.0}, [('car', 'truck', 1)])
    """
    true, given = [normalized(one) for one in truth], [normalized(one) for one in answers]
    names = tuple(dict.fromkeys([*map(normalized, classes), *true, *given]))
    place = {name: number for number, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)), np.int64)
    rows, columns = [place[one] for one in true], [place[one] for one in given]
    np.add.at(counts, (rows, columns), 1)
    return Confusion(names, counts)


_MOST_RANKED = 20_000  # pixels of a frame
_ENOUGH_OVERLAP = 0.5  # IoU of a box with the one it stands for


@dataclass(frozen=True)
class Measure:
    """One number about predictions, over the frames for which the truth is known."""

    name: str
    value: float
    unit: str
    frames: int

    def __str__(self) -> str:
        number = f"{self.value:.0%}" if self.unit == "share" else f"{self.value:.3g} {self.unit}"
        return f"{self.name} {number}".replace(" °", "°")


def compare(frames: Sequence[Frame], predictions: Sequence[Prediction]) -> list[Measure]:
    """Return how near predictions are to the truth, as far as that is known.

    Signals: the mean absolute error of speed and steering. Boxes: which share of the known things is found
    and which share of the boxes is right, at an IoU of 0.5 and with the class the same. Label maps: the share
    of the known pixels that have their class. Class scores: the share of images whose class is the best one.
    Inverse depth: the rank correlation with the known depth, 1 where each nearer pixel is answered as nearer.

    Example:
        >>> frame = Frame("a", np.zeros((4, 6, 3), np.uint8), signals=Signals(steering=2.0))
        >>> str(compare([frame], [Signals(steering=-1.0, speed=9.0)])[0])
        'steering MAE 3°'
    """
    pairs = list(zip(frames, predictions, strict=True))
    boxes = [(f.boxes, p) for f, p in pairs if isinstance(p, Boxes) and f.boxes is not None]
    maps = [(f.labels, p) for f, p in pairs if isinstance(p, LabelMap) and f.labels is not None]
    signals = [(f.signals, p) for f, p in pairs if isinstance(p, Signals)]
    classes = [(true_class(f), p.best) for f, p in pairs if isinstance(p, ClassScores)]
    depths = [(f.depth, p.values) for f, p in pairs if isinstance(p, InverseDepth) and f.depth is not None]
    return [
        *_errors(signals), *_found(boxes), *_agreeing(maps), *_recognised(classes), *_ordered(depths)
    ]  # fmt: skip


def _ordered(pairs: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]) -> Iterable[Measure]:
    found = []
    for depth, nearness in pairs:
        known = np.isfinite(depth) & np.isfinite(nearness)
        step = max(1, int(known.sum()) // _MOST_RANKED)
        ranks = [np.argsort(np.argsort(one[known][::step])) for one in (-depth, nearness)]
        if len(ranks[0]) > 1:
            found.append(float(np.corrcoef(ranks[0], ranks[1])[0, 1]))
    if found:
        yield Measure("depth rank correlation", float(np.mean(found)), "of 1", len(found))


def _errors(pairs: Sequence[tuple[Signals, Signals]]) -> Iterable[Measure]:
    for name, unit in (("steering", "°"), ("speed", "m/s")):
        known = [(getattr(truth, name), getattr(answer, name)) for truth, answer in pairs]
        errors = [abs(truth - answer) for truth, answer in known if truth is not None and answer is not None]
        if errors:
            yield Measure(f"{name} MAE", float(np.mean(errors)), unit, len(errors))


def _found(pairs: Sequence[tuple[Boxes, Boxes]]) -> Iterable[Measure]:
    things, given, right = 0, 0, 0
    for known, answer in pairs:
        truth, crowds = parted(known, 0.0, 1.0)
        counted = ~lie_in(answer, crowds, _ENOUGH_OVERLAP)
        things += len(truth)
        overlap = truth.iou(answer)
        overlap[np.array(truth.classes)[:, None] != np.array(answer.classes)[None, :]] = 0
        while overlap.size and overlap.max() >= _ENOUGH_OVERLAP:
            row, column = np.unravel_index(int(overlap.argmax()), overlap.shape)
            overlap[row], overlap[:, column] = 0, 0
            counted[column] = True
            right += 1
        given += int(counted.sum())
    if things:
        yield Measure("things found", right / things, "share", len(pairs))
    if given and pairs:
        yield Measure("boxes right", right / given, "share", len(pairs))


def _agreeing(pairs: Sequence[tuple[LabelMap, LabelMap]]) -> Iterable[Measure]:
    known, right = 0, 0
    for truth, answer in pairs:
        if truth.shape != answer.shape:
            continue
        for name, count in truth.present().items():
            if name != VOID:
                own = np.isin(truth.ids, [i for i, one in enumerate(truth.classes) if one == name])
                same = np.isin(answer.ids, [i for i, one in enumerate(answer.classes) if one == name])
                known, right = known + count, right + int((own & same).sum())
    if known:
        yield Measure("pixels right", right / known, "share", len(pairs))


def _recognised(pairs: Sequence[tuple[str | None, str]]) -> Iterable[Measure]:
    if known := [(truth, best) for truth, best in pairs if truth is not None]:
        table = confusion([truth for truth, _ in known], [best for _, best in known])
        yield Measure("right class", table.accuracy, "share", len(known))


_LOWEST_SCORE = 0.01
_MOST_HIDDEN = 0.8  # of a thing that must be found


class BoxScorer:
    """Collects boxes.

    Args:
        classes: Words of the ontology to tell apart; the elements that occur when left out, all kinds of
            vehicles in one.
        min_height: Things lower than this, in pixels, are neither asked for nor held against the detector;
            neither are those of which more than 80% are hidden.

    Example:
        >>> things = Boxes([[0, 0, 4, 4]], ["car"])
        >>> frame = Frame("a", np.zeros((8, 8, 3), np.uint8), boxes=things)
        >>> scorer = BoxScorer(min_height=0)
        >>> scorer.add([frame], [Boxes([[0, 0, 4, 3]], ["car"], scores=[0.9])])
        >>> [str(one) for one in scorer.measures()]
        ['mAP@0.5 100%', 'mAP@[.5:.95] 60%', 'AP@0.5 vehicle 100%']
    """

    def __init__(self, classes: Sequence[str] | None = None, *, min_height: float = 8.0) -> None:
        self._classes, self._min_height = classes, min_height
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
        left: Any = {"ignored": self._ignored, "min_height": self._min_height, "max_occlusion": _MOST_HIDDEN}
        images = self._truth, self._found
        found = average_precision(*images, classes=self._classes, iou=COCO_THRESHOLDS, **left)
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
            if (word := true_class(frame)) is not None:
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
        known = table.recall.items()
        recalls = [Measure(f"recall of {name}", value, "share", images[name]) for name, value in known]
        return [Measure("accuracy", table.accuracy, "share", len(self._truth)), *recalls]


def answered_classes(system: SystemUnderTest) -> tuple[str, ...] | None:
    """Return the words of the ontology that a detector or segmenter answers with; None when it does not tell.

    Example:
        >>> from roadworthy.models import load_model
        >>> answered_classes(load_model("truth")) is None
        True
    """
    output = getattr(system, "output", None)
    if not isinstance(output, DetectionOutput | SegmentationOutput):
        return None
    words = words_for(output.classes, output.class_names)
    return tuple(dict.fromkeys(word for word in words if word is not None))


def with_all_boxes(system: SystemUnderTest) -> SystemUnderTest:
    """Return a detector that also gives the boxes it is hardly sure of, and those of its second choice.

    Average precision asks how the boxes of each class are ranked, so the threshold that suits a user would
    cut it short, and so would leaving out the truck that overlaps a car. Others measure without both, too.
    What is no network with a declared threshold stays as it is.
    """
    if not isinstance(system, Network) or not isinstance(system.output, DetectionOutput):
        return system
    lowest = min(_LOWEST_SCORE, system.output.score_threshold)
    output = dataclasses.replace(system.output, score_threshold=lowest, iou_threshold_across=None)
    spec: Any = dataclasses.replace(system.spec, output=output)
    return Network(system.name, system.runtime, spec, timeout=system.timeout, notes=system.notes)
