"""Drives from files: what each format says, in our units, and what broken files get."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from roadworthy.driving.drives.drive import distances
from roadworthy.driving.drives.readers import read_drive
from roadworthy.driving.drives.readers.commonroad import (
    Lanelet,
    LaneletPosition,
    read_commonroad,
    route_ahead,
)
from roadworthy.driving.drives.readers.simulator_logs import read_donkey, read_udacity_sim
from roadworthy.driving.drives.readers.tables import read_table
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
    assert drive.notes[2].startswith("1 row left out; the first: ")
    assert "line 4: steering must be a finite number, got 'fast'" in drive.notes[2]


def test_a_log_without_a_usable_row(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no row of the log can be used"):
        read_udacity_sim(_log(tmp_path, [_row("2024_01_31_22_05_51_900", "a, b, c, d")]))
    with pytest.raises(InputError, match="none of 2 rows has a time"):
        read_udacity_sim(_log(tmp_path, [_row("somewhere", "0, 0, 0, 1")] * 2))


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
    assert drive.notes == (drive.notes[0],)
    assert drive.notes[0].startswith("2 rows left out; the first: record_4.json")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"milliseconds": True}, "expected a number for milliseconds, got True"),
        ({"milliseconds": None}, "expected milliseconds or _timestamp_ms"),
        ({"milliseconds": 10**400}, "must be JSON: a number of 401 digits is too large"),
        ({"user/angle": "left"}, "expected a number for user/angle, got 'left'"),
        ({"user/throttle": 10**400}, "must be JSON: a number of 401 digits is too large"),
    ],
)
def test_a_record_that_cannot_be_used_is_left_out(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    good = {"milliseconds": 100, "user/angle": 0.5, "user/throttle": 0.2}
    drive = read_donkey(_tub(tmp_path, [good, {**good, **change}]))
    assert len(drive) == 1
    assert drive.notes[0].startswith(f"1 row left out; the first: record_2.json: {why}")
    (tmp_path / "record_2.json").unlink()
    timeless = _tub(tmp_path, [{**good, "milliseconds": float("nan")}])
    with pytest.raises(InputError, match="none of 1 rows has a time"):
        read_donkey(timeless)


def test_a_tub_of_the_newer_kind_and_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found no record"):
        read_donkey(tmp_path)
    lines = [{"_timestamp_ms": 10 * n, "user/angle": 0.0, "user/throttle": 0.1} for n in range(3)]
    (tmp_path / "catalog_0.catalog").write_text("\n".join(map(json.dumps, lines)))
    assert read_donkey(tmp_path).time.tolist() == pytest.approx([0.0, 0.01, 0.02])


def _newer_tub(folder: Path, deleted: object, *, indexed: bool = True) -> Path:
    """Write a tub as donkeycar's `datastore_v2.py` does: catalogs, and a manifest of five lines."""
    for catalog in range(11):
        lines = []
        for index in (2 * catalog, 2 * catalog + 1):
            record = {"_timestamp_ms": 100 * index, "user/angle": 0.0, "user/throttle": index / 100}
            lines.append(json.dumps({**record, "_index": index} if indexed else record))
        (folder / f"catalog_{catalog}.catalog").write_text("\n".join(lines) + "\n")
    paths = [f"catalog_{catalog}.catalog" for catalog in range(11)]
    last = {"paths": paths, "current_index": 22, "max_len": 2, "deleted_indexes": deleted}
    manifest = [["user/angle", "user/throttle"], ["float", "float"], {}, {"sessions": {}}, last]
    (folder / "manifest.json").write_text("".join(f"{json.dumps(line)}\n" for line in manifest))
    return folder


@pytest.mark.parametrize("indexed", [True, False])
def test_records_that_a_tub_deleted_are_left_out(tmp_path: Path, indexed: bool) -> None:
    drive = read_donkey(_newer_tub(tmp_path, [0, 5, 20], indexed=indexed))
    kept = [index for index in range(22) if index not in (0, 5, 20)]
    assert drive.signals["throttle"].tolist() == [index / 100 for index in kept]
    assert drive.notes == ("3 records left out that the tub marks as deleted",)
    assert len(read_donkey(_newer_tub(tmp_path, []))) == 22
    assert read_donkey(_newer_tub(tmp_path, [])).notes == ()


def test_a_tub_whose_deleted_records_are_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found no record.*22 are deleted"):
        read_donkey(_newer_tub(tmp_path, list(range(22))))
    with pytest.raises(InputError, match="deleted_indexes must be a list of whole numbers, got 'all'"):
        read_donkey(_newer_tub(tmp_path, "all"))
    (tmp_path / "manifest.json").write_text("[]\n{broken\n")
    with pytest.raises(InputError, match=r"manifest\.json must hold.*mend it, or remove it"):
        read_donkey(tmp_path)


