"""What pages wait for: made once, told about, and kept until what it comes from changes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from threading import Event
from typing import Any

import duckdb
import pytest
from tests.report.runs_for_reports import add
from tests.web.client import Browser, Client

from roadworthy.errors import InputError
from roadworthy.web.app import create_app
from roadworthy.web.settings import ServerSettings
from roadworthy.web.working import Progress, Turns, Workbench, stamp_of_run

LONG = 60.0  # seconds; more than any of this takes


def test_it_is_made_once_however_many_ask() -> None:
    bench, begun, go, made = Workbench(), Event(), Event(), []

    def slow(progress: Progress) -> str:
        made.append(1)
        progress("half of it", 0.5)
        begun.set()
        go.wait(LONG)
        return "done"

    first, second = bench.ask(("a", 1), slow), bench.ask(("a", 1), slow)
    assert first == second
    work = bench.get(first)
    assert work.result(0.0) is None
    assert begun.wait(LONG)
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


def test_what_is_cancelled_ends_and_is_made_anew_when_it_is_asked_for_again() -> None:
    bench, begun, ended = Workbench(), Event(), []

    def endless(progress: Progress) -> str:
        begun.set()
        try:
            while True:
                progress("on and on", None)
        finally:
            ended.append(1)

    id = bench.ask(("a",), endless)
    assert begun.wait(LONG)
    work = bench.get(id)
    work.cancel()
    assert work.as_dict()["cancelled"]
    with pytest.raises(InputError, match="it was cancelled: ask for it again"):
        work.result(LONG)
    assert ended == [1]
    assert bench.ask(("a",), lambda progress: "done") == id
    assert bench.get(id) is not work
    assert bench.get(id).result(LONG) == "done"
    # What is over stays as it is.
    bench.get(id).cancel()
    assert not bench.get(id).as_dict()["cancelled"]
    assert bench.get(bench.ask(("a",), endless)).result(LONG) == "done"


def test_what_waits_for_its_turn_is_cancelled_without_ever_beginning() -> None:
    bench, go, begun = Workbench(at_a_time=1), Event(), []
    first = bench.get(bench.ask(("first",), lambda progress: go.wait(LONG)))
    second = bench.get(bench.ask(("second",), lambda progress: begun.append(1)))
    second.cancel()
    with pytest.raises(InputError, match="cancelled"):
        second.result(LONG)
    assert not first.is_over
    go.set()
    assert first.result(LONG)
    assert begun == []


def test_what_is_looked_at_ends_when_nobody_asks_any_more_and_holds_nothing_up() -> None:
    bench, looked, others = Workbench(at_a_time=1), Event(), Event()

    def endless(progress: Progress) -> None:
        while True:
            progress("on and on", None)
            looked.set()

    left = bench.get(bench.ask(("left",), endless, patience=0.05))
    watched = bench.get(bench.ask(("watched",), lambda progress: others.wait(LONG), patience=LONG))
    assert looked.wait(LONG)
    # What takes long has a turn of its own.
    assert bench.get(bench.ask(("kinds",), lambda progress: "found")).result(LONG) == "found"
    while not left.is_over:
        time.sleep(0.01)
    with pytest.raises(InputError, match="cancelled"):
        left.result(LONG)
    others.set()
    assert watched.result(LONG)
    # Who comes back is answered anew.
    assert bench.get(bench.ask(("left",), lambda progress: "again", patience=LONG)).result(LONG) == "again"


def test_something_that_says_nothing_is_interrupted_again_and_again_until_it_ends() -> None:
    """A database hears an interruption only while a query goes on, not between two of them."""
    bench, begun, heard = Workbench(), Event(), []

    def deaf(progress: Progress) -> None:
        end = Event()

        def stop() -> None:
            heard.append(1)
            if len(heard) == 3:
                end.set()

        with progress.interrupted_by(stop):
            begun.set()
            assert end.wait(LONG)
        raise OSError("interrupted")

    work = bench.get(bench.ask(("a",), deaf))
    assert begun.wait(LONG)
    work.cancel()
    # What it says of itself is nothing that anybody wants to read.
    with pytest.raises(InputError, match="cancelled"):
        work.result(LONG)
    assert len(heard) >= 3
    with pytest.raises(InputError, match="cancelled"), work.progress.interrupted_by(lambda: None):
        pass


def test_there_is_a_limit_to_what_is_asked_for_and_to_what_is_kept() -> None:
    bench, go = Workbench(at_a_time=1, kept=2, waiting=2), Event()
    ids = [bench.ask((number,), lambda progress: go.wait(LONG)) for number in range(2)]
    with pytest.raises(InputError, match="busy"):
        bench.ask((2,), lambda progress: True)
    assert bench.get(ids[1]).as_dict()["said"] == "Waiting for its turn."
    go.set()
    assert all(bench.get(id).result(LONG) for id in ids)
    bench.ask((3,), lambda progress: True)
    with pytest.raises(InputError, match="expired"):
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
    _settle(tmp_path)
    before = stamp_of_run(tmp_path)
    (tmp_path / "images" / "a.png").write_text("1")
    assert stamp_of_run(tmp_path) == before
    known = (tmp_path / "rows").stat()
    (tmp_path / "other").write_text("2")
    (tmp_path / "other").replace(tmp_path / "rows")
    # Neither the number of files nor the latest time tells.
    os.utime(tmp_path / "rows", ns=(known.st_atime_ns, known.st_mtime_ns))
    assert stamp_of_run(tmp_path) != before


def _settle(folder: Path) -> None:
    """Wait until nothing below a folder has only just changed."""
    while stamp_of_run(folder) != stamp_of_run(folder):
        time.sleep(0.01)


def test_a_page_waits_and_asks_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roadworthy.web.services._PATIENCE", 0.0)
    # Or what was stored a moment ago would be compared anew.
    monkeypatch.setattr("roadworthy._files._SETTLED", 0.0)
    for name in ("before", "after"):
        add(tmp_path / name, [(f"town-{one}", 0.5, {"frame": f"f{one}"}, {}) for one in range(3)])
    browser = Browser(
        Client(create_app(ServerSettings(tmp_path / "out", (tmp_path / "before", tmp_path / "after"))))
    )
    address = "/compare?first=before&second=after"
    page = browser.page(address).text
    assert "Comparing the runs" in page
    assert "/static/working.js" in page
    id = page.split('data-work="')[1].split('"')[0]
    while not (told := browser.get(f"/working/{id}").json())["over"]:
        assert told["seconds"] < LONG
    assert told["said"] == "Putting 6 cases side by side."
    done = browser.page(address).text
    assert "No regression" in done
    assert "working" not in done
    assert browser.get("/working/none").status == 404


def test_a_comparison_is_cancelled_by_whoever_looks_at_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roadworthy.web.services._PATIENCE", 0.0)
    for name in ("before", "after"):
        add(tmp_path / name, [(f"town-{one}", 0.5, {"frame": f"f{one}"}, {}) for one in range(3)])
    begun = Event()

    def endless(*runs: object, stoppable: Any, **settings: object) -> None:
        """A query without an end, which only an interruption ends."""
        with duckdb.connect() as connection, stoppable(connection.interrupt):
            begun.set()
            connection.execute("SELECT count(*) FROM range(1000000000000) AS a, range(1000000) AS b")

    monkeypatch.setattr("roadworthy.web.compare.compare", endless)
    app = create_app(ServerSettings(tmp_path / "out", (tmp_path / "before", tmp_path / "after")))
    browser = Browser(Client(app))
    page = browser.page("/compare?first=before&second=after").text
    id = page.split('data-work="')[1].split('"')[0]
    assert begun.wait(LONG)
    assert browser.post(f"/working/{id}/cancel", {}, x_csrf_token="no").status == 403
    assert not browser.get(f"/working/{id}").json()["cancelled"]
    work = app.state.services.bench.get(id)
    assert browser.post(f"/working/{id}/cancel", {}).json()["cancelled"]
    with pytest.raises(InputError, match="cancelled"):
        work.result(LONG)
    assert browser.post("/working/none/cancel", {}).status == 404


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
