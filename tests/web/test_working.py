"""What pages wait for: made once, told about, and kept until what it comes from changes."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event

import pytest
from tests.report.runs_for_reports import add
from tests.web.client import Browser, Client

from roadworthy.errors import InputError
from roadworthy.web.app import create_app
from roadworthy.web.settings import Settings
from roadworthy.web.turns import Turns
from roadworthy.web.working import Progress, Workbench, stamp_of

LONG = 60.0  # seconds; more than any of this takes


def test_it_is_made_once_however_many_ask() -> None:
    bench, go, made = Workbench(), Event(), []

    def slow(progress: Progress) -> str:
        made.append(1)
        progress("half of it", 0.5)
        go.wait(LONG)
        return "done"

    first, second = bench.ask(("a", 1), slow), bench.ask(("a", 1), slow)
    assert first == second
    work = bench.get(first)
    assert work.result(0.0) is None
    while work.share is None:
        pass
    told = work.as_dict()
    assert (told["over"], told["said"], told["share"]) == (False, "half of it", 0.5)
    go.set()
    assert work.result(LONG) == "done"
    assert work.as_dict()["over"]
    assert bench.get(bench.ask(("a", 1), slow)).result(0.0) == "done"
    assert made == [1]


def test_what_cannot_be_made_says_why_and_what_broke_is_tried_again() -> None:
    bench, tries = Workbench(), []

    def refused(progress: Progress) -> str:
        tries.append("refused")
        raise InputError("no answers yet")

    def broken(progress: Progress) -> str:
        tries.append("broken")
        raise OSError("the disk is full")

    for _ in range(2):
        with pytest.raises(InputError, match="no answers"):
            bench.get(bench.ask(("refused",), refused)).result(LONG)
        with pytest.raises(OSError, match="full"):
            bench.get(bench.ask(("broken",), broken)).result(LONG)
    assert sorted(tries) == ["broken", "broken", "refused"]


def test_there_is_a_limit_to_what_is_asked_for_and_to_what_is_kept() -> None:
    bench, go = Workbench(at_a_time=1, kept=2, waiting=2), Event()
    ids = [bench.ask((number,), lambda progress: go.wait(LONG)) for number in range(2)]
    with pytest.raises(InputError, match="too much"):
        bench.ask((2,), lambda progress: True)
    assert bench.get(ids[1]).as_dict()["said"] == "It waits for its turn."
    go.set()
    assert all(bench.get(id).result(LONG) for id in ids)
    bench.ask((3,), lambda progress: True)
    with pytest.raises(InputError, match="not kept"):
        bench.get(ids[0])
    assert bench.get(ids[1]).is_over
    # Of those that are over, the one that nobody has asked for the longest goes first.
    bench.ask((1,), lambda progress: True)
    bench.get(bench.ask((3,), lambda progress: True)).result(LONG)
    bench.ask((1,), lambda progress: True)
    bench.ask((4,), lambda progress: True)
    assert bench.get(ids[1]).is_over


def test_a_stamp_changes_with_rows_and_not_with_pictures(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "rows").write_text("1")
    before = stamp_of(tmp_path)
    (tmp_path / "images" / "a.png").write_text("1")
    assert stamp_of(tmp_path) == before
    os.utime(tmp_path / "rows", ns=(0, before[1] + 1))
    assert stamp_of(tmp_path) == (1, before[1] + 1)


def test_a_page_waits_and_asks_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roadworthy.web.routes.compare._PATIENCE", 0.0)
    for name in ("before", "after"):
        add(tmp_path / name, [(f"town-{one}", 0.5, {"frame": f"f{one}"}, {}) for one in range(3)])
    browser = Browser(
        Client(create_app(Settings(tmp_path / "out", (tmp_path / "before", tmp_path / "after"))))
    )
    address = "/compare?first=before&second=after"
    page = browser.page(address).text
    assert "The runs are being compared" in page
    assert "/static/working.js" in page
    id = page.split('data-work="')[1].split('"')[0]
    while not (told := browser.get(f"/working/{id}").json())["over"]:
        assert told["seconds"] < LONG
    assert told["said"] == "Putting 6 cases side by side."
    done = browser.page(address).text
    assert "No regression" in done
    assert "working" not in done
    assert browser.get("/working/none").status == 404


def test_a_few_wait_for_their_turn_and_others_come_again() -> None:
    turns = Turns(waiting=1)
    with turns.taken():
        assert turns._places.acquire(blocking=False)
        with pytest.raises(InputError, match="in a moment"), turns.taken():
            pass
        turns._places.release()
    for _ in range(3):
        with turns.taken():
            pass
