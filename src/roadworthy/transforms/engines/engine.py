"""An engine: what it is called, which operations it does, and how its images are got."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.transforms.engines.backend import Backend
from roadworthy.transforms.engines.support import Support
from roadworthy.transforms.engines.transform import EngineTransform
from roadworthy.transforms.operations import Operation

__all__ = ["Labels", "UserEngine"]

Labels = Literal["written", "edited", "kept", "void"]


@dataclass(frozen=True)
class UserEngine:
    """An engine that a user brings or chooses.

    Attributes:
        name: What it is called.
        supported: What it does.
        backend: How its images are got.
        labels: What becomes of the label map: "written" by the engine, "edited" as the operation says, "kept"
            as it was, or "void"; None chooses by the operation.
        outside: What becomes of pixels that the operation is not about: "kept" as they were, or "free" to be
            changed; None leaves it to the backend.
        where: Where it is described, for messages.
        file: The file that describes it; None for none.
        allowed: Whether it may be called, if that needs to be allowed.
    """

    name: str
    supported: tuple[Support, ...]
    backend: Backend
    labels: Labels | None = None
    outside: Literal["kept", "free"] | None = None
    where: str = ""
    file: Path | None = None
    allowed: bool = False

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that its images depend on: its description, and what its backend consists of."""
        return (*(() if self.file is None else (self.file,)), *self.backend.files)

    @property
    def keeps_outside(self) -> bool:
        """Whether pixels that the operation is not about stay as they are."""
        return self.backend.keeps_outside if self.outside is None else self.outside == "kept"

    def is_for(self, frame: Frame) -> bool:
        """Return whether it was made for frames such as this one, as far as that is known.

        Args:
            frame: A frame of the data.
        """
        del frame
        return True

    def misfit(self, frame: Frame) -> str:
        """Return why it is not used on frames such as this one; empty if it is.

        Args:
            frame: A frame of the data.
        """
        del frame
        return ""

    def supports(self, operation: Operation) -> bool:
        """Return whether it does an operation."""
        return any(one.covers(operation) for one in self.supported)

    def transform(self, operation: Operation) -> EngineTransform:
        """Return the transform that does an operation.

        Raises:
            InputError: It may not be called, or something that it needs is missing.
        """
        if self.backend.does and not self.allowed:
            raise InputError(
                f"{self.where or self.name}: the engine {self.name!r} {self.backend.does}: if you trust the "
                "file, read it with allow_commands=True"
            )
        return EngineTransform(self, operation)
