"""What the page of a run says: requirement by requirement, the worst first."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from tests.web.client import Browser, Client

from roadworthy.cases import (
    Acceptance,
    Case,
    Outcome,
    OutcomeStatus,
    RecordDrive,
    Requirement,
    Severity,
    Status,
    Verdict,
)
from roadworthy.errors import InputError
from roadworthy.report.results import Standing
from roadworthy.runs import RunStore
from roadworthy.web.app import create_app
from roadworthy.web.runs import found_in
from roadworthy.web.settings import ServerSettings

MARGINS = {
    ("calm", "dave2"): (1.0, 2.0),
    ("often", "dave2"): (-1.0, -2.0, -3.0, 4.0),
    ("often", "epoch"): (-9.0, 1.0, 1.0, 1.0),
    ("seldom", "dave2"): (-500.0, 1.0, 1.0, 1.0, 1.0),
}


def store_all(folder: Path) -> None:
    for (id, system), margins in MARGINS.items():
        requirement = Requirement(id, f"It is {id}", "rules", acceptance=Acceptance(0.0))
        place = folder / "runs" / id / system
        with RunStore(place, requirement, system=system, images=folder / "images") as store:
            for number, margin in enumerate(margins):
                case = Case(f"{id}-{number}", id, (RecordDrive("x"),), {})
                store.append(case, Verdict.from_margin(case, margin))
            left_out = Case("left out", id, (RecordDrive("x"),), {})
            store.append(left_out, Verdict.not_applicable(left_out, "no road"))
            violated = sum(1 for one in margins if one < 0)
            counts = dict.fromkeys(Status, 0) | {
                Status.VIOLATED: violated,
                Status.PASSED: len(margins) - violated,
                Status.NOT_APPLICABLE: 1,
            }
            status = OutcomeStatus.VIOLATED if violated else OutcomeStatus.PASSED
            store.conclude(Outcome(id, status, counts, violated / len(margins), "as it is"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "run"
    store_all(folder)
    return folder


def test_what_stands_worst_comes_first(folder: Path) -> None:
    found = found_in(folder)
    assert [(id, [one.system for one in results]) for id, results in found.groups.items()] == [
        ("often", ["dave2", "epoch"]),
        ("seldom", ["dave2"]),
        ("calm", ["dave2"]),
    ]
    assert found.whole.standing is Standing.VIOLATED
    assert (found.models, set(found.methods), found.texts["calm"]) == (2, {"rules"}, "It is calm")
    assert (found.worst, found.reasons) == ((), ())


def test_each_requirement_shows_its_worst_before_any_shows_its_second(folder: Path) -> None:
    # A margin of -500 in one unit says nothing about one of -9 in another.
    worst = [(one["requirement"], one["margin"]) for one in found_in(folder, 4).worst]
    assert worst == [("often", -9.0), ("seldom", -500.0), ("often", -3.0), ("often", -2.0)]
    assert found_in(folder, 1).reasons == (("no road", 4),)


def test_what_leaves_little_of_the_picture_comes_last_as_on_the_wall(tmp_path: Path) -> None:
    requirement = Requirement("R", "…", "rules")
    with RunStore(tmp_path / "runs" / "R" / "dave2", requirement, system="dave2") as store:
        told = (("a", -9.0, 0.99), ("b", -math.inf, 0.1), ("c", -1.0, 0.2), ("d", -2.0, None))
        for name, margin, seen in told:
            case = Case(name, "R", (RecordDrive("x"),), {})
            store.append(case, replace(Verdict.from_margin(case, margin), visual_change=seen))
    assert [one["case"] for one in found_in(tmp_path, 4).worst] == ["d", "c", "a", "b"]


def test_what_is_more_severe_comes_first_among_its_equals(tmp_path: Path) -> None:
    for id, severity in (("a", Severity.MINOR), ("b", Severity.CRITICAL)):
        requirement = Requirement(id, "…", "rules", severity=severity)
        with RunStore(tmp_path / "runs" / id / "dave2", requirement, system="dave2") as store:
            case = Case("x", id, (RecordDrive("x"),), {})
            store.append(case, Verdict.from_margin(case, -1.0))
    assert list(found_in(tmp_path).groups) == ["b", "a"]


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be the folder of a run"):
        found_in(tmp_path)


def test_the_page_of_a_run_has_sentences_and_the_worst_first(folder: Path, tmp_path: Path) -> None:
    browser = Browser(Client(create_app(ServerSettings(tmp_path / "out", (folder,)))))
    text = browser.page("/runs/run").text
    places = [text.index(f"<b>{id}</b> It is {id}") for id in ("often", "seldom", "calm")]
    assert places == sorted(places)
    assert 'href="/studies?run=run"' in text
    assert "1 error" not in text
    listed = browser.page("/runs").text
    assert "2 of 3 requirements are violated." in listed
    assert "3 requirements, 2 models, 19 cases" in listed
    assert '<option data-run="run" data-system="epoch">' in browser.page("/studies").text


def test_folders_that_are_no_runs_lead_to_what_shows_them(tmp_path: Path) -> None:
    for name in ("one/drive", "two/good", "two/poor"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "drive.parquet").write_bytes(b"")
    for name in ("covered", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "covered" / "coverage.json").write_text("{}")
    search = Requirement("S1", "…", "coverage")
    with RunStore(tmp_path / "search" / "runs" / "s1" / "dave2", search, system="dave2") as store:
        case = Case("try 1", "S1", (RecordDrive("x"),), {})
        store.append(case, Verdict.from_margin(case, -1.0))
    folders = tuple(tmp_path / name for name in ("one", "two", "covered", "empty", "search"))
    browser = Browser(Client(create_app(ServerSettings(tmp_path / "out", folders))))
    listed = browser.page("/runs").text
    assert '<a href="/drives/one?drive=drive">The drive</a>' in listed
    assert '<a href="/drives">2 drives</a>' in listed
    assert '<a href="/coverage/covered">Coverage</a>' in listed
    # One that holds nothing says what was expected, and only that one.
    assert listed.count("must be the folder of a run") == 1
    assert "/studies?run=" not in listed
    assert "must be the folder of a run" in browser.page("/runs/empty").text
    for name, link in (("one", "The drive"), ("covered", "Coverage")):
        text = browser.page(f"/runs/{name}").text
        assert "see its own pages" in text
        assert link in text
        assert "must be the folder of a run" not in text
    assert 'href="/coverage/search"' in browser.page("/runs/search").text
    assert "/studies?run=" not in browser.page("/runs/search").text
    # People judge pairs of rules.
    assert 'data-run="search"' not in browser.page("/studies").text
    assert browser.get("/look").headers["location"] == "/look/search"
