"""Mutants of a training, in three steps that may run on different machines.

::

    python -m roadworthy.training.mutants prepare dave2 --frames 12000 --out dave2.npz
    python -m roadworthy.training.mutants train dave2.npz --out mutants
    python -m roadworthy.training.mutants drive mutants --track meadow

``prepare`` renders the data that the network is trained with into one file. ``train`` trains the original and
all mutants that should be tried next; it needs torch and onnx, and a GPU helps. ``drive`` lets those that
have no fate yet drive a lap. Repeat the last two until ``train`` finds nothing left to try: the searches of
the faults with a number go on with what the drives have told.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import make_writable
from roadworthy.errors import InputError, RoadworthyError
from roadworthy.models import load_model
from roadworthy.models.network import Network
from roadworthy.models.zoo import located_weights, read_variant
from roadworthy.training import Settings
from roadworthy.training.mutants.operators import PAPER, TrainingMutation
from roadworthy.training.mutants.saving import (
    TOLERANCE,
    Judged,
    judge_drive,
    probe_images,
    read_mutants,
    save_failure,
    save_module,
    write_fate,
    write_table,
)
from roadworthy.training.mutants.training import (
    ORIGINAL,
    TrainingMaterial,
    chosen_mutants,
    known_of,
    next_mutations,
    read_training_material,
    train_mutant,
)
from roadworthy.training.samples import in_processes
from roadworthy.training.stored import Encoding


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
) -> Iterator[tuple[Path, Judged]]:
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


def _driven(folder: Path, track: str, traffic: float, minutes: float) -> tuple[Path, Judged]:
    return folder, judge_drive(load_model(folder, threads=1), track, traffic=traffic, minutes=minutes)


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
        answers = _answers(folder, images)
        difference = float(np.abs(answers - right).max())
        if difference <= TOLERANCE * max(1.0, float(np.abs(right).max())):
            yield folder, Judged("equivalent", f"answers alike on {len(images)} images", difference)


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    given = _parser().parse_args(arguments)
    try:
        given.run(given)
    except RoadworthyError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 2
    return 0


def _prepare(given: argparse.Namespace) -> None:
    from roadworthy.training.make_weights import RECIPES, training_data

    training, validation = training_data(
        given.network, frames=given.frames, udacity=given.udacity, quick=given.quick
    )
    recipe = RECIPES[given.network]
    settings = dataclasses.replace(recipe.settings, workers=given.workers)
    began = time.perf_counter()
    material = read_training_material(
        recipe.variant, list(training.values()), list(validation.values()), settings
    )
    material.save(given.out, given.encoding)
    _tell(began, f"{len(material.training)} and {len(material.validation)} samples in {given.out}")


def _train(given: argparse.Namespace) -> None:
    material = TrainingMaterial.load(given.material)
    settings = dataclasses.replace(material.settings, device=given.device)
    if given.epochs:
        settings = dataclasses.replace(settings, epochs=given.epochs)
    if given.batch:
        settings = dataclasses.replace(settings, batch=given.batch)
    # The range of a search depends on the settings.
    material = dataclasses.replace(material, settings=settings)
    make_writable(given.out)
    known = read_mutants(given.out)
    operators = given.operators.split(",") if given.operators else PAPER
    wanted: list[TrainingMutation | None] = []
    if ORIGINAL not in {mutant["name"] for mutant in known}:
        wanted.append(None)
    mutants = [mutant for mutant in known if mutant["name"] != ORIGINAL]
    fresh, refused = next_mutations(
        material, mutants, values=given.values, seed=given.seed, operators=operators
    )
    began = time.perf_counter()
    for name, why in refused.items():
        _tell(began, f"{name} does not apply: {why}")
    lines = train_batch(given.material, settings, [*wanted, *fresh], given.out, workers=given.workers)
    for line in lines:
        _tell(began, line)
    _tell(began, f"{len(wanted) + len(fresh)} trained, in {given.out}" if fresh else "nothing is left to try")


def _drive(given: argparse.Namespace) -> None:
    began = time.perf_counter()
    waiting = [
        given.folder / mutant["folder"]
        for mutant in read_mutants(given.folder)
        if not mutant.get("fate") and not mutant.get("failed")
    ]
    for folder, verdict in _unchanged(given.folder, waiting):
        write_fate(folder, verdict)
        waiting.remove(folder)
        _tell(began, f"{folder.name}: {verdict.fate}, {verdict.reason}")
    judged = drive_batch(
        waiting, given.track, traffic=given.traffic, minutes=given.longest, workers=given.workers
    )
    for folder, verdict in judged:
        write_fate(folder, verdict)
        _tell(began, f"{folder.name}: {verdict.fate}, {verdict.reason}")
    known = read_mutants(given.folder)
    mutants = [mutant for mutant in known if mutant["name"] != ORIGINAL]
    if any(mutant["name"] == ORIGINAL and mutant.get("fate") == "crashing" for mutant in known):
        sys.stderr.write(
            "Warning: the original crashes itself, so the fates of its mutants say nothing about their "
            "faults: train it for longer, or with more data\n"
        )
    write_table(given.folder, mutants)
    kept = [str(mutant["folder"]) for mutant in chosen_mutants(mutants)]
    (given.folder / "chosen.json").write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    _tell(began, f"{len(mutants)} mutants, of which {len(kept)} are chosen: {given.folder / 'chosen.json'}")


def _unchanged(folder: Path, waiting: Sequence[Path]) -> list[tuple[Path, Judged]]:
    original = folder / ORIGINAL
    if not original.is_dir():
        return []
    return list(unchanged(original, [each for each in waiting if each != original]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m roadworthy.training.mutants", description=(__doc__ or "").partition("\n")[0]
    )
    steps = parser.add_subparsers(required=True, metavar="STEP")
    prepare = steps.add_parser("prepare", help="render or read the training data into one file")
    prepare.add_argument("network", help="a network that comes with the package, such as dave2")
    prepare.add_argument("--out", type=Path, required=True, help="the file to write, .npz")
    prepare.add_argument("--frames", type=int, help="frames to train on; the recipe's number if left out")
    prepare.add_argument("--udacity", type=Path, help="the folder of Udacity's challenge 2")
    prepare.add_argument("--workers", type=int, default=1, help="processes that render or read frames")
    prepare.add_argument("--encoding", choices=get_args(Encoding), default="png", help="jpg is smaller")
    prepare.add_argument("--quick", action="store_true", help="next to nothing, to see that all works")
    prepare.set_defaults(run=_prepare)
    train = steps.add_parser("train", help="train the original and the mutants that should be tried next")
    train.add_argument("material", type=Path, help="the file of prepare")
    train.add_argument("--out", type=Path, required=True, help="the folder of the mutants")
    train.add_argument("--operators", help="some of DeepCrime's, with commas; the paper's 15 if left out")
    train.add_argument("--values", type=int, default=3, help="numbers of each searched fault at a time")
    train.add_argument("--seed", type=int, default=0, help="chooses words, layers and noise")
    train.add_argument("--epochs", type=int, help="of the original; the network's own number if left out")
    train.add_argument("--batch", type=int, help="images at a time; the network's own number if left out")
    train.add_argument("--device", default="auto", help="where to train")
    train.add_argument("--workers", type=int, default=1, help="mutants that are trained at a time")
    train.set_defaults(run=_train)
    drive = steps.add_parser("drive", help="let the mutants drive, and say what became of them")
    drive.add_argument("folder", type=Path, help="the folder of the mutants")
    drive.add_argument("--track", default="meadow", help="a built-in track")
    drive.add_argument("--traffic", type=float, default=0.0, help="how much traffic, from 0 to 5")
    drive.add_argument("--longest", type=float, default=10.0, metavar="MINUTES", help="the longest drive")
    drive.add_argument("--workers", type=int, default=1, help="mutants that drive at a time")
    drive.set_defaults(run=_drive)
    return parser


def _tell(began: float, text: str) -> None:
    sys.stdout.write(f"{time.perf_counter() - began:7.1f} s  {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
