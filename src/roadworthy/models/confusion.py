"""What a classifier takes for what: accuracy, and the table of confusions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame
from roadworthy.ontology import normalized

__all__ = ["Confusion", "confusion", "true_class"]


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
        return {
            name: float(row[number] / row.sum())
            for number, (name, row) in enumerate(zip(self.classes, self.counts, strict=True))
            if row.sum()
        }

    def worst(self, count: int = 3) -> list[tuple[str, str, int]]:
        """Return the most frequent confusions: the true class, what it was taken for, how often."""
        wrong = self.counts.copy()
        np.fill_diagonal(wrong, 0)
        order = np.argsort(-wrong, axis=None, kind="stable")[:count]
        places = [divmod(int(one), len(self.classes)) for one in order]
        return [
            (self.classes[row], self.classes[column], int(wrong[row, column]))
            for row, column in places
            if wrong[row, column]
        ]


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
