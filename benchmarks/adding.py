"""Adding a thing to frames of 320×160, on one core, each frame seen for the first time; the best of five.

The visual change is not measured: that is a time of its own, see `benchmarks.vif`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from benchmarks._measured import Bar, Measured
from roadworthy.datasets import load
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.transforms import Transform, make_transform

FRAMES = 60
BAR = 200.0  # frames per second and core


def seconds(transform: Transform, frames: Sequence[Frame]) -> float:
    """Return the processor time for all frames, of the best of five rounds."""
    best = math.inf
    for _ in range(5):
        fresh = [frame.replace(id=frame.id) for frame in frames]
        start = time.process_time()
        for number, frame in enumerate(fresh):
            try:
                transform(frame, number, measure=False)
            except NotApplicable:
                continue
        best = min(best, time.process_time() - start)
    return best


def main() -> list[Measured]:
    print("Adding a thing, 320×160, one core, without measuring the visual change\n")
    frames = list(load("world", count=FRAMES, weather="all", time="all"))
    rows = []
    for name, given in {
        "with depth": frames,
        "labels only": [one.replace(depth=None) for one in frames],
    }.items():
        for element in ("pedestrian", "car"):
            rate = len(frames) / seconds(make_transform("add", element=element), given)
            print(f"  {element:>12}, {name:<12} {rate:7.0f} frames per second")
            rows.append(
                Measured(f"Adding a {element}, 320×160, {name}", rate, "frames/s", bar=Bar("value", "≥", BAR))
            )
    print()
    return rows
