"""What a system under test has to do, and what drives it in a simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from roadworthy.cases import Prediction
from roadworthy.frames import Frame

__all__ = ["Simulator", "SystemUnderTest"]


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
class Simulator(Protocol):
    """Lets a system under test drive through a scenario and records the drive."""

    def drive(self, scenario: object, system: SystemUnderTest, /) -> object:
        """Return the recorded drive.

        It may raise :class:`~roadworthy.errors.NotApplicable` for a scenario that it cannot build. A failure
        of the system is raised to it as a :class:`~roadworthy.errors.SystemUnderTestError`, which it lets
        through; anything else it raises is a fault of the simulator and ends the run.
        """
        ...
