"""What an engine is asked for and gives, and pictures of the size that it takes."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import FrozenDict
from roadworthy._yaml import read_yaml
from roadworthy.errors import EngineError, InputError, suggest
from roadworthy.frames import Frame, LabelMap
from roadworthy.images import Image
from roadworthy.transforms.objects.inpainting import region_of
from roadworthy.transforms.objects.remove import PAINTED, labels_without
from roadworthy.transforms.objects.selection import ObjectSelection
from roadworthy.transforms.operations import AddOperation, Operation, RemoveOperation, ReplaceOperation
from roadworthy.transforms.wording import ElementDescription

Numbers = TypeVar("Numbers", bound=NDArray[Any])
Size = tuple[int, int]


@dataclass(frozen=True)
class Fit:
    """How the pictures of a frame are made smaller or larger for an engine, and padded.

    Sizes are (height, width).

    Padding is at the right and at the bottom, and goes on with what is at the edge.

    Attributes:
        size: Of the frame.
        scaled: Of the frame as the engine sees it, without padding.
        padded: With it.

    Example:
        >>> Fit.of((720, 960), most=(360, 640), multiple=16)
        Fit(size=(720, 960), scaled=(360, 480), padded=(368, 480))
        >>> Fit.of((100, 90))
        Fit(size=(100, 90), scaled=(100, 90), padded=(100, 90))
        >>> Fit.of((80, 120), usual=(160, 320)).scaled
        (160, 240)
    """

    size: Size
    scaled: Size
    padded: Size

    @classmethod
    def of(cls, size: Size, *, most: Size | None = None, multiple: int = 1, usual: Size | None = None) -> Fit:
        """Return how a frame of a size is fitted. It keeps its proportions.

        Args:
            size: Of the frame.
            most: The largest size that the engine takes; None for any. Larger frames are made smaller.
            multiple: What height and width must be multiples of.
            usual: The size that the engine knows; None for any. A frame that is smaller, in height and in
                width, is made as large as fits into it.
        """
        scale = 1.0
        if usual is not None:
            scale = max(scale, min(whole / side for whole, side in zip(usual, size, strict=True)))
        if most is not None:
            scale = min(scale, *(limit / side for limit, side in zip(most, size, strict=True)))
        height, width = (max(1, round(scale * side)) for side in size)
        padded = -(-height // multiple) * multiple, -(-width // multiple) * multiple
        return cls(size, (height, width), padded)

    def image(self, image: Numbers) -> Numbers:
        """Return a picture as the engine sees it; one of ids or a mask must go through :meth:`ids`."""
        return self._fitted(image, cv2.INTER_AREA if self._is_smaller else cv2.INTER_CUBIC)

    def ids(self, ids: Numbers) -> Numbers:
        """Return a map whose pixels are numbers as the engine sees it: no number is mixed with another."""
        # Exact, because the plain nearest takes the corner of each block of pixels rather than its middle.
        return self._fitted(ids, cv2.INTER_NEAREST_EXACT)

    def back(self, image: Image) -> Image:
        """Return what the engine made of a picture, at the frame's size."""
        height, width = self.scaled
        cut = image[:height, :width]
        if self.scaled == self.size:
            return cut
        how = cv2.INTER_CUBIC if self._is_smaller else cv2.INTER_AREA
        return np.asarray(cv2.resize(cut, self.size[::-1], interpolation=how), image.dtype)

    @property
    def _is_smaller(self) -> bool:
        """Whether the engine sees fewer pixels than the frame has."""
        return self.scaled[0] * self.scaled[1] < self.size[0] * self.size[1]

    def _fitted(self, picture: Numbers, how: int) -> Numbers:
        if self.scaled != self.size:
            picture = cast(Numbers, cv2.resize(picture, self.scaled[::-1], interpolation=how))
        if self.padded == self.scaled:
            return picture
        below, beside = (whole - part for whole, part in zip(self.padded, self.scaled, strict=True))
        more = ((0, below), (0, beside), *[(0, 0)] * (picture.ndim - 2))
        return cast(Numbers, np.pad(picture, more, mode="edge"))


Floats = NDArray[np.float32]


def labels_png(labels: LabelMap) -> bytes:
    """Return a label map with the ontology's label ids."""
    return png(labels.remapped().ids)


def hole_png(image: Image, mask: Image) -> bytes:
    """Return an image that is transparent where the mask is not 0, as some services want it."""
    return png(np.dstack([image[..., ::-1], 255 - mask]))


