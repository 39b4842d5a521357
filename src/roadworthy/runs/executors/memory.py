"""How much memory there is, and how much of it a process uses."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["machine_megabytes", "process_megabytes"]

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
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
        told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True)
        return int(told.stdout) / 2**10
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return None
