from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from roadworthy.cli.rules import app
from roadworthy.papers import truth_matrix as module
from roadworthy.papers.truth_matrix import (
    CAREFUL,
    CLIP_RULES,
    SIGHT_FAULTS,
    TRUTH_RULES,
    TruthMatrix,
    TruthRow,
)
from roadworthy.world.simulation import FAULTS


def _run(*args: str) -> Result:
    return CliRunner().invoke(app, ["truth", *args], env={"COLUMNS": "80"})


def _matrix(night_blind: int, careful: int) -> TruthMatrix:
    (rule,) = (one for one in TRUTH_RULES if one.id == "R7")
    row = TruthRow(rule, 1000)
    row.reasons["it is night already"] = 333
    row.violations.update({"night-blind": night_blind, CAREFUL: careful})
    return TruthMatrix(1333, (row,), (CAREFUL, "night-blind"))


def _clips(late: int) -> TruthMatrix:
    (rule,) = (one for one in CLIP_RULES if one.id == "right")
    row = TruthRow(rule, 20)
    row.reasons["the change is seen too briefly"] = 4
    row.violations["late"] = late
    return TruthMatrix(20, (row,), (CAREFUL, "late"), unit="clips")


@pytest.fixture(autouse=True)
def _few_clips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "clip_matrix", lambda *_, **__: _clips(late=20))


def test_it_prints_the_matrix() -> None:
    result = _run("--sample", "30", "--seed", "3", "--reasons")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert all(len(line) <= 80 for line in lines if not line.startswith("  "))
    second = next(number for number, line in enumerate(lines) if line.startswith("Share of qualifying clips"))
    assert any(line.split() == ["right", "20", "0", "100%"] for line in lines[second:])
    ordered = [*lines[second:], *lines[:second]]
    rows = {line.split()[0]: line.split()[1:] for line in ordered if line.strip()}
    assert rows["R5"] == ["30", "0", "0", "0", "0", "100%", "0"]
    assert rows["sensitivity"] == ["100%"] * 5
    assert rows["see-left"] == ["3", "0", "100%", "0", "0", "0", "0"]
    assert rows["R7:"][1:] == ["it", "is", "night", "already"]
    begins = lines.index("Clips that do not qualify")
    assert lines[begins + 1] == "  right: 4 the change is seen too briefly"
    assert lines[-1] == "All verdicts are true."


def test_it_writes_json() -> None:
    result = _run("--sample", "30", "--seed", "3", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["frames"], document["seed"], document["passed"]) == (30, 3, True)
    assert document["shortfalls"] == []
    assert [one["id"] for one in document["rules"]] == [one.id for one in TRUTH_RULES]
    assert [one["name"] for one in document["drivers"]] == [CAREFUL, *FAULTS, *SIGHT_FAULTS]
    careful, night = document["drivers"][0], document["drivers"][3]
    assert (careful["sensitivity"], careful["false_alarms"]) == ({}, 0)
    assert night["sensitivity"] == {"R7": 1.0, "CR3": 1.0, "rain-night": 1.0}
    assert night["caught"] == night["qualify"] > 30
    r7 = document["rules"][6]
    assert r7["depends_on"] == ["night-blind"]
    assert r7["violations"] == {
        CAREFUL: 0,
        **dict.fromkeys((*FAULTS, *SIGHT_FAULTS), 0),
        "night-blind": r7["qualify"],
    }
    assert r7["reasons"] == {"it is night already": 30 - r7["qualify"]}


@pytest.mark.parametrize(
    ("night_blind", "careful", "code", "shown"),
    [
        (1000, 0, 0, "All verdicts are true."),
        (995, 0, 0, "99.50%"),
        (989, 0, 1, "R7 catches 'night-blind' in 989 of 1000 frames (98.90%, expected 99% or more)"),
        (1000, 1, 1, "R7 wrongly catches 'careful' in 1 of 1000 frames"),
    ],
)
def test_it_fails_where_a_bar_is_missed(
    night_blind: int, careful: int, code: int, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "truth_matrix", lambda *_, **__: _matrix(night_blind, careful))
    result = _run()
    assert result.exit_code == code
    assert shown in result.output
    result = _run("--json")
    assert result.exit_code == code
    assert json.loads(result.stdout)["passed"] == (code == 0)


def test_it_fails_where_a_clip_is_judged_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "truth_matrix", lambda *_, **__: _matrix(1000, 0))
    monkeypatch.setattr(module, "clip_matrix", lambda *_, **__: _clips(late=3))
    result = _run("--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert not document["passed"]
    assert document["shortfalls"][0].startswith("right catches 'late' in 3 of 20 clips (15.00%")