def png(pixels: NDArray[np.unsignedinteger]) -> bytes:
    """Return pixels, blue before red, as a PNG file."""
    written, data = cv2.imencode(".png", pixels)
    assert written
    return data.tobytes()


def blended(before: Image, after: Image, opacity: Floats) -> Image:
    """Return an image that is `after` as far as the opacity of a pixel says; at 0 it is `before`, exactly.

    Example:
        >>> black, white = np.zeros((1, 3, 3), np.uint8), np.full((1, 3, 3), 255, np.uint8)
        >>> blended(black, white, np.array([[0, 0.4, 1]], np.float32))[0, :, 0].tolist()
        [0, 102, 255]
    """
    inside = opacity > 0
    old, new = before[inside].astype(np.float32), after[inside].astype(np.float32)
    mixed = before.copy()
    mixed[inside] = np.rint(old + opacity[inside][:, None] * (new - old))
    return mixed


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
    element: ElementDescription
    by: ElementDescription | None = None
    relation: str | None = None
    reference: str | None = None

    def covers(self, operation: Operation) -> bool:
        """Return whether an operation is one of these."""
        if self.operation != operation.kind or not self.element.covers(operation.what):
            return False
        if not isinstance(operation, AddOperation) and operation.part != "all":
            return False  # engines are told what goes, and not which of them
        if isinstance(operation, ReplaceOperation):
            return self.by is None or self.by.covers(_levelled(operation.new, self.by))
        if isinstance(operation, AddOperation):
            if operation.within or (operation.company, operation.pose) != ("any", "any"):
                return False  # nor how far away at most, with whom, or doing what
            same_place = self.reference in (None, operation.reference)
            return self.relation in (None, operation.relation) and same_place
        return True

    def asked(self) -> Operation | None:
        """Return the operation that asks for just this; None if it does not say what comes in its place.

        Example:
            >>> from roadworthy.transforms.wording import described
            >>> Support("remove", described("line")).asked()
            RemoveOperation(element='line', part='all')
        """
        element = str(self.element)
        if self.operation == "remove":
            return RemoveOperation(element)
        if self.operation == "add":
            return AddOperation(element, self.relation or "on", self.reference or "roadside")
        return None if self.by is None else ReplaceOperation(element, str(self.by))

    def __str__(self) -> str:
        by = "" if self.by is None else f" by {self.by}"
        where = " ".join(word for word in (self.relation, self.reference) if word)
        return f"{self.operation} {self.element}{by}" + (f" {where}" if where else "")


def _levelled(asked: ElementDescription, by: ElementDescription) -> ElementDescription:
    """Return what is asked for with the level that nobody needs to say, for an engine that says its own."""
    if "level" in asked.properties or by.properties.get("level") != "normal":
        return asked
    return ElementDescription(asked.element, FrozenDict({**asked.properties, "level": "normal"}), asked.words)


TOLD: Mapping[str, Mapping[str, str]] = read_yaml(
    Path(__file__).with_name("words.yaml"), "file of words", "sections"
).data
"""What words in braces stand for, by who is told: every engine, a program or a service."""
WORDS = TOLD["engine"]
"""What every engine may be told."""

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


def placeholders(word: str) -> list[str]:
    """Return the names in braces in a word.

    Example:
        >>> placeholders("--size={width}x{height}"), placeholders("{{literally}}")
        (['width', 'height'], [])
    """
    return [found[1] for found in _BRACES.finditer(word) if found[1] is not None]


