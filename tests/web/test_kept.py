"""Pages of a run with something of everything, of drives and of studies, kept whole."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.kept import as_kept, defaults_of
from tests.report.test_kept_run import everything, plain
from tests.studies.planned import clip_study, glance_experiment
from tests.web.client import Browser, Client
from tests.web.test_drives import lap

from roadworthy.driving.drives.readers import write_drive
from roadworthy.reliability.human import SimulatedHumans, estimate_threshold
from roadworthy.web.app import create_app
from roadworthy.web.settings import ServerSettings
from roadworthy.web.thresholds import threshold_chart

KEPT = Path(__file__).with_name("kept")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    folder = tmp_path_factory.mktemp("pages")
    everything(folder / "before")
    everything(folder / "after", worse=9)
    clip_study(folder / "clips")
    glance_experiment(folder / "glances")
    for name, crash in (("one", False), ("two", True)):
        (folder / "drives" / name).mkdir(parents=True)
        write_drive(lap(name, crash=crash), folder / "drives" / name / "drive.parquet")
    (folder / "drives" / "oracle.json").write_text(
        json.dumps(
            {
                "thresholds": {"SD(LP)": 0.2, "Min(SP)": 20.0},
                "directions": {"SD(LP)": "up", "Min(SP)": "down"},
            }
        )
    )
    folders = tuple(folder / name for name in ("before", "after", "clips", "glances", "drives"))
    return Browser(Client(create_app(ServerSettings(folder / "out", folders))))


def told(text: str) -> str:
    """Return a page without what is drawn by lot, and times of files."""
    text = re.sub(r'(csrf-token" content=|nonce=)"[^"]+"', r"\1...", plain(text))
    return re.sub(r"[?&]v=[0-9a-f]+", "", re.sub(r"/[^\s\"<>]*pages\d+/", "FOLDER/", text))


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("runs", ("/runs", "/runs/before", "/compare?first=before&second=after")),
        ("look", ("/look/before",)),
        ("drives", ("/drives", "/drives/drives?drive=one", "/drives/drives?drive=two&metric=SD(SP)")),
        (
            "studies",
            ("/studies", "/studies/clips/itself", "/studies/glances/itself", "/thresholds", "/coverage"),
        ),
    ],
)
def test_pages_are_as_kept(browser: Browser, name: str, addresses: tuple[str, ...]) -> None:
    pages = [f"=== {address}\n{told(browser.settled(address).text)}" for address in addresses]
    as_kept(KEPT / f"{name}.html", "\n".join(pages) + "\n")


def test_cases_of_the_wall_are_as_kept(browser: Browser) -> None:
    found = browser.cases("before")
    as_kept(KEPT / "cases.json", told(json.dumps(found, indent=1, ensure_ascii=False)) + "\n")


def test_charts_of_thresholds_are_as_kept() -> None:
    people = [SimulatedHumans(threshold=0.6).answer(seed=seed) for seed in (1, 2)]
    parts = [threshold_chart(estimate_threshold(one, samples=20 * n)) for n, one in enumerate(people)]
    as_kept(KEPT / "drawings.svg", "\n".join(map(str, parts)).replace("><", ">\n<") + "\n")


def test_what_is_done_when_nothing_is_said_is_as_kept() -> None:
    as_kept(KEPT / "defaults.txt", defaults_of("web"))
