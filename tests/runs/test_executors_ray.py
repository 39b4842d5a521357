"""The same bytes on a Ray cluster, and what its actors hold."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runs.executing import REQUIREMENT, Bright, Counted, Frames, Late, Meter, Told, digests

from roadworthy.cases import Requirement
from roadworthy.datasets import load
from roadworthy.errors import InputError
from roadworthy.runs import read_rows, run, run_several
from roadworthy.runs.executors import Executor, executor_for
from roadworthy.runs.store import StoredRun
from roadworthy.runs.suites import run_suite, suite_of

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster(several_threads: None) -> Iterator[None]:
    """Ray on this machine, with room for the actors of all tests."""
    ray.init("local", num_cpus=8, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def two(cluster: None) -> Iterator[Executor]:
    with executor_for("ray", workers=2) as executor:
        yield executor


@pytest.mark.parametrize("inline", [False, True])
def test_a_cluster_does_not_change_a_byte(tmp_path: Path, inline: bool, two: Executor) -> None:
    systems = [Meter("a"), Meter("b", "raises", ["f7"])]
    other = Requirement("R2", "It is bright enough", "bright")
    for name, executor in {"serial": None, "ray": two}.items():
        run_several(
            Bright(inline=inline), [REQUIREMENT, other], Frames(60, (40, 60)), systems, out=tmp_path / name,
            seed=3, batch_size=7, passes=0.3, executor=executor,
        )  # fmt: skip
    assert digests(tmp_path / "serial") == digests(tmp_path / "ray")


@pytest.mark.slow
def test_estimated_labels_are_the_same(tmp_path: Path, two: Executor) -> None:
    for frame in load("world:town", count=3, seed=5):
        frame.save_image(tmp_path / f"{frame.id}.png")
    rule = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%."
    for name, executor in {"serial": None, "ray": two}.items():
        data = {"data": f"folder:{tmp_path}", "options": {"labels": "street"}}
        asked = suite_of({"models": "dave2", "data": {"dash": data}, "requirements": {"P": rule}}, tmp_path)
        run_suite(asked, tmp_path / name, images="all", executor=executor)
        # So that the next one asks the network, too.
        shutil.rmtree(os.environ["ROADWORTHY_CACHE"])
    serial, on_ray = (
        StoredRun.open(tmp_path / name).query("SELECT * FROM cases ORDER BY 1") for name in ("serial", "ray")
    )
    assert serial == on_ray
    assert {row["measure.labels_from"] for row in on_ray if row["margin"] is not None} == {
        "street (estimated)"
    }


def test_an_actor_has_one_thread_and_one_copy_of_a_system(tmp_path: Path, two: Executor) -> None:
    for name in ("first", "second"):
        method, out = Told(inline=True), tmp_path / name
        run(method, REQUIREMENT, Frames(12), Counted(), out=out, batch_size=1, executor=two)
        rows = list(read_rows(tmp_path / name))
        assert {(row["measure.threads"], row["measure.omp"], row["measure.network"]) for row in rows} == {
            (1, "1", "1")
        }
        assert {row["margin"] for row in rows} == {1.0}, "it is not opened again for another run"
        assert os.getpid() not in {row["measure.pid"] for row in rows}


def test_a_search_takes_the_same_course(tmp_path: Path, two: Executor) -> None:
    from tests.coverage.search.searching import Drive, network, requirement

    from roadworthy.coverage.method import CoverageMethod

    for name, executor in {"serial": None, "ray": two}.items():
        out = tmp_path / name
        run(
            CoverageMethod(),
            requirement(tries=40),
            Drive(6),
            network(),
            out=out,
            batch_size=8,
            executor=executor,
        )
    assert digests(tmp_path / "serial") == digests(tmp_path / "ray")


def test_a_bug_ends_the_run_and_what_came_before_it_is_stored(tmp_path: Path, two: Executor) -> None:
    with pytest.raises(KeyError, match="a bug in the method") as caught:
        run(Late(), REQUIREMENT, Frames(20), Meter(), out=tmp_path, batch_size=4, executor=two)
    assert "in judge" in "".join(caught.value.__notes__)
    assert [row["case"] for row in read_rows(tmp_path)] == [f"c{number}" for number in range(9)]


def test_a_cluster_without_gpus_is_told(cluster: None) -> None:
    with pytest.raises(InputError, match=r"each worker was to get 0.5 GPU, but the cluster has 0: leave out"):
        executor_for("ray", gpus=0.5)