def check_words(words: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse names in braces that stand for nothing.

    Raises:
        InputError: There is one; suggests others.
    """
    known = tuple(known)
    for word in words:
        for name in placeholders(word):
            if name not in known:
                hint = f"{suggest(name, known)}; write {{{{ and }}}} for braces"
                raise InputError(f"{where}: {{{name}}} stands for nothing: {hint}")


def filled(word: str, values: Mapping[str, str]) -> str:
    """Return a word with the values of its names in braces; what is in a value is not looked at again.

    Example:
        >>> filled("a {by} instead of {{braces}}", {"by": "{seed}"})
        'a {seed} instead of {braces}'
    """

    def value(found: re.Match[str]) -> str:
        return found[0][0] if found[1] is None else values[found[1]]

    return _BRACES.sub(value, word)


# What covers the ground gives way without a shadow, and what stands on it with its own.
_FLAT = (*PAINTED, "road", "sidewalk", "terrain")


@dataclass(frozen=True, eq=False)
class EngineTask:
    """What an engine is asked for.

    Attributes:
        frame: The frame to change.
        operation: What to do.
        selection: The things that go or give way; None for weather, time and season, for what is added, and
            where the frame has no label map.
        rng: What random numbers are drawn from; the same ones must give the same image.
        written: Whether the engine must give a label map.
    """

    frame: Frame
    operation: Operation
    selection: ObjectSelection | None
    rng: np.random.Generator
    written: bool = False

    @cached_property
    def seed(self) -> int:
        """A number from 0 to 2147483647, for an engine that draws by itself."""
        return int(self.rng.integers(2**31))

    @cached_property
    def edited(self) -> LabelMap:
        """The label map after the operation; there must be a selection.

        What is removed gives way to what lies behind it, what is replaced gets the new class. Whether that is
        also what will be known about the frame is another question.
        """
        labels = self.frame.label_map
        assert self.selection is not None
        if not isinstance(self.operation, ReplaceOperation):
            return LabelMap(labels_without(self.frame, self.selection), labels.classes)
        new = self.operation.new.element
        classes = labels.classes_with(new)
        ids = labels.ids.copy()
        ids[self.selection.mask] = classes.index(new)
        return LabelMap(ids, classes)

    @cached_property
    def opacity(self) -> Floats | None:
        """How much of each pixel may change, from 0 to 1; None if all of the image may."""
        if self.selection is None:
            return None
        new = self.operation.new.element if isinstance(self.operation, ReplaceOperation) else ""
        flat = new in _FLAT if new else self.selection.what.element in PAINTED
        return region_of(self.frame, self.selection.mask, paint=flat)

    @property
    def mask(self) -> Image:
        """The pixels that may change as 255, all others as 0."""
        if self.opacity is None:
            return np.full(self.frame.image.shape[:2], 255, np.uint8)
        return (self.opacity > 0).astype(np.uint8) * np.uint8(255)

    @property
    def words(self) -> dict[str, str]:
        """What words in braces stand for."""
        asked = {key: str(value) for key, value in self.operation.settings.items()}
        asked["element"] = str(self.operation.what)
        if isinstance(self.operation, ReplaceOperation):
            asked["by"] = str(self.operation.new)
        unsaid = dict.fromkeys(("by", "relation", "reference", "side", "distance"), "")
        known = {"seed": self.seed, "width": self.frame.width, "height": self.frame.height}
        return unsaid | asked | {name: str(value) for name, value in known.items()}


class EngineResult(NamedTuple):
    """What an engine gave. All of it is checked by who asked.

    Attributes:
        image: The changed image.
        labels: Its label map, if the engine gives one.
        frame: All that is known about it, from an engine that knows.
    """

    image: object
    labels: LabelMap | None = None
    frame: Frame | None = None


def check_made(name: str, found: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Refuse numbers of a network that are no image of this shape.

    Raises:
        EngineError: They have another shape, or are not finite.
    """
    if found.shape != shape:
        came, wanted = (" × ".join(map(str, one)) for one in (found.shape, shape))
        raise EngineError(f"engine {name!r} gave an image of {came} instead of {wanted}")
    if not np.isfinite(found).all():
        raise EngineError(f"engine {name!r} gave an image with numbers that are not finite")


class Backend(ABC):
    """A way to get a changed image: a program, a function, a service, a pipeline, a network.

    It is a frozen dataclass, so that an engine can be compared, and travels to other processes.

    Class attributes:
        does: What using it does that its user must allow, for messages; empty for what can do no harm.
        keeps_outside: Whether pixels that the operation is not about are those of the frame, unless its user
            says otherwise.
    """

    does: ClassVar[str] = ""
    keeps_outside: ClassVar[bool] = False

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that its image depends on, as far as they are known."""
        return ()

    def needs(self, operation: Operation) -> tuple[str, ...]:
        """Return what a frame must have: "labels", or nothing."""
        return ()

    def check(self, operation: Operation) -> None:  # noqa: B027 - most need nothing
        """See that all is there that it needs, before the first frame.

        Raises:
            InputError: It is not; says what to do.
        """

    @abstractmethod
    def made(self, task: EngineTask) -> EngineResult:
        """Return the changed image.

        Raises:
            NotApplicable: There is none for this frame.
            EngineError: It failed; the message names what went wrong.
        """
