"""Searches that take the same course every time, and go on after they were stopped."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.coverage.search.searching import Drive, Small, digests, network, requirement, searched, tried

from roadworthy.cases import Status
from roadworthy.coverage.method import CoverageMethod
from roadworthy.coverage.search.settings import SEARCHES
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.runs import read_rows, run

EVERY = pytest.mark.parametrize("name", SEARCHES)


class StoppedError(Exception):
    pass


@EVERY
def test_a_search_that_broke_off_goes_on_to_the_same_bytes(tmp_path: Path, name: str) -> None:
    searched(tmp_path / "whole", search=name, tries=220)
    for stop in (3, 150):

        def give_up(counts: Mapping[Status, int], stop: int = stop) -> None:
            if sum(counts.values()) >= stop:
                raise StoppedError

        with pytest.raises(StoppedError):
            searched(tmp_path / "parts", search=name, tries=220, progress=give_up, resume=True)
    searched(tmp_path / "parts", search=name, tries=220, resume=True)
    assert digests(tmp_path / "parts") == digests(tmp_path / "whole")
    searched(tmp_path / "parts", search=name, tries=220, resume=True)
    assert digests(tmp_path / "parts") == digests(tmp_path / "whole"), "nothing is left to do"


def test_a_search_with_many_originals_does_not_store_them_twice(tmp_path: Path) -> None:
    class Long(Drive):
        def __getitem__(self, index: int, /) -> Frame:
            return super().__getitem__(index % 5).replace(id=f"drive/{index}")

    def give_up(counts: Mapping[Status, int]) -> None:
        if sum(counts.values()) > 125:
            raise StoppedError

    # More than a checkpoint's worth of rows are written before there is a search to go on from.
    searched(tmp_path / "whole", Long(120), tries=30)
    with pytest.raises(StoppedError):
        searched(tmp_path / "parts", Long(120), tries=30, progress=give_up)
    searched(tmp_path / "parts", Long(120), tries=30, resume=True)
    assert list(read_rows(tmp_path / "parts")) == list(read_rows(tmp_path / "whole"))


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.coverage.search.searching import searched
searched(Path(sys.argv[2]), search="curious", tries=100_000, resume=True)
"""


def test_a_search_that_is_killed_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parents[3]), str(out)]
    with subprocess.Popen(command) as running:
        while not (out / "checkpoint.json").exists():
            assert running.poll() is None
            time.sleep(0.01)
        running.kill()
    done = json.loads((out / "checkpoint.json").read_text())["state"]["tries"]
    assert done > 0
    searched(out, search="curious", tries=done + 50, resume=True)
    searched(tmp_path / "whole", search="curious", tries=done + 50)
    assert tried(out) == tried(tmp_path / "whole")


def test_a_budget_may_be_raised_and_the_rows_are_those_of_the_larger_one(tmp_path: Path) -> None:
    searched(tmp_path / "parts", tries=70)
    searched(tmp_path / "parts", tries=150, resume=True)
    searched(tmp_path / "whole", tries=150)
    assert tried(tmp_path / "parts") == tried(tmp_path / "whole")


def test_seconds_cut_the_course_and_do_not_change_it(tmp_path: Path) -> None:
    now = iter(range(1000))
    method = CoverageMethod(clock=lambda: float(next(now)))
    run(method, requirement(tries=500, seconds=12.0), Drive(), network(), out=tmp_path / "cut", gate="off")
    searched(tmp_path / "whole", tries=500, seconds=3600.0)
    cut, whole = tried(tmp_path / "cut"), tried(tmp_path / "whole")
    assert 0 < len(cut) < 500 == len(whole)
    assert cut == whole[: len(cut)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 1}, "a run with seed 0, and it cannot go on with seed 1"),
        ({"search": "random"}, "has search 'curious', and 'random' was asked for: resume with the same"),
        ({"lambda": 4}, "has lambda 5, and 4"),
        ({"transforms": ["blur"]}, "has transforms"),
        ({"data": Drive(4)}, "4"),
    ],
)
def test_a_search_goes_on_with_the_same_settings_only(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    searched(tmp_path, tries=40)
    before = digests(tmp_path)
    if "data" in changes:
        changes["data"].name = "4 frames"
    with pytest.raises(InputError, match=message):
        searched(tmp_path, **{"tries": 40, "resume": True, **changes})
    assert digests(tmp_path) == before, "a refusal changes nothing"


def test_a_search_goes_on_with_the_same_network_only(tmp_path: Path) -> None:
    def other(module: Small) -> None:
        module.answer.weight *= 2

    searched(tmp_path, tries=40)
    with pytest.raises(InputError, match=r"resume with the same network and images: bound"):
        searched(tmp_path, tries=60, resume=True, system=network(other))


def test_without_resume_a_folder_with_a_run_is_refused(tmp_path: Path) -> None:
    searched(tmp_path, tries=10)
    with pytest.raises(InputError, match="already holds the cases of a run"):
        searched(tmp_path, tries=10)
