"""Whether what the tool says with 95% confidence is true: simulations in which the truth is known.

For every bound, interval and test that is printed: at 5 to 60 clusters, whose cases are not at all
or rather alike, at failure rates from none to 17%. Each of 48 truths is drawn 400 times, or 60; the least
shares in which a statement was true are written as docs/measured/statistics.csv.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean

from roadworthy._tables import csv_text
from roadworthy.selftest.simulating import LEAST, STATEMENTS, Simulated, simulate

REPETITIONS = 400
FEWER = 60
"""Of what takes long, and is far from its border."""
LONG = ("upper bound of a mean loss", "test that nothing changed", "interval of a difference")
ANY_RATE = ("interval of a median", "Student's interval")
"""What does not depend on rate and correlation: all repetitions count together."""
FILE = Path(__file__).resolve().parents[1] / "docs" / "measured" / "statistics.csv"


def _simulated(statement: str) -> list[Simulated]:
    return list(simulate(statement, FEWER if statement in LONG else REPETITIONS))


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
    if min(least.values()) < LEAST:
        sys.exit(1)
