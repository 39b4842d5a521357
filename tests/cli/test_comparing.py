"""``roadworthy compare`` and ``roadworthy report``: exit codes, what is printed, what is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.report.runs_for_reports import add, requirement_of
from typer.testing import Result

Run = Callable[..., Result]


def margins(*values: float) -> list[tuple[Any, ...]]:
    return [(f"case {place}", value, {"frame": str(place)}, {}) for place, value in enumerate(values)]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    """Two runs; in the second, one requirement got worse."""
    for name, value in (("before", 1.0), ("after", -1.0)):
        add(tmp_path / name, margins(*[value] * 8), requirement=requirement_of("R1"))
        add(tmp_path / name, margins(1.0, 1.0), requirement=requirement_of("R2"))
    return str(tmp_path / "before"), str(tmp_path / "after")


def test_a_regression_is_printed_and_fails_only_if_asked(roadworthy: Run, folders: tuple[str, str]) -> None:
    result = roadworthy("compare", *folders)
    assert result.exit_code == 0
    assert "1 regression and no improvement in 2 comparisons; 8 cases broken, 0 fixed." in result.output
    assert "regression: R1, dave2: it passed and is violated now" in result.output
    assert "broken: case 0, margin +1 → −1" in result.output
    assert roadworthy("compare", *folders, "--fail-on-regression").exit_code == 1
    assert roadworthy("compare", *reversed(folders), "--fail-on-regression").exit_code == 0


def test_how_sure_a_regression_must_be_is_told(roadworthy: Run, tmp_path: Path) -> None:
    """Five frames broken and none fixed: p = 2 / 2^5 = 0.0625; the requirement is violated in both runs."""
    add(tmp_path / "a", margins(-1.0, *[1.0] * 9), requirement=requirement_of("R1"), images=False)
    add(tmp_path / "b", margins(*[-1.0] * 6, *[1.0] * 4), requirement=requirement_of("R1"), images=False)
    for alpha, code in (("0.05", 0), ("0.1", 1)):
        options = ("--fail-on-regression", "--alpha", alpha)
        assert roadworthy("compare", "a", "b", *options).exit_code == code, alpha


def test_json_is_one_document(roadworthy: Run, folders: tuple[str, str]) -> None:
    document = json.loads(roadworthy("compare", *folders, "--json").stdout)
    assert document["regressions"] == 1
    assert [one["verdict"] for one in document["comparisons"]] == ["regression", "no change shown"]


@pytest.mark.parametrize("name", ["compare.html", "compare.md"])
def test_the_comparison_is_written(
    roadworthy: Run, folders: tuple[str, str], tmp_path: Path, name: str
) -> None:
    result = roadworthy("compare", *folders, "--out", str(tmp_path / name))
    assert f"Wrote {tmp_path / name}" in result.output
    assert "it passed and is violated now" in (tmp_path / name).read_text("utf-8")


def test_an_unfinished_run_is_not_let_through(
    roadworthy: Run, folders: tuple[str, str], tmp_path: Path
) -> None:
    add(tmp_path / "open", margins(1.0), requirement=requirement_of("R1"), concluded=False)
    result = roadworthy("compare", folders[0], str(tmp_path / "open"), "--fail-on-regression")
    assert result.exit_code == 2
    assert "R1 on dave2" in result.output
    assert "go on with `roadworthy run`" in " ".join(result.output.split())
    assert roadworthy("compare", folders[0], str(tmp_path / "open")).exit_code == 0


def test_bad_arguments_end_with_2(roadworthy: Run, folders: tuple[str, str], tmp_path: Path) -> None:
    for extra, words in (
        (["--systems", "dave2"], "key=value"),
        (["--systems", "dave2=other"], "has no system 'other'"),
        (["--alpha", "2"], "alpha must be between 0 and 1"),
        (["--out", str(tmp_path / "x.pdf")], "ends in .html or .md"),
    ):
        result = roadworthy("compare", *folders, *extra)
        assert result.exit_code == 2
        assert words in " ".join(result.output.split())
    result = roadworthy("compare", folders[0], str(tmp_path / "nowhere"))
    assert result.exit_code == 2
    assert "must be the folder of a run" in " ".join(result.output.split())


def test_a_run_of_which_nothing_can_be_compared_is_not_let_through(
    roadworthy: Run, folders: tuple[str, str], tmp_path: Path
) -> None:
    rows: list[tuple[Any, ...]] = [(f"other {place}", 1.0, {}, {}) for place in range(8)]
    for name in ("R1", "R2"):
        add(tmp_path / "other", rows, requirement=requirement_of(name))
    both = folders[0], str(tmp_path / "other")
    result = roadworthy("compare", *both)
    assert result.exit_code == 0
    assert "Nothing could be compared." in result.output
    verdicts = [
        one["verdict"] for one in json.loads(roadworthy("compare", *both, "--json").stdout)["comparisons"]
    ]
    assert verdicts == ["not compared", "not compared"]
    result = roadworthy("compare", *both, "--fail-on-regression")
    assert result.exit_code == 2
    assert "nothing could be compared" in " ".join(result.output.split())


def test_systems_are_matched_as_said(roadworthy: Run, folders: tuple[str, str], tmp_path: Path) -> None:
    add(tmp_path / "third", margins(*[-1.0] * 8), requirement=requirement_of("R1"), system="new")
    result = roadworthy("compare", folders[0], str(tmp_path / "third"), "--systems", "dave2=new", "--json")
    one = json.loads(result.stdout)["comparisons"][0]
    assert (one["before"], one["after"], one["broken"]) == ("dave2", "new", 8)


def test_report_writes_all_files_and_tells_by_its_exit_code(
    roadworthy: Run, folders: tuple[str, str]
) -> None:
    good, bad = map(Path, folders)
    assert roadworthy("report", str(good)).exit_code == 0
    result = roadworthy("report", str(bad))
    assert result.exit_code == 1
    assert "1 of 2 requirements is violated." in result.output
    names = ["report.html", "junit.xml", "results.csv", "summary.md"]
    assert all((bad / name).stat().st_size > 100 for name in names)


def test_report_elsewhere_and_of_one_format(
    roadworthy: Run, folders: tuple[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "build" / "reports"
    result = roadworthy("report", folders[0], "--format", "junit", "--out", str(out), "--json")
    assert json.loads(result.stdout)["files"] == [str(out / "junit.xml")]
    assert [path.name for path in out.iterdir()] == ["junit.xml"]
    assert roadworthy("report", folders[0], "--format", "pdf").exit_code == 2


@pytest.mark.parametrize("command", ["compare", "report"])
def test_help_has_examples(roadworthy: Run, command: str) -> None:
    result = roadworthy(command, "--help")
    assert result.exit_code == 0
    assert "Examples" in result.output
    assert "exit code" in " ".join(result.output.split())
