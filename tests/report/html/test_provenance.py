from __future__ import annotations

import dataclasses
from pathlib import Path

from tests.report.runs_for_reports import add

from roadworthy.models import load_model
from roadworthy.report.html.page import facts_of
from roadworthy.runs.store import StoredRun
from roadworthy.runs.store.digests import digest_of_model
from roadworthy.runs.store.manifest import begin_manifest


def test_how_a_model_is_used_is_told_line_by_line(tmp_path: Path) -> None:
    add(tmp_path, [("lap", "not applicable", {}, {})])
    models = {"dave2": digest_of_model(load_model("dave2"))}
    begin_manifest(tmp_path, models=models, data={}, settings={"sample": None, "images": "failures"})
    (tmp_path / "suite.yaml").write_text(
        "models: dave2\ndata: {world: {data: world, sample: 20}}\n"
        "requirements: {R1: {rule: If it rains …, places: 3}, R2: text}\n"
    )
    told = [dataclasses.astuple(fact) for fact in facts_of(StoredRun.open(tmp_path))]
    start = told.index(("settings", None, 2))
    assert told[start + 1 : start + 5] == [
        ("input", None, 3),
        ("width", "200", 4),
        ("height", "66", 4),
        ("color", "yuv", 4),
    ]
    assert ("signals", "steering, speed", 4) in told
    assert ("crop", "0.3375, 0.0", 4) in told
    assert not [value for _, value, _ in told if value == "not given"]
    asked = told.index(("asked for", None, 0))
    assert told[asked + 1 :] == [
        ("data", None, 1),
        ("world", None, 2),
        ("sample", "20", 3),
        ("requirements", None, 1),
        ("R1", None, 2),
        ("places", "3", 3),
    ]
    # No notation of a programming language, whole or cut off.
    assert not [value for _, value, _ in told if value and ("(" in value) != (")" in value)]
    assert not [value for _, value, _ in told if value and any(one in value for one in "{}[]='")]
