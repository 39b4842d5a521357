"""What is done with a batch of cases, of which the images are kept, and what an executor has to do."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, Self, TypeAlias, get_args

from roadworthy.cases import BaseMethod, Case, Dataset, Method, Predict, Status, Verdict
from roadworthy.errors import InputError, check_choice
from roadworthy.frames import Frame
from roadworthy.images import encode_image
from roadworthy.models import Simulator, SystemUnderTest
from roadworthy.runs.batches import (
    Answered,
    JudgedCase,
    Made,
    distinct_sources,
    frames_of,
    key_of,
    looked_at,
    make_frames,
)
from roadworthy.runs.gate import REFUSED, Gate
from roadworthy.seeding import rng_for

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
        if not 0 <= self.passes <= 1:
            raise InputError(f"passes must be a share from 0 to 1, got {self.passes}")

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


Frames: TypeAlias = Mapping[Hashable, Made]
"""What was made of each source of a frame."""

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
    """

    method: Method
    systems: Mapping[str, SystemUnderTest]
    tested: frozenset[Pair]
    batch_size: int
    retention: Retention = field(default_factory=Retention)
    simulator: Simulator | None = None
    data: Dataset | None = None
    gate: Gate | None = None


@dataclass(frozen=True, eq=False)
class WorkUnit:
    """A batch of cases, and the systems that are asked about them.

    Attributes:
        cases: The cases.
        systems: The names of the systems.
        blame: Where it is not empty no system is asked: each case is an error, for this reason.
    """

    cases: tuple[Case, ...]
    systems: tuple[str, ...]
    blame: str = ""


@dataclass(frozen=True)
class BatchResult:
    """What became of one case on one system.

    Attributes:
        place: The number of the case in its batch.
        system: The name of the system.
        verdict: The verdict, with its visual change.
        images: The numbers of the images to keep, among those of all results.
        seconds: How long it took to answer and to judge.
    """

    place: int
    system: str
    verdict: Verdict
    images: tuple[int, ...] = ()
    seconds: float = 0.0


@dataclass
class Done:
    """What became of a batch.

    Attributes:
        results: One for each case and system that is tested on it, system after system.
        images: The images to keep, as PNG files.
        making: How long it took to make the first, second … frame of each case, by the number of the case.
        error: What ended the work early: a bug, or something that cannot be used.
    """

    results: list[BatchResult] = field(default_factory=list)
    images: list[bytes] = field(default_factory=list)
    making: dict[int, tuple[float, ...]] = field(default_factory=dict)
    error: Exception | None = None


def carry(job: BatchJob, unit: WorkUnit) -> Done:
    """Make the frames of some cases, ask the systems, judge the answers.

    It depends on its arguments only and changes nothing, so it may run anywhere, and again.

    Args:
        job: What all batches of the run have in common.
        unit: The batch.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.cases import BaseMethod
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
    try:
        sources = distinct_sources(unit.cases)
        found = looked_at(job.gate, sources, make_frames(sources))
        frames = dict(zip(map(key_of, sources), found, strict=True))
        done.making = {place: _making(case, frames) for place, case in enumerate(unit.cases)}
        kept: dict[int, int] = {}
        for name in unit.systems:
            _answer(job, unit, name, frames, done, kept)
    except Exception as error:
        # What was judged before it counts.
        done.error = error
    return done


def listens(method: Method) -> bool:
    """Return whether a method does something with the verdicts it is told."""
    return getattr(type(method), "feedback", None) is not BaseMethod.feedback


def _answer(
    job: BatchJob, unit: WorkUnit, name: str, frames: Frames, done: Done, kept: dict[int, int]
) -> None:
    """Add the results of one system."""
    places = [
        place for place, case in enumerate(unit.cases) if (case.requirement_id, name) in job.tested
    ]  # fmt: skip
    if not places:
        return
    each, verdicts = _verdicts(job, [unit.cases[place] for place in places], name, frames, unit.blame)
    start = time.perf_counter()
    for place, judged in zip(places, verdicts, strict=True):
        seconds = time.perf_counter() - start
        if judged.verdict.margin is not None:
            seconds += each * len(judged.frames)
        images: list[int] = []
        if job.retention.keeps(judged.case, judged.verdict):
            images = [_kept(frame, done, kept) for frame in judged.frames]
        verdict = judged.with_visual_change().verdict
        if verdict.clue is not None and not listens(job.method):
            # It may hold whole frames, and nobody wants it.
            verdict = replace(verdict, clue=None)
        done.results.append(BatchResult(place, name, verdict, tuple(images), seconds))
        start = time.perf_counter()


def _verdicts(
    job: BatchJob, cases: Sequence[Case], name: str, frames: Frames, blame: str
) -> tuple[float, Iterator[JudgedCase]]:
    """Return how long the system took for a frame, and the verdicts."""
    if blame:
        return 0.0, (JudgedCase(case, Verdict.error(case, blame), frames_of(case, frames)) for case in cases)
    answered = Answered(cases, job.systems[name], job.batch_size, frames, job.simulator)
    return answered.seconds / max(1, answered.asked), answered.judged(job.method)


def _kept(frame: Frame, done: Done, kept: dict[int, int]) -> int:
    """Return the number of a frame among the images; encoding takes long, and many share theirs."""
    if id(frame) not in kept:
        kept[id(frame)] = len(done.images)
        done.images.append(encode_image(frame.image, ".png"))
    return kept[id(frame)]


def _making(case: Case, frames: Frames) -> tuple[float, ...]:
    sources = [one for item in case.asks if isinstance(item, Predict) for one in item.frames]
    return tuple(0.0 if isinstance(source, Frame) else frames[key_of(source)].seconds for source in sources)


class Session(Protocol):
    """Where the batches of one run are carried out."""

    ahead: int
    """How many batches may wait for their turn."""

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
