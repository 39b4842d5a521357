"""Whether something has become slower: small benchmarks, whose ratios are compared with recorded ones."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

from benchmarks._ratios import RATIOS, Ratio
from roadworthy.errors import InputError
from roadworthy.result_tables import ResultTable

__all__ = ["FILE", "Judged", "gate", "judged", "read_recorded", "record"]

FILE = Path(__file__).resolve().parent / "ratios.json"
TRIES = 3
_AGAIN = "record with `python -m benchmarks --gate --record`"


@dataclass(frozen=True)
class Judged:
    """One ratio of the gate.

    Attributes:
        name: Of the ratio.
        recorded: What it was when it was recorded.
        found: The best of those measured now; NaN if none could be measured.
        least: What it must be.
        status: What came of it.
        why: Why it could not be measured.
    """

    name: str
    recorded: float
    found: float
    least: float
    status: Literal["ok", "FELL", "BROKEN"]
    why: str = ""


def judged(name: str, ratio: Ratio, recorded: float) -> Judged:
    """Measure a ratio until it is good enough, three times at most: other work may disturb one of them."""
    best, least = -math.inf, ratio.share * recorded
    for _ in range(TRIES):
        try:
            best = max(best, ratio.measure())
        except Exception as error:
            return Judged(name, recorded, math.nan, least, "BROKEN", f"{type(error).__name__}: {error}")
        if best >= least:
            return Judged(name, recorded, best, least, "ok")
    return Judged(name, recorded, best, least, "FELL")


def read_recorded(file: Path = FILE, ratios: Mapping[str, Ratio] = RATIOS) -> dict[str, float]:
    """Read the recorded ratios.

    Raises:
        InputError: There are none, or they are not of the ratios that are measured now.
    """
    if not file.exists():
        raise InputError(f"there are no recorded ratios at {file.name}: {_AGAIN}")
    found: dict[str, float] = json.loads(file.read_text("utf-8"))
    if strange := sorted(set(found) ^ set(ratios)):
        raise InputError(f"{file.name} and the ratios differ in {', '.join(strange)}: {_AGAIN}")
    return found


def gate(file: Path = FILE, ratios: Mapping[str, Ratio] = RATIOS) -> int:
    """Measure and compare; return 0, 1 if one fell or could not be measured, 2 if nothing is recorded."""
    try:
        recorded = read_recorded(file, ratios)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    start = time.perf_counter()
    found = []
    for name, ratio in ratios.items():
        found.append(judged(name, ratio, recorded[name]))
        print(f"  {name}: {found[-1].status}", file=sys.stderr, flush=True)
    rows = tuple(
        (
            one.name,
            f"{one.recorded:.3g}",
            f"{one.least:.3g}",
            f"{one.found:.3g}",
            one.status,
            ratios[one.name].what,
        )
        for one in found
    )
    heads = ("ratio", "recorded", "at least", "now", "", "times as fast")
    bad = [one for one in found if one.status != "ok"]
    notes = " ".join(f"{one.name}: {one.why}." for one in bad if one.why)
    print(ResultTable("Ratios beside what was recorded", heads, rows, notes))
    print(f"\n{len(bad)} of {len(found)} worse than recorded, {time.perf_counter() - start:.0f} s")
    return 1 if bad else 0


def record(file: Path = FILE, ratios: Mapping[str, Ratio] = RATIOS) -> int:
    """Measure each ratio three times and record the median."""
    found = {}
    for name, ratio in ratios.items():
        found[name] = float(f"{median(ratio.measure() for _ in range(TRIES)):.4g}")
        print(f"  {name:18} {found[name]:10.4g}  {ratio.what}", flush=True)
    file.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return 0
