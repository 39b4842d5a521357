"""The protocol that every method implements, and the data that it draws from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np

from roadworthy.cases.answers import Answers
from roadworthy.cases.requirements import AwaitVerdicts, Case, Requirement, Scalar
from roadworthy.cases.verdicts import Outcome, Verdict, conclude_rate
from roadworthy.frames import Frame

__all__ = [
    "TAKE_BACK",
    "BaseMethod",
    "Dataset",
    "Feedback",
    "Method",
    "ResumableMethod",
    "TakeBack",
]


class TakeBack(Enum):
    """The type of :data:`TAKE_BACK`."""

    TOKEN = "take back"


TAKE_BACK: Final = TakeBack.TOKEN
"""Given by ``feedback`` for a case that was only a guess: it is neither stored nor counted."""

Feedback: TypeAlias = Mapping[str, Scalar] | TakeBack | None
"""What a search says about a case: measures to store with it, that it is taken back, or nothing."""


@runtime_checkable
class Dataset(Protocol):
    """Frames in a fixed order. Frames are made or read when they are asked for, never all at once."""

    @property
    def name(self) -> str:
        """What the data set is called in rows and reports."""
        ...

    def __len__(self) -> int:
        """Return the number of frames."""
        ...

    def __getitem__(self, index: int, /) -> Frame:
        """Return the frame with this number."""
        ...

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames in order."""
        ...


@runtime_checkable
class Method(Protocol):
    """How one kind of requirement becomes cases, verdicts and an outcome.

    A method never calls the system under test, writes files or starts processes: a runner does, and
    may be replaced by another (several processes, a cluster) without any change to the method. So

    - all randomness comes from the ``rng`` given to ``cases``, which one process runs from start to end;
    - ``judge`` depends on its arguments only: it may run in another process than ``cases``;
    - ``feedback`` runs in the process of ``cases``, once per case, in the order of the cases.
    """

    @property
    def name(self) -> str:
        """The name by which requirements ask for the method."""
        ...

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        """Yield the cases lazily.

        A search yields :data:`~roadworthy.cases.AWAIT_VERDICTS` before it uses what ``feedback`` told
        it: then every case yielded so far has been fed back, and the search takes the same course
        whatever the size of a batch. Without it, verdicts arrive at a moment of the runner's choice.
        """
        ...

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return the verdict on one case.

        It may raise :class:`~roadworthy.errors.NotApplicable` when the answers show that the case
        does not try the requirement, and :class:`~roadworthy.errors.SystemUnderTestError` when an
        answer cannot be used; the runner makes verdicts of both. Anything else it raises is a bug.
        """
        ...

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        """Return what all verdicts together say; they are a stream that can be read once."""
        ...

    def feedback(self, case: Case, verdict: Verdict) -> Feedback:
        """Take note of a verdict, for a search.

        It may return measures that only the search knows, such as what the case added to coverage: they are
        stored in its row. It may return :data:`TAKE_BACK` for a case that it tried on a guess about the
        verdicts before it, to fill a batch, when the guess was wrong.
        """
        ...


@runtime_checkable
class ResumableMethod(Method, Protocol):
    """A search that can go on where it was stopped."""

    def state(self) -> Mapping[str, Any]:
        """Return everything that ``cases`` must know to go on, as JSON can hold it; empty to begin anew.

        A runner asks for it only when the verdicts of all cases have been fed back.
        """
        ...

    def restore(self, requirement: Requirement, state: Mapping[str, Any], /) -> None:
        """Let the next ``cases`` go on from a state, given the same data and random generator.

        Raises:
            InputError: The state is of a requirement with other parameters.
        """
        ...


class BaseMethod(ABC):
    """A method that concludes from the failure rate and does not search; override what differs."""

    name: str

    @abstractmethod
    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        """Yield the cases lazily."""

    @abstractmethod
    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return the verdict on one case."""

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        """Return the outcome of a requirement that as many cases may fail as it accepts."""
        return conclude_rate(requirement, verdicts)

    def feedback(self, case: Case, verdict: Verdict) -> Feedback:  # noqa: ARG002
        """Ignore the verdict."""
        return None
