"""What is done when a worker hangs, dies or takes too much memory, and one thread for each worker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from roadworthy._yaml import read_yaml
from roadworthy.cases import Verdict
from roadworthy.runs.executors.work import BatchJob, Done, WorkUnit

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_megabytes() -> float | None:
    """Return how much memory the machine, or the container that this process runs in, has; None if unknown.

    Example:
        >>> machine_megabytes() > 100
        True
    """
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    for limit in _LIMITS:
        with suppress(OSError, ValueError):
            total = min(total, int(Path(limit).read_text()))
    return total / 2**20


def process_megabytes(pid: int) -> float | None:
    """Return the resident memory of a process; None where that cannot be told.

    Example:
        >>> process_megabytes(os.getpid()) > 5
        True
    """
    try:
        if sys.platform == "linux":
            return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
        told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True)
        return int(told.stdout) / 2**10
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return None


ENVIRONMENT: Mapping[str, str] = read_yaml(Path(__file__).with_suffix(".yaml"), "file", "variables").data
"""What libraries look at when they are loaded; the last is for networks that say nothing themselves."""


@contextmanager
def environment() -> Iterator[None]:
    """Let processes that are started meanwhile find one thread in their environment."""
    before = {name: os.environ.get(name) for name in ENVIRONMENT}
    os.environ.update(ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def pin() -> None:
    """Let the libraries of this process use one thread; to be called before they are loaded."""
    os.environ.update(ENVIRONMENT)
    import cv2

    cv2.setNumThreads(1)


Fault: TypeAlias = Literal["died", "hangs", "memory"]

TRIES = 3
"""How often a worker has to die on a case, tried alone, before the case is to blame."""


TIMEOUT = 600.0
"""Seconds that a batch may take, when nothing else is said."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a worker may take.

    Attributes:
        seconds: For a batch; None for no limit.
        megabytes: Of memory; None for no limit.
    """

    seconds: float | None = None
    megabytes: float | None = None


@dataclass(eq=False, slots=True)
class Piece:
    """A batch, or a part of one, on its way through the workers.

    Attributes:
        ticket: What it belongs to.
        unit: What is to be done.
        places: The numbers of its cases in the whole batch.
        deaths: How many workers died on it.
        wants_fresh: Whether it has to be tried by a worker that has done nothing before.
        result: What became of it.
    """

    ticket: Ticket
    unit: WorkUnit
    places: tuple[int, ...]
    deaths: int = 0
    wants_fresh: bool = False
    result: Done | None = None

    @property
    def is_single(self) -> bool:
        """Whether it is one case on one system."""
        return len(self.unit.cases) == 1 and len(self.unit.systems) == 1


class Ticket:
    """A batch that was handed in, one piece at first, with the pieces it is divided into."""

    def __init__(self, unit: WorkUnit) -> None:
        self.pieces = [Piece(self, unit, tuple(range(len(unit.cases))))]

    @property
    def is_done(self) -> bool:
        """Whether all pieces are done."""
        return all(piece.result is not None for piece in self.pieces)

    def done(self) -> Done:
        """Return what became of all pieces together, in their order; to be called once."""
        whole = Done()
        # Pieces know their ticket, and frames must not wait until Python looks for such circles.
        pieces, self.pieces = self.pieces, []
        for piece in pieces:
            part = piece.result
            assert part is not None
            if len(pieces) == 1:
                return part
            whole.join(part, piece.places)
            if whole.error is not None:
                break
        return whole


def divided(piece: Piece, job: BatchJob) -> list[Piece]:
    """Return a piece as its batches, or as one for each case and system, in its place on the ticket."""
    if piece.unit.sizes or piece.unit.stretches:
        batches = piece.unit.batches(job)
        parts = [Piece(piece.ticket, batch, tuple(range(len(batch.cases)))) for batch in batches]
    else:
        parts = [
            Piece(piece.ticket, WorkUnit((case,), (name,)), (place,))
            for name in piece.unit.systems
            for place, case in zip(piece.places, piece.unit.cases, strict=True)
            if (case.requirement_id, name) in job.tested
        ]
    number = piece.ticket.pieces.index(piece)
    piece.ticket.pieces[number : number + 1] = parts
    return parts


def blame_of(fault: Fault, piece: Piece, limits: Limits) -> str:
    """Return why a case is an error; the same words whoever ran it.

    Example:
        >>> (piece,) = Ticket(WorkUnit((), ("dave2",))).pieces
        >>> blame_of("hangs", piece, Limits(seconds=60))
        'dave2 gave no answer within 60 s, tried alone; its process was ended'
    """
    (name,) = piece.unit.systems
    if fault == "hangs":
        return f"{name} gave no answer within {limits.seconds:g} s, tried alone; its process was ended"
    if fault == "memory":
        return f"{name} took more than {limits.megabytes:g} MB of memory, tried alone; its process was ended"
    why = "a crash, an exit, or killed for want of memory"
    return f"the process of {name} died, tried alone {TRIES} times: {why}"


def unmade(piece: Piece, job: BatchJob) -> Done:
    """Return the verdict on a case whose frames cannot be made, without any system, either."""
    (case,), (name,) = piece.unit.cases, piece.unit.systems
    reason = "what makes its frames hangs, crashes or takes too much memory, with no model in the process"
    done = Done()
    done.add(job, 0, case, name, Verdict.engine_error(case, reason))
    return done
