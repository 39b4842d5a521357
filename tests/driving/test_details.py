"""Small things of driving: who counts as near or ahead, what is left out, and what is said of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet
import pytest
from tests.driving.drives.readers.test_readers import _bounds, _scenario, _tub, _vehicle
from tests.driving.oracles.test_learning import GOOD, MUTANTS
from tests.driving.test_method import asked, cases_of, judged, lap
from tests.kept import as_kept, defaults_of

from roadworthy.cases import Status
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.readers import drives_in
from roadworthy.driving.drives.readers.commonroad import (
    Lanelet,
    LaneletPosition,
    _beside,
    _place,
    _spread,
    places_of,
    read_commonroad,
)
from roadworthy.driving.drives.readers.recorded import DRIVE_FILE, is_recorded, write_drive
from roadworthy.driving.drives.readers.simulator_logs import read_donkey
from roadworthy.driving.drives.readers.tables import _number, read_table
from roadworthy.driving.method import NO_FRAMES
from roadworthy.driving.metrics import MetricSettings, compute, per_step
from roadworthy.driving.metrics.operators import _time_to
from roadworthy.driving.oracles import Oracle
from roadworthy.driving.oracles.learning import LearnedOracle, OracleProblem
from roadworthy.driving.oracles.sweeping import OracleRow, OracleTable
from roadworthy.driving.sectors import SectorTable, variance_scores
from roadworthy.driving.simulators import Scenario
from roadworthy.errors import InputError, NotApplicable

approx: Any = pytest.approx  # may stand beside what is exact in one tuple
NAN = math.nan


def test_drives_of_folders(tmp_path: Path) -> None:
    for name in ("b/second", "a"):
        (tmp_path / name).mkdir(parents=True)
        write_drive(Drive(name, [0.0, 0.1], {"speed": [1.0, 2.0]}), tmp_path / name / DRIVE_FILE)
    found = list(drives_in([tmp_path]))
    assert [(place, drive.name) for place, drive in found] == [
        (tmp_path / "a", "a"), (tmp_path / "b/second", "b/second"),
    ]  # fmt: skip
    assert [place for place, _ in drives_in([tmp_path / "b", tmp_path / "a"])] == [
        tmp_path / "b/second", tmp_path / "a",
    ]  # fmt: skip
    (file,) = (tmp_path / "a").iterdir()
    assert [(place, drive.name) for place, drive in drives_in([file])] == [(file, "a")]
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(InputError, match=rf"{place.name}: found no drive: expected {file.name}, as `dri"):
            list(drives_in([place]))


def test_bounds_with_more_points_on_one_side() -> None:
    left = "".join(f"<point><x>{x}</x><y>4</y></point>" for x in (0, 10, 40))
    right = "".join(f"<point><x>{x}</x><y>0</y></point>" for x in (0, 40))
    text = f'<lanelet id="1"><leftBound>{left}</leftBound><rightBound>{right}</rightBound></lanelet>'
    lane = Lanelet.of(ElementTree.fromstring(text))
    # The right bound gets a point in its middle, at 20 m.
    assert lane.middle.tolist() == [[0, 2], [15, 2], [40, 2]]
    assert lane.marks.tolist() == [0, 15, 40]
    assert lane.width == pytest.approx((4 + math.hypot(10, 4) + 4) / 3)
    assert (lane.left, lane.beside, lane.after) == (None, (), ())
    bent = _spread(np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 1.0]]), 5)
    assert bent.tolist() == [[0, 0], [1, 0], [2, 0], [3, 0], [3, 1]]
    point = "<point><x>1</x><y>1</y></point>" * 2
    none = f"<lanelet><leftBound>{point}</leftBound><rightBound>{point}</rightBound></lanelet>"
    with pytest.raises(ValueError, match="expected bounds of some length"):
        Lanelet.of(ElementTree.fromstring(none))


def lane(id: str, left: float, right: float, *, way: str = "", sides: str = "") -> Lanelet:
    element = f'<lanelet id="{id}">{_bounds(left, right, (0, 100))}{way}{sides}</lanelet>'
    return Lanelet.of(ElementTree.fromstring(element))


def test_lanes_are_counted_from_the_left_and_only_those_of_our_direction() -> None:
    oncoming = '<adjacentLeft ref="0" drivingDir="opposite"/><adjacentRight ref="2" drivingDir="same"/>'
    lanes = {
        "0": lane("0", 7, 3.5),
        "1": lane("1", 3.5, 0, sides=oncoming, way='<successor ref="9"/><successor ref="8"/>'),
        "2": lane("2", 0, -3.5, sides='<adjacentLeft ref="1" drivingDir="same"/>'),
        "3": lane(
            "3", -3.5, -7, sides='<adjacentLeft ref="2" drivingDir="same"/>', way='<successor ref="7"/>'
        ),
    }
    assert [one.number(lanes) for one in lanes.values()] == [0, 0, 1, 2]
    assert (lanes["1"].left, lanes["1"].beside, lanes["1"].after) == (None, ("0", "2"), ("9", "8"))
    assert _beside(lanes, "1") == {"0", "2"}
    assert _beside(lanes, "2") == {"1", "9", "8"}
    assert _beside(lanes, "3") == {"2"}
    # A lane that is its own left neighbour does not count for ever.
    round_ = {"1": lane("1", 3.5, 0, sides='<adjacentLeft ref="1" drivingDir="same"/>')}
    assert round_["1"].number(round_) == 20


def test_where_something_is_by_where_it_heads() -> None:
    lanes = {"wide": lane("wide", 4, -4), "narrow": lane("narrow", 2, -1)}
    at = np.array([50.0, 1.0])
    # To the right of the middle is positive: 1 m to the left of one, half a metre of the other.
    assert [(one.lanelet, one.along, one.offset) for one in places_of(at, None, lanes)] == [
        ("narrow", 50, -0.5), ("wide", 50, -1.0),
    ]  # fmt: skip
    assert [one.offset for one in places_of(at, 0.4, lanes)] == [-0.5, -1.0]
    assert [one.offset for one in places_of(at, NAN, lanes)] == [-0.5, -1.0]
    assert [one.offset for one in places_of(at, math.pi, lanes)] == [0.5, 1.0]
    assert places_of(np.array([50.0, 9.0]), None, lanes) == []
    assert places_of(np.array([150.0, 0.0]), None, lanes) == []
    vehicle: Any = SimpleNamespace(position=at[None], heading=np.zeros(1))
    found = _place(vehicle, 0, lanes, None)
    assert found is not None
    assert found.lanelet == "narrow"
    stays = _place(vehicle, 0, lanes, LaneletPosition("wide", 40.0, 0.0))
    assert stays is not None
    assert stays.lanelet == "wide"


def test_older_scenarios_have_obstacles_that_move_or_are_parked(tmp_path: Path) -> None:
    ego = _vehicle(1, [(10.0, -1.75, 5.0), (12.0, -1.75, 5.0), (14.0, -1.75, 5.0)])
    ego = ego.replace("dynamicObstacle", "obstacle")

    def parked(number: int, x: float, more: str = "") -> str:
        shape = "<shape><circle><radius>1.5</radius></circle></shape>"
        state = (
            f"<initialState><position><point><x>{x}</x><y>-1.75</y></point></position>{more}</initialState>"
        )
        return f'<obstacle id="{number}"><type> parkedVehicle </type>{shape}{state}</obstacle>'

    file = tmp_path / "old.xml"
    file.write_text(_scenario(ego + parked(5, 40) + parked(6, 30)))
    drive = read_commonroad(file)
    assert drive.name.endswith("old.xml#1")
    # 20 m to the nearer of both, less 2 m and the radius of 1.5 m.
    assert drive.signals["headway"] == pytest.approx([16.5, 14.5, 12.5])
    assert drive.signals["lead_speed"].tolist() == [0, 0, 0]
    assert drive.time == pytest.approx([0.0, 0.5, 1.0])
    broken = parked(5, 40).replace("<point><x>40</x><y>-1.75</y></point>", "<circle/>")
    lost = parked(6, 30).replace("<circle><radius>1.5</radius></circle>", "")
    reference = '<lanelet ref="2"/>'
    file.write_text(_scenario(ego + broken + lost + reference))
    drive = read_commonroad(file)
    assert "headway" not in drive.signals
    assert drive.notes == ("2 × left out; the first: parked vehicle 5: expected an exact position",)
    file.write_text(_scenario(ego + lost))
    assert read_commonroad(file).notes == (
        "1 × left out; the first: vehicle 6: expected the shape of a rectangle, a circle or a polygon",
    )


def test_of_several_vehicles_the_one_with_the_longest_record_is_driven(tmp_path: Path) -> None:
    file = tmp_path / "many.xml"
    two, three = ([(10.0 + n, -1.75, 5.0) for n in range(count)] for count in (2, 3))
    file.write_text(
        _scenario(_vehicle(31, two) + _vehicle(30, three) + _vehicle(8, three) + _vehicle(9, three))
    )
    assert read_commonroad(file).name.endswith("#9"), "the shortest name, then the last"
    many = "".join(_vehicle(number, two) for number in range(100, 121))
    file.write_text(_scenario(many))
    with pytest.raises(InputError, match=r"no vehicle 5: there are 100, .*, 119 …$"):
        read_commonroad(file, ego=5)
    file.write_text(_scenario("".join(_vehicle(number, two) for number in range(100, 120))))
    with pytest.raises(InputError, match=r"there are 100, .*, 119$"):
        read_commonroad(file, ego=5)


def test_who_is_beside_or_behind_is_not_ahead_and_who_is_far_is_nobody(tmp_path: Path) -> None:
    file = tmp_path / "around.xml"
    ego = [(100.0, -1.75, 5.0), (102.0, -1.75, 5.0)]

    def driven(*others: str) -> Drive:
        file.write_text(_scenario(_vehicle(1, ego) + "".join(others)))
        return read_commonroad(file, ego=1)

    def at(x: float, y: float, kind: str = "car") -> str:
        return _vehicle(2, [(x, y, 3.0), (x + 2, y, 3.0)], kind)

    # Both are 4 m long: a centre that is not behind ours is ahead, and overlapping is a headway of 0.
    assert driven(at(100.0, -1.75)).signals["headway"].tolist() == [0, 0]
    assert driven(at(103.0, -1.75)).signals["headway"].tolist() == [0, 0]
    assert driven(at(105.0, -1.75)).signals["headway"].tolist() == [1, 1]
    assert "headway" not in driven(at(99.0, -1.75)).signals
    # 60 m away nobody is a neighbour; a bicycle never is.
    assert "vehicle_distance" not in driven(at(40.0, -1.75)).signals
    assert driven(at(40.5, -1.75)).signals["vehicle_distance"] == pytest.approx([55.5, 55.5])
    assert "vehicle_distance" not in driven(at(90.0, -1.75, "bicycle")).signals
    assert driven(at(110.0, -1.75, "bicycle")).signals["pedestrian_distance"].tolist() == [6, 6]
    # 2 m wide both: from 2 m aside one passes by.
    assert "vehicle_distance" not in driven(at(110.0, 0.2)).signals
    assert driven(at(110.0, 0.25)).signals["vehicle_distance"] == pytest.approx([6.0, 6.0])
    assert driven(at(104.0, -1.75)).events["collision"].tolist() == [True, True]
    assert "vehicle_distance" not in driven(at(100.5, -1.75)).signals
    assert driven(at(100.0, -1.75)).signals["vehicle_distance"].tolist() == [0, 0]
    near = _vehicle(2, [(110.0, -1.75, 3.0), (112.0, -1.75, 3.0)])
    far = _vehicle(3, [(130.0, -1.75, 9.0), (132.0, -1.75, 9.0)])
    for others in ((near, far), (far, near)):
        both = driven(*others)
        assert (both.signals["headway"][0], both.signals["lead_speed"][0]) == (6, 3)


def test_a_tub_of_which_some_lines_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tub: expected the folder of a Donkey tub"):
        read_donkey(tmp_path / "tub")
    good = {"_timestamp_ms": 10, "user/angle": 0.5, "user/throttle": 0.2, "cte": 0.2}
    lines = [json.dumps(good), "", "{broken", "[1]", json.dumps({**good, "_timestamp_ms": 60, "_index": 9})]
    (tmp_path / "catalog_2.catalog").write_text("\n".join(lines))
    (tmp_path / "catalog_10.catalog").write_text(json.dumps({**good, "_timestamp_ms": 110, "cte": -0.21}))
    manifest = [[], [], {}, {}, {"deleted_indexes": [9]}]
    drive = read_donkey(tmp_path, half_lane=0.2, full_lock=20)
    assert drive.time == pytest.approx([0.0, 0.05, 0.1])
    assert drive.signals["steering"] == pytest.approx([10.0] * 3)
    assert drive.events["line crossing"].tolist() == [False, False, True]
    assert drive.notes[0].startswith("2 rows left out; the first: catalog_2.catalog:3: ")
    (tmp_path / "manifest.json").write_text("\n\n".join(map(json.dumps, manifest)))
    assert len(read_donkey(tmp_path)) == 2
    assert "line crossing" not in read_donkey(tmp_path).events
    (tmp_path / "manifest.json").write_text(json.dumps([]))
    assert len(read_donkey(tmp_path)) == 3, "a manifest without a fifth line deletes nothing"
    (tmp_path / "manifest.json").write_text(
        "\n".join(map(json.dumps, [*manifest[:4], {"deleted_indexes": [True]}]))
    )
    with pytest.raises(InputError, match=r"must be a list of whole numbers, got \[True\]"):
        read_donkey(tmp_path)
    only = tmp_path / "only"
    only.mkdir()
    with pytest.raises(
        InputError, match=r"can be used; the first: record_1.json: expected an object, got a list"
    ):
        read_donkey(_tub(only, [[1]]))


def test_cells_of_tables_and_units_that_are_numbers(tmp_path: Path) -> None:
    assert [_number(cell) for cell in (" TRUE ", "false", "2.5 ", "-1e3")] == [1.0, 0.0, 2.5, -1000.0]
    assert all(math.isnan(_number(cell)) for cell in (None, "", "yes", "1,5"))
    file = tmp_path / "log.csv"
    file.write_text("t,b,h,a\n0,50,1,2\n10,100,3,-4\n")
    mapping = {
        "time": {"column": "t", "unit": 0.05},
        "signals": {
            "brake": {"column": "b", "unit": 0.01},
            "lane_offset": {"column": "h", "unit": 2, "positive": "left"},
            "target_steering": {"column": "a", "ratio": 2.0}, "lead_speed": {"column": "b", "unit": "km/h"},
        },
    }  # fmt: skip
    drive = read_table(file, mapping=mapping)
    assert drive.time.tolist() == [0.0, 0.5]
    assert drive.signals["brake"].tolist() == [0.5, 1.0]
    assert drive.signals["lane_offset"].tolist() == [-2.0, -6.0]
    assert drive.signals["target_steering"].tolist() == [1.0, -2.0]
    assert drive.signals["lead_speed"] == pytest.approx([50 / 3.6, 100 / 3.6])


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (lambda drive: drive.cut_by_time(0), "seconds of a sector must be above 0, got 0"),
        (lambda drive: drive.cut_by_time(NAN), "seconds of a sector must be above 0, got nan"),
        (lambda drive: drive.cut_by_length(0.0), "metres of a sector must be above 0, got 0"),
        (lambda drive: drive.cut_by_length(-1), "metres of a sector must be above 0, got -1"),
        (lambda _: Drive("d", [0, 1], sectors=[0, 1], sector_names=["a"]), "drive d: 2 sectors have 1 names"),
        (lambda _: Drive("d", [0, 1], sectors=[0, 2]), "from 0 by steps of 1"),
        (lambda _: Drive("d", [0, 1], sectors=[1, 1]), "from 0 by steps of 1"),
        (lambda _: Drive("d", [0, 1], sectors=[0, NAN]), "from 0 by steps of 1"),
        (lambda _: Drive("d", []), "drive d: expected at least one row, got none"),
        (lambda _: Drive("d", [0, NAN]), "drive d: the time of row 1 is nan: leave such rows out"),
    ],
)
def test_what_no_drive_is(cut: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        cut(Drive("d", [0.0, 1.0], {"distance": [0.0, 9.0]}))


def test_a_border_belongs_to_the_sector_that_it_begins() -> None:
    drive = Drive("d", [5.0, 6.0, 7.0, 8.5], {"distance": [0.0, 9.9, 10.0, 20.0]}, gap=2)
    assert drive.cut_by_length(10).sectors.tolist() == [0, 0, 1, 2]
    assert drive.cut_by_time(2).sectors.tolist() == [0, 0, 1, 1]
    assert drive.cut_by_time(0.5).sectors.tolist() == [0, 1, 2, 3], "sectors without rows are none"


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("Mean(Max(SP))", r"Mean\(Max\(SP\)\): operators apply to a quantity, or to DevT of it"),
        ("Count(Count(BR))", "an event is not a metric: ask for Count, TimeC, TimeE, RT or RA"),
        ("Mean(BR)", r"Mean\(BR\): Mean does not apply to an event"),
        ("RT(SP)", r"RT\(SP\): RT applies to events only"),
        ("Mean(T)", r"Mean\(T\): T is one number, no operator applies to it"),
    ],
)
def test_metrics_that_mean_nothing(metric: str, message: str) -> None:
    drive = Drive("d", np.arange(30) / 10, {"speed": np.full(30, 3.0), "brake": np.zeros(30)})
    with pytest.raises(InputError, match=message):
        compute(drive, [metric])


def test_what_the_settings_do_not_say_is_missing() -> None:
    drive = Drive(
        "d",
        np.arange(30) / 10,
        {"x": np.arange(30.0), "speed": np.full(30, 3.0), "lane_offset": np.zeros(30)},
    )
    empty = MetricSettings.standard().model_copy(update={"bins": {}, "bands": {}, "conditions": {}})
    names = ["Mode(SP)", "PowF(LP)", "TimeC(LP)", "Mean(SP)"]
    found = compute(drive, names, settings=empty)
    assert dict(found.missing) == {
        "Mode(SP)": "a width of bins for SP in the settings",
        "PowF(LP)": "a band for LP in the settings",
        "TimeC(LP)": "a condition for TimeC(LP) in the settings",
    }
    with pytest.raises(InputError, match=r"Mode\(SP\) of drive d needs a width of bins for SP"):
        found["Mode(SP)"]
    with pytest.raises(InputError, match=r"Max\(SP\) of drive d was not asked for"):
        found["Max(SP)"]
    with pytest.raises(InputError, match=r"HP of drive d needs the signal headway"):
        per_step(drive, ["HP"])
    with pytest.raises(InputError, match=r"Max\(SP\) is one number for many steps: .* or for SP per step"):
        per_step(drive, ["Max(SP)"])
    with pytest.raises(InputError, match="expected a list of metrics, got the text 'SP'"):
        compute(drive, "SP")


def test_targets_and_reactions_that_the_settings_do_not_say() -> None:
    time = np.arange(30) / 10
    events = {"hazard": time == 1.0}
    drive = Drive("d", time, {"lane_offset": np.zeros(30), "brake": (time > 1.5) * 0.5}, events)
    empty = MetricSettings.standard().model_copy(update={"targets": {}, "reactions": {}})
    found = compute(drive, ["DevT(LP)", "RT(BR)"], settings=empty)
    assert dict(found.missing) == {
        "DevT(LP)": "a target of LP in the settings",
        "RT(BR)": "what counts as a reaction for RT(BR) in the settings",
    }


def test_drives_of_a_requirement_are_called_after_it() -> None:
    quality = asked({"SD(LP)": 0.2}, Scenario("world:town"), Scenario("world:meadow"))
    keys = list(dict.fromkeys(case.asks[0].scenario.key for case in cases_of(quality)))  # type: ignore[union-attr]
    assert keys == [("R1", 1), ("R1", 2)]


def test_seconds_to_cover_a_distance() -> None:
    found = _time_to(np.array([10.0, 10.0, 10.0, NAN, 10.0]), np.array([2.0, 0.0, -1.0, 1.0, NAN]))
    assert found == pytest.approx([5.0, math.inf, math.inf, NAN, NAN], nan_ok=True)
    assert _time_to(np.array([10.0, 10.0]), np.array([1.0, 1.1]), 1.0) == pytest.approx([math.inf, 10 / 1.1])


def test_braking_counts_from_a_pedal_that_was_seen_to_go_down_to_a_stand() -> None:
    time = np.arange(60) / 10
    speed = np.concatenate([np.full(10, 10.0), np.linspace(10, 0, 20), np.zeros(10), np.full(20, 5.0)])
    distance = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 20)])
    brake = np.where((time >= 1.0) & (time < 4.0), 0.5, 0.0)
    brake[50:55] = 0.5  # braked again, but not to a stand

    def driven(**changes: Any) -> float:
        signals = {"speed": speed, "distance": distance, "brake": brake} | changes
        return float(compute(Drive("d", time, signals), ["BD"])["BD"][0])

    first = int(np.flatnonzero(speed < 0.1)[0])
    assert driven() == pytest.approx(distance[first] - distance[10], abs=0.6)
    assert math.isnan(driven(brake=np.where(time < 4.0, 0.5, 0.0))), "it began before the record"
    assert math.isnan(driven(brake=np.where((time >= 1.0) & (time < 2.0), 0.5, 0.0))), "it let go before"
    # What is not known between is passed over.
    holes = speed.copy()
    holes[[15, 16]] = NAN
    assert driven(speed=holes) == pytest.approx(driven(), abs=1e-9)


def test_variances_that_are_explained_exactly() -> None:
    one, two = np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.0, 1.0, -1.0, -1.0])
    table = SectorTable.of({"b": one, "a": two, "c": [3.0] * 4})
    half = variance_scores(table, explained=0.5)
    assert (half.ratios, half.constant) == (approx((0.5,)), ("c",))
    whole = variance_scores(table, explained=1.0)
    assert whole.ratios == pytest.approx((0.5, 0.5))
    assert whole.ranking == ("a", "b"), "of equal scores the first name"
    assert len(variance_scores(table, explained=0.51).ratios) == 2
    with pytest.raises(InputError, match="the unit is lap, track or driver, got 'day'"):
        table.units("day")  # type: ignore[arg-type]


def test_an_oracle_says_what_was_cut_off_and_not_proved() -> None:
    problem = OracleProblem.of(GOOD, MUTANTS, metrics=["SD(LP)"])
    learned = problem.solve()
    collections = [replace(one, cut_off=("lap 9", "lap 10")) for one in problem.collections]
    cut = replace(problem, collections=tuple(collections))
    lines = LearnedOracle(cut, learned.solution).lines()
    assert "Cut off, so not counted as laps, 2: lap 9, lap 10" in lines
    assert isinstance(learned.solution, Oracle)
    row = OracleRow(1, 0, learned.solution, 0, (), ("b",))
    unproved = replace(row, oracle=replace(row.oracle, bound=row.oracle.alarms + 1))
    assert not unproved.oracle.optimal
    for rows, told in (((row,), False), ((row, unproved), True)):
        table = LearnedOracle(problem, OracleTable(rows, 1, 1, 1, 1))
        assert ("* not proved optimal within --seconds" in table.lines()) is told
    with pytest.raises(InputError, match="no metric is known in every sector of all drives: name some with"):
        OracleProblem.of(
            [Drive("x", [0.0, 0.1], {"speed": [1.0, 2.0]})],
            [Drive("y", [0.0, 0.1], {"throttle": [0.0, 0.1]})],
        )


def test_without_thresholds_what_was_driven_passes_by_1() -> None:
    found = judged(asked({}), lap(), 1)
    assert (found.status, found.margin) == (Status.PASSED, 1.0)
    crashed = judged(asked({}), lap(crash=np.arange(30) == 14), 1)
    assert (crashed.status, crashed.margin) == (Status.VIOLATED, -1.0)
    assert len(NO_FRAMES) == 0
    assert list(NO_FRAMES) == []
    with pytest.raises(IndexError):
        NO_FRAMES[0]


def test_a_sector_in_which_the_drive_began_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    from roadworthy.driving import method

    monkeypatch.setattr(method, "partial_sectors", lambda drive: np.array([True, False, True]))
    with pytest.raises(NotApplicable, match="the drive began inside the sector"):
        judged(asked({"Max(LP)": 0.5}), lap(), 0)
    with pytest.raises(
        NotApplicable, match=r"the drive ended inside the sector: it ended in town-03 after 2.9 s"
    ):
        judged(asked({"Max(LP)": 0.5}), lap(), 2)
    assert judged(asked({"Max(LP)": 0.5}), lap(), 1).status is Status.PASSED


def test_standing_still_is_the_last_sectors_fault() -> None:
    drive = lap("stopped")
    assert judged(asked({}), drive, 1).status is Status.PASSED
    stood = judged(asked({}), drive, 2)
    assert stood.reason == "the vehicle stood still until the drive was ended after 2.9 s"


def test_what_is_done_when_nothing_is_said_is_as_kept() -> None:
    as_kept(Path(__file__).with_name("kept") / "defaults.txt", defaults_of("driving"))


def test_which_files_are_drives_that_were_recorded(tmp_path: Path) -> None:
    drive = Drive("me", [0.0, 0.1], {"speed": [1.0, 2.0]})
    for name in ("drive.parquet", "LAP.PARQUET"):
        write_drive(drive, tmp_path / name)
        assert is_recorded(tmp_path / name)
    assert is_recorded(tmp_path), "the folder that holds it"
    (tmp_path / "drive.parquet").rename(tmp_path / "drive.bin")
    assert not is_recorded(tmp_path / "drive.bin"), "by its content, but not by its name"
    assert not is_recorded(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("no table")
    assert not is_recorded(tmp_path / "text.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"speed": [1.0]}), tmp_path / "table.parquet")
    assert not is_recorded(tmp_path / "table.parquet"), "a table of somebody else"
