from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from roadworthy.cases import Acceptance, Case, RecordDrive, Requirement, Severity, Verdict, conclude_rate
from roadworthy.runs.store import RunStore, StoredRun, read_verdicts
from roadworthy.runs.store.rows import encode_record, requirement_record

ROTATION = Requirement(
    "C1",
    "Steering stays right under rotation",
    "coverage",
    tags=("camera mounting", "ISO 21448:2022 clause 7"),
    severity=Severity.CRITICAL,
    acceptance=Acceptance(0.1),
)
NIGHT = Requirement("R/1", 'If it is "night" & rains, slow down', "rules", tags=("night", "rain"))
NEVER = Requirement("R9", "If a unicorn appears, slow down", "rules", tags=("unicorn",))


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Makes the folder of a suite: C1 on two systems, R/1 on one, R9 never begun."""

    def make(name: str = "run", cases: int = 40) -> Path:
        folder = tmp_path / name
        rng = np.random.default_rng(4)
        pairs = [(ROTATION, "dave2"), (ROTATION, "epoch"), (NIGHT, "dave2")]
        lines = []
        for requirement, system in pairs:
            place = folder / "runs" / requirement.id.replace("/", "-").lower() / system
            with RunStore(place, requirement, system=system, images=folder / "images") as store:
                for number in range(cases):
                    store.append(*_judged(requirement, system, number, rng))
            outcome = conclude_rate(requirement, read_verdicts(place))
            store.conclude(outcome)
            lines.append(encode_record(requirement_record(requirement, outcome, system=system)))
        lines.append(encode_record(requirement_record(NEVER, system="dave2")))
        (folder / "requirements.jsonl").write_bytes(b"".join(lines))
        return folder

    return make


@pytest.fixture
def stored(make_run: Callable[..., Path]) -> StoredRun:
    return StoredRun.open(make_run())


def _judged(
    requirement: Requirement, system: str, number: int, rng: np.random.Generator
) -> tuple[Case, Verdict, list[np.ndarray]]:
    asks = (RecordDrive("-"),)
    if requirement is ROTATION:
        angle = 3 * (number % 10 + 1)
        case = Case(f"try {number}", requirement.id, asks, {"transform": f"rotation(angle={angle})"})
        # dave2 fails at 30 degrees, always and only there; epoch never fails.
        margin = -float(angle + number) if angle == 30 and system == "dave2" else 1.5
        verdict = Verdict.from_margin(case, margin, reason="off, by\n a line" if margin < 0 else "")
    else:
        case = Case(f"frame/{number}", requirement.id, asks, {"change.1": "rain(amount=1)"})
        if number == 0:
            return case, Verdict.not_applicable(case, "no room"), []
        if number == 1:
            return case, Verdict.error(case, "crashed"), []
        verdict = Verdict.from_margin(case, 0.25, measures={"margin.1": 0.25, "visual_change.1": number / 40})
    failed = verdict.margin is not None and verdict.margin < 0
    return case, verdict, [rng.integers(0, 255, (8, 12, 3), np.uint8)] if failed else []
