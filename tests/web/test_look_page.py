"""The page Look, without a browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.web.client import Browser, Client

from roadworthy.cases import Case, RecordDrive, Requirement, Verdict
from roadworthy.runs import RunStore
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
    assert "&lt;script&gt;" in page.text
    found = looking.get("/look/run/cases")
    assert found.headers["content-type"] == "application/json"
    assert [one["case"] for one in found.json()["cases"]] == ["a", EVIL]


def test_a_mark_is_stored_beside_the_run(looking: Browser, folder: Path) -> None:
    assert looking.post("/look/run/marks", said()).status == 201
    (mark,) = read_marks(folder).values()
    assert (mark.mark, mark.note, mark.rater) == ("fault", EVIL, "Ada")
    assert looking.get("/look/run/cases?mark=fault").json()["cases"][0]["note"] == EVIL


def test_an_address_chooses_and_says_where_a_case_is(looking: Browser) -> None:
    def found(query: str) -> list[str]:
        return [one["case"] for one in looking.get(f"/look/run/cases?status=all&{query}").json()["cases"]]

    assert found("least=0.15") == [EVIL]
    assert found("most=0.15&order=case") == ["a", "c"]
    where = "/look/run/place?of=R1&on=dave2&status=all&order=case"
    places = {name: looking.get(f"{where}&case={name}").json()["place"] for name in ("a", "c", "x")}
    assert places == {"a": 1, "c": 2, "x": None}


def test_an_address_names_one_case(looking: Browser) -> None:
    found = looking.get("/look/run/case?requirement=R1&system=dave2&case=a").json()
    assert (found["case"], found["margin"]) == ("a", -1.0)
    assert looking.get("/look/run/case?requirement=R1&system=dave2&case=x").status == 422


def test_the_least_change_is_found_for_runs_that_were_started_here(looking: Browser, tmp_path: Path) -> None:
    which = {"requirement": "R1", "system": "dave2", "case": "a"}
    assert "started here" in looking.post("/look/run/least", which).json()["error"]
    folder = tmp_path / "out" / "20261115-120000-aaaa"
    folder.mkdir(parents=True)
    night = "If the driving time changes into night, then the ego-vehicle should slow down at least 60%."
    ask = RulesAsk(text=night, name="R1", models=("dave2",), data="world:town", frames=3)
    (folder / "job.json").write_text(ask.model_dump_json())
    work_on(folder)
    worst = looking.get(f"/look/{folder.name}/cases").json()["cases"][0]
    found = looking.post(f"/look/{folder.name}/least", {**which, "case": worst["case"]}).json()
    assert 0 < found["amount"] <= 1
    assert found["margin"] < 0
    assert all(looking.get(f"/write/pictures/{one}.png").status == 200 for one in found["pictures"])
    every = looking.get(f"/look/{folder.name}/cases?status=all").json()["cases"]
    assert all(one["pictures"] for one in every if one["status"] != "not applicable")


@pytest.mark.parametrize(
    "change", [{"mark": "great"}, {"note": "x" * 2001}, {"case": "nowhere"}, {"other": ""}]
)
def test_what_is_no_mark_is_refused(looking: Browser, folder: Path, change: dict[str, str]) -> None:
    assert looking.post("/look/run/marks", said(**change)).status == 422
    assert not (folder / FILE).exists()


@pytest.mark.parametrize(
    "query",
    [
        "limit=100000",
        "limit=0",
        "offset=-1",
        "order=x",
        "status=1%3D1",
        "offset=x",
        "amount=requirement",
        "amount=measure.strength&least=1",
        "order=near",
        "least=x",
        "most=inf",
    ],
)
def test_what_cannot_be_asked_for(looking: Browser, query: str) -> None:
    assert looking.get(f"/look/run/cases?{query}").status == 422


def test_runs_that_are_none(browser: Browser) -> None:
    for path in ("/look/nowhere", "/look/nowhere/cases", "/look/../cases"):
        assert browser.get(path).status == 404
    assert "Nothing to look at yet" in browser.page("/look/given").text


def test_runs_are_offered(looking: Browser, browser: Browser) -> None:
    assert 'href="/look/run"' in looking.page("/look").text
