"""How many different failures a guided search for failing drives finds beside a random one, at equal budget.

    python -m benchmarks.driving.search --model dave2 --tries 40 --seeds 6

A failure is told by what happens and where. Making failures smaller is left out here: it takes no tries.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import stats

from roadworthy.cases import Status
from roadworthy.driving.method import NO_FRAMES
from roadworthy.driving.requirements import DrivingQuality, Thresholds
from roadworthy.driving.search import DriveSearch, DriveSearchMethod
from roadworthy.driving.simulators import DriveLimits, Scenario, ScenarioDriver
from roadworthy.models import SystemUnderTest, load_model
from roadworthy.runs import read_rows, run
from roadworthy.runs.suites.kinds.driving import _change as change_of

EVENTS = ("crash", "line crossing")
_COUNTED = {"failures": "different failures", "failing": "tries that fail", "kinds": "kinds of failures"}


class TriesOnly(DriveSearchMethod):
    """A search that ends when its tries are spent."""

    def _proposed(self) -> list[tuple[dict[str, float], str]]:
        return super()._proposed() if self._state["tries"] < self._asked.tries else []


def searched(
    model: SystemUnderTest, search: str, tries: int, seed: int, options: dict[str, Any]
) -> dict[str, Any]:
    """Return what one search finds."""
    limits = DriveLimits(laps=None, seconds=8.0, events=EVENTS)
    scenarios = tuple(Scenario(f"world:{track}", options, limits) for track in ("town", "coast"))
    asked = DriveSearch(DrivingQuality(Thresholds({}), scenarios), search=search, tries=tries)
    requirement = asked.quality.requirement("S")
    requirement = type(requirement)("S", requirement.text, DriveSearchMethod.name, asked.parameters())
    method = TriesOnly(change_of)
    begun = time.monotonic()
    with TemporaryDirectory() as folder:
        out = Path(folder, "run")
        run(
            method,
            requirement,
            NO_FRAMES,
            model,
            simulator=ScenarioDriver(),
            seed=seed,
            out=out,
            images="none",
        )
        rows = list(read_rows(out))
    failing = [str(row["measure.finding"]) for row in rows if row["status"] == Status.VIOLATED]
    kinds = {one.rpartition(" in ")[0] for one in failing}
    told = {"search": search, "seed": seed, "failing": len(failing), "failures": len(set(failing))}
    return {**told, "kinds": len(kinds), "found": sorted(set(failing)), "seconds": time.monotonic() - begun}


def main() -> None:
    """Print each search, then the means and the paired difference with a 95% interval."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="dave2")
    parser.add_argument("--tries", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--fps", type=float, default=10.0)
    given = parser.parse_args()
    if given.seeds < 2:
        parser.error("--seeds must be at least 2: the interval is over seeds")
    model = load_model(given.model)
    counts: dict[str, list[list[int]]] = {"guided": [], "random": []}
    for seed in range(given.seeds):
        for search, found in counts.items():
            told = searched(model, search, given.tries, seed, {"fps": given.fps})
            found.append([told[what] for what in _COUNTED])
            print(json.dumps(told), flush=True)
    for place, what in enumerate(_COUNTED.values()):
        guided, chance = (np.array(counts[name])[:, place] for name in ("guided", "random"))
        more = guided - chance
        half = stats.t.ppf(0.975, len(more) - 1) * more.std(ddof=1) / len(more) ** 0.5
        print(f"{what}: guided {guided.mean():.1f}, random {chance.mean():.1f}", end="; ")
        print(f"difference {more.mean():.1f} ({more.mean() - half:.1f} to {more.mean() + half:.1f})")


if __name__ == "__main__":
    main()
