"""The one thing that all changes to a frame have in common, and the parameters that each declares."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from inspect import cleandoc
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, TypeVar, dataclass_transform

import numpy as np

from roadworthy._options import described
from roadworthy._yaml import read_yaml
from roadworthy.errors import (
    DO_IT_ANYWAY,
    EngineError,
    InputError,
    NotApplicable,
    RoadworthyError,
    check_known,
    check_number,
    suggest,
    words_of,
)
from roadworthy.frames import Frame
from roadworthy.images import Image
from roadworthy.registry import transforms
from roadworthy.transforms.wording import REALISM, without_places
from roadworthy.visual_change import ReferenceImage, Tolerance
from roadworthy.visual_change.tolerance import known_tolerance

_KEY = "parameter"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a transform.

    Attributes:
        name: What users type.
        description: One line that says what it does.
        default: Its value when it is not given.
        kind: "number", "integer", "choice" (one of `choices`) or "word" (any text).
        unit: Of a number, such as "degrees"; empty where it is a plain factor.
        low: The least value of a number.
        high: The greatest value of a number.
        identity: The value of a number at which it changes nothing; None where it sets no strength.
        strongest: The value of a number at amount 1, for those with an identity.
        choices: The values that a choice may have.
    """

    name: str
    description: str
    default: float | int | str
    kind: Literal["number", "integer", "choice", "word"] = "number"
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    identity: float | None = None
    strongest: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def sets_strength(self) -> bool:
        """Whether the strength of the transform depends on it."""
        return self.identity is not None

    @property
    def domain(self) -> str:
        """Which values it may have, in words.

        Example:
            >>> Parameter("angle", "How far.", 9.0, unit="degrees", low=-180, high=180, identity=0).domain
            '-180 to 180 degrees; 0 changes nothing'
        """
        if self.kind == "choice":
            return ", ".join(self.choices)
        if self.kind == "word":
            return "text"
        unit = f" {self.unit}" if self.unit else ""
        same = "" if self.identity is None else f"; {spelled(self.identity)} changes nothing"
        return f"{spelled(self.low)} to {spelled(self.high)}{unit}{same}"

    def document(self) -> dict[str, object]:
        """Return it as what JSON can hold."""
        names = ["name", "kind", "description", "default"]
        if self.kind in ("number", "integer"):
            names += ["unit", "low", "high", "identity", "strongest"]
        document: dict[str, object] = {name: getattr(self, name) for name in names}
        return document | ({"choices": list(self.choices)} if self.kind == "choice" else {})

    def at(self, amount: float) -> float | int:
        """Return the value at an amount from 0 (identity) to 1 (strongest), short enough to be read.

        Example:
            >>> Parameter("gain", "Factor.", 2.0, low=0, high=9, identity=1, strongest=0).at(1 / 3)
            0.6667
        """
        assert self.identity is not None
        assert self.strongest is not None
        if self.kind == "integer":
            return round(self.identity * (1 - amount) + self.strongest * amount)
        ends = sorted((self.identity, self.strongest))
        # What is rounded is the way from the identity, so that the least amount is still a change.
        way = shortened((self.strongest - self.identity) * amount)
        inside = min(max(shortened(self.identity + way, 15), ends[0]), ends[1])
        # Both ends are met exactly, however many digits they have.
        return self.strongest if amount == 1 else inside

    def checked(self, owner: str, value: object) -> float | int | str:
        """Return a value that may be used.

        Raises:
            InputError: It is of the wrong kind or out of range.
        """
        if self.kind in ("choice", "word"):
            return self._checked_text(owner, value)
        if isinstance(value, bool) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
            raise InputError(f"{owner}: {self.name} must be a number, got {value!r}")
        as_float = float(value)  # type: ignore[arg-type]
        if not self.low <= as_float <= self.high:  # NaN is refused as well
            unit = f" {self.unit}" if self.unit else ""
            limits = f"between {spelled(self.low)} and {spelled(self.high)}{unit}"
            raise InputError(f"{owner}: {self.name} must be {limits}, got {value!r}")
        if self.kind == "number":
            return as_float
        if as_float != round(as_float):
            raise InputError(f"{owner}: {self.name} must be a whole number, got {value!r}")
        return round(as_float)

    def _checked_text(self, owner: str, value: object) -> str:
        if not isinstance(value, str):
            raise InputError(f"{owner}: {self.name} must be text, got {value!r}")
        if self.kind == "choice" and value not in self.choices:
            raise InputError(f"{owner}: unknown {self.name} {value!r}; {suggest(value, self.choices)}")
        return value


