"""Many mutants at once: trained and driven one after the other, or several at a time in processes.

It lies beside the command line, because processes that start afresh do not import ``__main__`` of a package.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import InputError
from roadworthy.models import load_model
from roadworthy.models.network import Network
from roadworthy.models.zoo import located_weights, read_variant
from roadworthy.training import Settings
from roadworthy.training.mutants.operators import TrainingMutation
from roadworthy.training.mutants.saving import (
    TOLERANCE,
    JudgedMutant,
    judge_drive,
    probe_images,
    save_failure,
    save_module,
)
from roadworthy.training.mutants.training import ORIGINAL, TrainingMaterial, known_of, train_mutant
from roadworthy.training.samples import in_processes


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
    yield from in_processes(_Trainer(material, settings, out), mutations, workers, ordered=False)


def drive_batch(
    folders: Sequence[Path], track: str, *, traffic: float = 0.0, minutes: float = 10.0, workers: int = 1
) -> Iterator[tuple[Path, JudgedMutant]]:
    """Let mutants drive a lap each, and tell what became of them, in the order in which they arrive.

    Args:
        folders: Those of the mutants.
        track: The track.
        traffic: How much traffic, from 0 to 5.
        minutes: The longest drive, in the world.
        workers: How many drive at a time.
    """
    drive = partial(_driven, track=track, traffic=traffic, minutes=minutes)
    yield from in_processes(drive, folders, workers, ordered=False)


def _driven(folder: Path, track: str, traffic: float, minutes: float) -> tuple[Path, JudgedMutant]:
    return folder, judge_drive(load_model(folder, threads=1), track, traffic=traffic, minutes=minutes)


def unchanged(original: Path, folders: Sequence[Path]) -> Iterator[tuple[Path, JudgedMutant]]:
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
        answers = _answers(folder, images)
        difference = float(np.abs(answers - right).max())
        if difference <= TOLERANCE * max(1.0, float(np.abs(right).max())):
            yield folder, JudgedMutant("equivalent", f"answers alike on {len(images)} images", difference)


def _answers(folder: Path, images: NDArray[np.float32]) -> NDArray[np.float64]:
    network = load_model(folder, threads=1)
    if not isinstance(network, Network):
        raise InputError(f"{folder} must hold a network, got {network.name}")
    (answers,) = network.runtime.run(images, ()).values()
    return np.asarray(answers, np.float64)


@dataclasses.dataclass(frozen=True)
class _Trainer:
    """Trains mutants, in any process; each reads the material once."""

    path: Path
    settings: Settings
    out: Path

    @cached_property
    def material(self) -> TrainingMaterial:
        return dataclasses.replace(TrainingMaterial.load(self.path), settings=self.settings)

    def __call__(self, mutation: TrainingMutation | None) -> str:
        material = self.material
        name = ORIGINAL if mutation is None else mutation.name
        folder = self.out / name
        try:
            made = train_mutant(material, mutation)
            described = made.described(material)
            save_module(made.module, material.variant, folder, described, rebuildable=made.rebuildable)
        except InputError as error:
            save_failure(folder, known_of(mutation, material), str(error))
            return f"{name}: failed: {error}"
        measures, wanted = described["measures"], [f"{signal} RMSE" for signal in material.variant.outputs]
        errors = ", ".join(f"{key} {measures[key]:.3g}" for key in wanted if key in measures)
        return f"{name}: {described['epochs']} epochs in {described['seconds']:.0f} s, {errors}"
