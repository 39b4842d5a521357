"""The page Look, without a browser."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.web.client import Browser, Client

from roadworthy.cases import Case, RecordDrive, Requirement, Verdict
from roadworthy.datasets import load
from roadworthy.images import decode_image
from roadworthy.report.publish import run_suite
from roadworthy.runs import RunStore
from roadworthy.runs.suites import suite_of
from roadworthy.web.app import create_app
from roadworthy.web.jobs.asks import RulesAsk
from roadworthy.web.jobs.worker import work_on
from roadworthy.web.settings import ServerSettings
from roadworthy.web.wall import FILE, read_marks

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    with RunStore(folder, Requirement("R1", EVIL, "rules"), system="dave2") as store:
        for name, margin in (("a", -1.0), (EVIL, -2.0), ("c", 1.0)):
            case = Case(name, "R1", (RecordDrive("x"),), {"change.1": EVIL})
            store.append(case, replace(Verdict.from_margin(case, margin), visual_change=abs(margin) / 10))
    return folder


@pytest.fixture
def looking(folder: Path, tmp_path: Path) -> Browser:
    return Browser(Client(create_app(ServerSettings(tmp_path / "out", (folder,)))))


def said(**change: str) -> dict[str, str]:
    return {
        "requirement": "R1",
        "system": "dave2",
        "case": "a",
        "mark": "fault",
        "note": EVIL,
        "rater": "Ada",
        **change,
    }


def test_script_in_a_run_is_text(looking: Browser) -> None:
    page = looking.page("/look/run")
    assert page.status == 200
    assert EVIL not in page.text
    table = looking.get("/look/run/table")
    assert table.headers["content-type"] == "application/json"
    assert table.json()["categories"]["case"]["names"] == [EVIL, "a", "c"]
    found = asked(looking, EVIL)
    assert (found["case"], found["parameters"]["change.1"]) == (EVIL, EVIL)


def asked(looking: Browser, case: str) -> Any:
    (found,) = looking.cases("run", status="all", case=case)
    return found


def test_a_mark_is_stored_beside_the_run(looking: Browser, folder: Path) -> None:
    assert looking.post("/look/run/marks", {"marks": [said()]}).status == 201
    (mark,) = read_marks(folder).values()
    assert (mark.mark, mark.note, mark.rater) == ("fault", EVIL, "Ada")
    assert asked(looking, "a")["note"] == EVIL


def test_many_are_marked_at_once_or_none(looking: Browser, folder: Path) -> None:
    two = [said(note=""), said(case="c", mark="unsure")]
    assert looking.post("/look/run/marks", {"marks": [*two, said(case="nowhere")]}).status == 422
    assert not (folder / FILE).exists()
    assert looking.post("/look/run/marks", {"marks": two}).json() == {"stored": 2}
    assert {one.case: one.mark for one in read_marks(folder).values()} == {"a": "fault", "c": "unsure"}
    assert looking.post("/look/run/marks", {"marks": []}).status == 422
    assert looking.post("/look/run/marks", {"marks": [said()] * 201}).status == 422


def test_an_address_names_one_case(looking: Browser) -> None:
    found = looking.get("/look/run/case?requirement=R1&system=dave2&case=a").json()
    assert (found["case"], found["margin"]) == ("a", -1.0)
    assert looking.get("/look/run/case?requirement=R1&system=dave2&case=x").status == 422


NIGHT = "If the driving time changes into night, then the ego-vehicle should slow down at least 60%."


def awaited(browser: Browser, path: str, body: object) -> dict[str, Any]:
    """Return what a page waits for, or why there is nothing."""
    end = time.monotonic() + 120
    while (answer := browser.post(path, body).json())["work"]:
        assert time.monotonic() < end, "it took too long"
    return dict(answer)


def test_the_least_change_is_found_and_every_step_towards_it(looking: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    ask = RulesAsk(text=NIGHT, name="R1", models=("dave2",), data="world:town", frames=3)
    (folder / "job.json").write_text(ask.model_dump_json())
    work_on(folder)
    worst = looking.cases(folder.name)[0]
    which = {"requirement": "R1", "system": "dave2", "case": worst["case"]}
    found = awaited(looking, f"/look/{folder.name}/least", which)["found"]
    assert 0 < found["amount"] <= 1
    assert found["margin"] < 0
    film = found["film"]
    amounts = [one["amount"] for one in film]
    assert amounts == sorted(amounts)
    assert amounts[-1] == 1
    assert next(one["amount"] for one in film if one["status"] == "violated") == found["amount"]
    assert film[-1]["margin"] == pytest.approx(worst["margin"])
    assert film[-1]["answers"][0]["output"] == "speed"
    pictures = [*found["pictures"], *(digest for one in film for digest in one["pictures"])]
    assert all(looking.get(f"/write/pictures/{one}.png").status == 200 for one in pictures)
    every = looking.cases(folder.name, status="all")
    assert all(one["pictures"] for one in every if one["status"] != "not applicable")


def test_of_a_given_run_only_what_this_server_may_open_is_tried(tmp_path: Path) -> None:
    """A stranger's run names its model and data: nothing of it is opened that the server does not offer."""
    document = {
        "seed": 3,
        "models": {"mine": "dave2"},
        "data": {"road": {"data": "world:town", "options": {"count": 8}, "sample": 3}},
        "requirements": {"R1": {"rule": NIGHT}},
    }
    run_suite(suite_of(document), tmp_path / "given")
    browser = Browser(Client(create_app(ServerSettings(tmp_path / "out", (tmp_path / "given",)))))
    worst = browser.cases("given")[0]
    which = {name: worst[name] for name in ("requirement", "system", "case")}
    found = awaited(browser, "/look/given/least", which)["found"]
    assert found["film"][-1]["margin"] == pytest.approx(worst["margin"])
    place = tmp_path / "given" / "suite.yaml"
    for old, new, why in (
        ("dave2", "command:touch /tmp/x", "this server has no model"),
        ("world:town", "folder:/etc", "this server has no data"),
        ("count: 8", "count: 8\n      labels: command:x", "this server cannot ask 'command:x'"),
    ):
        text = place.read_text()
        assert old in text
        place.write_text(text.replace(old, new, 1))
        browser = Browser(Client(create_app(ServerSettings(tmp_path / "out", (tmp_path / "given",)))))
        answer = awaited(browser, "/look/given/least", which)
        assert answer["found"] is None
        assert why in answer["problem"]
        place.write_text(text)


