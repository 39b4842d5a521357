"""Requirements of driving, tables of sectors and drives: every field, every border, every message."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Acceptance, Requirement
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.drive import failing_sectors, partial_sectors
from roadworthy.driving.requirements import (
    DrivingQuality,
    Thresholds,
    collect,
    directions_of,
    label,
    read_thresholds,
)
from roadworthy.driving.sectors import SectorTable, variance_scores
from roadworthy.driving.simulators import DriveLimits, Scenario
from roadworthy.driving.simulators.scenarios import WHOLE_DRIVE
from roadworthy.errors import InputError

TOWN = Scenario("world:town", {"traffic": 0})
LIMITS = Thresholds({"SD(LP)": 0.2, "Min(ACC)": -3.0, "Mean(TO)": 0.0})


def test_margins_are_shares_of_the_threshold_on_its_good_side() -> None:
    assert str(LIMITS) == "SD(LP) ≤ 0.2 and Min(ACC) ≥ -3 and Mean(TO) ≤ 0"
    assert dict(LIMITS.directions) == {"SD(LP)": "up", "Min(ACC)": "down", "Mean(TO)": "up"}
    assert dict(LIMITS.scales) == {"SD(LP)": 0.2, "Min(ACC)": 3.0, "Mean(TO)": 1.0}
    assert LIMITS.margin("SD(LP)", 0.1) == pytest.approx(0.5)
    assert LIMITS.margin("Min(ACC)", -1.5) == pytest.approx(0.5)
    assert LIMITS.margin("Mean(TO)", 0.25) == -0.25
    turned = Thresholds({"Std(LP)": 0.2}, {"Std(LP)": "down"}, {"SD(LP)": 4})
    assert turned.margin("SD(LP)", 0.1) == pytest.approx(-0.025)
    assert str(turned) == "SD(LP) ≥ 0.2"
    assert Thresholds.read(turned.as_data()) == turned
    assert turned.as_data() == {
        "thresholds": {"SD(LP)": 0.2}, "directions": {"SD(LP)": "down"}, "scales": {"SD(LP)": 4.0},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"values": {"SD(LP)": math.inf}},
            r"the threshold or scale of SD\(LP\) must be a finite number, got inf",
        ),
        ({"values": {"SD(LP)": True}}, "must be a finite number, got True"),
        ({"directions": {"SD(LP)": "left"}}, "must be one of up, down, got 'left'"),
        (
            {"directions": {"Mean(LP)": "up"}},
            r"Mean\(LP\) has a direction and no threshold: known names are SD",
        ),
        ({"scales": {"SD(LP)": 0}}, r"the scale of SD\(LP\) must be above 0, got 0"),
        ({"scales": {"Mean(LP)": 1}}, r"Mean\(LP\) has a scale and no threshold"),
    ],
)
def test_thresholds_that_cannot_be_used(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Thresholds(**{"values": {"SD(LP)": 0.2}, **given})


def test_files_of_thresholds(tmp_path: Path) -> None:
    file = tmp_path / "oracle.json"
    file.write_text(json.dumps({"thresholds": {"SD(LP)": 0.2}, "metrics": ["whatever"]}))
    assert read_thresholds(file) == Thresholds({"SD(LP)": 0.2})
    for content, message in (
        ("{", "expected the JSON of `driving oracle --json`"),
        ("[]", r"an oracle is a mapping with thresholds \(and directions\), .* got \[\]"),
        ('{"limits": 1, "x": 2}', "writes it, got a mapping with limits, x"),
        ('{"thresholds": {}}', "an oracle needs a threshold for at least one metric, got none"),
        (
            '{"thresholds": {}, "scales": [1]}',
            r"the scales of an oracle must be a mapping by metric, got \[1\]",
        ),
    ):
        file.write_text(content)
        with pytest.raises(InputError, match=message) as caught:
            read_thresholds(file)
        assert str(caught.value).startswith(f"{file}: ")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_thresholds(tmp_path / "absent.json")


def test_a_requirement_as_parameters_and_in_words() -> None:
    frames = Scenario("udacity", {"track": 1}, DriveLimits(seconds=5, events=("crash",)), "all")
    quality = DrivingQuality(LIMITS, (TOWN, frames), (WHOLE_DRIVE,), ("crash",), {"smoothing": 0.5})
    parameters = quality.parameters()
    assert parameters["scenarios"][1] == {
        "simulator": "udacity",
        "options": {"track": 1},
        "limits": {**parameters["scenarios"][0]["limits"], "seconds": 5, "events": ("crash",)},
        "frames": "all",
    }
    assert "frames" not in parameters["scenarios"][0]
    assert (parameters["events"], parameters["sectors"]) == (["crash"], [WHOLE_DRIVE])
    assert parameters["settings"] == {"smoothing": 0.5}
    made = quality.requirement("R1", acceptance=Acceptance(max_rate=0.1))
    assert made.text == (
        "In every sector, SD(LP) ≤ 0.2 and Min(ACC) ≥ -3 and Mean(TO) ≤ 0, and there is no crash."
    )
    assert (made.method, made.acceptance.max_rate) == ("driving", 0.1)
    assert quality.requirement("R1", "Drive well.").text == "Drive well."
    assert quality.sectors_of(frames) == (WHOLE_DRIVE,)
    events = DrivingQuality(Thresholds({}), (TOWN,))
    assert events.requirement("R").text == "In every sector, there is no crash or line crossing."
    assert {"sectors", "settings"}.isdisjoint(events.parameters())
    silent = DrivingQuality(LIMITS, (TOWN,), events=())
    assert silent.requirement("R").text.endswith("Mean(TO) ≤ 0.")
    assert label(Scenario("udacity")) == "udacity"


def test_sectors_come_in_the_order_of_the_track_lap_by_lap() -> None:
    twice = replace(TOWN, limits=DriveLimits(laps=2))
    every = DrivingQuality(LIMITS, (twice,)).sectors_of(twice)
    once = DrivingQuality(LIMITS, (TOWN,)).sectors_of(TOWN)
    assert every == (*once, *(f"{name} lap 2" for name in once))
    some = DrivingQuality(LIMITS, (twice,), ("town-02 lap 2", "town-03", "town-01"))
    assert some.sectors_of(twice) == ("town-01", "town-03", "town-02 lap 2")
    donkey = Scenario("donkey")
    assert DrivingQuality(LIMITS, (donkey,), ("a", "b")).sectors_of(donkey) == ("a", "b")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scenarios": []}, "at least one scenario to drive through, got none"),
        ({"scenarios": ["world:town", "world:town"]}, "scenario world:town is listed twice: each"),
        (
            {"scenarios": [{"simulator": "world:town", "limits": {"lap": 1}}]},
            "a drive has no limit 'lap': did",
        ),
        (
            {"scenarios": [{"simulator": "world:town", "limits": {"events": "crash"}}]},
            "events must be a list, got 'crash'",
        ),
        ({"events": ["smash"]}, "there is no event 'smash'"),
        ({"sectors": ["moon"]}, "no scenario has a sector 'moon'"),
        ({"scenarios": ["donkey"]}, "donkey lists no sectors: name those to judge in sectors"),
        (
            {"oracle": {"thresholds": {}}, "events": []},
            "needs a threshold or an event to judge by, got neither",
        ),
        ({"settings": {"odd": 1}}, "odd"),
    ],
)
def test_a_requirement_that_cannot_be_used_is_named(parameters: dict[str, Any], message: str) -> None:
    given = {"oracle": {"thresholds": {"SD(LP)": 0.2}}, "scenarios": ["world:town"], **parameters}
    with pytest.raises(InputError, match=message) as caught:
        DrivingQuality.of(Requirement("R7", "text", "driving", given))
    assert "'R7'" in str(caught.value)


def test_directions_that_are_named() -> None:
    assert directions_of(["SD(LP)", "Mean(SP)"], [], []) == {"SD(LP)": "up", "Mean(SP)": "down"}
    assert directions_of(["SD(LP)", "Mean(SP)"], ["Mean(SP)"], ["Std(LP)"]) == {
        "SD(LP)": "down",
        "Mean(SP)": "up",
    }
    with pytest.raises(InputError, match=r"Mean\(LP\) has a direction but is none of the metrics, SD\(LP\)"):
        directions_of(["SD(LP)"], ["Mean(LP)"], [])
    with pytest.raises(InputError, match=r"SD\(LP\) gets worse upwards or downwards, not both"):
        directions_of(["SD(LP)"], ["SD(LP)"], ["SD(LP)"])


def lap(
    name: str, ended: str = "lap complete", track: str = "", names: tuple[str, ...] = ("a", "b"), **on: int
) -> Drive:
    """Twenty rows in two sectors; an event is on in the row that is named."""
    numbers = np.repeat(np.arange(2), 10)
    happening = {event.replace("_", " "): np.arange(20) == row for event, row in on.items()}
    signals = {"lane_offset": np.sin(np.arange(20.0)), "speed": np.full(20, 5.0)}
    return Drive(
        name,
        np.arange(20) / 10,
        signals,
        happening,
        sectors=numbers,
        sector_names=names,
        ended=ended,
        track=track,
    )


def test_many_drives_in_one_table() -> None:
    drives = [
        lap("kim", names=("a", "a lap 2"), track="oval"),
        lap("lee", crash=3),
        lap("kim", track="oval"),
        lap("max", "time is up", names=("town-01", "town-02")),
    ]
    with pytest.raises(InputError, match="two drives are called kim: give every driver a name of its own"):
        collect(drives, ["Mean(LP)"])
    found = collect(drives, ["Mean(LP)", "Std(LP)"], several=True)
    assert found.table.metrics == ("Mean(LP)", "SD(LP)")
    assert found.table.drivers == ("kim", "kim", "kim", "kim", "max")
    assert found.table.sectors == ("a", "a lap 2", "a", "b", "town-01")
    assert found.table.laps == ("kim", "kim lap 2", "kim (2)", "kim (2)", "")
    assert found.table.tracks == ("oval", "oval", "oval", "oval", "town")
    assert dict(found.left_out) == {"lee": "crash"}
    assert (found.dropped, dict(found.kept_fatal), found.cut_off) == ((), {}, ("max",))
    every = collect(drives, ["Mean(LP)"], several=True, keep_fatal=True, keep_partial=True)
    assert len(every.table) == 8
    assert dict(every.kept_fatal) == {"lee": "crash"}
    elsewhere = collect([lap("kim", track="oval"), lap("kim", track="loop")], ["Mean(LP)"])
    assert elsewhere.table.tracks == ("oval", "oval", "loop", "loop")
    short = replace(lap("ann", "time is up"), sectors=np.zeros(20, int), sector_names=("a",))
    assert dict(collect([short, lap("bo")], ["Mean(LP)"]).left_out) == {"ann": "no whole sector: time is up"}


@pytest.mark.parametrize(
    ("ended", "partial"),
    [("lap complete", False), ("destination reached", False), ("time is up", True), ("stood still", True)],
)
def test_where_a_drive_ends_a_sector_is_cut(ended: str, partial: bool) -> None:
    assert partial_sectors(lap("kim", ended)) == (False, partial)


def test_sectors_in_which_something_is_hit() -> None:
    assert failing_sectors(lap("kim", crash=3)) == ("a",)
    assert failing_sectors(lap("kim", line_crossing=10, collision=9)) == ("a", "b")
    assert failing_sectors(lap("kim", lane_change=3)) == ()


def test_tables_of_sectors() -> None:
    table = SectorTable.of([[1, 2], [3, 4]], laps=("1", "2"), tracks=("oval", ""), drivers=("kim", "lee"))
    assert (table.metrics, table.sectors, len(table)) == (("m1", "m2"), ("1", "2"), 2)
    assert table.select(["m2"]).laps == ("1", "2")
    assert table.select(["m2", "m1"]).values.tolist() == [[2, 1], [4, 3]]
    assert (table.units("lap"), table.units("driver")) == (("1", "2"), ("kim", "lee"))
    assert SectorTable.of(table) is table
    bare = SectorTable.of({"SD(LP)": [0.1, 0.2]})
    assert (bare.drivers, bare.laps, bare.tracks) == (("driver",) * 2, ("driver",) * 2, ("", ""))
    for given, message in (
        (
            {"values": {"a": [1, 2], "b": [1]}},
            "expected one number per sector for every metric, got a: 2, b: 1",
        ),
        ({"values": {"a": ["x"]}}, "expected numbers, one for every sector and metric"),
        ({"values": [[1, 2]], "metrics": ["a", "a"]}, "expected every metric once, got a, a"),
        ({"values": [[1, 2]], "metrics": ["a"]}, r"at least one metric, got 1 names and shape \(1, 2\)"),
        ({"values": {}}, "with at least one metric, got 0 names"),
        ({"values": {"a": [1]}, "drivers": []}, "expected 1 drivers, one for each row, got 0"),
        ({"values": {"a": [1]}, "laps": ["1", "2"]}, "expected 1 laps, one for each row, got 2"),
        (
            {"values": {"a": [1, math.nan]}, "drivers": ["kim", "lee"]},
            "a of sector 2, driven by lee, is nan: leave out the metric or the sectors",
        ),
    ):
        with pytest.raises(InputError, match=message):
            SectorTable.of(**given)
    for unit, message in (
        ("day", "the unit is lap, track or driver, got 'day'"),
        ("track", "which track lee drove"),
    ):
        with pytest.raises(InputError, match=message):
            table.units(unit)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no metric m3, m4 in a table of m1, m2"):
        table.select(["m1", "m3", "m4"])


def test_metrics_that_say_the_same_share_their_score() -> None:
    steady = np.array([-1.0, 1.0, -1.0, 1.0])
    other = np.array([-1.0, -1.0, 1.0, 1.0])
    found = variance_scores(SectorTable.of({"c": [5.0] * 4, "b": steady, "a": 3 * steady + 1, "d": other}))
    assert found.constant == ("c",)
    assert found.ranking == ("a", "b", "d")
    assert found.ratios == pytest.approx((2 / 3, 1 / 3))
    assert dict(found.scores) == pytest.approx(
        {"a": 2 / 3 / math.sqrt(2), "b": 2 / 3 / math.sqrt(2), "d": 1 / 3}
    )
    first = variance_scores(SectorTable.of({"b": steady, "a": steady, "d": other}), explained=0.6)
    assert first.ratios == pytest.approx((2 / 3,))
    assert first.scores["d"] == pytest.approx(0, abs=1e-9)
    for wrong in (0.0, 1.1):
        with pytest.raises(InputError, match="above 0 and at most 1, got"):
            variance_scores(SectorTable.of({"b": steady}), explained=wrong)
    with pytest.raises(InputError, match="drives to compare metrics over must be 2 or more, got 1"):
        variance_scores(SectorTable.of({"b": [1.0]}))
    with pytest.raises(InputError, match="there is nothing to rank"):
        variance_scores(SectorTable.of({"b": [1.0, 1.0]}))
