"""Whether what the tool says with 95% confidence is true: simulations in which the truth is known.

For every bound, interval and test that is printed: at 5 to 60 clusters, whose cases are not at all
or rather alike, at failure rates from none to 17%. Each of 48 truths is drawn 400 times; the least
shares in which a statement was true are written as docs/measured/statistics.csv. Where the real frames of
``../shared/data`` are, blocks of 5 s of a drive are drawn as well.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from roadworthy._tables import csv_text
from roadworthy.datasets import UdacityCh2Dataset, clusters_of
from roadworthy.selftest.simulating import LEAST, STATED, STATEMENTS, Simulated, simulate
from roadworthy.statistics import ClusteredRate, clopper_pearson_upper

REPETITIONS = 400
ANY_RATE = ("interval of a median", "Student's interval")
"""What does not depend on rate and correlation: all repetitions count together."""
FILE = Path(__file__).resolve().parents[1] / "docs" / "measured" / "statistics.csv"
DRIVE = Path(__file__).resolve().parents[2] / "shared" / "data" / "udacity_ch2"
FRAMES = 2250
"""Consecutive ones of the drive: 23 blocks."""
DRAWN = 20
LIMITS = (1.0, 2.0, 4.0, 8.0)
"""How many degrees at the steering wheel an answer may be off before it counts as a failure."""


class RealBlocks(NamedTuple):
    """How often an upper bound was true of blocks of 5 s that are drawn from a real drive.

    Attributes:
        model: The published network whose recorded answers fail.
        limit: By more than so many degrees at the steering wheel.
        rate: How many of all frames do: the truth.
        correlation: How alike the frames of a block are.
        over_frames: How often the bound of Clopper and Pearson was true, which takes frames for independent.
        over_blocks: How often that over blocks was true.
    """

    model: str
    limit: float
    rate: float
    correlation: float
    over_frames: float
    over_blocks: float


def real_blocks(folder: Path, repetitions: int, limits: tuple[float, ...] = LIMITS) -> list[RealBlocks]:
    """Draw blocks of 5 s from the first frames of the Udacity drive, and see how often bounds hold."""
    drive = UdacityCh2Dataset(str(folder))
    _, place = np.unique(np.array(clusters_of(drive, "5 s")[:FRAMES]), return_inverse=True)
    sizes, found = np.bincount(place), []
    for model in drive.predictors:
        errors = np.degrees(np.abs(drive.predictions(model) - drive.recorded_steering()))[:FRAMES]
        for limit in limits:
            failing, rng = np.bincount(place, errors > limit).astype(int), np.random.default_rng(0)
            whole = ClusteredRate.of(sizes, failing)
            held = np.zeros(2)
            for _ in range(repetitions):
                drawn = rng.integers(len(sizes), size=DRAWN)
                size, failed = sizes[drawn], failing[drawn]
                alone = clopper_pearson_upper(int(failed.sum()), int(size.sum()), STATED)
                blocks = ClusteredRate.of(size, failed)
                held += alone >= whole.rate, not blocks.shows_at_most(whole.rate, STATED)
            frames, blocks_held = held / repetitions
            known = whole.correlation or 0.0
            found.append(RealBlocks(model, limit, whole.rate, known, float(frames), float(blocks_held)))
    return found


def _simulated(statement: str) -> list[Simulated]:
    return list(simulate(statement, REPETITIONS))


def main() -> None:
    """Simulate, print the least of each statement, and write the table; false statements end it with 1."""
    with Pool(os.cpu_count()) as pool:
        found = [one for part in pool.imap(_simulated, STATEMENTS) for one in part]
    by_clusters: dict[tuple[str, int], list[float]] = defaultdict(list)
    for one in found:
        by_clusters[one.statement, one.truth.clusters].append(one.true)
    numbers = sorted({clusters for _, clusters in by_clusters})
    least = {
        (statement, clusters): fmean(shares) if statement in ANY_RATE else min(shares)
        for (statement, clusters), shares in by_clusters.items()
    }
    rows = [
        [statement, *(f"{least[statement, clusters]:.1%}" for clusters in numbers)]
        for statement in STATEMENTS
    ]
    header = ["true in at least", *(f"{clusters} clusters" for clusters in numbers)]
    for row in (header, *rows):
        print("  ".join([row[0].ljust(28), *(cell.rjust(12) for cell in row[1:])]))
    FILE.write_text(csv_text(header, rows), "utf-8")
    real = real_blocks(DRIVE, REPETITIONS) if DRIVE.is_dir() else []
    for block in real:
        print(
            f"{block.model} more than {block.limit:g} degrees off: {block.rate:.1%}, correlation "
            f"{block.correlation:.2f}; true over frames {block.over_frames:.1%}, "
            f"over blocks {block.over_blocks:.1%}"
        )
    if min([*least.values(), *(block.over_blocks for block in real)]) < LEAST:
        sys.exit(1)
