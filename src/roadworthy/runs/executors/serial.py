"""The plain executor, one batch after the other in this process, and executors by name."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Self

from roadworthy.errors import InputError, UnknownNameError, check_known, check_number
from roadworthy.runs.executors.faults import TIMEOUT
from roadworthy.runs.executors.work import BatchJob, Done, Executor, Session, WorkUnit, carry


class SerialExecutor:
    """Carries out batches in this process, when they are waited for.

    It takes any system and any method, for nothing has to travel. It does not isolate them: a system that
    crashes or ends its process ends the run, one that hangs is waited for without limit, and memory has none.

    Example:
        >>> with SerialExecutor() as executor:
        ...     executor.workers
        1
    """

    name = "serial"
    workers = 1

    @contextmanager
    def session(self, job: BatchJob, /) -> Iterator[Session]:
        """Prepare for the batches of a run."""
        yield Here(partial(carry, job))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return


class Here:
    """A session without workers: a batch is carried out when it is waited for."""

    ahead = 0
    makes_cases = True

    def __init__(self, carry: Callable[[WorkUnit], Done]) -> None:
        self._carry = carry

    def submit(self, unit: WorkUnit, /) -> Callable[[], Done]:
        """Return what carries out a batch."""
        return partial(self._carry, unit)


EXECUTORS = ("serial", "processes", "ray")
"""The names of the executors."""


def executor_for(
    name: str,
    *,
    workers: int | None = None,
    address: str | None = None,
    timeout_s: float | None = TIMEOUT,
    memory_mb: float | None = None,
    gpus: float = 0.0,
) -> Executor:
    """Return an executor; a context manager that lets go of its workers at the end.

    Args:
        name: "serial" is this process, "processes" are several on this machine, "ray" is a Ray cluster.
        workers: How many batches are worked on at a time, each in a process of its own with its own copy of
            the systems; as many as there are cores when left out. Serial has one.
        address: Of the Ray cluster, such as "auto" or "ray://head:10001"; one on this machine when left out.
        timeout_s: Seconds that a batch may take, and in the end a case that is tried alone; None for no
            limit.
        memory_mb: Megabytes that a worker may use; its share of four fifths of the machine when left out, and
            no limit but Ray's own on a cluster.
        gpus: The part of a GPU that each worker gets from Ray.

    Raises:
        InputError: There is no such executor, or it cannot be had like that.
        MissingExtraError: Ray is not installed.

    Example:
        >>> with executor_for("serial") as executor:
        ...     executor.name
        'serial'
        >>> executor_for("threads")
        Traceback (most recent call last):
        ...
        roadworthy.errors.UnknownNameError: there is no executor 'threads': known names are processes, \
ray, serial
    """
    check_known("there is no executor", name, EXECUTORS, UnknownNameError)
    if workers is not None and (type(workers) is not int or workers < 1):
        raise InputError(f"workers must be 1 or more, got {workers!r}")
    for what, amount in (("timeout_s", timeout_s), ("memory_mb", memory_mb)):
        check_number(what, amount, above=0, below=math.inf)
    if name != "ray" and (address is not None or gpus):
        raise InputError("address and gpus are for the executor 'ray': use --executor ray")
    if name == "serial":
        if workers not in (None, 1):
            raise InputError(f"'serial' has one worker, got {workers}: use --executor processes")
        return SerialExecutor()
    if name == "processes":
        from roadworthy.runs.executors.processes import ProcessExecutor

        return ProcessExecutor(workers or _cores(), timeout_s=timeout_s, memory_mb=memory_mb)
    from roadworthy.runs.executors.cluster import RayExecutor

    return RayExecutor(workers, address=address, timeout_s=timeout_s, memory_mb=memory_mb, gpus=gpus)


def default_executor() -> Executor:
    """Return the executor of programs in which nobody chooses one: a process beside this one.

    The environment variable ROADWORTHY_EXECUTOR names another, as for commands.
    """
    return executor_for(os.environ.get("ROADWORTHY_EXECUTOR") or "processes", workers=1)


def _cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
