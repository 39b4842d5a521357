"""The page Look in a real browser: a failure opened, compared, marked, and found again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.e2e.looking import barriers, faint_texts, overhang, wait_for_pictures, wait_until

from roadworthy.images import read_image
from roadworthy.report.kinds import told_kinds
from roadworthy.runs.store import StoredRun
from roadworthy.runs.store.writing import image_path
from roadworthy.web.jobs.worker import work_on
from roadworthy.web.wall import CaseMark, add_marks, read_marks

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
    assert barriers(page) == []
    assert overhang(page) == 0
    page.locator(".tile .open").first.click()
    page.wait_for_selector("dialog[open]")
    for way in ("Slider", "Flicker", "Difference", "Side by side"):
        page.get_by_role("button", name=way).click()
        assert page.get_by_role("button", name=way).get_attribute("aria-pressed") == "true"
    if large:
        page.wait_for_selector(".least .step.violated")
    wait_for_pictures(page)
    assert faint_texts(page) == []
    assert barriers(page) == []
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
        page.locator("#side > summary").click()
    page.check("[data-facet=mark] [value='false alarm']")
    wait_until(page, lambda: page.inner_text("#count") == "1 violation")
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


def test_a_wall_in_groups_and_one_without_cases_have_no_barrier(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?group=system&status=all")
    page.wait_for_selector(".section-head h2")
    assert barriers(page) == []
    page.fill("#q", "nothing-is-called-so")
    page.wait_for_selector(".empty")
    assert barriers(page) == []


def test_speeds_are_shown_in_the_unit_that_was_chosen(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?margin:m/s=-9..0")
    page.wait_for_selector(".tile .numbers")
    before, count = page.inner_text(".tile .numbers >> nth=0"), page.inner_text("#count")
    (margin,) = re.findall(r"margin (−[\d.]+) m/s", before)
    page.click("#unit")
    page.wait_for_selector(".tile .numbers:has-text('km/h')")
    (changed,) = re.findall(r"margin (−[\d.]+) km/h", page.inner_text(".tile .numbers >> nth=0"))
    assert float(changed[1:]) == pytest.approx(3.6 * float(margin[1:]), abs=0.02)
    # Filters stay what they were, and searches are about what is seen.
    assert page.inner_text("#count") == count
    assert float(page.input_value("[name='margin:m/s.from']")) == pytest.approx(-32.4)
    assert "Margin, km/h" in page.inner_text("#filters")
    page.fill("#q", f"margin<{float(changed[1:]) * -1 + 0.1:.2f}")
    wait_until(page, lambda: "unit=km" in page.url)
    assert int(page.inner_text("#count").split()[0]) >= 1
    shared = page.url
    page.fill("#q", "")
    wait_until(page, lambda: "q=" not in page.url)
    page.click("#unit")
    page.wait_for_selector(".tile .numbers:has-text(' m/s')")
    # Who follows the address sees the same numbers, whatever unit is theirs.
    page.goto(shared)
    page.wait_for_selector(".tile .numbers:has-text('km/h')")
    page.goto("/runs")
    assert page.inner_text("#unit-now") == "m/s"


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

    def deviations() -> list[float]:
        told = page.locator(".tile .answer-line").all_inner_texts()
        found = (re.findall(r"\(([+−±][\d.]+)\)", one)[0] for one in told)
        return [abs(float(one.translate({8722: "-", 177: "+"}))) for one in found]

    def is_sorted(worst: bool) -> bool:
        found = deviations()
        return found == sorted(found, reverse=worst) and len(set(found)) > 3

    for order, worst in (("deviating", True), ("steady", False)):
        page.select_option("#order", order)
        wait_until(page, lambda order=order: f"order={order}" in page.url)  # type: ignore[misc]
        wait_until(page, lambda worst=worst: is_sorted(worst))  # type: ignore[misc]


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


def test_the_least_change_is_found_meanwhile_and_shown_as_a_film(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?status=violated&requirement=R3&system=epoch")
    page.locator(".tile .open").first.click()
    page.wait_for_selector(".least .step.violated")
    steps = page.locator(".least .step")
    assert steps.first.inner_text().split() == ["0", "unchanged"]
    amounts = [float(one or 0) for one in steps.evaluate_all("all => all.map((one) => one.dataset.amount)")]
    assert amounts == sorted(amounts)
    assert (amounts[0], amounts[-1]) == (0, 1)
    # A step takes the place of the whole change, and the first one gives it back.
    whole = page.locator("dialog figure img").last.get_attribute("src")
    page.locator(".least .step.violated").first.click()
    wait_until(page, lambda: page.locator("dialog figure img").last.get_attribute("src") != whole)
    assert "% of the change" in page.locator("dialog figcaption").last.inner_text()
    wait_for_pictures(page)
    assert faint_texts(page) == []
    steps.first.click()
    wait_until(page, lambda: page.locator("dialog figure img").last.get_attribute("src") == whole)


def test_a_case_shows_what_was_answered_and_where_it_stands(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?requirement=R3&system=epoch&case=town-000003&way=slider&draw=answers,labels")
    page.wait_for_selector(".layers .hud rect.after", state="attached")
    # The address says how to compare and what to draw; keys change it, and the address follows.
    page.wait_for_selector(".stage .layer.labels")
    page.wait_for_selector(".stage :text('Estimated by the street network')")
    assert page.locator(".label-key").count() > 2
    page.keyboard.press("e")
    page.wait_for_selector(".stage .layer.depth")
    page.keyboard.press("e")
    page.keyboard.press("v")
    wait_until(page, lambda: "draw=&" in f"{page.url}&")
    assert page.locator(".hud").count() == 0
    page.keyboard.press("v")
    page.keyboard.press("b")
    wait_until(page, lambda: "way=" not in page.url and "draw=" not in page.url)
    told = page.get_attribute(".standing [role=img]", "aria-label") or ""
    below, of = re.search(r"(\d+|worst) of (?:all )?(\d+)", told.replace("The worst", "worst")).groups()  # type: ignore[union-attr]
    rows = [row for row in StoredRun.open(run / "run").rows("R3", "epoch") if row["margin"] is not None]
    own = next(float(str(row["margin"])) for row in rows if row["case"] == "town-000003")
    worse = sum(float(str(row["margin"])) < own for row in rows)
    assert (below, int(of)) == (str(worse) if worse else "worst", len(rows))
    page.wait_for_selector(".standing canvas")
    assert "town-000003" in page.inner_text(".facts")
    page.keyboard.press("3")
    page.wait_for_selector("dialog .marking :text('Stored.')")
    page.keyboard.press("0")
    wait_until(page, lambda: page.locator("dialog .marking [aria-pressed=true]").count() == 0)


def test_what_a_model_looks_at_lies_over_the_pictures(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?requirement=R3&system=epoch&case=town-000003&draw=answers,attention")
    page.wait_for_selector(".stage :text-matches('Bright: the speed changes by up to [0-9.]+ m/s')")
    assert page.locator(".stage .layer.attention").count() == 2
    assert barriers(page) == []
    page.keyboard.press("d")
    wait_until(page, lambda: page.locator(".stage .layer").count() == 0)
    page.keyboard.press("b")
    page.wait_for_selector(".stage .layer.attention")
    page.keyboard.press("a")
    wait_until(page, lambda: "attention" not in page.url)
    assert page.locator(".stage .layer").count() == 0


SEEN = """() => { const { scale, left, top } = document.querySelector(".stage").style.cssText
    .match(/--scale: (?<scale>[^;]+); --left: (?<left>[^;]+); --top: (?<top>[^;]+)/).groups;
    return [scale, left, top].map(Number); }"""


def test_one_looks_closer_at_both_pictures_at_once(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?requirement=R3&system=epoch&status=all&case=town-000003")
    page.wait_for_selector("dialog[open] .changed rect")
    wide, tall = page.evaluate(
        "(one => [one.naturalWidth, one.naturalHeight])(document.querySelector('.stage img'))"
    )
    (x, y, width, height), *_ = boxes(page, "dialog figure:last-child")
    # What changed comes nearer, in each picture.
    page.keyboard.press("+")
    scale, left, top = page.evaluate(SEEN)
    assert scale > 1
    assert left <= (x + width / 2) / wide <= left + 1 / scale
    assert top <= (y + height / 2) / tall <= top + 1 / scale
    widths = page.evaluate(
        "[...document.querySelectorAll('.stage img')].map(one => one.getBoundingClientRect().width)"
    )
    frames = page.evaluate("[...document.querySelectorAll('.stage .boxed')].map(one => one.clientWidth)")
    assert widths == pytest.approx([scale * one for one in frames], rel=0.01)
    # What lies under the pointer stays there.
    box = page.locator(".stage .boxed").last.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 0.5 * box["height"])
    under = left + 0.25 / scale
    page.mouse.wheel(0, -100)
    wait_until(page, lambda: page.evaluate(SEEN)[0] > scale)
    closer, moved, _ = page.evaluate(SEEN)
    assert moved + 0.25 / closer == pytest.approx(under, abs=0.01)
    # It is drawn to another place, and is whole again in the next case.
    page.mouse.down()
    page.mouse.move(box["x"] + 0.35 * box["width"], box["y"] + 0.5 * box["height"], steps=3)
    page.mouse.up()
    wait_until(page, lambda: page.evaluate(SEEN)[1] == pytest.approx(max(0, moved - 0.1 / closer), abs=0.01))
    page.keyboard.press("ArrowRight")
    wait_until(page, lambda: page.evaluate(SEEN)[0] == 1)


def test_one_goes_on_by_likeness_and_back(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?system=epoch")
    page.locator(".tile .open").first.click()
    first = page.inner_text("#case-title")
    page.keyboard.press("n")
    wait_until(page, lambda: page.inner_text("#case-title") != first)
    page.wait_for_selector(".alike .step img[src]")
    second = page.inner_text("#case-title")
    page.keyboard.press("n")
    wait_until(page, lambda: page.inner_text("#case-title") not in (first, second))
    page.keyboard.press("p")
    wait_until(page, lambda: page.inner_text("#case-title") == second)
    page.keyboard.press("p")
    wait_until(page, lambda: page.inner_text("#case-title") == first)


def test_failures_are_filtered(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}")
    page.wait_for_selector(".tile .case-head")
    everything = page.inner_text("#count")
    page.check("[data-facet=system] [value=epoch]")
    wait_until(page, lambda: page.inner_text("#count") != everything)
    wait_until(page, lambda: set(page.locator(".tile .case-head small").all_inner_texts()) == {"epoch"})
    page.fill("[name='visual_change.from']", "0.04")
    page.keyboard.press("Enter")
    wait_until(page, lambda: "visual_change=0.04.." in page.url)
    page.wait_for_selector(".tile .case-head")
    wait_until(page, lambda: all(seen(page)) and min(seen(page)) >= 0.04)
    page.reload()
    page.wait_for_selector(".tile .case-head")
    assert page.input_value("[name='visual_change.from']") == "0.04"
    assert page.is_checked("[data-facet=system] [value=epoch]")
    page.fill("#q", "nowhere")
    page.wait_for_selector("text=No case matches these filters")
    page.fill("#q", "margin<<1")
    page.wait_for_selector("text=Not understood: margin<<1")
    page.get_by_role("button", name="Clear filters").first.click()
    wait_until(page, lambda: page.inner_text("#count") == everything)


def seen(page: Page) -> list[float]:
    return [float(one.partition("Δv ")[2]) for one in page.locator(".tile .numbers").all_inner_texts()]


def test_a_histogram_is_brushed_and_a_click_takes_it_back(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?status=all")
    page.wait_for_selector(".tile .case-head")
    everything = page.inner_text("#count")
    bars = page.locator("[data-measure=visual_change] .u-over")
    bars.scroll_into_view_if_needed()
    box = bars.bounding_box()
    assert box is not None
    left, middle = box["x"], box["y"] + box["height"] / 2
    page.mouse.move(left + 0.5 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(left + 0.9 * box["width"], middle, steps=5)
    page.mouse.up()
    wait_until(page, lambda: "visual_change=" in page.url)
    low, high = (float(one) for one in page.url.partition("visual_change=")[2].split("&")[0].split(".."))
    assert 0 < low < high
    assert page.inner_text("#count") != everything
    wait_until(page, lambda: all(low <= one <= high + 0.005 for one in seen(page)))
    bars.scroll_into_view_if_needed()
    box = bars.bounding_box()  # lists above it have become shorter
    assert box is not None
    page.mouse.click(box["x"] + 0.2 * box["width"], box["y"] + box["height"] / 2)
    wait_until(page, lambda: page.inner_text("#count") == everything)


def test_many_are_marked_at_once_and_that_is_undone(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?system=epoch&order=case")
    page.wait_for_selector(".tile .case-head")
    before = (run / "run" / "marks.jsonl").read_text() if (run / "run" / "marks.jsonl").is_file() else ""
    page.locator(".tile .open").first.focus()
    page.keyboard.press("Shift+ArrowRight")
    wait_until(page, lambda: page.locator(".tile.chosen").count() == 2)
    focused = "document.activeElement.closest('.tile')?.getAttribute('aria-posinset')"
    wait_until(page, lambda: page.evaluate(focused) == "2")
    page.keyboard.press("Shift+ArrowRight")
    wait_until(page, lambda: page.locator(".tile.chosen").count() == 3)
    page.locator("#selected").get_by_role("button", name="False alarm").click()
    page.wait_for_selector("#selected :text('3 marked: false alarm.')")
    assert page.locator(".tile .chip.marked:text('false alarm')").count() == 3
    lines = (run / "run" / "marks.jsonl").read_text().removeprefix(before).splitlines()
    assert [json.loads(one)["mark"] for one in lines] == ["false alarm"] * 3
    page.locator("#selected").get_by_role("button", name="Undo").click()
    page.wait_for_selector("#selected :text('Undone.')")
    assert page.locator(".tile .chip.marked:text('false alarm')").count() == 0
    # What somebody else wrote meanwhile stays: this wall has been open since before.
    name = page.locator(".tile .case-head b").first.inner_text()
    add_marks(run / "run", [CaseMark("R3", "epoch", name, "", "glare", "ann")])
    page.locator(".tile .open").first.focus()
    page.keyboard.press("3")
    page.wait_for_selector("#selected :text('1 marked: unsure.')")
    found = read_marks(run / "run")["R3", "epoch", name]
    assert (found.mark, found.note) == ("unsure", "glare")
    add_marks(run / "run", [CaseMark("R3", "epoch", name, "")])


def test_the_wall_is_a_mosaic_or_a_few_large_pairs(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?system=epoch")
    page.wait_for_selector(".tile .case-head")
    page.locator("#size").fill("5")
    page.wait_for_selector(".tile.mini img")
    assert page.evaluate("document.querySelector('.tile.mini').clientWidth") < 100
    assert overhang(page) == 0
    after = page.locator(".tile.mini img").first.get_attribute("src")
    page.locator(".tile.mini").first.hover()
    wait_until(page, lambda: page.locator(".tile.mini img").first.get_attribute("src") != after)
    page.mouse.move(0, 0)
    wait_until(page, lambda: page.locator(".tile.mini img").first.get_attribute("src") == after)
    page.locator("#size").fill("100")
    page.wait_for_selector(".tile .case-head")
    wide = page.evaluate(
        "document.querySelector('.tile').clientWidth / document.getElementById('wall').clientWidth"
    )
    assert wide > 0.9


def test_what_is_looked_at_stays_where_it_is_when_the_size_changes(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?status=all&order=case")
    page.wait_for_selector(".tile .case-head")
    page.locator("#size").fill("60")
    page.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
    page.wait_for_timeout(100)
    middle = "document.elementFromPoint(innerWidth / 2, innerHeight / 2).closest('.tile')?.dataset.row"
    wait_until(page, lambda: page.evaluate(middle) is not None)
    row = page.evaluate(middle)
    for _ in range(4):
        page.mouse.move(640, 450)
        page.keyboard.down("Control")
        page.mouse.wheel(0, 100)
        page.keyboard.up("Control")
    wait_until(page, lambda: page.input_value("#size") == "40")
    seen = f"document.querySelector('.tile[data-row=\"{row}\"]')?.getBoundingClientRect()"
    wait_until(page, lambda: bool(page.evaluate(f"({seen})?.top < 450 && ({seen})?.bottom > 450")))


def test_failures_of_a_kind_are_found_and_shown(page: Page, run: Path, picture: Callable[..., None]) -> None:
    page.goto(f"/look/{run.name}")
    page.wait_for_selector(".tile .case-head")
    everything = int(page.inner_text("#count").split()[0])
    page.click("#kinds-button")
    page.wait_for_selector(".kind")
    wait_for_pictures(page)
    picture(page, "web-kinds", docs=True, whole=False)
    assert faint_texts(page) == []
    assert barriers(page) == []
    sentences = page.locator(".kind b").all_inner_texts()
    # Reports name the kinds alike.
    told = [
        f"{one.held if not one.words.startswith('all of') else one.size} of {one.size}: {one.words}"
        for one in told_kinds(StoredRun.open(run / "run"))
    ]
    assert sorted(sentences) == sorted(told)
    sizes = [int(one.split(" of ")[1].split(":")[0]) for one in sentences]
    assert sum(sizes) == everything
    assert all(re.search(r"\d+ of \d+", one) for one in page.locator(".kind .small").all_inner_texts())
    page.locator(".kind").first.get_by_role("button", name="Show").click()
    wait_until(page, lambda: page.inner_text("#count").startswith(f"{sizes[0]} "))
    # It is in the address, which can be sent.
    page.goto(page.url)
    wait_until(page, lambda: page.inner_text("#count").startswith(f"{sizes[0]} "))
    page.get_by_role("button", name="All kinds").click()
    page.get_by_role("button", name="Group the wall").click()
    page.wait_for_selector(".section-head")
    assert page.locator(".section-head h2").first.inner_text().startswith("kind 1: ")
    # What is lassoed is selected.
    box = page.locator(".kinds canvas").bounding_box()
    assert box is not None
    corners = [(0.01, 0.01), (0.99, 0.01), (0.99, 0.99), (0.01, 0.99)]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=3)
    page.mouse.up()
    page.wait_for_selector(f"#selected :text('{everything} selected')")


def test_kinds_follow_the_filters_and_one_becomes_a_requirement(page: Page, run: Path) -> None:
    page.goto(f"/look/{run.name}?system=epoch")
    page.wait_for_selector(".tile .case-head")
    shown = int(page.inner_text("#count").split()[0])
    # Whoever groups by what is not found yet lets it be found.
    page.select_option("#group", "kind")
    page.wait_for_selector(".section-head")
    sizes = [int(one.split(" of ")[1].split(":")[0]) for one in page.locator(".kind b").all_inner_texts()]
    assert sum(sizes) == shown
    assert not any("epoch" in one for one in page.locator(".kind b").all_inner_texts())
    page.locator(".kind").first.get_by_role("button", name="Requirement").click()
    page.wait_for_url("**/suites?made")
    page.wait_for_selector("#suite-state:has-text('Understood: ')")
    assert "defaults: {accept: 5%}" in page.input_value("#suite-text")
