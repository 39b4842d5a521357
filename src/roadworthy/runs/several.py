"""Several requirements and several systems in one pass over the data: every frame is made once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from roadworthy._frozen import frozen
from roadworthy.cases import Dataset, Method, Requirement, Status
from roadworthy.errors import InputError
from roadworthy.models import SystemUnderTest
from roadworthy.runs.batches import Judged
from roadworthy.runs.carrying import Cost, Pair, Work
from roadworthy.runs.serial import ImageRetention, RunResult, check_arguments, keeps_images
from roadworthy.runs.store import RunStore, read_verdicts
from roadworthy.seeding import rng_for

__all__ = ["SeveralResults", "run_several"]


@dataclass(frozen=True, slots=True)
class SeveralResults:
    """What a run of several requirements on several systems found.

    Attributes:
        results: What was found, by the requirement's id and the system's name; only what was tested.
        costs: What each requirement took, by its id.
        images: The folder of the images of all of them.
    """

    results: Mapping[Pair, RunResult]
    costs: Mapping[str, Cost]
    images: Path


def run_several(
    method: Method,
    requirements: Sequence[Requirement],
    data: Dataset,
    systems: Sequence[SystemUnderTest],
    *,
    out: Path,
    seed: int = 0,
    batch_size: int = 32,
    images: ImageRetention = "failures",
    passes: float = 0.0,
    processes: int = 1,
    tested: Callable[[Requirement, SystemUnderTest], bool] | None = None,
    progress: Callable[[int], None] | None = None,
) -> SeveralResults:
    """Test several requirements on several systems.

    The folder gets ``runs``, with a folder for each requirement and in it a run for each system, and
    ``images``, with the images of all. The rows are those that :func:`~roadworthy.runs.run` would store
    for the same seed.

    Args:
        method: The method that all requirements name; a search can be run for one system only.
        requirements: What must hold.
        data: The frames to test on.
        systems: The systems under test.
        out: The folder to store the runs in; it must be new or empty.
        seed: The same seed gives the same bytes.
        batch_size: The most frames that are made and asked for at a time; more if one round of cases, one of
            each requirement, needs more.
        images: Of which cases to store the frames.
        passes: The share of the other cases whose frames are stored as well, drawn by lot.
        processes: In how many processes frames are made.
        tested: Whether a requirement is tested on a system; all are when left out.
        progress: Called after every batch with the number of cases so far.

    Raises:
        InputError: An argument cannot be used; the message says which and why.
    """
    check_arguments(method, requirements, systems, batch_size, images)
    if not requirements or not systems:
        raise InputError("a run needs at least one requirement and one system, got none")
    names = {
        (requirement.id, system.name): Path(_file_name(requirement.id), _file_name(system.name))
        for requirement in requirements
        for system in systems
    }
    _check_names("requirements", [one.id for one in requirements], {path.parts[0] for path in names.values()})
    _check_names("systems", [one.name for one in systems], {path.parts[1] for path in names.values()})
    if out.is_dir() and any(out.iterdir()):
        raise InputError(f"{out} must be empty or new, got a folder with files; choose another, or delete it")

    def keeps(judged: Judged) -> bool:
        if keeps_images(judged, images):
            return True
        known = judged.verdict.margin is not None and images != "none"
        return known and passes > 0 and rng_for(seed, "keep", judged.case.id).random() < passes

    with ExitStack() as stack:
        stores = {
            (requirement.id, system.name): stack.enter_context(
                RunStore(
                    out / "runs" / names[requirement.id, system.name], requirement, images=out / "images"
                )
            )
            for requirement in requirements
            for system in systems
            if tested is None or tested(requirement, system)
        }
        wanted = [one for one in requirements if any((one.id, system.name) in stores for system in systems)]
        work = Work(method, wanted, systems, stores, keeps, batch_size)
        if progress is not None:
            # A case counts when the last system has answered it.
            work.progress = lambda: progress(_cases(work.counts))
        work.carry_out(data, seed=seed, processes=processes)
    results = {}
    for requirement in wanted:
        for system in systems:
            pair = requirement.id, system.name
            if pair in stores:
                outcome = method.conclude(requirement, read_verdicts(stores[pair].folder))
                stores[pair].conclude(outcome)
                results[pair] = RunResult(outcome, frozen(work.counts[pair]), stores[pair].folder)
    return SeveralResults(frozen(results), frozen(work.costs), out / "images")


def _cases(counts: Mapping[Pair, Mapping[Status, int]]) -> int:
    done: dict[str, int] = {}
    for (requirement, _), per_status in counts.items():
        done[requirement] = max(done.get(requirement, 0), sum(per_status.values()))
    return sum(done.values())


def _check_names(what: str, names: Sequence[str], folders: set[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{what} must have different names, got {twice!r} more than once")
    if len(folders) < len(names):
        raise InputError(f"{what} must have names that differ in letters or digits, got {', '.join(names)}")


def _file_name(name: str) -> str:
    """Return a name as a folder may have it.

    Example:
        >>> _file_name("Rule 1"), _file_name("onnx:nets/dave2.onnx")
        ('rule-1', 'onnx-nets-dave2.onnx')
    """
    return re.sub(r"[^\w.]+", "-", name.lower()).strip("-.") or "unnamed"
