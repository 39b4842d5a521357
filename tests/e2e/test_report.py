"""The report of a run in a real browser: one file that asks for nothing, on a screen, a phone and paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.looking import barriers
from typer.testing import CliRunner

from roadworthy.cli import app

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SUITE = """
suite: Two networks in town
models: [dave2, epoch]
data: {town: {data: world:town, sample: 24}}
defaults: {accept: 20%}
requirements:
  walker:
    rule: If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%.
    severity: critical
    tags: [urban, "ISO 21448:2022 clause 7"]
  night: If the driving time changes into night, then the ego-vehicle should slow down.
  fog: If it becomes foggy, then the ego-vehicle should slow down.
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    suite = folder / "town.suite.yaml"
    suite.write_text(SUITE)
    out = folder / "run"
    done = CliRunner().invoke(app, ["run", str(suite), "--out", str(out), "--executor", "serial"])
    assert done.exit_code == 1, done.output
    return out / "report.html"


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_the_report_asks_for_nothing_and_fits(
    chromium: Browser, report: Path, picture: Callable[..., None], width: int, theme: str
) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 1000}, color_scheme=theme)  # type: ignore[arg-type]
    page = context.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(report.as_uri())
    assert page.title() == "Two networks in town: violated – Roadworthy"
    assert [one for one in asked if not one.startswith(("file:", "data:"))] == []
    assert complaints == []
    # Nothing is wider than the window, tables scroll inside themselves.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for way in ("light", "dark"):
        page.emulate_media(color_scheme=way)
        assert barriers(page) == []
    # The failures' kinds come before the tables; speeds are in the unit that the reader chooses.
    assert page.locator("#kinds .kind").count() >= 2
    assert page.locator("#kinds, #results").first.get_attribute("id") == "kinds"
    speed = page.locator("#kinds dd:has(.kmh)").first
    assert "m/s" in speed.inner_text()
    page.get_by_label("km/h").check()
    assert "m/s" not in speed.inner_text()
    assert "km/h" in speed.inner_text()
    # On paper: no controls, dark text on white.
    page.emulate_media(media="print")
    assert not page.locator(".units").is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 39)"
    page.emulate_media(media="screen")
    page.get_by_label("m/s").check()
    broken = "[...document.images].filter(one => one.complete && !one.naturalWidth).length"
    assert page.evaluate(broken) == 0
    picture(page, "report" if width == 1280 else f"report-{width}", docs=width == 1280, whole=False)
    context.close()
