"""What a system under test has to do, and what drives it in a simulator.

A system answers frames with predictions. What kind of prediction says what its task is; the four protocols
below name the tasks for type checkers. They add nothing to implement.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from roadworthy.cases import ClassScores, Internals, InverseDepth, Prediction
from roadworthy.errors import SystemUnderTestError, words_of
from roadworthy.frames import Boxes, Frame, LabelMap, PlannedPath, Signals

Task: TypeAlias = Literal["regression", "classification", "detection", "segmentation", "depth", "path"]
"""What a system answers with: signals, class scores, boxes, a label map, inverse depth or a planned path."""

_TASKS: dict[type, Task] = {
    Signals: "regression",
    ClassScores: "classification",
    Boxes: "detection",
    LabelMap: "segmentation",
    InverseDepth: "depth",
    PlannedPath: "path",
}


@runtime_checkable
class SystemUnderTest(Protocol):
    """Anything that answers frames with predictions, many at a time."""

    @property
    def name(self) -> str:
        """What the system is called in rows and reports."""

    def predict(self, frames: Sequence[Frame], /) -> Sequence[Prediction]:
        """Return one prediction per frame, in order.

        Frames may differ in size. A frame that cannot be answered is an exception: the runner asks
        again frame by frame, so that only the case it belongs to is an error.
        """


@runtime_checkable
class ObservableSystem(SystemUnderTest, Protocol):
    """A system that can tell what happens inside it while it answers."""

    def observe(self, frames: Sequence[Frame], /) -> tuple[Sequence[Prediction], Internals]:
        """Return one prediction per frame and what happened inside for each, both in order."""


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


class Driver:
    """Asks a model what to do, frame by frame, with as many earlier frames as it sees.

    A model that sees earlier frames sees the first frame several times at the start.

    Args:
        system: The model; one with ``input.history`` gets that many earlier frames.

    Example:
        >>> from roadworthy.models import Truth
        >>> from roadworthy.world import frame_of, make_scene
        >>> answer = Driver(Truth()).answer(frame_of(make_scene("meadow", s=100)))
        >>> 5 < answer.speed < 25
        True
    """

    def __init__(self, system: SystemUnderTest) -> None:
        self.system = system
        self._history = int(getattr(getattr(system, "input", None), "history", 0) or 0)
        self._earlier: deque[Frame] = deque(maxlen=self._history)

    def answer(self, frame: Frame, otherwise: Signals | None = None) -> Signals:
        """Return what the model wants to do, completed by what it does not say.

        Args:
            frame: What the camera sees now.
            otherwise: Where steering and speed come from that the model does not answer.

        Raises:
            SystemUnderTestError: The model failed, answered with NaN, or with neither steering nor speed.
        """
        shown = frame
        if self._history:
            if not self._earlier:
                self._earlier.extend([frame] * self._history)
            shown = frame.replace(previous=tuple(self._earlier))
            self._earlier.append(frame)
        answer = self._asked(shown)
        if not isinstance(answer, Signals) or (answer.steering is None and answer.speed is None):
            raise SystemUnderTestError(
                f"{self.system.name} must answer with steering or speed to drive, got {answer}"
            )
        known = otherwise or Signals()
        steering = known.steering if answer.steering is None else answer.steering
        return replace(answer, steering=steering, speed=known.speed if answer.speed is None else answer.speed)

    def _asked(self, frame: Frame) -> object:
        try:
            answers = list(self.system.predict([frame]))
        except SystemUnderTestError:
            raise
        except Exception as error:
            # Whatever a user's model does wrong, such as answering NaN, is its failure and no bug of ours.
            raise SystemUnderTestError(
                f"{self.system.name} failed on frame {frame.id!r}: {type(error).__name__}: {words_of(error)}"
            ) from error
        if len(answers) != 1:
            raise SystemUnderTestError(
                f"{self.system.name} must give one answer for frame {frame.id!r}, got {len(answers)}"
            )
        return answers[0]
