"""Drives, Coverage and Thresholds in a real browser."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.conftest import Server
from tests.e2e.looking import faint_texts, nameless_controls, overhang
from tests.report.runs_for_reports import add, requirement_of
from tests.web.test_coverage import MEASURED
from tests.web.test_thresholds import counts

from roadworthy.driving.drives.readers import write_drive
from roadworthy.driving.simulators import DriveLimits, Situation, WorldSimulator, drive
from roadworthy.models import Truth, load_model
from roadworthy.report.driving import Film

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Window = Callable[..., "Page"]
Picture = Callable[..., None]
BOTH = pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])


def record(place: Path) -> None:
    """Let the careful driver drive a part of the meadow; for the docs DAVE-2 drives all of it."""
    docs = "ROADWORTHY_DOCS_PICTURES" in os.environ
    film = Film()

    def watch(now: Situation) -> None:
        if len(film) < 30 * docs + 8:
            film.add(now.frame, now.time)

    driven = drive(
        load_model("dave2") if docs else Truth(),
        WorldSimulator("meadow", traffic=0),
        limits=DriveLimits(laps=1, metres=None if docs else 400.0),
        watch=watch,
    )
    place.mkdir(parents=True)
    write_drive(driven, place / "drive.parquet")
    film.write_plain(place / "drive.webm", 0, 2, width=320)
    oracle = {"thresholds": {"SD(SA)": 0.5}, "directions": {"SD(SA)": "up"}}
    (place / "oracle.json").write_text(json.dumps(oracle))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("others")
    record(home / "drives" / "meadow")
    rows = [
        (
            f"try-{number}",
            -1.0 if number % 9 == 8 else 1.0,
            {"transform": "blur"},
            {"coverage": 0.9 - 0.5 / (1 + number / 9), "gain": 0.01, "error": 1.0},
        )
        for number in range(60)
    ]
    add(home / "searched", rows, requirement=requirement_of("C1", "coverage"))
    (home / "searched" / "coverage.json").write_text(json.dumps(MEASURED))
    server = Server(home / "out", (home / "drives", home / "searched", counts(home / "people")))
    server.start()
    yield server
    server.stop()


def fine(page: Page) -> None:
    assert overhang(page) <= 0
    assert not faint_texts(page)
    assert not nameless_controls(page)


@BOTH
def test_a_drive_on_its_map(window: Window, picture: Picture, width: int, theme: str) -> None:
    page = window(width, theme)
    page.goto("/drives")
    fine(page)
    page.get_by_role("link", name="drives/meadow").click()
    page.wait_for_selector("svg.map .way")
    assert page.locator("svg.map .alarm").count() > 0
    alarm = page.locator("tr", has_text="meadow-03")
    assert "SD(SA) 0.5" in alarm.inner_text()
    before = page.locator("svg.map .way").count()
    page.fill("#metric", "SD(LP)")
    page.keyboard.press("Enter")
    page.wait_for_url("**metric=SD*")
    assert 1 < page.locator("svg.map .way").count() < before
    page.locator("video").evaluate("one => { one.muted = true; return one.play(); }")
    picture(page, f"web-drive-{width}", docs=width > 1000)
    fine(page)


@BOTH
def test_coverage_and_its_holes(window: Window, picture: Picture, width: int, theme: str) -> None:
    page = window(width, theme)
    page.goto("/coverage")
    page.get_by_role("link", name="searched").click()
    page.wait_for_selector("text=Holes")
    assert page.locator("svg.chart polyline").count() == 3
    picture(page, f"web-coverage-{width}")
    fine(page)


@BOTH
def test_thresholds_of_people(window: Window, picture: Picture, width: int, theme: str) -> None:
    page = window(width, theme)
    page.goto("/thresholds")
    picture(page, f"web-published-{width}")
    fine(page)
    page.get_by_role("link", name="people", exact=True).click()
    page.wait_for_selector("svg.chart")
    assert page.locator("svg.chart .threshold").count() == 1
    page.select_option("#rule", "imagenet")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**rule=imagenet*")
    picture(page, f"web-thresholds-{width}")
    fine(page)
