"""DAVE-2 in closed loop in the built-in world, on one core, beside real time.

A step is one of 15 frames a second: the world moves on and is drawn, the network answers, signals and events
are recorded. Processor time is what one core needs, whatever else the machine does; the clock is stated too.
"""

from __future__ import annotations

import os
import time

from benchmarks._measured import Bar, Measured
from roadworthy.driving.drives import Drive
from roadworthy.driving.simulators import DriveLimits, WorldSimulator, drive
from roadworthy.models import SystemUnderTest, load_model

FRAMES_PER_SECOND = 15.0
SECONDS = 40.0
LEAST = 15.0
TRACKS = (("meadow", 0.0), ("town", 1.0), ("mountain", 1.0))


def driven(system: SystemUnderTest, track: str, traffic: float, seconds: float) -> tuple[Drive, float, float]:
    """Drive; return the drive, the processor time and the time of the clock that it took."""
    simulator = WorldSimulator(track, traffic=traffic, fps=FRAMES_PER_SECOND)
    processor, clock = time.process_time(), time.perf_counter()
    done = drive(system, simulator, limits=DriveLimits(seconds=seconds))
    return done, time.process_time() - processor, time.perf_counter() - clock


def main() -> list[Measured]:
    rows = []
    # One core; where the platform cannot pin, processor time is still that of one.
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if cores is not None:
        os.sched_setaffinity(0, {min(cores)})
    try:
        system = load_model("dave2", threads=1)
        driven(system, "meadow", 0.0, 1.0)  # loads meshes, opens the session
        print(f"Closed loop: {system.name} at {FRAMES_PER_SECOND:g} frames a second on one core")
        for track, traffic in TRACKS:
            done, processor, clock = driven(system, track, traffic, SECONDS)
            ratio = done.duration / processor
            print(
                f"  {track:8s} traffic {traffic:g}: {done.duration:5.1f} s driven ({done.ended}) in "
                f"{processor:5.2f} s of processor, {clock:5.2f} s of the clock; {ratio:4.1f} times real time "
                f"({'ok' if ratio >= LEAST else 'SLOW'}, at least {LEAST:g})"
            )
            name = (
                f"DAVE-2 in closed loop, {track}, traffic {traffic:g}, {FRAMES_PER_SECOND:g} frames a second"
            )
            rows.append(Measured(name, ratio, "times real time", bar=Bar("value", "≥", LEAST)))
        print()
        return rows
    finally:
        if cores is not None:
            os.sched_setaffinity(0, cores)
