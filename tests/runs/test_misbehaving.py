"""Seventeen kinds of misbehaving model in three executors: each costs the case it is met on, and no other.

The serial executor is this process, so it is tried with those that leave the process alive; what becomes of a
program that a model ends is in tests/test_starting.py. What costs a process is slow, save one; so is Ray.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.runs.executing import REQUIREMENT, Bright, Frames, Meter, Misbehaving
from tests.runs.test_faults import REASONS

from roadworthy.cases import Status
from roadworthy.runs import read_rows, run
from roadworthy.runs.executors import Executor, executor_for

DIED = re.escape(REASONS["crashes"])
SURVIVED = {
    "raises": "meter crashed on frame 'f5': ZeroDivisionError: no horizon",
    "leaves": "meter crashed on frame 'f5': SystemExit: 0",
    "closes": "meter crashed on frame 'f5': GeneratorExit",
    "starves": "meter crashed on frame 'f5': MemoryError: Unable to allocate 2.4 GiB",
    "stammers": "meter crashed on frame 'f5': UnspeakableError: .no message: RuntimeError while it was made",
    "miscounts": "meter gave a wrong number of predictions for frame 'f5': expected 1, got 0",
    "babbles": "meter must answer frame 'f5' with one of Signals, .*, got str",
    "writes": "meter wrote into the image of frame 'f5': let it work on a copy",
}
DEADLY = {
    "ends": DIED,
    "crashes": DIED,
    "kills": DIED,
    "shuts": DIED,
    "hangs": "meter gave no answer within 3 s, tried alone; its process was ended",
    "ignores": "meter gave no answer within 3 s, tried alone; its process was ended",
    "explodes": "meter took more than 600 MB of memory, tried alone; its process was ended",
}
APART = {"interrupts": "meter crashed on frame 'f5': KeyboardInterrupt", "scribbles": DIED}
"""What only a process of its own can tell from Ctrl-C, and what brings down a raylet: test_faults_ray.py."""
KINDS = {**SURVIVED, **APART, **DEADLY}
slow = pytest.mark.slow


def of(name: str, kind: str) -> object:
    deadly = KINDS[kind] is DIED or kind in DEADLY
    deadly &= (name, kind) != ("processes", "ends")
    return pytest.param(name, kind, marks=[slow] if name == "ray" or deadly else [])


@pytest.fixture(scope="module")
def executors() -> Iterator[dict[str, Executor]]:
    """One of each, started where it is needed, for all tests: a run must leave it fit for the next."""
    made: dict[str, Executor] = {}
    yield made
    for executor in made.values():
        executor.__exit__()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    folder = tmp_path_factory.mktemp("good")
    run(Bright(), REQUIREMENT, Frames(8), Meter(), out=folder / "run", batch_size=4)
    return [dict(row) for row in read_rows(folder / "run")]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(of("serial", kind) for kind in SURVIVED),
        *(of("processes", kind) for kind in KINDS),
        *(of("ray", kind) for kind in KINDS if kind not in APART),
    ],
)
def test_a_misbehaving_model_costs_the_case_it_misbehaves_on(
    tmp_path: Path, name: str, kind: str, executors: dict[str, Executor], good: list[dict[str, object]]
) -> None:
    if name == "ray":
        pytest.importorskip("ray")
    seconds = 3.0 if kind in ("hangs", "ignores") else 60.0
    key = f"{name} {seconds}"
    if key not in executors:
        limits: Any = {} if name == "serial" else {"workers": 2, "timeout_s": seconds, "memory_mb": 600.0}
        executors[key] = executor_for(name, **limits)
    model = Misbehaving("meter", kind, ["f5"])
    result = run(
        Bright(), REQUIREMENT, Frames(8), model, out=tmp_path / "run", batch_size=4, executor=executors[key]
    )
    rows = [dict(row) for row in read_rows(tmp_path / "run")]
    assert rows[5]["status"] == "error"
    assert re.match(KINDS[kind], str(rows[5]["reason"])), rows[5]["reason"]
    assert rows[:5] + rows[6:] == good[:5] + good[6:]
    assert result.counts[Status.ERROR] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_the_child_of_a_model_answers_nobody(
    tmp_path: Path, executors: dict[str, Executor], good: list[dict[str, object]]
) -> None:
    """It comes back out of the model as its parent does, with the same connection to the driver."""
    executor = executors.setdefault("processes 60.0", executor_for("processes", workers=2))
    model = Misbehaving("meter", "forks", ["f5"])
    run(Bright(), REQUIREMENT, Frames(8), model, out=tmp_path / "run", batch_size=4, executor=executor)
    assert [dict(row) for row in read_rows(tmp_path / "run")] == good
