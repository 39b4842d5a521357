"""Compare and Studies in a real browser: what broke, and what people are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.e2e.conftest import Server
from tests.e2e.looking import barriers, faint_texts, overhang, wait_for_pictures, wait_until
from tests.report.runs_for_reports import requirement_of
from tests.studies.planned import clip_study, glance_experiment, rule_run

from roadworthy.cases import Case, RecordDrive, Verdict
from roadworthy.datasets import load
from roadworthy.frames import Frame
from roadworthy.report.driving import Film
from roadworthy.runs.store import RunStore
from roadworthy.web.pages import Pages
from roadworthy.web.settings import ServerLimits

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Window = Callable[..., "Page"]
Picture = Callable[..., None]


def two_parts(folder: Path) -> Path:
    """A run with a case of a rule of two parts, whose second part decides: what was added came closer."""
    images = [np.full((160, 320, 3), 90, np.uint8) for _ in range(3)]
    images[1][60:80, 40:50] = 200
    images[2][60:100, 200:220] = 200
    place = folder / "runs" / "R1" / "dave2"
    with RunStore(place, requirement_of("R1"), system="dave2", images=folder / "images") as store:
        case = Case("town-1", "R1", (RecordDrive("-"),), {"output.1": "speed", "output.2": "speed"})
        first = {"before.1": 8.0, "after.1": 7.0, "margin.1": 1.0}
        second = {"before.2": 7.0, "after.2": 9.0, "margin.2": -2.0}
        store.append(case, Verdict.from_margin(case, -2.0, measures=first | second), images)
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("people")
    # What the docs show shall look like something.
    frames = [frame.image for frame in load("world:town", count=12)]
    film = Film()
    for number in range(8):
        film.add(Frame(str(number), np.full((48, 96, 3), 20 * number, np.uint8)), number / 10)
    film.write_plain(home / "one.webm", 0, 1, width=96)
    folders = (
        rule_run(home / "before", passes=11, violations=1, frames=frames),
        rule_run(home / "after", passes=4, violations=8, frames=frames),
        rule_run(home / "rules", frames=frames),
        glance_experiment(home / "glances", shown_ms=60, answer_ms=90_000),
        clip_study(home / "clips", (home / "one.webm").read_bytes()),
        two_parts(home / "parts"),
    )
    server = Server(home / "out", folders)
    server.start()
    yield server
    server.stop()


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_two_runs_are_compared(window: Window, picture: Picture, width: int, theme: str) -> None:
    page = window(width, theme)
    page.goto("/compare")
    page.get_by_label("Before").select_option("before")
    page.get_by_label("After", exact=True).select_option("after")
    page.get_by_role("button", name="Compare", exact=True).click()
    assert "1 regression" in page.inner_text("#sentence")
    # Either run says something of the same pictures, when one comes near them.
    page.locator("#changed .tile").last.scroll_into_view_if_needed()
    wait_until(page, lambda: page.locator("#changed .side").count() == 2 * 7)
    assert page.locator("#changed .side .chip").all_inner_texts() == ["passed", "violated"] * 7
    wait_for_pictures(page)
    picture(page, f"web-compare-{width}", docs=width > 1000)
    assert overhang(page) <= 0
    assert not faint_texts(page)
    assert not barriers(page)
    page.locator("#changed [data-kind=fixed]").click()
    page.wait_for_selector("#changed :text('Nothing was fixed.')")
    assert "show=fixed" in page.url
    page.reload()
    page.wait_for_selector("#changed :text('Nothing was fixed.')")
    page.locator("#changed [data-kind=broken]").click()
    page.locator("#changed .tile a").first.click()
    page.wait_for_url("**/look/after?**")
    page.wait_for_selector("dialog[open]")
    assert "town-" in page.inner_text("dialog")


def test_of_a_rule_with_parts_the_one_that_decides_is_shown(page: Page) -> None:
    page.goto("/look/parts")
    page.wait_for_selector(".tile .changed rect")
    assert page.inner_text(".tile .answer-line") == "part 2: speed 7.00 → 9.00 m/s (+2.00)"
    # From the second picture to the third: what was there is gone, and it stands elsewhere.
    places = "(one) => [...one.querySelectorAll('rect')].map((rect) => Number(rect.getAttribute('x'))).sort()"
    assert page.locator(".tile .changed").first.evaluate(places) == [196, 36]
    page.locator(".tile .open").first.click()
    page.wait_for_selector("dialog figure:last-child .changed rect")
    assert page.locator("dialog figcaption").all_inner_texts() == ["before", "after part 1", "after part 2"]
    outlined = [page.locator("dialog .changed").nth(place).evaluate(places) for place in range(3)]
    assert outlined == [[36], [36], [196]]


def test_a_comparison_that_takes_long_is_cancelled_and_begun_again(page: Page) -> None:
    """The server is played: what its part of it does is tested without a browser."""
    waiting = Pages(ServerLimits())._templates.get_template("_parts.html").module.waiting  # type: ignore[attr-defined]
    script = '<script type="module" src="/static/working.js"></script></head>'
    asked: list[str] = []
    cancels: list[str] = []

    def compare(route: Any) -> None:
        asked.append(route.request.url)
        # The page before anything is compared: on a busy machine the real server makes one wait as well.
        answer = route.fetch(url=route.request.url.partition("?")[0])
        body = answer.text().replace("</h1>", f"</h1>{waiting('Comparing the runs', 'abc')}", 1)
        route.fulfill(response=answer, body=body.replace("</head>", script, 1))

    def cancel(route: Any) -> None:
        cancels.append(route.request.headers["x-csrf-token"])
        route.fulfill(json={})

    def working(route: Any) -> None:
        now = {"over": False, "cancelled": bool(cancels), "said": "Counting.", "share": None, "seconds": 3.0}
        route.fulfill(json=now)

    page.route("**/compare?first=*", compare)
    page.route("**/working/abc", working)
    page.route("**/working/abc/cancel", cancel)
    page.goto("/compare?first=before&second=before")
    page.wait_for_selector("#working :text('Counting.')")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("#working :text('Cancelled.')")
    assert len(cancels) == len(asked) == 1
    assert cancels[0]
    assert page.locator("#working progress").count() == 0
    cancels.clear()
    page.get_by_role("button", name="Start again").click()
    page.wait_for_selector("#working :text('Counting.')")
    assert len(asked) == 2


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_a_blind_study_from_the_draw_to_the_boxes(
    window: Window, picture: Picture, server: Server, width: int, theme: str
) -> None:
    page = window(width, theme)
    page.goto("/studies")
    page.select_option("#run", label="rules: dave2")
    page.fill("#pairs", "4")
    page.fill("#raters", "2")
    assert overhang(page) <= 0
    assert not faint_texts(page)
    assert not barriers(page)
    picture(page, f"web-studies-{width}")
    page.get_by_role("button", name="Draw the study").click()
    page.wait_for_url("**/rules/study-*")
    study = page.url
    for rater, score in (("ann", "6"), ("bob", "3")):
        page.goto(f"{study}/take")
        page.fill("#rater", rater)
        page.keyboard.press("Enter")
        for number in range(4):
            page.wait_for_selector(f"text=Pair {number + 1} of 4")
            if rater == "ann" and not number:
                wait_for_pictures(page)
                # Who is asked how real a picture looks is not told where to look.
                assert page.locator(".changed, [data-outlines]").count() == 0
                picture(page, f"web-pair-{width}", docs=width > 1000)
                assert overhang(page) <= 0
                assert not faint_texts(page)
                assert not barriers(page)
                assert page.get_by_role("button", name="Next pair").get_attribute("aria-disabled") == "true"
            # By keyboard: arrows go along a scale, Tab to the next one, Enter to the next pair.
            page.keyboard.press("Space")
            for _ in range(int(score) - 1):
                page.keyboard.press("ArrowRight")
            page.keyboard.press("Tab")
            page.keyboard.press("Space")
            for _ in range(number):
                page.keyboard.press("ArrowRight")
            page.keyboard.press("Enter")
        page.wait_for_selector("text=Thank you")
    page.goto(f"{study}/results")
    assert page.locator("svg.chart .box").count() == 3
    picture(page, f"web-study-{width}", docs=width > 1000)
    assert overhang(page) <= 0
    assert not faint_texts(page)
    (table,) = page.locator("table").all_inner_texts()
    assert "1.00" in table
    folder = next(one for one in server.runs if one.name == "rules") / "studies" / Path(study).name
    told = (folder / "answers" / "ann.csv").read_text().splitlines()
    assert [line.split(",")[2] for line in told[1:]] == ["6"] * 4
    assert [line.split(",")[3] for line in told[1:]] == ["1", "2", "3", "4"]


def test_glances_are_shown_for_their_time_and_answered_by_key(
    page: Page, picture: Picture, server: Server
) -> None:
    page.goto("/studies/glances/itself/take")
    page.fill("#rater", "ann")
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("button", name="Begin the practice").click()
    for _ in range(2):
        page.wait_for_selector(".choices button:enabled")
        page.keyboard.press("f")
        page.wait_for_selector(".state:has-text('car')")
    page.get_by_role("button", name="Now it counts").click()
    wait_until(page, lambda: "of 5" in page.inner_text("#task h1"))
    for number in range(5):
        wait_until(page, lambda number=number: f"Image {number + 1} " in page.inner_text("#task h1"))  # type: ignore[misc]
        page.wait_for_selector(".choices button:enabled")
        if not number:
            picture(page, "web-glance")
            assert not barriers(page)
        page.keyboard.press("j")
    page.wait_for_selector("text=Thank you")
    folder = next(one for one in server.runs if one.name == "glances")
    told = [line.split(",") for line in (folder / "answers" / "ann.csv").read_text().splitlines()[1:]]
    assert [line[2] for line in told] == ["not car"] * 5
    assert all(0 < float(line[3]) < 90 for line in told)


@pytest.mark.parametrize("width", [390])
def test_clips_are_watched_and_rated(window: Window, picture: Picture, server: Server, width: int) -> None:
    page = window(width)
    page.goto("/studies/clips/itself/take")
    page.fill("#rater", "ann")
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("button", name="Begin to rate").click()
    for number in range(5):
        page.wait_for_selector(f"text=Clip {number + 1} of 5")
        page.locator(".scale label").nth(number % 5).click()
        page.locator("video").evaluate("one => { one.muted = true; one.play(); }")
        page.wait_for_selector("button[type=submit][aria-disabled=false]")
        if not number:
            picture(page, "web-clip")
            assert overhang(page) <= 0
            assert not faint_texts(page)
            assert not barriers(page)
        page.locator("#task button[type=submit]").click()
    page.wait_for_selector("text=Thank you")
    folder = next(one for one in server.runs if one.name == "clips")
    told = (folder / "answers" / "ann.csv").read_text().splitlines()[1:]
    assert [line.rpartition(",")[2] for line in told] == ["1", "2", "3", "4", "5"]
