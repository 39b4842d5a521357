"""How a training goes on, line by line."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TextIO

__all__ = ["TrainingLog"]


class TrainingLog:
    """Writes lines with the seconds since it was made, into several files at once.

    Args:
        name: What is trained.
        files: Where the lines go.

    Example:
        >>> import io
        >>> file = io.StringIO()
        >>> TrainingLog("dave2", [file]).line("exported")
        >>> file.getvalue().strip().partition(" s  ")[2]
        'dave2: exported'
    """

    def __init__(self, name: str, files: Sequence[TextIO]) -> None:
        self._name, self._files = name, files
        self._start = self._told = time.perf_counter()

    def line(self, text: str) -> None:
        """Write a line."""
        for file in self._files:
            print(f"{time.perf_counter() - self._start:7.1f} s  {self._name}: {text}", file=file, flush=True)

    def line_every(self, seconds: float, text: str) -> None:
        """Write a line, unless one of these was written in the last seconds."""
        now = time.perf_counter()
        if now - self._told > seconds:
            self._told = now
            self.line(text)
