"""What an executor has to do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self

from roadworthy.runs.executors.work import Done, Job, Unit

__all__ = ["Executor", "Session"]


class Session(Protocol):
    """Where the batches of one run are carried out."""

    ahead: int
    """How many batches may wait for their turn."""

    def submit(self, unit: Unit, /) -> Callable[[], Done]:
        """Begin with a batch, now or later; what is returned waits for it."""
        ...


class Executor(Protocol):
    """Carries out batches of cases: here, in other processes, on a cluster.

    It decides where and when, never what: batches are made by whoever hands them in, and everyone does with
    them what :func:`~roadworthy.runs.executors.work.carry` does.
    """

    name: str
    """What it is called on the command line."""

    workers: int
    """How many batches are worked on at a time."""

    def session(self, job: Job, /) -> AbstractContextManager[Session]:
        """Prepare for the batches of a run; workers stay for the next."""
        ...

    def __enter__(self) -> Self:
        """Return the executor."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let go of all workers."""
        ...
