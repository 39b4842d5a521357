"""How near predictions are to what is known about their frames: a first look, not an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from roadworthy.cases import ClassScores, Prediction
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.models.confusion import confusion, true_class
from roadworthy.ontology import VOID

__all__ = ["Measure", "compare"]

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
    return [*_errors(signals), *_found(boxes), *_agreeing(maps), *_recognised(classes)]


def _errors(pairs: Sequence[tuple[Signals, Signals]]) -> Iterable[Measure]:
    for name, unit in (("steering", "°"), ("speed", "m/s")):
        known = [(getattr(truth, name), getattr(answer, name)) for truth, answer in pairs]
        errors = [abs(truth - answer) for truth, answer in known if truth is not None and answer is not None]
        if errors:
            yield Measure(f"{name} MAE", float(np.mean(errors)), unit, len(errors))


def _found(pairs: Sequence[tuple[Boxes, Boxes]]) -> Iterable[Measure]:
    things, given, right = 0, 0, 0
    for truth, answer in pairs:
        things, given = things + len(truth), given + len(answer)
        overlap = truth.iou(answer)
        overlap[np.array(truth.classes)[:, None] != np.array(answer.classes)[None, :]] = 0
        while overlap.size and overlap.max() >= _ENOUGH_OVERLAP:
            row, column = np.unravel_index(int(overlap.argmax()), overlap.shape)
            overlap[row], overlap[:, column] = 0, 0
            right += 1
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
    known = [(truth, best) for truth, best in pairs if truth is not None]
    if known:
        table = confusion([truth for truth, _ in known], [best for _, best in known])
        yield Measure("right class", table.accuracy, "share", len(known))
