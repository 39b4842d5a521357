"""A run that may take only so long: what it decides, what stays open, and how it goes on."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roadworthy.cases import OutcomeStatus
from roadworthy.errors import InputError
from roadworthy.runs import read_rows
from roadworthy.runs.suites import run_suite, suite_of
from roadworthy.runs.suites.estimating import seconds_of
from roadworthy.runs.suites.running import INCONCLUSIVE, VIOLATED

BRAKES = "If it rains, then the ego-vehicle should slow down by at least 99%."
STEERS = "If it rains, then the steering angle should not change by more than 400 degrees."
FRAMES = 24


def suite(**requirements: Any) -> Any:
    data = {"town": {"data": "world:town", "options": {"count": FRAMES}}}
    return suite_of({"models": "dave2-speed", "data": data, "requirements": requirements})


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every look at the clock take a second, and have one after every two frames."""
    monkeypatch.setattr("roadworthy.runs.suites.running._BATCH", 2)
    clock = SimpleNamespace(monotonic=map(float, count()).__next__)
    for module in ("loop", "suites.running"):
        monkeypatch.setattr(f"roadworthy.runs.{module}.time", clock)


def cases(folder: Path) -> dict[str, list[str]]:
    return {one.parent.name: [str(row["case"]) for row in read_rows(one)] for one in folder.glob("runs/*/*")}


@pytest.mark.usefixtures("seconds")
def test_what_is_open_goes_on_and_comes_to_what_a_whole_run_does(tmp_path: Path) -> None:
    asked = suite(steers=STEERS, rate={"rule": STEERS, "accept": {"rate": "10%"}})
    whole = run_suite(asked, tmp_path / "whole")
    cut = run_suite(asked, tmp_path / "cut", budget=9)
    assert not cut.outcomes
    assert cut.open["steers", "dave2-speed"].status is OutcomeStatus.PASSED  # so far
    assert cut.exit_code() == INCONCLUSIVE
    assert "2 open when the time was over" in cut.conclusion
    begun = cases(tmp_path / "cut")
    assert 0 < len(begun["steers"]) < FRAMES
    assert begun["steers"] == cases(tmp_path / "whole")["steers"][: len(begun["steers"])]
    further = run_suite(asked, tmp_path / "cut")
    assert further.outcomes == whole.outcomes
    assert not further.open
    assert cases(tmp_path / "cut") == cases(tmp_path / "whole")


@pytest.mark.usefixtures("seconds")
def test_time_goes_to_what_is_not_decided(tmp_path: Path) -> None:
    # One failure decides where none may be; the other goes on in the turns that follow.
    found = run_suite(suite(brakes=BRAKES, steers=STEERS), tmp_path / "run", budget=30)
    tried = cases(tmp_path / "run")
    assert found.outcomes["brakes", "dave2-speed"].status is OutcomeStatus.VIOLATED
    assert found.open.keys() == {("steers", "dave2-speed")}
    assert found.exit_code() == VIOLATED
    assert len(tried["brakes"]) < len(tried["steers"]) < FRAMES


def test_times_are_written_as_people_do() -> None:
    for wrong in ("", "30", "min", "-5s", "0s", "1e3s", "5 minutes or so"):
        with pytest.raises(InputError, match="90s, 30min or 2h"):
            seconds_of(wrong)
