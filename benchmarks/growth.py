"""How time and memory of the main jobs grow with their size, each over three sizes.

Every size of every job runs in a process of its own, with one thread, so that the most memory is that of this
job and this size. Time is that of the processor, of the fastest of some rounds. The power with which time
grows is the slope of a line through the logarithms.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from benchmarks._measured import Growth, Work, fastest, peak_mib, reset_peak

_PIXELS = (51_200, 204_800, 819_200)  # 320×160, 640×320 and 1280×640
_SECONDS = 1.0
_BATCH = 16


@dataclass(frozen=True)
class Job:
    """Something that is done in three sizes.

    Attributes:
        name: What it is called on the page.
        unit: What its size counts.
        sizes: The sizes.
        prepare: Given a size and a folder, returns the work; what it prepares is not counted as time.
    """

    name: str
    unit: str
    sizes: tuple[int, ...]
    prepare: Callable[[int, Path], Work]


def _camera(pixels: int) -> Any:
    from roadworthy.world import Camera

    width = math.isqrt(2 * pixels)
    return Camera(width, width // 2)


def _world(pixels: int, _: Path) -> Work:
    from roadworthy.world import frame_of, make_scene

    scene, camera = make_scene("town", s=560.0, seed=5), _camera(pixels)
    return lambda: frame_of(scene, camera)


def _rain(pixels: int, _: Path) -> Work:
    from roadworthy.transforms import parse_transform
    from roadworthy.world import frame_of, make_scene

    frame = frame_of(make_scene("town", s=560.0, seed=5), _camera(pixels))
    change = parse_transform("rain")
    return lambda: change(frame, 0, measure=False)


def _visual_change(pixels: int, _: Path) -> Work:
    from benchmarks.vif.measuring import picture
    from roadworthy.visual_change import visual_change

    camera = _camera(pixels)
    pair = picture(camera.width, camera.height)
    return lambda: visual_change(*pair)


def _rules(frames: int, folder: Path) -> Work:
    from roadworthy.cases import Requirement
    from roadworthy.datasets import load
    from roadworthy.models import load_model
    from roadworthy.rules import parse
    from roadworthy.rules.generation import plan_for
    from roadworthy.rules.method import RulesMethod
    from roadworthy.runs import run

    rule = "If: a pedestrian appears on the roadside, Then: the ego-vehicle should slow down."
    method = RulesMethod({"R1": plan_for(parse(rule))})
    requirement, system = Requirement("R1", rule, "rules"), load_model("dave2", threads=1)

    def work() -> None:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            run(method, requirement, load("world", count=frames), system, out=Path(place, "run"))

    return work


def _coverage(images: int, _: Path) -> Work:
    from roadworthy.coverage import recorder
    from roadworthy.coverage.criteria import NeuronCoverage
    from roadworthy.datasets import load
    from roadworthy.models import load_model

    network: Any = load_model("dave2", threads=1)
    batch = network.input.tensor([network.input.view(one) for one in load("world:town", count=_BATCH)])
    watched = recorder(network)
    coverage = NeuronCoverage(watched.run(batch)[1].layers)

    def work() -> None:
        for _ in range(images // _BATCH):
            coverage.update(watched.run(batch)[1])

    return work


def _bbsl(boxes: int, _: Path) -> Work:
    from benchmarks.bbsl import EXAMPLES, some_boxes
    from roadworthy.bbsl import load

    spec = load(EXAMPLES / "listing1_distance.bbsl")
    values = {"vehicleExists": True, "vehicle": some_boxes(boxes), "stoppingDistance": (275, 375)}
    return lambda: spec.evaluate_many(values, height=375, width=1242, count=boxes)


def _metrics(rows: int, _: Path) -> Work:
    from benchmarks.driving.metrics import a_drive
    from roadworthy.driving.metrics import compute

    drive = a_drive(rows, rows // 1000)
    return lambda: compute(drive)


def _oracle(sectors: int, _: Path) -> Work:
    from benchmarks.driving.oracles import problem
    from roadworthy.driving.oracles import fit_oracle

    nominal, mutants = problem((28, sectors, 7, 3))
    return lambda: fit_oracle(nominal, mutants, give_up=3)


def _writing(rows: int, folder: Path) -> Work:
    from benchmarks.runs.store import write_rows

    def work() -> None:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            write_rows(Path(place), 1, "dave2", rows)

    return work


def _asking(rows: int, folder: Path) -> Work:
    from benchmarks.runs.store import write_rows
    from roadworthy.runs.store import StoredRun

    write_rows(folder, 1, "dave2", rows)
    return lambda: StoredRun.open(folder).worst("rule 1")


JOBS = {
    "world": Job("Drawing a frame of the world", "pixels", _PIXELS, _world),
    "rain": Job("Rain on a frame", "pixels", _PIXELS, _rain),
    "visual-change": Job("Visual change of a pair", "pixels", _PIXELS, _visual_change),
    "rules": Job("Rule 1 from end to end", "frames", (25, 50, 100), _rules),
    "coverage": Job("Neuron coverage of DAVE-2", "images", (64, 256, 1024), _coverage),
    "bbsl": Job("BBSL, Listing 1", "boxes", (10_000, 100_000, 1_000_000), _bbsl),
    "metrics": Job("All driving metrics", "rows", (10_000, 100_000, 1_000_000), _metrics),
    "oracle": Job("Exact thresholds of an oracle", "mutant sectors", (2_000, 20_000, 200_000), _oracle),
    "writing": Job("Writing rows into the store", "rows", (1_000, 10_000, 100_000), _writing),
    "asking": Job("The worst 50 failures", "rows", (1_000, 10_000, 100_000), _asking),
}


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the power of the size with which time grows.

    Example:
        >>> round(exponent([10, 100, 1000], [0.3, 3.0, 30.0]), 6)
        1.0
    """
    slope, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope)


def here(name: str, size: int) -> tuple[float, float]:
    """Do a job in this process; return the seconds and the most MiB."""
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as folder:
        work = JOBS[name].prepare(size, Path(folder))
        reset_peak()
        (seconds,) = fastest(work, seconds=_SECONDS, least=1)
        return seconds, peak_mib()


def apart(name: str, size: int) -> tuple[float, float]:
    """Do a job in a process of its own, with one thread."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.growth", name, str(size)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **one},
        cwd=Path(__file__).resolve().parents[1],
    )
    seconds, mib = json.loads(told.stdout.splitlines()[-1])
    return seconds, mib


def main() -> list[Growth]:
    print("Growth: processor time and most memory over three sizes, one thread, each in its own process\n")
    rows = []
    for name, job in JOBS.items():
        seconds, mib = zip(*(apart(name, size) for size in job.sizes), strict=True)
        rows.append(Growth(job.name, job.unit, job.sizes, seconds, mib, exponent(job.sizes, seconds)))
        cells = [
            f"{size:>9,} {job.unit}: {1000 * spent:9.1f} ms {most:5.0f} MiB"
            for size, spent, most in zip(job.sizes, seconds, mib, strict=True)
        ]
        print(f"  {job.name}, time grows with the power {rows[-1].exponent:.2f}")
        print("\n".join(f"    {cell}" for cell in cells), flush=True)
    print()
    return rows


if __name__ == "__main__":
    print(json.dumps(here(sys.argv[1], int(sys.argv[2]))))
