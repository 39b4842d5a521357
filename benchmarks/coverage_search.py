"""Searches for coverage beside random choice, at an equal budget of tries, over many seeds.

Every run draws seed images of its own, and all searches of a run get the same ones, the same transformations
with the same parameters, and the same number of tries. `random` tries pairs on seed images, as Algorithm 1
does when nothing has helped yet; `random-deep` makes images of up to as many transformations as the curious
search does, so that what guidance brings can be told from what depth brings. Algorithm 1 pushes its seeds
again when its stack is empty, so that it has as many tries. The seeds are not those that the curious search
was tuned on.

Distinct failures are counted by clustering the failures of all searches of a run together. Differences are
means over paired runs with Student's 95% interval.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy.cases import Dataset, Requirement
from roadworthy.coverage import Observed
from roadworthy.coverage.method import CoverageMethod
from roadworthy.coverage.search import SearchSettings
from roadworthy.coverage.search.findings import growth_of
from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.frames import Frame, SignalUnits
from roadworthy.models import load_model
from roadworthy.papers.deeptest.comparison import distinct_failures
from roadworthy.runs import read_rows, run
from roadworthy.statistics import student_interval

SEARCHES = ("random", "random-deep", "algorithm-1", "curious")
RUNS = range(100, 112)
SEED_IMAGES = 50
TRIES = 500
_PLACES = [above / "shared" / "data" / "udacity_ch2" for above in Path(__file__).resolve().parents[1:3]]
REAL = next((place for place in _PLACES if place.is_dir()), _PLACES[-1])


@dataclass(frozen=True)
class Drawn:
    """Frames that are kept in memory, because every search of a run looks at them."""

    name: str
    frames: Sequence[Frame]
    units: SignalUnits

    def __len__(self) -> int:
        return len(self.frames)

    def __getitem__(self, index: int, /) -> Frame:
        return self.frames[index]

    def __iter__(self) -> Iterator[Frame]:
        return iter(self.frames)


def real(seed: int) -> Dataset:
    """Return frames of the real drive that its network was not trained on."""
    data = load(f"udacity-ch2:{REAL}")
    chosen = np.random.default_rng(seed).choice(np.arange(3600, len(data)), SEED_IMAGES, replace=False)
    return Drawn("udacity", [data[int(number)] for number in sorted(chosen)], data.units)  # type: ignore[attr-defined]


def world(seed: int) -> Dataset:
    """Return frames of the world that its network has not seen."""
    data = load("world", count=SEED_IMAGES, seed=50_000 + seed)
    return Drawn("world", list(data), SignalUnits())


def searched(
    data: Dataset, system: Observed[Any], name: str, seed: int, criterion: str, folder: Path
) -> tuple[list[float], list[dict[str, Any]]]:
    """Return coverage after each try, and the rows."""
    settings = SearchSettings(search=name, tries=TRIES, criterion=criterion, again=True)
    requirement = Requirement("C1", "Equation 2", "coverage", settings.parameters())
    method = CoverageMethod()
    run(method, requirement, data, system, out=folder, seed=seed, images="none", gate="off")
    rows = list(read_rows(folder))
    return list(growth_of(rows, method.originals.criterion.value).coverage), rows


def compared(
    make: Any, model: str, criterion: str = "neuron", runs: Sequence[int] = RUNS
) -> tuple[dict[str, list[list[float]]], dict[str, list[int]]]:
    """Return, for each search, coverage after each try and the distinct failures of each run."""
    system: Observed[Any] = Observed(load_model(model, threads=1))  # type: ignore[arg-type]
    curves: dict[str, list[list[float]]] = {name: [] for name in SEARCHES}
    failures: dict[str, list[int]] = {name: [] for name in SEARCHES}
    for seed in runs:
        data = make(seed)
        found = {}
        for name in SEARCHES:
            with tempfile.TemporaryDirectory() as folder:
                curve, found[name] = searched(data, system, name, seed, criterion, Path(folder) / "run")
            curves[name].append(curve)
        for name, count in distinct_failures(found).items():
            failures[name].append(count)
    return curves, failures


@dataclass(frozen=True)
class SearchDifference:
    """How much better one search was than another, over runs with the same seeds.

    Attributes:
        mean: The mean of the differences.
        low: The lower end of its confidence interval.
        high: The upper end.
        runs: How many pairs of runs.
    """

    mean: float
    low: float
    high: float
    runs: int

    @property
    def above(self) -> bool:
        """Whether the whole interval is above 0."""
        return self.low > 0


def paired_difference(
    first: Sequence[float], second: Sequence[float], *, confidence: float = 0.95
) -> SearchDifference:
    """Return the mean of first minus second over paired runs, with Student's interval.

    Args:
        first: What one search reached, a number for each seed.
        second: What the other reached, for the same seeds.
        confidence: Of the interval.

    Raises:
        InputError: There are less than two pairs, or the numbers are not paired.

    Example:
        >>> found = paired_difference([3.0, 4.0, 5.0], [1.0, 2.0, 3.0])
        >>> (found.mean, found.low, found.high)
        (2.0, 2.0, 2.0)
    """
    if len(first) != len(second) or len(first) < 2:
        raise InputError(
            f"expected two or more pairs of runs with the same seeds, got {len(first)} and {len(second)}"
        )
    apart = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    return SearchDifference(float(apart.mean()), *student_interval(apart, confidence=confidence), len(apart))


def table(
    curves: Mapping[str, Sequence[Sequence[float]]], failures: Mapping[str, Sequence[int]]
) -> list[str]:
    """Return the means of each search and their differences from random choice and from Algorithm 1."""
    reached = {name: [100 * run[-1] for run in runs] for name, runs in curves.items()}
    lines = [
        f"  {'':12} {'coverage':>9} {'minus random':>22} {'minus algorithm-1':>22}   "
        f"{'findings':>8} {'minus random':>22} {'minus algorithm-1':>22}"
    ]
    for name in curves:
        cells = [f"  {name:12}"]
        for values, unit in ((reached, "%"), (failures, "")):
            cells.append(f"{np.mean(values[name]):8.1f}{unit or ' '}")
            for other in ("random", "algorithm-1"):
                if other == name:
                    cells.append(f"{'':>22}")
                    continue
                one = paired_difference(values[name], values[other])
                cells.append(f"{f'{one.mean:+.2f} [{one.low:+.2f}, {one.high:+.2f}]':>22}")
        lines.append(" ".join(cells))
    return lines


def main() -> None:
    settings = [("the world", "dave2", world)]
    if REAL.is_dir():
        settings.insert(0, ("real frames", "dave2-udacity", real))
    for label, model, make in settings:
        start = time.perf_counter()
        curves, failures = compared(make, model)
        print(
            f"{model} on {label}: {len(RUNS)} runs of {SEED_IMAGES} seed images and {TRIES} tries, "
            f"{time.perf_counter() - start:.0f} s"
        )
        print("\n".join(table(curves, failures)) + "\n", flush=True)
