"""Visual change of a batch of arrays in one and in two threads, in time of the clock."""

from __future__ import annotations

import os
import time
from functools import partial

import numpy as np

from benchmarks._measured import Beside, Measured
from benchmarks.vif.measuring import SIZES, Work, best, picture
from roadworthy.visual_change import visual_changes

IMAGES = {224: 48, 1242: 12}  # of a batch, by width


def main() -> list[Measured]:
    rows = []
    load = os.getloadavg()[0]
    print(f"Visual change of a batch of grey pairs, images per second; load of the machine {load:.1f}")
    for width, height in SIZES:
        count = IMAGES[width]
        references, changes = (np.stack([image] * count) for image in picture(width, height))
        works: dict[str, Work] = {
            f"{threads} thread{'s' * (threads > 1)}": partial(
                visual_changes, references, changes, threads=threads
            )
            for threads in (1, 2)
        }
        rates = {
            name: 1000 * count / spent
            for name, spent in best(works, rounds=5, clock=time.perf_counter).items()
        }
        one, two = rates.values()
        told = ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items())
        print(f"  {f'{width}x{height}':12}{told}: {two / one:.2f}x")
        beside = Beside("one thread", one, two / one)
        rows.append(Measured(f"Visual change in two threads, {width}×{height}", two, "images/s", beside))
    print()
    return rows
