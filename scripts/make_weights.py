"""Makes the weights of the networks that come with the package: one command, fixed seeds.

::

    python -m scripts.make_weights --out src/roadworthy/models/zoo/weights --workers 16

Each network becomes an ONNX file and a card, ``NAME.onnx`` and ``NAME.json``; ``NAME.log`` tells how it went.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from roadworthy._files import read_json
from roadworthy.models.network import Network
from roadworthy.models.onnx import onnx_model
from roadworthy.training import Settings, drive_lap, evaluate, export, train, with_history
from roadworthy.training.evaluation import DataNote, Lap, json_text
from roadworthy.training.loop import TrainingLog, exit_code
from roadworthy.training.recipes import RECIPES, Recipe, RecipeData, recipe_data, recipe_named
from roadworthy.training.samples import in_processes
from roadworthy.world import HELD_OUT_TRACK_NAMES, TRACK_NAMES

Step: TypeAlias = Literal["both", "train", "evaluate"]


def make(
    name: str,
    out: Path,
    *,
    udacity: Path | None = None,
    workers: int = 1,
    minutes: float | None = None,
    quick: bool = False,
    step: Step = "both",
) -> Path:
    """Make the weights of one network.

    Args:
        name: Which, one of `RECIPES`.
        out: The folder to write into.
        udacity: The folder of Udacity's challenge 2, for networks trained on it.
        workers: Processes that render or read frames.
        minutes: The longest that the training itself may take; when left out, all epochs are trained, and the
            same machine makes the same weights again.
        quick: Whether to train on a tiny amount, as a smoke test.
        step: Whether to train only, as on a GPU, or only to evaluate what was trained before.

    Returns:
        The ONNX file.

    Raises:
        InputError: There is no such recipe, the data cannot be read, or nothing was trained to be evaluated.
    """
    recipe = recipe_named(name)
    data = recipe_data(recipe, udacity, quick=quick)
    settings = dataclasses.replace(recipe.settings, workers=workers, minutes=minutes)
    if quick:
        settings = dataclasses.replace(settings, epochs=1, batch=8)
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{name}.onnx"
    with (out / f"{name}.log").open("a" if step == "evaluate" else "w", encoding="utf-8") as log:
        watcher = TrainingLog(name, [log, sys.stdout])
        if step != "evaluate":
            _train(recipe, data, settings, file, watcher)
        if step != "train":
            _evaluate(recipe, data, file, watcher, workers=workers, quick=quick)
    return file


def _train(recipe: Recipe, data: RecipeData, settings: Settings, file: Path, watcher: TrainingLog) -> None:
    """Train a network and write its ONNX file and its card."""
    variant = recipe.variant
    trained = train(
        variant,
        list(data.training.values()),
        validation=list(data.validation.values()),
        settings=settings,
        names=(" + ".join(data.training), " + ".join(data.validation)),
        watcher=watcher,
    )
    frames = list(islice(with_history(next(iter(data.evaluation.values())), variant.spec.input.history), 8))
    difference = export(trained.module, variant, file, frames=frames)
    file.with_suffix(".json").write_text(trained.card.to_json(), "utf-8")
    watcher.line(f"exported: answers differ by {difference:.1e} at most, {file.stat().st_size:,} bytes")


def _evaluate(
    recipe: Recipe, data: RecipeData, file: Path, watcher: TrainingLog, *, workers: int, quick: bool
) -> None:
    """Put into the card of a network how near it comes to the truth and how it drives."""
    card = file.with_suffix(".json")
    document = read_json(card)
    model = onnx_model(file, spec=recipe.variant.spec, name=file.stem, threads=1)
    tracks, minutes = (TRACK_NAMES[:1], 0.01) if quick else ((*TRACK_NAMES, *HELD_OUT_TRACK_NAMES), 10.0)
    drives = [(track, traffic) for traffic in (0.0, 1.0) for track in tracks]
    driven = drives if recipe.data == "drives" else []
    laps = list(in_processes(partial(_lap, model, minutes), driven, workers))
    measures = evaluate(model, *data.evaluation.values())
    note = DataNote("evaluation", " + ".join(data.evaluation), measures[0].frames)
    document["data"] = [*(one for one in document["data"] if one["role"] != note.role), asdict(note)]
    document["measures"], document["laps"] = list(map(asdict, measures)), list(map(asdict, laps))
    card.write_text(json_text(document), "utf-8")
    for one in (*measures, *laps):
        watcher.line(str(one))


def _lap(model: Network[Any], minutes: float, drive: tuple[str, float]) -> Lap:
    return drive_lap(model, drive[0], traffic=drive[1], minutes=minutes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="make_weights", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder to write into")
    parser.add_argument("--only", default="", help="some of " + ", ".join(RECIPES) + ", joined by commas")
    parser.add_argument(
        "--udacity", type=Path, help="the folder of Udacity's challenge 2; makes those networks too"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes that render or read frames")
    parser.add_argument("--minutes", type=float, help="the longest that one training may take")
    parser.add_argument(
        "--step", choices=get_args(Step), default="both", help="only train, or only evaluate what is in --out"
    )
    parser.add_argument("--quick", action="store_true", help="train on a tiny amount, as a smoke test")
    given = parser.parse_args(arguments)
    names = [one for one in given.only.split(",") if one] or [
        name for name, recipe in RECIPES.items() if recipe.data != "udacity" or given.udacity is not None
    ]
    chosen = {key: value for key, value in vars(given).items() if key != "only"}
    return exit_code(lambda: [make(name, **chosen) for name in names])


if __name__ == "__main__":
    sys.exit(main())
