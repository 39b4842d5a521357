"""Which detection stands for which thing of the ground truth.

A test over single objects (Definition 13) needs one detection for each object. The paper does not say how it
is found; its counts, and the measured figures, fit the first of these:

- ``best``: each object gets the detection with the highest IoU, and several objects may share one: a car
  hidden behind another may be judged by the box round the one in front (the paper's Figure 11);
- ``greedy``: pairs are taken in order of falling IoU, each object and each detection once;
- ``optimal``: each once as well, so that the sum of all IoUs is the largest (the Hungarian method).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.frames import Boxes

__all__ = ["MATCHINGS", "Matched", "Matching", "check_matching", "match"]

Matching = Literal["best", "greedy", "optimal"]
"""How detections are matched with the ground truth."""

MATCHINGS: tuple[Matching, ...] = get_args(Matching)


@dataclass(frozen=True, eq=False)
class Matched:
    """The detection of every object.

    Attributes:
        index: The number of the detection, or -1 where none overlaps the object.
        iou: Its IoU with the object; 0 where there is none.
    """

    index: NDArray[np.int64]
    iou: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.index)


def check_matching(matching: str) -> None:
    """Check that there is such a matching.

    Raises:
        InputError: There is none.
    """
    if matching not in MATCHINGS:
        raise InputError(f"matching must be one of {', '.join(MATCHINGS)}, got {matching!r}")


def match(truth: Boxes, detections: Boxes, matching: Matching = "best", *, least: float = 0.0) -> Matched:
    """Return the detection of every object of the ground truth.

    Args:
        truth: The objects.
        detections: What the detector found.
        matching: How they are matched: "best", "greedy" or "optimal".
        least: Pairs with an IoU of at most this are no match; with 0, boxes that share no area are none.

    Raises:
        InputError: There is no such matching, or ``least`` is not from 0 to 1.

    Example:
        >>> truth = Boxes([[0, 0, 10, 10], [2, 0, 12, 10]], ["car", "car"])
        >>> found = Boxes([[1, 0, 11, 10]], ["car"])
        >>> match(truth, found).index.tolist(), match(truth, found, "greedy").index.tolist()
        ([0, 0], [0, -1])
    """
    check_matching(matching)
    if not 0 <= least < 1:
        raise InputError(f"least must be from 0 to below 1, got {least}")
    iou = truth.iou(detections)
    index = np.full(len(truth), -1, np.int64)
    if iou.size:
        rows, columns = _PAIRS[matching](np.where(iou > least, iou, 0.0))
        index[rows] = columns
    taken = index >= 0
    overlap = np.zeros(len(truth))
    overlap[taken] = iou[taken, index[taken]]
    index[overlap <= least] = -1
    overlap[index < 0] = 0.0
    return Matched(index, overlap)


Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def _best(iou: NDArray[np.float64]) -> Pairs:
    return np.arange(len(iou)), iou.argmax(axis=1)


def _greedy(iou: NDArray[np.float64]) -> Pairs:
    rows, columns = [], []
    left = iou.copy()
    while left.max() > 0:
        row, column = np.unravel_index(int(left.argmax()), left.shape)
        rows.append(int(row))
        columns.append(int(column))
        left[row] = 0
        left[:, column] = 0
    return np.array(rows, np.int64), np.array(columns, np.int64)


def _optimal(iou: NDArray[np.float64]) -> Pairs:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(iou, maximize=True)
    return np.asarray(rows, np.int64), np.asarray(columns, np.int64)


_PAIRS = {"best": _best, "greedy": _greedy, "optimal": _optimal}
