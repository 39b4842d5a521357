"""Faults that are seeded into the tool, what it says about them, and the malfunctions they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, TypeAlias

from roadworthy._frozen import FrozenDict
from roadworthy._yaml import read_yaml
from roadworthy.cases import Prediction
from roadworthy.datasets import BaseDataset, load
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.models import FrameFunction

_FILE = Path(__file__).with_name("faults.yaml")

SOUND = 0.0
"""The size of a fault at which there is none: the sound counterpart."""

Kind: TypeAlias = Literal[
    "misses a fault", "reports a fault that is none", "reports a wrong number", "loses cases"
]


@dataclass(frozen=True)
class Malfunction:
    """A way in which the tool itself could be wrong.

    Attributes:
        id: A short name.
        method: The part of the tool.
        kind: What sort of error of the tool it is.
        text: What would happen.
        harm: Why that matters to whoever relies on the tool.
    """

    id: str
    method: str
    kind: Kind
    text: str
    harm: str


@dataclass(frozen=True)
class FaultBench:
    """Where faults are seeded.

    Attributes:
        folder: For files; each trial gets an empty one.
        seed: Of all that is drawn by lot.
        quick: Whether to use less data.
    """

    folder: Path
    seed: int = 0
    quick: bool = False


@dataclass(frozen=True)
class Sighting:
    """What the tool said.

    Attributes:
        found: Whether it reported the fault.
        said: Its report in a few words.
    """

    found: bool
    said: str

    @classmethod
    def of_number(cls, size: float, right: bool, said: str) -> Sighting:
        """Return one of a known number: right where a fault is found, wrong where there is none."""
        return cls(right != (size == SOUND), said)


Probe: TypeAlias = Callable[[float, FaultBench], Sighting]
"""Seeds a fault of a size and asks the tool; of size `SOUND` it seeds nothing."""


@dataclass(frozen=True)
class SeededFault:
    """A fault that is seeded, and its sound counterpart.

    Attributes:
        id: A short name.
        malfunction: The id of the malfunction of the tool that would let it through.
        text: What is broken.
        sound: What the counterpart is like, about which the tool must say nothing.
        probe: Seeds it.
        sizes: How large it is made, the smallest first.
        unit: What sizes are told in, ``"px"`` or ``"frame(s)"``; may hold a place for the number,
            ``"{} of 24 frames"``. Empty for a fault that is there or not.
        expected: The smallest size that must be found; None where it is known that none is.
        limitation: Why smaller ones, or all, are not found.
        quick: Whether it belongs to the quick self-test as well.
        extra: What must be installed.

    Raises:
        InputError: The sizes do not grow, or nothing says why a fault is not found.

    Example:
        >>> look = lambda size, bench: Sighting(size > 1, "")
        >>> SeededFault("f", "m", "broken", "whole", look, (1.0, 2.0), "px", 2.0)
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: fault f: sizes below 2.0 need not be found, so say why (limitation)
    """

    id: str
    malfunction: str
    text: str
    sound: str
    probe: Probe = field(repr=False, compare=False)
    sizes: Sequence[float] = (1.0,)
    unit: str = ""
    expected: float | None = 1.0
    limitation: str = ""
    quick: bool = True
    extra: str = ""

    def __post_init__(self) -> None:
        if not self.sizes or list(self.sizes) != sorted({*self.sizes}) or self.sizes[0] <= SOUND:
            raise InputError(f"fault {self.id}: sizes must be above 0 and grow, got {self.sizes}")
        if self.expected is None and not self.limitation:
            raise InputError(f"fault {self.id}: none of it is found, so say why (limitation)")
        if self.expected is not None and self.expected not in self.sizes:
            raise InputError(f"fault {self.id}: {self.expected} is none of its sizes {self.sizes}")
        if self.expected is not None and self.expected > self.sizes[0] and not self.limitation:
            raise InputError(
                f"fault {self.id}: sizes below {self.expected} need not be found, so say why (limitation)"
            )

    @property
    def method(self) -> str:
        """The part of the tool that must find it."""
        return self.id.partition("/")[0]

    def told(self, size: float) -> str:
        """Return a size in words.

        Example:
            >>> one = SeededFault("f", "m", "shifted", "in place", lambda *_: Sighting(True, ""), unit="px")
            >>> one.told(2.0), one.told(SOUND)
            ('2 px', 'none')
        """
        if size == SOUND:
            return "none"
        if not self.unit:
            return "seeded"
        unit = self.unit.replace("(s)", "" if size == 1 else "s")
        return unit.format(f"{size:g}") if "{}" in unit else f"{size:g} {unit}"


class FaultStanding(StrEnum):
    """What became of a seeded fault, the worst first."""

    CRASHED = "failed"
    FALSE_ALARM = "false alarm"
    MISSED = "missed"
    NOT_RUN = "not run"
    KNOWN = "known miss"
    BETTER = "found, not promised"
    FOUND = "found"


@dataclass(frozen=True)
class FaultResult:
    """What the tool said about one fault in all its sizes.

    Attributes:
        fault: The fault.
        sound: What it said about the sound counterpart.
        seen: What it said about each size that was tried.
        seconds: How long that took.
        trouble: Why it could not be tried.
        crashed: Whether that is an error of ours, and not something that is not installed.
    """

    fault: SeededFault
    sound: Sighting | None
    seen: dict[float, Sighting]
    seconds: float = 0.0
    trouble: str = ""
    crashed: bool = False

    @cached_property
    def standing(self) -> FaultStanding:
        """What became of it."""
        if self.trouble:
            return FaultStanding.CRASHED if self.crashed else FaultStanding.NOT_RUN
        if self.sound is not None and self.sound.found:
            return FaultStanding.FALSE_ALARM
        expected = self.fault.expected
        if expected is None:
            return FaultStanding.BETTER if self.limit is not None else FaultStanding.KNOWN
        must = [one.found for size, one in self.seen.items() if size >= expected]
        return FaultStanding.FOUND if all(must) else FaultStanding.MISSED

    @property
    def good(self) -> bool:
        """Whether the tool did what is claimed of it; a fault that could not be tried is not held against."""
        return self.standing not in (FaultStanding.CRASHED, FaultStanding.FALSE_ALARM, FaultStanding.MISSED)

    def complaints(self) -> list[str]:
        """Return what is wrong with it, with what the tool said; nothing where it is good."""
        if self.good:
            return []
        if self.trouble:
            return [f"{self.fault.id}: {self.trouble}"]
        lines = []
        if self.sound is not None and self.sound.found:
            lines.append(f"{self.fault.id}: false alarm about {self.fault.sound}: {self.sound.said}")
        expected = self.fault.expected
        return lines + [
            f"{self.fault.id}: {told} {'were' if told.endswith('s') else 'was'} missed: {seen.said}"
            for size, seen in self.seen.items()
            for told in [self.fault.told(size)]
            if expected is not None and size >= expected and not seen.found
        ]

    @property
    def limit(self) -> float | None:
        """The detection limit: the smallest size from which on all were found; None if the largest was not.

        Example:
            >>> look = lambda *_: Sighting(True, "")
            >>> fault = SeededFault("f", "m", "shifted", "in place", look, (1.0, 2.0, 4.0))
            >>> said = {1.0: Sighting(True, ""), 2.0: Sighting(False, ""), 4.0: Sighting(True, "")}
            >>> FaultResult(fault, Sighting(False, ""), said).limit
            4.0
        """
        largest_first = sorted(self.seen, reverse=True)
        return min(takewhile(lambda size: self.seen[size].found, largest_first), default=None)


class Frames(BaseDataset):
    """A data set of frames that are there already.

    Example:
        >>> import numpy as np
        >>> data = Frames("two", [Frame(id, np.zeros((2, 2, 3), np.uint8)) for id in "ab"])
        >>> data.ids, data[-1]
        (('a', 'b'), Frame('b', 2x2))
    """

    def __init__(self, name: str, frames: Sequence[Frame]) -> None:
        super().__init__(name, [frame.id for frame in frames])
        self._frames = tuple(frames)

    def read(self, number: int) -> Frame:
        """Return a frame."""
        return self._frames[number]


@lru_cache(maxsize=8)
def world_frames(count: int, seed: int, size: str = "160x80") -> Frames:
    """Return frames of the built-in world, which are drawn once.

    Example:
        >>> world_frames(2, 0, "32x16").ids
        ('town-000000', 'town-000001')
    """
    return Frames("town", list(load("world:town", count=count, seed=seed, size=size, traffic=3)))


def answering(answer: Callable[[Frame], Prediction], timeout: float | None = None) -> FrameFunction:
    """Return a system under test that answers frame by frame.

    Example:
        >>> from roadworthy.frames import Signals
        >>> answering(lambda frame: Signals(speed=8.0)).predict(list(world_frames(2, 0, "32x16")))[0].speed
        8.0
    """
    return FrameFunction("seeded", lambda frames: [answer(frame) for frame in frames], timeout)


@cache
def _described() -> dict[str, Any]:
    return read_yaml(_FILE, "file of faults", "malfunctions and faults").data


def described(method: str, probes: Mapping[str, Probe]) -> tuple[SeededFault, ...]:
    """Return the faults of a method as ``faults.yaml`` describes them.

    Args:
        method: The part of the tool that must find them.
        probes: What seeds each, by its name. Where the file does not say from which size on it must be found,
            that is the smallest.

    Example:
        >>> described("evidence", dict.fromkeys(_described()["faults"]["evidence"], Sighting))[0].id
        'evidence/flipped verdict'
    """
    found = []
    faults = _described()["faults"][method]
    assert probes.keys() == faults.keys(), "each is described and probed"
    for name, said in faults.items():
        sizes = tuple(map(float, said.get("sizes", [1.0])))
        expected = said.get("expected", sizes[0])
        sure = None if expected is None else float(expected)
        facts = {**said, "sizes": sizes, "expected": sure, "probe": probes[name]}
        found.append(SeededFault(f"{method}/{name}", **facts))
    return tuple(found)


METHODS = ("rules", "coverage", "reliability", "bbsl", "driving", "labels", "runs", "evidence")
"""The parts of the tool that are tested."""


def false_alarm_of(method: str) -> str:
    """Return the id of the malfunction that the sound counterparts of a method try.

    Example:
        >>> false_alarm_of("rules")
        'rules/false alarm'
    """
    return f"{method}/false alarm"


MALFUNCTIONS: Mapping[str, Malfunction] = FrozenDict(
    {id: Malfunction(id, id.partition("/")[0], **said) for id, said in _described()["malfunctions"].items()}
)
"""All of them by their ids. Those of false alarms are tried by the sound counterpart of every fault."""
