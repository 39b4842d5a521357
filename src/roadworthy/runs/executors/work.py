"""What is done with a batch of cases, of which the images are kept, and what an executor has to do."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypeAlias, get_args

from roadworthy.cases import (
    BaseMethod,
    Case,
    Dataset,
    FramewiseMethod,
    Method,
    Original,
    Requirement,
    Status,
    Verdict,
    ids_of,
)
from roadworthy.errors import check_choice, check_number
from roadworthy.frames import Frame
from roadworthy.images import encode_image
from roadworthy.models import Simulator, SystemUnderTest
from roadworthy.runs.batches import (
    Answered,
    Made,
    distinct_sources,
    frames_of,
    group,
    looked_at,
    make_frames,
    rounds,
    with_visual_change,
)
from roadworthy.runs.gate import REFUSED, Gate
from roadworthy.runs.store.parts import RowBlock
from roadworthy.runs.store.rows import row_of
from roadworthy.seeding import rng_for

if TYPE_CHECKING:
    from roadworthy.runs.shards import Shard

ImageRetention: TypeAlias = Literal["failures", "sample", "all", "none"]
"""Of which cases the frames are stored; failures are violations, errors and what the gate refuses, a sample
has some passes, too."""

SAMPLE = 0.01
"""The share of the other cases that a sample keeps, when nothing else is said."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Says of which cases the images are kept; the same for the same case, wherever it is asked.

    Args:
        images: Of which cases.
        passes: The share of the other cases with a verdict that are kept as well, drawn by lot.
        seed: Of the lot.

    Raises:
        InputError: There is no such kind, or the share is none.

    Example:
        >>> from roadworthy.cases import RecordDrive
        >>> case = Case("lap 1", "R1", (RecordDrive("oval"),))
        >>> [Retention(kind).keeps(case, Verdict.from_margin(case, -0.4)) for kind in ("failures", "none")]
        [True, False]
    """

    images: ImageRetention = "failures"
    passes: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("images", self.images, get_args(ImageRetention))
        check_number("passes", self.passes, least=0, most=1)

    def keeps(self, case: Case, verdict: Verdict) -> bool:
        """Return whether the frames of a case are kept."""
        if self.images in ("all", "none"):
            return self.images == "all"
        if verdict.status in (Status.VIOLATED, Status.ERROR) or REFUSED in verdict.measures:
            return True
        share = self.passes or (SAMPLE if self.images == "sample" else 0.0)
        if not share or verdict.margin is None:
            return False
        return bool(rng_for(self.seed, "keep", case.id).random() < share)


Frames: TypeAlias = Sequence[Sequence[Made]]
"""What was made of the sources of each case."""

Pair: TypeAlias = tuple[str, str]
"""The id of a requirement and the name of a system."""


@dataclass(frozen=True, eq=False)
class BatchJob:
    """What all batches of a run have in common.

    Attributes:
        method: What judges.
        systems: The systems under test, by name.
        tested: What is tested on what.
        batch_size: The most frames that a system gets at a time.
        retention: Of which cases the images are kept.
        simulator: What answers cases that ask for a drive.
        data: The frames; cases that speak of it need not carry it.
        gate: What looks at changed frames before a system is asked; None for nothing.
        rows: Whether finished rows come back, where nobody has to be told the verdicts.
        requirements: What is tested, by id.
        seed: Of the cases.
        shard: The share of the batches that is carried out; None for all.
    """

    method: Method
    systems: Mapping[str, SystemUnderTest]
    tested: frozenset[Pair]
    batch_size: int
    retention: Retention = field(default_factory=Retention)
    simulator: Simulator | None = None
    data: Dataset | None = None
    gate: Gate | None = None
    rows: bool = False
    requirements: Mapping[str, Requirement] = field(default_factory=dict)
    seed: int = 0
    shard: Shard | None = None

    @cached_property
    def stretches(self) -> int:
        """How many stretches of frames there are whose cases anybody can make; 0 where the driver must.

        A stretch has as many frames as a batch may have, and no batch has cases of two. So batches are the
        same whoever makes them, and however many stretches are made at a time.
        """
        is_framewise = getattr(type(self.method), "cases", None) is FramewiseMethod.cases
        if not is_framewise or not self.rows or self._known is None:
            return 0
        return -(-len(self._known[0]) // self.batch_size)

    @cached_property
    def _known(self) -> tuple[Sequence[str], Sequence[str], int] | None:
        """The ids of the frames, what each belongs to, and the key of their chances."""
        ids = None if self.data is None else ids_of(self.data)
        if ids is None:
            return None
        key = int(rng_for(self.seed, "cases").integers(2**63))
        clusters: Sequence[str] | None = getattr(self.data, "clusters", None)
        return ids, ids if clusters is None else clusters, key

    def batches(self, stretches: range) -> Iterator[list[Case]]:
        """Yield the batches of some stretches."""
        for number in stretches:
            streams = {id: self._cases(one, number) for id, one in self.requirements.items()}
            for batch in group(rounds(streams), self.batch_size):
                if self.shard is None or self.shard.has(batch):
                    yield batch

    def _cases(self, requirement: Requirement, stretch: int) -> Iterator[Case]:
        assert isinstance(self.method, FramewiseMethod)
        assert self.data is not None
        assert self._known is not None
        ids, clusters, key = self._known
        first = stretch * self.batch_size
        for number in range(first, min(first + self.batch_size, len(ids))):
            original = Original(self.data, number)
            for case in self.method.frame_cases(requirement, ids[number], original, key):
                if not case.cluster:
                    # Nobody has seen the case yet, and a copy would check everything in it again.
                    object.__setattr__(case, "cluster", clusters[number])
                yield case


@dataclass(frozen=True, eq=False)
class WorkUnit:
    """What is sent to a worker at a time: cases, and the systems that are asked about them.

    Attributes:
        cases: The cases.
        systems: The names of the systems.
        blame: Where it is not empty no system is asked: each case is an error, for this reason.
        sizes: How many of the cases are in its first, second … batch; empty where all are one batch.
        stretches: Those whose cases the worker makes itself, where it is given none.
    """

    cases: tuple[Case, ...]
    systems: tuple[str, ...]
    blame: str = ""
    sizes: tuple[int, ...] = ()
    stretches: range = range(0)

    def batches(self, job: BatchJob) -> Iterator[WorkUnit]:
        """Yield its batches: what a network answers may depend on what else is in its batch."""
        for batch in job.batches(self.stretches):
            yield WorkUnit(tuple(batch), self.systems)
        if self.stretches:
            return
        stop = 0
        for size in self.sizes or (len(self.cases),):
            start, stop = stop, stop + size
            yield replace(self, cases=self.cases[start:stop], sizes=())


Spent: TypeAlias = defaultdict[tuple[str, int | str], float]
"""Seconds, by the id of a requirement and the number of a frame, for making it, or the name of a system."""


@dataclass(slots=True)
class Cost:
    """What it took to test a requirement, in seconds, as if it had been tested alone.

    Attributes:
        making: For making the first, second … frame of its cases, all processes together.
        evaluating: For asking each system and judging its answers.
    """

    making: list[float] = field(default_factory=list)
    evaluating: dict[str, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self.making) + sum(self.evaluating.values())

    def plus(self, other: Cost) -> Cost:
        """Return both together."""
        making = [sum(each) for each in zip_longest(self.making, other.making, fillvalue=0.0)]
        systems = (*self.evaluating, *other.evaluating)
        both = {one: self.evaluating.get(one, 0.0) + other.evaluating.get(one, 0.0) for one in systems}
        return Cost(making, both)

    @classmethod
    def of(cls, requirement: str, spent: Spent) -> Cost:
        """Return what was spent on a requirement."""
        own = {what: seconds for (id, what), seconds in spent.items() if id == requirement}
        making = [seconds for number, seconds in own.items() if isinstance(number, int)]
        return cls(making, {name: seconds for name, seconds in own.items() if isinstance(name, str)})


@dataclass(frozen=True)
class BatchResult:
    """What became of one case on one system, where somebody is told the verdict.

    Attributes:
        place: The number of the case in its batch.
        system: The name of the system.
        verdict: The verdict, with its visual change.
        images: The SHA-256 of the images to keep, among those of all results.
    """

    place: int
    system: str
    verdict: Verdict
    images: tuple[str, ...] = ()


@dataclass
class Done:
    """What became of a batch.

    Attributes:
        results: One for each case and system that is tested on it, system after system; or else
        rows: The finished rows of each requirement on each system.
        images: The images to keep, as PNG files, by their SHA-256.
        spent: What it took.
        error: What ended the work early: a bug, or something that cannot be used.
        seconds: How long all of it took.
    """

    results: list[BatchResult] = field(default_factory=list)
    rows: defaultdict[Pair, RowBlock] = field(default_factory=lambda: defaultdict(RowBlock))
    images: dict[str, bytes] = field(default_factory=dict)
    spent: Spent = field(default_factory=lambda: defaultdict(float))
    error: Exception | None = None
    seconds: float = 0.0

    def add(self, job: BatchJob, place: int, case: Case, system: str, verdict: Verdict, *images: str) -> None:
        """Add the verdict on a case, with its visual change, and the SHA-256 of its images."""
        if job.rows:
            self.rows[case.requirement_id, system].add(row_of(case, verdict, system, images))
        else:
            # A clue may hold whole frames.
            told = verdict if verdict.clue is None or listens(job.method) else replace(verdict, clue=None)
            self.results.append(BatchResult(place, system, told, images))

    def join(self, later: Done, places: Sequence[int]) -> None:
        """Add what became of other cases, given their numbers in the batch."""
        self.results += [replace(one, place=places[one.place]) for one in later.results]
        for pair, block in later.rows.items():
            self.rows[pair].join(block)
        self.images |= later.images
        for what, seconds in later.spent.items():
            self.spent[what] += seconds
        self.error = later.error
        self.seconds += later.seconds


def carry(job: BatchJob, unit: WorkUnit) -> Done:
    """Make the frames of some cases, ask the systems, judge the answers.

    It depends on its arguments only and changes nothing, so it may run anywhere, and again.

    Args:
        job: What all batches of the run have in common.
        unit: The cases.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.cases import BaseMethod, Predict
        >>> class Turns(BaseMethod):
        ...     name = "turns"
        ...     def cases(self, requirement, data, rng):
        ...         yield from (Case(one.id, requirement.id, (Predict((one,)),)) for one in data)
        ...     def judge(self, case, answers):
        ...         return Verdict.from_margin(case, 5 - abs(answers.predicted().signal("steering")[0]))
        >>> from roadworthy.models import Truth
        >>> job = BatchJob(Turns(), {"truth": Truth()}, frozenset({("R1", "truth")}), 32)
        >>> frame = load("world:town", count=1)[0]
        >>> done = carry(job, WorkUnit((Case("one", "R1", (Predict((frame,)),)),), ("truth",)))
        >>> [str(one.verdict.status) for one in done.results]
        ['passed']
    """
    done = Done()
    start = time.perf_counter()
    try:
        for batch in unit.batches(job):
            sources, asked = distinct_sources(batch.cases)
            found = looked_at(job.gate, sources, make_frames(sources))
            for case, numbers in zip(batch.cases, asked, strict=True):
                for place, number in enumerate(numbers):
                    seconds = 0.0 if isinstance(sources[number], Frame) else found[number].seconds
                    done.spent[case.requirement_id, place] += seconds
            made = [[found[number] for number in numbers] for numbers in asked]
            kept: dict[int, str] = {}
            for name in batch.systems:
                _answer(job, batch, name, made, done, kept)
    except Exception as error:
        # What was judged before it counts.
        done.error = error
    done.seconds = time.perf_counter() - start
    return done


def listens(method: Method) -> bool:
    """Return whether a method does something with the verdicts it is told."""
    return getattr(type(method), "feedback", None) is not BaseMethod.feedback


def _answer(job: BatchJob, unit: WorkUnit, name: str, made: Frames, done: Done, kept: dict[int, str]) -> None:
    """Add the results of one system."""
    places = [
        place for place, case in enumerate(unit.cases) if (case.requirement_id, name) in job.tested
    ]  # fmt: skip
    cases, frames = [unit.cases[place] for place in places], [made[place] for place in places]
    each, verdicts = _verdicts(job, cases, name, frames, unit.blame)
    start = time.perf_counter()
    for place, case, (verdict, shown) in zip(places, cases, verdicts, strict=True):
        seconds = time.perf_counter() - start
        if verdict.margin is not None:
            seconds += each * len(shown)
        keeps = job.retention.keeps(case, verdict)
        images = [_kept(frame, done, kept) for frame in shown] if keeps else ()
        done.add(job, place, case, name, with_visual_change(case, verdict, shown), *images)
        done.spent[case.requirement_id, name] += seconds
        start = time.perf_counter()


def _verdicts(
    job: BatchJob, cases: Sequence[Case], name: str, frames: Frames, blame: str
) -> tuple[float, Iterator[tuple[Verdict, tuple[Frame, ...]]]]:
    """Return how long the system took for a frame, and the verdicts."""
    if blame:
        failed = (Verdict.error(case, blame) for case in cases)
        return 0.0, zip(failed, map(frames_of, frames), strict=True)
    answered = Answered(cases, job.systems[name], job.batch_size, frames, job.simulator)
    return answered.seconds / max(1, answered.asked), answered.judged(job.method)


def _kept(frame: Frame, done: Done, kept: dict[int, str]) -> str:
    """Return the SHA-256 of a frame among the images; encoding takes long, and many share theirs."""
    if id(frame) not in kept:
        content = encode_image(frame.image, ".png")
        kept[id(frame)] = sha256(content).hexdigest()
        done.images[kept[id(frame)]] = content
    return kept[id(frame)]


class Session(Protocol):
    """Where the batches of one run are carried out."""

    ahead: int
    """How many batches may wait for their turn."""

    makes_cases: bool
    """Whether workers have the data, and so can make cases themselves."""

    def submit(self, unit: WorkUnit, /) -> Callable[[], Done]:
        """Begin with a batch, now or later; what is returned waits for it."""


class Executor(Protocol):
    """Carries out batches of cases: here, in other processes, on a cluster.

    It decides where and when, never what: batches are made by whoever hands them in, and everyone does with
    them what :func:`~roadworthy.runs.executors.work.carry` does.
    """

    name: str
    """What it is called on the command line."""

    workers: int
    """How many batches are worked on at a time."""

    def session(self, job: BatchJob, /) -> AbstractContextManager[Session]:
        """Prepare for the batches of a run; workers stay for the next."""

    def __enter__(self) -> Self:
        """Return the executor."""

    def __exit__(self, *error: object) -> None:
        """Let go of all workers."""
