"""Simulators in detail: who counts as near or ahead, what a foot presses, and why one does not begin."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from roadworthy.cases import Requirement
from roadworthy.driving.requirements import DrivingQuality
from roadworthy.driving.simulators import (
    Controls,
    DriveLimits,
    DriveRecorder,
    Scenario,
    Situation,
    WorldSimulator,
    open_simulator,
    scenarios,
)
from roadworthy.driving.simulators import loop as simulator_loop
from roadworthy.driving.simulators._remote import address_of
from roadworthy.driving.simulators.donkey import DonkeySimulator
from roadworthy.driving.simulators.udacity import UdacitySimulator, _episode_events
from roadworthy.driving.simulators.world import Foot, TrafficAround, _resistance
from roadworthy.errors import InputError, SimulatorError
from roadworthy.frames import Frame
from roadworthy.world import VehicleLimits, WorldObject
from roadworthy.world.shapes import mesh_of

approx: Any = pytest.approx  # may stand beside what is exact in one tuple


def test_names_and_paths_of_simulators(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        InputError, match="a simulator is written name or name:path, such as 'world:town', got ':x'"
    ):
        open_simulator(":x")
    monkeypatch.setattr(simulator_loop, "takes_path", lambda factory: "never")
    with pytest.raises(
        InputError, match="'world' takes nothing after the colon, got 'town': write 'world' alone"
    ):
        open_simulator("world:town")
    monkeypatch.setattr(simulator_loop, "checked_simulator", lambda reference, **options: dict)
    with pytest.raises(InputError, match="'world' must give a DrivingSimulator, got dict"):
        open_simulator("world")


@pytest.fixture(scope="module")
def meadow() -> WorldSimulator:
    return WorldSimulator("meadow", traffic=0)


def around(
    simulator: WorldSimulator, *actors: WorldObject, before: tuple[WorldObject, ...] | None = None
) -> TrafficAround:
    seen = simulator._simulation.reset(0.0)
    at = dataclasses.replace(seen, scene=seen.scene.replace(actors=actors))
    earlier = None if before is None else dataclasses.replace(seen, scene=seen.scene.replace(actors=before))
    return TrafficAround(at, earlier, 0.5)


def somebody(element: str, s: float, d: float = 1.75, **details: Any) -> WorldObject:
    return WorldObject(60_000 + int(10 * abs(s)) + int(abs(d)), element, s % 1123, d, **details)


def test_pedestrians_count_ahead_and_near_the_road(meadow: WorldSimulator) -> None:
    def distance(*actors: WorldObject) -> float:
        return around(meadow, *actors).signals()["pedestrian_distance"]

    # Our front is 3.5 m before the rear axle; a pedestrian is less than a metre deep.
    assert distance(somebody("pedestrian", 20)) == pytest.approx(16.2, abs=0.4)
    assert distance(somebody("pedestrian", 30), somebody("pedestrian", 20)) == pytest.approx(16.2, abs=0.4)
    assert math.isnan(distance(somebody("pedestrian", -10)))
    assert math.isnan(distance(somebody("pedestrian", 20, 8.0)))
    assert math.isnan(distance(somebody("pedestrian", 20, -8.0)))
    assert math.isnan(distance(somebody("pedestrian", 150)))
    assert not math.isnan(distance(somebody("pedestrian", 149)))
    assert not math.isnan(distance(somebody("pedestrian", 20, -7.9)))
    assert math.isnan(distance(somebody("bicyclist", 20)))


def test_vehicles_beside_and_behind_are_near_and_those_ahead_are_not(meadow: WorldSimulator) -> None:
    def signals(*actors: WorldObject, **how: Any) -> dict[str, float]:
        return around(meadow, *actors, **how).signals()

    half = mesh_of(somebody("vehicle", 0), near=True).footprint[0] / 2
    ahead = signals(somebody("vehicle", 3.6 + half))
    assert (math.isnan(ahead["vehicle_distance"]), ahead["headway"]) == (True, approx(0.1, abs=1e-6))
    beside = signals(somebody("vehicle", 3.4 + half, -1.75))
    assert beside["vehicle_distance"] == pytest.approx(1.7, abs=0.1)
    assert math.isnan(beside["headway"])
    behind = signals(somebody("vehicle", -0.8 - half - 5))
    assert behind["vehicle_distance"] == pytest.approx(5, abs=0.1)
    assert math.isnan(behind["headway"])
    # A lane is 3.5 m wide: half of it aside is no longer ours.
    assert math.isnan(signals(somebody("vehicle", 30, 3.5))["headway"])
    assert math.isnan(signals(somebody("vehicle", 30, 0.0))["headway"])
    assert not math.isnan(signals(somebody("vehicle", 30, 3.4))["headway"])
    assert signals(somebody("vehicle", 1.0))["headway"] == 0.0
    lead = somebody("vehicle", 30, speed=9.0)
    assert signals(lead)["lead_speed"] == 9.0
    assert signals(lead, before=(dataclasses.replace(lead, s=28.0),))["lead_speed"] == pytest.approx(4.0)


def test_a_collision_is_touching_anybody(meadow: WorldSimulator) -> None:
    assert not around(meadow).collision()
    assert around(meadow, somebody("pedestrian", 2.0)).collision()
    assert around(meadow, somebody("vehicle", -2.0)).collision()
    assert not around(meadow, somebody("vehicle", 9.0)).collision()
    assert not around(meadow, somebody("vehicle", 2.0, -1.75)).collision()
    long = somebody("vehicle", 6.0, kind="truck")
    assert around(meadow, long).collision()


def test_a_foot_presses_what_is_asked_for() -> None:
    limits = VehicleLimits(acceleration=2.5, braking=7.0)
    foot = Foot(limits, 0.1, 10.0)
    assert (foot.throttle, foot.brake) == (approx(0.5 / 3.0), 0.0)
    assert foot.press(Controls(0.0, throttle=1.0), 10.0) == pytest.approx(2.5)
    assert foot.press(Controls(0.0, throttle=9.0), 10.0) == pytest.approx(2.5)
    assert foot.press(Controls(0.0, throttle=-1.0), 10.0) == pytest.approx(-7.0)
    assert (foot.throttle, foot.brake) == (0.0, 1.0)
    assert foot.press(Controls(0.0, throttle=0.0), 10.0) == pytest.approx(-0.5)
    assert [_resistance(speed) for speed in (-1.0, 0.0, 1.0, 2.0, 9.0)] == [0.0, 0.0, 0.25, 0.5, 0.5]


def test_a_foot_follows_with_a_delay_lifts_first_and_holds_a_stand() -> None:
    limits = VehicleLimits(acceleration=2.5, braking=7.0)
    foot = Foot(limits, 0.1, 10.0)
    share = 1 - math.exp(-0.1 / 0.4)
    wanted = 10 + share * (12 - 10)
    assert foot.press(Controls(0.0, speed=12.0), 10.0) == pytest.approx((wanted - 10) / 0.8)
    wanted += share * (0 - wanted)
    foot.press(Controls(0.0, speed=-5.0), 10.0)
    beyond = -(wanted - 10) / 0.8 - 0.5
    assert foot.brake == pytest.approx(beyond / 6.5)
    # Without a wish the last one stays; the brake is kept until lifting is enough, with a touch at least.
    foot.press(Controls(0.0), wanted + 0.8 * 0.5 + 0.01)
    assert foot.brake == 0.06
    foot.press(Controls(0.0), wanted + 0.8 * 0.5 - 0.01)
    assert foot.brake == 0.0
    # Only 0.8 m/s² beyond lifting put the foot on the brake.
    foot.press(Controls(0.0), wanted + 0.8 * 1.3 - 0.01)
    assert foot.brake == 0.0
    foot.press(Controls(0.0), wanted + 0.8 * 1.3 + 0.01)
    assert foot.brake > 0.06
    still = Foot(limits, 0.1, 0.0)
    assert still.press(Controls(0.0, speed=0.0), 0.0) == pytest.approx(-0.1 * 7.0)
    assert (still.throttle, still.brake) == (0.0, 0.1)
    rolling = Foot(limits, 0.1, 0.4)
    rolling.press(Controls(0.0), 2.0)
    assert rolling.brake != 0.1


def test_what_an_episode_tells_of() -> None:
    def told(name: str, data: Any) -> set[str]:
        message: Any = SimpleNamespace(name=name, data=data)
        return _episode_events(message)

    assert told("telemetry", {"what": "collision"}) == set()
    assert told("episode_event", {"what": "Collision"}) == {"crash", "collision"}
    assert told("episode_events", ["CRASH"]) == {"crash", "collision"}
    for word in ("out_of_track", "offTrack", "off_track"):
        assert told("episode_event", {"key": word}) == {"crash"}
    assert told("episode_event", {"key": "lap"}) == set()
    simulator: Any = SimpleNamespace(kind="event", data=[1])
    read = UdacitySimulator._read(SimpleNamespace(), simulator)  # type: ignore[arg-type]
    assert read == "expected the fields of the telemetry, got list"


def test_why_a_donkey_simulator_does_not_begin() -> None:
    def waiting(scene: str | None, *, connected: bool) -> Any:
        client = SimpleNamespace(
            receive=lambda seconds: None, connected=connected, lost="reset by peer", send=lambda message: None
        )
        return SimpleNamespace(_client=client, _scene=scene, _wait=2.5)

    for scene, connected, message in (
        (None, False, "the Donkey simulator hung up: reset by peer"),
        (None, True, "the Donkey simulator loaded no scene within 2.5 s"),
        ("warehouse", True, "the Donkey simulator loaded no scene 'warehouse' within 2.5 s"),
    ):
        with pytest.raises(SimulatorError, match=message):
            DonkeySimulator._wait_for_car(waiting(scene, connected=connected), 0.0)


@pytest.mark.parametrize(
    ("kind", "ended"), [("DQ", "disqualified"), ("missed_checkpoint", "missed a checkpoint")]
)
def test_a_donkey_simulator_says_why_it_ended(kind: str, ended: str) -> None:
    configured: list[int] = []
    simulator: Any = SimpleNamespace(
        _ended="", _line=None, _line_passed=0, _configure_camera=lambda: configured.append(1)
    )
    assert DonkeySimulator._heard(simulator, {"msg_type": kind}) is None
    assert simulator._ended == ended
    assert DonkeySimulator._heard(simulator, {"msg_type": "need_car_config"}) is None
    assert configured == [1]
    for index in (3, 3, 4):
        DonkeySimulator._heard(
            simulator, {"msg_type": "collision_with_starting_line", "starting_line_index": index}
        )
    assert (simulator._line, simulator._line_passed) == (3, 2)
    assert DonkeySimulator._heard(simulator, {"msg_type": "unreadable", "why": "no JSON"}) == "no JSON"


def test_options_and_addresses_of_simulators() -> None:
    assert DonkeySimulator("localhost")._client._address == ("localhost", 9091)
    assert DonkeySimulator("localhost", scene="road").name == "donkey:road"
    assert DonkeySimulator("localhost").name == "donkey"
    for wrong in ("host:", ":1", "host:65536", "host:x", ""):
        with pytest.raises(InputError, match=r"expected an address such as 127.0.0.1:7, got "):
            address_of(wrong, 7)
    assert (address_of("host:0", 7), address_of("host:65535", 7), address_of("host", 7)) == (
        ("host", 0), ("host", 65535), ("host", 7),
    )  # fmt: skip
    for name in ("limit", "full_lock", "wait", "stall"):
        for value in (0.0, -1.0, math.nan):
            with pytest.raises(InputError, match=f"{name} must be above 0, got {value}"):
                DonkeySimulator("localhost", **cast("Any", {name: value}))
    for width, height in ((10, 0), (0, 10), (-1, -1)):
        with pytest.raises(
            InputError, match=f"width and height of the camera, or neither, got {width}x{height}"
        ):
            DonkeySimulator("localhost", width=width, height=height)


def test_what_is_told_to_a_donkey_simulator() -> None:
    sent: list[Any] = []
    simulator = DonkeySimulator("localhost", full_lock=20.0, limit=10.0)
    client = SimpleNamespace(send=sent.append, connected=True, close=lambda: sent.append("closed"))
    simulator._client = client  # type: ignore[assignment]
    simulator._next = lambda: "seen"  # type: ignore[assignment, method-assign, return-value]
    told: Any = simulator
    for steering, throttle in ((5.0, 0.25), (-40.0, -0.5)):
        assert told.step(Controls(steering, throttle=throttle)) == "seen"
    assert sent == [
        {"msg_type": "control", "steering": "0.25", "throttle": "0.25", "brake": "0"},
        {"msg_type": "control", "steering": "-1", "throttle": "0", "brake": "0.5"},
    ]
    simulator.close()
    assert sent[2:] == [{"msg_type": "control", "steering": "0", "throttle": "0", "brake": "1"}, "closed"]
    client.connected = False
    simulator.close()
    assert sent[4:] == ["closed"]


def situation(time: float, **more: Any) -> Situation:
    return Situation(time, Frame("f", np.zeros((16, 16, 3), np.uint8)), **more)


def test_of_several_ends_the_simulators_comes_first_and_time_last() -> None:
    limits = DriveLimits(laps=2, seconds=5.0, metres=10.0, standing=3.0, events=("crash", "collision"))
    events = {"collision": True, "crash": True}
    everything = situation(5.0, events=events, laps=2, ended="out of fuel")
    order = []
    for change in (
        {}, {"ended": ""}, {"events": {"collision": True}}, {"events": {"crash": False}}, {"laps": 1},
    ):  # fmt: skip
        everything = dataclasses.replace(everything, **change)
        order.append(limits.reached(everything, 10.0, 3.1))
    assert order == ["out of fuel", "crash", "collision", "2 laps complete", "distance driven"]
    assert limits.reached(everything, 9.9, 3.1) == "stopped"
    assert limits.reached(everything, 9.9, 3.0) == "time over"
    assert limits.reached(dataclasses.replace(everything, time=4.9), 9.9, 3.0) == ""
    endless = DriveLimits(laps=None)
    assert endless.reached(situation(1.0, laps=9), 1e9, 0.0) == ""
    assert DriveLimits().reached(situation(1.0, laps=1), 0.0, 0.0) == "lap complete"


def test_what_a_recorder_keeps_and_leaves_out() -> None:
    recorder = DriveRecorder("me", "oval")
    with pytest.raises(InputError, match="drive me: nothing was driven"):
        recorder.finished("x")
    recorder.answered(Controls(1.0))
    assert (len(recorder), recorder.metres) == (0, 0.0)
    recorder.add(situation(0.0, signals={"speed": 10.0, "brake": math.nan}, events={"crash": False}))
    recorder.answered(Controls(2.0, speed=3.0))
    recorder.add(situation(0.5, signals={"speed": 20.0}, sector="b"))
    recorder.add(situation(0.5, signals={"speed": 99.0}))
    drive = recorder.finished("done", ["mended"])
    assert drive.notes == ("mended", "1 situation left out in which time did not go on")
    assert drive.signals["distance"].tolist() == [0.0, 7.5]
    assert "brake" not in drive.signals
    assert drive.signals["answered_steering"][0] == 2.0
    assert drive.signals["answered_speed"][0] == 3.0
    assert (drive.sector_names, drive.sectors.tolist()) == (("start", "b"), [0, 1])
    assert (drive.ended, drive.track, drive.events["crash"].tolist()) == ("done", "oval", [False, False])
    recorder.add(situation(0.4))
    assert recorder.finished("done").notes == ("2 situations left out in which time did not go on",)
    recorder.add(situation(1.0, signals={"distance": 50.0}))
    assert recorder.metres == 50.0
    for name in ("steering", "speed", "throttle"):
        with pytest.raises(InputError, match=f"{name} must be finite, got inf"):
            Controls(**{"steering": 0.0, name: math.inf})


def test_a_drive_is_written_every_five_seconds_while_it_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 0.0, 5.0, 5.1, 5.1, 9.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    written: list[Any] = []
    monkeypatch.setattr(scenarios, "write_drive", lambda drive, path: written.append((drive.ended, path)))
    for frames, kept in (("none", 0), ("failing", 3)):
        keeper = scenarios._Keeper(tmp_path, Scenario("world:town", frames=frames), "me")  # type: ignore[arg-type]
        if frames == "failing":
            clock = iter([0.0, 0.0, 1.0, 2.0])
        for number in range(3):
            now = situation(float(number), signals={"speed": 1.0})
            keeper.recorder.add(now)
            keeper.watch(now)
        assert len(keeper._frames) == kept
    assert [ended for ended, _ in written] == ["the drive was cut off"] * 3
    assert written[0][1] == tmp_path / "drives/drive-me-1.parquet"


def test_numbers_may_be_names_of_sectors() -> None:
    given = {"oracle": {"thresholds": {"SD(LP)": 0.2}}, "scenarios": ["donkey"], "sectors": [1, 2]}
    quality = DrivingQuality.of(Requirement("R", "text", "driving", given))
    assert quality.sectors == ("1", "2")
