"""The plain executor: one batch after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Self

from roadworthy.runs.executors.protocol import Session
from roadworthy.runs.executors.work import Done, Job, Unit, carry

__all__ = ["SerialExecutor"]


class SerialExecutor:
    """Carries out batches in this process, when they are waited for.

    It takes any system and any method, for nothing has to travel. It cannot outlive a system that hangs or
    ends the process.

    Example:
        >>> with SerialExecutor() as executor:
        ...     executor.workers
        1
    """

    name = "serial"
    workers = 1

    @contextmanager
    def session(self, job: Job, /) -> Iterator[Session]:
        """Prepare for the batches of a run."""
        yield _Here(job)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return


class _Here:
    ahead = 0

    def __init__(self, job: Job) -> None:
        self._job = job

    def submit(self, unit: Unit, /) -> Callable[[], Done]:
        return partial(carry, self._job, unit)
