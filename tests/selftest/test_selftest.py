"""The self-test passes, and does not when the tool is broken: each test here breaks one part of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.kept import as_kept
from typer.testing import CliRunner

from roadworthy.cases import Outcome, OutcomeStatus, RateTally
from roadworthy.cli._app import app
from roadworthy.selftest import FaultStanding, selftest
from roadworthy.selftest.faults import METHODS, SeededFault
from roadworthy.selftest.running import Report, as_document, as_markdown
from roadworthy.statistics import clopper_pearson_upper


@pytest.fixture(scope="module")
def report() -> Report:
    return selftest(quick=True)


def test_the_quick_self_test_passes(report: Report) -> None:
    wrong = [
        (one.fault.id, one.standing, one.trouble, one.sound, one.seen)
        for one in report.results
        if not one.good
    ]
    assert wrong == []
    assert report.passed
    assert not report.complete
    assert {one.fault.method for one in report.results} == set(METHODS)
    # What is promised not to be found is listed, and nothing of it was found unnoticed.
    assert len(report.of(FaultStanding.KNOWN)) >= 8
    assert report.of(FaultStanding.BETTER) == ()


def test_what_the_tool_says_to_each_fault_is_as_kept(report: Report) -> None:
    lines = []
    for one in report.results:
        said = [("sound", one.sound), *((one.fault.told(size), seen) for size, seen in one.seen.items())]
        lines += [f"{one.fault.id}, {size}: {seen.found}, {seen.said}" for size, seen in said if seen]
    said_to_all = re.sub(r"sha256 [0-9a-f]+", "sha256 ", "\n".join(lines))
    as_kept(Path(__file__).with_name("kept") / "said.txt", f"{said_to_all}\n")


def test_documents(report: Report) -> None:
    document = json.loads(json.dumps(as_document(report)))
    assert document["passed"] is True
    assert document["tool"]["name"] == "roadworthy"
    assert set(document["host"]) == {"cores", "machine", "memory_gib", "processor", "system"}
    first = document["faults"][0]
    assert first["id"] == "rules/pedestrian-blind"
    assert first["false_alarm"] is False
    assert first["sizes"][-1]["found"] is True
    page = as_markdown(report)
    for one in report.results:
        assert f"### {one.fault.id}" in page
        assert one.fault.limitation in page


def _found(*ids: str) -> dict[str, FaultStanding]:
    """Return what the tool, broken as it is, says to some faults; `report` has all, said by one in order."""
    from roadworthy.selftest import rules

    def chosen(faults: Sequence[SeededFault]) -> list[SeededFault]:
        return [one for one in faults if one.id in ids]

    # What was computed with the tool in order must not be taken for what it says now.
    rules._matrix.cache_clear()
    try:
        report = selftest([ids[0].partition("/")[0]], quick=True, progress=chosen)
        return {one.fault.id: one.standing for one in report.results}
    finally:
        rules._matrix.cache_clear()


def test_a_tool_that_judges_no_rule_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from roadworthy.papers import truth_matrix

    monkeypatch.setattr(truth_matrix, "_violations", lambda *_: [])
    found = _found("rules/pedestrian-blind", "rules/brakes too little")
    assert found["rules/pedestrian-blind"] is FaultStanding.MISSED
    assert found["rules/brakes too little"] is FaultStanding.FOUND  # another way through the tool


def test_a_tool_that_cries_wolf_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from roadworthy.papers import truth_matrix

    monkeypatch.setattr(truth_matrix, "_violations", lambda asked, *_: list(asked))
    assert _found("rules/pedestrian-blind") == {"rules/pedestrian-blind": FaultStanding.FALSE_ALARM}


def test_a_tool_whose_numbers_are_off_by_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from roadworthy.selftest import runs

    def off_by_one(failures: int, trials: int, confidence: float) -> float:
        return clopper_pearson_upper(max(failures - 1, 0), trials, confidence)

    monkeypatch.setattr(runs, "clopper_pearson_upper", off_by_one)
    found = _found("runs/confidence bound", "runs/model got worse")
    assert found == {
        "runs/confidence bound": FaultStanding.MISSED,
        "runs/model got worse": FaultStanding.FOUND,
    }


def test_a_tool_that_proves_everything_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from roadworthy.bbsl.checking import results

    monkeypatch.setattr(results.CheckResult, "status", lambda *_: results.ProofStatus.PROVED)
    faults = ("gap in a specification", "overlap in a specification", "shifted boxes")
    found = _found(*(f"bbsl/{one}" for one in faults))
    assert found["bbsl/gap in a specification"] is FaultStanding.MISSED
    assert found["bbsl/overlap in a specification"] is FaultStanding.MISSED
    assert found["bbsl/shifted boxes"] is FaultStanding.FOUND


class _Violated(RateTally):
    """Says so, whatever the rows say."""

    def outcome(self) -> Outcome:
        return replace(super().outcome(), status=OutcomeStatus.VIOLATED)


def test_a_tool_that_does_not_hash_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from roadworthy.runs.evidence import checking

    monkeypatch.setattr(checking, "_check_sums", lambda *_: None)
    monkeypatch.setattr("roadworthy.cases.RateTally", _Violated)
    faults = ("added file", "forged run, digest kept", "flipped verdict, new checksums")
    found = _found(*(f"evidence/{one}" for one in faults))
    assert found["evidence/added file"] is FaultStanding.MISSED
    assert (
        found["evidence/forged run, digest kept"] is FaultStanding.FOUND
    )  # the wrong status is seen instead
    assert found["evidence/flipped verdict, new checksums"] is FaultStanding.FOUND


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, ["selftest", *words])


def test_the_command(command: Callable[..., Any]) -> None:
    shown = command("--only", "evidence", "--quick", "--out", "filed", "--seed", "3")
    assert shown.exit_code == 0, shown.output
    assert re.search(r"^  evidence/flipped verdict +found", shown.stdout, re.M)
    assert "forged run: Whoever writes all files anew" in shown.stdout
    assert "The self-test passed: 10 of 10 kinds of faults" in shown.stdout
    filed = json.loads(Path("filed/selftest.json").read_text("utf-8"))
    assert (filed["seed"], filed["quick"], len(filed["faults"])) == (3, True, 11)
    assert Path("filed/selftest.md").read_text("utf-8").startswith("# Self-test of Roadworthy")


def test_the_command_when_something_is_missed(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from roadworthy.runs.evidence import checking

    monkeypatch.setattr(checking, "_check_sums", lambda *_: None)
    shown = command("--only", "evidence", "--quick", "--out", "filed")
    assert shown.exit_code == 1
    assert "evidence/added file: seeded was missed" in shown.stdout
    assert json.loads(Path("filed/selftest.json").read_text("utf-8"))["passed"] is False


def test_a_method_that_there_is_not(command: Callable[..., Any]) -> None:
    shown = command("--only", "rulez")
    assert shown.exit_code == 2
    assert "did you mean 'rules'" in shown.output


@pytest.mark.slow
def test_the_whole_self_test_passes() -> None:
    report = selftest()
    assert [(one.fault.id, one.standing) for one in report.results if not one.good] == []
    assert report.complete
