"""The store of a run: a million rows written through it, and the worst 50 failures of one rule asked of them.

The plain way to ask reads all shards into one table with pyarrow, filters and sorts it with pandas. Both ways
run in a process of their own and start from the folder; the most memory that each took is told beside its
time. The time of the first question includes opening the run.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._measured import Bar, Beside, Measured, peak_mib
from roadworthy.cases import Case, RecordDrive, Requirement, Verdict
from roadworthy.runs.store import RunStore, StoredRun

RULES, SYSTEMS, ROWS = 5, 2, 100_000
ASKED = "rule 3"


def write_rows(folder: Path, rule: int, system: str, rows: int) -> float:
    """Store the rows of one pair, whose columns differ between rules, and return the seconds that took."""
    requirement = Requirement(f"rule {rule}", "It slows down by 30% at least", "rules", {"number": rule})
    lot = random.Random(rule)
    begun = time.perf_counter()
    with RunStore(
        folder / "runs" / f"rule-{rule}" / system, requirement, system=system, images=folder / "images"
    ) as store:
        for number in range(rows):
            margin = lot.gauss(1.0, 0.6)
            case = Case(
                f"drive/{number:06d}",
                requirement.id,
                (RecordDrive("oval"),),
                {"frame": f"drive/{number % 5000:06d}", "transform": "rain", f"amount {rule}": lot.random()},
            )
            measures = {"before": lot.random(), "after": lot.random(), "objects": number % 7}
            store.append(case, Verdict.from_margin(case, margin, measures=measures))
            if number % 32 == 31:
                store.flush()
    return time.perf_counter() - begun


def by_store(folder: Path) -> list[float | str]:
    """Ask the store, twice: the second question finds the run open."""
    begun = time.perf_counter()
    run = StoredRun.open(folder)
    rows = run.worst(ASKED)
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    run.worst(ASKED, "dave2")
    return [first, time.perf_counter() - begun, str([row["margin"] for row in rows])]


def everywhere(folder: Path) -> list[float | str]:
    """Ask the store about all rules at once."""
    begun = time.perf_counter()
    rows = StoredRun.open(folder).query(
        "SELECT requirement, system, status, count(*) AS cases, min(margin) AS worst, avg(margin) AS mean "
        "FROM cases GROUP BY ALL ORDER BY ALL"
    )
    return [time.perf_counter() - begun, 0.0, str(len(rows))]


def of_all(folder: Path) -> list[float | str]:
    """Ask the store for the worst of all rules and systems."""
    begun = time.perf_counter()
    rows = StoredRun.open(folder).worst()
    return [time.perf_counter() - begun, 0.0, str(len(rows))]


def by_pandas(folder: Path) -> list[float | str]:
    """Read everything, then filter and sort."""
    import pyarrow
    import pyarrow.parquet as parquet

    begun = time.perf_counter()
    parts = [parquet.read_table(path) for path in sorted(folder.glob("runs/*/*/cases/*.parquet"))]
    table = pyarrow.concat_tables(parts, promote_options="default").to_pandas()
    found = table[(table["requirement"] == ASKED) & table["status"].isin(["violated", "error"])]
    found = found.sort_values("margin").head(50)
    return [time.perf_counter() - begun, 0.0, str(list(found["margin"]))]


def writing(folder: Path) -> list[float | str]:
    """Write a thousand rows, then a hundred thousand; tell the most MiB that both took."""
    taken = []
    for rows in (1000, 100_000):
        write_rows(folder / str(rows), 1, "dave2", rows)
        taken.append(peak_mib())
    return [*taken, ""]


WAYS: dict[str, Callable[[Path], list[float | str]]] = {
    "by_store": by_store,
    "everywhere": everywhere,
    "of_all": of_all,
    "by_pandas": by_pandas,
    "writing": writing,
}


def apart(way: str, folder: Path) -> dict[str, Any]:
    """Run a way in a process of its own.

    Returns:
        What it gave as ``first``, ``second`` and ``found``, its seconds of processor time as ``processor``,
        and the MiB that it took at most as ``memory``.
    """
    code = (
        "import json, sys, time; from pathlib import Path; from benchmarks.runs import store; "
        "before = store.peak_mib(); "
        f"begun = time.process_time(); found = store.WAYS[{way!r}](Path(sys.argv[1])); "
        "print(json.dumps([*found, time.process_time() - begun, store.peak_mib() - before]))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(folder)], check=True, capture_output=True, text=True
    )
    names = ("first", "second", "found", "processor", "memory")
    return dict(zip(names, json.loads(told.stdout), strict=True))


def main() -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="roadworthy-bench-") as name:
        folder = Path(name)
        seconds = sum(
            write_rows(folder, rule, system, ROWS)
            for rule in range(1, RULES + 1)
            for system in ("dave2", "epoch")
        )
        rows = RULES * SYSTEMS * ROWS
        parts = list(folder.glob("runs/*/*/cases/*.parquet"))
        size = sum(path.stat().st_size for path in parts)
        rate = f"{rows / seconds:,.0f} rows/s, flushed every 32"
        print(f"store: {rows:,} rows written in {seconds:.0f} s ({rate})")
        print(f"  {len(parts)} shards, {size / rows:.0f} bytes a row")
        wrote = apart("writing", folder / "more")
        few, many = wrote["first"], wrote["second"]
        print(f"  memory of the process: {few:.0f} MiB for 1,000 rows, {many:.0f} MiB for 100,000")
        one, plain = apart("by_store", folder), apart("by_pandas", folder)
        assert one["found"] == plain["found"], "both ways find the same 50"
        times = plain["first"] / one["first"]
        print(f"  worst 50 of a rule:  {_told(one)}; {one['second']:.2f} s again")
        print(f"  pyarrow and pandas:  {_told(plain)}: {times:.1f} times as long")
        print(f"  worst 50 of all:     {_told(apart('of_all', folder))}")
        print(f"  all rules by status: {_told(apart('everywhere', folder))}")
    beside = Beside("reading all with pyarrow and pandas", plain["first"], times)
    bar = Bar("value", "≤", 1.0)
    return [
        Measured(f"Rows written, of {rows:,}, flushed every 32", rows / seconds, "rows/s"),
        Measured(f"The worst 50 failures of a rule over {rows:,} rows", one["first"], "s", beside, bar),
        Measured("Processor time of that question", one["processor"], "s"),
        Measured("Memory of that question", one["memory"], "MiB"),
        Measured("Memory of reading all with pyarrow and pandas", plain["memory"], "MiB"),
        Measured("Memory of a process that writes 1,000 rows", few, "MiB"),
        Measured("Memory of a process that writes 100,000 rows", many, "MiB"),
    ]


def _told(one: dict[str, Any]) -> str:
    return f"{one['first']:.2f} s, {one['memory']:.0f} MiB ({one['processor']:.2f} s of processor time)"
