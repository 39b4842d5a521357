"""Rules that drive, from a suite to rows, report and kept drives."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.driving.drives.readers.recorded import read_recorded
from roadworthy.driving.method import NO_FRAMES
from roadworthy.driving.simulators import Controls, ScenarioChange, ScenarioDriver, Situation
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.models import SystemUnderTest, callable_model
from roadworthy.registry import simulators
from roadworthy.report.drive_tables import driven_rules
from roadworthy.report.publish import publish
from roadworthy.runs import read_rows, run
from roadworthy.runs.suites import Suite, plan_suite, run_suite, suite_of

TOWN = """
    models: truth
    requirements:
      steps:
        rule: If a pedestrian steps onto the road after 1 s, the ego-vehicle should stop before it.
        drive: world:town
        options: {fps: 5, traffic: 0, driver: DRIVER}
        places: 2
        frames: FRAMES
        seconds: 12
"""


def town(driver: str = "careful", frames: str = "none") -> str:
    return TOWN.replace("DRIVER", driver).replace("FRAMES", frames)


def test_a_suite_has_a_drive_for_each_place_and_goes_on_where_it_was(
    suite: Callable[[str], Suite], tmp_path: Path
) -> None:
    plan = plan_suite(suite(town()))
    assert sum(map(plan.cases, plan.trials)) == 2
    result = run_suite(plan, tmp_path / "run")
    assert (result.exit_code(), str(result.outcomes["steps", "truth"].status)) == (0, "passed")
    rows: list[Any] = list(read_rows(result.folder_of("steps", "truth")))
    assert [row["case"] for row in rows] == [row["cluster"] for row in rows] == ["town-01", "town-06"]
    for row in rows:
        assert row["param.change.1"] == "add a pedestrian on the road, stepping onto the road, after 1 s"
        assert row["measure.lowest_speed"] < 0.5
        assert 0 < row["margin"] <= row["measure.after.1"]
    kept = sorted(path.name for path in (tmp_path / "run" / "drives").iterdir())
    assert kept == ["steps-truth-1.parquet", "steps-truth-3.parquet"]
    recorded = read_recorded(tmp_path / "run" / "drives" / kept[0])
    assert float(recorded.time[recorded.events["changed"]][0]) == pytest.approx(1.2)
    again = run_suite(plan_suite(suite(town())), tmp_path / "run")
    assert again.complete_before


def test_a_blind_driver_is_violated_and_the_report_tells_by_how_much(
    suite: Callable[[str], Suite], tmp_path: Path
) -> None:
    result = run_suite(plan_suite(suite(town("pedestrian-blind", "failing"))), tmp_path / "run")
    assert result.exit_code() == 1
    (table,), document = driven_rules(result)
    drives = document["results"][0]["drives"]
    assert {one["status"] for one in drives} == {"violated"}
    assert all(one["reason"].startswith("collision") and one["gap"] == 0 for one in drives)
    assert table.note.startswith("eventually always[0, 0.2 s] (x2 >= 0 m)")
    assert [row[0] for row in table.rows[1:]] == [one["drive"] for one in drives]
    units = dict(zip(table.columns, table.rows[0], strict=True))
    assert units == {
        **{"drive": "", "status": "", "margin": "m (m/s²)", "holds after": "s"},
        **{"gap": "m", "ttc": "s", "slowest": "m/s", "reason": ""},
    }
    assert (tmp_path / "run" / drives[0]["file"]).is_file()
    assert len(list((tmp_path / "run" / "drives").glob("*.frames.zip"))) == 2
    page = publish(result).files["report"].read_text("utf-8")
    assert "stepping onto the road" in page
    assert page.count("The image of case town-0") == 2
    assert "No frames of this drive were kept" not in page


def test_the_change_and_the_drive_without_it_have_the_same_traffic(
    suite: Callable[[str], Suite], tmp_path: Path
) -> None:
    text = """
        models: truth
        requirements:
          fog:
            rule: If it becomes foggy after 1 s, the ego-vehicle should slow down within 1 s.
            drive: world:meadow
            options: {fps: 5, start: 200}
            seeds: 2
            seconds: 4
    """
    result = run_suite(plan_suite(suite(text)), tmp_path / "run")
    rows: list[Any] = list(read_rows(result.folder_of("fog", "truth")))
    assert [row["case"] for row in rows] == ["world:meadow seed 0", "world:meadow seed 1"]
    assert {row["cluster"] for row in rows} == {"world:meadow"}
    for number in (1, 3):
        with_it, without = (
            read_recorded(tmp_path / "run" / "drives" / f"fog-truth-{one}.parquet")
            for one in (number, number + 1)
        )
        assert np.array_equal(with_it.signals["speed"][:6], without.signals["speed"][:6])
        assert with_it.signals["speed"][-1] < without.signals["speed"][-1]
    assert all(row["measure.before.1"] > row["measure.after.1"] for row in rows)


def tried(rule: str, simulator: str, system: SystemUnderTest, folder: Path, **options: Any) -> dict[str, Any]:
    """Return the one row of a rule that a system of ours drives by."""
    entry = {"rule": rule, "drive": simulator, "options": options, "seconds": 4.0, "places": 1}
    planned = plan_suite(suite_of({"models": "truth", "requirements": {"R": entry}}))
    (trial,) = planned.trials
    method = trial.kind.method({"R": trial.part}, planned.context)
    run(method, trial.requirement, NO_FRAMES, system, out=folder, simulator=ScenarioDriver())
    (row,) = read_rows(folder)
    return dict(row)


def seeing(frames: Any) -> list[Signals]:
    """Drive slowly where it is bright."""
    return [Signals(speed=5.0 if one.image.mean() > 100 else 9.0, steering=0.0) for one in frames]


def test_a_network_that_answers_nan_is_an_error_of_its_cases(tmp_path: Path) -> None:
    broken = callable_model(lambda frames: [Signals(speed=math.nan) for _ in frames], name="broken")
    row = tried("If it becomes foggy after 1 s, slow down.", "world:meadow", broken, tmp_path, fps=5)
    assert row["status"] == "error"
    assert "speed" in row["reason"]
    assert "nan" in row["reason"]


# Simulators of others.


class _Straight:
    """A straight road on which fog can come up, and nothing else."""

    name, notes = "straight", ()

    def __init__(self, *, limit: float = 10.0) -> None:
        self._limit = limit

    def reset(self) -> Situation:
        self._steps, self._distance, self._foggy = 0, 0.0, False
        return self._now()

    def step(self, controls: Controls) -> Situation:
        self._steps += 1
        self._distance += (controls.speed or 0.0) / 5
        self._speed = controls.speed
        return self._now()

    def close(self) -> None:
        pass

    def check_change(self, change: ScenarioChange) -> None:
        if any(step["replacement"] != "foggy" for step in change.steps):
            raise InputError(f"on the straight road only fog comes up, not: {change.words}")

    def change(self, change: ScenarioChange) -> None:
        self._foggy = True

    def _now(self) -> Situation:
        grey = np.full((66, 200, 3), 200 if self._foggy else 40, np.uint8)
        signals = {
            "speed": self._limit if self._steps == 0 else self._speed or 0.0,
            "distance": self._distance,
        }
        events = {"changed": True} if self._foggy else {}
        return Situation(self._steps / 5, Frame(f"s-{self._steps}", grey), signals, events)


class _Still(_Straight):
    """The same without changes."""

    check_change = change = None  # type: ignore[assignment]


@pytest.fixture
def straight() -> Any:
    simulators.register("straight", summary="a straight road")(_Straight)
    simulators.register("still", summary="the same without changes")(_Still)
    yield
    for name in ("straight", "still"):
        simulators._entries.pop(name, None)


@pytest.mark.usefixtures("straight")
def test_another_simulator_that_offers_changes_is_driven_in(tmp_path: Path) -> None:
    mine = callable_model(seeing, name="mine")
    row = tried("If it becomes foggy after 1 s, slow down at least 30%.", "straight", mine, tmp_path)
    assert (row["status"], row["case"], row["margin"]) == ("passed", "straight", pytest.approx(9 * 0.7 - 5))


@pytest.mark.usefixtures("straight")
def test_what_a_simulator_cannot_change_is_refused_by_its_name(tmp_path: Path) -> None:
    mine = callable_model(seeing, name="mine")
    with pytest.raises(
        InputError, match="nothing can be changed during a drive in still: it offers no change"
    ):
        tried("If it becomes foggy, slow down.", "still", mine, tmp_path)
    with pytest.raises(InputError, match="on the straight road only fog comes up, not: add a truck"):
        tried("If a truck stands in the lane, slow down.", "straight", mine, tmp_path)


def test_more_places_than_there_are_is_refused(suite: Callable[[str], Suite]) -> None:
    with pytest.raises(InputError, match=r"places: world:town has \d+ to start from, got 500"):
        plan_suite(suite(town().replace("places: 2", "places: 500")))
