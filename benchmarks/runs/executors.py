"""Cases per second by executor, and memory from a thousand to a million cases.

Speeds stand beside that of the serial executor, measured in turn within one run: other work on the machine
slows all of them.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np

from benchmarks._measured import Beside, Measured
from roadworthy.cases import (
    Answers,
    Case,
    Dataset,
    FrameSource,
    FramewiseMethod,
    Method,
    Predict,
    Requirement,
    Status,
    Verdict,
)
from roadworthy.datasets import load
from roadworthy.frames import Frame, Signals
from roadworthy.models import SystemUnderTest, load_model
from roadworthy.rules import parse
from roadworthy.rules.generation import plan_for
from roadworthy.rules.method import RulesMethod
from roadworthy.runs import run
from roadworthy.runs.executors import executor_for
from roadworthy.runs.executors.faults import process_megabytes

RULE = "If it is rainy, then the ego-vehicle should slow down."
ROUNDS = 5
SPINS = 20_000_000
Task: TypeAlias = tuple[Method, Requirement, Dataset, SystemUnderTest, int]
POINTS = (1_000, 10_000, 100_000, 1_000_000)


class Numbers(Sequence[str]):
    """The ids of so many frames, none of which is kept."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, number: Any) -> Any:
        return f"frame {number}"


class Many:
    """So many frames that cost nothing to make."""

    name = "many"

    def __init__(self, count: int) -> None:
        self.ids = Numbers(count)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, number: int, /) -> Frame:
        return Frame(self.ids[number], np.full((8, 12, 3), number % 256, np.uint8))

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(len(self)))


class Cheap(FramewiseMethod):
    """A case of each frame, which takes no time."""

    name = "cheap"

    def frame_cases(self, requirement: Requirement, id: str, original: FrameSource, key: int) -> list[Case]:
        """Return the case."""
        return [Case(id, requirement.id, (Predict((original,)),), {"key": key % 100})]

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Judge the answer."""
        (speed,) = answers.predicted().signal("speed")
        return Verdict.from_margin(case, speed - 10, measures={"speed": speed})


class Corner:
    """Answers with what is in the corner of the image, which takes no time."""

    name = "corner"

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        """Return the answers."""
        return [Signals(speed=float(frame.image[0, 0, 0])) for frame in frames]


def main() -> list[Measured]:
    # In a process of its own: what benchmarks before this one have loaded would count as the driver's.
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        flat = alone.submit(memory).result()
    return [*executors(), control(), *flat]


def executors() -> list[Measured]:
    """Print cases per second of a real task and of one that is nothing but overhead."""
    data = load("world:town", count=120)
    rule = Requirement("R1", RULE, "rules")
    tasks: dict[str, Task] = {
        "rain on the world, DAVE-2": (
            RulesMethod({"R1": plan_for(parse(RULE))}),
            rule,
            data,
            load_model("dave2"),
            120,
        ),
        "nothing but overhead": (
            Cheap(),
            Requirement("R1", "None", "cheap"),
            Many(100_000),
            Corner(),
            100_000,
        ),
    }
    options: dict[str, dict[str, Any]] = {
        "serial": {},
        "processes 1": {"workers": 1},
        "processes 2": {"workers": 2},
        "ray 2": {"workers": 2},
    }
    rows = []
    if importlib.util.find_spec("ray") is None:
        del options["ray 2"]
        print("Executors: ray is not installed and not measured")
        rows.append(Measured("Ray, 2 workers", None, "cases/s", note="ray is not installed"))
    with ExitStack() as stack:
        ready = {
            name: stack.enter_context(executor_for(name.split()[0], **chosen))
            for name, chosen in options.items()
        }
        for title, task in tasks.items():
            for executor in ready.values():
                _measured(task, executor)  # workers start and open the model
            rounds = [
                {name: _measured(task, executor) for name, executor in ready.items()} for _ in range(ROUNDS)
            ]
            print(f"Executors: {title}, {task[-1]} cases, median of {ROUNDS} rounds in turn")
            for name in ready:
                rate, driver, workers = (median(one[name][place] for one in rounds) for place in range(3))
                ratio = median(one[name][0] / one["serial"][0] for one in rounds)
                print(
                    f"  {name:12s} {rate:7.0f} cases/s {ratio:5.2f} × serial; processor time for a case: "
                    f"driver {driver * 1e3:6.2f} ms, workers {workers * 1e3:6.2f} ms"
                )
                serial = median(one["serial"][0] for one in rounds)
                beside = Beside("serial", serial, ratio) if name != "serial" else None
                rows.append(Measured(f"{title}: {name}", rate, "cases/s", beside))
    print()
    return rows


def control() -> Measured:
    """Print what two processes that share nothing gain here and now: no executor can gain more."""
    with get_context("spawn").Pool(2) as pool:
        pool.map(_spin, [1, 1])
        gains = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            _spin(SPINS)
            _spin(SPINS)
            middle = time.perf_counter()
            pool.map(_spin, [SPINS, SPINS], 1)
            gains.append((middle - start) / (time.perf_counter() - middle))
    print(f"Control: two processes that do nothing but count are {median(gains):.2f} × one\n")
    return Measured("Control: two processes that only count, beside one", median(gains), "times as fast")


def _spin(count: int) -> int:
    total = 0
    for number in range(count):
        total += number
    return total


def _measured(task: Task, executor: Any) -> tuple[float, float, float]:
    """Return cases per second, and seconds of processor time for a case in the driver and in the workers."""
    method, requirement, data, system, count = task

    def spent() -> float:
        return sum(map(_processor_seconds, getattr(executor, "pids", ())))

    with tempfile.TemporaryDirectory() as folder:
        start, driver, workers = time.perf_counter(), time.process_time(), spent()
        run(method, requirement, data, system, out=Path(folder, "run"), images="none", executor=executor)
        taken = time.perf_counter() - start
        return count / taken, (time.process_time() - driver) / count, max(0.0, spent() - workers) / count


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process; 0 where /proc does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory() -> list[Measured]:
    """Print the resident memory of driver and workers as the number of cases grows."""
    rows = []
    for name, options in {"serial": {}, "processes 2": {"workers": 2}}.items():
        seen: dict[int, tuple[float, float]] = {}
        with executor_for(name.split()[0], **options) as executor, tempfile.TemporaryDirectory() as folder:  # type: ignore[arg-type]

            def look(counts: Mapping[Status, int], executor: Any = executor, seen: Any = seen) -> None:
                done = sum(counts.values())
                for point in POINTS:
                    if done >= point and point not in seen:
                        workers = [process_megabytes(pid) or 0.0 for pid in getattr(executor, "pids", ())]
                        seen[point] = process_megabytes(os.getpid()) or 0.0, max(workers, default=0.0)

            requirement = Requirement("R1", "None", "cheap")
            out = Path(folder, "run")
            start = time.perf_counter()
            run(
                Cheap(), requirement, Many(POINTS[-1]), Corner(), out=out, images="none",
                executor=executor, progress=look,
            )  # fmt: skip
            seconds = time.perf_counter() - start
            size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        print(f"Memory: {name}, {POINTS[-1]} cases in {seconds:.0f} s, {size / POINTS[-1]:.0f} bytes per row")
        for point, (driver, worker) in seen.items():
            print(f"  after {point:7d} cases: driver {driver:6.0f} MB, largest worker {worker:6.0f} MB")
            rows.append(Measured(f"Memory of the driver after {point:,} cases, {name}", driver, "MB"))
    print()
    return rows


if __name__ == "__main__":
    main()
