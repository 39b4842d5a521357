"""Folders that Roadworthy 0.1 wrote, when commands had doors of their own, open, verify and compare."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roadworthy.cli import app
from roadworthy.report.publish import run_suite
from roadworthy.runs.store import StoredRun

RUNS = Path(__file__).with_name("runs-of-0.1.zip")


@pytest.fixture
def before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of ``roadworthy run`` (suite) and ``roadworthy rules run`` (rules), made by commit 4b0a1e5."""
    with zipfile.ZipFile(RUNS) as archive:
        archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("folder", "rows"), [("suite", 6), ("rules", 3)])
def test_they_open_and_verify(before: Path, folder: str, rows: int) -> None:
    assert len(list(StoredRun.open(before / folder).rows())) == rows
    result = CliRunner().invoke(app, ["evidence", "verify", folder, "--rerun", "2", "--json"])
    document = json.loads(result.stdout)
    assert (result.exit_code, document["findings"]) == (0, [])
    assert document["rerun"]["identical"] == 2


def test_a_changed_number_in_an_outcome_is_found(before: Path) -> None:
    for file in (before / "suite").rglob("requirements.jsonl"):
        file.write_text(file.read_text().replace("0 of 3 applicable", "0 of 9 applicable"))
    result = CliRunner().invoke(app, ["evidence", "verify", "suite"])
    assert result.exit_code == 1
    assert "night on dave2: the run says passed (0 of 9" in " ".join(result.stdout.split())


def test_they_compare_and_are_reported(before: Path) -> None:
    run_suite(before / "suite" / "suite.yaml", before / "now")
    result = CliRunner().invoke(app, ["compare", "suite", "now", "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert [row["verdict"] for row in document["comparisons"]] == ["no change shown"] * 2
    assert CliRunner().invoke(app, ["report", "rules", "--out", "report"]).exit_code == 0
    assert (before / "report" / "report.html").is_file()
