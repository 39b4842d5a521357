"""Folders that older versions wrote open, verify and compare.

Those of 0.1, when commands had doors of their own, and those of format 2, when cases had no clusters, the
rate seen decided that a requirement is violated, and a search could accept a rate.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roadworthy.cli import app
from roadworthy.report.deriving import check_documents
from roadworthy.report.publish import run_suite
from roadworthy.runs.evidence import verify
from roadworthy.runs.evidence.checking import Verification
from roadworthy.runs.store import StoredRun
from roadworthy.runs.suites.reading import SuiteError

RUNS = [Path(__file__).with_name(name) for name in ("runs-of-0.1.zip", "runs-of-format-2.zip")]


@pytest.fixture
def before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of older versions.

    ``roadworthy run`` (suite) and ``roadworthy rules run`` (rules), made by commit 4b0a1e5, and
    ``roadworthy run`` (searched), made by commit a5a9bd0: "night" is violated by the rate seen, which no
    bound shows, and "search" accepts that all of its tries fail.
    """
    for run in RUNS:
        with zipfile.ZipFile(run) as archive:
            archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("folder", "rows"), [("suite", 6), ("rules", 3), ("searched", 13)])
def test_they_open_and_verify(before: Path, folder: str, rows: int) -> None:
    assert len(list(StoredRun.open(before / folder).rows())) == rows
    result = CliRunner().invoke(app, ["evidence", "verify", folder, "--rerun", "2", "--json"])
    document = json.loads(result.stdout)
    assert (result.exit_code, document["findings"]) == (0, [])
    # To the last bit on the processor that they were made on; another one rounds otherwise.
    assert document["rerun"]["compared"] == 2
    # Everything is concluded again, reliability by the paper's rule, which was the only one then.
    assert not [note for note in document["notes"] if "concluded again" in note or "only the counts" in note]


def test_a_changed_number_in_an_outcome_is_found(before: Path) -> None:
    for file in (before / "suite").rglob("requirements.jsonl"):
        file.write_text(file.read_text().replace("0 of 3 applicable", "0 of 9 applicable"))
    result = CliRunner().invoke(app, ["evidence", "verify", "suite"])
    assert result.exit_code == 1
    assert "night on dave2: the run says passed (0 of 9" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("changed", "by", "told"),
    [
        ('"distance": 0.338', '"distance": 0.038', "it says distance 0.038"),
        ('"bound": 0.8126', '"bound": -0.0126', "it says bound -0.0126"),
        ('"status": "violated"', '"status": "passed"', "it says passed, and the rows say violated"),
    ],
)
def test_a_changed_outcome_of_reliability_of_before_is_found_without_its_suite(
    before: Path, changed: str, by: str, told: str
) -> None:
    (file,) = (before / "suite" / "runs" / "fog").rglob("requirements.jsonl")
    assert changed in file.read_text()
    file.write_text(file.read_text().replace(changed, by))
    assert any(told in str(one) for one in verify(before / "suite").findings)


@pytest.mark.parametrize(
    ("changed", "by", "told"),
    [
        ("3 of 3 applicable", "1 of 3 applicable", "the run says violated (1 of 3"),
        (
            '"status": "passed", "counts": {"passed": 0',
            '"status": "inconclusive", "counts": {"passed": 0',
            "",
        ),
        ("at most 63.2%", "at most 23.2%", "at most 23.2%"),
        ('"upper_bound": 0.63', '"upper_bound": 0.43', "it says upper_bound 0.43"),
        ('"max_rate": 1.0', '"max_rate": 0.9', "it says max_rate 0.9"),
        ("neuron coverage", "neuron coverage", None),
    ],
)
def test_a_changed_word_in_an_outcome_of_format_2_is_found(
    before: Path, changed: str, by: str, told: str | None
) -> None:
    for file in (before / "searched" / "runs").rglob("requirements.jsonl"):
        text = file.read_text()
        if changed in text:
            record, _, outcome = text.partition('"outcome"')
            file.write_text(f'{record}"outcome"{outcome.replace(changed, by)}')
    result = CliRunner().invoke(app, ["evidence", "verify", "searched"])
    found = " ".join(line for line in result.stdout.splitlines() if line.startswith("outcome: "))
    assert bool(found) == (told is not None)
    assert (told or "") in " ".join(found.split())


def test_a_changed_cell_in_a_table_of_format_2_is_found(before: Path) -> None:
    csv = before / "searched" / "results.csv"
    assert ",upper_bound," in csv.read_text()
    assert ",clusters," not in csv.read_text()
    found = Verification()
    check_documents(before / "searched", found)
    assert found.findings == []
    csv.write_text(csv.read_text().replace("0.6315", "0.1315"))
    check_documents(before / "searched", found)
    ((kind, what, detail),) = ((one.kind, one.what, one.detail) for one in found.findings)
    assert (kind, what) == ("document", "results.csv")
    assert "it does not say what the rows say" in detail


def test_the_same_suite_is_refused_for_a_new_run(before: Path) -> None:
    with pytest.raises(SuiteError, match=r"a search tells what it finds.*leave out 'accept'"):
        run_suite(before / "searched" / "suite.yaml", before / "now")


def test_they_compare_and_are_reported(before: Path) -> None:
    run_suite(before / "suite" / "suite.yaml", before / "now")
    result = CliRunner().invoke(app, ["compare", "suite", "now", "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert [row["verdict"] for row in document["comparisons"]] == ["no change shown"] * 2
    assert CliRunner().invoke(app, ["report", "rules", "--out", "report"]).exit_code == 0
    assert (before / "report" / "report.html").is_file()
