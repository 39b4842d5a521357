"""Detection targets in the shape of MAITE: an object with `boxes` (n, 4), `labels` (n,) and `scores`.

Scores may be (n,) or (n, classes); of the latter, the score of the label is kept. Ground truth, which has
no scores here, is written with scores of 1. There is no place for track ids, occlusion, truncation and
attributes that the class name does not say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import FrameError, told_as
from roadworthy.frames.formats import files

if TYPE_CHECKING:
    from roadworthy.frames.boxes import Boxes


_PARTS = ("boxes", "labels", "scores")


@dataclass(frozen=True, eq=False)
class MaiteTarget:
    """A detection target that MAITE accepts."""

    boxes: NDArray[np.float32]
    labels: NDArray[np.int64]
    scores: NDArray[np.float32]


def read(target: object, names: files.Names, **options: Unpack[files.ReadOptions]) -> Boxes:
    """Return the boxes of an object with `boxes`, `labels` and `scores`: what NumPy can read, or tensors.

    Example:
        >>> from roadworthy.frames import Boxes
        >>> target = Boxes([[1, 2, 3, 4]], ["car"], scores=[0.5]).to_maite(["person", "car"])
        >>> target.labels.tolist(), Boxes.from_maite(target, ["person", "car"]).classes
        ([1], ('vehicle',))
    """
    corners, labels, scores = (as_numpy(getattr(target, key, None), key) for key in _PARTS)
    count = labels.shape[0] if labels.ndim else 0
    if labels.ndim != 1 or (count and labels.dtype.kind not in "iu"):
        raise FrameError(f"labels must be integers of shape (n,), got shape {labels.shape} {labels.dtype}")
    if count == 0 and corners.size == 0:
        corners = corners.reshape(0, 4)
    if corners.shape != (count, 4):
        raise FrameError(f"boxes must have shape ({count}, 4) for {count} labels, got {corners.shape}")
    if scores.ndim not in (1, 2) or len(scores) != count:
        raise FrameError(
            f"scores must have shape ({count},) or ({count}, classes) for {count} labels, got {scores.shape}"
        )
    known = files.by_number(names)
    rows = files.Rows(options, "MAITE")
    for index, label in enumerate(labels.tolist()):
        where = f"box {index}"
        name = files.named(where, "label", known, label)
        if scores.ndim == 2 and not 0 <= label < scores.shape[1]:
            raise FrameError(f"{where}: label {label} has no score: scores have shape {scores.shape}")
        score = float(scores[index] if scores.ndim == 1 else scores[index, label])
        x1, y1, x2, y2 = corners[index].tolist()
        rows.add(where, name, (x1, y1, x2, y2), score=score)
    return rows.boxes()


def write(boxes: Boxes, names: files.Names, *, class_names: files.ClassNames | None = None) -> MaiteTarget:
    """Return a target with one label and one score per box."""
    numbers = files.by_name(names)
    chosen = files.Vocabulary("MAITE", class_names).names_for(boxes, numbers)
    labels = np.array([numbers[name] for name in chosen], np.int64)
    scores = np.ones(len(boxes), np.float32) if boxes.scores is None else boxes.scores.copy()
    return MaiteTarget(boxes.xyxy.copy(), labels, scores)


def as_numpy(values: Any, what: str) -> NDArray[Any]:
    """Return numbers as an array, whatever they are kept in.

    Raises:
        FrameError: They are no array of numbers.
    """
    with told_as(FrameError, f"{what} must be an array of numbers", TypeError, ValueError):
        # A PyTorch tensor on an accelerator, or one that records gradients, must be brought home first.
        found = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    if found.dtype.kind not in "biuf":
        raise FrameError(f"{what} must be an array of numbers, got {values!r:.80}")
    return found
