"""Workers, drivers and nodes that are killed at random moments: the rows are those of an undisturbed run.

The small campaigns run always, the large ones under `make test-slow`.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.runs.executing import REQUIREMENT, Bright, Frames, Slow, digests
from tests.runs.test_faults import start

from roadworthy.cases import Status
from roadworthy.runs import run
from roadworthy.runs.executors import Executor, executor_for

SIZES = [(2, 400), pytest.param(30, 2000, marks=pytest.mark.slow)]
"""How often something is killed in a run of how many cases."""


def undisturbed(folder: Path, cases: int) -> dict[str, str]:
    run(Bright(), REQUIREMENT, Frames(cases), Slow("meter", seconds=0), out=folder, batch_size=4)
    return digests(folder)


class Killer:
    """Kills something at random moments of a run."""

    def __init__(
        self, kills: int, cases: int, kill: Callable[[random.Random], bool], *, at_once: bool = False
    ) -> None:
        self.at_once = at_once
        self.rng = random.Random(cases)
        self.moments = sorted(self.rng.sample(range(cases // 50, cases * 9 // 10), kills))
        self.kill = kill
        self.done = 0
        self.timers: list[threading.Timer] = []

    def __call__(self, counts: Mapping[Status, int]) -> None:
        while self.moments and sum(counts.values()) >= self.moments[0]:
            self.moments.pop(0)
            if self.at_once:
                self._now()
                continue
            # Not only when a row was just stored.
            self.timers.append(threading.Timer(self.rng.uniform(0, 0.2), self._now))
            self.timers[-1].start()

    def _now(self) -> None:
        self.done += self.kill(self.rng)

    def end(self) -> int:
        for timer in self.timers:
            timer.join()
        return self.done


def kill_one(executor: Any) -> Callable[[random.Random], bool]:
    def kill(rng: random.Random) -> bool:
        try:
            os.kill(rng.choice(executor.pids), signal.SIGKILL)
        except (IndexError, ProcessLookupError):
            return False  # none is there just now
        return True

    return kill


def disturbed(folder: Path, executor: Executor, killer: Killer, cases: int) -> dict[str, str]:
    with executor:
        run(
            Bright(), REQUIREMENT, Frames(cases), Slow("meter"), out=folder, batch_size=4, executor=executor,
            progress=killer,
        )  # fmt: skip
        killer.end()
    return digests(folder)


@pytest.mark.parametrize(("kills", "cases"), SIZES)
def test_killed_workers(tmp_path: Path, kills: int, cases: int) -> None:
    executor = executor_for("processes", workers=2)
    killer = Killer(kills, cases, kill_one(executor))
    found = disturbed(tmp_path / "out", executor, killer, cases)
    assert killer.done >= kills * 3 // 4
    assert found == undisturbed(tmp_path / "good", cases)


@pytest.mark.parametrize(
    ("name", "kills", "cases"),
    [
        ("serial", 1, 200),
        ("processes", 2, 400),
        *(pytest.param(name, 30, 2000, marks=pytest.mark.slow) for name in ("serial", "processes")),
        # Each begins a cluster of its own.
        pytest.param("ray", 5, 2000, marks=pytest.mark.slow),
    ],
)
def test_killed_drivers(tmp_path: Path, name: str, kills: int, cases: int) -> None:
    if name == "ray":
        pytest.importorskip("ray")
    rng = random.Random(cases)
    stopped = 0
    for _ in range(kills):
        driver = start(tmp_path, name, cases)
        assert driver.stdout is not None
        # A line for each batch of four; the first two come before the first batch.
        wanted = rng.randrange(1, cases // 4 // kills)
        for number, _line in enumerate(driver.stdout):
            if number - 2 >= wanted:
                break
        threading.Event().wait(rng.uniform(0, 0.05))
        driver.kill()
        driver.communicate()
        stopped += driver.returncode == -signal.SIGKILL
    assert stopped == kills
    again = start(tmp_path, name, cases)
    complaints = again.communicate()[1]
    assert again.returncode == 0, complaints
    assert name == "ray" or complaints == ""  # Ray has something to say about anything
    assert digests(tmp_path / "out") == undisturbed(tmp_path / "good", cases)


@contextmanager
def cluster(count: int = 2) -> Iterator[Any]:
    """A cluster of several nodes on this machine: one for the driver, and so many that work."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    nodes: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(count):
        nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address, logging_level="ERROR", log_to_driver=False)
    try:
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()


@pytest.mark.parametrize(("kills", "cases"), SIZES)
def test_killed_ray_workers_and_nodes(tmp_path: Path, kills: int, cases: int) -> None:
    good = undisturbed(tmp_path / "good", cases)
    with cluster() as nodes:
        executor = executor_for("ray", workers=2)
        killer = Killer(kills, cases, kill_one(executor))
        assert disturbed(tmp_path / "workers", executor, killer, cases) == good
        assert killer.done >= kills * 3 // 4

        def kill_node(rng: random.Random) -> bool:
            node = rng.choice(list(nodes.worker_nodes))
            nodes.remove_node(node, allow_graceful=False)
            nodes.add_node(num_cpus=1)
            return True

        # Ray starts nodes from the main thread only.
        killer = Killer(kills, cases, kill_node, at_once=True)
        assert disturbed(tmp_path / "nodes", executor_for("ray", workers=2), killer, cases) == good
        assert killer.done == kills