def shortened(value: float, digits: int = 4) -> float:
    """Return the nearest number that has so few digits: what is computed shall not fill ids with digits.

    Example:
        >>> shortened(200 / 3), shortened(0.1 + 0.2, 15)
        (66.67, 0.3)
    """
    return float(f"{value:.{digits}g}")


def spelled(value: float | int | str) -> str:
    """Return a value as people write it, and exactly.

    Example:
        >>> spelled(30.0), spelled(0.1), spelled("edge")
        ('30', '0.1', 'edge')
    """
    return value if isinstance(value, str) else repr(value).removesuffix(".0")


def number(
    default: float,
    description: str = "",
    *,
    low: float,
    high: float,
    unit: str = "",
    identity: float | None = None,
    strongest: float | None = None,
    integer: bool = False,
) -> Any:
    """Declare a field of a transform that is a number; see :class:`Parameter`.

    A description that is not given is the one under "Attributes:", at the end of the transform's docstring.
    A number with an identity sets the transform's strength; its strongest value is `high` unless given.
    """
    if identity is not None and strongest is None:
        strongest = high
    kind: Literal["integer", "number"] = "integer" if integer else "number"
    return _field(Parameter("", description, default, kind, unit, low, high, identity, strongest))


def choice(default: str, description: str = "", choices: tuple[str, ...] = ()) -> Any:
    """Declare a field of a transform that is one of a few words; the description as for a number."""
    return _field(Parameter("", description, default, "choice", choices=choices))


def word(default: str, description: str = "") -> Any:
    """Declare a field of a transform that is any text, such as an element of the ontology; likewise."""
    return _field(Parameter("", description, default, "word"))


def _field(parameter: Parameter) -> Any:
    return dataclasses.field(default=parameter.default, metadata={_KEY: parameter})


def declared_parameters(kind: type) -> tuple[Parameter, ...]:
    """Return the parameters that the fields of a dataclass declare, in their order; realism is the last."""
    declared = [field for field in dataclasses.fields(kind) if _KEY in field.metadata]
    declared.sort(key=lambda field: field.name == "realism")
    docstrings = (cleandoc(owner.__doc__ or "") for owner in kind.__mro__)
    told = ChainMap(*(described(one, "Attributes")[1] for one in docstrings))
    return tuple(
        dataclasses.replace(
            one, name=field.name, description=one.description or told.get(field.name, ("", ""))[1]
        )
        for field in declared
        for one in [field.metadata[_KEY]]
    )


Presets = Mapping[str, Mapping[str, float | str]]
Kind = TypeVar("Kind", bound="type[Transform]")


@cache
def _presets() -> Mapping[str, Presets]:
    """Return what presets.yaml says, by transform."""
    file = read_yaml(Path(__file__).with_name("presets.yaml"), "file of presets", "transforms")
    return {
        kind: dict(one for name, values in told.items() for one in _numbered(name, values))
        for kind, told in file.data.items()
    }


