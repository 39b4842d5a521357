"""Driving quality as a method: sectors are cases, one drive each scenario, thresholds and events judge."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Acceptance, Answers, Case, Driven, OutcomeStatus, Requirement, Status
from roadworthy.cases import RecordDrive as Ask
from roadworthy.driving import fit_oracle
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.drive import partial_sectors
from roadworthy.driving.method import NO_FRAMES, DrivingMethod
from roadworthy.driving.requirements import DrivingQuality, Thresholds, collect, read_thresholds
from roadworthy.driving.simulators import DriveLimits, Scenario, ScenarioDriver
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Signals
from roadworthy.models import SystemUnderTest, Truth, callable_model
from roadworthy.runs import read_rows, run

TOWN = Scenario("world:town", {"traffic": 0})


def asked(thresholds: Mapping[str, float], *scenarios: Scenario, **others: Any) -> DrivingQuality:
    return DrivingQuality(Thresholds(thresholds), scenarios or (TOWN,), **others)


def lap(ended: str = "lap complete", sectors: int = 3, **changes: Any) -> Drive:
    """Return a drive of ten rows in each sector of the town; the offset in sector n is n metres over 10."""
    numbers = np.repeat(np.arange(sectors), 10)
    signals = {"lane_offset": (numbers + 1) / 10.0, "speed": np.full(len(numbers), 8.0)}
    events = {"crash": np.zeros(len(numbers)), "line crossing": np.zeros(len(numbers))}
    return Drive(
        "lap",
        np.arange(len(numbers)) / 10,
        signals | changes.pop("signals", {}),
        events | changes,
        sectors=numbers,
        sector_names=[f"town-{number + 1:02d}" for number in range(sectors)],
        ended=ended,
    )


def cases_of(quality: DrivingQuality) -> list[Case]:
    found = DrivingMethod().cases(quality.requirement("R1"), NO_FRAMES, np.random.default_rng(0))
    return [case for case in found if isinstance(case, Case)]


def judged(quality: DrivingQuality, drive: Drive, number: int) -> Any:
    return DrivingMethod().judge(cases_of(quality)[number], Answers((Driven(drive),)))


def test_every_sector_is_a_case_and_a_scenario_is_driven_once() -> None:
    rain = Scenario("world:town", {"traffic": 0, "weather": "rainy"})
    cases = cases_of(asked({"SD(LP)": 0.2}, TOWN, rain))
    assert len(cases) == 20
    assert cases[0].id == "world:town traffic=0/town-01"
    assert cases[10].id == "world:town traffic=0 weather=rainy/town-01"
    assert cases[10].parameters == {
        "simulator": "world:town",
        "sector": "town-01",
        "option.traffic": 0,
        "option.weather": "rainy",
    }
    assert len({id(case.asks[0]) for case in cases}) == 2
    assert len({case.id for case in cases}) == len(cases)


def test_a_second_lap_has_cases_of_its_own() -> None:
    cases = cases_of(asked({"SD(LP)": 0.2}, Scenario("world:town", {}, DriveLimits(laps=2))))
    assert [case.parameters["sector"] for case in cases[9:11]] == ["town-10", "town-01 lap 2"]
    assert len(cases) == 20


def test_the_margin_is_the_share_of_the_nearest_threshold() -> None:
    quality = asked({"Max(LP)": 0.25, "Min(SP)": 4.0})
    first, second, third = (judged(quality, lap(), number) for number in range(3))
    assert first.status is Status.PASSED
    assert first.margin == pytest.approx(0.6)
    assert first.measures == {"Max(LP)": 0.1, "Min(SP)": 8.0, "nearest": "Max(LP)"}
    assert second.margin == pytest.approx(0.2)
    assert third.status is Status.VIOLATED
    assert third.margin == pytest.approx(-0.2)
    assert third.reason == "Max(LP) is 0.3, above 0.25"


def test_a_value_at_the_threshold_raises_no_alarm() -> None:
    found = judged(asked({"Max(LP)": 0.3}), lap(), 2)
    assert (found.status, found.margin) == (Status.PASSED, 0.0)


def test_a_metric_that_gets_worse_downwards() -> None:
    found = judged(asked({"Mean(SP)": 10.0}), lap(), 0)
    assert found.status is Status.VIOLATED
    assert found.margin == pytest.approx(-0.2)
    assert found.reason == "Mean(SP) is 8, below 10"


def test_scales_say_what_margins_are_shares_of() -> None:
    quality = DrivingQuality(Thresholds({"Max(LP)": 0.25}, {}, {"Max(LP)": 1.0}), (TOWN,))
    assert judged(quality, lap(), 0).margin == pytest.approx(0.15)


@pytest.mark.parametrize("event", ["crash", "line crossing"])
def test_what_is_fatal_violates_whatever_the_metrics_say(event: str) -> None:
    drive = lap(**{event: np.arange(30) == 14})
    assert judged(asked({"Max(LP)": 9.0}), drive, 0).status is Status.PASSED
    found = judged(asked({"Max(LP)": 9.0}), drive, 1)
    assert (found.status, found.margin) == (Status.VIOLATED, -1.0)
    assert found.reason == f"{event} after 1.4 s"
    worse = judged(asked({"Max(LP)": 0.05}), drive, 1)
    assert worse.margin == pytest.approx(-3.0)
    assert judged(asked({"Max(LP)": 9.0}, events=("collision",)), drive, 1).status is Status.PASSED


def test_a_sector_that_the_drive_did_not_reach_is_not_applicable() -> None:
    drive = lap("crash", crash=np.arange(30) == 29)
    assert judged(asked({"Max(LP)": 9.0}), drive, 2).status is Status.VIOLATED
    with pytest.raises(
        NotApplicable, match=r"did not reach the sector: it ended in town-03 after 2.9 s \(crash\)"
    ):
        judged(asked({"Max(LP)": 9.0}), drive, 3)


def test_half_a_sector_is_not_applicable() -> None:
    with pytest.raises(NotApplicable, match=r"inside the sector: .*time over"):
        judged(asked({"Max(LP)": 0.2}), lap("time over"), 2)
    assert judged(asked({"Max(LP)": 0.2}), lap("time over"), 1).status is Status.PASSED


def test_standing_still_for_good_violates_the_sector_where_it_happens() -> None:
    found = judged(asked({"Max(LP)": 9.0}), lap("stopped"), 2)
    assert (found.status, found.margin) == (Status.VIOLATED, -1.0)
    assert "stood still" in found.reason


def test_a_metric_that_is_not_known_is_not_applicable_unless_another_one_raises_an_alarm() -> None:
    unknown = np.concatenate([np.full(10, math.nan), np.full(20, 8.0)])
    drive = lap(signals={"speed": unknown})
    with pytest.raises(NotApplicable, match=r"Mean\(SP\) has no value in this sector"):
        judged(asked({"Max(LP)": 0.2, "Mean(SP)": 5.0}), drive, 0)
    assert judged(asked({"Max(LP)": 0.2, "Mean(SP)": 5.0}), drive, 1).status is Status.PASSED
    alarmed = judged(asked({"Max(LP)": 0.05, "Mean(SP)": 5.0}), drive, 0)
    assert (alarmed.status, alarmed.measures) == (Status.VIOLATED, {"Max(LP)": 0.1})
    with pytest.raises(NotApplicable, match=r"Mean\(HP\) needs the signal headway"):
        judged(asked({"Mean(HP)": 5.0}), drive, 1)


def test_a_sector_with_two_pieces_is_as_bad_as_its_worse_one() -> None:
    drive = lap().with_sectors(np.repeat([0, 1, 2], 10), ["town-01", "town-02", "town-01"])
    found = judged(asked({"Max(LP)": 0.25}), drive, 0)
    assert (found.status, found.measures) == (Status.VIOLATED, {"Max(LP)": 0.3})
    half = lap(signals={"lane_offset": np.repeat([0.1, 0.2, math.nan], 10)})
    half = half.with_sectors(np.repeat([0, 1, 2], 10), ["town-01", "town-02", "town-01"])
    with pytest.raises(NotApplicable, match="has no value"):
        judged(asked({"Max(LP)": 0.25}), half, 0)
    assert judged(asked({"Max(LP)": 0.05}), half, 0).status is Status.VIOLATED


class Swerving:
    """The careful driver, who swerves between two times."""

    def __init__(self, begin: float, end: float, by: float) -> None:
        self.name, self.begin, self.end, self.by = "swerving", begin, end, by

    def predict(self, frames: Any, /) -> list[Signals]:
        (frame,) = frames
        now = float(frame.id.rpartition("-")[2])
        more = self.by * math.sin(2 * now) if self.begin < now < self.end else 0.0
        return [Signals(steering=frame.signals.steering + more, speed=frame.signals.speed)]


SHORT = Scenario("world:meadow", {"traffic": 0, "fps": 5.0}, DriveLimits(metres=320))


def _rows(system: SystemUnderTest, quality: DrivingQuality, folder: Path, **options: Any) -> list[Any]:
    requirement = quality.requirement("R1", **options)
    run(DrivingMethod(), requirement, NO_FRAMES, system, out=folder, simulator=ScenarioDriver())
    return list(read_rows(folder))


def test_thresholds_of_the_careful_driver_find_one_who_swerves(tmp_path: Path) -> None:
    simulator = ScenarioDriver()
    drives = [simulator.drive(SHORT, one) for one in (Truth(), Swerving(0, 99, 1.5))]
    good, bad = (collect([one], ["SD(LP)", "SD(SA)"]).table for one in drives)
    oracle = fit_oracle(good, bad)
    quality = DrivingQuality(Thresholds.of(oracle), (SHORT,), tuple(good.sectors))
    rows = _rows(Truth(), quality, tmp_path / "good")
    assert [row["status"] for row in rows] == ["passed"] * len(good)
    assert min(row["margin"] for row in rows) == 0.0  # the thresholds are tight
    later = _rows(Swerving(10.0, 99, 1.5), quality, tmp_path / "bad")
    assert [row["status"] for row in later[:1]] == ["passed"]
    assert later[-1]["status"] == "violated"
    assert later[-1]["reason"].startswith("SD(")
    again = _rows(Swerving(10.0, 99, 1.5), quality, tmp_path / "again")
    assert [row["margin"] for row in again] == [row["margin"] for row in later]


@pytest.mark.parametrize("ended", ["lap complete", "time over"])
def test_the_whole_drive_is_judged_as_one_and_not_by_its_worst_sector(ended: str) -> None:
    # The mean offset is 0.2 over all sectors and 0.3 in the last; it varies between sectors, not within.
    quality = asked({"Mean(LP)": 0.25, "SD(LP)": 0.05}, sectors=("whole drive",))
    assert len(cases_of(quality)) == 1
    found = judged(quality, lap(ended), 0)
    assert (found.status, found.reason[:7]) == (Status.VIOLATED, "SD(LP) ")
    assert found.measures["Mean(LP)"] == pytest.approx(0.2)
    assert judged(asked({"Mean(LP)": 0.25}, sectors=("whole drive",)), lap(ended), 0).status is Status.PASSED
    crashed = judged(
        asked({"Mean(LP)": 9.0}, sectors=("whole drive",)), lap("crash", crash=np.arange(30) == 29), 0
    )
    assert crashed.status is Status.VIOLATED


def test_how_many_sectors_may_fail_is_the_acceptance() -> None:
    quality = asked({"Max(LP)": 0.25}, SHORT)
    strict = run(
        DrivingMethod(),
        quality.requirement("R1", acceptance=Acceptance(max_rate=0.0)),
        NO_FRAMES,
        Truth(),
        simulator=ScenarioDriver(),
    )
    assert strict.outcome.status is OutcomeStatus.PASSED
    assert strict.counts[Status.PASSED] == 3
    assert strict.counts[Status.NOT_APPLICABLE] == 8


def test_a_model_that_fails_is_an_error_in_every_sector() -> None:
    broken = callable_model(lambda frames: [Signals() for _ in frames], name="broken")
    result = run(
        DrivingMethod(),
        asked({"SD(LP)": 1.0}).requirement("R1"),
        NO_FRAMES,
        broken,
        simulator=ScenarioDriver(),
    )
    assert result.counts[Status.ERROR] == 10


def test_cases_travel_to_other_processes() -> None:
    quality = asked({"Max(LP)": 0.25}, settings={"reversal": {"gap": 3.0}})
    first, second = pickle.loads(pickle.dumps(cases_of(quality)[:2]))
    assert first.asks[0] is second.asks[0]
    found = DrivingMethod().judge(first, Answers((Driven(lap()),)))
    assert found.margin == pytest.approx(0.6)


def test_what_driving_oracle_writes_is_read(tmp_path: Path) -> None:
    file = tmp_path / "oracle.json"
    file.write_text(
        json.dumps(
            {"thresholds": {"Std(LP)": 0.2}, "directions": {"Std(LP)": "up"}, "alarms": 3, "killed": ["GF"]}
        )
    )
    assert read_thresholds(file) == Thresholds({"SD(LP)": 0.2})
    file.write_text("{}")
    with pytest.raises(InputError, match=r"oracle.json: an oracle is a mapping with thresholds"):
        read_thresholds(file)
    file.write_text('{"thresholds": {}}')
    with pytest.raises(InputError, match="needs a threshold for at least one metric, got none"):
        read_thresholds(file)
    file.write_text("not json")
    with pytest.raises(InputError, match="expected the JSON of `driving oracle --json`"):
        read_thresholds(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_thresholds(tmp_path / "none.json")


def test_a_requirement_says_everything() -> None:
    quality = asked(
        {"SD(LP)": 0.2},
        Scenario("world:town", {"weather": "rainy"}, DriveLimits(laps=2, events=("crash", "line crossing"))),
        sectors=("town-02", "town-02 lap 2"),
        events=("crash",),
        settings={"reversal": {"gap": 3.0}},
    )
    requirement = quality.requirement("R1")
    assert requirement.text == "In every sector, SD(LP) ≤ 0.2, and there is no crash."
    again = Requirement("R1", "…", "driving", json.loads(json.dumps(quality.parameters())))
    assert DrivingQuality.of(again) == quality
    assert quality.metric_settings().reversal.gap == 3.0
    assert [case.parameters["sector"] for case in cases_of(quality)] == ["town-02", "town-02 lap 2"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"oracle": None}, "'R1': an oracle is a mapping with thresholds"),
        ({"oracle": {"thresholds": {}}, "events": []}, "needs a threshold or an event to judge by"),
        ({"oracle": {"thresholds": {"SD(XY)": 1}}}, "XY"),
        ({"oracle": {"thresholds": {"SD(LP)": "1"}}}, "must be a finite number, got '1'"),
        ({"oracle": {"thresholds": {"SD(LP)": 1}, "directions": {"SD(LP)": "left"}}}, "one of up, down, got"),
        ({"oracle": {"thresholds": {"SD(LP)": 1}, "directions": {"SD(SA)": "up"}}}, "no threshold"),
        ({"oracle": {"thresholds": {"SD(LP)": 1}, "scales": {"SD(LP)": 0}}}, "above 0"),
        ({"oracle": {"thresholds": {"SD(LP)": 1}, "scales": 3}}, "a mapping by metric"),
        ({"scenarios": []}, "at least one scenario"),
        ({"scenarios": "world:town"}, "'R1': scenarios: expected a list, got 'world:town'"),
        ({"scenarios": ["world:town", "world:town"]}, "world:town is listed twice"),
        ({"scenarios": ["world:twon"]}, "did you mean 'town'"),
        ({"scenarios": [{"options": {}}]}, "'R1': scenarios > 0 needs the key 'simulator'"),
        ({"scenarios": [{"simulator": "world", "limits": {"lap": 1}}]}, "no limit 'lap'"),
        ({"scenarios": [{"simulator": "world", "limits": {"laps": 0}}]}, "laps must be above 0"),
        (
            {"scenarios": [{"simulator": "world", "limits": {"events": "crash"}}]},
            "events must be a list, got 'crash'",
        ),
        ({"scenarios": [{"simulator": "world", "limits": {"events": 5}}]}, "events must be a list, got 5"),
        ({"scenarios": ["donkey:127.0.0.1:9091"]}, "lists no sectors: name those to judge in sectors"),
        ({"sectors": ["town-99"]}, "no scenario has a sector 'town-99'"),
        ({"events": ["crahs"]}, "did you mean 'crash'"),
        ({"settings": {"bin": 1}}, "bin"),
        ({"sector": ["town-01"]}, "did you mean 'sectors'"),
    ],
)
def test_parameters_that_cannot_be_used_are_told(changes: dict[str, Any], message: str) -> None:
    parameters = {"oracle": {"thresholds": {"SD(LP)": 0.2}}, "scenarios": ["world:town"], **changes}
    with pytest.raises(InputError, match=message):
        DrivingQuality.of(Requirement("R1", "…", "driving", parameters))


def test_other_simulators_name_their_sectors() -> None:
    quality = asked({"SD(LP)": 0.2}, Scenario("donkey:127.0.0.1:9091"), sectors=("0 m", "100 m"))
    assert [case.id for case in cases_of(quality)] == [f"donkey:127.0.0.1:9091/{one} m" for one in (0, 100)]


def test_a_case_of_another_method_is_refused() -> None:
    case = Case("lap", "R1", (Ask("oval"),), {"sector": "town-01"})
    with pytest.raises(InputError, match="this method's own"):
        DrivingMethod().judge(case, Answers((Driven(lap()),)))


@pytest.mark.parametrize(
    ("ended", "partial"),
    [("lap complete", False), ("2 laps complete", False), ("destination reached", False), ("", False)]
    + [(one, True) for one in ("time over", "distance driven", "crash", "stopped")],
)
def test_the_last_sector_is_partial_unless_the_drive_arrived(ended: str, partial: bool) -> None:
    assert partial_sectors(lap(ended)) == (False, False, partial)


@pytest.mark.parametrize(("rows", "partial"), [(4, True), (8, True), (10, False), (12, False)])
def test_the_first_sector_is_partial_where_a_later_lap_shows_that_it_is_longer(
    rows: int, partial: bool
) -> None:
    """A lap of two sectors of ten steps; the drive begins somewhere in the first."""
    sectors = np.repeat([0, 1, 2, 3], [rows, 10, 10, 10])
    names = ("oval-01", "oval-02", "oval-01 lap 2", "oval-02 lap 2")
    drive = Drive(
        "d", np.arange(len(sectors)) / 10, {"speed": np.full(len(sectors), 9.0)}, sectors=sectors,
        sector_names=names, ended="2 laps complete",
    )  # fmt: skip
    assert partial_sectors(drive) == (partial, False, False, False)
    # A drive that knows no speed tells nothing, and neither does a lap that is cut off itself.
    assert not partial_sectors(replace(drive, signals={}))[0]
    halves = drive.with_sectors(np.repeat([0, 1, 2], [rows, 10, 20]), names[:3])
    assert partial_sectors(replace(halves, ended="time over")) == (False, False, True)
    kept = collect([drive], ["Mean(SP)"])
    assert kept.table.sectors == names[partial:]
    assert kept.cut_off == (("d",) if partial else ())
