"""Every page at three widths and in both colours: nothing is cut off, faint or without a name.

With ROADWORTHY_SCREENSHOTS all six pictures of each page are kept, to be looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.conftest import Server
from tests.e2e.looking import barriers, faint_texts, overhang, wait_for_pictures, wait_until
from tests.e2e.test_other_pages import record
from tests.report.runs_for_reports import add, requirement_of
from tests.studies.planned import clip_study, glance_experiment, rule_run
from tests.web.test_coverage import MEASURED
from tests.web.test_thresholds import counts

from roadworthy.coverage import FunctionalCoverage
from roadworthy.datasets import load
from roadworthy.runs.evidence.requirement_coverage import functional_document
from roadworthy.web.jobs.worker import work_on

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

RULE = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%."
RUN, STOPS, SPEC = "20261115-120000-aaaa", "20261115-120000-bbbb", "20261115-120000-cccc"
GAP = """exfunction pedestrian(): bb endexfunction
case brake PROJ_y.lower(pedestrian()) < [0, 60] endcase
case watch PROJ_y.lower(pedestrian()) > [0, 60] endcase
"""


def started(out: Path, elsewhere: Path, id: str, **ask: Any) -> None:
    """Carry out a run elsewhere first: the server would begin what waits in its own folder."""
    folder = elsewhere / id
    folder.mkdir(parents=True)
    asked = {"kind": "rules", "data": "world:town", "frames": 16, "models": ["dave2", "epoch"], **ask}
    (folder / "job.json").write_text(json.dumps(asked))
    work_on(folder)
    out.mkdir(exist_ok=True)
    folder.rename(out / id)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Server]:
    del chromium  # without it there is no need to make anything
    home = tmp_path_factory.mktemp("every")
    out = home / "out"
    started(out, home / "elsewhere", RUN, text=RULE, name="R3")
    started(
        out, home / "elsewhere", STOPS, text="If a red light appears, the car must stop.", models=["dave2"]
    )
    objects = {"pedestrian": {"source": "object", "value": ""}}
    spec = {"kind": "bbsl", "text": GAP, "models": ["detector"], "bindings": objects, "classes": "pedestrian"}
    started(out, home / "elsewhere", SPEC, **spec)
    frames = [frame.image for frame in load("world:town", count=12)]
    record(home / "drives" / "meadow")
    rows = [
        (
            f"try-{number}",
            1.0 - number % 9,
            {"transform": "blur"},
            {"coverage": 0.4 + number / 120, "gain": 0.01},
        )
        for number in range(60)
    ]
    add(home / "searched", rows, requirement=requirement_of("C1", "coverage"))
    (home / "searched" / "coverage.json").write_text(json.dumps(MEASURED))
    # Holes of our own domain, which can be clicked.
    tried = functional_document(FunctionalCoverage(), ["none"])
    (home / "searched" / "evidence").mkdir()
    (home / "searched" / "evidence" / "functional_coverage.json").write_text(json.dumps(tried))
    (home / "one.webm").write_bytes((home / "drives" / "meadow" / "drive.webm").read_bytes())
    (home / "nothing").mkdir()
    folders = (
        rule_run(home / "before", passes=11, violations=1, frames=frames),
        rule_run(home / "after", passes=4, violations=8, frames=frames),
        glance_experiment(home / "glances", shown_ms=60, answer_ms=4000),
        clip_study(home / "clips", (home / "one.webm").read_bytes()),
        home / "drives",
        home / "searched",
        counts(home / "people"),
        home / "nothing",
    )
    server = Server(out, folders)
    server.start()
    yield server
    server.stop()


def typed(page: Page) -> None:
    page.fill("#rule-text", RULE)
    page.wait_for_selector("#rule-state.good")
    page.click("#preview")
    page.wait_for_selector(".pair img")


def mistyped(page: Page) -> None:
    page.fill("#rule-text", RULE.replace("pedestrian", "pedestrain"))
    page.wait_for_selector("#rule-state.bad")


def noted(page: Page) -> None:
    page.fill("#rule-text", "If a red light appears, the car must stop.")
    page.wait_for_selector("#rule-reading .state.warn")
    page.get_by_text("Thresholds and seed").click()


def specified(page: Page) -> None:
    page.select_option("#spec-examples", label="With a gap: see what the checks find")
    page.wait_for_selector("#spec-checks .properties")


def built(page: Page) -> None:
    page.wait_for_selector("#suite-state.good")
    page.fill(
        "#suite-text",
        page.input_value("#suite-text").replace("foggy,", "fogy,").replace("pedestrian a", "x a"),
    )
    page.wait_for_selector("#suite-state.bad")


def asked(page: Page) -> None:
    page.wait_for_selector("#suite-state:not(:empty)")
    page.locator(".kind").first.click()
    page.wait_for_selector("#asking .state:not(:empty)")


def opened(page: Page) -> None:
    page.locator(".tile .open").first.click()
    page.wait_for_selector("dialog[open]")
    page.wait_for_selector("dialog .tried button")


def filtered(page: Page) -> None:
    page.wait_for_selector(".tile .case-head")
    if page.locator("#side").get_attribute("open") is None:
        page.locator("#side > summary").click()


def mosaic(page: Page) -> None:
    page.wait_for_selector(".tile")
    page.locator("#size").fill("10")
    page.wait_for_selector(".tile.mini img")


def kinds(page: Page) -> None:
    page.click("#kinds-button")
    page.wait_for_selector(".kind")


def pick_hole(page: Page) -> None:
    page.locator("button.hole").first.click()


def taking(page: Page) -> None:
    page.fill("#rater", "ann")
    page.keyboard.press("Enter")
    page.wait_for_selector("#task:not([hidden])")


Do = Callable[["Page"], None]
PAGES: dict[str, tuple[str, Do | None]] = {
    "write": ("/write", None),
    "write-typed": ("/write", typed),
    "write-mistyped": ("/write", mistyped),
    "write-noted": ("/write", noted),
    "write-bbsl": ("/write?kind=bbsl", None),
    "write-specified": ("/write?kind=bbsl", specified),
    "suites": ("/suites", None),
    "suites-built": ("/suites?hole=weather:foggy;time:night", built),
    "suites-asked": ("/suites", asked),
    "runs": ("/runs", None),
    "run": (f"/runs/{RUN}", None),
    "run-noted": (f"/runs/{STOPS}", None),
    "run-spec": (f"/runs/{SPEC}", None),
    "run-given": ("/runs/after", None),
    "run-none": ("/runs/nothing", None),
    "wall": (f"/look/{RUN}", None),
    "wall-filtered": (f"/look/{RUN}?order=deviating", filtered),
    "wall-mosaic": (f"/look/{RUN}?group=system", mosaic),
    "wall-kinds": (f"/look/{RUN}", kinds),
    "wall-spec": (f"/look/{SPEC}?status=all", None),
    "wall-searched": ("/look/searched", None),
    "case": (f"/look/{RUN}", opened),
    "case-spec": (f"/look/{SPEC}?status=all", opened),
    "compare": ("/compare", None),
    "compared": ("/compare?first=before&second=after", None),
    "compare-refused": ("/compare?first=before&second=searched", None),
    "studies": ("/studies", None),
    "study": ("/studies/clips/itself", None),
    "study-results": ("/studies/clips/itself/results", None),
    "take-clips": ("/studies/clips/itself/take", None),
    "taking-clips": ("/studies/clips/itself/take", taking),
    "take-glances": ("/studies/glances/itself/take", None),
    "drives": ("/drives", None),
    "drive": ("/drives/drives?drive=meadow", None),
    "coverages": ("/coverage", None),
    "coverage": ("/coverage/searched", None),
    "coverage-hole": ("/coverage/searched", pick_hole),
    "coverage-none": ("/coverage/before", None),
    "thresholds": ("/thresholds", None),
    "threshold": ("/thresholds/people?samples=0", None),
    "missing": ("/nowhere", None),
}


@pytest.mark.parametrize("name", PAGES)
def test_it_is_fine_at_all_widths_and_in_both_colours(
    window: Callable[..., Page], picture: Callable[..., None], watch: Any, name: str
) -> None:
    address, do = PAGES[name]
    watch.expected = ("404",)
    for width in (2560, 1280, 390):
        page = window(width, "light")
        page.goto(address)
        if do is not None:
            do(page)
        wait_until(page, lambda page=page: page.locator("#working").count() == 0)  # type: ignore[misc]
        wait_for_pictures(page)
        # Outlines are drawn when there is nothing else to do.
        page.evaluate("new Promise((done) => requestIdleCallback(() => done(), { timeout: 5000 }))")
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            whole = page.locator("dialog[open]").count() == 0 and "wall" not in name
            picture(page, f"page-{name}-{width}-{theme}", whole=whole)
            assert faint_texts(page) == [], (width, theme)
            assert barriers(page) == [], (width, theme)
            assert overhang(page) == 0, (width, theme)
            assert cut_off(page) == [], (width, theme)


def cut_off(page: Page) -> list[str]:
    """Return controls and headings that reach out of the window, where nothing lets one scroll to them."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("button, .button, input, select, textarea, h1, h2, .chip")]
        .filter((one) => one.checkVisibility() && !one.closest(".scroll, .skip, pre, .hint p"))
        .map((one) => [one.getBoundingClientRect(), one.outerHTML.slice(0, 80)])
        .filter(([box]) => box.width && (box.left < -1 || box.right > innerWidth + 1))
        .map(([, text]) => text)"""
    )
    full: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(".tile")]
        .map((one) => [one, one.getBoundingClientRect().bottom])
        .filter(([one, bottom]) => one.lastElementChild?.getBoundingClientRect().bottom > bottom)
        .map(([one]) => one.textContent)"""
    )
    return found + full
