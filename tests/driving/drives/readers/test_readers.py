"""Drives from files: what each format says, in our units, and what broken files get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from roadworthy.driving._rectangles import distances
from roadworthy.driving.drives.readers import (
    read_commonroad,
    read_donkey,
    read_drive,
    read_table,
    read_udacity_sim,
)
from roadworthy.driving.metrics import compute, per_step
from roadworthy.errors import InputError


def _log(folder: Path, rows: list[str]) -> Path:
    file = folder / "driving_log.csv"
    file.write_text("\n".join(rows))
    return file


def _row(stamp: str, rest: str) -> str:
    return ", ".join(f"IMG\\{side}_{stamp}.jpg" for side in ("center", "left", "right")) + f", {rest}"


def test_a_log_of_the_udacity_simulator(tmp_path: Path) -> None:
    file = _log(
        tmp_path,
        [
            _row("2024_01_31_22_05_51_900", "0.5, 0.2, 0, 10"),
            _row("2024_01_31_22_05_52_000", "-1, 0, 0.3, 20"),
            _row("2024_01_31_22_05_52_000", "-1, 0, 0.3, 20"),
            _row("2024_01_31_22_05_52_100", "fast, 0, 0, 20"),
            _row("2024_01_31_22_06_02_000", "0, 0, 0, 30"),
        ],
    )
    drive = read_udacity_sim(file)
    assert drive.time.tolist() == pytest.approx([0.0, 0.1, 10.1])
    assert drive.signals["steering"].tolist() == [12.5, -25.0, 0.0]
    assert drive.signals["speed"] == pytest.approx(np.array([10, 20, 30]) * 0.44704)
    assert drive.notes[:2] == ("1 row repeated a time stamp", "1 gap of more than 1 s")
    assert "line 4: steering must be a finite number, got 'fast'" in drive.notes[2]


def test_a_log_without_a_usable_row(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no row of the log can be used"):
        read_udacity_sim(_log(tmp_path, [_row("2024_01_31_22_05_51_900", "a, b, c, d")]))


def _tub(folder: Path, records: list[Any]) -> Path:
    for number, record in enumerate(records, 1):
        (folder / f"record_{number}.json").write_text(
            record if isinstance(record, str) else json.dumps(record)
        )
    return folder


def test_a_donkey_tub_takes_what_was_driven(tmp_path: Path) -> None:
    both = {"pilot/angle": 0.5, "pilot/throttle": 0.3, "user/angle": -0.25, "user/throttle": -0.1}
    tub = _tub(
        tmp_path,
        [
            {"milliseconds": 100, "user/mode": "local", "cte": None, "speed": None, **both},
            {"milliseconds": 150, "user/mode": "local_angle", "cte": 0.4, "speed": 4.0, **both},
            {"milliseconds": 200, "user/mode": "user", "cte": -2.0, "speed": 4.2, **both},
            "{broken",
            {"milliseconds": 300, "user/mode": "user", "cte": "left", **both},
        ],
    )
    drive = read_donkey(tub, half_lane=1.5)
    assert drive.time.tolist() == pytest.approx([0.0, 0.05, 0.1])
    assert drive.signals["steering"].tolist() == [8.0, 8.0, -4.0]
    assert drive.signals["throttle"].tolist() == [0.3, 0.0, 0.0]
    assert drive.signals["brake"].tolist() == [0.0, 0.1, 0.1]
    assert np.isnan(drive.signals["speed"][0])
    assert drive.events["line crossing"].tolist() == [False, False, True]
    assert drive.notes[-1].startswith("2 record(s) left out; the first: record_4.json")


def test_a_tub_of_the_newer_kind_and_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found no record"):
        read_donkey(tmp_path)
    lines = [{"_timestamp_ms": 10 * n, "user/angle": 0.0, "user/throttle": 0.1} for n in range(3)]
    (tmp_path / "catalog_0.catalog").write_text("\n".join(map(json.dumps, lines)))
    assert read_donkey(tmp_path).time.tolist() == pytest.approx([0.0, 0.01, 0.02])


MAPPING = {
    "time": {"column": "t", "unit": "ms"},
    "signals": {
        "speed": {"column": "v", "unit": "km/h"},
        "steering": {"column": "wheel", "unit": "rad", "positive": "left", "ratio": 10.0},
        "lane_offset": {"column": "y", "positive": "left"},
    },
    "events": {"crash": "hit"},
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_with_a_mapping_of_its_columns(tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"log.{kind}"
    if kind == "csv":
        file.write_text("t,v,wheel,y,hit\n200,36,0.5,0.1,0\n100,72,,oops,1\n")
    else:
        columns = {
            "t": [200, 100],
            "v": [36.0, 72.0],
            "wheel": [0.5, None],
            "y": [0.1, None],
            "hit": [False, True],
        }
        parquet.write_table(pa.table(columns), file)
    drive = read_table(file, mapping=MAPPING)
    assert drive.signals["speed"].tolist() == [20.0, 10.0]
    assert drive.signals["steering"] == pytest.approx([np.nan, -np.degrees(0.05)], nan_ok=True)
    assert drive.signals["lane_offset"] == pytest.approx([np.nan, -0.1], nan_ok=True)
    assert drive.events["crash"].tolist() == [True, False]
    assert drive.notes == ("1 row went back in time",)


def test_mappings_that_do_not_fit(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("t,v\n0,1\n1,2\n")
    with pytest.raises(InputError, match="no column 'speed'"):
        read_table(file, mapping={"time": "t", "signals": {"speed": "speed"}})
    with pytest.raises(InputError, match="expected the unit"):
        read_table(file, mapping={"time": {"column": "t", "unit": "minutes"}})
    written = tmp_path / "columns.yaml"
    written.write_text("time: t\nsignal: {speed: v}\n")
    with pytest.raises(InputError, match=r"columns\.yaml:2: unknown key 'signal': did you mean 'signals'"):
        read_table(file, mapping=written)
    with pytest.raises(InputError, match="cannot be read as a table"):
        read_table(tmp_path / "none.csv", mapping={"time": "t"})
    file.write_text("t,v\nx,1\n")
    with pytest.raises(InputError, match="no row has a time"):
        read_table(file, mapping={"time": "t"})


def _bounds(left: float, right: float, stations: tuple[int, ...]) -> str:
    return "".join(
        f"<{name}>{''.join(f'<point><x>{x}</x><y>{y}</y></point>' for x in stations)}</{name}>"
        for name, y in (("leftBound", left), ("rightBound", right))
    )


def _scenario(vehicles: str) -> str:
    """Two lanes to the east, each of two lanelets that meet at x = 200."""
    sides = ('<adjacentRight ref="2" drivingDir="same"/>', '<adjacentLeft ref="1" drivingDir="same"/>')
    lanes = ""
    for number, (left, right) in enumerate([(3.5, 0.0), (0.0, -3.5)], 1):
        near, far = _bounds(left, right, (0, 100, 200)), _bounds(left, right, (200, 400))
        further = sides[number - 1].replace("2", "12").replace('"1"', '"11"')
        lanes += f'<lanelet id="{number}">{near}<successor ref="{number + 10}"/>{sides[number - 1]}</lanelet>'
        lanes += f'<lanelet id="{number + 10}">{far}<predecessor ref="{number}"/>{further}</lanelet>'
    return f'<commonRoad timeStepSize="0.5" commonRoadVersion="2020a">{lanes}{vehicles}</commonRoad>'


def _vehicle(id: int, states: list[tuple[float, float, float]], kind: str = "car") -> str:
    written = [
        f"<position><point><x>{x}</x><y>{y}</y></point></position><orientation><exact>0</exact></orientation>"
        f"<time><exact>{step}</exact></time><velocity><exact>{speed}</exact></velocity>"
        for step, (x, y, speed) in enumerate(states)
    ]
    further = "".join(f"<state>{one}</state>" for one in written[1:])
    return (
        f'<dynamicObstacle id="{id}"><type>{kind}</type><shape><rectangle><length>4</length><width>2</width>'
        f"</rectangle></shape><initialState>{written[0]}</initialState><trajectory>{further}</trajectory>"
        "</dynamicObstacle>"
    )


def test_headway_over_the_end_of_a_lanelet_and_a_lane_change(tmp_path: Path) -> None:
    ego = [(180.0, -1.75, 20.0), (190.0, -1.75, 20.0), (200.0, 0.25, 20.0), (210.0, 1.75, 20.0)]
    lead = [(x + 40.0 - 5 * n, -1.75, 10.0) for n, (x, *_) in enumerate(ego)]
    behind = [(x - 14.0, -1.75, 20.0) for x, *_ in ego]
    file = tmp_path / "scenario.xml"
    file.write_text(_scenario(_vehicle(7, ego) + _vehicle(8, lead) + _vehicle(9, behind)))
    drive = read_commonroad(file, ego=7)
    # From bumper to bumper: 40 m between the centres, less half of either car.
    assert drive.signals["headway"][:2].tolist() == pytest.approx([36.0, 31.0])
    assert drive.signals["lead_speed"][0] == 10
    assert np.isnan(drive.signals["headway"][3])  # the other lane is empty
    assert drive.signals["vehicle_distance"][0] == pytest.approx(10.0)
    assert drive.signals["lane"].tolist() == [1, 1, 0, 0]
    assert drive.signals["lane_offset"] == pytest.approx([0.0, 0.0, 1.5, 0.0])
    assert drive.signals["lateral_clearance"] == pytest.approx([0.75, 0.75, -0.75, 0.75])
    assert drive.events["lane change"].tolist() == [False, False, True, False]
    steps = per_step(drive, ["TimeE(COL)", "HT"])
    assert steps["TimeE(COL)"][0] == pytest.approx(3.6)
    assert steps["HT"][0] == pytest.approx(1.8)
    assert compute(drive, ["Count(LC)", "Count(COL)"])["Count(LC)"][0] == 1


def test_a_collision_is_seen_and_a_pedestrian_ahead(tmp_path: Path) -> None:
    ego = [(10.0, -1.75, 5.0), (12.0, -1.75, 5.0)]
    walker = _vehicle(2, [(30.0, -1.75, 0.0), (30.0, -1.75, 0.0)], "pedestrian")
    touching = _vehicle(3, [(5.0, -1.75, 0.0), (8.5, -1.75, 0.0)])
    file = tmp_path / "scenario.xml"
    file.write_text(_scenario(_vehicle(1, ego) + walker + touching))
    drive = read_commonroad(file, ego=1)
    assert drive.events["collision"].tolist() == [False, True]
    assert drive.signals["pedestrian_distance"].tolist() == pytest.approx([16.0, 14.0])
    assert "headway" not in drive.signals


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<commonRoad", "broken XML"),
        ("<roads/>", "expected the element commonRoad"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><commonRoad/>', "must not declare"),
        ("<commonRoad timeStepSize='0.1'/>", "no drive in this scenario"),
    ],
)
def test_scenarios_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "scenario.xml"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_commonroad(file)


def test_a_vehicle_that_is_not_there_and_a_format_that_is_not(tmp_path: Path) -> None:
    file = tmp_path / "scenario.xml"
    file.write_text(_scenario(_vehicle(7, [(0.0, 0.0, 1.0), (1.0, 0.0, 1.0)])))
    with pytest.raises(InputError, match="no vehicle 5: there are 7"):
        read_drive(f"commonroad:{file}", ego=5)
    with pytest.raises(InputError, match="did you mean 'commonroad'"):
        read_drive(f"comonroad:{file}")
    with pytest.raises(InputError, match="read_commonroad takes"):
        read_drive(f"commonroad:{file}", speed=3)


def test_distances_of_turned_rectangles() -> None:
    square = (np.zeros(2), 0.0, 2.0, 2.0)
    turned = (np.array([4.0, 0.0]), np.pi / 4, 2.0, 2.0)  # its corner points at the square
    assert distances(square, [turned]) == pytest.approx([3.0 - np.sqrt(2.0)])
    assert distances(square, [(np.array([4.0, 5.0]), 0.0, 2.0, 2.0)]) == pytest.approx([np.hypot(2, 3)])
    assert distances(square, [(np.array([0.1, 0.1]), 0.3, 0.5, 0.5)]).tolist() == [0.0]
