"""One requirement on one system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from roadworthy._frozen import frozen
from roadworthy.cases import (
    Dataset,
    Method,
    Outcome,
    OutcomeStatus,
    Requirement,
    ResumableMethod,
    Scalar,
    Status,
)
from roadworthy.cases.methods import conclude
from roadworthy.datasets import BaseDataset, ChosenFrames
from roadworthy.errors import InputError, check_number
from roadworthy.labelling import with_estimates
from roadworthy.models import Simulator, SystemUnderTest
from roadworthy.runs.checkpoints import Checkpoints
from roadworthy.runs.executors.serial import SerialExecutor
from roadworthy.runs.executors.work import Cost, Executor, ImageRetention, Pair, Retention
from roadworthy.runs.gate import STREET, Gate, gate_named
from roadworthy.runs.loop import Work
from roadworthy.runs.store import RunStore, locked, read_verdicts
from roadworthy.runs.store.digests import content_of_dataset, content_of_model
from roadworthy.runs.store.run_store import CONTENT, SYSTEM_CONTENT

Progress: TypeAlias = Callable[[Mapping[Status, int]], None]


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run found, and where it is stored (None when it was not).

    Attributes:
        outcome: The outcome of the cases that were tried.
        counts: How many cases have which status.
        folder: Where they are.
        is_open: Whether its time was over before it was decided: a longer run may come to another outcome.
    """

    outcome: Outcome
    counts: Mapping[Status, int]
    folder: Path | None
    is_open: bool = False


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
    executor: Executor | None = None,
    resume: bool = False,
    gate: str | Gate | None = STREET,
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
        seed: The same seed gives the same bytes, whatever the executor.
        batch_size: The most frames that the system gets at a time.
        simulator: What answers cases that ask for a drive.
        images: Of which cases to store the frames.
        progress: Called after every batch, or a few quick ones, with the number of cases per status so far.
        executor: Where batches are carried out; when left out in this process, which isolates no system. See
            :func:`~roadworthy.runs.executors.executor_for`.
        resume: Go on with the run in the folder ``out`` where it stood, after it was stopped in whatever way;
            the rows are those of a run that was not. A search goes on from its last checkpoint. Without such
            a run, begin.
        gate: What looks at changed frames before the system is asked: a gate, "street", "off", or a detector.

    Raises:
        InputError: An argument cannot be used; the message says which and why.
    """
    check_arguments(method, [requirement], [system], batch_size)
    retention = Retention(images, seed=seed)
    if out is None and resume:
        raise InputError("give the folder of the run that is to be resumed")

    def tell(stores: Mapping[Pair, RunStore]) -> None:
        if progress is not None:
            (store,) = stores.values()
            progress(frozen(store.counts))

    place = TemporaryDirectory(prefix="roadworthy-") if out is None else nullcontext(out)
    with place as name, locked(folder := Path(name)):
        looks = gate_named(gate) if isinstance(gate, str) else gate
        kept = Retention("none") if out is None else retention
        results, _ = carry_out_pairs(
            Work(method, kept, batch_size, tell, simulator, looks),
            [(requirement, system, folder)],
            data,
            executor or SerialExecutor(),
            seed=seed,
            images=folder / "images",
            resume=resume,
            content="" if out is None else content_of_dataset(data),
        )
    (result,) = results.values()
    return replace(result, folder=None) if out is None else result


def carry_out_pairs(
    work: Work,
    pairs: Sequence[tuple[Requirement, SystemUnderTest, Path]],
    data: Dataset,
    executor: Executor,
    *,
    seed: int,
    images: Path,
    resume: bool,
    content: str,
) -> tuple[dict[Pair, RunResult], Mapping[str, Cost]]:
    """Test requirements on systems, each pair stored in a folder of its own; the caller has locked them.

    Only a pair that is alone leaves checkpoints: a search is run for one requirement and system at a time.
    `content` says what the data is beyond its name, where no manifest does; so is then said of the models.
    """
    # A run of something else does not go on.
    about: dict[str, Scalar] = {"data": data.name, "seed": seed}
    with ExitStack() as stack:
        checkpoints = None
        if len(pairs) == 1:
            ((requirement, system, folder),) = pairs
            run_of = {**about, "system": system.name}
            checkpoints = Checkpoints(work.method, requirement, folder, run_of, resume=resume)
        search = isinstance(work.method, ResumableMethod)
        opened = partial(RunStore, images=images, resume=resume, search=search)
        for requirement, system, folder in pairs:
            contents = {CONTENT: content, SYSTEM_CONTENT: content and content_of_model(system)}
            said: dict[str, Scalar] = {**about, **{key: one for key, one in contents.items() if one}}
            store = opened(folder, requirement, system=system.name, about=said)
            work.stores[requirement.id, system.name] = stack.enter_context(store)
            work.requirements[requirement.id], work.systems[system.name] = requirement, system
        if checkpoints is not None:
            work.repeats = checkpoints.begin(store)
            # In a short time a search must leave something to go on from.
            work.settled = partial(checkpoints.leave, store, *([1] if work.until < inf else []))
        # Data of one's own need not travel to other processes, as what estimates and cuts out would have it.
        frames = with_estimates(data) if isinstance(data, BaseDataset | ChosenFrames) else data
        work.carry_out(frames, executor, seed=seed)
        if checkpoints is not None and not work.is_cut:
            checkpoints.leave(store, 1)
    results = {
        pair: concluded(work.method, work.requirements[pair[0]], store, is_open=work.is_open(pair))
        for pair, store in work.stores.items()
    }
    return results, {id: Cost.of(id, work.spent) for id in work.requirements}


def concluded(
    method: Method, requirement: Requirement, store: RunStore, *, is_open: bool = False
) -> RunResult:
    """Conclude from the rows of a store, and write the outcome beside them unless further rows may change it.

    Where no case may fail, one that did decides.
    """
    outcome = conclude(method, requirement, read_verdicts(store.folder))
    is_open = is_open and (outcome.measures.get("max_rate") != 0 or outcome.status != OutcomeStatus.VIOLATED)
    if not is_open:
        store.conclude(outcome)
    return RunResult(outcome, frozen(store.counts), store.folder, is_open)


def check_arguments(
    method: Method, requirements: Sequence[Requirement], systems: Sequence[SystemUnderTest], batch_size: int
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
    check_number("batch_size", batch_size, least=1)
