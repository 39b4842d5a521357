"""A model at the wheel: it sees one frame after the other and says what it wants to do."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from roadworthy.errors import SystemUnderTestError
from roadworthy.frames import Frame, Signals
from roadworthy.models.protocols import SystemUnderTest

__all__ = ["Driver"]


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
        return replace(
            answer,
            steering=known.steering if answer.steering is None else answer.steering,
            speed=known.speed if answer.speed is None else answer.speed,
        )

    def _asked(self, frame: Frame) -> object:
        try:
            answers = list(self.system.predict([frame]))
        except SystemUnderTestError:
            raise
        except Exception as error:
            # Whatever a user's model does wrong, such as answering NaN, is its failure and no bug of ours.
            raise SystemUnderTestError(
                f"{self.system.name} failed on frame {frame.id!r}: {type(error).__name__}: {error}"
            ) from error
        if len(answers) != 1:
            raise SystemUnderTestError(
                f"{self.system.name} must give one answer for frame {frame.id!r}, got {len(answers)}"
            )
        return answers[0]
