"""Suites, and models and data of one's own, in a real browser."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import pytest
from tests.e2e.conftest import Server
from tests.e2e.looking import barriers, faint_texts, overhang, wait_for_pictures

from roadworthy.coverage import FunctionalCoverage
from roadworthy.datasets import load
from roadworthy.models.zoo.saved import weights_folder
from roadworthy.runs.evidence.requirement_coverage import functional_document

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NIGHT = "If the driving time changes into night, then the ego-vehicle should slow down."
Picture = Callable[..., None]
Window = Callable[..., "Page"]


def film(path: Path, frames: int) -> Path:
    """Write what a camera saw on roads of the built-in world, under clouds."""
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), 10, (320, 160))
    for frame in load("world", count=frames, sequence=60, weather="cloudy", seed=3):
        writer.write(cv2.cvtColor(frame.image, cv2.COLOR_RGB2BGR))
    writer.release()
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Server]:
    del chromium
    home = tmp_path_factory.mktemp("suites")
    (home / "night" / "evidence").mkdir(parents=True)
    coverage = FunctionalCoverage()
    data = load("world", count=24)
    coverage.update(data)
    document = functional_document(coverage, [data.name])
    (home / "night" / "evidence" / "functional_coverage.json").write_text(json.dumps(document))
    (home / "recordings").mkdir()
    film(home / "recordings" / "dash.mp4", 20)
    (home / "recordings" / "mine.onnx").write_bytes((weights_folder() / "dave2.onnx").read_bytes())
    server = Server(home / "out", (home / "night",), under=home / "recordings")
    server.start()
    yield server
    server.stop()


def state(page: Page, kind: str, words: str = "") -> None:
    page.wait_for_selector(f"#suite-state.{kind}:has-text({json.dumps(words)})")


def fine(page: Page) -> None:
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert faint_texts(page) == []
    page.emulate_media(color_scheme="light")
    assert barriers(page) == []
    assert overhang(page) == 0


def test_a_suite_is_built_by_clicking_corrected_and_run(window: Window, picture: Picture) -> None:
    page = window()
    page.goto("/suites")
    page.wait_for_selector("#suite-state:has-text('Choose models and data')")
    page.get_by_role("button", name="dave2", exact=True).click()
    page.get_by_role("button", name="world:town").click()
    page.fill("#sample", "6")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Rule If this").click()
    page.fill("#ask-text", NIGHT.replace("night", "nihgt"))
    page.click("#asking .fix")
    page.wait_for_selector("#asking .state.good")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("button", name="Reliability What").click()
    page.get_by_role("button", name="Add", exact=True).click()
    state(page, "good", "2 requirements, 1 model")
    text = page.input_value("#suite-text")
    assert text.startswith("models: [dave2]\ndata: {town: {data: world:town, sample: 6}}\nrequirements:\n")
    # By hand, with a slip.
    page.fill("#suite-text", text.replace("reliability: brightness", "reliability: brihgtness"))
    state(page, "bad", "did you mean 'brightness'")
    assert page.locator("#suite-editor .role-trouble").inner_text() == "brihgtness"
    assert "brihgtness" in page.inner_text(".entry.wrong")
    assert page.get_attribute("#start", "aria-disabled") == "true"
    fine(page)
    page.click("#suite-state .fix")
    state(page, "good")
    assert page.input_value("#suite-text") == text
    page.get_by_role("button", name="Remove brightness").click()
    state(page, "good", "1 requirement, 1 model")
    page.click("#start")
    # The home follows it.
    home = window(390)
    home.goto("/runs")
    home.wait_for_selector("#started .run-card[data-stage=finished] .chip.passed")
    fine(home)
    assert "6 cases" in home.inner_text("#started")
    page.wait_for_selector("#job[data-stage=finished]")
    home.get_by_role("link", name="Edit as a suite").first.click()
    state(home, "good")
    assert NIGHT in home.input_value("#suite-text")
    fine(home)


def test_a_hole_of_the_operating_domain_leads_to_tests(page: Page, picture: Picture) -> None:
    page.goto("/coverage/night")
    page.locator('[aria-label="weather × time"]').get_by_role("button", name="foggy, night: no frame").click()
    picture(page, "web-holes", docs=True, whole=False)
    fine(page)
    page.get_by_role("link", name="Make tests for this hole").click()
    state(page, "good", "2 requirements")
    assert "options: {weather: foggy, time: night}" in page.input_value("#suite-text")
    page.go_back()
    page.locator('[aria-label="speed × steering"]').locator("button.hole").first.click()
    assert "cannot be made" in page.inner_text(".picked")


def test_a_network_is_dropped_and_a_film_chosen(page: Page, server: Server, picture: Picture) -> None:
    page.goto("/runs")
    page.set_input_files("#drop input", [str(server.under / "mine.onnx")])  # type: ignore[operator]
    form = page.locator("[data-name=mine] form")
    assert form.get_by_label("Its numbers, in their order").input_value() == "steering, speed"
    fine(page)
    page.click("#add-path")
    page.get_by_role("button", name="recordings /").click()
    page.get_by_role("button", name="dash.mp4").click()
    page.wait_for_selector("[data-name=dash] img")
    wait_for_pictures(page)
    picture(page, "web-adding", docs=True)
    page.locator("[data-name=dash]").get_by_role("link", name="Test it").click()
    state(page, "good", "4 requirements, 1 model")
    assert "dash.mp4, sample: 60" in page.input_value("#suite-text")


@pytest.mark.slow
def test_from_a_film_and_a_network_to_kinds_of_failures(
    page: Page, server: Server, tmp_path: Path, picture: Picture
) -> None:
    """What docs/web.md tells step by step, within two minutes."""
    drive = film(tmp_path / "drive.mp4", 180)
    network = tmp_path / "ours.onnx"
    network.write_bytes((weights_folder() / "dave2.onnx").read_bytes())
    began = time.monotonic()
    page.goto("/runs")
    page.set_input_files("#drop input", [str(drive), str(network)])
    form = page.locator("[data-name=ours] form")
    form.get_by_label("Colours").select_option("yuv")
    form.get_by_label("Black and white become").fill("-1, 1")
    form.get_by_label("Cut off above and below").fill("0.3375, 0")
    form.get_by_role("button", name="Try it").click()
    page.wait_for_selector("[data-name=ours] img")
    page.locator("[data-name=ours]").get_by_role("link", name="Test it").click()
    state(page, "good")
    page.click("#start")
    page.wait_for_selector("#job[data-stage=running]")
    picture(page, "web-suite", docs=True)
    page.wait_for_selector("#job[data-stage=finished]", timeout=180_000)
    page.get_by_role("link", name="See the results").click()
    page.get_by_role("link", name="Look at the failures").click()
    page.wait_for_selector(".tile .case-head")
    page.click("#kinds-button")
    page.wait_for_selector(".kind >> nth=2")
    wait_for_pictures(page)
    picture(page, "web-film-kinds", docs=True, whole=False)
    assert time.monotonic() - began < 120
