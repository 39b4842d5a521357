"""Runs in real browsers: watched by two, stopped, continued, and not lost with the server."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.looking import wait_until

from roadworthy.runs.store import StoredRun

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from tests.e2e.conftest import Server, Watch

NIGHT = "If the driving time changes into night, then the ego-vehicle should slow down."
Window = Callable[..., "Page"]


def start(page: Page, frames: int) -> str:
    page.goto("/write")
    page.fill("#rule-text", NIGHT)
    page.fill("#frames", str(frames))
    page.wait_for_selector("#rule-state.good")
    page.click("#start")
    page.wait_for_selector("#job[data-stage=running]")
    return str(page.get_attribute("#job a.button", "href"))


def done(page: Page) -> int:
    told = re.match(r"\d+", page.inner_text("#job .head small"))
    return int(told[0]) if told else 0


def wait_for_progress(page: Page, beyond: int = 0) -> None:
    wait_until(page, lambda: done(page) > beyond)


def rows(out: Path, url: str) -> list[str]:
    return [str(row["case"]) for row in StoredRun.open(out / Path(url).name / "run").rows()]


def press_slowly(page: Page, name: str) -> None:
    """Press a button, and let it go when the card has changed meanwhile."""
    box = page.get_by_role("button", name=name).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    wait_for_progress(page, done(page))
    page.mouse.up()


def test_two_browsers_watch_one_run_and_either_stops_it(window: Window, server: Server) -> None:
    first, second = window(), window()
    url = start(first, 1500)
    wait_for_progress(first)
    second.goto(url)
    wait_for_progress(second)
    press_slowly(second, "Stop")
    first.wait_for_selector("#job[data-stage=cancelled]")
    second.wait_for_selector("#job[data-stage=cancelled]")
    wait_until(second, lambda: done(first) == done(second))
    stopped = rows(server.out, url)
    assert 0 < len(stopped) < 1500
    first.get_by_role("button", name="Resume").click()
    first.wait_for_selector("#job[data-stage=running]")
    wait_for_progress(first, len(stopped))
    first.get_by_role("button", name="Stop").click()
    first.wait_for_selector("#job[data-stage=cancelled]")
    again = rows(server.out, url)
    assert again[: len(stopped)] == stopped
    assert len(set(again)) == len(again) > len(stopped)


def test_a_server_that_is_killed_loses_nothing(window: Window, server: Server, watch: Watch) -> None:
    watch.expected = ("Failed to load resource", "net::ERR_")
    page = window()
    url = start(page, 160)
    wait_for_progress(page)
    # Or it might be over before the server is gone.
    worker = int((server.out / Path(url).name / "pid.txt").read_text())
    os.kill(worker, signal.SIGSTOP)
    server.stop(signal.SIGKILL)
    os.kill(worker, signal.SIGCONT)
    page.wait_for_selector("#job .line:has-text('does not answer')")
    server.start()
    # The browser finds the server again by itself, and the run has gone on meanwhile.
    page.wait_for_selector("#job[data-stage=finished]")
    found = rows(server.out, url)
    assert len(set(found)) == len(found) == 160
    # The page is from before the server was started again: it says so, and keeps what was typed.
    page.click("#start")
    page.get_by_role("button", name="Reload").click()
    page.wait_for_selector("#rule-state.good")
    assert page.input_value("#rule-text") == NIGHT


def test_a_tab_that_nobody_looks_at_keeps_no_line(window: Window) -> None:
    page, other = window(), window()
    other.goto(start(page, 1500))
    wait_for_progress(page)
    hide = "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
    hide += " document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(hide, True)
    before = done(page)
    wait_for_progress(other, before)
    wait_for_progress(other, done(other))
    assert done(page) == before
    page.evaluate(hide, False)
    wait_for_progress(page, before)
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector("#job[data-stage=cancelled]")
