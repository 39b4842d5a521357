"""Simulators in a process of their own: what they say is used, what they do wrong is told by name."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.driving.drives import Drive
from roadworthy.driving.simulators import Controls, DriveLimits, DriveRecorder, drive, open_simulator
from roadworthy.driving.simulators.served import GymnasiumSimulator, MetaDriveSimulator, ServedSimulator
from roadworthy.errors import InputError, SimulatorError
from roadworthy.frames import Signals
from roadworthy.models import callable_model

PRETENDING = str(Path(__file__).with_name("pretending.py"))
STRAIGHT = callable_model(lambda frames: [Signals(steering=0.0, speed=10.0) for _ in frames], name="straight")


def pretending(trouble: str = "", stall: float = 20.0) -> ServedSimulator:
    return ServedSimulator("pretended", [sys.executable, PRETENDING, trouble], 10.0, 30.0, stall)


def driven_with(trouble: str) -> Drive:
    simulator = pretending(trouble)
    try:
        return drive(STRAIGHT, simulator)
    finally:
        simulator.close()


def test_a_drive_is_what_the_simulator_says() -> None:
    simulator = pretending()
    seen: list[Any] = []
    driven = drive(STRAIGHT, simulator, watch=seen.append)
    assert (driven.ended, driven.notes) == ("arrived", ())
    np.testing.assert_allclose(np.diff(driven.time), 0.1)
    assert driven.sector_names == ("street 0", "street 1", "street 2", "street 3", "street 4")
    assert set(driven.events) == {"crash"}  # and not an event that nobody knows
    assert driven.signals["speed"][-1] > 3
    assert (seen[3].frame.id, seen[3].frame.size) == ("pretended-000003", (12, 8))
    # A second drive begins anew, in the same process.
    again = drive(STRAIGHT, simulator)
    np.testing.assert_array_equal(again.signals["distance"], driven.signals["distance"])
    simulator.close()
    simulator.close()


def test_steering_is_a_share_of_the_full_lock_that_the_simulator_says() -> None:
    simulator = pretending()
    simulator.reset()
    assert simulator.step(Controls(10.0, speed=5.0)).signals["steering"] == 10.0
    assert simulator.step(Controls(-80.0, speed=5.0)).signals["steering"] == -20.0
    simulator.close()


TROUBLES = {
    "dies": r"pretended died; it ended with code 7\nit wrote: … no map tile at 3",
    "hangs": "did not answer within 1 s",
    "grows": r"sent an image of \[16, 24, 3\], before they were \[8, 12, 3\]",
    "answers another": "answers what was not asked",
    "stands still": "must say a later time than 0.2 s, got 0.1",
    "bends": r"sent no image: \[8, 12\] in 288 bytes",
    "lists": "must say signals and events by name",
    "refuses": "could not step: ValueError: out of asphalt",
    "prints": r"sent what is no answer: b'Known pipe types:",
    "huge line": "sent what is no answer: b'xxx",
    "halves": r"sent no image: \[8, 12, 3\] in 144 bytes",
    "floods": "answers what was not asked",
    "newer": "speaks version 2 of the protocol, not 1",
    "locked": "must say its full lock in degrees, got 0",
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_what_a_simulator_does_wrong_is_told_and_what_was_driven_is_kept(trouble: str) -> None:
    simulator = pretending(trouble, stall=1.0 if trouble == "hangs" else 20.0)
    recorder = DriveRecorder("straight")
    with pytest.raises(SimulatorError, match=TROUBLES[trouble]):
        drive(STRAIGHT, simulator, recorder=recorder)
    assert len(recorder) == (0 if trouble in ("newer", "locked") else 3 + (trouble == "floods"))
    with pytest.raises(InputError, match="must be reset before the first step"):
        simulator.step(Controls(0.0))
    simulator.close()


def test_what_can_be_lived_with_is_noted() -> None:
    driven = driven_with("NaN")
    assert driven.notes == ("1 × speed is no number", "1 × distance is no number")
    assert driven.ended == "arrived"
    assert driven_with("black").notes == ("1 × a black image",)
    assert driven_with("crashes").ended == "crash"


def test_one_that_does_not_end_is_ended() -> None:
    simulator = pretending("stays")
    simulator.reset()
    process = simulator._process
    assert process is not None
    begin = time.monotonic()
    simulator.close()
    assert time.monotonic() - begin < 60
    assert process.poll() is not None


def test_one_that_is_not_there() -> None:
    simulator = open_simulator("metadrive:S", python="/nowhere/python")
    with pytest.raises(SimulatorError, match=r"metadrive:S does not start: .*No such file.*make metadrive"):
        simulator.reset()
    absent = open_simulator("metadrive:S", python=sys.executable)
    with pytest.raises(SimulatorError, match="could not reset: ModuleNotFoundError: No module named"):
        absent.reset()


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="width must be 1 or more"):
        MetaDriveSimulator(width=0)
    with pytest.raises(InputError, match="limit must be above 0"):
        GymnasiumSimulator(limit=-1.0)
    with pytest.raises(
        InputError, match=r"gymnasium:Ant-v5 needs a mapping .* known without one: CarRacing-v3"
    ):
        open_simulator("gymnasium:Ant-v5")
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text("action: [steering, wings]\n")
    with pytest.raises(InputError, match=r"mapping.yaml:1: action > 1: expected .* got .wings."):
        open_simulator("gymnasium:Ant-v5", mapping=str(mapping))


def test_a_command_starts_it() -> None:
    simulator = open_simulator("process:mine", command=f"{sys.executable} '{PRETENDING}' ''")
    driven = drive(STRAIGHT, simulator)
    simulator.close()
    assert driven.ended == "arrived"
    for command, told in (("", "needs a command"), ("python 'mine.py", "cannot read the command")):
        with pytest.raises(InputError, match=told):
            open_simulator("process:mine", command=command)


def test_car_racing_is_driven_and_leaves_its_track_to_the_right_where_that_bends_left() -> None:
    simulator = open_simulator("gymnasium:CarRacing-v3", seed=0)
    seen: list[Any] = []
    driven = drive(STRAIGHT, simulator, limits=DriveLimits(seconds=12.0), watch=seen.append)
    simulator.close()
    assert driven.ended == "crash"
    assert seen[0].frame.size == (96, 96)
    np.testing.assert_allclose(np.diff(driven.time), 0.02)
    offset, speed = driven.signals["lane_offset"], driven.signals["speed"]
    assert abs(offset[:200]).max() < 0.5
    assert offset[-1] > 6
    assert speed[100:200].mean() == pytest.approx(10.0, rel=0.05)
    assert driven.signals["distance"][200] == pytest.approx(
        np.hypot(*(driven.signals[one][200] - driven.signals[one][0] for one in "xy")), rel=0.02
    )
    crossing = driven.events["line crossing"]
    assert not crossing[:200].any()
    assert crossing[-10:].all()


def test_another_environment_is_driven_by_its_mapping(tmp_path: Path) -> None:
    mapping = tmp_path / "town.yaml"
    mapping.write_text(
        "action: [steering, pedal]\nimage: ''\nsignals: {speed: info.speed, lane_offset: info.lane_offset}\n"
        "events: {crash: info.crash}\nmake: {traffic: 0}\n"
    )
    environment = "gymnasium:roadworthy.driving.environments:Roadworthy/Meadow-v0"
    simulator = open_simulator(environment, mapping=str(mapping), limit=8.0)
    careful = callable_model(
        lambda frames: [Signals(steering=0.0, throttle=0.2) for _ in frames], name="careful"
    )
    driven = drive(careful, simulator, limits=DriveLimits(seconds=1.0))
    simulator.close()
    assert (driven.ended, len(driven)) == ("time over", 16)
    assert set(driven.signals) >= {"speed", "lane_offset", "distance"}
    assert not driven.events["crash"].any()
    mapping.write_text("action: [steering]\nimage: ''\n")
    with pytest.raises(SimulatorError, match="Meadow-v0 has 2 numbers of action, the mapping 1"):
        drive(STRAIGHT, open_simulator(environment, mapping=str(mapping)))