MAPPING = {
    "time": {"column": "t", "unit": "ms"},
    "signals": {
        "speed": {"column": "v", "unit": "km/h"},
        "steering": {"column": "wheel", "unit": "rad", "positive": "left", "ratio": 10.0},
        "lane_offset": {"column": "y", "positive": "left"},
    },
    "events": {"crash": "hit"},
}


def test_events_may_be_words(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("t,v,hit\n0,36,No\n100,72,yes\n200,72,\n300,72,1\n")
    mapping = {"time": MAPPING["time"], "signals": {"speed": "v"}, "events": {"crash": "hit"}}
    assert read_table(file, mapping=mapping).events["crash"].tolist() == [False, True, False, True]
    file.write_text("t,v,hit\n0,36,no\n100,72,perhaps\n")
    with pytest.raises(InputError, match=r"'hit' must say when an event happens, .*'perhaps'"):
        read_table(file, mapping=mapping)
    # Numbers of a Parquet file, one of which is not known.
    columns = {"t": [0, 100, 200], "v": [36.0, 72.0, 72.0], "hit": [1.0, float("nan"), 0.0]}
    parquet.write_table(pa.table(columns), tmp_path / "log.parquet")
    events = read_table(tmp_path / "log.parquet", mapping=mapping).events
    assert events["crash"].tolist() == [True, False, False]


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
    odd = ("1 × no number in column y; the first: 'oops'",) if kind == "csv" else ()
    assert drive.notes == ("1 row went back in time", *odd)


SPEED = {"time": "t", "signals": {"speed": "v"}}


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ({"rate": 4}, [0, 0.25, 0.5]),
        ({"column": "image", "of_name": True, "unit": "ns"}, [0, 0.1, 0.3]),
        ({"column": "t"}, [0, 2, 4]),
    ],
)
def test_names_of_columns_times_and_unknown_numbers_may_be_told(
    time: dict[str, object], expected: list[float], tmp_path: Path
) -> None:
    file = tmp_path / "log.csv"
    start = 1_479_424_215_880_000_000
    names = [f"cam0\\c_{start + step}.png" for step in (0, 100_000_000, 300_000_000)]
    rows = zip((10, 12, 14), names, ("5", "-1", "7"), (0.5, 9999, 1.5), strict=True)
    file.write_text("".join(f"{t},{name},{v},{y},more\n" for t, name, v, y in rows))
    signals = {"speed": {"column": "v", "unknown": [-1]}, "lane_offset": "y"}
    mapping = {"columns": ["t", "image", "v", "y"], "time": time, "signals": signals, "unknown": [9999]}
    drive = read_table(file, mapping=mapping)
    assert drive.time == pytest.approx(expected)
    assert drive.signals["speed"] == pytest.approx([5, np.nan, 7], nan_ok=True)
    assert drive.signals["lane_offset"] == pytest.approx([0.5, np.nan, 1.5], nan_ok=True)


