"""Drives, Coverage and Thresholds in a real browser."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.conftest import Server
from tests.e2e.looking import barriers, faint_texts, overhang, wait_until
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


def record(place: Path, model: str = "dave2") -> None:
    """Let the careful driver drive a part of the meadow; for the docs a network drives all of it."""
    docs = "ROADWORTHY_DOCS_PICTURES" in os.environ
    film = Film()

    def watch(now: Situation) -> None:
        if len(film) < 30 * docs + 8:
            film.add(now.frame, now.time)

    driven = drive(
        load_model(model) if docs else Truth(),
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
    if "ROADWORTHY_DOCS_PICTURES" in os.environ:
        record(home / "drives" / "once-more", "epoch")
    else:
        shutil.copytree(home / "drives" / "meadow", home / "drives" / "once-more")
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
    assert not barriers(page)


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
    page.select_option("#metric", "SD(SA)")
    page.wait_for_url("**metric=SD*")
    page.wait_for_selector("svg.map .way")
    assert 1 < page.locator("svg.map .way").count() < before
    # By keyboard along the time line: the map and the words follow.
    page.locator(".along").first.press("PageUp")
    page.wait_for_selector("svg.map .cursor[visibility=visible]")
    assert "steering angle" in page.inner_text("#along [role=status]")
    assert "SD(SA) ≤ 0.50" in page.inner_text("#along .along >> nth=0")
    # Another drive over it, both along the distance: the address says so.
    page.get_by_text("Other drives").click()
    page.check("[data-drive=once-more]")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Distance").click()
    page.wait_for_selector("svg.map .other")
    assert "drives/once-more" in page.inner_text("#along .legend")
    page.reload()
    page.wait_for_selector("svg.map .other")
    assert page.get_attribute("[data-along=distance]", "aria-pressed") == "true"
    # The unit of speeds is changed for all pages.
    assert "speed, m/s" in page.inner_text("#along")
    fast = float(page.inner_text("td[data-speed] >> nth=0"))
    page.click("#unit")
    page.wait_for_selector("#along :text('speed, km/h')")
    wait_until(page, lambda: "km/h" in page.inner_text("[data-speed-unit] >> nth=0"))
    assert float(page.inner_text("td[data-speed] >> nth=0")) == pytest.approx(3.6 * fast, rel=0.01)
    page.click("#unit")
    page.wait_for_selector("#along :text('speed, m/s')")
    page.locator(".along").first.press("PageUp")
    page.locator("video").evaluate("one => { one.muted = true; return one.play(); }")
    picture(page, f"web-drive-{width}", docs=width > 1000)
    fine(page)


@BOTH
def test_coverage_and_its_holes(window: Window, picture: Picture, width: int, theme: str) -> None:
    page = window(width, theme)
    page.goto("/coverage")
    page.get_by_role("link", name="searched").click()
    page.wait_for_selector("text=Holes")
    wait_until(page, lambda: page.locator(".plot canvas").count() == 3)
    assert page.locator(".plot .u-legend .u-label").all_inner_texts()[:2] == ["tries", "coverage"]
    # A canvas has colours of its own: it is drawn again when they change.
    drawn = "document.querySelector('.plot canvas').toDataURL()"
    before = page.evaluate(drawn)
    while page.get_attribute("html", "data-theme") != ("dark" if theme == "light" else "light"):
        page.click("#theme")
    wait_until(page, lambda: page.evaluate(drawn) != before)
    page.click("#theme")
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
