"""An outcome that is not what the rows make it is found, however well the files agree otherwise."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roadworthy.cases import (
    Acceptance,
    Case,
    Decision,
    OutcomeStatus,
    RecordDrive,
    Requirement,
    Verdict,
    conclude_rate,
)
from roadworthy.runs.evidence import verify, write_bundle
from roadworthy.runs.store import RunStore, StoredRun, read_verdicts
from roadworthy.runs.suites import suite_of
from roadworthy.runs.suites.running import run_suite


def _run(folder: Path, method: str, failing: int, told: OutcomeStatus | None) -> Path:
    """Store a run of 40 cases whose outcome says something else than its rows, with sums that agree."""
    requirement = Requirement("R1", "It holds", method, acceptance=Acceptance(0.1))
    with RunStore(folder, requirement, system="net") as store:
        for number in range(40):
            case = Case(f"f{number}", "R1", (RecordDrive("-"),))
            store.append(case, Verdict.from_margin(case, -1.0 if number < failing else 1.0))
    outcome = conclude_rate(requirement, read_verdicts(folder))
    store.conclude(outcome if told is None else replace(outcome, status=told))
    write_bundle(StoredRun.open(folder))
    return folder


@pytest.mark.parametrize(
    ("method", "failing", "told", "found"),
    [
        ("rules", 0, None, False),
        ("rules", 20, None, False),
        ("rules", 20, OutcomeStatus.PASSED, True),
        ("rules", 20, OutcomeStatus.INCONCLUSIVE, True),
        ("bbsl", 4, OutcomeStatus.PASSED, True),  # 10% is accepted, but 4 of 40 do not show it
        ("driving", 0, OutcomeStatus.VIOLATED, True),
        ("coverage", 20, OutcomeStatus.PASSED, True),
        ("coverage", 0, OutcomeStatus.VIOLATED, False),  # it may not have reached its coverage
        ("reliability", 20, OutcomeStatus.PASSED, False),  # its distance is not to be had from counts
        ("mine", 20, OutcomeStatus.PASSED, False),  # a method of yours may conclude as it likes
    ],
)
def test_what_is_told_is_compared_with_the_rows(
    tmp_path: Path, method: str, failing: int, told: OutcomeStatus | None, found: bool
) -> None:
    findings = verify(_run(tmp_path / "run", method, failing, told)).findings
    assert [one.kind for one in findings] == ["outcome"] * found
    assert all("R1 on net" in str(one) for one in findings)


def test_what_cannot_be_concluded_again_is_named(tmp_path: Path) -> None:
    assert verify(_run(tmp_path / "mine", "mine", 20, OutcomeStatus.PASSED)).notes == [
        "R1 on net: only the counts were checked, since 'mine' is a method of yours"
    ]
    assert verify(_run(tmp_path / "reliability", "reliability", 20, None)).notes == [
        "R1 on net: only the counts were checked, since it cannot be concluded again: requirement 'R1' needs "
        "the parameter 'preserve'"
    ]


ASKED: dict[str, dict[str, Any]] = {
    "coverage": {"coverage": "neuron", "search": "sampled", "tries": 30, "accept": 0.9},
    "reliability": {"reliability": "fog", "preserve": "prediction", "measure": "steering", "limit": 0.8},
    "paper": {"reliability": "fog", "preserve": "prediction", "measure": "steering", "limit": 0.8,
              "decide": "paper"},
}  # fmt: skip
NUMBERS = {
    "coverage": ("estimate", "upper_bound", "lower_bound", "clusters", "effective_cases"),
    "reliability": ("distance", "bound", "lower_bound", "clusters", "effective_cases"),
    "paper": ("distance", "bound", "deviation", "effective_cases"),
}


@pytest.mark.parametrize("kind", ASKED)
def test_samples_and_distances_are_concluded_again_without_the_suite(tmp_path: Path, kind: str) -> None:
    data = {"town": {"data": "world:town", "options": {"count": 12, "sequence": 2, "size": "160x80"}}}
    asked = {"models": {"dave2": "dave2"}, "data": data, "requirements": {"R1": ASKED[kind]}}
    run_suite(suite_of(asked), tmp_path)
    (pair,) = StoredRun.open(tmp_path).pairs
    listed = pair.folder / "requirements.jsonl"
    record = json.loads(listed.read_text())

    def found(**changed: Any) -> list[str]:
        outcome = {**record["outcome"], **changed}
        listed.write_text(json.dumps({**record, "outcome": outcome}) + "\n")
        return [one.detail for one in verify(pair.folder).findings]

    assert found() == []
    measures = record["outcome"]["measures"]
    for name in NUMBERS[kind]:
        value = measures[name]
        assert found(measures={**measures, name: value + 1}) == [
            f"it says {name} {value + 1}, and its rows say {value}"
        ]
    other = "violated" if record["outcome"]["status"] != "violated" else "passed"
    assert any(f"it says {other}, and the rows say" in one for one in found(status=other))


@pytest.mark.parametrize("clusters", [40, 8, 4])
@pytest.mark.parametrize("decide", Decision)
def test_any_number_that_is_not_that_of_the_rows_is_found(
    tmp_path: Path, clusters: int, decide: Decision
) -> None:
    requirement = Requirement("R1", "It holds", "rules", acceptance=Acceptance(0.3, decide=decide))
    with RunStore(tmp_path, requirement, system="net") as store:
        for number in range(40):
            case = Case(f"f{number}", "R1", (RecordDrive("-"),), cluster=f"drive {number % clusters}")
            store.append(case, Verdict.from_margin(case, -1.0 if number % 3 else 1.0))
    right = conclude_rate(requirement, read_verdicts(tmp_path))
    store.conclude(right)
    assert verify(tmp_path).findings == []
    numbers = ("upper_bound", "lower_bound", "clusters", "effective_cases", "confidence", "worst_margin")
    for name in (*numbers, *(["correlation"] if clusters < 40 else [])):
        value = right.measures[name]
        assert isinstance(value, int | float), name
        store.conclude(replace(right, measures={**right.measures, name: value + 1}))
        (found,) = verify(tmp_path).findings
        assert f"it says {name} {value + 1}, and its rows say {value}" in found.detail
