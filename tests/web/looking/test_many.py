"""A wall of 20,000 pairs, without a browser: what is asked for bounds what is sent."""

from __future__ import annotations

import pytest
from tests.web.client import Browser, Client
from tests.web.many import PAIRS, make_run

from roadworthy.web.app import create_app
from roadworthy.web.settings import ServerSettings


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    folder = tmp_path_factory.mktemp("many")
    make_run(folder / "large")
    return Browser(Client(create_app(ServerSettings(folder / "out", (folder / "large",)))))


def test_the_page_does_not_grow_with_the_run(browser: Browser) -> None:
    page = browser.page("/look/large")
    assert len(page.body) < 12_000
    answer = browser.get("/look/large/cases?limit=60")
    assert answer.json()["total"] == PAIRS // 2
    assert len(answer.body) < 60 * 1500


@pytest.mark.parametrize("offset", [0, 59, 9_999, PAIRS - 60, PAIRS - 1, PAIRS])
def test_any_window_has_the_right_cases(browser: Browser, offset: int) -> None:
    found = browser.get(f"/look/large/cases?status=all&limit=60&offset={offset}").json()
    assert found["total"] == PAIRS
    names = [one["case"] for one in found["cases"]]
    assert names == [f"frame-{number:05d}" for number in range(offset, min(PAIRS, offset + 60))]


def test_a_range_of_amounts_is_chosen_among_all(browser: Browser) -> None:
    found = browser.get("/look/large/cases?status=all&least=0.25&most=0.26&order=seen").json()
    assert found["total"] == PAIRS // 100 + 1
    assert found["cases"][0]["case"] == f"frame-{round(0.26 * PAIRS):05d}"
