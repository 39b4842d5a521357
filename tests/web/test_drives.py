"""The page Drives: what is found, what is drawn, and what is served."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.web.client import Browser, Client

from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.readers import write_drive
from roadworthy.driving.metrics import compute
from roadworthy.web.app import create_app
from roadworthy.web.drives import find_drives, show_drive, track_of
from roadworthy.web.settings import ServerSettings

ROWS = 200


def lap(name: str = "lap", *, crash: bool = False) -> Drive:
    """A circle of two sectors; in the second one the vehicle weaves."""
    turn = np.linspace(0, 2 * np.pi, ROWS)
    weave = np.where(turn > np.pi, 0.8 * np.sin(20 * turn), 0.0)
    events = {"crash": np.arange(ROWS) == ROWS - 1} if crash else {}
    return Drive(
        name,
        np.arange(ROWS) / 10,
        {
            "x": 50 * np.cos(turn),
            "y": 50 * np.sin(turn),
            "speed": np.full(ROWS, 15.0),
            "lane_offset": weave,
            "distance": 50 * turn,
            "steering": 5 + weave,
        },
        events,
        sectors=(turn > np.pi).astype(int),
        sector_names=("circle-01", "circle-02"),
        ended="crash" if crash else "lap complete",
    )


@pytest.fixture
def drives(tmp_path: Path) -> Path:
    folder = tmp_path / "drives"
    for name, crash in (("good/one", False), ("poor/two", True)):
        (folder / name).mkdir(parents=True)
        write_drive(lap(name, crash=crash), folder / name / "drive.parquet")
    return folder


def browser(folder: Path) -> Browser:
    return Browser(Client(create_app(ServerSettings(folder.parent / "out", (folder,)))))


def test_drives_below_a_folder_are_found(drives: Path) -> None:
    assert list(find_drives(drives)) == ["good/one", "poor/two"]
    assert list(find_drives(drives / "good" / "one")) == ["."]
    page = browser(drives).page("/drives").text
    assert "/drives/drives?drive=good/one" in page


def test_none_is_looked_for_deeper_than_four_folders(tmp_path: Path) -> None:
    for place in ("a/b/c/d", "a/b/c/d/e"):
        (tmp_path / place).mkdir(parents=True)
        write_drive(lap(), tmp_path / place / "drive.parquet")
    assert list(find_drives(tmp_path)) == ["a/b/c/d"]


def test_links_out_of_the_folder_are_not_followed(drives: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    write_drive(lap(), tmp_path / "secret" / "drive.parquet")
    (drives / "leak").mkdir()
    (drives / "leak" / "drive.parquet").symlink_to(tmp_path / "secret" / "drive.parquet")
    (drives / "way").symlink_to(tmp_path / "secret")
    assert list(find_drives(drives)) == ["good/one", "poor/two"]


def test_numbers_are_those_of_the_metrics(drives: Path) -> None:
    found = show_drive(drives / "good" / "one", "LP")
    table = compute(lap())
    column = [name for name, _, _ in found.columns].index("SD(LP)")
    for line, value in zip(found.sectors, table.values["SD(LP)"], strict=True):
        assert float(line[2][column]) == pytest.approx(value, rel=5e-3)
    assert found.facts == "314 m in 19.9 s"


def test_a_track_has_a_gap_where_nothing_is_known() -> None:
    gap = np.linspace(0, 1, ROWS)
    gap[50:60], gap[70] = np.nan, np.inf
    track = track_of(lap(), gap, ("circle-02",), "a ramp")
    values = track["signals"]["value"]
    assert [row for row, one in enumerate(values) if one is None] == [*range(50, 60), 70]
    assert values[:2] == pytest.approx([0, 1 / (ROWS - 1)], abs=1e-4)
    assert (track["alarms"], track["label"], len(track["time"])) == (["circle-02"], "a ramp", ROWS)
    assert track["sectors"] == lap().sectors.tolist()


def test_a_long_track_is_thinned_but_never_loses_an_event() -> None:
    rows = 9001
    crossing = np.arange(rows) == 1234
    long = Drive("long", np.arange(rows) / 10, {"speed": np.ones(rows)}, {"line crossing": crossing})
    track = track_of(long, np.ones(rows), (), "speed")
    assert 1500 <= len(track["time"]) <= 1501
    (event,) = track["events"]
    assert (event["name"], track["time"][event["row"]]) == ("line crossing", 123.4)


def test_a_crash_is_an_alarm_and_is_marked(drives: Path) -> None:
    page = browser(drives).page("/drives/drives?drive=poor/two&metric=SP").text
    track = track_in(page)
    assert [one["name"] for one in track["events"]] == ["crash"]
    assert track["time"][track["events"][0]["row"]] == 19.9
    assert len(track["alarms"]) == 1
    assert "crash, collision or line crossing" in page
    other = browser(drives).page("/drives/drives?drive=good/one").text
    assert track_in(other)["alarms"] == []


def track_in(page: str) -> Any:
    return json.loads(html.unescape(page.partition('data-track="')[2].partition('"')[0]))


def test_speeds_and_thresholds_are_drawn_in_the_unit_that_was_chosen(drives: Path) -> None:
    oracle = {"thresholds": {"Max(SP)": 14.0, "SD(LP)": 0.2}, "directions": {"Max(SP)": "up", "SD(LP)": "up"}}
    (drives / "oracle.json").write_text(json.dumps(oracle))
    page = browser(drives).page("/drives/drives?drive=good/one&metric=Mean(SP)").text
    track = track_in(page)
    assert (track["metric"], track["unit"]) == ("Mean(SP)", "m/s")
    assert (track["limits"], track["ways"]["Max(SP)"]) == ({"Max(SP)": 14.0, "SD(LP)": 0.2}, "up")
    # Numbers in m/s say so, and others do not.
    assert re.search(r'data-speed="15\.0[^"]*">\s*15<', page)
    assert page.count("<small data-speed-unit>m/s</small>") == 2
    assert '<option value="Mean(SP)" selected' in page


def test_other_drives_are_offered(drives: Path) -> None:
    page = browser(drives).page("/drives/drives?drive=good/one").text
    assert 'data-folder="drives" data-drive="poor/two"' in page
    assert 'data-drive="good/one"' not in page


def test_thresholds_of_an_oracle_raise_alarms(drives: Path) -> None:
    oracle = {"thresholds": {"SD(LP)": 0.2}, "directions": {"SD(LP)": "up"}}
    (drives / "oracle.json").write_text(json.dumps(oracle))
    found = show_drive(drives / "good" / "one", "LP", drives)
    assert list(found.alarms) == [found.sectors[1][0]]
    assert found.alarms[found.sectors[1][0]][0].startswith("SD(LP) 0.5")
    assert str(found.oracle) == "SD(LP) ≤ 0.2"
    (drives / "oracle.json").write_text(
        json.dumps({**oracle, "false_alarm_bound": {"unit": "lap", "units": 10, "alarms": 1}})
    )
    page = browser(drives).page("/drives/drives?drive=good/one").text
    assert "raises an alarm with probability at most 9.1% (1 in 11)." in page


def test_metrics_that_are_none_and_oracles_that_are_broken(drives: Path) -> None:
    opened = browser(drives)
    page = opened.page("/drives/drives?drive=good/one&metric=%3Cscript%3E").text
    assert "This drive cannot be shown" in page
    assert "<script>&" not in page
    assert "<script>" not in page.partition("<main")[2]
    assert "This drive cannot be shown" in opened.page("/drives/drives?drive=good/one&metric=HP").text
    (drives / "oracle.json").write_text("{")
    assert "oracle.json" in opened.page("/drives/drives?drive=good/one").text


def test_a_drive_without_places_has_no_map(tmp_path: Path) -> None:
    folder = tmp_path / "drive"
    folder.mkdir()
    write_drive(Drive("log", [0.0, 0.1, 0.2], {"lane_offset": [0.1, 0.2, 0.3]}), folder / "drive.parquet")
    found = show_drive(folder, "LP")
    assert found.track["signals"] == {"value": [0.1, 0.2, 0.3]}


def test_films_are_served_and_nothing_else(drives: Path) -> None:
    (drives / "good" / "one" / "drive.webm").write_bytes(b"film")
    (drives / "secret.webm").write_bytes(b"secret")
    opened = browser(drives)
    page = opened.page("/drives/drives?drive=good/one").text
    assert "/drives/drives/film?drive=good/one&amp;file=drive.webm" in page
    answer = opened.get("/drives/drives/film?drive=good/one&file=drive.webm")
    assert (answer.body, answer.headers["content-type"]) == (b"film", "video/webm")
    for file in ("drive.parquet", "../../secret.webm", "..%2f..%2fsecret.webm", "none.webm"):
        assert opened.get(f"/drives/drives/film?drive=good/one&file={file}").status == 404
    assert opened.get("/drives/drives/film?drive=..&file=secret.webm").status == 404


def test_drives_that_are_none(drives: Path, tmp_path: Path) -> None:
    opened = browser(drives)
    assert opened.page("/drives/none").status == 404
    assert opened.page("/drives/drives?drive=..%2f..").status == 404
    empty = Browser(Client(create_app(ServerSettings(tmp_path / "out"))))
    assert "No drives yet" in empty.page("/drives").text
