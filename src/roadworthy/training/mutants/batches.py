"""Many mutants at once: trained and driven one after the other, or several at a time in processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.models import load_model
from roadworthy.models.network import Network
from roadworthy.models.zoo import located_weights, read_variant
from roadworthy.training import Settings
from roadworthy.training.mutants.fate import TOLERANCE, Judged, judge_drive, probe_images
from roadworthy.training.mutants.operators import TrainingMutation
from roadworthy.training.mutants.saving import save_failure, save_module
from roadworthy.training.mutants.training import TrainingMaterial, train_mutant

ORIGINAL = "original"

Job = TypeVar("Job")
Result = TypeVar("Result")


def train_batch(
    material: Path,
    settings: Settings,
    mutations: Sequence[TrainingMutation | None],
    out: Path,
    *,
    workers: int = 1,
) -> Iterator[str]:
    """Train mutants, write each into a folder of its name, and tell how each went.

    One that cannot be trained does not end the others: its ``mutant.json`` says why, and its fate is
    "crashing" if its numbers ran away.

    Args:
        material: The file of the material.
        settings: How the original is trained.
        mutations: The faults; None for the original.
        out: The folder to write into.
        workers: How many are trained at a time; a GPU has room for several networks as small as DAVE-2.

    Raises:
        InputError: The material cannot be read, or nothing can be written.
    """
    jobs = [(one, out) for one in mutations]
    yield from _each(_train, jobs, workers, _load, (material, settings))


def drive_batch(
    folders: Sequence[Path], track: str, *, traffic: float = 0.0, minutes: float = 10.0, workers: int = 1
) -> Iterator[tuple[Path, Judged]]:
    """Let mutants drive a lap each, and tell what became of them, in the order in which they arrive.

    Args:
        folders: Those of the mutants.
        track: The track.
        traffic: How much traffic, from 0 to 5.
        minutes: The longest drive, in the world.
        workers: How many drive at a time.
    """
    jobs = [(one, track, traffic, minutes) for one in folders]
    yield from _each(_drive, jobs, workers, _nothing, ())


def unchanged(original: Path, folders: Sequence[Path]) -> Iterator[tuple[Path, Judged]]:
    """Tell which trained mutants answer as the trained original does: their fault changed nothing.

    Args:
        original: The folder of the original.
        folders: Those of the mutants.

    Raises:
        InputError: One of them is no network.
    """
    images = probe_images(read_variant(located_weights(original))).numpy()
    right = _answers(original, images)
    for folder in folders:
        found = _answers(folder, images)
        difference = float(np.abs(found - right).max())
        if difference <= TOLERANCE * max(1.0, float(np.abs(right).max())):
            yield folder, Judged("equivalent", f"answers alike on {len(images)} images", difference)


def _answers(folder: Path, images: NDArray[np.float32]) -> NDArray[np.float64]:
    network = load_model(folder, threads=1)
    if not isinstance(network, Network):
        raise InputError(f"{folder} must hold a network, got {network.name}")
    (found,) = network.runtime.run(images, ()).values()
    return np.asarray(found, np.float64)


def _each(
    work: Callable[[Job], Result],
    jobs: Sequence[Job],
    workers: int,
    start: Callable[..., None],
    given: tuple[Any, ...],
) -> Iterator[Result]:
    """Yield the results of all jobs, as they come."""
    if workers < 1:
        raise InputError(f"workers must be 1 or more, got {workers}")
    if not jobs:
        return
    if workers == 1:
        start(*given)
        yield from map(work, jobs)
        return
    # Fresh processes: a fork of one in which torch runs threads or a GPU may hang.
    pool = ProcessPoolExecutor(min(workers, len(jobs)), get_context("spawn"), start, given)
    try:
        for done in as_completed([pool.submit(work, job) for job in jobs]):
            yield done.result()
    finally:
        pool.shutdown(cancel_futures=True)


_of_this_process: list[TrainingMaterial] = []


def _load(path: Path, settings: Settings) -> None:
    """Keep the material in a process, so that it is read once and not for every mutant."""
    found = TrainingMaterial.load(path)
    _of_this_process[:] = [TrainingMaterial(found.variant, settings, found.training, found.validation)]


def _nothing() -> None:
    """Drives need nothing beforehand."""


def _train(job: tuple[TrainingMutation | None, Path]) -> str:
    mutation, out = job
    (material,) = _of_this_process
    name = ORIGINAL if mutation is None else mutation.name
    folder = out / name
    try:
        made = train_mutant(material, mutation)
        described = made.described(material)
        save_module(made.module, material.variant, folder, described, rebuildable=made.rebuildable)
    except InputError as error:
        known = {
            "name": name,
            "kind": "training-time",
            "network": material.variant.name,
            "mutation": {"operator": "none"} if mutation is None else mutation.to_dict(),
        }
        save_failure(folder, known, str(error))
        return f"{name}: failed: {error}"
    wanted = {f"{signal} RMSE" for signal in material.variant.outputs}
    told = ", ".join(f"{key} {value:.3g}" for key, value in described["measures"].items() if key in wanted)
    return f"{name}: {described['epochs']} epochs in {described['seconds']:.0f} s, {told}"


def _drive(job: tuple[Path, str, float, float]) -> tuple[Path, Judged]:
    folder, track, traffic, minutes = job
    return folder, judge_drive(load_model(folder, threads=1), track, traffic=traffic, minutes=minutes)
