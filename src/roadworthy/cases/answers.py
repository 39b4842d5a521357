"""What the system under test answers, as a method's ``judge`` sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from roadworthy._arrays import ReadOnlyArrays, read_only
from roadworthy.errors import InputError, SystemUnderTestError
from roadworthy.frames import Boxes, Frame, LabelMap, Signals

__all__ = ["Answers", "ClassScores", "Driven", "Internals", "Predicted", "Prediction"]


@dataclass(frozen=True, eq=False)
class ClassScores(ReadOnlyArrays):
    """How strongly an image classifier believes in each class, for one image.

    Args:
        names: The classes, each once.
        scores: One finite number per class, higher for more belief; any scale.

    Example:
        >>> answer = ClassScores(("car", "truck"), np.array([0.2, 0.7]))
        >>> answer.best
        'truck'
        >>> ClassScores(("car", "truck"), np.array([0.2]))
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: scores must have shape (2,), one per name, got (1,)
    """

    names: tuple[str, ...]
    scores: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        names = tuple(self.names)
        scores = np.array(self.scores, dtype=np.float64)
        if not names or len(set(names)) != len(names):
            raise InputError(f"names must hold at least one class and each only once, got {names}")
        if scores.shape != (len(names),):
            raise InputError(f"scores must have shape ({len(names)},), one per name, got {scores.shape}")
        if not np.isfinite(scores).all():
            bad = names[int(np.flatnonzero(~np.isfinite(scores))[0])]
            raise InputError(f"scores must be finite, got {scores[names.index(bad)]} for {bad!r}")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "scores", read_only(scores))

    @property
    def best(self) -> str:
        """The class with the highest score; the first of equals."""
        return self.names[int(self.scores.argmax())]


Prediction: TypeAlias = Signals | Boxes | LabelMap | ClassScores
"""What a system under test may answer for one frame."""

P = TypeVar("P", Signals, Boxes, LabelMap, ClassScores)


class Internals(Protocol):
    """What happened inside a system while it answered some frames, such as the activations of its neurons."""

    def __len__(self) -> int:
        """Return for how many frames."""
        ...

    def take(self, numbers: Sequence[int], /) -> Self:
        """Return it for some of the frames, by their numbers."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Predicted:
    """The answer to :class:`~roadworthy.cases.Predict`: the frames that were made, with a prediction each.

    The frames come along because a judge compares with what is known about them: their ground truth
    and their visual change. `internals` has one item for each frame where the case asked for it.
    """

    frames: tuple[Frame, ...]
    predictions: tuple[Prediction, ...]
    internals: tuple[Any, ...] = ()

    def of(self, kind: type[P]) -> tuple[P, ...]:
        """Return the predictions, all of one kind.

        Raises:
            SystemUnderTestError: The system answered with another kind.

        Example:
            >>> frame = Frame("drive/17", np.zeros((4, 6, 3), np.uint8))
            >>> answer = Predicted((frame,), (Signals(speed=8.0),))
            >>> answer.of(Signals)[0].speed
            8.0
            >>> answer.of(Boxes)
            Traceback (most recent call last):
            ...
            roadworthy.errors.SystemUnderTestError: expected Boxes for frame 'drive/17', got Signals
        """
        found: list[P] = []
        for frame, prediction in zip(self.frames, self.predictions, strict=True):
            if not isinstance(prediction, kind):
                raise SystemUnderTestError(
                    f"expected {kind.__name__} for frame {frame.id!r}, got {type(prediction).__name__}"
                )
            found.append(prediction)
        return tuple(found)

    def signal(self, name: str) -> tuple[float, ...]:
        """Return one predicted signal, such as ``"speed"`` or ``"steering"``, for every frame.

        Raises:
            SystemUnderTestError: The system did not predict it.

        Example:
            >>> frame = Frame("lap", np.zeros((4, 6, 3), np.uint8))
            >>> answer = Predicted((frame,), (Signals(speed=8.0),))
            >>> answer.signal("speed")
            (8.0,)
            >>> answer.signal("brake")
            Traceback (most recent call last):
            ...
            roadworthy.errors.SystemUnderTestError: expected a prediction of brake for frame 'lap', got speed
        """
        values: list[float] = []
        for frame, signals in zip(self.frames, self.of(Signals), strict=True):
            known = signals.as_dict()
            if name not in known:
                raise SystemUnderTestError(
                    f"expected a prediction of {name} for frame {frame.id!r}, "
                    f"got {', '.join(known) or 'no signal'}"
                )
            values.append(known[name])
        return tuple(values)


@dataclass(frozen=True, slots=True, eq=False)
class Driven:
    """The answer to :class:`~roadworthy.cases.Drive`: the drive as the simulator recorded it."""

    drive: object


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The answers to one case, one per ask, in order.

    Example:
        >>> frame = Frame("drive/17", np.zeros((4, 6, 3), np.uint8))
        >>> answers = Answers((Predicted((frame,), (Signals(speed=8.0),)),))
        >>> answers.predicted().signal("speed")
        (8.0,)
        >>> answers.driven()
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: ask 0 is answered by Predicted, not by Driven
    """

    items: Sequence[Predicted | Driven]

    def predicted(self, index: int = 0) -> Predicted:
        """Return the answer to the ask with this number, which asked for predictions."""
        item = self.items[index]
        if not isinstance(item, Predicted):
            raise InputError(f"ask {index} is answered by {type(item).__name__}, not by Predicted")
        return item

    def driven(self, index: int = 0) -> object:
        """Return the drive recorded for the ask with this number, which asked for a drive."""
        item = self.items[index]
        if not isinstance(item, Driven):
            raise InputError(f"ask {index} is answered by {type(item).__name__}, not by Driven")
        return item.drive