def test_a_model_looks_at_what_changes_its_answer_when_it_is_hidden(tmp_path: Path) -> None:
    code = tmp_path / "corner.py"
    code.write_text(
        "from roadworthy.frames import Signals\n"
        "def speed(frames):\n"
        "    return [Signals(speed=float(one.image[:16, -20:].std())) for one in frames]\n"
    )
    model = f"callable:{code}:speed"
    document = {
        "models": {"corner": {"model": model}},
        "data": {"road": {"data": "world:town", "options": {"count": 3}}},
        "requirements": {"R1": {"rule": NIGHT.replace("60%", "99%")}},
    }
    run_suite(suite_of(document), tmp_path / "given")
    settings = ServerSettings(tmp_path / "out", (tmp_path / "given",), models=(model,))
    browser = Browser(Client(create_app(settings)))
    worst = browser.cases("given")[0]
    which = {name: worst[name] for name in ("requirement", "system", "case")}
    found = awaited(browser, "/look/given/attention", which)["found"]
    assert (found["output"], found["unit"], len(found["attention"])) == ("speed", " m/s", 2)
    assert found["most"] > 1
    picture = browser.get(f"/write/pictures/{found['attention'][0]}.png").body
    heat = decode_image(picture).astype(int).sum(axis=2)
    assert heat[:10, -12:].min() > heat[40:].max()
    # Nothing is opened that the server does not offer.
    other = Browser(Client(create_app(replace(settings, models=()))))
    assert "this server has no model" in awaited(other, "/look/given/attention", which)["problem"]


def test_what_a_network_sees_in_the_pictures_of_a_case(tmp_path: Path) -> None:
    frames = [frame.image for frame in load("world:town", count=2)]
    place = tmp_path / "run"
    with RunStore(place, Requirement("R1", "…", "rules"), system="dave2") as store:
        case = Case("a", "R1", (RecordDrive("x"),), {})
        store.append(case, Verdict.from_margin(case, -1.0), frames)
    browser = Browser(Client(create_app(ServerSettings(tmp_path / "out", (place,)))))
    which = {"requirement": "R1", "system": "dave2", "case": "a"}
    found = browser.post("/look/run/seen", which).json()
    assert "road" in [name for name, *_ in found["classes"]]
    for digest in (*found["labels"], *found["depth"]):
        assert browser.get(f"/write/pictures/{digest}.png").body[:4] == b"\x89PNG"
    assert len(set(found["labels"])) == len(set(found["depth"])) == 2
    (place / "images").rename(tmp_path / "gone")
    assert "may have been moved" in browser.post("/look/run/seen", which).json()["error"]
    assert browser.post("/look/run/seen", {**which, "case": "../a"}).status == 422


@pytest.mark.parametrize(
    "change", [{"mark": "great"}, {"note": "x" * 2001}, {"case": "nowhere"}, {"other": ""}]
)
def test_what_is_no_mark_is_refused(looking: Browser, folder: Path, change: dict[str, str]) -> None:
    assert looking.post("/look/run/marks", {"marks": [said(**change)]}).status == 422
    assert not (folder / FILE).exists()


def test_what_cannot_be_asked_for(looking: Browser) -> None:
    one = {"requirement": "R1", "system": "dave2", "case": "a"}
    for cases in ([one] * 201, [{**one, "case": "x" * 2001}], [{**one, "order": "x"}], "a", None):
        assert looking.post("/look/run/cases", {"cases": cases}).status == 422
    assert looking.post("/look/run/cases", {"cases": [one] * 200}).status == 200


def test_runs_that_are_none(browser: Browser) -> None:
    for path in ("/look/nowhere", "/look/nowhere/table", "/look/nowhere/kinds", "/look/../table"):
        assert browser.get(path).status == 404
    assert "Nothing to look at yet" in browser.page("/look/given").text
