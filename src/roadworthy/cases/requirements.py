"""The checks behind the constructors of this package."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final, TypeAlias, TypeVar

import numpy as np

from roadworthy._frozen import FrozenDict, frozen
from roadworthy.errors import InputError, check_number, told_as
from roadworthy.frames import Frame

_StrEnum = TypeVar("_StrEnum", bound=StrEnum)
_PLAIN = frozenset((bool, float, str))


def check_text(what: str, value: object, *about: object) -> None:
    """Refuse anything but a string with something in it.

    Args:
        what: What it is; ``%r`` in it stands for what it is about, which is put in only where it is refused.
        value: The string.
        about: What it is about.

    Example:
        >>> check_text("the requirement of case %r", "R1", "drive/17")
    """
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{what % about if about else what} must be a non-empty string, got {value!r}")


def as_enum(what: str, kind: type[_StrEnum], value: str, *about: object) -> _StrEnum:
    """Return the member of an enumeration that a value names; ``what`` is as for `check_text`.

    Example:
        >>> from roadworthy.cases import Severity
        >>> as_enum("the severity", Severity, "minor")
        <Severity.MINOR: 'minor'>
    """
    if isinstance(value, kind):
        return value
    try:
        return kind(value)
    except ValueError:
        told = f"{what % about if about else what} must be one of {', '.join(kind)}, got {value!r}"
        raise InputError(told) from None


def as_scalars(what: str, values: Mapping[str, Scalar], *about: object) -> FrozenDict[str, Scalar]:
    """Return a flat copy with plain Python values, without the names whose value is None.

    ``what`` is as for `check_text`.

    Example:
        >>> as_scalars("the measures", {"speed": np.float32(0.5), "objects": np.int8(3), "gap": None})
        {'speed': 0.5, 'objects': 3}
    """
    flat: dict[str, Scalar] = {}
    for name, value in values.items():
        kind = type(value)
        is_plain = kind in _PLAIN or (kind is int and -(2**63) <= value < 2**63)  # type: ignore[operator]
        if is_plain and type(name) is str and name.strip():
            flat[name] = value
            continue
        what, about = what % about if about else what, ()
        check_text(f"a name in {what}", name)
        plain = value.item() if isinstance(value, np.generic) else value
        if plain is None:
            continue
        if not isinstance(plain, bool | int | float | str):
            raise InputError(
                f"{name!r} in {what} must be a bool, int, float or str, got {type(plain).__name__}"
            )
        if isinstance(plain, int) and not -(2**63) <= plain < 2**63:
            raise InputError(f"{name!r} in {what} must fit into 64 bits with a sign, got {plain}")
        flat[name] = plain
    return FrozenDict(flat)


def as_json(what: str, values: Mapping[str, object]) -> FrozenDict[str, object]:
    """Return a copy made of what JSON can hold.

    Example:
        >>> as_json("the parameters", {"levels": (1, 2)})
        {'levels': [1, 2]}
    """
    for name in values:
        check_text(f"a name in {what}", name)
    with told_as(InputError, f"{what} must be what JSON can hold", TypeError, ValueError):
        copy: dict[str, object] = json.loads(json.dumps(dict(values), allow_nan=False))
    return frozen(copy)


Scalar: TypeAlias = bool | int | float | str | None
"""What a parameter or measure may be, so that a case is one flat row of a table."""

FrameSource: TypeAlias = Frame | Callable[[], Frame]
"""A frame, or a picklable callable that makes it in whichever process runs the case.

A callable that cannot make its frame raises :class:`~roadworthy.errors.NotApplicable` with the reason.
It brings its own randomness, drawn from the ``rng`` that ``cases`` was given.
"""


class Severity(StrEnum):
    """How bad it is when a requirement is violated."""

    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class Decision(StrEnum):
    """What decides that a requirement is violated: the lower bound of its failure rate, or the rate seen."""

    BOUND = "bound"
    ESTIMATE = "estimate"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What is accepted: how many cases may fail, and how sure one wants to be of it.

    Args:
        max_rate: The largest share of the applicable cases that may fail; with 0, none of those tried.
        confidence: The confidence of the bounds of that share, each one-sided.
        decide: What decides that it is violated.
        early: Whether the run ends as soon as a bound decides: bounds then hold at every look.

    Example:
        >>> Acceptance(0.05).confidence
        0.95
        >>> Acceptance(5)
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: max_rate must be a share from 0 to 1, got 5
    """

    max_rate: float = 0.0
    confidence: float = 0.95
    decide: Decision = Decision.BOUND
    early: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "decide", as_enum("decide", Decision, self.decide))
        for name in ("max_rate", "confidence"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"{name} must be a share from 0 to 1, got {value!r}")
            object.__setattr__(self, name, float(value))
        check_number("confidence", self.confidence, above=0, below=1)
        if self.early and not 0 < self.max_rate < 1:
            raise InputError(
                f"only a rate between 0 and 1 can be decided early, got {self.max_rate:g}: accept a rate"
            )


