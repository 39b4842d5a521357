"""The plain runner: one case after the other, in this process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from roadworthy._frozen import frozen
from roadworthy.cases import Dataset, Method, Outcome, Requirement, Status
from roadworthy.errors import InputError
from roadworthy.models import Simulator, SystemUnderTest
from roadworthy.runs.batches import Judged, group, judge_batch
from roadworthy.runs.store import RunStore, read_verdicts
from roadworthy.seeding import rng_for

__all__ = ["ImageRetention", "RunResult", "run"]

ImageRetention: TypeAlias = Literal["failures", "all", "none"]
"""Of which cases the frames are stored; failures are violations and errors."""

Progress: TypeAlias = Callable[[Mapping[Status, int]], None]


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

    Raises:
        InputError: An argument cannot be used; the message says which and why.
    """
    _check_arguments(method, requirement, system, batch_size, images)
    counts = dict.fromkeys(Status, 0)
    with _folder(out) as folder:
        with RunStore(folder, requirement) as store:
            cases = method.cases(requirement, data, rng_for(seed, "cases", requirement.id))
            for batch in group(cases, batch_size):
                for judged in judge_batch(method, batch, system, batch_size=batch_size, simulator=simulator):
                    if judged.case.requirement_id != requirement.id:
                        raise InputError(
                            f"case {judged.case.id!r} must be on requirement {requirement.id!r}, "
                            f"got {judged.case.requirement_id!r}"
                        )
                    keep = out is not None and _keeps_images(judged, images)
                    store.append(
                        judged.case, judged.verdict, [frame.image for frame in judged.frames] if keep else ()
                    )
                    counts[judged.verdict.status] += 1
                    method.feedback(judged.case, judged.verdict)
                if progress is not None:
                    progress(frozen(dict(counts)))
        outcome = method.conclude(requirement, read_verdicts(folder))
        store.conclude(outcome)
    return RunResult(outcome, frozen(counts), None if out is None else folder)


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="roadworthy-") as folder:
        yield Path(folder)


def _keeps_images(judged: Judged, images: ImageRetention) -> bool:
    if images == "failures":
        return judged.verdict.status in (Status.VIOLATED, Status.ERROR)
    return images == "all"


def _check_arguments(
    method: Method,
    requirement: Requirement,
    system: SystemUnderTest,
    batch_size: int,
    images: str,
) -> None:
    if not isinstance(method, Method):
        raise InputError(
            f"method must have name, cases, judge, conclude and feedback, got {type(method).__name__}"
        )
    if not isinstance(system, SystemUnderTest):
        raise InputError(f"system must have a name and predict, got {type(system).__name__}")
    if requirement.method != method.name:
        raise InputError(
            f"requirement {requirement.id!r} must be tested by {requirement.method!r}, got {method.name!r}"
        )
    if batch_size < 1:
        raise InputError(f"batch_size must be 1 or more, got {batch_size}")
    if images not in get_args(ImageRetention):
        raise InputError(f"images must be one of {', '.join(get_args(ImageRetention))}, got {images!r}")
