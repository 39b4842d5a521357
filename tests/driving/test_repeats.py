"""Repeated drives: how far they differ, what that says of the simulator, and what they count for."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.driving.simulators import pretending
from typer.testing import CliRunner

from roadworthy.cases import Acceptance
from roadworthy.cli import app
from roadworthy.driving.drives import Drive
from roadworthy.driving.method import NO_FRAMES, DrivingMethod
from roadworthy.driving.repeats import MetricSpread, Repeats
from roadworthy.driving.requirements import DrivingQuality, Thresholds
from roadworthy.driving.simulators import DriveLimits, Scenario, ScenarioDriver
from roadworthy.errors import InputError
from roadworthy.frames import Signals
from roadworthy.models import Truth, callable_model
from roadworthy.runs import read_rows, run

STRAIGHT = callable_model(lambda frames: [Signals(steering=0.0, speed=9.0) for _ in frames], name="straight")

SHARE = 17 / 21
"""Of the rows are faster by the noise."""


def noisy(folder: Path, base: float) -> Scenario:
    """Return a scenario at a speed; each base counts its own starts."""
    command = f"{sys.executable} '{pretending.__file__}' 'noisy {folder / f'starts-{base:g}'} {base}'"
    return Scenario(f"process:{base:g}", {"command": command})


def test_the_spread_of_a_simulator_with_known_noise(tmp_path: Path) -> None:
    bases, count = (7.0, 8.0, 11.0), 4
    speeds = np.array([[base + SHARE * pretending.noise(start) for start in range(count)] for base in bases])
    limit = float(speeds[0].mean())
    asked = DrivingQuality(
        Thresholds({"Mean(SP)": limit}),
        tuple(noisy(tmp_path, one) for one in bases),
        ("whole drive",),
        repeats=count,
    )
    requirement = asked.requirement("R1", acceptance=Acceptance(0.9))
    outcome = run(
        DrivingMethod(), requirement, NO_FRAMES, STRAIGHT, out=tmp_path / "run",
        simulator=ScenarioDriver(tmp_path / "run"),
    ).outcome  # fmt: skip
    found = {one.metric: one for one in Repeats.kept(tmp_path / "run", "R1", "straight", asked).spread()}
    spread = found["Mean(SP)"]
    assert (spread.scenarios, spread.drives) == (3, 12)
    assert spread.mean == pytest.approx(speeds.mean())
    within = speeds.var(axis=1, ddof=1).mean()
    assert spread.between_repeats == pytest.approx(np.sqrt(within))
    between = speeds.mean(axis=1).var(ddof=1) - within / count
    assert spread.between_scenarios == pytest.approx(np.sqrt(between))
    assert found["Count(CR)"].between_repeats == 0
    # A scenario is one cluster, however often it was driven; each drive is judged by itself.
    rows = list(read_rows(tmp_path / "run"))
    assert [len({row[name] for row in rows}) for name in ("case", "cluster")] == [len(rows), 3] == [12, 3]
    assert outcome.measures["clusters"] == 3
    assert [row["status"] == "passed" for row in rows] == (speeds.ravel() >= limit).tolist()
    assert outcome.status.value == "inconclusive"
    assert "12 cases of 3 clusters (drives, laps, scenes) say too little about a rate" in outcome.summary
    (note,) = outcome.notes
    failed = int((speeds[0] < limit).sum())
    assert 0 < failed < count
    assert note.startswith("1 of 3 sectors passed in one repeat and failed in another; most often process:7 ")
    assert note.endswith(f", in {failed} of 4")


def test_whether_the_same_seed_gave_the_same_drive_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "straight.py").write_text(
        "from roadworthy.frames import Signals\n\n"
        "def on(frames):\n    return [Signals(steering=0.0, speed=9.0) for _ in frames]\n"
    )
    command = noisy(tmp_path, 8.0).options["command"]
    words = (
        "driving", "drive", "--model", "python:straight:on", "-s", "process:mine", "-o", f"command={command}",
        "--executor", "serial", "--repeats", "3", "--out", "noise", "--metric", "SP",
    )  # fmt: skip
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    (note,) = (one for one in document["notes"] if "the same seed" in one)
    assert "the same seed gave 3 different drives of 3; first difference after 0.4 s, in speed and" in note
    (told,) = (one for one in document["repeats"] if one["metric"] == "Mean(SP)")
    speeds = [8.0 + SHARE * pretending.noise(start) for start in range(3)]
    assert (told["mean"], told["between_repeats"]) == pytest.approx((np.mean(speeds), np.std(speeds, ddof=1)))
    assert (told["between_scenarios"], told["drives"], told["unit"]) == (None, 3, "m/s")
    with (tmp_path / "noise/repeats.csv").open() as file:
        rows = {row["metric"]: row for row in csv.DictReader(file)}
    assert float(rows["Mean(SP)"]["between_repeats"]) == told["between_repeats"]
    assert "different drives of 3" in (tmp_path / "noise/report.html").read_text()
    shown = CliRunner().invoke(app, words).output
    assert "SD between repeats" in shown
    assert "different drives of 3" in shown


def test_the_world_drives_the_same_way_each_time(tmp_path: Path) -> None:
    scenario = Scenario("world:town", {"fps": 5.0, "seed": 2}, DriveLimits(metres=60))
    asked = DrivingQuality(Thresholds({}), (scenario,), repeats=3)
    requirement = asked.requirement("R1")
    run(DrivingMethod(), requirement, NO_FRAMES, Truth(), out=tmp_path, simulator=ScenarioDriver(tmp_path))
    first, second, third = sorted((tmp_path / "drives").iterdir())
    assert first.read_bytes() == second.read_bytes() == third.read_bytes()
    repeats = Repeats.kept(tmp_path, "R1", "truth", asked)
    assert repeats.notes() == ["world:town fps=5.0 seed=2: 3 repeats are identical"]
    assert {one.between_repeats for one in repeats.spread()} == {0.0}
    assert {one.between_scenarios for one in repeats.spread()} == {None}


def test_the_first_difference_of_drives() -> None:
    def drive(last: float, ended: str = "", **more: list[float]) -> Drive:
        return Drive("d", [5.0, 5.5, 6.0], {"speed": [1.0, 2.0, last], **more}, ended=ended)

    def told(*drives: Drive) -> str:
        (note,) = Repeats({"s": drives}).notes()
        return note

    assert told(drive(3.0), drive(3.0)) == "s: 2 repeats are identical"
    assert told(drive(float("nan")), drive(float("nan"))) == "s: 2 repeats are identical"
    assert "2 different drives of 3; first difference after 1 s, in speed" in told(
        drive(3.0), drive(3.5), drive(3.0)
    )
    assert "after 0 s, in x" in told(drive(3.0), drive(3.0, x=[1.0, 1.0, 1.0]))
    assert "after 1 s, in where they end" in told(drive(3.0), drive(3.0, "crash"))
    assert Repeats({"s": (drive(3.0),)}).notes() == []


def test_what_is_not_known_spreads_by_nothing() -> None:
    nan = float("nan")
    assert MetricSpread.of("m", [[nan], []]) is None
    assert MetricSpread.of("m", [[1.0, nan], [3.0]]) == MetricSpread("m", 2.0, None, None, 2, 2)


def test_drives_are_repeated_at_least_once() -> None:
    with pytest.raises(InputError, match="repeats must be 1 or more, got 0"):
        DrivingQuality(Thresholds({}), (Scenario("world:town"),), repeats=0)
