from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roadworthy.cases import (
    Acceptance,
    Case,
    RecordDrive,
    Requirement,
    Scalar,
    Severity,
    Verdict,
    conclude_rate,
)
from roadworthy.runs.store import RunStore, StoredRun, read_verdicts

RAIN = Requirement(
    "R1",
    "If it rains, slow down",
    "rules",
    {"same": {"speed": "10%"}},
    ("rain", "ISO 21448:2022 7.3"),
    Severity.CRITICAL,
    Acceptance(0.1),
)
STOP = Requirement("S1", "Near vehicles are seen near", "bbsl")


@pytest.fixture
def stored(tmp_path: Path) -> StoredRun:
    """A run of two requirements: of R1 every third case fails, of S1 one object is missed."""
    folder = tmp_path / "night run"
    rng = np.random.default_rng(0)
    for requirement, system in ((RAIN, "dave2"), (STOP, "detector")):
        place = folder / "runs" / requirement.id.lower() / system
        with RunStore(place, requirement, system=system, images=folder / "images") as store:
            for number in range(9):
                images = [rng.integers(0, 255, (40, 80, 3), np.uint8) for _ in range(2)]
                if requirement is RAIN:
                    case = Case(
                        f"f{number}", "R1", (RecordDrive("-"),), {"change.1": "rain(amount=1)", "seed": 3}
                    )
                    verdict = Verdict.from_margin(case, -1.0 - number if number % 3 == 0 else 1.0)
                else:
                    case = Case(f"f#{number}", "S1", (RecordDrive("-"),), {"object": number})
                    corners = {"truth.x1": 8.0, "truth.y1": 10.0, "truth.x2": 24.0, "truth.y2": 30.0}
                    measures: dict[str, Scalar] = {"expected": "stop", **corners}
                    margin = -float("inf") if number == 4 else 2.0
                    verdict = Verdict.from_margin(case, margin, measures=measures)
                    images = images[:1]
                failed = verdict.margin is not None and verdict.margin < 0
                store.append(case, verdict, images if failed else ())
        store.conclude(conclude_rate(requirement, read_verdicts(place)))
    return StoredRun.open(folder)
