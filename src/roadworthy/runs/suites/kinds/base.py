"""What every kind of requirement has to say for itself, so that a suite can plan and run it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from roadworthy.cases import (
    Answers,
    BaseMethod,
    Case,
    CaseStream,
    Dataset,
    Method,
    Outcome,
    Requirement,
    Verdict,
)
from roadworthy.models import Simulator, SystemUnderTest
from roadworthy.runs.suites.forms import EntryForm
from roadworthy.runs.suites.opening import Facts, OpenedData
from roadworthy.transforms import Transform, UserEngine

F = TypeVar("F", bound=EntryForm)
T = TypeVar("T")


@dataclass(frozen=True)
class Context:
    """What the kinds must know about the suite.

    Attributes:
        folder: The folder that paths in the suite count from.
        seed: The seed of the suite.
        allow_commands: Whether engines of the user may run programs and code.
        sample: How many frames, tries or drives there are at most; None for all.
        files: The files that requirements were read from, by what a run calls them; the kinds add theirs.
        known: What a kind has read ahead, by a key of its own.
        engines: The image engines that may change frames, by name; the kinds add theirs.
        copies: A folder of copies of such files, which are read instead of the files themselves.
        data: The frames that were opened, by name.
    """

    folder: Path
    seed: int = 0
    allow_commands: bool = False
    sample: int | None = None
    files: dict[str, Path] = field(default_factory=dict)
    known: dict[tuple[str, str], Any] = field(default_factory=dict)
    engines: dict[str, UserEngine] = field(default_factory=dict)
    copies: Path | None = None
    data: dict[str, Dataset] = field(default_factory=dict)

    def located(self, path: str) -> Path:
        """Return a file that the suite names, and note that it is part of the suite."""
        name = included_name(path)
        found = self.folder / path
        if self.copies is not None and (self.copies / name).is_file():
            found = self.copies / name
        self.files[name] = found
        return found

    def read_engines(self, path: str) -> tuple[UserEngine, ...]:
        """Return the engines of a file that the suite names, or those that are shipped, and note them.

        Raises:
            InputError: Something in the file cannot be used.
        """
        from roadworthy.transforms.engines import is_named, read_engines

        if (key := ("engines", path)) in self.known:
            known: tuple[UserEngine, ...] = self.known[key]
            return known
        file = path if is_named(path) else self.located(path)
        found = self.known[key] = read_engines(file, allow_commands=self.allow_commands)
        for one in found:
            if self.engines.setdefault(one.name, one) != one:
                self.engines[f"{path}: {one.name}"] = one
        return found


def included_name(path: str) -> str:
    """Return what a file that a suite names is called in a run: as the suite has it, if it lies below.

    Where else it lies is not told: a manifest has no paths of a machine.

    Example:
        >>> included_name("rules/./paper.rules"), included_name("../mine.rules")
        ('rules/paper.rules', 'outside-7ffa248b/mine.rules')
    """
    plain = Path(os.path.normpath(path))
    if plain.is_absolute() or ".." in plain.parts:
        return f"outside-{sha256(plain.as_posix().encode('utf-8', 'replace')).hexdigest()[:8]}/{plain.name}"
    return plain.as_posix()


@dataclass(frozen=True, eq=False)
class Part(Generic[T]):
    """One of the requirements that an entry of a suite stands for.

    Attributes:
        name: What tells it from the others of the entry; empty where there is only this one.
        text: What must hold.
        parameters: The method's settings; anything that JSON can hold.
        inside: What the kind needs to try it.
        notes: What a reader should know about how it is read, a sentence each.
    """

    name: str
    text: str
    parameters: Mapping[str, Any]
    inside: T
    notes: tuple[str, ...] = ()


class OtherTask(str):
    """A reason why a model does not fit that is no news: it is for something else."""

    __slots__ = ()


class NoTruth(str):
    """A reason why a requirement that was not asked for by itself is left out: data without the truth."""

    __slots__ = ()


def other_task(facts: Facts, wanted: str, why: str) -> str:
    """Return why a model does not fit if it is for another task, as far as that is known.

    Args:
        facts: What is known about it.
        wanted: The task that it should be for.
        why: What it is needed for.
    """
    if facts.task in (None, wanted):
        return ""
    return OtherTask(f"{facts.model.name} is a model for {facts.task}, and {why}")


class Kind(ABC, Generic[F, T]):
    """A kind of requirement: how entries of a suite become requirements, and how those are tried."""

    name: ClassVar[str]
    forms: ClassVar[tuple[type[EntryForm], ...]]
    """What its entries may say; most kinds have one form."""
    needs_data: ClassVar[bool] = True
    changes_frames: ClassVar[bool] = True
    """Whether models are asked about frames that nobody has seen before."""
    one_at_a_time: ClassVar[bool] = False
    """Whether it follows the answers of the system, so that a run is about one requirement and system."""

    def no_rate(self, search: object) -> str:
        """Return why it accepts no share of failing cases, with this search; empty where it does."""
        return ""

    def may_end_early(self, part: Part[T]) -> bool:
        """Return whether its cases may come in any order, cluster by cluster, so that a run may end early."""
        return False

    def read_ahead(self, entries: Sequence[F], context: Context) -> None:
        """Read what many entries need together, where that is quicker than one by one."""

    @abstractmethod
    def parts(self, entry: F, context: Context) -> Iterator[Part[T]]:
        """Yield the requirements that an entry stands for.

        Raises:
            InputError: Something that it names cannot be used.
        """

    @abstractmethod
    def misfit(self, part: Part[T], facts: Facts) -> str:
        """Return why a model that can be asked cannot be tested by it on some data; empty where it can."""

    def unfit(self, part: Part[T], facts: Facts) -> str:
        """Return why a model cannot be tested by it on some data, nor asked about it; empty where it can."""
        return self.misfit(part, facts) or OtherTask(facts.unrecorded(changed=self.changes_frames))

    def variants(self, part: Part[T], facts: Facts) -> Sequence[Part[T]]:
        """Return the part as it is for a model; most are the same for all."""
        return [part]

    def signals(self, part: Part[T]) -> Collection[str]:
        """Return which signals of a model matter to it, so that what looks wrong with others is not noted."""
        return ("steering", "speed")

    def needs(self, part: Part[T]) -> Collection[str]:
        """Return what frames must have for it beside their image: "labels", "depth" or nothing.

        It is estimated where frames have none. What answers are compared with is no such need: it must be
        known.
        """
        return ()

    def steps(self, part: Part[T]) -> Collection[Transform]:
        """Return how it changes frames, where that is known before it is run."""
        return ()

    def notes(self, parts: Mapping[str, Part[T]], data: OpenedData) -> list[str]:
        """Return what a reader should know about requirements on some data, a sentence each."""
        return []

    @abstractmethod
    def method(self, parts: Mapping[str, Part[T]], context: Context) -> Method:
        """Return what tries requirements, given by their ids; they share data."""

    def learns_from(self, entry: F) -> Collection[str]:
        """Return the names of data that an entry learns from and is not tried on."""
        return ()

    def teach(self, method: Method, part: Part[T], context: Context, system: SystemUnderTest) -> None:
        """Let a method learn about a model before the first case; most need not."""

    def system(self, system: SystemUnderTest, part: Part[T]) -> SystemUnderTest:
        """Return a model as it is tested."""
        return system

    def simulator(self, part: Part[T], keep: Path | None = None) -> Simulator | None:
        """Return what answers cases that ask for a drive, and keeps the drives in the folder of a run."""
        return None

    def observed(self, part: Part[T], requirement: str, model: str, folder: Path) -> list[str]:
        """Return what files of a run tell that its rows do not, a sentence each."""
        return []

    @abstractmethod
    def cases(self, part: Part[T], frames: int) -> int:
        """Return how many cases there are for so many frames, at most or about."""

    def probed(self, part: Part[T], frames: int, of: int) -> tuple[Mapping[str, Any], float]:
        """Return the parameters for a short trial, and which part of all work it is.

        Args:
            part: What is tried.
            frames: On how many frames.
            of: Of how many.
        """
        return part.parameters, frames / of


class OfEach(BaseMethod):
    """Several methods as one: each tries its own requirements.

    Args:
        name: The name that requirements ask for.
        methods: The methods, by the ids of requirements; none of them searches.
    """

    def __init__(self, name: str, methods: Mapping[str, Method]) -> None:
        self.name = name
        self._methods = dict(methods)

    def cases(self, requirement: Requirement, data: Dataset, rng: np.random.Generator) -> CaseStream:
        """Yield the cases of the requirement's own method."""
        return self._methods[requirement.id].cases(requirement, data, rng)

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Judge by the requirement's own method."""
        return self._methods[case.requirement_id].judge(case, answers)

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        """Conclude as the requirement's own method does."""
        return self._methods[requirement.id].conclude(requirement, verdicts)
