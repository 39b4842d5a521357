"""Drives: what is refused, what is repaired, and rates of change that do not spike."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from roadworthy.driving.drives import Drive, derivative
from roadworthy.driving.drives.drive import PLAUSIBLE, SIGNALS, failing_sectors
from roadworthy.driving.drives.readers import read_drive, write_drive
from roadworthy.driving.metrics import compute
from roadworthy.errors import InputError


@pytest.mark.parametrize(
    ("time", "message"),
    [
        ([], "at least one row"),
        ([0.0, np.nan], "leave such rows out"),
        ([0.0, 1.0, 0.5], r"time must grow, but row 2 has 0\.5 s after 1 s: sort"),
        ([0.0, 0.0], "time must grow"),
        ([[0.0]], "a number for each row"),
        (["now"], "expected numbers"),
    ],
)
def test_time_that_is_none(time: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Drive("bad", time)  # type: ignore[arg-type]


@pytest.mark.parametrize("gap", [0.0, -1.0, float("nan")])
def test_a_gap_that_is_none(gap: float) -> None:
    with pytest.raises(InputError, match="drive lap: seconds of a gap must be above 0"):
        Drive("lap", [0.0, 1.0], gap=gap)


def test_a_step_as_long_as_a_gap_may_be_is_none() -> None:
    drive = Drive("lap", [0.0, 1.0, 2.25, 3.25], gap=1.0)
    assert drive.gaps.tolist() == [False, True, False]
    assert drive.steps.tolist() == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("event", ["crash", "collision", "line crossing"])
def test_sectors_fail_by_what_must_not_happen(event: str) -> None:
    events = {event: [0, 1, 0], "braking": [0, 0, 1]}
    assert failing_sectors(Drive("lap", [0.0, 1.0, 2.0], events=events, sectors=[0, 1, 2])) == ("2",)


def test_columns_of_another_length_are_named() -> None:
    with pytest.raises(InputError, match="speed: expected 2 numbers"):
        Drive("bad", [0.0, 1.0], {"speed": [1.0]})


@pytest.mark.parametrize("sectors", [[1, 1, 1], [0, 2, 2], [0, 1, 0], [0, 1]])
def test_sectors_that_do_not_follow_each_other(sectors: list[int]) -> None:
    with pytest.raises(InputError, match="sector"):
        Drive("bad", [0.0, 1.0, 2.0], sectors=sectors)


def test_a_broken_log_is_repaired_and_says_how() -> None:
    drive = Drive.repaired(
        "log",
        [0.0, 0.1, 0.1, np.nan, 0.3, 0.2, 5.0],
        {"speed": [0.0, 1.0, 9.0, 9.0, 3.0, 2.0, 4.0]},
        {"braking": [0, 0, 0, 0, 1, 0, 0]},
    )
    assert drive.signals["speed"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert drive.events["braking"].tolist() == [False, False, False, True, False]
    assert drive.notes == (
        "1 row had no time",
        "1 row went back in time",
        "1 row repeated a time stamp",
        "1 gap of more than 1 s",
    )


def test_what_a_signal_cannot_be_is_unknown_and_noted(tmp_path: Path) -> None:
    told = {
        "throttle": [0.5, -2.0e17, 1.0, 50.0],
        "steering": [10.0, np.nan, 400.0, -90.0],
        "headway": [np.inf, 30.0, 20.0, 0.0],
        "own": [1e30, 0.0, -1e30, 0.0],
    }
    drive = Drive("lap", np.arange(4) / 10, told, notes=["rain"])
    assert drive.notes == (
        "rain",
        "2 values of throttle not between -0.05 and 1.05, taken as unknown; the first: -2e+17",
        "1 value of steering not between -90 and 90, taken as unknown; the first: 400",
    )
    np.testing.assert_array_equal(drive.signals["throttle"], [0.5, np.nan, 1.0, np.nan])
    assert (drive.signals["headway"][0], drive.signals["own"][0]) == (np.inf, 1e30)
    assert told["throttle"][1] == -2.0e17  # what was given stays
    # It is said once, however often the drive is cut, written and read.
    write_drive(drive.cut_by_time(0.2), tmp_path / "drive.parquet")
    assert read_drive(str(tmp_path)).notes == drive.notes
    assert compute(drive, ["Min(TPP)"])["Min(TPP)"][0] == 0.5


def test_every_signal_has_a_range() -> None:
    assert set(PLAUSIBLE) == set(SIGNALS)


def test_an_event_is_known_in_every_row() -> None:
    with pytest.raises(InputError, match="event crash: expected yes or no in each row, got neither in row 1"):
        Drive("lap", [0.0, 0.1], events={"crash": [0.0, np.nan]})


def test_drives_can_be_copied_and_sent_and_never_written() -> None:
    drive = Drive("lap", [0.0, 1.0], {"speed": [1.0, 2.0]}).with_notes(["rain"])
    for twin in (copy.deepcopy(drive), pickle.loads(pickle.dumps(drive))):
        assert twin.notes == ("rain",)
        with pytest.raises(ValueError, match="read-only"):
            twin.time[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        drive.signals["speed"][0] = 5


def test_cutting_by_distance_names_the_sectors_that_were_reached() -> None:
    drive = Drive("lap", np.arange(6.0), {"distance": np.arange(6) * 10.0}, gap=2)
    cut = drive.cut_by_distance([5.0, 30.0, 90.0], names=["start", "bend", "hill", "end"])
    assert cut.sectors.tolist() == [0, 1, 1, 2, 2, 2]
    assert cut.sector_names == ("start", "bend", "hill")
    with pytest.raises(InputError, match="no distance to be cut by: cut it by time"):
        Drive("lap", [0.0]).cut_by_distance([1.0])


def test_rows_of_unknown_distance_are_still_in_the_sector_before() -> None:
    drive = Drive("lap", np.arange(6.0), {"distance": [np.nan, 1.0, np.nan, 7.0, 6.0, np.nan]}, gap=2)
    assert drive.cut_by_distance([5.0]).sectors.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("ends", "names", "message"),
    [
        ([30.0, 5.0], None, r"ends of sectors that grow, got \[30.0, 5.0\]"),
        ([5.0, 5.0], None, "ends of sectors that grow"),
        ([5.0, np.nan], None, "ends of sectors that grow"),
        ([5.0], ["start"], "1 ends part 2 sectors, got 1 names"),
    ],
)
def test_cuts_that_make_no_sense(ends: list[float], names: list[str] | None, message: str) -> None:
    drive = Drive("lap", [0.0, 1.0], {"distance": [0.0, 9.0]})
    with pytest.raises(InputError, match=message):
        drive.cut_by_distance(ends, names)


def test_rates_of_noise_do_not_spike_at_the_ends() -> None:
    rng = np.random.default_rng(0)
    time = np.arange(300) / 15
    slopes = []
    for _ in range(200):
        drive = Drive("noise", time, {"steering": 3 * time + rng.normal(0, 0.1, 300)})
        slopes.append(derivative(drive, drive.signals["steering"]))
    spread = np.std(slopes, axis=0)
    assert np.mean(slopes, axis=0) == pytest.approx(3.0, abs=0.3)
    plain = np.std(np.gradient(rng.normal(0, 0.1, (200, 300)), 1 / 15, axis=1), axis=0)
    assert spread[0] < plain[0]
    assert spread[-1] < plain[-1]
    assert spread[150] < plain[150] / 3


@pytest.mark.parametrize("rows", [3, 4, 7, 40])
def test_a_parabola_has_its_slope_also_at_the_ends(rows: int) -> None:
    time = np.arange(rows) / 15
    drive = Drive("parabola", time, {"speed": 1 - 2 * time + 3 * time**2})
    assert derivative(drive, drive.signals["speed"]) == pytest.approx(6 * time - 2)


def test_short_stretches_have_the_slope_of_a_line_or_none() -> None:
    drive = Drive("short", [0.0, 9.0, 9.5], {"speed": [1.0, 2.0, 4.0]})
    assert derivative(drive, drive.signals["speed"]).tolist() == pytest.approx(
        [np.nan, 4.0, 4.0], nan_ok=True
    )


def test_rates_follow_jittering_stamps_and_stop_at_gaps_and_holes() -> None:
    rng = np.random.default_rng(1)
    time = np.sort(np.concatenate([rng.uniform(0, 5, 100), rng.uniform(20, 25, 100)]))
    speed = np.where(time < 10, 2 * time, 100 - time)
    speed[50] = np.nan
    drive = Drive("jitter", time, {"speed": speed})
    slope = derivative(drive, speed)
    assert np.isnan(slope[50])
    known = np.isfinite(slope)
    assert slope[known & (time < 10)] == pytest.approx(2.0, abs=1e-6)
    assert slope[known & (time > 10)] == pytest.approx(-1.0, abs=1e-6)
