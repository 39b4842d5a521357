"""Faults of systems on a Ray cluster cost what they cost elsewhere, in the same words."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.runs.executing import REQUIREMENT, Bright, Frames, Meter, Slow, Stubborn, digests
from tests.runs.test_faults import REASONS, is_alive, start
from tests.runs.test_faults_random import cluster as several_nodes

from roadworthy.cases import Status
from roadworthy.errors import InputError
from roadworthy.runs import read_rows, run
from roadworthy.runs.executors import executor_for

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init("local", num_cpus=8, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield
    ray.shutdown()


def test_a_cluster_of_our_own_leaves_exit_codes_as_they_are() -> None:
    # Before the fixture's cluster, which it would join. Ray can make a process ignore how its children end.
    with executor_for("ray", workers=1) as executor:
        run(Bright(), REQUIREMENT, Frames(1), Meter(), executor=executor)
        ended = subprocess.run([sys.executable, "-c", "raise SystemExit(3)"], check=False)
    ray.shutdown()
    assert ended.returncode == 3


@pytest.mark.parametrize(
    "fault", ["hangs", *(pytest.param(one, marks=pytest.mark.slow) for one in ("crashes", "explodes"))]
)
def test_a_fault_costs_the_case_it_is_met_on(tmp_path: Path, fault: str, cluster: None) -> None:
    run(Bright(), REQUIREMENT, Frames(8), Meter(), out=tmp_path / "good", batch_size=4)
    limits: Any = {"timeout_s": 1.0 if fault == "hangs" else 60, "memory_mb": 400}
    with executor_for("ray", workers=2, **limits) as executor:
        result = run(
            Bright(), REQUIREMENT, Frames(8), Meter("meter", fault, ["f5"]), out=tmp_path / "bad",
            batch_size=4, executor=executor,
        )  # fmt: skip
    good, bad = (list(read_rows(tmp_path / name)) for name in ("good", "bad"))
    assert (bad[5]["status"], bad[5]["reason"]) == ("error", REASONS[fault])
    assert len(str(bad[5]["images"])) == 64
    assert bad[:5] + bad[6:] == good[:5] + good[6:]
    assert result.counts[Status.ERROR] == 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["crashes", "hangs"])
def test_a_frame_that_cannot_be_made_costs_the_case_alone(tmp_path: Path, fault: str, cluster: None) -> None:
    with executor_for("ray", workers=1, timeout_s=2.0) as executor:
        run(
            Stubborn(fault, 5), REQUIREMENT, Frames(8), Meter(), out=tmp_path, batch_size=4, executor=executor
        )  # fmt: skip
    rows = list(read_rows(tmp_path))
    # It is not the model's fault.
    assert [row["case"] for row in rows if row["status"] == "engine error"] == ["c5"]
    assert len(rows) == 8


@pytest.mark.slow
def test_a_driver_that_is_killed_leaves_no_workers_and_is_resumed(tmp_path: Path) -> None:
    import threading

    driver = start(tmp_path, "ray", 400)
    assert driver.stdout is not None
    lines = iter(driver.stdout)
    pids: list[int] = []
    for _ in range(20):
        pids = [int(pid) for pid in next(lines).split() if pid.isdecimal()] or pids
    driver.kill()
    driver.communicate()
    for _ in range(600):
        if not any(map(is_alive, pids)):
            break
        threading.Event().wait(0.1)
    assert pids
    assert not any(map(is_alive, pids))
    assert 0 < len(list(read_rows(tmp_path / "out"))) < 400
    start(tmp_path, "serial", 400).communicate()
    assert len(list(read_rows(tmp_path / "out"))) == 400


@pytest.mark.slow
def test_a_cluster_that_breaks_down_ends_the_run_with_a_sentence_and_it_goes_on_later(tmp_path: Path) -> None:
    run(Bright(), REQUIREMENT, Frames(200), Slow("meter", 0), out=tmp_path / "good", batch_size=4)
    ray.shutdown()  # the cluster of the tests before
    with several_nodes(count=1) as nodes:

        def kill(counts: Mapping[Status, int]) -> None:
            if sum(counts.values()) >= 40 and nodes.worker_nodes:
                nodes.remove_node(next(iter(nodes.worker_nodes)), allow_graceful=False)

        with (
            executor_for("ray", workers=1) as executor,
            pytest.raises(InputError, match="the Ray cluster broke down: no node with a CPU is left"),
        ):
            run(
                Bright(), REQUIREMENT, Frames(200), Slow("meter"), out=tmp_path / "out", batch_size=4,
                executor=executor, progress=kill,
            )  # fmt: skip
    assert 0 < len(list(read_rows(tmp_path / "out"))) < 200
    run(Bright(), REQUIREMENT, Frames(200), Slow("meter"), out=tmp_path / "out", batch_size=4, resume=True)
    assert digests(tmp_path / "out") == digests(tmp_path / "good")


@pytest.mark.slow
def test_a_run_begins_with_what_a_cluster_has_and_takes_what_joins_it(tmp_path: Path) -> None:
    # As an autoscaler would have it: actors that wait for a place are its demand.
    run(Bright(), REQUIREMENT, Frames(240), Slow("meter", 0), out=tmp_path / "good", batch_size=4)
    ray.shutdown()  # the cluster of the tests before
    busy: list[float] = []
    with several_nodes(count=1) as nodes:

        def join(counts: Mapping[Status, int]) -> None:
            if sum(counts.values()) >= 20 and len(nodes.worker_nodes) < 2:
                nodes.add_node(num_cpus=1)
            busy.append(ray.cluster_resources().get("CPU", 0) - ray.available_resources().get("CPU", 0))

        with executor_for("ray", workers=2) as executor:
            run(
                Bright(), REQUIREMENT, Frames(240), Slow("meter", 0.1), out=tmp_path / "out", batch_size=4,
                executor=executor, progress=join,
            )  # fmt: skip
    assert digests(tmp_path / "out") == digests(tmp_path / "good")
    assert (busy[0], max(busy)) == (1, 2)
