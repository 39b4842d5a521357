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
    assert len(browser.page("/look/large").body) < 8_000
    table = browser.get("/look/large/table")
    assert table.json()["rows"] == PAIRS
    # A name and some numbers of each case; everything else is asked for when its card is seen.
    assert len(table.body) < PAIRS * 90
    names = [f"frame-{number:05d}" for number in range(PAIRS - 60, PAIRS)]
    asked = {"cases": [{"requirement": "R1", "system": "dave2", "case": one} for one in names]}
    answer = browser.post("/look/large/cases", asked)
    assert [one["case"] for one in answer.json()["cases"]] == names
    assert len(answer.body) < 60 * 1500
