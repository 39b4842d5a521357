"""An engine, and an operation done by one as a transform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import EngineError, InputError, NotApplicable, check_known
from roadworthy.frames import Frame, LabelMap
from roadworthy.images import Image
from roadworthy.transforms.engines.backend import Backend, EngineResult, EngineTask, Support, blended
from roadworthy.transforms.objects.remove import LEAST_SHARE, truth_without
from roadworthy.transforms.objects.selection import ObjectSelection, select
from roadworthy.transforms.operations import AddOperation, Operation, RemoveOperation, ReplaceOperation
from roadworthy.transforms.transform import Keeps, Transform
from roadworthy.transforms.weather._condition import LEVELS, known
from roadworthy.transforms.wording import ElementDescription

_KEEPS = {"written": Keeps.EDITED, "edited": Keeps.EDITED, "kept": Keeps.LABELS, "void": Keeps.NOTHING}
LEAST_CHANGE = 25.0
"""Mean squared error, in grey levels², below which an engine's image counts as unchanged: that of camera
noise of five levels."""


@dataclass(frozen=True)
class EngineTransform(Transform):
    """An operation done by an engine.

    What becomes of the label map, boxes, depth and metadata follows from the operation. A frame for which the
    engine fails does not qualify; the reason says how it failed.
    """

    engine: UserEngine
    operation: Operation

    family = "engine"
    random = True

    def __post_init__(self) -> None:
        backend = self.engine.backend
        # What others know from the class depends on the engine here.
        name, needs = self.engine.name, backend.needs(self.operation)
        summary = f"{self.operation.kind} by the engine {name}"
        vars(self).update(name=name, summary=summary, keeps=_KEEPS[self.labels], needs=needs)
        backend.check(self.operation)

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
    def _condition(self) -> tuple[str, ElementDescription] | None:
        """Whether it changes the weather, the time or the season, and to what."""
        new = self.operation.new if isinstance(self.operation, ReplaceOperation) else self.operation.what
        return None if new.condition is None else (new.condition, new)

    @property
    def settings(self) -> dict[str, float | int | str]:
        """The engine, and what it is asked for."""
        return self.operation.settings

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing: that is not known of an engine."""
        return False

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value}' for key, value in self.settings.items())})"

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        task = self.task(frame, rng)
        return self._checked(task, self.engine.backend.made(task))

    def region(self, frame: Frame) -> NDArray[np.bool_]:
        """Return which pixels of a frame's image may change.

        Raises:
            NotApplicable: The frame does not qualify.
        """
        opacity = self.task(frame, np.random.default_rng(0)).opacity if self.engine.keeps_outside else None
        return np.ones(frame.image.shape[:2], np.bool_) if opacity is None else opacity > 0

    def task(self, frame: Frame, rng: np.random.Generator) -> EngineTask:
        """Return what the engine is asked for.

        Raises:
            NotApplicable: What is to be removed or replaced is not there, or too small; or the weather, time
                or season is already what it should become; or the engine is for other frames.
        """
        if reason := self.engine.misfit(frame):
            raise NotApplicable(reason)
        self._check_news(frame)
        return EngineTask(frame, self.operation, self._selected(frame), rng, self.labels == "written")

    def _selected(self, frame: Frame) -> ObjectSelection | None:
        """Return the things that go or give way, if there are such and the frame tells which they are."""
        if isinstance(self.operation, AddOperation) or self._condition is not None or frame.labels is None:
            return None
        try:
            return select(frame, self.operation.what, LEAST_SHARE)
        except NotApplicable:
            # Who keeps the label map and paints wherever it likes may know things that nobody labelled.
            if self.labels == "kept" and not self.engine.keeps_outside:
                return None
            raise

    def _known(self, task: EngineTask) -> Frame:
        """Return what is known about the changed frame; its image is still the old one."""
        frame, chosen = task.frame, task.selection
        if self.labels == "kept" or (self.labels == "written" and self._condition is not None):
            return frame
        if chosen is None or self.labels == "void":
            return frame.replace(labels=None, instances=None, boxes=None, depth=None)
        # What comes may be of a class that the frame had no number for.
        numbered = frame.replace(labels=LabelMap(frame.label_map.ids, task.edited.classes))
        known = truth_without(numbered, chosen, task.edited.ids)
        # What stands in the place of something is another thing, but it stands there.
        return known if isinstance(self.operation, RemoveOperation) else known.replace(depth=frame.depth)

    def _checked(self, task: EngineTask, made: EngineResult) -> Frame:
        """Return the changed frame, if what the engine gave is an image of the right size."""
        frame, image, labels = task.frame, made.image, made.labels
        gave = f"engine {self.name!r} gave"
        if not isinstance(image, np.ndarray):
            raise EngineError(f"{gave} {type(image).__name__} instead of a Frame or an image array")
        if image.shape != frame.image.shape:
            shape = " × ".join(map(str, image.shape))
            raise EngineError(f"{gave} an image of another size than the frame's: {shape}")
        if image.dtype != np.uint8:
            raise EngineError(f"{gave} an image of {image.dtype} instead of uint8")
        if labels is not None and labels.shape != image.shape[:2]:
            raise EngineError(f"{gave} a label map of another size than the frame's")
        if self.engine.keeps_outside and task.opacity is not None:
            image = blended(frame.image, image, task.opacity)
        changes: dict[str, object] = {"image": image}
        if labels is not None:
            changes["labels"] = labels
        if self._condition is not None:
            changes["metadata"] = self._facts(frame, image, *self._condition)
        kept = ("id", "previous", "visual_change", "tolerated")
        changes |= {name: getattr(frame, name) for name in kept}
        return (made.frame or self._known(task)).replace(**changes)

    def _check_news(self, frame: Frame) -> None:
        """Refuse a frame whose metadata say that the weather, time or season is already the new one."""
        if self._condition is None or isinstance(self.operation, RemoveOperation):
            return
        fact, new = self._condition
        if known(frame, fact) != new.element:
            return
        there = LEVELS.get(str(frame.metadata.get("level")), 1.0)
        if fact != "weather" or there >= LEVELS[new.properties.get("level", "normal")]:
            raise NotApplicable(f"the {fact} is already {new.element}")

    def _facts(self, frame: Frame, image: Image, fact: str, new: ElementDescription) -> dict[str, object]:
        """Return the metadata under the new weather, time or season, or without the one that is gone.

        Raises:
            NotApplicable: The image hardly changed: it showed this before (RMT, 3.3.4).
        """
        if isinstance(self.operation, RemoveOperation):
            facts = {"weather", "level"} if fact == "weather" else {fact}
            gone = facts if known(frame, fact) == new.element else set()
            return {key: value for key, value in frame.metadata.items() if key not in gone}
        if cv2.norm(frame.image, image, cv2.NORM_L2SQR) / image.size < LEAST_CHANGE:
            raise NotApplicable(f"the image hardly changes: the {fact} is already {new.element}")
        level = {"level": new.properties.get("level", "normal")} if fact == "weather" else {}
        return {**frame.metadata, fact: new.element, **level}


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


def transform_named(text: str, engines: Sequence[UserEngine]) -> Transform:
    """Return a transform by its name as users write it, or what an engine does: ``engine:NAME``.

    Raises:
        InputError: There is no such transform or engine, or the engine does more than one thing.
    """
    from roadworthy.transforms import parse_transform

    kind, _, name = text.partition(":")
    if kind != "engine":
        return parse_transform(text)
    known = {one.name: one for one in engines}
    check_known("there is no engine", name, known)
    if len(known[name].supported) != 1:
        raise InputError(
            f"the engine {name!r} supports {len(known[name].supported)} operations, so it is not clear which "
            "is meant: describe it once more, under another name, with that one alone"
        )
    (support,) = known[name].supported
    operation = support.asked()
    if operation is None:
        raise InputError(f"the engine {name!r} does not say what it replaces {support.element} by")
    return known[name].transform(operation)