def test_the_time_is_a_column_or_a_rate(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("t,v\n0,1\n1,2\n")
    for time in ({"column": "t", "rate": 5}, {}, {"unit": "s"}):
        with pytest.raises(InputError, match="expected a column or a rate"):
            read_table(tmp_path / "log.csv", mapping={"time": time})


def test_lines_and_cells_that_cannot_be_read_are_left_out_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("t,v\n0,1\n1\n2,3,4\n-inf,5\n1.5,fast\n0.5,\nnan,6\n")
    drive = read_table(file, mapping=SPEED, gap=2)
    assert drive.time.tolist() == [0.0, 0.5, 1.5]
    assert drive.signals["speed"].tolist() == pytest.approx([1.0, np.nan, np.nan], nan_ok=True)
    assert drive.notes == (
        "2 rows had no time",
        "1 row went back in time",
        "2 rows left out; the first: line 3: expected 2 columns, got 1",
        "1 × no number in column v; the first: 'fast'",
    )


def test_a_long_log_with_a_word_far_down_is_read(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    rows = "".join(f"{number / 10},{number % 40}\n" for number in range(120_000))
    file.write_text(f"t,v\n{rows}12000.0,stop\n")
    drive = read_table(file, mapping=SPEED)
    assert (len(drive), drive.notes) == (120_001, ("1 × no number in column v; the first: 'stop'",))


def test_dates_need_no_unit(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("t,v\n2020-01-01 00:00:00.0,1\n2020-01-01 00:00:00.5,2\n")
    assert read_table(file, mapping=SPEED).time.tolist() == [0.0, 0.5]
    with pytest.raises(InputError, match="column 't' holds dates, which have no unit: leave it out"):
        read_table(file, mapping={"time": {"column": "t", "unit": "ns"}})


def test_signals_and_events_that_are_nearly_spelt_right_are_told(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("t,v\n0,1\n")
    mapping = {"time": "t", "signals": {"spede": "v", "gear": "v"}, "events": {"crsh": "v"}}
    assert read_table(file, mapping=mapping).notes == (
        "no metric uses the signal spede: did you mean 'speed'?",
        "no metric uses the event crsh: did you mean 'crash'?",
    )


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (None, "a table needs a mapping"),
        ({}, "needs the key 'time'"),
        ({"time": ["t"]}, r"time: .*expected the name of a column, .*got \['t'\]"),
        ({"time": {"column": "t", "unit": 0}}, "expected a unit, or a number above 0, got 0"),
        ({"time": {"column": "t", "unit": float("nan")}}, "expected a unit, or a number above 0, got nan"),
        ({"time": {"column": "t", "unit": -1.0}}, "expected a unit, or a number above 0"),
        ({"time": "t", "signals": {"speed": {"column": "v", "unit": "kmh"}}}, "speed unit must be m/s"),
        ({"time": "t", "signals": {"speed": {"column": "v", "ratio": 2.0}}}, "only angles have a steering"),
        ({"time": "t", "signals": {"speed": {"column": "v", "positive": "left"}}}, "a speed has no sides"),
        (
            {"time": "t", "signals": {"brake": {"column": "v", "unit": "bar"}}},
            "expected the number that turns the column into 0 to 1, got 'bar'",
        ),
        ({"time": "t", "signals": {"brake": "twice"}}, "2 columns are called 'twice': rename all but one"),
    ],
)
def test_mappings_that_make_no_sense(tmp_path: Path, mapping: Any, message: str) -> None:
    file = tmp_path / "log.csv"
    file.write_text("t,v,twice,twice\n0,1,2,3\n")
    with pytest.raises(InputError, match=message):
        read_table(file, mapping=mapping)


def test_columns_and_files_that_are_no_numbers_and_no_text(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"t": [1.0], "v": [[1, 2]]}), tmp_path / "log.parquet")
    with pytest.raises(InputError, match=r"column 'v' holds list<.*, expected numbers"):
        read_table(tmp_path / "log.parquet", mapping=SPEED)
    (tmp_path / "log.csv").write_bytes(b"t,v\xfc\n0,1\n")
    with pytest.raises(InputError, match="it is no UTF-8 text"):
        read_table(tmp_path / "log.csv", mapping=SPEED)
    (tmp_path / "log.csv").write_text("")
    with pytest.raises(InputError, match="cannot be read as a table: Empty CSV file"):
        read_table(tmp_path / "log.csv", mapping=SPEED)


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
    with pytest.raises(InputError, match=r"cannot read .*none\.csv"):
        read_table(tmp_path / "none.csv", mapping={"time": "t"})
    file.write_text("t,v\nx,1\n")
    with pytest.raises(InputError, match="none of 1 rows has a time"):
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


def test_who_is_ahead_in_another_lane_is_a_neighbour_and_who_is_ahead_in_ours_is_not(tmp_path: Path) -> None:
    ego = [(100.0, -1.75, 5.0), (102.0, -1.75, 5.0)]
    ahead = _vehicle(2, [(110.0, -1.75, 5.0), (112.0, -1.75, 5.0)])
    beside = _vehicle(3, [(107.0, 1.75, 5.0), (109.0, 1.75, 5.0)])
    file = tmp_path / "scenario.xml"
    file.write_text(_scenario(_vehicle(1, ego) + ahead + beside))
    drive = read_commonroad(file, ego=1)
    assert drive.signals["headway"].tolist() == [6.0, 6.0]
    # Three metres from bumper to bumper, one and a half from side to side.
    assert drive.signals["vehicle_distance"] == pytest.approx([np.hypot(3.0, 1.5)] * 2)


def test_against_the_lane_right_is_still_right(tmp_path: Path) -> None:
    ego = _vehicle(1, [(100.0, -1.25, 5.0), (98.0, -1.25, 5.0)])
    file = tmp_path / "scenario.xml"
    # Half a metre to the left of the middle, eastwards; westwards that is to the right.
    for heading, offset in (("0", -0.5), ("3.14159", 0.5)):
        file.write_text(_scenario(ego.replace("<orientation><exact>0", f"<orientation><exact>{heading}")))
        assert read_commonroad(file).signals["lane_offset"] == pytest.approx([offset] * 2)


