"""Kinds of failures in the report: recorded once beside the run, so that it is derived again anywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.report.test_deriving import WRITER, findings
from tests.web.client import Browser, Client
from tests.web.looking.test_kinds import darkened, put

from roadworthy.cases import Case, RecordDrive, Requirement, Verdict
from roadworthy.datasets import load
from roadworthy.report.html import write_report
from roadworthy.report.kinds import FILE, failures_of, kinds_of, record_kinds, recorded_kinds, told_kinds
from roadworthy.runs import RunStore
from roadworthy.runs.store import StoredRun
from roadworthy.web.app import create_app
from roadworthy.web.settings import ServerSettings


def stored(folder: Path, frames: int = 8) -> StoredRun:
    """A run with as many people added on the left, on the right, and nights; every second night is passed."""
    place = folder / "runs" / "r1" / "dave2"
    requirement = Requirement("R1", "Slow down", "rules")
    with RunStore(place, requirement, system="dave2", images=folder / "images") as store:
        for number, frame in enumerate(one.image for one in load("world:town", count=frames)):
            for name, change, after in (
                ("left", "add(element=pedestrian, x=1.5)", put(frame, 20)),
                ("right", "add(element=pedestrian, x=2.5)", put(frame, 280)),
                ("dark", f"night(amount=0.{number})", darkened(frame)),
            ):
                case = Case(f"{name}-{number}", "R1", (RecordDrive("x"),), {"change.1": change})
                store.append(case, Verdict.from_margin(case, -1.0 - number), [frame, after])
            held = Case(f"held-{number}", "R1", (RecordDrive("x"),), {"change.1": "night(amount=0.1)"})
            store.append(held, Verdict.from_margin(held, 1.0))
    (folder / "manifest.json").write_text(json.dumps({**WRITER, "published": ["report.html"]}))
    return StoredRun.open(folder)


@pytest.fixture
def run(tmp_path: Path) -> StoredRun:
    run = stored(tmp_path / "run")
    record_kinds(run)
    return run


def test_each_kind_has_a_sentence_a_rate_and_its_worst_case(run: StoredRun) -> None:
    kinds = {one.worst["case"]: one for one in told_kinds(run)}
    assert kinds.keys() == {"left-7", "right-7", "dark-7"}
    assert kinds["left-7"].words.startswith("add pedestrian, left")
    assert kinds["right-7"].words.startswith("add pedestrian, right")
    night = kinds["dark-7"]
    assert (night.held, night.size, night.words) == (8, 8, "night")
    assert [(one["failed"], one["judged"]) for one in night.rates] == [(8, 16), (16, 16)]


def test_the_report_begins_with_them_and_is_derived_again(run: StoredRun) -> None:
    text = write_report(run, run.folder / "report.html").read_text("utf-8")
    assert text.index("8 of 8: night") < text.index('<section id="results">')
    assert "Such cases fail 8 of 16 (50.0%), others 16 of 16 (100%)." in " ".join(text.split())
    assert findings(run.folder)[0] == []
    (run.folder / "report.html").write_text(text.replace("8 of 8: night", "8 of 8: rain"))
    assert [what for _, what, _ in findings(run.folder)[0]] == ["report.html"]
    # Without what was recorded, the report says more than the rows do.
    (run.folder / "report.html").write_text(text)
    (run.folder / FILE).unlink()
    assert [what for _, what, _ in findings(run.folder)[0]] == ["report.html"]


def test_they_are_found_once_and_the_page_has_them_at_once(run: StoredRun, tmp_path: Path) -> None:
    before = (run.folder / FILE).stat().st_mtime_ns
    record_kinds(run)
    assert (run.folder / FILE).stat().st_mtime_ns == before
    browser = Browser(Client(create_app(ServerSettings(tmp_path / "out", (run.folder,)))))
    recorded = browser.get("/look/run/kinds").json()["found"]
    page = " ".join(browser.page("/runs/run").text.split())
    assert "8 of 8: night" in page
    assert "Such cases fail 8 of 16 (50.0%), others 16 of 16 (100%)." in page
    rows, content = failures_of(run)
    assert recorded == kinds_of(run, rows, lambda *_: None) | {"content": content}, "as it is found anew"


def test_of_a_few_failures_nothing_is_recorded(tmp_path: Path) -> None:
    record_kinds(run := stored(tmp_path / "few", frames=7))
    assert not (run.folder / FILE).exists()
    assert told_kinds(run) == []


def without_a_side(found: dict[str, Any]) -> None:
    found["sides"].pop()


def with_endless_kinds(found: dict[str, Any]) -> None:
    found["kinds"][0] = 10**9


def of_other_failures(found: dict[str, Any]) -> None:
    found["content"] = "0" * 64


def without_cases(found: dict[str, Any]) -> None:
    del found["cases"]


def without_a_feature(found: dict[str, Any]) -> None:
    found["parts"] = found["parts"][4:]


@pytest.mark.parametrize(
    "spoil", [without_a_feature, without_a_side, with_endless_kinds, of_other_failures, without_cases]
)
def test_what_was_recorded_wrongly_or_of_others_is_not_believed(run: StoredRun, spoil: Any) -> None:
    found = json.loads((run.folder / FILE).read_text())
    spoil(found)
    (run.folder / FILE).write_text(json.dumps(found))
    assert recorded_kinds(run, failures_of(run)[1]) is None
    assert told_kinds(run) == []