@dataclass(frozen=True, slots=True)
class Requirement:
    """What must hold for the system under test.

    Args:
        id: The name by which rows, reports and safety cases refer to it.
        text: What must hold, in the words of its author.
        method: The name of the method that tests it, such as ``"rules"``.
        parameters: The method's settings; anything that JSON can hold.
        tags: Operating-domain terms, standard clauses and the like.
        severity: How bad a violation is.
        acceptance: How many cases may fail. Methods that conclude from something else than the share of
            failing cases, such as a reliability distance, have criteria of their own in their parameters.

    Example:
        >>> r = Requirement("R1", "The mirror image steers the other way", "mirror", {"tolerance": 1.0})
        >>> r.severity
        <Severity.MAJOR: 'major'>
        >>> Requirement("", "Slow down at night", "rules")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: a requirement's id must be a non-empty string, got ''
    """

    id: str
    text: str
    method: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    severity: Severity = Severity.MAJOR
    acceptance: Acceptance = Acceptance()

    def __post_init__(self) -> None:
        if not isinstance(self.acceptance, Acceptance):
            raise InputError(f"acceptance must be an Acceptance, got {self.acceptance!r}")
        for name in ("id", "text", "method"):
            check_text(f"a requirement's {name}", getattr(self, name))
        what = f"requirement {self.id!r}"
        object.__setattr__(self, "parameters", as_json(f"the parameters of {what}", self.parameters))
        object.__setattr__(self, "severity", as_enum(f"the severity of {what}", Severity, self.severity))
        if isinstance(self.tags, str):
            raise InputError(f"the tags of {what} must be a list of strings, got {self.tags!r}")
        object.__setattr__(self, "tags", tuple(self.tags))
        for tag in self.tags:
            check_text(f"a tag of {what}", tag)


@dataclass(frozen=True, eq=False)
class Predict:
    """Asks for one prediction per frame.

    The frames may be shared: a runner makes and predicts a source that several cases of a batch hold
    only once, so a method can yield one case per object of a frame at no cost.

    Args:
        frames: The frames, or what makes them.
        observed: Whether the answer shall also tell what happened inside the system, from the same pass; the
            system must be one that can be observed.
    """

    frames: tuple[FrameSource, ...]
    observed: bool = False

    def __post_init__(self) -> None:
        if type(self.frames) is not tuple:
            object.__setattr__(self, "frames", tuple(self.frames))
        if not self.frames:
            raise InputError("Predict must ask about at least one frame, got none")
        for source in self.frames:
            if not isinstance(source, Frame) and not callable(source):
                raise InputError(
                    f"Predict takes frames, or callables that make them, got {type(source).__name__}"
                )


@dataclass(frozen=True, eq=False)
class RecordDrive:
    """Asks for a recorded drive of the system under test through a scenario in a simulator.

    Like a frame, one ``RecordDrive`` object that several cases of a batch hold (one per road sector, say) is
    driven once.
    """

    scenario: object


Ask: TypeAlias = Predict | RecordDrive
"""What a case may ask of the system under test."""


@dataclass(frozen=True, eq=False)  # without slots, which Python pickles ten times as slowly
class Case:
    """One trial of a requirement: it names what it asks; changed frames are made where it runs.

    Args:
        id: The case's name, unique among the cases of its requirement and the same in every run with
            the same seed.
        requirement_id: The requirement that it tries.
        asks: What the system under test has to do, in the order of the answers.
        parameters: What was changed and by how much: one flat row. None stands for "not known" and is
            left out.
        cluster: The drive, clip, lap, scene or frame that it comes from. Where a method does not say, the
            runner takes that of its frame, from the data set.

    Example:
        >>> import numpy as np
        >>> frame = Frame("drive/17", np.zeros((4, 6, 3), np.uint8))
        >>> case = Case("drive/17", "R1", (Predict((frame, frame.mirrored)),), {"axis": "x", "amount": None})
        >>> case.parameters
        {'axis': 'x'}
    """

    id: str
    requirement_id: str
    asks: tuple[Ask, ...]
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    cluster: str = ""

    def __post_init__(self) -> None:
        check_text("a case's id", self.id)
        check_text("the requirement_id of case %r", self.requirement_id, self.id)
        if type(self.asks) is not tuple:
            object.__setattr__(self, "asks", tuple(self.asks))
        if not self.asks:
            raise InputError(f"case {self.id!r} must ask something of the system under test, got no asks")
        for ask in self.asks:
            if not isinstance(ask, (Predict, RecordDrive)):
                raise InputError(f"case {self.id!r} can ask Predict or RecordDrive, not {type(ask).__name__}")
        parameters = as_scalars("the parameters of case %r", self.parameters, self.id)
        object.__setattr__(self, "parameters", parameters)


class AwaitVerdicts(Enum):
    """The type of :data:`AWAIT_VERDICTS`."""

    TOKEN = "await verdicts"


AWAIT_VERDICTS: Final = AwaitVerdicts.TOKEN
"""Yielded by a search: feed back the verdicts of all cases yielded so far before asking for the next."""

CaseStream: TypeAlias = Iterator[Case | AwaitVerdicts]
"""What a method makes of a requirement and data, one after the other."""
