"""What a benchmark found out: a figure of ours, what it stands beside, and the bar that it has to reach."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["Bar", "Beside", "Growth", "Measured", "Work", "fastest", "peak_mib", "reset_peak"]

Work = Callable[[], object]


@dataclass(frozen=True)
class Beside:
    """The other one in the same run.

    Attributes:
        name: What it is, such as ``a plain loop``.
        value: Its figure, in the unit of ours.
        times: How many times as fast ours is.
    """

    name: str
    value: float
    times: float


@dataclass(frozen=True)
class Bar:
    """What has to be reached.

    Attributes:
        of: Whether the figure itself or the ratio to the other one counts.
        sign: On which side of the limit it has to be.
        limit: The limit.
    """

    of: Literal["value", "times"]
    sign: Literal["≥", "≤"]
    limit: float


@dataclass(frozen=True)
class Measured:
    """One line of the page.

    Attributes:
        name: What was measured.
        value: The figure; None where it could not be measured.
        unit: Of the figure.
        beside: What it stands beside, if anything.
        bar: What it has to reach, if anything.
        note: Why it was not measured, or a remark.
    """

    name: str
    value: float | None
    unit: str
    beside: Beside | None = None
    bar: Bar | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the bar is reached; None without one, or where nothing was measured to compare with it."""
        if self.bar is None:
            return None
        times = None if self.beside is None else self.beside.times
        reached = self.value if self.bar.of == "value" else times
        if reached is None:
            return None
        return reached >= self.bar.limit if self.bar.sign == "≥" else reached <= self.bar.limit


@dataclass(frozen=True)
class Growth:
    """How time and memory of a job grow with its size.

    Attributes:
        name: The job.
        unit: What its size counts.
        sizes: Three sizes or more.
        seconds: Of the processor, for each size.
        mib: The most memory that its process held at once, for each size.
        exponent: Time grows as the size to this power.
    """

    name: str
    unit: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    mib: tuple[float, ...]
    exponent: float


def fastest(
    *works: Work, seconds: float, clock: Callable[[], float] = time.process_time, least: int = 3
) -> list[float]:
    """Return the seconds of the fastest call of each.

    They take turns, so that all are disturbed alike; the first turn warms up and does not count.

    Args:
        works: What is compared.
        seconds: On the clock, for all of them together.
        clock: Processor time of this process, because other work on the machine is not what is measured.
        least: How many turns are made even if time is over.
    """
    for work in works:
        work()
    best = [float("inf")] * len(works)
    end, turns = time.perf_counter() + seconds, 0
    while turns < least or time.perf_counter() < end:
        turns += 1
        for number, work in enumerate(works):
            start = clock()
            work()
            best[number] = min(best[number], clock() - start)
    return best


def reset_peak() -> None:
    """Let `peak_mib` count from here, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mib() -> float:
    """Return the most MiB that this process has held at once.

    Not by ``ru_maxrss`` where it can be helped: a new process starts with that of the one that started it.
    """
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if os.uname().sysname == "Darwin" else 2**10)
