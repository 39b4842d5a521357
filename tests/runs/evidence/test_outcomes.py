"""An outcome that is not what the rows make it is found, however well the files agree otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from roadworthy.cases import (
    Acceptance,
    Case,
    OutcomeStatus,
    RecordDrive,
    Requirement,
    Status,
    Verdict,
    conclude_rate,
    rate_status,
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


def test_the_status_of_a_rate_is_that_of_its_verdicts() -> None:
    for failing in range(0, 41, 2):
        for accepted in (0.0, 0.05, 0.2, 1.0):
            requirement = Requirement("R1", "It holds", "rules", acceptance=Acceptance(accepted))
            verdicts = [
                Verdict(str(number), "R1", Status.VIOLATED if number < failing else Status.PASSED, 0.0)
                for number in range(40)
            ]
            counts = {Status.VIOLATED: failing, Status.PASSED: 40 - failing}
            status = conclude_rate(requirement, verdicts).status
            assert rate_status(counts, requirement.acceptance) is status
    assert rate_status({Status.NOT_APPLICABLE: 3}, Acceptance()) is OutcomeStatus.INCONCLUSIVE
    assert rate_status({Status.ERROR: 1, Status.PASSED: 9}, Acceptance()) is OutcomeStatus.VIOLATED
