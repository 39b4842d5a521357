"""A search takes the same course wherever its batches are carried out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.coverage.search.searching import Drive, digests, network, requirement

from roadworthy.coverage import Observed
from roadworthy.coverage.method import CoverageMethod
from roadworthy.datasets import load
from roadworthy.models import Network, load_model
from roadworthy.runs import run
from roadworthy.runs.executors import executor_for


def test_a_search_takes_the_same_course_in_processes(tmp_path: Path) -> None:
    with executor_for("processes", workers=2) as two:
        for name, executor in {"serial": None, "two": two}.items():
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
    assert digests(tmp_path / "serial") == digests(tmp_path / "two")


def test_networks_of_onnx_are_opened_in_workers(tmp_path: Path) -> None:
    data = load("world:town", count=3)
    need = requirement(tries=6, **{"lambda": 5})
    with executor_for("processes", workers=2) as two:
        for name, executor in {"serial": None, "two": two}.items():
            driver = load_model("dave2")
            assert isinstance(driver, Network)
            system: Observed[Any] = Observed(driver)
            run(CoverageMethod(), need, data, system, out=tmp_path / name, executor=executor)
    assert digests(tmp_path / "serial") == digests(tmp_path / "two")
