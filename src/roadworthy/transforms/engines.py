"""Image engines that users bring: which operation they do, and how they are called, written in a YAML file.

::

    engines:
      pix2pixhd:
        command: [python, run_pix2pix.py, --image, "{image}", --labels, "{labels}", --output, "{output}"]
        timeout: 60
        supports:
          - {operation: remove, element: line}
          - {operation: replace, element: building, by: tree}
      my-night:
        entry: night.py:darker
        supports: [{operation: replace, element: time, by: night}]

Such a file is read by :func:`roadworthy.transforms.read_engines`. An engine is called only if that is
allowed, for it can do anything that its user can do. Learned engines come through the same door, `Engine`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy._importing import imported
from roadworthy.errors import FrameError, InputError, NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.images import read_ids, read_image, write_image
from roadworthy.transforms.commands import filled_in, placeholders, run_command
from roadworthy.transforms.objects.remove import LEAST_SHARE
from roadworthy.transforms.objects.selection import select
from roadworthy.transforms.objects.truth import labels_without, truth_without
from roadworthy.transforms.operations import AddOperation, Operation, RemoveOperation, ReplaceOperation
from roadworthy.transforms.transform import Keeps, Transform
from roadworthy.transforms.weather._condition import known
from roadworthy.transforms.wording import Description

__all__ = ["EngineTransform", "Support", "UserEngine", "read_engines"]

Labels = Literal["written", "edited", "kept", "void"]
EntryPoint = Callable[[Frame, Operation, np.random.Generator], Frame | NDArray[np.uint8]]

_KEEPS: Mapping[str, Keeps] = {
    "written": Keeps.EDITED,
    "edited": Keeps.EDITED,
    "kept": Keeps.LABELS,
    "void": Keeps.NOTHING,
}
LEAST_CHANGE = 25.0
"""Mean squared error, in grey levels², below which an engine's image counts as unchanged: that of camera
noise of five levels."""
TIMEOUT = 60.0
"""Seconds that a program may take when nothing is said."""


@dataclass(frozen=True)
class Support:
    """An operation that an engine does, with all that lies below the elements it names.

    Attributes:
        operation: "add", "remove" or "replace".
        element: What is added, removed or replaced.
        by: What comes in its place; None for anything.
        relation: How an added thing stands to the reference; None for any relation.
        reference: Where; None for anywhere.
    """

    operation: str
    element: Description
    by: Description | None = None
    relation: str | None = None
    reference: str | None = None

    def covers(self, operation: Operation) -> bool:
        """Return whether an operation is one of these."""
        if self.operation != operation.kind or not self.element.covers(operation.what):
            return False
        if isinstance(operation, ReplaceOperation):
            return self.by is None or self.by.covers(operation.new)
        if isinstance(operation, AddOperation):
            return self.relation in (None, operation.relation) and self.reference in (
                None,
                operation.reference,
            )
        return True


@dataclass(frozen=True)
class UserEngine:
    """An engine that a user describes: a program, or a function of Python.

    Attributes:
        name: What it is called.
        supported: What it does.
        command: The program and its arguments; empty where there is an entry.
        entry: ``package.module:function`` or ``file.py:function``; empty where there is a command.
        timeout: Seconds that the program may take.
        labels: What becomes of the label map: "written" by the engine, "edited" as the operation says, "kept"
            as it was, or "void"; None chooses by the operation.
        folder: Where the files lie that it names.
        where: Where it is described, for messages.
        allowed: Whether it may be called.
    """

    name: str
    supported: tuple[Support, ...]
    command: tuple[str, ...] = ()
    entry: str = ""
    timeout: float = TIMEOUT
    labels: Labels | None = None
    folder: Path = field(default_factory=Path)
    where: str = ""
    allowed: bool = False

    def supports(self, operation: Operation) -> bool:
        """Return whether it does an operation."""
        return any(one.covers(operation) for one in self.supported)

    def transform(self, operation: Operation) -> EngineTransform:
        """Return the transform that does an operation.

        Raises:
            InputError: It may not be called, or its entry cannot be found.
        """
        called = "runs a command" if self.command else "calls your code"
        if not self.allowed:
            raise InputError(
                f"{self.where or self.name}: the engine {self.name!r} {called}: if you trust the file, read "
                "it with allow_commands=True"
            )
        return EngineTransform(self, operation)

    def entry_point(self) -> EntryPoint:
        """Return the function that its entry names.

        Raises:
            InputError: There is none.
        """
        where, colon, name = self.entry.rpartition(":")
        beside = f"{self.folder / where}:{name}" if colon and where.endswith(".py") else self.entry
        try:
            found: EntryPoint = imported(beside, "", "function")
        except InputError as error:
            raise InputError(f"{self.where}: engine {self.name!r}: {error}") from error
        if not callable(found):
            raise InputError(
                f"{self.where}: engine {self.name!r}: {self.entry} must be a function, got {found!r}"
            )
        return found


@dataclass(frozen=True)
class EngineTransform(Transform):
    """An operation done by a user's engine.

    A frame for which the engine fails does not qualify; the reason says how it failed.
    """

    engine: UserEngine
    operation: Operation

    family = "engine"
    random = True

    def __post_init__(self) -> None:
        labels = self.labels
        wanted = [name for word in self.engine.command for name in placeholders(word)]
        # What others know from the class depends on the engine here.
        for name, value in (
            ("name", self.engine.name),
            ("summary", f"{self.operation.kind} by the engine {self.engine.name}"),
            ("keeps", _KEEPS[labels]),
            ("needs", ("labels",) if "labels" in wanted else ()),
        ):
            object.__setattr__(self, name, value)
        if self.engine.entry:
            self.engine.entry_point()

    @property
    def labels(self) -> Labels:
        """What becomes of the label map."""
        said = self.engine.labels or "edited"
        if said != "edited":
            return said
        # Weather moves nothing, and what was added is where only the engine knows.
        if self._condition is not None:
            return "kept"
        return "void" if isinstance(self.operation, AddOperation) else "edited"

    @property
    def _condition(self) -> tuple[str, Description] | None:
        """Whether it changes the weather or the time, and to what."""
        new = self.operation.new if isinstance(self.operation, ReplaceOperation) else self.operation.what
        return next(((fact, new) for fact in ("weather", "time") if new.is_a(fact)), None)

    @property
    def settings(self) -> dict[str, float | int | str]:
        """The engine, and what it is asked for."""
        asked = {one.name: getattr(self.operation, one.name) for one in fields(self.operation)}
        return {"operation": self.operation.kind, **asked}

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing: that is not known of an engine."""
        return False

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value}' for key, value in self.settings.items())})"

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        known = self._edited(frame)
        if self.engine.command:
            return self._from_command(frame, known, rng)
        return self._from_entry(frame, known, rng)

    def _edited(self, frame: Frame) -> Frame:
        """Return what will be known about the changed frame, before the engine is asked for its image.

        Raises:
            NotApplicable: What is to be removed or replaced is not there, or too small.
        """
        if self.labels == "kept" or (self.labels == "written" and self._condition is not None):
            return frame
        void = frame.replace(labels=None, instances=None, boxes=None, depth=None)
        if isinstance(self.operation, AddOperation) or self._condition is not None or frame.labels is None:
            return void
        chosen = select(frame, self.operation.what, LEAST_SHARE)
        if self.labels == "void":
            return void
        if isinstance(self.operation, RemoveOperation):
            return truth_without(frame, chosen, labels_without(frame, chosen))
        classes = frame.labels.classes
        new = self.operation.new.element
        if new not in classes:
            classes = (*classes, new)
        ids = frame.labels.ids.copy()
        ids[chosen.mask] = classes.index(new)
        edited = truth_without(frame.replace(labels=LabelMap(frame.labels.ids, classes)), chosen, ids)
        # What stands there is another thing, but it stands there.
        return edited.replace(depth=frame.depth)

    def _from_command(self, frame: Frame, known: Frame, rng: np.random.Generator) -> Frame:
        engine = self.engine
        # What the program leaves there may be beyond our rights to delete.
        with tempfile.TemporaryDirectory(prefix="roadworthy-engine-", ignore_cleanup_errors=True) as name:
            folder = Path(name).resolve()
            values = self._values(frame, folder, int(rng.integers(2**31)))
            wanted = {name for word in engine.command for name in placeholders(word)}
            write_image(values["image"], frame.image)
            if "labels" in wanted:
                assert frame.labels is not None
                _write_ids(Path(values["labels"]), frame.labels)
            run_command(engine.name, filled_in(engine.command, values, engine.folder), folder, engine.timeout)
            image = self._read_image(Path(values["output"]))
            labels = None
            if self.labels == "written" or Path(values["labels_output"]).exists():
                labels = self._read_labels(Path(values["labels_output"]))
        return self._checked(frame, known, image, labels)

    def _values(self, frame: Frame, folder: Path, seed: int) -> dict[str, str]:
        asked = {key: str(value) for key, value in self.settings.items()}
        asked["element"] = str(self.operation.what)
        if isinstance(self.operation, ReplaceOperation):
            asked["by"] = str(self.operation.new)
        files = {key: str(folder / f"{key}.png") for key in ("image", "labels", "output", "labels_output")}
        return {
            **dict.fromkeys(("by", "relation", "reference", "side", "distance"), ""),
            **asked,
            **files,
            "seed": str(seed),
            "width": str(frame.width),
            "height": str(frame.height),
            "folder": str(self.engine.folder.resolve()),
        }

    def _read_image(self, path: Path) -> NDArray[np.uint8]:
        if not path.exists():
            raise NotApplicable(f"engine {self.name!r} wrote no image")
        try:
            image = read_image(path)
            # Reading makes 8 bits of 16, and a program that writes 16 means something else by them.
            raw = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_UNCHANGED)
        except FrameError as error:
            reason = str(error).partition(f"{path}: ")[2] or "it is no image"
            raise NotApplicable(
                f"engine {self.name!r} wrote an image that cannot be read: {reason}"
            ) from error
        if raw is None or raw.dtype != np.uint8:
            raise NotApplicable(f"engine {self.name!r} wrote an image that has not 8 bits a channel")
        return image

    def _read_labels(self, path: Path) -> LabelMap:
        if not path.exists():
            raise NotApplicable(f"engine {self.name!r} wrote no label map")
        try:
            return LabelMap(read_ids(path))
        except FrameError as error:
            reason = str(error).replace(str(path), "it")
            raise NotApplicable(
                f"engine {self.name!r} wrote a label map that cannot be used: {reason}"
            ) from error

    def _from_entry(self, frame: Frame, known: Frame, rng: np.random.Generator) -> Frame:
        try:
            found = self.engine.entry_point()(frame, self.operation, rng)
        except NotApplicable:
            raise
        except Exception as error:
            raise NotApplicable(f"engine {self.name!r} raised {type(error).__name__}: {error}") from error
        if isinstance(found, Frame):
            return self._checked(frame, found, found.image, found.labels)
        return self._checked(frame, known, found, None)

    def _checked(self, frame: Frame, known: Frame, image: object, labels: LabelMap | None) -> Frame:
        """Return the changed frame, if what the engine gave is an image of the right size."""
        if not isinstance(image, np.ndarray):
            raise NotApplicable(
                f"engine {self.name!r} gave {type(image).__name__} instead of a Frame or an image array"
            )
        if image.shape != frame.image.shape:
            shape = " × ".join(map(str, image.shape))
            raise NotApplicable(
                f"engine {self.name!r} gave an image of another size than the frame's: {shape}"
            )
        if image.dtype != np.uint8:
            raise NotApplicable(f"engine {self.name!r} gave an image of {image.dtype} instead of uint8")
        if labels is not None and labels.shape != image.shape[:2]:
            raise NotApplicable(f"engine {self.name!r} gave a label map of another size than the frame's")
        changes: dict[str, object] = {"image": image}
        if labels is not None:
            changes["labels"] = labels
        if self._condition is not None:
            changes["metadata"] = self._conditions(frame, image, *self._condition)
        return known.replace(
            **changes,
            id=frame.id,
            previous=frame.previous,
            visual_change=frame.visual_change,
            tolerated=frame.tolerated,
        )

    def _conditions(
        self, frame: Frame, image: NDArray[np.uint8], fact: str, new: Description
    ) -> dict[str, object]:
        """Return the metadata under the new weather or time, or without the one that is gone.

        Raises:
            NotApplicable: The image hardly changed: it showed this before (RMT, 3.3.4).
        """
        if isinstance(self.operation, RemoveOperation):
            gone = {fact, "level"} if known(frame, fact) == new.element else set()
            return {key: value for key, value in frame.metadata.items() if key not in gone}
        if cv2.norm(frame.image, image, cv2.NORM_L2SQR) / image.size < LEAST_CHANGE:
            raise NotApplicable(f"the image hardly changes: the {fact} is already {new.element}")
        facts = {**frame.metadata, fact: new.element}
        return facts if fact == "time" else {**facts, "level": new.properties.get("level", "normal")}


def _write_ids(path: Path, labels: LabelMap) -> None:
    """Write a label map whose ids are those of the ontology."""
    ids = labels.remapped().ids
    written, data = cv2.imencode(".png", ids)
    assert written
    path.write_bytes(data.tobytes())


def read_engines(path: str | PathLike[str], *, allow_commands: bool = False) -> tuple[UserEngine, ...]:
    """Read the engines that a YAML file describes, in its order.

    Args:
        path: The file.
        allow_commands: Whether they may be called. Without it they are read and checked, but refuse to work.

    Raises:
        InputError: Something in it cannot be used; names file and line.
    """
    from roadworthy.transforms.engine_files import engines_of_file

    return engines_of_file(Path(path), allowed=allow_commands)