def test_a_route_is_followed_for_three_hundred_metres() -> None:
    lanelets = {}
    for number in range(4):
        x = 200.0 * number
        places = np.array([[x, 0.0], [x + 200.0, 0.0]])
        after = (str(number + 1),) if number < 3 else ()
        lanelets[str(number)] = Lanelet(
            str(number), places, np.array([0.0, 200.0]), 3.5, places, after, None, ()
        )
    assert route_ahead(LaneletPosition("0", 190.0, 0.0), lanelets) == {"0": 0.0, "1": 200.0, "2": 400.0}
    assert route_ahead(LaneletPosition("0", 0.0, 0.0), lanelets) == {"0": 0.0, "1": 200.0}


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


def test_parked_vehicles_stand_in_the_way_and_are_nobody_to_drive_along_with(tmp_path: Path) -> None:
    ego = _vehicle(1, [(10.0, -1.75, 5.0), (12.0, -1.75, 5.0)])
    corners = "".join(f"<point><x>{x}</x><y>{y}</y></point>" for x, y in ((-3, -1), (3, -1), (3, 1), (-3, 1)))
    for kind in ("parkedVehicle", "building"):
        parked = (
            f'<staticObstacle id="9"><type>{kind}</type><shape><polygon>{corners}</polygon></shape>'
            "<initialState><position><point><x>30</x><y>-1.75</y></point></position>"
            "<orientation><exact>0</exact></orientation></initialState></staticObstacle>"
        )
        file = tmp_path / "scenario.xml"
        file.write_text(_scenario(ego + parked))
        drive = read_commonroad(file)
        assert drive.name.endswith("#1")
        if kind == "parkedVehicle":
            assert drive.signals["headway"].tolist() == [15.0, 13.0]  # 20 m less half of 4 m and of 6 m
            assert drive.signals["lead_speed"].tolist() == [0.0, 0.0]
        else:
            assert "headway" not in drive.signals


@pytest.mark.parametrize(
    ("old", "new", "note", "rows"),
    [
        ("<exact>1</exact></time>", "<exact>soon</exact></time>", "time/exact, got 'soon'", 2),
        ("<point><x>190.0</x><y>-1.75</y></point>", "<circle/>", "expected an exact position", 2),
        ("<x>190.0</x>", "<x>inf</x>", "expected a number for x, got 'inf'", 2),
        ("<length>4</length>", "", "expected a number for length, got None", 3),
        ("<rectangle><length>4</length><width>2</width></rectangle>", "<circle/>", "for radius, got None", 3),
        ("<point><x>100</x><y>3.5</y></point>", "<point><x>100</x></point>", "lanelet 1: .* for y, got", 3),
        ("<point><x>400</x><y>0.0</y></point>", "", "lanelet 11: expected two bounds of two points", 3),
    ],
)
def test_what_of_a_scenario_cannot_be_read_is_left_out_and_told(
    tmp_path: Path, old: str, new: str, note: str, rows: int
) -> None:
    # The other vehicle comes second, or first where it is the one that breaks.
    ego = _vehicle(7, [(180.0, -1.75, 20.0), (190.0, -1.75, 20.0), (200.0, -1.75, 20.0)])
    other = _vehicle(8, [(230.0, -1.75, 20.0), (240.0, -1.75, 20.0), (250.0, -1.75, 20.0)])
    whole = _scenario(other + ego if rows == 3 else ego + other)
    file = tmp_path / "scenario.xml"
    file.write_text(whole.replace(old, new, 1))
    drive = read_commonroad(file, ego=7)
    assert len(drive) == rows
    assert len(drive.notes) == 1
    assert re.search(rf"^1 × left out; the first: .*{note}", drive.notes[0])
    file.write_text(whole)
    assert read_commonroad(file, ego=7).notes == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<commonRoad", "broken XML"),
        ("<roads/>", "expected the element commonRoad"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><commonRoad/>', "must not declare"),
        ("<commonRoad timeStepSize='0.1'/>", "no drive in this scenario"),
        (
            _scenario(_vehicle(7, [(0.0, 0.0, 1.0)] * 2)).replace('"0.5"', '"often"'),
            "expected moving vehicles and",
        ),
        (_scenario(_vehicle(7, [(0.0, 0.0, 1.0)] * 2)).replace('"0.5"', '"0"'), "and a timeStepSize"),
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
