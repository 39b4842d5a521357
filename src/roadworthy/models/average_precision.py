"""Average precision: how well a detector ranks and places its boxes, the way COCO counts it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError, check_known
from roadworthy.frames import Boxes
from roadworthy.ontology import ontology

COCO_THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
"""The IoU thresholds whose mean COCO calls AP, written mAP@[.5:.95]."""

_PERCENT = np.arange(101)


@dataclass(frozen=True, eq=False)
class AveragePrecision:
    """The average precision of each class at each threshold.

    Attributes:
        classes: The classes, as words of the ontology.
        thresholds: The IoU from which on a box counts as found.
        values: Classes × thresholds; NaN for a class of which there is no thing.
        things: How many things there are of each class.
    """

    classes: tuple[str, ...]
    thresholds: tuple[float, ...]
    values: NDArray[np.float64]
    things: tuple[int, ...]

    @property
    def mean(self) -> float:
        """The mean over thresholds and over the classes that occur, called mAP; NaN when none does."""
        known = self.values[~np.isnan(self.values)]
        return float(known.mean()) if known.size else float("nan")

    def at(self, threshold: float) -> AveragePrecision:
        """Return the values at one of the thresholds alone.

        Raises:
            InputError: It is none of those measured.
        """
        if threshold not in self.thresholds:
            known = ", ".join(f"{one:g}" for one in self.thresholds)
            raise InputError(f"threshold must be one of those measured, {known}, got {threshold}")
        column = self.values[:, [self.thresholds.index(threshold)]]
        return AveragePrecision(self.classes, (threshold,), column, self.things)

    def of(self, word: str) -> float:
        """Return the mean over thresholds for one class.

        Raises:
            InputError: The class is none of those measured.
        """
        check_known("no average precision of", word, self.classes)
        return float(self.values[self.classes.index(word)].mean())


def average_precision(
    truth: Iterable[Boxes],
    found: Iterable[Boxes],
    *,
    classes: Sequence[str] | None = None,
    iou: float | Sequence[float] = 0.5,
    ignored: Iterable[Boxes] | None = None,
    min_height: float = 0.0,
    max_occlusion: float = 1.0,
) -> AveragePrecision:
    """Return the average precision of detections, interpolated at 101 recalls as COCO does.

    Within an image and class, boxes choose in order of their scores; each takes the free thing with the
    highest IoU at or above the threshold. A box that takes none is wrong, unless at least the threshold's
    share of it lies in something that is ignored, or it is itself too low. Crowds (``iscrowd``) are ignored.

    Args:
        truth: The things in each image.
        found: The boxes found in each image, with scores.
        classes: Words of the ontology: "vehicle" takes in trucks, "truck" only trucks. The classes of the
            things when left out.
        iou: The threshold, or several, such as `COCO_THRESHOLDS`.
        ignored: Regions of each image where boxes count neither as right nor as wrong. A region stands for
            its class and those above and below it.
        min_height: Things lower than this, in pixels, are ignored.
        max_occlusion: Things hidden to a larger share than this are ignored.

    Raises:
        InputError: The images differ in number, boxes have no scores, or a threshold is none.

    Example:
        >>> truth = Boxes([[0, 0, 10, 10], [20, 0, 30, 10]], ["car", "car"])
        >>> found = Boxes([[0, 0, 10, 10], [50, 0, 60, 10]], ["car", "car"], scores=[0.9, 0.8])
        >>> round(average_precision([truth], [found]).mean, 4)  # half of the things at full precision
        0.505
    """
    things, boxes = list(truth), list(found)
    regions = [Boxes.empty()] * len(things) if ignored is None else list(ignored)
    if not len(things) == len(boxes) == len(regions):
        raise InputError(
            "truth, found and ignored must have an entry for each image, "
            f"got {len(things)}, {len(boxes)} and {len(regions)}"
        )
    for number, one in enumerate(boxes):
        if len(one) and one.scores is None:
            raise InputError(f"found boxes must have scores, got none for image {number}")
    thresholds = (float(iou),) if isinstance(iou, int | float) else tuple(iou)
    if not thresholds or not all(0 < one <= 1 for one in thresholds):
        raise InputError(f"iou must be above 0 and at most 1, got {iou}")
    halves = [parted(one, min_height, max_occlusion) for one in things]
    counted, spared = [one for one, _ in halves], [one for _, one in halves]
    words = tuple(dict.fromkeys(name for one in counted for name in one.classes))
    words = tuple(sorted(words)) if classes is None else tuple(classes)
    rows, counts = [], []
    for word in words:
        wanted = [one.select(word) for one in counted]
        pairs = zip(spared, regions, strict=True)
        beside = [places_of(one.select(word), _related(region, word)) for one, region in pairs]
        answers = [one.select(word) for one in boxes]
        counts.append(sum(map(len, wanted)))
        judged = _judged(wanted, answers, beside, thresholds, min_height)
        rows.append([interpolated_precision(right, counts[-1]) for _, right in judged])
    values = np.array(rows, np.float64).reshape(len(words), len(thresholds))
    return AveragePrecision(words, thresholds, values, tuple(counts))


def parted(things: Boxes, min_height: float, max_occlusion: float) -> tuple[Boxes, Boxes]:
    """Return the things that count, and those that are ignored: low or hidden ones, and crowds in one box."""
    crowd = np.array([facts.get("iscrowd") == "1" for facts in things.attributes], np.bool_)
    clear = (things.xyxy[:, 3] - things.xyxy[:, 1] >= min_height) & ~crowd
    if things.occlusion is not None:
        clear &= ~(things.occlusion > max_occlusion)
    return things[clear], things[~clear]


def places_of(*several: Boxes) -> Boxes:
    """Return boxes in one, without what only some of them know, such as track ids."""
    classes = [name for boxes in several for name in boxes.classes]
    return Boxes(np.concatenate([boxes.xyxy for boxes in several]), classes)


def lie_in(boxes: Boxes, regions: Boxes, share: float) -> NDArray[np.bool_]:
    """Return which boxes lie, to this share of their area, in a region of their own class.

    Example:
        >>> crowd = Boxes([[0, 0, 100, 50]], ["pedestrian"])
        >>> lie_in(Boxes([[5, 5, 15, 45], [5, 5, 15, 45]], ["pedestrian", "car"]), crowd, 0.5).tolist()
        [True, False]
    """
    mine, other = _Column.of([boxes]), _Column.of([regions])
    box, region, _, inside = mine.overlaps(other)
    same = np.array(boxes.classes, np.object_)[box] == np.array(regions.classes, np.object_)[region]
    found = np.zeros(len(boxes), np.bool_)
    found[box[same & (inside >= share)]] = True
    return found


def _related(regions: Boxes, word: str) -> Boxes:
    """Return the regions where boxes of a class are ignored."""
    element, properties = ontology().resolve_with_properties(word)
    chosen = [
        (ontology().is_a(name, element.name) or ontology().is_a(element.name, name))
        and all(facts.get(key, value) == value for key, value in properties.items())
        for name, facts in zip(regions.classes, regions.attributes, strict=True)
    ]
    return regions[np.array(chosen, np.bool_)]


_Indices = NDArray[np.intp]
_Shares = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Column:
    """The boxes of all images in one array, in order of the images."""

    xyxy: NDArray[np.float64]
    image: NDArray[np.intp]

    @classmethod
    def of(cls, several: Sequence[Boxes]) -> _Column:
        counts = [len(boxes) for boxes in several]
        corners = [np.zeros((0, 4)), *(boxes.xyxy.astype(np.float64) for boxes in several)]
        return cls(np.concatenate(corners), np.repeat(np.arange(len(counts)), counts))

    def overlaps(self, other: _Column) -> tuple[_Indices, _Indices, _Shares, _Shares]:
        """Return every pair of a box of this and one of the other in an image, its IoU, and the share inside.

        The share is that of the first box which lies in the second.
        """
        start = np.searchsorted(other.image, self.image, "left")
        counts = np.searchsorted(other.image, self.image, "right") - start
        mine = np.repeat(np.arange(len(self.image)), counts)
        others = start[mine] + np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
        a, b = self.xyxy[mine], other.xyxy[others]
        sides = np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2])
        shared = np.clip(sides, 0, None).prod(axis=1)
        area, other_area = ((c[:, 2] - c[:, 0]) * (c[:, 3] - c[:, 1]) for c in (a, b))
        union = area + other_area - shared
        iou, inside = (
            np.divide(shared, whole, out=np.zeros_like(shared), where=whole > 0) for whole in (union, area)
        )
        return mine, others, iou, inside


def _judged(
    truth: Sequence[Boxes],
    found: Sequence[Boxes],
    spared: Sequence[Boxes],
    thresholds: Sequence[float],
    min_height: float,
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """Yield for each threshold the scores of the boxes that count, the highest first, and which are right."""
    wanted, beside = _Column.of(truth), _Column.of(spared)
    scores = np.concatenate([np.zeros(0), *(one.scores for one in found if one.scores is not None)])
    answers = _Column.of(found)
    best_first = np.argsort(-scores, kind="stable")
    answers, scores = _Column(answers.xyxy[best_first], answers.image[best_first]), scores[best_first]
    box, thing, overlap, _ = answers.overlaps(wanted)
    inside = np.zeros(len(scores))
    own, _, _, share = answers.overlaps(beside)
    np.maximum.at(inside, own, share)
    low = answers.xyxy[:, 3] - answers.xyxy[:, 1] < min_height
    for threshold in thresholds:
        near = overlap >= threshold
        right = _taken(box[near], thing[near], overlap[near], answers.image)
        counts = right | ~(low | (inside >= threshold))
        yield scores[counts], right[counts]


def judged_boxes(
    things: Boxes, found: Boxes, ignored: Boxes, *, iou: float, min_height: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the scores of the boxes that count in one image, the highest first, and whether each is right.

    All are of one class, and they are judged as `average_precision` does it.

    Raises:
        InputError: The boxes that were found have no scores.

    Example:
        >>> thing = Boxes([[0, 0, 10, 10]], ["car"])
        >>> found = Boxes([[50, 0, 60, 10], [0, 0, 10, 9]], ["car", "car"], scores=[0.6, 0.7])
        >>> scores, right = judged_boxes(thing, found, Boxes.empty(), iou=0.5)
        >>> scores.round(1).tolist(), right.tolist()
        ([0.7, 0.6], [True, False])
    """
    if len(found) and found.scores is None:
        raise InputError("found boxes must have scores, got none")
    return next(_judged([things], [found], [ignored], [iou], min_height))


