"""The page Look in a real browser: a failure opened, compared, marked, and found again."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.e2e.looking import faint_texts, nameless_controls, overhang, wait_for_pictures, wait_until

from roadworthy.images import read_image
from roadworthy.runs import image_path
from roadworthy.runs.store import StoredRun
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
    marked = page.inner_text("#case")
    page.keyboard.press("ArrowRight")
    wait_until(page, lambda: page.inner_text("#case") != marked)
    page.keyboard.press("Escape")
    if not large:
        page.get_by_text("More filters").click()
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


BOXES = """(scope) => [...document.querySelectorAll(`${scope} .changed rect`)].map((one) =>
    ["x", "y", "width", "height"].map((name) => Number(one.getAttribute(name))))"""


def boxes(page: Page, scope: str) -> list[list[float]]:
    found: list[list[float]] = page.evaluate(BOXES, scope)
    return found


def test_what_was_placed_is_outlined_until_that_is_switched_off(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?requirement=R3&system=epoch&status=all&case=town-000003")
    page.wait_for_selector("dialog .changed rect")
    (row,) = (row for row in StoredRun.open(run / "run").rows("R3", "epoch") if row["case"] == "town-000003")
    before, after = (
        read_image(image_path(run / "run" / "images", one)).astype(int) for one in str(row["images"]).split()
    )
    # Everything that anybody sees of the change lies inside, and little else does.
    rows, columns = np.nonzero((np.abs(before - after) > 8).any(axis=2))
    inside = np.zeros(before.shape[:2], bool)
    found = boxes(page, "dialog figure:last-child")
    assert found == boxes(page, "dialog figure:first-child")
    for x, y, wide, tall in found:
        inside[int(y) : int(y + tall), int(x) : int(x + wide)] = True
    assert inside[rows, columns].all()
    largest = (np.ptp(rows) + 10) * (np.ptp(columns) + 10)
    assert inside.sum() <= largest < 0.3 * inside.size
    for way in ("Slider", "Flicker"):
        page.get_by_role("button", name=way).click()
        page.wait_for_selector(".layers .changed rect")
        assert page.locator(".layers .changed").count() == 1
    page.get_by_role("button", name="Difference").click()
    wait_for_pictures(page)
    assert page.locator("dialog .changed").count() == 0
    page.get_by_role("button", name="Side by side").click()
    page.wait_for_selector("dialog .changed rect")
    page.locator("dialog").get_by_role("button", name="Outline the change").click()
    assert not page.locator("dialog .changed").first.is_visible()
    page.get_by_role("button", name="Close").click()
    page.goto(f"/look/{run.name}")
    switch = page.get_by_role("button", name="Outline the change")
    assert switch.get_attribute("aria-pressed") == "false"
    page.wait_for_selector(".tile .changed rect", state="attached")
    assert not page.locator(".tile .changed").first.is_visible()
    switch.click()
    assert page.locator(".tile .changed").first.is_visible()


def test_a_card_of_a_run_is_outlined_too(page: Page, run: Path) -> None:
    page.goto(f"/runs/{run.name}")
    page.wait_for_selector("#worst .changed rect")
    # Each is drawn when its two pictures have come.
    wait_until(page, lambda: page.locator("#worst .changed").count() == 12)
    for wide, tall in (one[2:] for one in boxes(page, "#worst")):
        assert 0 < wide < 320
        assert 0 < tall < 160


PICTURES = """async ([first, second]) => {
  const { changedBoxes } = await import("/static/change.js");
  const pictures = [first, second].map(({ wide, tall, spots }) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: wide, height: tall });
    const context = canvas.getContext("2d");
    context.fillStyle = "rgb(100 110 120)";
    context.fillRect(0, 0, wide, tall);
    for (const [x, y, w, h, by] of spots) {
      context.fillStyle = `rgb(${100 + by} 110 120)`;
      context.fillRect(x, y, w, h);
    }
    return Object.assign(canvas, { naturalWidth: wide, naturalHeight: tall });
  });
  return changedBoxes(...pictures);
}"""


DIFFERENCES: list[tuple[list[list[int]], object]] = [
    ([], []),
    ([[100, 60, 10, 20, 90]], [[96, 56, 114, 84]]),
    # At the edge, and two of them.
    ([[0, 0, 4, 4, 90], [200, 100, 20, 10, 40]], [[0, 0, 8, 8], [196, 96, 224, 114]]),
    # What nobody sees counts where there is nothing else.
    ([[100, 60, 10, 20, 3]], [[96, 56, 114, 84]]),
    ([[10, 10, 300, 140, 3], [100, 60, 10, 20, 90]], [[96, 56, 114, 84]]),
    # Many things have one outline, and most of a picture has none.
    ([[20 * n, 10, 2, 2, 90] for n in range(9)], [[0, 6, 166, 16]]),
    ([[0, 0, 320, 90, 90]], None),
    ([[7 * x, 9 * y, 2, 2, 90] for x in range(46) for y in range(18)], None),
]


def test_where_two_pictures_differ(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}")
    size = {"wide": 320, "tall": 160}
    for spots, expected in DIFFERENCES:
        found = page.evaluate(PICTURES, [{**size, "spots": []}, {**size, "spots": spots}])
        assert (sorted(found) if found else found) == expected, spots
    # Of a large picture the outline is in its own pixels; it is compared at a quarter of the size.
    size = {"wide": 1920, "tall": 960}
    spot = [1000, 400, 80, 160, 90]
    (found,) = page.evaluate(PICTURES, [{**size, "spots": []}, {**size, "spots": [spot]}])
    assert found == pytest.approx([984, 384, 1096, 576], abs=8)


def test_failures_are_sorted_by_how_much_the_answer_changed(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?system=epoch")
    page.wait_for_selector(".tile .answer-line")
    for order, worst in (("deviating", True), ("steady", False)):
        page.select_option("#order", order)
        wait_until(page, lambda order=order: f"order={order}" in page.url)  # type: ignore[misc]
        page.wait_for_selector(".tile .answer-line")
        told = page.locator(".tile .answer-line").all_inner_texts()
        by = [
            abs(float(re.findall(r"\(([+−±][\d.]+)\)", one)[0].translate({8722: "-", 177: "+"})))
            for one in told
        ]
        assert by == sorted(by, reverse=worst)
        assert len(set(by)) > 3


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
    fifth = f"Open {names[4]} of R3, epoch, violated, margin −"
    # The browser gives the focus back to the first; that the dialog was closed is told a moment later.
    wait_until(page, lambda: page.evaluate("document.activeElement.ariaLabel ?? ''").startswith(fifth))
    assert "case=" not in page.url
    # The Tab key goes from card to card as they stand, also after one has scrolled down and up again.
    order = "[...document.querySelectorAll('.tile')].map((one) => Number(one.getAttribute('aria-posinset')))"
    total = int(page.inner_text("#count").split()[0])
    for key, end, place in (("End", -1, total), ("Home", 0, 1)):
        page.keyboard.press(key)
        wait_until(page, lambda end=end, place=place: page.evaluate(order)[end] == place)  # type: ignore[misc]
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


def test_a_mark_that_is_stored_late_is_told_late_and_on_its_own_card(page: Page, run: Path) -> None:
    held: list[Any] = []
    page.goto(f"/look/{run.name}?system=dave2&status=all&order=case")
    page.wait_for_selector(".tile .case-head")
    names = page.locator(".tile .case-head b").all_inner_texts()
    page.route("**/marks", lambda route: held.append(route))
    page.locator(".tile .open").first.click()
    # A click on a mark leaves the note, which is stored first.
    page.fill("#note", "late")
    page.get_by_role("button", name="Unsure").click()
    wait_until(page, lambda: len(held) == 1)
    held[0].continue_()
    wait_until(page, lambda: len(held) == 2)
    assert page.locator("dialog .marking :text('Stored.')").count() == 0
    page.keyboard.press("ArrowRight")
    wait_until(page, lambda: page.inner_text("#case-title") == names[1])
    held[1].continue_()
    page.wait_for_selector(".tile .chip.marked")
    assert page.locator(".tile .case-head b").all_inner_texts() == names
    assert "unsure" in page.inner_text(".tile >> nth=0")


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
    page.wait_for_selector("text=No case matches these filters")
