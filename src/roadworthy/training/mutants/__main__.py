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
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import get_args

from roadworthy._files import make_writable, write_json
from roadworthy.training.loop import TrainingLog, exit_code
from roadworthy.training.mutants.operators import PAPER, TrainingMutation
from roadworthy.training.mutants.saving import drive_mutants, read_mutants, unchanged, write_fate, write_table
from roadworthy.training.mutants.training import (
    ORIGINAL,
    MutantTrainer,
    TrainingMaterial,
    chosen_mutants,
    next_mutations,
    read_training_material,
)
from roadworthy.training.stored import Encoding


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    given = _parser().parse_args(arguments)
    return exit_code(lambda: given.run(given, TrainingLog("", [sys.stdout])))


def _prepare(given: argparse.Namespace, log: TrainingLog) -> None:
    from roadworthy.training.recipes import RECIPES, training_data

    parts = training_data(given.network, frames=given.frames, udacity=given.udacity, quick=given.quick)
    training, validation = (list(one.values()) for one in parts)
    recipe = RECIPES[given.network]
    settings = dataclasses.replace(recipe.settings, workers=given.workers)
    material = read_training_material(recipe.variant, training, validation, settings)
    material.save(given.out, given.encoding)
    log.line(f"{len(material.training)} and {len(material.validation)} samples in {given.out}")


def _train(given: argparse.Namespace, log: TrainingLog) -> None:
    material = TrainingMaterial.load(given.material)
    usual = material.settings
    epochs, batch = given.epochs or usual.epochs, given.batch or usual.batch
    settings = dataclasses.replace(usual, device=given.device, epochs=epochs, batch=batch)
    # The range of a search depends on the settings.
    material = dataclasses.replace(material, settings=settings)
    make_writable(given.out)
    known = read_mutants(given.out)
    operators = given.operators.split(",") if given.operators else PAPER
    mutants = [mutant for mutant in known if mutant["name"] != ORIGINAL]
    wanted: list[TrainingMutation | None] = [None] if len(mutants) == len(known) else []  # the original
    fresh, refused = next_mutations(
        material, mutants, values=given.values, seed=given.seed, operators=operators
    )
    for name, why in refused.items():
        log.line(f"{name} does not apply: {why}")
    for line in MutantTrainer(given.material, settings, given.out).train([*wanted, *fresh], given.workers):
        log.line(line)
    log.line(f"{len(wanted) + len(fresh)} trained, in {given.out}" if fresh else "nothing is left to try")


def _drive(given: argparse.Namespace, log: TrainingLog) -> None:
    waiting = [
        given.folder / mutant["folder"]
        for mutant in read_mutants(given.folder)
        if not mutant.get("fate") and not mutant.get("failed")
    ]
    original = given.folder / ORIGINAL
    others = [folder for folder in waiting if folder != original]
    alike = dict(unchanged(original, others)) if original.is_dir() else {}
    driven = [folder for folder in waiting if folder not in alike]
    judged = drive_mutants(driven, given.track, given.traffic, given.longest, given.workers)
    for folder, verdict in chain(alike.items(), judged):
        write_fate(folder, verdict)
        log.line(f"{folder.name}: {verdict.fate}, {verdict.reason}")
    known = read_mutants(given.folder)
    mutants = [mutant for mutant in known if mutant["name"] != ORIGINAL]
    if any(mutant["name"] == ORIGINAL and mutant.get("fate") == "crashing" for mutant in known):
        sys.stderr.write(
            "Warning: the original crashes itself, so the fates of its mutants say nothing about their "
            "faults: train it for longer, or with more data\n"
        )
    write_table(given.folder, mutants)
    kept = [str(mutant["folder"]) for mutant in chosen_mutants(mutants)]
    write_json(given.folder / "chosen.json", kept, 1)
    log.line(f"{len(mutants)} mutants, of which {len(kept)} are chosen: {given.folder / 'chosen.json'}")


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
    prepare.add_argument("--quick", action="store_true", help="a tiny amount, as a smoke test")
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


if __name__ == "__main__":
    sys.exit(main())
