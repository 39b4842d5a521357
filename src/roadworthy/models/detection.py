"""Boxes out of the heads that detectors have: YOLO's rows, SSD's, and those that are finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import FrozenDict, frozen
from roadworthy.errors import InputError, SystemUnderTestError, check_choice, check_number
from roadworthy.frames import Boxes
from roadworthy.models.images import View
from roadworthy.models.outputs import Arrays, check_finite, dense, shapes, words_for
from roadworthy.models.protocols import Task
from roadworthy.ontology import ontology

Array: TypeAlias = NDArray[Any]
Indices: TypeAlias = NDArray[np.intp]
Head: TypeAlias = Literal["yolov5", "yolov8", "yolox", "darknet", "rows", "ssd", "separate", "detr"]
BoxFormat: TypeAlias = Literal["xyxy", "yxyx", "xywh", "cxcywh"]
Coordinates: TypeAlias = Literal["pixels", "normalized"]

_NEVER = 2.0  # no two boxes have this IoU

_USUAL: dict[str, tuple[BoxFormat, Coordinates]] = {
    "yolov5": ("cxcywh", "pixels"),
    "yolov8": ("cxcywh", "pixels"),
    "yolox": ("cxcywh", "pixels"),
    "darknet": ("cxcywh", "normalized"),
    "rows": ("xyxy", "pixels"),
    "ssd": ("xyxy", "normalized"),
    "separate": ("xyxy", "pixels"),
    "detr": ("cxcywh", "normalized"),
}
_STRIDES = (8, 16, 32)  # of the grids whose cells YOLOX numbers after each other
_LARGEST = 30.0  # a logarithm of a size, so that what is no box does not overflow


@dataclass(frozen=True)
class DetectionOutput:
    """Boxes with a class and a score.

    Attributes:
        classes: The detector's own names of its classes, in the order of their numbers, with "background"
            where that has a number.
        head: How the numbers lie:

            - "yolov5" (also v7): box, objectness, a score per class; the score is their product;
            - "yolov8" (also v9, v11): box, a score per class; either axis may be the long one;
            - "yolox": like yolov5, with boxes in cells of grids of 8, 16 and 32 pixels, sizes as logarithms;
            - "darknet" (v2 to v4 through OpenCV): like yolov5, with objectness already in the scores;
            - "rows": x1, y1, x2, y2, score, class, as networks give them that end with NMS;
            - "ssd": image, class, score, x1, y1, x2, y2, as OpenCV's DetectionOutput has it;
            - "separate": three outputs: boxes, scores and class numbers;
            - "detr": two outputs: logits and boxes. With one more logit than classes, the last is for nothing
              and their softmax counts, as in DETR; else their sigmoid, as in RT-DETR.
        box: "xyxy", "yxyx", "xywh" or "cxcywh"; None for what the head usually has.
        coordinates: "pixels" of the network's input, or "normalized" to 0 … 1; None for what the head
            usually has.
        class_names: The word of the ontology for those of its names that the ontology does not know; None
            leaves boxes of that class out, as those of a class that nothing explains are.
        score_threshold: Boxes with lower scores are left out.
        iou_threshold: Of boxes of one class that overlap more than this, the best is kept; None keeps all.
        iou_threshold_across: Likewise for boxes of different classes that are kinds of one element, such as
            car and truck, so that a vehicle is not answered twice. It is higher, because a car in front of a
            bus is two vehicles. None leaves such boxes as they are.
        limit: The most boxes per image, best first.
        mask_numbers: How many numbers of a mask follow the scores of a YOLO row; they are not used.
        outputs: The names of the network's outputs to use, in order; all when left out. For "separate":
            boxes, scores, class numbers.

    Example:
        >>> DetectionOutput(("person", "car", "toaster")).task
        'detection'
    """

    task: ClassVar[Task] = "detection"

    classes: tuple[str, ...]
    head: Head = "separate"
    box: BoxFormat | None = None
    coordinates: Coordinates | None = None
    class_names: Mapping[str, str | None] = field(default_factory=FrozenDict)
    score_threshold: float = 0.25
    iou_threshold: float | None = 0.45
    iou_threshold_across: float | None = 0.7
    limit: int = 300
    mask_numbers: int = 0
    outputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, known in (("head", Head), ("box", BoxFormat), ("coordinates", Coordinates)):
            value = getattr(self, name)
            if value is not None or name == "head":
                check_choice(name, value, get_args(known))
        for name in ("score_threshold", "iou_threshold", "iou_threshold_across"):
            value = getattr(self, name)
            check_number(name, value, least=0, most=1)
        check_number("limit", self.limit, least=1)
        check_number("mask_numbers", self.mask_numbers, least=0)
        wanted = {"separate": 3, "detr": 2}.get(self.head)
        if wanted and len(self.outputs) not in (0, wanted):
            raise InputError(f"head {self.head!r} has {wanted} outputs, got {', '.join(self.outputs)}")
        object.__setattr__(self, "class_names", frozen(self.class_names))
        words_for(self.classes, self.class_names)

    def decode(self, arrays: Arrays, views: Sequence[View]) -> list[Boxes]:
        """Return the boxes for a batch, in pixels of each frame."""
        words = words_for(self.classes, self.class_names)
        found = self._candidates(arrays, views)
        return [self._boxes(view, *own, words) for view, own in zip(views, found, strict=True)]

    def _candidates(self, arrays: Arrays, views: Sequence[View]) -> list[_Candidates]:
        """Return box numbers, scores and class numbers for each image."""
        if self.head == "separate":
            return self._separate(arrays, views)
        if self.head == "ssd":
            return self._ssd(arrays, views)
        if self.head == "rows":
            return [(one[:, :4], one[:, 4], one[:, 5]) for one in self._rows(arrays, views)]
        if self.head == "detr":
            return self._detr(arrays, views)
        with_objectness = self.head != "yolov8"
        last = 4 + with_objectness + len(self.classes)
        rows = dense(_batched(arrays, views, 3), views, self.outputs)
        table = _joined(rows, last + self.mask_numbers, arrays)
        if self.head == "yolox":
            table = _off_the_grid(table, views[0].size)
        scores = table[..., 4 + with_objectness : last]
        if self.head in ("yolov5", "yolox"):
            scores = scores * table[..., 4:5]
        best = scores.argmax(axis=2)
        top = np.take_along_axis(scores, best[..., None], axis=2)[..., 0]
        return list(zip(table[..., :4], top, best, strict=True))

    def _rows(self, arrays: Arrays, views: Sequence[View]) -> list[NDArray[Any]]:
        """Return the boxes of each image, m × 6; images may have different numbers of them, and none."""
        names = self.outputs or tuple(arrays)
        if not names or not set(names) <= set(arrays):
            raise SystemUnderTestError(f"expected the output {', '.join(names)}, got {shapes(arrays)}")
        found: list[list[NDArray[Any]]] = [[] for _ in views]
        for name in dict.fromkeys(names):
            for own, row in zip(found, _per_image(name, arrays, views, 3), strict=True):
                if not row.size:
                    continue
                if row.ndim != 2 or 6 not in row.shape:
                    raise _wrong_length(6, arrays)
                own.append(row if row.shape[1] == 6 else row.T)
        return [np.concatenate([np.zeros((0, 6)), *own]) for own in found]

    def _separate(self, arrays: Arrays, views: Sequence[View]) -> list[_Candidates]:
        names = self.outputs or tuple(arrays)
        if len(names) != 3 or not set(names) <= set(arrays):
            raise SystemUnderTestError(
                "expected three outputs (boxes, scores and class numbers), "
                f"got {shapes(arrays)}; correct head or outputs"
            )
        columns = [_per_image(name, arrays, views, axes) for name, axes in zip(names, (3, 2, 2), strict=True)]
        found = []
        for view, boxes, scores, numbers in zip(views, *columns, strict=True):
            if boxes.size == 0:
                boxes = boxes.reshape(0, 4)
            if boxes.shape != (len(scores), 4) or scores.shape != numbers.shape or scores.ndim != 1:
                raise SystemUnderTestError(
                    f"boxes, scores and class numbers for frame {view.frame.id!r} must have shapes (m, 4), "
                    f"(m,) and (m,), got {boxes.shape}, {scores.shape} and {numbers.shape}"
                )
            found.append((boxes, scores, numbers))
        return found

    def _detr(self, arrays: Arrays, views: Sequence[View]) -> list[_Candidates]:
        found = dense(arrays, views, self.outputs)
        count = len(self.classes)
        known = [(*found[-1].shape[1:2], count + nothing) for nothing in (1, 0)]
        if len(found) != 2 or found[0].shape[1:] not in known or found[1].shape[2:] != (4,):
            raise SystemUnderTestError(
                f"expected logits (n, m, {count + 1}) or (n, m, {count}) and boxes (n, m, 4), got "
                f"{shapes(arrays)}; correct head, classes or outputs"
            )
        if found[0].shape[2] == count:
            scores = 0.5 * (1 + np.tanh(found[0] / 2))
        else:
            scores = np.exp(found[0] - found[0].max(axis=2, keepdims=True))
            scores = (scores / scores.sum(axis=2, keepdims=True))[..., :-1]
        return list(zip(found[1], scores.max(axis=2), scores.argmax(axis=2), strict=True))

    def _ssd(self, arrays: Arrays, views: Sequence[View]) -> list[_Candidates]:
        # One list for the whole batch: its first column says which image a row belongs to.
        name, array = next(iter(arrays.items())) if arrays else ("", np.zeros(0))
        if self.outputs:
            name, array = self.outputs[0], arrays.get(self.outputs[0], np.zeros(0))
        if not isinstance(array, np.ndarray) or not array.ndim or array.shape[-1] != 7:
            raise SystemUnderTestError(
                f"expected an output of shape (1, 1, m, 7), got {shapes(arrays)}; correct head or outputs"
            )
        rows = array.reshape(-1, 7)
        # Implementations fill up with rows of image -1.
        own = [rows[rows[:, 0] == number] for number in range(len(views))]
        check_finite(name, own, views)
        return [(part[:, 3:], part[:, 2], part[:, 1]) for part in own]

    def _boxes(
        self, view: View, corners: Array, scores: Array, numbers: Array, words: Sequence[str | None]
    ) -> Boxes:
        kept = np.flatnonzero(scores >= self.score_threshold)
        scores, numbers = scores[kept].astype(np.float64), numbers[kept]
        if len(scores) and not 0 <= scores.min() <= scores.max() <= 1 + 1e-3:
            raise SystemUnderTestError(
                f"scores for frame {view.frame.id!r} must be from 0 to 1, got {scores.max():g}; "
                f"does the network have the head {self.head!r}?"
            )
        wrong = (numbers < 0) | (numbers >= len(self.classes)) | (numbers != np.floor(numbers))
        if wrong.any():
            raise SystemUnderTestError(
                f"class numbers for frame {view.frame.id!r} must be whole and from 0 to "
                f"{len(self.classes) - 1}, got {numbers[wrong][0]:g}; correct classes or head"
            )
        numbers = numbers.astype(np.intp)
        named = np.array([words[number] is not None for number in numbers], np.bool_)
        xyxy = view.to_frame(self._corners(corners[kept][named].astype(np.float64), view.size))
        scores, numbers = np.minimum(scores[named], 1.0), numbers[named]
        order = np.argsort(-scores, kind="stable")
        order = self._suppressed(xyxy, numbers, _elements(words)[numbers], order)[: self.limit]
        boxes = Boxes(xyxy[order], [str(words[number]) for number in numbers[order]], scores=scores[order])
        return boxes.clipped(view.frame.width, view.frame.height)

    def _suppressed(
        self, xyxy: NDArray[np.float64], numbers: Indices, elements: Indices, order: Indices
    ) -> Indices:
        """Return the boxes that non-maximum suppression keeps, best first."""
        limits = self.iou_threshold, self.iou_threshold_across
        within, across = (_NEVER if one is None else one for one in limits)
        area = (xyxy[:, 2] - xyxy[:, 0]) * (xyxy[:, 3] - xyxy[:, 1])
        kept = []
        while len(order):
            best, order = order[0], order[1:]
            kept.append(best)
            low = np.maximum(xyxy[best, :2], xyxy[order, :2])
            shared = np.clip(np.minimum(xyxy[best, 2:], xyxy[order, 2:]) - low, 0, None).prod(axis=1)
            union = area[best] + area[order] - shared
            threshold = np.where(elements[order] == elements[best], across, _NEVER)
            threshold[numbers[order] == numbers[best]] = within
            # Multiplying rather than dividing, because two boxes without area have no union.
            order = order[shared <= threshold * union]
        return np.array(kept, np.intp)

    def _corners(self, numbers: NDArray[np.float64], size: tuple[int, int]) -> NDArray[np.float64]:
        """Return x1, y1, x2, y2 in pixels of what the network sees."""
        usual_box, usual_coordinates = _USUAL[self.head]
        box = self.box or usual_box
        first, second = numbers[:, :2], numbers[:, 2:]
        if box == "cxcywh":
            first, second = first - second / 2, first + second / 2
        elif box == "xywh":
            second = first + second
        elif box == "yxyx":
            first, second = first[:, ::-1], second[:, ::-1]
        xyxy = np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=1)
        if (self.coordinates or usual_coordinates) == "normalized":
            xyxy *= np.array(size * 2, np.float64)
        return xyxy


_Candidates: TypeAlias = tuple[Array, Array, Array]


def _batched(arrays: Arrays, views: Sequence[View], axes: int) -> dict[str, Any]:
    """Add the axis of images where a network leaves it out for a single one."""
    for name, array in arrays.items():
        if isinstance(array, np.ndarray) and not array.ndim:
            told = f"must have one row for each of {len(views)} images, got a single value: {array}"
            raise SystemUnderTestError(f"output {name!r} {told}")
    return {
        name: array[None]
        if isinstance(array, np.ndarray) and len(views) == 1 and array.ndim == axes - 1
        else array
        for name, array in arrays.items()
    }


def _per_image(name: str, arrays: Arrays, views: Sequence[View], axes: int) -> Any:
    """Return an output that has one row of finite numbers for each image."""
    rows = _batched({name: arrays[name]}, views, axes)[name]
    if len(rows) != len(views):
        raise SystemUnderTestError(
            f"output {name!r} must have one row for each of {len(views)} images, got {len(rows)}"
        )
    check_finite(name, rows, views)
    return rows


def _joined(rows: Sequence[Array], length: int, arrays: Arrays) -> Array:
    """Return the rows of all outputs after each other, n × m × length."""
    found = []
    for array in rows:
        if array.ndim == 3 and array.shape[2] != length and array.shape[1] == length:
            array = array.transpose(0, 2, 1)
        if array.ndim != 3 or array.shape[2] != length:
            raise _wrong_length(length, arrays)
        found.append(array)
    return np.concatenate(found, axis=1)


def _off_the_grid(table: Array, size: tuple[int, int]) -> Array:
    """Return rows with boxes in pixels for those with boxes in cells, as YOLOX leaves them in its exports."""
    width, height = size
    grids = [(np.indices((height // one, width // one))[::-1].reshape(2, -1).T, one) for one in _STRIDES]
    cells = np.concatenate([grid for grid, _ in grids])
    steps = np.concatenate([np.full((len(grid), 1), stride) for grid, stride in grids])
    if len(cells) != table.shape[1]:
        raise SystemUnderTestError(
            f"expected {len(cells)} rows, one for each cell of the grids of {width}x{height} pixels, got "
            f"{table.shape[1]}; correct head, or the input's width and height"
        )
    centres, sizes = (table[..., :2] + cells) * steps, np.exp(np.minimum(table[..., 2:4], _LARGEST)) * steps
    return np.concatenate([centres, sizes, table[..., 4:]], axis=2)


def _wrong_length(length: int, arrays: Arrays) -> SystemUnderTestError:
    return SystemUnderTestError(
        f"expected outputs with {length} numbers per box, (n, m, {length}), got {shapes(arrays)}; "
        "correct head, classes or outputs"
    )


def _elements(words: Sequence[str | None]) -> Indices:
    """Return a number for each class, the same for those that are kinds of one element."""
    names = ["" if word is None else ontology().resolve(word).name for word in words]
    return np.array([names.index(name) for name in names], np.intp)
