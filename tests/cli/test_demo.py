from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from roadworthy.cli import tool
from roadworthy.runs.suites import plan_suite, read_suite

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
    monkeypatch.setattr(tool, "demo_suite", lambda: file)


@pytest.mark.slow
def test_the_demo_runs_the_suite_and_ends_with_the_report(
    process: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    result = process("demo")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert result.stdout.splitlines()[-1] == "Report: demo-out/run/report.html"
    assert (tmp_path / "demo-out" / "run" / "report.html").stat().st_size > 100_000


def test_the_suite_of_the_demonstration_has_all_five_kinds() -> None:
    plan = plan_suite(read_suite(tool.demo_suite()), sample=2)
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
def test_the_demo_says_what_it_found_and_where_the_report_is(
    roadworthy: Callable[..., Result], tmp_path: Path
) -> None:
    result = roadworthy("demo")
    assert result.exit_code == 0, result.output
    assert "R7  dave2" in result.stdout
    assert result.stdout.splitlines()[-1] == "Report: demo-out/run/report.html"
    assert (tmp_path / "demo-out" / "run" / "report.html").is_file()


@pytest.mark.usefixtures("few")
def test_json_has_the_suite_and_it_may_be_run_again(roadworthy: Callable[..., Result]) -> None:
    Path("pictures/run").mkdir(parents=True)
    Path("pictures/run/mine.txt").write_text("")
    result = roadworthy("demo", "--out", "pictures", "--json")
    assert result.exit_code == 2
    assert "is not from an earlier demonstration" in result.stderr
    Path("pictures/run/mine.txt").rename("pictures/run/manifest.json")
    result = roadworthy("demo", "--out", "pictures", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    (row,) = document["suite"]["results"]
    assert (row["requirement"], row["model"], sum(row["counts"].values())) == ("R7", "dave2", 6)
    assert Path(document["suite"]["files"]["report"]).is_file()


def test_a_file_in_the_way_is_a_clear_message(roadworthy: Callable[..., Result]) -> None:
    Path("taken").write_text("")
    result = roadworthy("demo", "--out", "taken")
    assert result.exit_code == 2
    assert "cannot make the folder taken: a file has this name" in result.stderr
