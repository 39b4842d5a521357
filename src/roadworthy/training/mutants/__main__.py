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

from roadworthy._files import make_writable, write_json
from roadworthy._yaml import read_yaml
from roadworthy.training.loop import TrainingLog, exit_code
from roadworthy.training.mutants.operators import PAPER, TrainingMutation
from roadworthy.training.mutants.saving import drive_mutants, read_mutants, unchanged, write_fate, write_table
from roadworthy.training.mutants.training import (
    ORIGINAL,
    MutantTrainer,
    TrainingMaterial,
    chosen_mutants,
    next_mutations,
)
from roadworthy.training.samples import read_samples
from roadworthy.training.tasks import task_for


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    given = _parser().parse_args(arguments)
    return exit_code(lambda: given.run(given, TrainingLog("", [sys.stdout])))


def _prepare(given: argparse.Namespace, log: TrainingLog) -> None:
    from roadworthy.training.recipes import RECIPES, training_data

    parts = training_data(given.network, frames=given.frames, udacity=given.udacity, quick=given.quick)
    recipe = RECIPES[given.network]
    settings = dataclasses.replace(recipe.settings, workers=given.workers)
    task, taken = task_for(recipe.variant), recipe.variant.spec.input
    read = (read_samples(list(one.values()), task, taken, workers=given.workers) for one in parts)
    material = TrainingMaterial(recipe.variant, settings, *read)
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
    found = read_mutants(given.folder)
    waiting = [given.folder / one["folder"] for one in found if not one.get("fate") and not one.get("failed")]
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


_KINDS = {"path": Path, "int": int, "float": float}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m roadworthy.training.mutants", description=(__doc__ or "").partition("\n")[0]
    )
    steps = parser.add_subparsers(required=True, metavar="STEP")
    known = read_yaml(Path(__file__).with_name("steps.yaml"), "file of steps", "steps").data
    for run in (_prepare, _train, _drive):
        name = run.__name__.removeprefix("_")
        step = steps.add_parser(name, help=known[name]["help"])
        step.set_defaults(run=run)
        for argument, how in known[name]["arguments"].items():
            step.add_argument(argument, **(how | {"type": _KINDS[how["type"]]} if "type" in how else how))
    return parser


if __name__ == "__main__":
    sys.exit(main())
