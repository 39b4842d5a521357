"""What a system under test has to do, and what drives it in a simulator.

A system answers frames with predictions. What kind of prediction says what its task is; the four protocols
below name the tasks for type checkers. They add nothing to implement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from roadworthy.cases import ClassScores, Internals, Prediction
from roadworthy.frames import Boxes, Frame, LabelMap, Signals

__all__ = [
    "Classifier",
    "Detector",
    "ObservableSystem",
    "Regressor",
    "Segmenter",
    "Simulator",
    "SystemUnderTest",
    "Task",
    "task_of",
]

Task: TypeAlias = Literal["regression", "classification", "detection", "segmentation"]
"""What a system answers with: signals, class scores, boxes or a label map."""

_TASKS: dict[type, Task] = {
    Signals: "regression",
    ClassScores: "classification",
    Boxes: "detection",
    LabelMap: "segmentation",
}


@runtime_checkable
class SystemUnderTest(Protocol):
    """Anything that answers frames with predictions, many at a time."""

    @property
    def name(self) -> str:
        """What the system is called in rows and reports."""
        ...

    def predict(self, frames: Sequence[Frame], /) -> Sequence[Prediction]:
        """Return one prediction per frame, in order.

        Frames may differ in size. A frame that cannot be answered is an exception: the runner asks
        again frame by frame, so that only the case it belongs to is an error.
        """
        ...


@runtime_checkable
class ObservableSystem(SystemUnderTest, Protocol):
    """A system that can tell what happens inside it while it answers."""

    def observe(self, frames: Sequence[Frame], /) -> tuple[Sequence[Prediction], Internals]:
        """Return one prediction per frame and what happened inside for each, both in order."""
        ...


class Regressor(SystemUnderTest, Protocol):
    """Answers with speed, steering or both: a model that drives."""

    def predict(self, frames: Sequence[Frame], /) -> Sequence[Signals]:
        """Return the signals for each frame, in m/s and degrees at the wheels, positive to the right."""
        ...


class Classifier(SystemUnderTest, Protocol):
    """Answers with a score for each class it knows."""

    def predict(self, frames: Sequence[Frame], /) -> Sequence[ClassScores]:
        """Return the class scores for each frame."""
        ...


class Detector(SystemUnderTest, Protocol):
    """Answers with boxes around things."""

    def predict(self, frames: Sequence[Frame], /) -> Sequence[Boxes]:
        """Return the boxes for each frame, with scores, in pixels of the frame."""
        ...


class Segmenter(SystemUnderTest, Protocol):
    """Answers with the class of every pixel."""

    def predict(self, frames: Sequence[Frame], /) -> Sequence[LabelMap]:
        """Return a label map of the size of each frame."""
        ...


def task_of(prediction: Prediction) -> Task:
    """Return the task that a prediction is an answer to.

    Example:
        >>> task_of(Signals(speed=8.0))
        'regression'
    """
    return _TASKS[type(prediction)]


@runtime_checkable
class Simulator(Protocol):
    """Lets a system under test drive through a scenario and records the drive."""

    def drive(self, scenario: object, system: SystemUnderTest, /) -> object:
        """Return the recorded drive.

        It may raise :class:`~roadworthy.errors.NotApplicable` for a scenario that it cannot build. A failure
        of the system is raised to it as a :class:`~roadworthy.errors.SystemUnderTestError`, which it lets
        through; anything else it raises is a fault of the simulator and ends the run.
        """
        ...
