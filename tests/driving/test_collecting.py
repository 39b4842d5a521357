"""Metrics of many drives in one table."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from roadworthy.driving.drives import Drive
from roadworthy.driving.metrics import compute, parse_metric
from roadworthy.driving.requirements import AUTONOMOUS, collect, usual_direction
from roadworthy.errors import InputError


def drive(name: str, wobble: float, *, crash: bool = False, **more: float) -> Drive:
    """A minute of driving in six sectors, off the middle of the lane by a wave."""
    time = np.arange(900) / 15
    signals = {
        "speed": 10 + np.sin(time),
        "lane_offset": wobble * np.sin(2 * time),
        "steering": 5 * wobble * np.cos(2 * time),
        **{key: np.full(900, value) for key, value in more.items()},
    }
    events = {"crash": (time > 50) if crash else np.zeros(900), "line crossing": np.zeros(900)}
    return Drive(name, time, signals, events).cut_by_time(10)


def test_rows_are_those_of_every_drive_and_metrics_those_that_all_have() -> None:
    good, bad = drive("good", 0.1, throttle=0.3), drive("bad", 0.5)
    found = collect([good, bad])
    assert found.table.values.shape == (12, len(found.table.metrics))
    assert found.table.drivers == ("good",) * 6 + ("bad",) * 6
    assert "Mean(TPP)" in found.dropped  # one of them has no throttle
    assert set(found.dropped) | set(found.table.metrics) == set(AUTONOMOUS)
    column = found.table.select(["SD(LP)"]).values.ravel()
    assert column[6:] == pytest.approx(compute(bad, ["SD(LP)"])["SD(LP)"])


def test_drives_that_crash_are_left_out_unless_they_are_wanted() -> None:
    drives = [drive("a", 0.1), drive("b", 0.2, crash=True)]
    assert dict(collect(drives).left_out) == {"b": "crash"}
    kept = collect(drives, keep_fatal=True)
    assert (len(kept.table), dict(kept.left_out), dict(kept.kept_fatal)) == (12, {}, {"b": "crash"})
    assert dict(collect(drives).kept_fatal) == {}
    with pytest.raises(InputError, match=r"no drive is left .* b \(crash\)"):
        collect(drives[1:])


def test_what_cannot_be_collected_is_named() -> None:
    with pytest.raises(InputError, match="two drives are called a"):
        collect([drive("a", 0.1), drive("a", 0.2)])
    with pytest.raises(InputError, match=r"Mean\(HP\) of drive a needs the signal headway"):
        collect([drive("a", 0.1)], ["Mean(HP)"])
    with pytest.raises(InputError, match="there were none"):
        collect([])


@pytest.mark.parametrize(
    ("metric", "way"),
    [
        ("SD(SA)", "up"),
        ("Min(LP)", "up"),  # of the size
        ("Min(Acc)", "down"),
        ("TimeE(COL)", "down"),
        ("RA(TSO)", "down"),
        ("Mean(HP)", "down"),
        ("Count(Crash)", "up"),
        ("HP", "down"),  # by itself, its mean
        ("SP", "down"),
        ("D", "down"),
        ("Med(TPP)", "down"),
        ("Min(BPP)", "up"),
        ("DevT(SP)", "up"),
        ("Mean(DevT(SP))", "up"),
        ("Min(DevT(HP))", "up"),
        ("Max(SP)", "up"),
        ("LP", "up"),
    ],
)
def test_the_usual_direction(metric: str, way: str) -> None:
    assert usual_direction(metric) == way


def test_the_metrics_of_table_2_are_metrics() -> None:
    assert len(AUTONOMOUS) == len({str(parse_metric(name)) for name in AUTONOMOUS}) == 23


def test_the_sector_in_which_a_drive_ended_is_left_out_unless_it_is_wanted() -> None:
    ended = dataclasses.replace(drive("a", 0.1), ended="time over")
    assert collect([ended]).table.sectors == ("1", "2", "3", "4", "5")
    assert len(collect([ended], keep_partial=True).table) == 6
    short = dataclasses.replace(ended, name="b", sectors=np.zeros(900, np.intp), sector_names=("1",))
    assert dict(collect([ended, short]).left_out) == {"b": "no whole sector: time over"}


def laps(name: str, *ends: str, track: str = "", ended: str = "") -> Drive:
    """A drive through two sectors of 10 s in each lap; the sectors are called after a track."""
    time = np.arange(300 * len(ends)) / 15
    signals = {"lane_offset": np.sin(2 * time)}
    names = [f"{place}{lap}" for lap in ends for place in ("meadow-01", "meadow-02")]
    numbers = np.minimum(np.floor(time / 10 + 1e-9), len(names) - 1)
    return Drive(name, time, signals, sectors=numbers, sector_names=names, track=track, ended=ended)


def test_a_driver_may_have_driven_several_laps() -> None:
    drives = [laps("dave2", ""), laps("dave2", "", " lap 2"), laps("epoch", "", track="town")]
    table = collect(drives, ["SD(LP)"], several=True).table
    assert table.drivers == ("dave2",) * 6 + ("epoch",) * 2
    assert table.units("lap") == (
        *("dave2", "dave2", "dave2 (2)", "dave2 (2)", "dave2 (2) lap 2", "dave2 (2) lap 2", "epoch", "epoch"),
    )
    assert table.units("track") == ("meadow",) * 6 + ("town",) * 2
    assert table.select(["SD(LP)"]).units("lap") == table.laps
    # Two mutants of one name on one track may be two mutants; on two tracks they are one.
    with pytest.raises(InputError, match="two drives are called dave2"):
        collect(drives, ["SD(LP)"])
    assert len(collect([drives[0], laps("dave2", "", track="town")], ["SD(LP)"]).table) == 4


def test_sectors_that_are_called_after_no_track_leave_it_unknown() -> None:
    table = collect([drive("a", 0.1)], ["SD(LP)"]).table
    with pytest.raises(InputError, match="nobody recorded which track a drove"):
        table.units("track")


def test_a_lap_that_is_cut_off_counts_where_all_are() -> None:
    whole = laps("a", "", " lap 2", ended="2 laps complete")
    short = laps("b", "", " lap 2", ended="time over")
    found = collect([whole, short], ["SD(LP)"])
    assert found.table.laps == ("a", "a", "a lap 2", "a lap 2", "b", "b", "")
    assert found.cut_off == ("b lap 2",)
    every = collect([laps("a", "", ended="distance over"), laps("b", "", ended="distance over")], ["SD(LP)"])
    assert (every.table.laps, every.cut_off) == (("a", "b"), ())


def test_the_sector_before_the_one_in_which_a_drive_ended_lasts_until_that_one_begins() -> None:
    ended = dataclasses.replace(drive("a", 0.1), ended="time over")
    names = ["T", "D", "TimeC(LP)", "SD(LS)"]
    found = collect([ended], names).table
    judged = compute(ended, names)
    for name in names:
        assert found.select([name]).values.ravel() == pytest.approx(judged[name][:5], rel=1e-12), name
