"""The page Look, without a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.web.client import Browser, Client

from roadworthy.cases import Case, Drive, Requirement, Verdict
from roadworthy.runs import RunStore
from roadworthy.web.app import create_app
from roadworthy.web.looking.marks import FILE, read_marks
from roadworthy.web.settings import Settings

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    with RunStore(folder, Requirement("R1", EVIL, "rules"), system="dave2") as store:
        for name, margin in (("a", -1.0), (EVIL, -2.0), ("c", 1.0)):
            case = Case(name, "R1", (Drive("x"),), {"change.1": EVIL})
            store.append(case, Verdict.from_margin(case, margin))
    return folder


@pytest.fixture
def looking(folder: Path, tmp_path: Path) -> Browser:
    return Browser(Client(create_app(Settings(tmp_path / "out", (folder,)))))


def said(**change: str) -> dict[str, str]:
    return {"requirement": "R1", "system": "dave2", "case": "a", "mark": "fault", "note": EVIL, **change}


def test_script_in_a_run_is_text(looking: Browser) -> None:
    page = looking.page("/look/run")
    assert page.status == 200
    assert EVIL not in page.text
    assert "&lt;script&gt;" in page.text
    found = looking.get("/look/run/cases")
    assert found.headers["content-type"] == "application/json"
    assert [one["case"] for one in found.json()["cases"]] == [EVIL, "a"]


def test_a_mark_is_stored_beside_the_run(looking: Browser, folder: Path) -> None:
    assert looking.post("/look/run/marks", said()).status == 201
    (mark,) = read_marks(folder).values()
    assert (mark.mark, mark.note) == ("fault", EVIL)
    assert looking.get("/look/run/cases?mark=fault").json()["cases"][0]["note"] == EVIL


@pytest.mark.parametrize(
    "change", [{"mark": "great"}, {"note": "x" * 2001}, {"case": "nowhere"}, {"other": ""}]
)
def test_what_is_no_mark_is_refused(looking: Browser, folder: Path, change: dict[str, str]) -> None:
    assert looking.post("/look/run/marks", said(**change)).status == 422
    assert not (folder / FILE).exists()


@pytest.mark.parametrize(
    "query", ["limit=100000", "limit=0", "offset=-1", "order=x", "status=1%3D1", "offset=x"]
)
def test_what_cannot_be_asked_for(looking: Browser, query: str) -> None:
    assert looking.get(f"/look/run/cases?{query}").status == 422


def test_runs_that_are_none(browser: Browser) -> None:
    for path in ("/look/nowhere", "/look/nowhere/cases", "/look/../cases"):
        assert browser.get(path).status == 404
    assert "nothing to look at yet" in browser.page("/look/given").text


def test_runs_are_offered(looking: Browser, browser: Browser) -> None:
    assert 'href="/look/run"' in looking.page("/look").text
