"""Very many cases of a cheap model: time, memory of driver and worker, files; the worst 50, and the report.

    python -m benchmarks.runs.many 10_000_000 FOLDER [WORKERS]

A folder that holds a part of them goes on.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks._measured import peak_mib
from benchmarks.runs.executors import Cheap, Corner, Many
from roadworthy.cases import Requirement, Status
from roadworthy.report.html import write_report
from roadworthy.runs import run
from roadworthy.runs.executors import executor_for
from roadworthy.runs.executors.faults import process_megabytes
from roadworthy.runs.store import StoredRun


def main(count: int, folder: Path, workers: int = 2) -> None:
    """Print what it takes."""
    start, driver, told = time.perf_counter(), time.process_time(), set[int]()
    with executor_for("processes", workers=workers) as executor:

        def look(counts: Mapping[Status, int]) -> None:
            done = sum(counts.values())
            step = 10 ** (len(str(done)) - 1)
            if done < 1000 or (point := done // step * step) in told:
                return
            told.add(point)
            used = [process_megabytes(pid) or 0.0 for pid in getattr(executor, "pids", ())]
            memory = f"{process_megabytes(os.getpid()) or 0:.0f} and {max(used, default=0.0):.0f} MB"
            spent = f"{time.perf_counter() - start:.0f} s, {time.process_time() - driver:.1f} s of the driver"
            print(f"{point:>12,} cases: {spent}, {memory}, load {os.getloadavg()[0]:.1f}", flush=True)

        run(
            Cheap(), Requirement("R1", "None", "cheap"), Many(count), Corner(), out=folder, images="none",
            executor=executor, progress=look, resume=folder.exists(),
        )  # fmt: skip
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(f"{time.perf_counter() - start:.0f} s, at most {peak_mib():.0f} MiB in the driver")
    print(f"{len(files)} files, {size / count:.1f} bytes a case")
    ask(folder)


def ask(folder: Path) -> None:
    """Ask for the worst 50 and write the report."""
    start = time.perf_counter()
    found = StoredRun.open(folder).worst()
    print(f"the worst {len(found)}: {time.perf_counter() - start:.2f} s")
    start = time.perf_counter()
    write_report(StoredRun.open(folder), folder / "report.html")
    print(f"the report: {time.perf_counter() - start:.1f} s, at most {peak_mib():.0f} MiB")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
