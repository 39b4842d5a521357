"""Several requirements and several systems in one pass over the data: every frame is made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from roadworthy._files import check_free, file_name
from roadworthy._frozen import frozen
from roadworthy.cases import Case, Dataset, Method, Requirement
from roadworthy.errors import InputError
from roadworthy.models import Simulator, SystemUnderTest
from roadworthy.runs.executors.serial import SerialExecutor
from roadworthy.runs.executors.work import Cost, Executor, ImageRetention, Pair, Retention
from roadworthy.runs.gate import STREET, Gate, gate_named
from roadworthy.runs.loop import Work
from roadworthy.runs.shards import Shard
from roadworthy.runs.single import RunResult, carry_out_pairs, check_arguments
from roadworthy.runs.store import RunStore, locked
from roadworthy.runs.store.digests import content_of_dataset
from roadworthy.runs.store.locking import LOCK
from roadworthy.runs.store.manifest import MANIFEST


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
    executor: Executor | None = None,
    simulator: Simulator | None = None,
    tested: Callable[[Requirement, SystemUnderTest], bool] | None = None,
    progress: Callable[[int], None] | None = None,
    resume: bool = False,
    gate: str | Gate | None = STREET,
    shard: Shard | None = None,
    until: float = inf,
    order: Callable[[Case], float] | None = None,
) -> SeveralResults:
    """Test several requirements on several systems.

    The folder gets ``runs``, with a folder for each requirement and in it a run for each system, and
    ``images``, with the images of all. The rows are those that :func:`~roadworthy.runs.run` would store
    for the same seed. The folder of a suite, which wrote a manifest, may hold other runs.

    Args:
        method: The method that all requirements name; a search can be run for one system only.
        requirements: What must hold.
        data: The frames to test on.
        systems: The systems under test.
        out: The folder to store the runs in; it must be new or empty.
        seed: The same seed gives the same bytes, whatever the executor.
        batch_size: The most frames that are made and asked for at a time; more if one round of cases, one of
            each requirement, needs more.
        images: Of which cases to store the frames.
        passes: The share of the other cases whose frames are stored as well, drawn by lot.
        executor: Where batches are carried out; this process, which isolates no system, if left out.
        simulator: What answers cases that ask for a drive.
        tested: Whether a requirement is tested on a system; all are when left out.
        progress: Called after every batch, or after a few quick ones, with the number of cases so far.
        resume: Go on with the runs in the folder where they stood, as :func:`~roadworthy.runs.run` does.
        gate: What looks at changed frames before a system is asked: a gate, "street", "off", or a detector.
        shard: The share of the batches that is carried out; all of them if left out.
        until: When no further batch begins, by the monotonic clock.
        order: How much is to be expected of a case: the most first. As the data has them if left out.

    Raises:
        InputError: An argument cannot be used; the message says which and why.
    """
    check_arguments(method, requirements, systems, batch_size)
    retention = Retention(images, passes, seed)
    if not requirements or not systems:
        raise InputError("a run needs at least one requirement and one system, got none")
    _check_names("requirements", [one.id for one in requirements])
    _check_names("systems", [one.name for one in systems])
    # The folder of a suite, which has a manifest, holds other runs as well.
    if not (out / MANIFEST).is_file() and not (resume and (out / "runs").is_dir()):
        check_free(out, [LOCK])
    pairs = [
        (requirement, system, pair_folder(out, requirement.id, system.name))
        for requirement in requirements
        for system in systems
        if tested is None or tested(requirement, system)
    ]

    def tell(stores: Mapping[Pair, RunStore]) -> None:
        if progress is not None:
            progress(_cases(stores))

    with locked(out):
        looks = gate_named(gate) if isinstance(gate, str) else gate
        results, costs = carry_out_pairs(
            Work(method, retention, batch_size, tell, simulator, looks, shard, until, order),
            pairs,
            data,
            executor or SerialExecutor(),
            seed=seed,
            images=out / "images",
            resume=resume,
            content="" if (out / MANIFEST).is_file() else content_of_dataset(data),
        )
    return SeveralResults(frozen(results), frozen(costs), out / "images")


def pair_folder(out: Path, requirement: str, system: str) -> Path:
    """Return where the rows of a requirement on a system lie in the folder of a run."""
    return out / "runs" / file_name(requirement) / file_name(system)


def _cases(stores: Mapping[Pair, RunStore]) -> int:
    """Return how many cases all systems have answered at least."""
    done: dict[str, int] = {}
    for (requirement, _), store in stores.items():
        done[requirement] = max(done.get(requirement, 0), store.count)
    return sum(done.values())


def _check_names(what: str, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{what} must have different names, got {twice!r} more than once")
    if len(set(map(file_name, names))) < len(names):
        raise InputError(f"{what} must have names that differ in letters or digits, got {', '.join(names)}")
