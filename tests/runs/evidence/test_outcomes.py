"""An outcome that is not what the rows make it is found, however well the files agree otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

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
