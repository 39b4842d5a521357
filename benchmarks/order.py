"""How soon failures are found by ``roadworthy run --order``, beside random order.

::

    python -m benchmarks.order --frames 120

Runs of the paper's rules and of eight changes of reliability on frames of the built-in world, before and
after something has changed. Of the later run, the cases are put in the order that the earlier one suggests;
time is what its cases took.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from roadworthy.reliability import PAPER_TRANSFORMATIONS
from roadworthy.runs.executors import executor_for
from roadworthy.runs.store import StoredRun
from roadworthy.runs.suites import run_suite, suite_of
from roadworthy.runs.suites.ordering import Order

RULES = Path(__file__).parents[1] / "examples" / "rules" / "paper.rules"
CHANGES = {
    "nothing: the same again": ("dave2-speed", 0),
    "other random numbers": ("dave2-speed", 1),
    "another network": ("epoch-speed", 0),
    "another network, other random numbers": ("epoch-speed", 1),
}


def tested(model: str, seed: int, frames: int, folder: Path) -> Path:
    """Run the suite on a model, and return the folder."""
    reliability = {one: {"reliability": one, "preserve": "prediction"} for one in PAPER_TRANSFORMATIONS}
    rules = {"rules": str(RULES), "only": [f"R{number}" for number in range(1, 8)]}
    document = {
        "suite": "order", "seed": seed, "models": model,
        "data": {"town": {"data": "world:town", "options": {"count": frames}}},
        "requirements": {"R": rules, **reliability},
    }  # fmt: skip
    out = folder / f"{model}-{seed}"
    if not out.exists():
        with executor_for("processes", workers=2) as executor:
            run_suite(suite_of(document), out, executor=executor, images="none")
    return out


def found_early(order: Order | None, later: Path, part: float, rng: np.random.Generator) -> float:
    """Return the share of the failures that a part of the time finds."""
    run = StoredRun.open(later)
    rows = run.query(
        'SELECT requirement, "param.frame" AS frame, status FROM cases '
        "WHERE status IN ('passed', 'violated', 'error')"
    )
    each = (run.manifest or {})["seconds"]
    counts = {id: sum(row["requirement"] == id for row in rows) for id in each}
    seconds = np.array([each[str(row["requirement"])] / counts[str(row["requirement"])] for row in rows])
    failed = np.array([row["status"] != "passed" for row in rows])
    if order is None:
        places = rng.permutation(len(rows))
    else:
        expected = [order.expected(str(row["requirement"]), str(row["frame"])) for row in rows]
        places = np.argsort(-np.array(expected), kind="stable")
    spent = np.cumsum(seconds[places])
    return float(failed[places][spent <= part * spent[-1]].sum() / failed.sum())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and print a row for each change."""
    parser = argparse.ArgumentParser(prog="benchmarks.order", description=__doc__.partition("\n")[0])
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--out", type=Path, help="a folder for the runs, which are not made again")
    given = parser.parse_args(arguments)
    folder = given.out or Path(tempfile.mkdtemp())
    rng = np.random.default_rng(0)
    order = Order(tested("dave2-speed", 0, given.frames, folder))
    print("| what changed since | in order | at random |\n|---|---|---|")
    for what, (model, seed) in CHANGES.items():
        later = tested(model, seed, given.frames, folder)
        ours = found_early(order, later, 0.1, rng)
        chance = np.mean([found_early(None, later, 0.1, rng) for _ in range(20)])
        print(f"| {what} | {ours:.0%} | {chance:.0%} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
