"""Retrains networks with material that was prepared before, on a machine that has torch and little else.

::

    python -m roadworthy.training.retraining dave2-udacity=dave2.npz epoch-udacity=epoch.npz --out results

Every combination of the splits, starts and seeds that are asked for is retrained and compared.
``retraining.json`` gets all of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, get_args

from roadworthy._files import write_json
from roadworthy.training.retraining.material import Material
from roadworthy.training.retraining.retrain import First, RetrainingPlan, Split, retrain
from roadworthy.training.settings import TrainingLog, exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    given = _parser().parse_args(arguments)
    return exit_code(lambda: _retrain(given))


def _retrain(given: argparse.Namespace) -> None:
    found: list[dict[str, Any]] = []
    log = TrainingLog("", [sys.stdout])
    for text in given.networks:
        start, _, file = text.partition("=")
        material = Material.load(Path(file))
        for split, first, seed in product(given.split, given.first, range(given.seeds)):
            plan = RetrainingPlan(
                learn=tuple(given.learn or ()), split=split, first=first, control=given.control, seed=seed
            )
            settings = plan.settings(start, seed=seed, epochs=given.epochs or None)
            folder = given.out / f"{start}-{split}-{first}-{seed}" if given.keep else None
            result = retrain(material, start, plan, settings=settings, folder=folder)
            found.append({**result.to_dict(), "left_out": dict(material.left_out)})
            log.line(f"{start}, {split}, {first}, seed {seed}: {result.judgement}")
            given.out.mkdir(parents=True, exist_ok=True)
            # After each: what was done is not lost when time runs out.
            write_json(given.out / "retraining.json", found, 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m roadworthy.training.retraining", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("networks", nargs="+", metavar="NETWORK=FILE", help="a network and its material")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write into")
    parser.add_argument("--split", nargs="+", choices=get_args(Split), default=list(get_args(Split)))
    parser.add_argument("--first", nargs="+", choices=get_args(First), default=list(get_args(First)))
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, from 0")
    parser.add_argument(
        "--learn", nargs="+", metavar="KIND", help="kinds of images to learn from; all if left out"
    )
    parser.add_argument("--epochs", type=int, help="the most epochs; the network's own number if left out")
    parser.add_argument("--control", action="store_true", help="train without the images as well")
    parser.add_argument("--keep", action="store_true", help="write the new networks")
    return parser


if __name__ == "__main__":
    sys.exit(main())
