"""Functions of Python as engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from roadworthy._importing import imported
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.transforms.engines.backend import Backend, Made, Task
from roadworthy.transforms.operations import Operation

__all__ = ["Entry", "EntryPoint"]

EntryPoint = Callable[[Frame, Operation, np.random.Generator], Frame | NDArray[np.uint8]]


@dataclass(frozen=True)
class Entry(Backend):
    """A function that gets a frame, the operation and a random generator, and returns a frame or an image.

    Attributes:
        name: What the engine is called, for messages.
        entry: ``package.module:function`` or ``file.py:function``.
        folder: Where the file lies that it names.
        where: Where it is described, for messages.
    """

    name: str
    entry: str
    folder: Path = field(default_factory=Path)
    where: str = ""

    does: ClassVar[str] = "calls your code"

    @property
    def _file(self) -> Path | None:
        where, colon, _ = self.entry.rpartition(":")
        return self.folder / where if colon and where.endswith(".py") else None

    @property
    def files(self) -> tuple[Path, ...]:
        """The file that the function is in, if it is named."""
        return () if self._file is None else (self._file,)

    def check(self, operation: Operation) -> None:
        self.entry_point()

    def entry_point(self) -> EntryPoint:
        """Return the function.

        Raises:
            InputError: There is none.
        """
        name = self.entry.rpartition(":")[2]
        try:
            found: EntryPoint = imported(
                self.entry if self._file is None else f"{self._file}:{name}", "", "function"
            )
        except InputError as error:
            raise InputError(f"{self.where}: engine {self.name!r}: {error}") from error
        if not callable(found):
            raise InputError(
                f"{self.where}: engine {self.name!r}: {self.entry} must be a function, got {found!r}"
            )
        return found

    def made(self, task: Task) -> Made:
        try:
            found = self.entry_point()(task.frame, task.operation, task.rng)
        except NotApplicable:
            raise
        except (Exception, SystemExit) as error:
            # A script that was made a function may still call sys.exit, which must not end a run as passed.
            raise NotApplicable(f"engine {self.name!r} raised {type(error).__name__}: {error}") from error
        if isinstance(found, Frame):
            return Made(found.image, found.labels, found)
        return Made(found)
