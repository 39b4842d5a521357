"""Whether what the tool says with 95% confidence is true: simulations in which the truth is known.

For every bound, interval and test that is printed: at 5 to 60 clusters, whose cases are not at all
or rather alike, at failure rates from none to 17%. Each of 48 truths is drawn 400 times, for bounds of
a distance 100 times; the least shares in which a statement was true are written as
docs/measured/statistics.csv. Drives of the built-in world are drawn as well, and where the real frames of
``../shared/data`` are, blocks of 5 s of a drive.
"""

from __future__ import annotations

import os
import sys
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.simulating import STATEMENTS, TRUTHS, simulate
from roadworthy._tables import csv_text
from roadworthy.cases import Requirement, Status
from roadworthy.datasets import UdacityCh2Dataset, clusters_of, load
from roadworthy.models import load_model
from roadworthy.rules.method import RulesMethod
from roadworthy.runs import read_rows, run_several
from roadworthy.selftest.simulating import LEAST, STATED, Simulated
from roadworthy.statistics import ClusteredRate, clopper_pearson_upper

REPETITIONS = 400
SLOW = {"upper bound of a distance": 100, "lower bound of a distance": 100}
"""Statements with fewer repetitions: a distance is bounded by 20,000 random weighings."""
ANY_RATE = ("interval of a skewed difference", "interval of a median", "Student's interval")
"""What does not depend on rate and correlation: all repetitions count together."""
FILE = Path(__file__).resolve().parents[1] / "docs" / "measured" / "statistics.csv"
DRIVE = Path(__file__).resolve().parents[2] / "shared" / "data" / "udacity_ch2"
FRAMES = 2250
"""Consecutive ones of the drive: 23 blocks."""
DRAWN = 20
LIMITS = (1.0, 2.0, 4.0, 8.0)
"""How many degrees at the steering wheel an answer may be off before it counts as a failure."""
DRIVES, LENGTH = 60, 30
"""How many drives of the built-in world, and how many consecutive frames of each."""
NETWORKS = ("dave2", "epoch")
RULES = {
    "night": "If the driving time changes into night, then the ego-vehicle should slow down.",
    "rain": "If it rains, the ego-vehicle should slow down.",
    "pedestrian": "If a pedestrian appears on the roadside, the ego-vehicle should slow down.",
}


class DrawnClusters(NamedTuple):
    """How often an upper bound was true of drives, or blocks of one, that are drawn from known ones.

    Attributes:
        model: The network whose answers fail.
        asked: What they fail.
        rate: How many of all frames do: the truth.
        correlation: How alike the frames of a cluster are.
        over_frames: How often the bound of Clopper and Pearson was true, which takes frames for independent.
        over_clusters: How often that over clusters was true.
    """

    model: str
    asked: str
    rate: float
    correlation: float
    over_frames: float
    over_clusters: float

    @classmethod
    def of(
        cls, model: str, asked: str, place: NDArray[np.intp], failed: NDArray[np.bool_], repetitions: int
    ) -> DrawnClusters:
        """Draw clusters again and again, and see how often bounds hold."""
        sizes, failing = np.bincount(place), np.bincount(place, failed).astype(int)
        whole, rng, held = ClusteredRate.of(sizes, failing), np.random.default_rng(0), np.zeros(2)
        for _ in range(repetitions):
            drawn = rng.integers(len(sizes), size=DRAWN)
            size, failures = sizes[drawn], failing[drawn]
            alone = clopper_pearson_upper(int(failures.sum()), int(size.sum()), STATED)
            clusters = ClusteredRate.of(size, failures)
            held += alone >= whole.rate, not clusters.shows_at_most(whole.rate, STATED)
        frames, together = (held / repetitions).tolist()
        return cls(model, asked, whole.rate, whole.correlation or 0.0, frames, together)


def real_blocks(folder: Path, repetitions: int, limits: tuple[float, ...] = LIMITS) -> list[DrawnClusters]:
    """Draw blocks of 5 s from the first frames of the Udacity drive, and see how often bounds hold."""
    drive = UdacityCh2Dataset(str(folder))
    _, place = np.unique(np.array(clusters_of(drive, "5 s")[:FRAMES]), return_inverse=True)
    found = []
    for model in drive.predictors:
        errors = np.degrees(np.abs(drive.predictions(model) - drive.recorded_steering()))[:FRAMES]
        for limit in limits:
            asked = f"more than {limit:g} degrees off"
            found.append(DrawnClusters.of(model, asked, place, errors > limit, repetitions))
    return found


def drives(repetitions: int, number: int = DRIVES, length: int = LENGTH) -> list[DrawnClusters]:
    """Ask networks about drives of the built-in world, draw from them, and see how often bounds hold."""
    data = load("world:town", count=number * length, sequence=length)
    asked = [Requirement(name, text, "rules") for name, text in RULES.items()]
    networks, found = [load_model(name) for name in NETWORKS], []
    with TemporaryDirectory() as folder:
        results = run_several(
            RulesMethod(), asked, data, networks, out=Path(folder) / "run", images="none"
        ).results
        for (name, model), result in results.items():
            assert result.folder is not None
            rows = [row for row in read_rows(result.folder) if Status(str(row["status"])).is_judged]
            _, place = np.unique([str(row["cluster"]) for row in rows], return_inverse=True)
            failed = np.array([row["status"] != Status.PASSED for row in rows])
            found.append(DrawnClusters.of(model, name, place, failed, repetitions))
    return found


def _simulated(statement: str) -> list[Simulated]:
    return list(simulate(statement, SLOW.get(statement, REPETITIONS)))


def _show(cells: list[str]) -> None:
    print("  ".join([cells[0].ljust(31), *(cell.rjust(12) for cell in cells[1:])]), flush=True)


def main() -> None:
    """Simulate, print the least of each statement, and write the table; false statements end it with 1."""
    numbers = sorted({truth.clusters for truth in TRUTHS})
    header = ["true in at least", *(f"{clusters} clusters" for clusters in numbers)]
    _show(header)
    least, rows = [], []
    with Pool(len(os.sched_getaffinity(0))) as pool:
        for statement, found in zip(STATEMENTS, pool.imap(_simulated, STATEMENTS), strict=True):
            by_clusters = [[one.true for one in found if one.truth.clusters == number] for number in numbers]
            shares = [fmean(cells) if statement in ANY_RATE else min(cells) for cells in by_clusters]
            least += shares
            rows.append([statement, *(f"{share:.1%}" for share in shares)])
            _show(rows[-1])
    FILE.write_text(csv_text(header, rows), "utf-8")
    real = real_blocks(DRIVE, REPETITIONS) if DRIVE.is_dir() else []
    for one in (both := [*drives(REPETITIONS), *real]):
        print(
            f"{one.model}, {one.asked}: {one.rate:.1%}, correlation {one.correlation:.2f}; "
            f"true over frames {one.over_frames:.1%}, over clusters {one.over_clusters:.1%}"
        )
    if min([*least, *(one.over_clusters for one in both)]) < LEAST:
        sys.exit(1)
