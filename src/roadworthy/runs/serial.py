"""The plain runner: one case after the other, in this process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from roadworthy._frozen import frozen
from roadworthy.cases import Dataset, Method, Outcome, Requirement, ResumableMethod, Status
from roadworthy.errors import InputError
from roadworthy.models import Simulator, SystemUnderTest
from roadworthy.runs.batches import Judged
from roadworthy.runs.carrying import Work
from roadworthy.runs.checkpoints import FILE, Checkpoint, has_begun, read_checkpoint
from roadworthy.runs.store import RunStore, read_verdicts

__all__ = ["ImageRetention", "RunResult", "check_arguments", "keeps_images", "run"]

ImageRetention: TypeAlias = Literal["failures", "all", "none"]
"""Of which cases the frames are stored; failures are violations and errors."""

Progress: TypeAlias = Callable[[Mapping[Status, int]], None]

CHECKPOINT_ROWS = 100
"""Rows after which a search that can be resumed leaves a checkpoint, at the next chance."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run found, and where it is stored (None when it was not)."""

    outcome: Outcome
    counts: Mapping[Status, int]
    folder: Path | None


def run(
    method: Method,
    requirement: Requirement,
    data: Dataset,
    system: SystemUnderTest,
    *,
    out: Path | None = None,
    seed: int = 0,
    batch_size: int = 32,
    simulator: Simulator | None = None,
    images: ImageRetention = "failures",
    progress: Progress | None = None,
    resume: bool = False,
) -> RunResult:
    """Carry one requirement from its cases to its outcome.

    Cases are pulled from the method a batch at a time, and rows go to disk as they come, so memory
    does not grow with their number. The method concludes from the stored rows (in a temporary folder
    without ``out``), so the outcome is the one that anybody would draw from the folder.

    An exception in the method is a bug and ends the run; what was judged before is on disk.

    Args:
        method: The method that the requirement names.
        requirement: What must hold.
        data: The frames to test on.
        system: The system under test.
        out: The folder to store the run in; it must be new or empty.
        seed: The same seed gives the same bytes, whatever the batch size.
        batch_size: The most frames that the system gets at a time.
        simulator: What answers cases that ask for a drive.
        images: Of which cases to store the frames.
        progress: Called after every batch with the number of cases per status so far.
        resume: Go on with the run in the folder ``out`` where it stood at its last checkpoint, after it was
            stopped in whatever way; the rows are those of a run that was not. Without such a run, begin.

    Raises:
        InputError: An argument cannot be used; the message says which and why.
    """
    check_arguments(method, [requirement], [system], batch_size, images)
    pair = requirement.id, system.name
    about = {"requirement": requirement.id, "data": data.name, "system": system.name, "seed": seed}
    stood = _resumed(method, requirement, out, about) if resume else None
    with _folder(out) as folder:
        with RunStore(folder, requirement, resumed=stood.shards if stood else None) as store:
            work = Work(
                method,
                [requirement],
                [system],
                {pair: store},
                lambda judged: out is not None and keeps_images(judged, images),
                batch_size,
                simulator,
            )
            if stood is not None:
                work.counts[pair].update(stood.counts)
            if progress is not None:
                work.progress = lambda: progress(frozen(dict(work.counts[pair])))

            def leave_checkpoint(least: int = CHECKPOINT_ROWS) -> None:
                if out is None or not isinstance(method, ResumableMethod) or store.waiting < least:
                    return
                if state := method.state():
                    store.flush()
                    reached = Checkpoint(store.shards, work.counts[pair], about, state)
                    store.write(FILE, reached.encoded())

            work.settled = leave_checkpoint
            work.carry_out(data, seed=seed, processes=1)
            leave_checkpoint(1)
        outcome = method.conclude(requirement, read_verdicts(folder))
        store.conclude(outcome)
    return RunResult(outcome, frozen(work.counts[pair]), None if out is None else folder)


def _resumed(
    method: Method, requirement: Requirement, out: Path | None, about: Mapping[str, object]
) -> Checkpoint | None:
    """Return where the run in a folder stood, and let the method go on from there; None to begin."""
    if not isinstance(method, ResumableMethod):
        raise InputError(f"{method.name} is no search, so its run cannot be resumed: run it again")
    if out is None:
        raise InputError("give the folder of the run that is to be resumed")
    stood = read_checkpoint(Path(out))
    if stood is not None:
        stood.check(about, Path(out))
        method.restore(requirement, stood.state)
    elif has_begun(Path(out), requirement):
        # What rows it has are made again.
        return Checkpoint(0, {}, about, {})
    return stood


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="roadworthy-") as folder:
        yield Path(folder)


def keeps_images(judged: Judged, images: ImageRetention) -> bool:
    """Return whether the frames of a case are stored."""
    if images == "failures":
        return judged.verdict.status in (Status.VIOLATED, Status.ERROR)
    return images == "all"


def check_arguments(
    method: Method,
    requirements: Sequence[Requirement],
    systems: Sequence[SystemUnderTest],
    batch_size: int,
    images: str,
) -> None:
    """Refuse what no run can use."""
    if not isinstance(method, Method):
        raise InputError(
            f"method must have name, cases, judge, conclude and feedback, got {type(method).__name__}"
        )
    for system in systems:
        if not isinstance(system, SystemUnderTest):
            raise InputError(f"system must have a name and predict, got {type(system).__name__}")
    for requirement in requirements:
        if requirement.method != method.name:
            raise InputError(
                f"requirement {requirement.id!r} must be tested by {requirement.method!r}, "
                f"got {method.name!r}"
            )
    if batch_size < 1:
        raise InputError(f"batch_size must be 1 or more, got {batch_size}")
    if images not in get_args(ImageRetention):
        raise InputError(f"images must be one of {', '.join(get_args(ImageRetention))}, got {images!r}")
