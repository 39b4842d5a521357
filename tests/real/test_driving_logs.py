"""Real logs as drives: their metrics, gaps and bad rows, and what is around a vehicle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from roadworthy.driving.drives.readers import read_drive
from roadworthy.driving.metrics import CATALOGUE, availability, compute, parse_metric, per_step


def test_every_metric_of_the_study_is_in_the_catalogue_with_its_uses(real_data: Path) -> None:
    rows = (real_data / "driving_metric_uses.csv").read_text().splitlines()[1:]
    told = [row.rsplit(",", 2) for row in rows]
    uses = {str(parse_metric(name.strip('"'))): int(papers) for name, papers, _ in told}
    assert len(rows) == len(uses) == 127
    assert uses == {str(entry.metric): entry.uses for entry in CATALOGUE}


def test_the_udacity_log_holds_two_recordings(real_data: Path) -> None:
    drive = read_drive(f"udacity-sim:{real_data / 'logs' / 'udacity'}")
    assert len(drive) == 7495
    assert drive.notes == ("1 row went back in time", "1 gap of more than 1 s")
    table = compute(drive, whole=True)
    # About ten frames a second in both, whatever lies between them.
    assert 600 < table["T"][0] < 900
    assert 0 < table["Max(SP)"][0] < 14
    assert 5 < table["SARR"][0] < 60
    assert table["D"][0] == pytest.approx(table["Mean(SP)"][0] * table["T"][0], rel=0.1)


def test_the_donkey_tub_runs_off_the_lane(real_data: Path) -> None:
    drive = read_drive(f"donkey:{real_data / 'logs' / 'donkey' / 'pre-fail-sim-chauffeur'}", half_lane=2.0)
    assert len(drive) == 352
    assert np.isnan(drive.signals["lane_offset"][0])
    table = compute(drive, whole=True)
    assert table["Max(LP)"][0] > 10
    assert table["Count(LCR)"][0] >= 1
    lacking = {name for name, why in availability(drive).items() if why is not None}
    assert "Mean(HP)" in lacking
    assert "SD(SAS)" not in lacking


def test_a_table_of_a_real_donkey_car_is_read_by_a_mapping(real_data: Path) -> None:
    # Its frames have numbers and no times; the car took twenty a second.
    mapping = {
        "time": {"column": "frame_id", "unit": 0.05},
        "signals": {
            "lane_offset": "xte",
            "steering": {"column": "steering", "unit": 16},
            "throttle": "throttle",
        },
    }
    path = real_data / "logs" / "donkey" / "tub320x240_train_real.csv"
    drive = read_drive(f"table:{path}", mapping=mapping)
    assert len(drive) == 7905
    lacking = {name for name, why in availability(drive).items() if why is not None}
    assert not {"SD(LP)", "SARR", "PowF(SA)", "Ent(SA)", "PowF(TPS)"} & lacking
    table = compute(drive, ["Max(LP)", "Max(SA)"], whole=True)
    offset, steering = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(2, 3)).T
    assert table["Max(LP)"][0] == pytest.approx(np.abs(offset).max())
    assert table["Max(SA)"][0] == pytest.approx(16 * np.abs(steering).max())


def test_the_cut_in_has_a_headway_from_the_moment_it_happens(real_data: Path) -> None:
    path = real_data / "logs" / "commonroad" / "OSC_CutIn-1_2_T-1.xml"
    drive = read_drive(f"commonroad:{path}", ego=3)
    other = read_drive(f"commonroad:{path}", ego=4)
    assert compute(other, ["Count(LC)"])["Count(LC)"][0] == 1
    moment = int(np.flatnonzero(other.events["lane change"])[0])
    headway = drive.signals["headway"]
    assert np.isnan(headway[: moment - 1]).all()
    assert np.isfinite(headway[moment + 1 :]).all()
    # Both cars are 5.04 m long; their centres tell the same distance on this straight road.
    apart = other.signals["x"] - drive.signals["x"] - 5.04
    assert headway[moment + 1 :] == pytest.approx(apart[moment + 1 :], abs=0.05)
    steps = per_step(drive, ["TimeE(COL)", "HT"])
    closing = drive.signals["speed"] - other.signals["speed"]
    row = moment + 2
    assert steps["TimeE(COL)"][row] == pytest.approx(headway[row] / closing[row])
    assert compute(drive, ["Count(COL)"])["Count(COL)"][0] == 0


def test_traffic_on_a_motorway_has_neighbours_and_leaders(real_data: Path) -> None:
    path = real_data / "logs" / "commonroad" / "USA_US101-5_1_T-1.xml"
    drive = read_drive(f"commonroad:{path}")
    table = compute(drive, whole=True)
    for name in ("Mean(HP)", "Min(HT)", "TimeE(COL)", "SD(HT)"):
        assert np.isfinite(table[name][0]), name
    assert (drive.signals["headway"][np.isfinite(drive.signals["headway"])] >= 0).all()
    assert np.nanmin(drive.signals["vehicle_distance"]) > 0
    # The recorded speed is the change of the recorded place.
    moved = np.hypot(np.diff(drive.signals["x"]), np.diff(drive.signals["y"])) / np.diff(drive.time)
    assert np.median(np.abs(moved - drive.signals["speed"][1:])) < 0.5
