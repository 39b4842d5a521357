"""Measures of what a whole scene is answered with: boxes, and the class of every pixel.

Average precision and mean IoU are no means over images. What is kept of an image is therefore text: of boxes,
the scores of those that count and whether each is right; of label maps, the pixels that two maps share.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Prediction
from roadworthy.errors import NotApplicable, SystemUnderTestError, check_number
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.models.average_precision import judged_boxes, matched, parted, places_of
from roadworthy.ontology import VOID
from roadworthy.reliability.measures import (
    Batches,
    Indices,
    Record,
    TaskMeasure,
    Values,
    answered,
    registered,
)

_RECALLS = np.arange(101)


@registered
@dataclass(frozen=True)
class BoxPrecision(TaskMeasure):
    """The mean over classes of average precision, as `roadworthy.models.average_precision` has it.

    Two answers are as like as the boxes of the one find those of the other: F1 = 2 · pairs / (all boxes of
    both), over boxes of at least `score` that pair off, class by class, at an IoU of at least `iou`; 1 where
    both find nothing. Average precision would need one of the two to be the truth.

    Attributes:
        iou: From which on a box counts as found.
        score: From which on a box counts for the similarity; precision takes all boxes in order.
        classes: Words of the ontology; the elements that occur when left out.
        min_height: Things lower than this, in pixels, are neither asked for nor held against a detector.
        max_occlusion: Likewise for things hidden to a larger share.

    Example:
        >>> one = Boxes([[0, 0, 10, 10], [20, 0, 30, 10]], ["car", "car"], scores=[0.9, 0.8])
        >>> BoxPrecision().similarity(one, one[:1])
        0.6666666666666666
    """

    iou: float = 0.5
    score: float = 0.5
    classes: tuple[str, ...] = ()
    min_height: float = 8.0
    max_occlusion: float = 0.8

    word = "ap"
    task = "detection"
    slack = 0.1

    def __post_init__(self) -> None:
        check_number("iou", self.iou, above=0, most=1)

    @property
    def name(self) -> str:
        """The threshold that it is at."""
        return f"mAP@{self.iou:g}"

    def record(self, frame: Frame, answer: Prediction) -> str:
        """Return, for each class, how many things there are, and the scores of right and of wrong boxes."""
        boxes = answered(answer, Boxes)
        if frame.boxes is None:
            raise NotApplicable("the frame has no boxes")
        things, hidden = parted(frame.boxes, self.min_height, self.max_occlusion)
        regions = np.array(frame.metadata.get("dont_care", ()), np.float64).reshape(-1, 4)
        kept: dict[str, list[object]] = {}
        for word in self.classes or sorted({*things.classes, *boxes.classes}):
            own, found = things.select(word), boxes.select(word)
            # Nobody knows what is in a region that does not count: it may be of this class.
            spared = places_of(hidden.select(word), Boxes(regions, [word] * len(regions)))
            scores, right = judged_boxes(own, found, spared, iou=self.iou, min_height=self.min_height)
            if len(own) or len(scores):
                kept[word] = [
                    len(own),
                    *([round(float(s), 6), bool(r)] for s, r in zip(scores, right, strict=True)),
                ]
        return json.dumps(kept, separators=(",", ":"))

    def batches(self, records: Sequence[Record]) -> Batches:
        """Return what gives the mean average precision of batches, over the classes that occur in each."""
        per_class: dict[str, _Ranked] = {}
        for image, record in enumerate(records):
            for word, (things, *boxes) in json.loads(str(record)).items():
                per_class.setdefault(word, _Ranked(len(records))).add(image, things, boxes)
        ranked = [one for one in per_class.values() if one.things.any()]

        def values(indices: Indices) -> Values:
            weights = _multiplicities(indices, len(records))
            return _mean_of_known([one.precision(weights) for one in ranked], len(indices))

        return values

    def lost(self, record: Record) -> str:
        """Return the same things with no box."""
        return json.dumps({word: [things] for word, (things, *_) in json.loads(str(record)).items()})

    def similarity(self, before: Prediction, after: Prediction) -> float:
        """Return the F1 of the boxes of one answer against those of the other."""
        one, other = self.counted(before), self.counted(after)
        total = len(one) + len(other)
        if not total:
            return 1.0
        words = self.classes or sorted({*one.classes, *other.classes})
        found = sum(int(matched(one.select(word), other.select(word), self.iou).sum()) for word in words)
        counted = sum(len(boxes.select(word)) for boxes in (one, other) for word in words)
        return 2 * found / counted if counted else 1.0

    def counted(self, answer: Prediction) -> Boxes:
        """Return the boxes that the model is sure of."""
        boxes = answered(answer, Boxes)
        return boxes if boxes.scores is None else boxes[boxes.scores >= self.score]


class _Ranked:
    """The boxes of one class in all images, in order of their scores."""

    def __init__(self, images: int) -> None:
        self.things = np.zeros(images, np.int64)
        self._rows: list[tuple[float, int, bool]] = []
        self._columns: tuple[NDArray[np.intp], NDArray[np.bool_]] | None = None

    def add(self, image: int, things: int, boxes: Sequence[tuple[float, bool]]) -> None:
        self.things[image] = things
        self._rows += [(score, image, right) for score, right in boxes]
        self._columns = None

    def precision(self, weights: NDArray[np.int64]) -> Values:
        """Return the average precision of each batch, in which an image counts so many times."""
        if self._columns is None:
            self._rows.sort(key=lambda row: -row[0])
            self._columns = (
                np.array([row[1] for row in self._rows], np.intp),
                np.array([row[2] for row in self._rows], np.bool_),
            )
        image, right = self._columns
        drawn = weights[:, image]
        hits, all_boxes = np.cumsum(drawn * right, axis=1), np.cumsum(drawn, axis=1)
        precision = np.divide(hits, all_boxes, out=np.zeros(hits.shape), where=all_boxes > 0)
        best_later = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        best_later = np.hstack([best_later, np.zeros((len(weights), 1))])
        totals = weights @ self.things
        values = np.full(len(weights), np.nan)
        for batch, total in enumerate(totals.tolist()):
            if total:
                # In whole numbers, because 0.29 as a float may be a little more than 29 of 100 things.
                reached = np.searchsorted(hits[batch] * 100, _RECALLS * total, side="left")
                values[batch] = best_later[batch, reached].mean()
        return values


def _multiplicities(indices: Indices, count: int) -> NDArray[np.int64]:
    """Return how often each record is in each batch."""
    places = indices + count * np.arange(len(indices))[:, None]
    return np.bincount(places.ravel(), minlength=count * len(indices)).reshape(len(indices), count)


def _mean_of_known(rows: Sequence[Values], batches: int) -> Values:
    """Return the mean of several numbers for each batch, of those that are known; NaN where none is."""
    if not rows:
        return np.full(batches, np.nan)
    table = np.stack(rows)
    known = ~np.isnan(table)
    counts = known.sum(axis=0)
    total = np.where(known, table, 0).sum(axis=0)
    means: Values = np.divide(total, counts, out=np.full(batches, np.nan), where=counts > 0)
    return means


@registered
@dataclass(frozen=True)
class MapOverlap(TaskMeasure):
    """The mean over classes of intersection over union of label maps.

    Pixels that are void in truth do not count. Of a batch, pixels are counted over all its images; of two
    answers, over the one image.

    Example:
        >>> one = LabelMap(np.array([[0, 0, 1, 1]], np.uint8), ("road", "car"))
        >>> other = LabelMap(np.array([[0, 0, 0, 1]], np.uint8), ("road", "car"))
        >>> round(MapOverlap().similarity(one, other), 4)  # 2 of 3 and 1 of 2
        0.5833
    """

    word = "miou"
    task = "segmentation"
    slack = 0.1

    @property
    def name(self) -> str:
        """As the field calls it."""
        return "mIoU"

    def record(self, frame: Frame, answer: Prediction) -> str:
        """Return, for each class, the pixels that both maps have and those that either has."""
        labels = answered(answer, LabelMap)
        if frame.labels is None:
            raise NotApplicable("the frame has no label map")
        return json.dumps(_shared_pixels(frame.labels, labels), separators=(",", ":"))

    def batches(self, records: Sequence[Record]) -> Batches:
        """Return what gives the mean IoU of batches."""
        read = [json.loads(str(record)) for record in records]
        words = sorted({word for one in read for word in one})
        counts = np.array([[one.get(word, (0, 0)) for word in words] for one in read], np.int64)

        def values(indices: Indices) -> Values:
            if not words:
                return np.full(len(indices), np.nan)
            weights = _multiplicities(indices, len(records))
            both, either = np.moveaxis(np.tensordot(weights, counts, axes=1), 2, 0)
            ratio = np.divide(both, either, out=np.full(both.shape, np.nan), where=either > 0)
            return _mean_of_known(list(ratio.T), len(indices))

        return values

    def lost(self, record: Record) -> str:
        """Return the same pixels with none in common."""
        return json.dumps({word: [0, either] for word, (_, either) in json.loads(str(record)).items()})

    def similarity(self, before: Prediction, after: Prediction) -> float:
        """Return the mean IoU of two answers; 1 where neither names a class."""
        shared = _shared_pixels(answered(before, LabelMap), answered(after, LabelMap))
        ratios = [both / either for both, either in shared.values()]
        return float(np.mean(ratios)) if ratios else 1.0


def _shared_pixels(truth: LabelMap, answer: LabelMap) -> dict[str, tuple[int, int]]:
    """Return intersection and union of each class, where the first map is not void."""
    if truth.ids.shape != answer.ids.shape:
        (height, width), (rows, columns) = truth.ids.shape, answer.ids.shape
        raise SystemUnderTestError(f"expected a label map of {width} × {height}, got {columns} × {rows}")
    names = sorted({*truth.classes, *answer.classes} - {VOID})
    place = {name: number for number, name in enumerate(names)}
    first, second = (
        np.array([place.get(name, len(names)) for name in one.classes], np.intp)[one.ids]
        for one in (truth, answer)
    )
    known = first < len(names)
    size = len(names) + 1
    table = np.bincount(first[known] * size + second[known], minlength=size * size).reshape(size, size)
    both = np.diag(table)
    either = table.sum(axis=0) + table.sum(axis=1) - both
    return {name: (int(both[i]), int(either[i])) for i, name in enumerate(names) if either[i]}
