"""The page Look in a real browser: a failure opened, compared, marked, and found again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.looking import faint_texts, nameless_controls, overhang, wait_for_pictures, wait_until

from roadworthy.web.jobs.worker import work_on

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from tests.e2e.conftest import Server

ASK = """{"kind": "rules", "models": ["dave2", "epoch"], "data": "world:town", "frames": 24, "name": "R3",
"text": "If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%."}"""


@pytest.fixture(scope="module")
def run(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Elsewhere first: the server would begin what waits in its own folder.
    folder = tmp_path_factory.mktemp("elsewhere") / "20261115-120000-aaaa"
    folder.mkdir()
    (folder / "job.json").write_text(ASK)
    work_on(folder)
    return folder.rename(server.out / folder.name)


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_a_failure_is_opened_compared_and_marked(
    window: Callable[..., Page], picture: Callable[..., None], run: Path, width: int, theme: str
) -> None:
    page = window(width, theme)
    page.goto(f"/runs/{run.name}")
    page.get_by_role("link", name="Look at the failures").click()
    page.wait_for_selector(".tile .case-head")
    wait_for_pictures(page)
    # Only what is seen of a wall is drawn.
    large = width > 1000
    picture(page, "web-look" if large else "web-look-390", docs=large, whole=False)
    assert faint_texts(page) == []
    assert nameless_controls(page) == []
    assert overhang(page) == 0
    page.locator(".tile .open").first.click()
    page.wait_for_selector("dialog[open]")
    for way in ("Slider", "Flicker", "Difference", "Side by side"):
        page.get_by_role("button", name=way).click()
        assert page.get_by_role("button", name=way).get_attribute("aria-pressed") == "true"
    wait_for_pictures(page)
    assert faint_texts(page) == []
    assert nameless_controls(page) == []
    picture(page, "web-case" if large else "web-case-390", docs=large, whole=False)
    title = page.inner_text("#case-title")
    page.fill("#note", "<img src=x onerror=window.caught=1>")
    page.get_by_role("button", name="False alarm").click()
    page.wait_for_selector("dialog .marking :text('Stored.')")
    page.keyboard.press("ArrowRight")
    wait_until(page, lambda: page.inner_text("#case-title") != title)
    page.keyboard.press("Escape")
    if not large:
        page.get_by_text("More to choose by").click()
    page.select_option("#mark", "false alarm")
    wait_until(page, lambda: page.inner_text("#count") == "1 failure")
    page.reload()
    page.wait_for_selector(".tile .chip.marked")
    assert title in page.inner_text(".tile")
    assert page.evaluate("window.caught") is None
    page.locator(".tile .open").first.click()
    assert page.input_value("#note") == "<img src=x onerror=window.caught=1>"
    page.get_by_role("button", name="False alarm").click()
    page.wait_for_selector("dialog .marking :text('Stored.')")
    page.fill("#note", "")
    page.get_by_role("button", name="Close").click()


def test_a_failure_is_copied_as_a_test(window: Callable[..., Page], run: Path) -> None:
    page = window()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/look/{run.name}?requirement=R3&system=epoch&case=town-000003")
    page.get_by_role("button", name="Copy as test").click()
    page.wait_for_selector("dialog :text('Copied. Save it as town-000003.suite.yaml')")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "frames:\n    - town-000003" in copied
    # What the test does is tested without a browser; here it is what is shown.
    assert page.text_content("dialog pre") == copied


def test_what_cannot_be_copied_is_marked(window: Callable[..., Page], run: Path) -> None:
    page = window()
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.goto(f"/look/{run.name}?requirement=R3&system=epoch&case=town-000003")
    page.get_by_role("button", name="Copy as test").click()
    page.wait_for_selector("dialog :text('Press Ctrl+C')")
    assert "frames:" in page.evaluate("getSelection().toString()")


def test_an_address_opens_one_case(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?requirement=R3&system=epoch&status=all&case=town-000003")
    page.wait_for_selector("dialog[open]")
    assert page.inner_text("#case-title") == "town-000003"
    assert page.inner_text("dialog .asked").startswith("R3 If a pedestrian appears")
    # One goes on from there, and what is open can be sent to others.
    page.get_by_role("button", name="Next").press("Enter")
    wait_until(page, lambda: page.inner_text("#case-title") != "town-000003")
    title = page.inner_text("#case-title")
    assert page.evaluate("document.activeElement.textContent") == "Next"
    page.goto(page.url)
    wait_until(
        page, lambda: page.locator("#case-title").count() > 0 and page.inner_text("#case-title") == title
    )
    page.goto(f"/look/{run.name}?requirement=R3&system=epoch&status=error&case=town-000003")
    page.wait_for_selector("dialog[open]")
    assert page.get_by_role("button", name="Next").get_attribute("aria-disabled") == "true"


def test_by_keyboard_alone(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?system=epoch")
    page.wait_for_selector(".tile .case-head")
    names = page.locator(".tile .case-head b").all_inner_texts()
    assert len(names) > 4
    page.locator(".tile .open").first.focus()
    page.keyboard.press("Enter")
    for name in names[:4]:
        wait_until(page, lambda name=name: page.inner_text("#case-title") == name)  # type: ignore[misc]
        page.keyboard.press("ArrowRight")
    wait_until(page, lambda: page.inner_text("#case-title") == names[4])
    page.keyboard.press("Escape")
    # Whoever leaves the fifth goes on behind it, not at the top of the page.
    opened = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert opened.startswith(f"Open {names[4]} of R3, epoch, violated, margin −")
    assert "case=" not in page.url
    # The Tab key goes from card to card as they stand, also after one has scrolled down and up again.
    page.keyboard.press("End")
    page.wait_for_timeout(300)
    page.keyboard.press("Home")
    page.wait_for_timeout(300)
    order = "[...document.querySelectorAll('.tile')].map((one) => Number(one.getAttribute('aria-posinset')))"
    places = page.evaluate(order)
    assert places == sorted(places)


def test_cards_name_the_requirement_and_lead_to_the_case(page: Page, run: Path) -> None:
    page.goto(f"/runs/{run.name}")
    page.wait_for_selector("#worst .tile")
    assert page.locator("#worst .tile").count() == 6
    card = page.locator("#worst .tile").first
    assert card.locator(".of").inner_text().startswith("R3 If a pedestrian appears on the roadside")
    margin = card.locator(".numbers").inner_text()
    assert margin.startswith("margin −")
    name = card.locator(".case-head b").inner_text()
    card.locator(".open").click()
    page.wait_for_selector("dialog[open]")
    assert page.inner_text("#case-title") == name
    # The same number in the same form.
    assert page.inner_text("dialog .numbers .value >> nth=0").split("\n")[0].rstrip("?").strip() in margin


def test_a_study_is_drawn_from_the_run_one_comes_from(page: Page, run: Path) -> None:
    page.goto(f"/runs/{run.name}")
    page.get_by_role("link", name="Let people judge its pairs").click()
    page.wait_for_selector("#draw")
    chosen = page.evaluate("document.getElementById('run').selectedOptions[0].dataset.run")
    assert chosen == run.name


def test_two_browsers_see_what_either_marks(window: Callable[..., Page], run: Path) -> None:
    first, second = window(), window()
    for page in (first, second):
        page.goto(f"/look/{run.name}?system=epoch&order=case")
        page.wait_for_selector(".tile .case-head")
    for page, other, mark in ((first, second, "True fault"), (second, first, "Unsure")):
        page.locator(".tile .open").first.click()
        page.fill("#note", f"{mark}, says this one")
        page.get_by_role("button", name=mark).click()
        page.wait_for_selector("dialog .marking :text('Stored.')")
        page.get_by_role("button", name="Close").click()
        # The other one has had its wall open since before.
        other.locator(".tile .open").first.click()
        other.wait_for_selector(f"dialog button[aria-pressed=true]:text('{mark}')")
        assert other.input_value("#note") == f"{mark}, says this one"
        other.get_by_role("button", name="Close").click()
        other.wait_for_selector(".tile .chip.marked")
    assert len((run / "run" / "marks.jsonl").read_text().splitlines()) >= 4


def test_a_failure_is_shrunk(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?status=violated")
    page.locator(".tile .open").first.click()
    page.get_by_role("button", name="Find the least change").click()
    page.wait_for_selector(".least img")
    wait_for_pictures(page)
    assert "margin" in page.inner_text(".least")


def test_failures_are_filtered(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}")
    page.wait_for_selector(".tile .case-head")
    everything = page.inner_text("#count")
    page.select_option("#system", "epoch")
    wait_until(page, lambda: page.inner_text("#count") != everything)
    page.wait_for_selector(".tile .case-head")
    assert set(page.locator(".tile .case-head small").all_inner_texts()) == {"epoch"}
    page.fill("[name=least]", "0.04")
    page.keyboard.press("Enter")
    wait_until(page, lambda: "least=0.04" in page.url)
    page.wait_for_selector(".tile .case-head")
    seen = page.locator(".tile .numbers").all_inner_texts()
    assert seen
    assert all(float(one.partition("Δv ")[2]) >= 0.04 for one in seen)
    page.reload()
    assert page.input_value("[name=least]") == "0.04"
    page.select_option("#status", "error")
    page.wait_for_selector("text=No case is like this")