def matched(boxes: Boxes, others: Boxes, iou: float) -> NDArray[np.bool_]:
    """Return which boxes find one of the others: they choose in order, each the nearest that is free.

    Example:
        >>> one = Boxes([[0, 0, 10, 10], [1, 0, 11, 10]], ["car", "car"])
        >>> matched(one, one[:1], 0.5).tolist()
        [True, False]
    """
    mine, other = _Column.of([boxes]), _Column.of([others])
    box, thing, overlap, _ = mine.overlaps(other)
    near = overlap >= iou
    return _taken(box[near], thing[near], overlap[near], mine.image)


def _taken(
    box: NDArray[np.intp], thing: NDArray[np.intp], overlap: NDArray[np.float64], image: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return which boxes get a thing when they choose in order, each the nearest that is free.

    Images do not disturb each other, so one round lets a box of every image choose.
    """
    right = np.zeros(len(image), np.bool_)
    free = np.ones(int(thing.max(initial=-1)) + 1, np.bool_)
    nearest_first = np.lexsort((-overlap, box))
    box, thing = box[nearest_first], thing[nearest_first]
    for turn in _turns(box, image):
        own, target = box[turn], thing[turn]
        own, target = own[free[target]], target[free[target]]
        chosen, first = np.unique(own, return_index=True)
        right[chosen] = True
        free[target[first]] = False
    return right


def _turns(box: NDArray[np.intp], image: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield the pairs whose boxes are first in their images, then those that are second, and so on."""
    boxes, pair_of = np.unique(box, return_inverse=True)
    by_image = np.argsort(image[boxes], kind="stable")
    _, start, counts = np.unique(image[boxes][by_image], return_index=True, return_counts=True)
    rank = np.empty(len(boxes), np.intp)
    rank[by_image] = np.arange(len(boxes)) - np.repeat(start, counts)
    of_pair = rank[pair_of]
    order = np.argsort(of_pair, kind="stable")
    ends = np.cumsum(np.bincount(of_pair)) if len(of_pair) else np.zeros(0, np.intp)
    yield from np.split(order, ends[:-1]) if len(ends) else ()


def interpolated_precision(right: NDArray[np.bool_], things: int) -> float:
    """Return the mean over 101 recalls of the best precision at that recall or a higher one.

    Args:
        right: Whether each box is right, the one with the highest score first.
        things: How many things there are to find; of none the precision is not known.

    Example:
        >>> round(interpolated_precision(np.array([True, False, True]), 2), 4)
        0.835
    """
    if not things:
        return float("nan")
    hits = np.cumsum(right)
    best_later = np.maximum.accumulate((hits / np.arange(1, len(right) + 1))[::-1])[::-1]
    # In whole numbers, because 0.29 as a float may be a little more than 29 of 100 things.
    reached = np.searchsorted(hits * 100, _PERCENT * things, side="left")
    return float(np.append(best_later, 0.0)[reached].mean())
