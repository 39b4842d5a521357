"""The page Write in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.looking import barriers, faint_texts, overhang, wait_for_pictures, wait_until

from roadworthy.datasets import load
from roadworthy.labelling.chain import Labelling, sources_named
from roadworthy.labelling.writing import write_labels

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from tests.e2e.conftest import Server, Watch

RIGHT = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%."
WRONG = RIGHT.replace("pedestrian", "pedestrain")
Picture = Callable[..., None]
Window = Callable[..., "Page"]


def fits(box: Any, width: int) -> bool:
    return box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width


def test_from_a_mistake_to_what_was_found(page: Page, server: Server, picture: Picture) -> None:
    page.goto("/write")
    page.fill("#rule-text", WRONG)
    page.wait_for_selector("#rule-state.bad")
    assert page.locator("#rule-editor .role-trouble").inner_text() == "pedestrain"
    assert page.get_attribute("#start", "aria-disabled") == "true"
    picture(page, "web-mistake", docs=True)
    page.get_by_role("button", name="pedestrian").click()
    page.wait_for_selector("#rule-state.good")
    assert page.input_value("#rule-text") == RIGHT
    roles = {
        role: "".join(page.locator(f"#rule-editor .role-{role}").all_inner_texts())
        for role in ("condition", "object", "place", "outcome", "quantity")
    }
    assert roles == {
        "condition": "appears",
        "object": "a pedestrian",
        "place": "on the roadside",
        "outcome": "the ego-vehicle should slow down",
        "quantity": "at least 30%",
    }
    assert "the speed should decrease by at least 30%" in page.inner_text("#rule-reading")
    assert "does not predict speed" in page.inner_text("label:has([value=dave2-udacity])")

    page.click("#preview")
    page.wait_for_selector(".pair img")
    assert page.locator(".pair").count() == 4
    wait_for_pictures(page)
    picture(page, "web-write", docs=True)

    page.fill("#frames", "24")
    page.click("#start")
    page.wait_for_selector("#job progress")
    page.wait_for_selector("#job[data-stage=finished]")
    assert "24 of 24 cases" in page.inner_text("#job")
    assert "violations of 24 judged" in page.inner_text("#job")
    page.get_by_role("link", name="See the results").click()
    page.wait_for_selector("#worst .tile")
    wait_for_pictures(page)
    picture(page, "web-run", docs=True)
    for address in (page.url, "/runs"):
        page.goto(address)
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            assert barriers(page) == [], (address, theme)
    (job,) = server.out.glob("*/job.json")
    asked = json.loads(job.read_text())
    assert (asked["text"], asked["models"], asked["frames"]) == (RIGHT, ["dave2"], 24)


def test_each_word_tells_what_it_gave(page: Page, picture: Picture) -> None:
    page.goto("/write")
    page.fill("#rule-text", RIGHT)
    page.wait_for_selector("#rule-state.good")
    told = {}
    for words in ("appears", "on the roadside", "at least"):
        box = page.locator("#rule-editor .paint span", has_text=words).first.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        told[words] = page.get_attribute("#rule-text", "title")
    assert told == {
        "appears": "“appears” gives: add",
        "on the roadside": "“on the roadside” gives: on the sidewalk",
        "at least": "“at least” gives: at least",
    }
    page.mouse.move(5, 5)
    page.click("text=What each word gave")
    assert "“pedestrian” gives: pedestrian" in page.inner_text("#rule-reading")
    picture(page, "web-words")


def test_a_specification_with_a_gap(page: Page, picture: Picture) -> None:
    page.goto("/write?kind=bbsl")
    page.select_option("#spec-examples", label="With a gap: see what the checks find")
    page.wait_for_selector("svg.witness")
    assert "refuted" in page.inner_text(".properties li >> nth=0")
    assert "some input is in no case" in page.inner_text(".witnesses")
    picture(page, "web-bbsl", docs=True)
    text = page.input_value("#spec-text").replace("pedestrian())", "pedestrain())", 1)
    page.fill("#spec-text", text)
    page.wait_for_selector("#spec-state.bad")
    assert page.locator("#spec-editor .role-trouble").first.inner_text() == "pedestrain()"
    page.get_by_role("button", name="pedestrian", exact=True).click()
    page.wait_for_selector("#spec-state.good")
    page.click("#preview")
    page.wait_for_selector(".pair svg", state="attached")
    assert page.locator(".pair").count() == 4


def test_by_keyboard_alone(page: Page) -> None:
    page.goto("/write")
    page.focus("#tab-rules")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-bbsl"
    page.keyboard.press("ArrowLeft")
    page.focus("#rule-text")
    page.keyboard.type(WRONG)
    # What has been read is all of it, not what was there when somebody paused.
    page.wait_for_selector("#form-state:has-text('Fix the marked text')")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "fix"
    page.keyboard.press("Enter")
    page.wait_for_selector("#rule-state.good")
    assert page.evaluate("document.activeElement.id") == "rule-text"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "What is this: formula?"
    page.keyboard.press("Enter")
    assert page.is_visible("#rule-reading .hint p")
    page.keyboard.press("Escape")
    assert page.is_hidden("#rule-reading .hint p")
    page.focus("#rule-text")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".pair")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_can_be_seen_and_fits(
    window: Window, watch: Watch, picture: Picture, width: int, theme: str
) -> None:
    watch.expected = ("404",)
    page = window(width, theme)

    def looked_at(name: str) -> None:
        picture(page, f"web-{name}-{width}-{theme}")
        assert faint_texts(page) == []
        assert barriers(page) == []
        assert overhang(page) == 0

    page.goto("/write")
    page.wait_for_selector("#rule-state:has-text('Say what changes')")
    looked_at("write-empty")
    page.fill("#rule-text", WRONG)
    page.wait_for_selector(".fix")
    looked_at("write-mistake")
    page.click(".fix")
    page.wait_for_selector("#rule-state.good")
    page.click(".more summary")
    page.click("#preview")
    page.wait_for_selector(".pair img")
    wait_for_pictures(page)
    looked_at("write-preview")
    page.click("#tab-bbsl")
    page.select_option("#spec-examples", label="Stop for a vehicle")
    page.wait_for_selector("svg.witness")
    looked_at("write-bbsl")
    for summary in page.locator(".hint summary").all():
        if summary.is_visible():
            summary.click()
            note = summary.locator("xpath=../p")
            wait_until(page, lambda note=note: fits(note.bounding_box(), width))  # type: ignore[misc]
            page.keyboard.press("Escape")
    page.goto("/runs")
    looked_at("runs")
    page.goto("/nowhere")
    looked_at("error")


def test_colours_are_remembered(page: Page) -> None:
    page.goto("/runs")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(background)
    page.click("#theme")
    page.click("#theme")
    assert page.inner_text("#theme") == "Theme: dark"
    dark = page.evaluate(background)
    assert dark != light
    page.goto("/write")
    assert page.evaluate(background) == dark


def test_what_was_typed_is_there_after_a_reload(page: Page) -> None:
    page.goto("/write")
    page.fill("#rule-text", RIGHT)
    page.wait_for_selector("#rule-state.good")
    page.reload()
    page.wait_for_selector("#rule-state.good")
    assert page.input_value("#rule-text") == RIGHT


@pytest.mark.parametrize(
    "evil", ["<img src=x onerror=window.caught=1>", "</script><script>window.caught=1</script>"]
)
def test_script_that_is_typed_is_text(page: Page, evil: str) -> None:
    page.goto("/write")
    page.fill("#rule-text", f"If {evil} appears, slow down.")
    page.wait_for_selector("#rule-state.bad")
    assert page.locator("#rule-editor .paint").inner_text().startswith(f"If {evil}")
    page.click("#tab-bbsl")
    page.fill("#spec-text", f'case "{evil}" true endcase')
    page.wait_for_selector("#spec-state.good, #spec-state.bad")
    assert page.evaluate("window.caught") is None
    assert page.locator("main img").count() == 0


def test_the_last_answer_counts_however_fast_one_types(page: Page) -> None:
    held: list[Any] = []

    def late(route: Any) -> None:
        if "sno" in (route.request.post_data or ""):
            route.continue_()
        else:
            held.append(route)

    page.goto("/write")
    page.wait_for_selector("#rule-state:has-text('Say what changes')")
    page.route("**/write/rule", late)
    page.fill("#rule-text", "If it rains, slow down.")
    wait_until(page, lambda: bool(held))
    page.fill("#rule-text", "If it snows, slow down.")
    page.wait_for_selector("#rule-reading:has-text('snowy')")
    read = json.dumps({"state": "unread", "reason": "rainy"})
    held[0].fulfill(body=read, content_type="application/json")
    page.evaluate("fetch('/static/icon.svg')")  # answered after it
    assert page.locator("#rule-state.good").count() == 1
    assert "rainy" not in page.inner_text("#panel-rules")


def test_what_was_chosen_is_there_again(page: Page) -> None:
    page.goto("/write")
    page.fill("#rule-text", RIGHT)
    for model, checked in (("dave2", False), ("epoch", True), ("chauffeur", True)):
        page.locator(f'[name=model][value="{model}"]').set_checked(checked)
    page.select_option("#data", "world:meadow")
    page.fill("#frames", "17")
    page.get_by_text("Thresholds and seed").click()
    page.fill("#seed", "5")
    page.reload()
    page.wait_for_selector("#rule-state.good")
    chosen = "[...document.querySelectorAll('[name=model]:checked')].map((one) => one.value)"
    assert page.evaluate(chosen) == ["epoch", "chauffeur"]
    values = [page.input_value(one) for one in ("#data", "#frames", "#seed", "#rule-text")]
    assert values == ["world:meadow", "17", "5", RIGHT]


def test_what_functions_of_a_specification_stand_for_is_there_again(page: Page) -> None:
    page.goto("/write?kind=bbsl")
    page.select_option("#spec-examples", label="Stop for a vehicle")
    page.wait_for_selector("#function-stoppingDistance")
    page.fill('[data-function="stoppingDistance"]', "90, 150")
    page.fill("#classes", "truck")
    page.reload()
    page.wait_for_selector("#function-stoppingDistance")
    assert page.input_value('[data-function="stoppingDistance"]') == "90, 150"
    assert page.input_value("#function-vehicle") == "object"
    assert page.input_value("#classes") == "truck"


def test_who_labels_is_chosen_in_an_order_and_is_there_again(
    server: Server, window: Window, picture: Picture
) -> None:
    assert server.labels is not None
    hand = f"folder:{server.labels}/hand"
    labelling = Labelling(sources_named("labels", "street"))
    write_labels(load("world:town", count=4), labelling, server.labels / "hand")
    for width in (1280, 390):
        page = window(width)
        page.goto("/write")
        page.fill("#rule-text", RIGHT)
        page.wait_for_selector("#rule-state.good")
        page.get_by_text("Who labels").click()
        labels = page.locator(".chain[data-what=labels] select")
        assert labels.last.locator("option:checked").inner_text() == "else street, where a change needs it"
        labels.first.select_option(hand)
        labels.last.select_option("street")
        assert labels.count() == 3
        picture(page, f"who-labels-{width}")
        assert overhang(page) == 0
        # Whoever comes first is asked once, and nobody is asked alone.
        labels.first.select_option("street")
        assert [labels.nth(place).input_value() for place in range(labels.count())] == ["street", ""]
        labels.first.select_option("none")
        assert labels.count() == 1
        labels.first.select_option(hand)
        labels.last.select_option("own")
        page.reload()
        page.get_by_text("Who labels").click()
        assert [labels.nth(place).input_value() for place in range(3)] == [hand, "own", ""]
    page.fill("#frames", "4")
    page.wait_for_selector("#rule-state.good")
    page.click("#preview")
    page.wait_for_selector("#previews:has-text('labels are estimated (folder:hand')")


def test_choices_of_another_server_are_left_alone(page: Page) -> None:
    page.goto("/write")
    kept = {"model": ["gone"], "fields": {"data": "gone", "frames": "9"}}
    page.evaluate("(kept) => localStorage.setItem('roadworthy-choices', JSON.stringify(kept))", kept)
    page.reload()
    assert page.locator("[name=model]:checked").count() == 1
    assert (page.input_value("#data"), page.input_value("#frames")) == ("world:town", "9")
    page.evaluate("localStorage.setItem('roadworthy-choices', '{')")
    page.reload()
    page.fill("#rule-text", RIGHT)
    page.wait_for_selector("#rule-state.good")


def test_what_the_words_ask_for_and_is_not_tested_is_told(page: Page) -> None:
    page.goto("/write")
    page.fill("#rule-text", "If a red light appears, the car must stop.")
    page.wait_for_selector("#rule-reading .state.warn")
    assert "tested as slowing down" in page.inner_text("#rule-reading .state.warn")


def test_every_page_can_be_seen_in_the_menu(page: Page) -> None:
    page.goto("/write")
    links = page.locator(".top nav a")
    assert links.count() == 9
    # Nothing of it is cut off and must be scrolled to.
    scrolls = "(one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight"
    for width in (320, 390, 700, 900, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        wait_until(page, lambda width=width: page.evaluate("innerWidth") == width)  # type: ignore[misc]
        assert overhang(page) == 0
        assert all(fits(links.nth(number).bounding_box(), width) for number in range(9))
        assert not page.locator(".top nav").evaluate(scrolls)
