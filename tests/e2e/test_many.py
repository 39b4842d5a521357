"""A run with 20,000 pairs in a real browser: what is drawn, and what is sent, does not grow with it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.e2e.conftest import Server
from tests.e2e.looking import wait_for_pictures, wait_until
from tests.web.many import PAIRS, make_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NODES = 3000  # in the whole page: a wall that drew everything would have 500,000
BYTES = 150_000  # of the first answer, of 60 cases


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Server]:
    del chromium  # without it there is no need to make anything
    folder = tmp_path_factory.mktemp("many")
    make_run(folder / "large")
    server = Server(folder / "out", runs=(folder / "large",))
    server.start()
    yield server
    server.stop()


def tiles(page: Page) -> dict[int, str]:
    """Return the names of the cases that are drawn, by their places on the wall."""
    found: list[tuple[int, str]] = page.evaluate(
        "[...document.querySelectorAll('.tile')].map((tile) => [Number(tile.getAttribute('aria-posinset')),"
        " tile.querySelector('.case-head b')?.textContent ?? ''])"
    )
    return dict(found)


def nodes(page: Page) -> int:
    found: int = page.evaluate("document.querySelectorAll('*').length")
    return found


def shown(page: Page, middle: int, around: int) -> bool:
    """Return whether everything that is drawn is complete, and is what belongs near a place."""
    seen = tiles(page)
    return all(seen.values()) and any(abs(place - middle) <= around for place in seen)


def test_the_first_view_is_small_and_stays_so_while_it_is_scrolled(page: Page) -> None:
    sizes: list[int] = []
    page.on(
        "response", lambda answer: sizes.append(len(answer.body())) if answer.url.endswith("/cases") else None
    )
    page.goto("/look/large?status=all")
    page.wait_for_selector(".tile .case-head")
    wait_for_pictures(page)
    assert page.inner_text("#count") == f"{PAIRS:,} cases"
    assert tiles(page)[1] == "frame-00000"
    wait_until(page, lambda: bool(sizes))
    assert sizes[0] < BYTES
    first, height = nodes(page), page.evaluate("document.documentElement.scrollHeight")
    assert first < NODES
    columns = page.evaluate(
        "new Set([...document.querySelectorAll('.tile')].map((one) => one.getBoundingClientRect().left)).size"
    )
    # Fast and slowly, down and up: always the right cases, never many more of them.
    for share in (0.25, 0.5, 0.501, 0.75, 1.0, 0.1, 0.0):
        page.evaluate("(to) => scrollTo(0, to)", int(share * height))
        middle = round(share * PAIRS)
        wait_until(page, partial(shown, page, middle, 8 * columns))
        # The margins are in the order of the names, so that a place says which case belongs there. A tile
        # that scrolling has only now reached has no name until its lot arrives.
        drawn = {place: name for place, name in tiles(page).items() if name}
        assert drawn == {place: f"frame-{place - 1:05d}" for place in drawn}
        assert drawn
        assert nodes(page) < NODES
    assert abs(nodes(page) - first) < 400
    assert page.evaluate("document.documentElement.scrollHeight") == height


def test_what_one_has_scrolled_past_is_forgotten(page: Page) -> None:
    """The cases of 60 lots are 2 MB, those of the whole wall 11 MB, and of a larger run more."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def held() -> float:
        wait_until(page, lambda: all(tiles(page).values()))
        session.send("HeapProfiler.collectGarbage")
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "JSHeapUsedSize"))

    page.goto("/look/large?status=all")
    page.wait_for_selector(".tile .case-head")

    def scrolled(lots: range) -> float:
        for lot in lots:
            page.evaluate("(to) => scrollTo(0, to)", lot * 20 * 240)
            page.wait_for_timeout(40)
        return held()

    early, late = scrolled(range(1, 31)), scrolled(range(31, 91))
    # On a busy machine some answers are still on their way.
    wait_until(page, lambda: min(late, held()) - early < 1e6)


def test_the_last_one_is_opened_and_the_keyboard_goes_on_from_there(page: Page) -> None:
    page.goto("/look/large?status=all&order=best")
    page.wait_for_selector(".tile .case-head")
    page.locator(".tile .open").first.click()
    page.wait_for_selector("dialog[open]")
    assert page.inner_text("#case-title") == f"frame-{PAIRS - 1:05d}"
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    wait_until(page, lambda: page.inner_text("#case-title") == f"frame-{PAIRS - 4:05d}")