def _numbered(name: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield a preset, or several with numbers, where parameters have lists of values."""
    count = next((len(one) for one in values.values() if isinstance(one, list)), 0)
    for k in range(count):
        yield (
            f"{name}-{k + 1}",
            {key: one[k] if isinstance(one, list) else one for key, one in values.items()},
        )
    if not count:
        yield name, values


_PLAIN = re.compile(r"[\w./-]+( [\w./-]+)*")
_NEEDS = {"labels": "a label map", "depth": "a depth map"}


class Keeps(StrEnum):
    """What a transform does to the label map, instances, boxes and depth of a frame."""

    LABELS = "labels stay true"
    """Every thing stays where it was: only the look of the image changes."""
    MOVED = "labels move with the image"
    """Every thing moves, and what is known about it moves with it."""
    EDITED = "labels are edited with the image"
    """Things come or go, in the image and in what is known about it."""
    NOTHING = "labels are void"
    """What was known does not hold for the changed image; it is left out."""


# After these, a thing is not where it was, or nobody knows.
_MOVING = (Keeps.MOVED, Keeps.NOTHING)


class Transform(ABC):
    """A change to a frame, with its parameters set.

    A kind of transform is a class derived from this one, which :func:`register` names and makes a frozen
    dataclass. Its fields are its parameters, made by `number`, `choice` and `word`.

    Class attributes:
        name: What users type; set by :func:`register`.
        family: Transforms that are alike, such as "blur".
        keeps: What becomes of the labels.
        needs: What a frame must have: "labels" or "depth".
        wants: What makes the change more realistic, and is estimated where that is possible.
        random: Whether it draws random numbers.
        presets: Named sets of parameters.

    Example:
        >>> import numpy as np
        >>> from roadworthy.frames import Frame
        >>> from roadworthy.transforms import make_transform
        >>> frame = Frame("drive/17", np.full((32, 48, 3), 90, np.uint8))
        >>> brighter = make_transform("brightness", bias=40)(frame)
        >>> brighter.id, brighter.image[0, 0].tolist()
        ('drive/17~brightness(bias=40)', [130, 130, 130])
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    family: ClassVar[str]
    keeps: ClassVar[Keeps] = Keeps.LABELS
    needs: ClassVar[tuple[str, ...]] = ()
    wants: ClassVar[tuple[str, ...]] = ()
    random: ClassVar[bool] = False
    presets: ClassVar[Presets] = MappingProxyType({})

    def __post_init__(self) -> None:
        for parameter in self.parameters():
            value = parameter.checked(self.name, getattr(self, parameter.name))
            object.__setattr__(self, parameter.name, value)

    @abstractmethod
    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        """Return the changed frame; its id, history and visual change are seen to by `__call__`.

        Raises:
            NotApplicable: The frame does not qualify; the message is the reason, without the frame's id.
        """

    def __call__(self, frame: Frame, rng: np.random.Generator | int = 0, *, measure: bool = True) -> Frame:
        """Return the frame with the change made; the frame given stays as it is.

        The frames before it (`previous`) are changed alike, with the same random numbers, so that what is on
        the lens stays where it is.

        Args:
            frame: The frame to change.
            rng: A random generator, or the seed of one. The same seed gives the same bytes.
            measure: Whether to measure the visual change Δv from this frame. It costs more than most
                changes; a search that does not look at it may leave it out.

        Raises:
            NotApplicable: The frame does not qualify or lacks what the transform needs, such as a label map.
            EngineError: The change crashed, or gave what is no image.
        """
        generator = np.random.default_rng(rng)
        if self.is_identity:
            return frame.replace(visual_change=0.0) if measure else frame
        state = generator.bit_generator.state
        changed = self._changed(frame, generator)
        end = generator.bit_generator.state
        previous = []
        for earlier in frame.previous:
            generator.bit_generator.state = state
            previous.append(self._changed(earlier, generator))
        generator.bit_generator.state = end
        name = f"{frame.id}~{self}"
        changed = changed.replace(id=name, previous=previous, visual_change=None, tolerated=None)
        return self.measured(frame, changed) if measure else changed

    def measured(self, original: Frame, changed: Frame) -> Frame:
        """Return a frame that this made of another, with its Δv and whether people tolerate so much of it.

        Example:
            >>> from roadworthy.datasets import load
            >>> from roadworthy.transforms import make_transform
            >>> frame, flatter = load("world:town", count=1)[0], make_transform("contrast", gain=0.5)
            >>> flatter(frame).tolerated, make_transform("contrast", gain=0.01)(frame).tolerated
            (True, False)
            >>> flatter(flatter(frame)).tolerated is None  # two changes, and people were shown one at a time
            True
        """
        change = reference_of(original).visual_change(changed.image)
        known = None if original.visual_change else self.tolerance
        tolerated = None if known is None else change <= known.limit()
        return changed.replace(visual_change=change, tolerated=tolerated)

    def _changed(self, frame: Frame, rng: np.random.Generator) -> Frame:
        try:
            frame = frame.with_known(*self.needs, *self.wants)
            for name in self.needs:
                if getattr(frame, name) is None:
                    known = f"{self.name} needs {_NEEDS[name]}, and the frame has none"
                    raise NotApplicable(f"{known}: {name}=street estimates one")
            changed = self.change(frame, rng)
            return without_places(changed) if self.keeps in _MOVING else changed
        except NotApplicable as error:
            if error.frame is not None:
                raise
            raise NotApplicable(error.reason, frame=frame.id) from error
        except (RoadworthyError, KeyboardInterrupt, MemoryError):
            raise
        except BaseException as error:
            # A change may be a user's own, and its crash, or sys.exit, is not the end of the run.
            raise EngineError(f"{self.name} raised {type(error).__name__}: {words_of(error)}") from error

    def on_image(self, image: Image, rng: np.random.Generator | int = 0) -> Image:
        """Return a changed image: height × width × 3, or height × width for a grey one.

        Example:
            >>> import numpy as np
            >>> from roadworthy.transforms import make_transform
            >>> make_transform("brightness", bias=40).on_image(np.full((2, 3), 90, np.uint8)).tolist()
            [[130, 130, 130], [130, 130, 130]]
        """
        if image.ndim == 2:
            # A grey image may come out coloured (a sky at dusk), so it is made grey again as the eye sees it.
            coloured = self.on_image(np.repeat(image[:, :, None], 3, axis=2), rng)
            grey: Image = np.rint(coloured @ np.array([0.299, 0.587, 0.114])).astype(np.uint8)
            return grey
        return self(Frame("image", image), rng, measure=False).image

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing: all parameters that set its strength are at their identity."""
        strengths = [one for one in self.parameters() if one.sets_strength]
        return bool(strengths) and all(getattr(self, one.name) == one.identity for one in strengths)

    @property
    def tolerance(self) -> Tolerance | None:
        """What people tolerate of this change, as published; None where nobody has shown it to them.

        They were shown less contrast and more light, not the other way round.
        """
        away = (
            (getattr(self, one.name) - one.identity) * (one.strongest - one.identity) < 0
            for one in self.parameters()
            if one.identity is not None and one.strongest is not None
        )
        return None if any(away) else known_tolerance(self.name)

    @property
    def settings(self) -> dict[str, float | int | str]:
        """The parameters by name."""
        return {one.name: getattr(self, one.name) for one in self.parameters()}

    def replace(self, **changes: float | int | str) -> Self:
        """Return the transform with some parameters changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def __str__(self) -> str:
        # The first tells what it is about; the others are shown where they set the strength or are unusual.
        first, *others = self.parameters() or (None,)
        shown = [one for one in others if one.sets_strength or getattr(self, one.name) != one.default]
        named = [one.name for one in ([first] if first else []) + shown]
        return f"{self.name}({', '.join(f'{name}={_text(getattr(self, name))}' for name in named)})"

    @classmethod
    @lru_cache
    def parameters(cls) -> tuple[Parameter, ...]:
        """Return what its parameters are."""
        return declared_parameters(cls)

    @classmethod
    def has_amount(cls) -> bool:
        """Return whether its strength can be set by one number from 0 to 1."""
        return any(one.sets_strength for one in cls.parameters())

    @classmethod
    def at(cls, amount: float, **fixed: float | int | str) -> Self:
        """Return the transform at an amount from 0, the identity, to 1, the strongest.

        Args:
            amount: All parameters that set the strength lie this far between identity and strongest, rounded
                to four digits so that ids can be read.
            fixed: Parameters that keep these values instead.

        Example:
            >>> from roadworthy.registry import transforms
            >>> str(transforms.get("rotation").at(0.5))
            'rotation(angle=15)'
        """
        if not cls.has_amount():
            raise InputError(f"{cls.name} has no amount: give its parameters instead")
        check_number(f"{cls.name}: an amount", amount, least=0, most=1)
        return cls(**{**cls.strengths(amount), **fixed})

    @classmethod
    def strengths(cls, amount: float) -> dict[str, float | int]:
        """Return the parameters that set the strength, for an amount from 0 to 1.

        They run evenly from identity to strongest; a kind for which another course is better says so here.
        """
        return {one.name: one.at(amount) for one in cls.parameters() if one.sets_strength}

    @classmethod
    def preset(cls, name: str, **changes: float | int | str) -> Self:
        """Return the transform with the parameters of a preset, some of them changed if given.

        Example:
            >>> from roadworthy.registry import transforms
            >>> str(transforms.get("rotation").preset("deeptest-2"))
            'rotation(angle=6)'
        """
        check_known(f"{cls.name} has no preset", name, cls.presets)
        return cls(**{**cls.presets[name], **changes})


class ImageTransform(Transform):
    """A change that looks at the image alone; labels, boxes and depth stay true."""

    @abstractmethod
    def change_image(self, image: Image, rng: np.random.Generator) -> Image:
        """Return the changed image, another array: RGB, uint8, of the same size."""

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        """Return the frame with the changed image."""
        return frame.replace(image=self.change_image(frame.image, rng))

    def on_image(self, image: Image, rng: np.random.Generator | int = 0) -> Image:
        """Return a changed image, as :meth:`Transform.on_image` does, without the cost of a frame."""
        if image.ndim != 3 or self.is_identity:
            return super().on_image(image, rng)
        return self.change_image(image, np.random.default_rng(rng))


@dataclass(frozen=True, kw_only=True)
class BelievableTransform(Transform):
    """A change that real frames get only where people believe the picture, unless any picture will do.

    Attributes:
        realism: On real frames, whether only what looks real is made, or whatever can be.
    """

    realism: str = choice("believable", choices=REALISM)

    def doubts(self, frame: Frame) -> bool:
        """Return whether a frame is changed only where people believe the picture."""
        return self.realism == "believable" and not frame.drawn

    def doubt(self, frame: Frame, reason: str) -> None:
        """Refuse a frame for a reason for which nobody would believe the picture; an empty one is none.

        Raises:
            NotApplicable: There is a reason; it says how the picture is made nevertheless.
        """
        if reason and self.doubts(frame):
            raise NotApplicable(f"{reason}; {DO_IT_ANYWAY}")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def register(name: str, *, summary: str, aliases: tuple[str, ...] = ()) -> Callable[[Kind], Kind]:
    """Return a decorator that makes a class a frozen dataclass, names it and adds it to the registry.

    Args:
        name: What users type.
        summary: One line that says what it does.
        aliases: Other names for it.
    """

    def decorate(kind: Kind) -> Kind:
        if "__dataclass_fields__" not in vars(kind):
            dataclass(frozen=True, kw_only=True)(kind)
        kind.name, kind.summary = name, summary
        kind.presets = {**kind.presets, **_presets().get(name, {})}
        return transforms.register(name, summary=summary, aliases=aliases)(kind)

    return decorate


# One frame is changed in many ways one after another, and half of the work is about the original alone.
@lru_cache(maxsize=4)
def reference_of(frame: Frame) -> ReferenceImage:
    """Return a frame as what changes are measured from; those of the last few frames are kept."""
    return ReferenceImage(frame.image)


def _text(value: float | int | str) -> str:
    """Return a value as `parse_transform` reads it."""
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        return json.dumps(value, ensure_ascii=False)
    return spelled(value)
