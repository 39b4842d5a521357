"""Every row of every method says which drive, lap or frame its case comes from, and that is what counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from roadworthy.cases import OutcomeStatus, Scalar
from roadworthy.runs import read_rows
from roadworthy.runs.store import StoredRun
from roadworthy.runs.suites import suite_of
from roadworthy.runs.suites.running import run_suite
from roadworthy.statistics import ClusterTally

NEAR = Path(__file__).resolve().parents[2] / "examples" / "bbsl" / "listing1_distance.bbsl"
SUITE: dict[str, Any] = {
    "models": {"dave2": "dave2", "detector": "detector"},
    "data": {"town": {"data": "world:town", "options": {"count": 30, "sequence": 5, "size": "160x80"}}},
    "requirements": {
        "rule": {"rule": "If it rains, the steering angle should stay the same.", "accept": 0.9},
        "steady": {"reliability": "fog", "preserve": "prediction", "measure": "steering", "limit": 0.8,
                   "versions": 2},
        "near": {"bbsl": NEAR.read_text("utf-8"), "values": {"stoppingDistance": [50, 80]}, "accept": 0.9},
        "search": {"coverage": "neuron", "tries": 6},
        "sample": {"coverage": "neuron", "tries": 12, "search": "sampled"},
        "lane": {"driving": {"SD(LP)": 0.6}, "simulator": "world:meadow", "options": {"traffic": 0},
                 "metres": 60},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[dict[str, Scalar]]]:
    folder = tmp_path_factory.mktemp("clusters") / "run"
    for id in ("steady", "search", "sample", "lane", "rule"):
        SUITE["requirements"][id]["models"] = "dave2"
    run_suite(suite_of(SUITE), folder)
    found = {
        pair.requirement.id: [dict(row) for row in read_rows(pair.folder)]
        for pair in StoredRun.open(folder).pairs
    }
    assert set(found) == set(SUITE["requirements"])
    return found


@pytest.mark.parametrize("id", ["rule", "steady", "near", "search", "sample"])
def test_cases_of_a_drive_share_one_cluster(rows: Mapping[str, list[dict[str, Scalar]]], id: str) -> None:
    found = rows[id]
    assert found
    for row in found:
        frame = str(row.get("param.frame") or str(row["case"]).partition("#")[0])
        if frame.startswith("try "):
            frame = f"town-{int(str(row['param.place'])):06d}"
        number = int(frame.split("-")[1][:6])
        assert row["cluster"] == f"town-drive-{number // 5}", row
    judged = {row["cluster"] for row in found}
    assert len(judged) > 1


def test_sectors_of_a_lap_share_one_cluster(rows: Mapping[str, list[dict[str, Scalar]]]) -> None:
    assert {row["cluster"] for row in rows["lane"]} == {"world:meadow traffic=0"}
    assert len(rows["lane"]) > 1


def test_clusters_of_a_suite_are_those_of_its_data(tmp_path: Path) -> None:
    outcomes = {}
    for clusters in (None, "frame", "data", "2 frames"):
        data = {**SUITE["data"]["town"], "clusters": clusters}
        asked = {"rule": {**SUITE["requirements"]["rule"], "models": "dave2"}}
        result = run_suite(
            suite_of({**SUITE, "data": {"town": data}, "requirements": asked}), tmp_path / f"{clusters}"
        )
        ((_, outcome),) = result.outcomes.items()
        (pair,) = StoredRun.open(tmp_path / f"{clusters}").pairs
        tally = ClusterTally()
        for row in read_rows(pair.folder):
            if row["status"] in ("passed", "violated"):
                tally.add(str(row["cluster"]), failed=row["status"] == "violated")
        assert outcome.measures["clusters"] == tally.rate().clusters
        assert outcome.measures["upper_bound"] == tally.rate().upper()
        outcomes[clusters] = outcome
        written = json.loads((pair.folder / "requirements.jsonl").read_text())
        assert written["outcome"]["measures"]["clusters"] == outcome.measures["clusters"]
    numbers = [outcomes[one].measures["clusters"] for one in (None, "frame", "data", "2 frames")]
    assert numbers[2] == 1 < numbers[0] <= 6 < numbers[3] < numbers[1] <= 30  # type: ignore[operator]
    assert outcomes["data"].status is OutcomeStatus.INCONCLUSIVE
    assert "cases of 1 cluster (drives, laps, scenes) say too little" in outcomes["data"].summary
    rates = {outcome.rate for outcome in outcomes.values()}
    assert len(rates) == 1, "what is tried does not change"
