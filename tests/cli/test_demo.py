from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from roadworthy.cli import demo
from roadworthy.images import read_image
from roadworthy.runs.suites import plan_suite, read_suite

SHEETS = ("world", "ground-truth", "counterfactuals")
FEW = """
suite: A few
models: [dave2, detector]
data: {road: {data: world:town, sample: 6}}
requirements:
  R7: If the driving time changes into night, then the ego-vehicle should slow down.
"""


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the demonstration a short one."""
    file = tmp_path / "few.suite.yaml"
    file.write_text(FEW)
    monkeypatch.setattr(demo, "demo_suite", lambda: file)


@pytest.mark.slow
def test_the_demo_draws_the_world_runs_the_suite_and_ends_with_the_report(
    process: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    result = process("demo")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    for name in SHEETS:
        assert f"Wrote demo-out/{name}.png" in result.stdout
        assert min(read_image(tmp_path / "demo-out" / f"{name}.png").shape[:2]) > 500
    assert result.stdout.splitlines()[-1] == "Report: demo-out/run/report.html"
    assert (tmp_path / "demo-out" / "run" / "report.html").stat().st_size > 100_000


def test_the_suite_of_the_demonstration_has_all_five_kinds() -> None:
    plan = plan_suite(read_suite(demo.demo_suite()), sample=2)
    assert {trial.kind.name for trial in plan.trials} == {
        "rules",
        "coverage",
        "reliability",
        "bbsl",
        "driving",
    }
    assert {model for trial in plan.trials for model in trial.models} == set(plan.suite.form.models)
    assert all(trial.requirement.tags for trial in plan.trials)


@pytest.mark.usefixtures("few")
def test_the_demo_says_what_it_drew_and_where_the_report_is(
    roadworthy: Callable[..., Result], tmp_path: Path
) -> None:
    result = roadworthy("demo")
    assert result.exit_code == 0, result.output
    for name in SHEETS:
        assert f"Wrote demo-out/{name}.png" in result.stdout
        assert min(read_image(tmp_path / "demo-out" / f"{name}.png").shape[:2]) > 500
    (night,) = [line.split() for line in result.stdout.splitlines() if line.split()[:1] == ["night"]]
    before, after = float(night[1]), float(night[3])
    assert 0.8 * before == pytest.approx(after, abs=1), "the driver is slower at night, by a fifth"
    assert night[4] == "-20%"
    assert 25 < before < 60, "in a town, in km/h"
    assert "R7  dave2" in result.stdout
    assert result.stdout.splitlines()[-1] == "Report: demo-out/run/report.html"
    assert (tmp_path / "demo-out" / "run" / "report.html").is_file()


@pytest.mark.usefixtures("few")
def test_json_has_the_driver_and_the_suite_and_it_may_be_run_again(roadworthy: Callable[..., Result]) -> None:
    Path("pictures/run").mkdir(parents=True)
    Path("pictures/run/mine.txt").write_text("")
    result = roadworthy("demo", "--out", "pictures", "--json")
    assert result.exit_code == 2
    assert "is not from an earlier demonstration" in result.stderr
    Path("pictures/run/mine.txt").rename("pictures/run/manifest.json")
    result = roadworthy("demo", "--out", "pictures", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["sheets"] == {name: f"pictures/{name}.png" for name in SHEETS}
    speeds = {
        row["change"]: (row["before"]["speed"], row["after"]["speed"]) for row in document["counterfactuals"]
    }
    for change in ("a pedestrian on the sidewalk", "night", "heavy rain", "fog", "heavy snow", "a stop sign"):
        assert speeds[change][1] < speeds[change][0]
    for change in ("no lane lines", "trees instead of buildings"):
        assert speeds[change][1] == speeds[change][0]
    (row,) = document["suite"]["results"]
    assert (row["requirement"], row["model"], sum(row["counts"].values())) == ("R7", "dave2", 6)
    assert Path(document["suite"]["files"]["report"]).is_file()


def test_a_file_in_the_way_is_a_clear_message(roadworthy: Callable[..., Result]) -> None:
    Path("taken").write_text("")
    result = roadworthy("demo", "--out", "taken")
    assert result.exit_code == 2
    assert "cannot make the folder taken: a file has this name" in result.stderr
