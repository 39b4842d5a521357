"""The closed loop: what is recorded, when it ends, and what becomes of failures."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import BaseMethod, Case, Requirement, Verdict
from roadworthy.cases import RecordDrive as AskForDrive
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.readers.recorded import read_recorded
from roadworthy.driving.simulators import (
    Controls,
    DriveLimits,
    DriveRecorder,
    DrivingSimulator,
    Scenario,
    ScenarioDriver,
    Situation,
    drive,
    open_simulator,
    pedals,
)
from roadworthy.driving.simulators.scenarios import CameraFrames, _failure, kept_drive
from roadworthy.errors import InputError, SimulatorError, SystemUnderTestError, UnknownNameError
from roadworthy.frames import Frame, Signals
from roadworthy.models import ImageInput, ModelSpec, RegressionOutput, Truth, callable_model
from roadworthy.runs import run

FRAME = Frame("f", np.zeros((4, 8, 3), np.uint8))


def model(answer: Callable[[Frame], Signals], name: str = "model") -> object:
    return callable_model(lambda frames: [answer(frame) for frame in frames], name=name)


class Road:
    """A straight road without end, at 10 rows a second, whose steps can be bent."""

    name = "road"
    notes: tuple[str, ...] = ()

    def __init__(self, change: Callable[[int], dict[str, object]] = lambda _: {}) -> None:
        self.change = change
        self.told: list[Controls] = []

    def reset(self) -> Situation:
        self.number = 0
        return self._now()

    def step(self, controls: Controls, /) -> Situation:
        self.told.append(controls)
        self.number += 1
        return self._now()

    def close(self) -> None:
        pass

    def _now(self) -> Situation:
        given: dict[str, object] = {"time": self.number / 10, "frame": FRAME, "signals": {"speed": 10.0}}
        given.update(self.change(self.number))
        return Situation(**given)  # type: ignore[arg-type]


STRAIGHT = callable_model(lambda frames: [Signals(steering=1.0) for _ in frames], name="straight")


def test_a_drive_records_what_was_true_and_what_was_answered() -> None:
    road = Road(lambda n: {"events": {"line crossing": n == 2}})
    driven = drive(STRAIGHT, road, limits=DriveLimits(seconds=0.5))
    assert isinstance(road, DrivingSimulator)
    assert (driven.name, driven.ended, len(driven)) == ("straight", "time over", 6)
    assert driven.events["line crossing"].tolist() == [False, False, True, False, False, False]
    assert driven.signals["distance"] == pytest.approx([0, 1, 2, 3, 4, 5])
    assert driven.signals["answered_steering"][:5].tolist() == [1.0] * 5
    assert math.isnan(driven.signals["answered_steering"][5])
    assert road.told == [Controls(1.0)] * 5


@pytest.mark.parametrize(
    ("change", "limits", "ended", "rows"),
    [
        (lambda n: {"events": {"crash": n == 3}}, DriveLimits(), "crash", 4),
        (
            lambda n: {"events": {"line crossing": n == 2}},
            DriveLimits(events=("line crossing",)),
            "line crossing",
            3,
        ),
        (lambda n: {"laps": n // 4}, DriveLimits(), "lap complete", 5),
        (lambda n: {"laps": n // 4}, DriveLimits(laps=2), "2 laps complete", 9),
        (lambda _: {}, DriveLimits(metres=2.5), "distance driven", 4),
        (lambda _: {"signals": {"speed": 0.0}}, DriveLimits(standing=0.45), "stopped", 6),
        (lambda _: {"signals": {"speed": 0.0}}, DriveLimits(standing=0.5), "stopped", 7),
        (lambda n: {"signals": {"speed": 0.0 if n != 3 else 1.0}}, DriveLimits(standing=0.45), "stopped", 9),
        (lambda n: {"ended": "out of fuel" if n == 1 else ""}, DriveLimits(), "out of fuel", 2),
    ],
)
def test_why_drives_end(
    change: Callable[[int], dict[str, object]], limits: DriveLimits, ended: str, rows: int
) -> None:
    driven = drive(STRAIGHT, Road(change), limits=limits)
    assert (driven.ended, len(driven)) == (ended, rows)


def test_sectors_are_those_of_the_simulator_and_the_last_step_is_no_sector_of_its_own() -> None:
    road = Road(lambda n: {"sector": ("a", "a", "b", None, "b", "a")[n], "laps": int(n == 5)})
    driven = drive(STRAIGHT, road)
    assert driven.sector_names == ("a", "b")
    assert driven.sectors.tolist() == [0, 0, 1, 1, 1, 1]


def test_without_sectors_a_drive_is_cut_every_hundred_metres() -> None:
    driven = drive(STRAIGHT, Road(lambda _: {"signals": {"speed": 100.0}}), limits=DriveLimits(seconds=2.1))
    assert driven.sector_names == ("0 m", "100 m", "200 m")
    assert np.bincount(driven.sectors).tolist() == [10, 10, 2]


def test_a_vehicle_whose_speed_is_not_known_for_a_moment_goes_on() -> None:
    speeds = (10.0, math.nan, 10.0, math.nan, math.nan, 10.0)
    road = Road(lambda n: {"signals": {"speed": speeds[n]}})
    driven = drive(STRAIGHT, road, limits=DriveLimits(seconds=0.5))
    # Nothing is added where neither of two speeds is known.
    assert driven.signals["distance"] == pytest.approx([0.0, 1.0, 2.0, 3.0, 3.0, 4.0])


def test_situations_in_which_time_stands_are_left_out() -> None:
    road = Road(lambda n: {"time": (0.0, 0.1, 0.1, 0.05, 0.2)[n]})
    driven = drive(STRAIGHT, road, limits=DriveLimits(seconds=0.2))
    assert driven.time.tolist() == [0.0, 0.1, 0.2]
    assert driven.notes == ("2 situations left out in which time did not go on",)


def test_a_model_that_sees_earlier_frames_gets_them() -> None:
    seen: list[list[int]] = []

    def look(images: np.ndarray) -> np.ndarray:
        seen.append([round(float(image.max()) * 255) for image in images[0]])
        return np.zeros((1, 1))

    frames = [Frame(str(n), np.full((4, 8, 3), n, np.uint8)) for n in range(5)]
    spec = ModelSpec(RegressionOutput(("steering",)), ImageInput(width=8, height=4, history=2))
    moving = callable_model(look, spec=spec, name="moving")
    drive(moving, Road(lambda n: {"frame": frames[n]}), limits=DriveLimits(seconds=0.3))
    assert seen == [[0, 0, 0], [0, 0, 1], [0, 1, 2]]


def _fails(frame: Frame) -> Signals:
    raise RuntimeError("out of memory")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda _: Signals(steering=math.nan), "model .* signal steering must be finite, got nan"),
        (lambda _: Signals(throttle=0.3), "must answer with steering or speed to drive"),
        (lambda _: Signals(speed=3.0), "must answer with steering to drive, got speed only"),
        (_fails, "out of memory"),
    ],
)
def test_a_model_that_cannot_drive_is_named(answer: Callable[[Frame], Signals], message: str) -> None:
    with pytest.raises(SystemUnderTestError, match=message):
        drive(model(answer), Road())  # type: ignore[arg-type]


def test_what_was_driven_survives_the_model_and_the_simulator() -> None:
    def dies(number: int) -> dict[str, object]:
        if number == 3:
            raise SimulatorError("gone")
        return {}

    recorder = DriveRecorder("lap")
    with pytest.raises(SimulatorError, match="gone"):
        drive(STRAIGHT, Road(dies), recorder=recorder)
    driven = recorder.finished("simulator gone", ["it died"])
    assert (len(driven), driven.ended, driven.notes) == (3, "simulator gone", ("it died",))
    with pytest.raises(InputError, match="nothing was driven"):
        DriveRecorder("empty").finished("")


def test_a_wrong_number_of_answers_is_an_error_of_the_model() -> None:
    class Silent:
        name = "silent"

        def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
            return []

    with pytest.raises(SystemUnderTestError, match="silent must give one answer for frame 'f', got 0"):
        drive(Silent(), Road())


def test_pedals() -> None:
    assert pedals(Controls(0.0, throttle=0.3), 0.5, 5.0, 10.0) == 0.3
    assert pedals(Controls(0.0), 0.5, 0.0, 10.0) == 0.75
    assert pedals(Controls(0.0), 0.0, 10.0, 10.0) == 0.0
    assert pedals(Controls(0.0, speed=0.0), 0.0, 10.0, 10.0) == -1.0
    assert pedals(Controls(0.0, speed=50.0), 0.0, 10.0, 10.0) == 0.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"laps": 0}, "laps must be above 0"),
        ({"metres": math.nan}, "metres must be above 0"),
        ({"events": ("crsh",)}, "there is no event 'crsh': did you mean 'crash'"),
    ],
)
def test_limits_that_make_no_sense(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        DriveLimits(**given)  # type: ignore[arg-type]


def test_a_runner_asks_for_drives() -> None:
    class KeepsLane(BaseMethod):
        name = "keeps lane"

        def cases(self, requirement, data, rng):  # type: ignore[no-untyped-def]
            scenario = Scenario("world:meadow", {"traffic": 0}, DriveLimits(seconds=0.4))
            yield Case("meadow", requirement.id, (AskForDrive(scenario),))

        def judge(self, case, answers):  # type: ignore[no-untyped-def]
            driven = answers.driven()
            assert isinstance(driven, Drive)
            return Verdict.from_margin(case, 1.0 - float(np.abs(driven.signals["lane_offset"]).max()))

    class Nothing:
        name = "nothing"

        def __len__(self) -> int:
            return 0

        def __getitem__(self, index: int) -> Frame:
            raise IndexError

        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter(())

    result = run(
        KeepsLane(), Requirement("R1", "keep the lane", "keeps lane"), Nothing(), Truth(),
        simulator=ScenarioDriver(),
    )  # fmt: skip
    assert result.outcome.status == "passed"
    start = Scenario("world:town", {"traffic": 0}, DriveLimits(seconds=0.2))
    assert ScenarioDriver().drive(start, Truth()).track == "town"
    with pytest.raises(InputError, match="expected a Scenario"):
        ScenarioDriver().drive("world:town", Truth())


def test_simulators_that_there_are_not() -> None:
    with pytest.raises(UnknownNameError, match="there is no simulator 'wrold'; did you mean 'world'"):
        open_simulator("wrold:town")
    with pytest.raises(InputError, match="'world' has no option 'trafic': did you mean 'traffic'"):
        open_simulator("world:town", trafic=1)
    with pytest.raises(InputError, match="written name or name:path"):
        open_simulator(":town")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyboardInterrupt(), "the drive was interrupted"),
        (SystemUnderTestError("it broke"), "the model failed: it broke"),
        (SimulatorError("no answer"), "the simulator failed: no answer"),
        (ValueError(), "ValueError"),
        (ValueError("x"), "ValueError: x"),
    ],
)
def test_why_a_drive_was_not_driven_to_its_end(error: BaseException, told: str) -> None:
    assert _failure(error) == told


@pytest.mark.parametrize(("kept", "frames"), [("none", False), ("failing", False), ("all", True)])
def test_a_drive_is_kept_where_a_run_has_it(tmp_path: Path, kept: Any, frames: bool) -> None:
    scenario = Scenario("world:meadow", {"traffic": 0}, DriveLimits(seconds=0.3), frames=kept)
    driven = ScenarioDriver(tmp_path).drive(scenario, Truth())
    path, film = kept_drive(tmp_path, *scenario.key[:1], "truth")
    assert read_recorded(path).duration == driven.duration
    assert read_recorded(path).ended == "time over"
    assert film.is_file() is frames
    if frames:
        assert len(CameraFrames.read(film)) == len(driven.time)


def test_a_drive_that_fails_is_kept_with_its_reason(tmp_path: Path) -> None:
    asked: list[int] = []

    def answer(frame: Frame) -> Signals:
        asked.append(1)
        if len(asked) > 5:
            raise RuntimeError("no more")
        return Signals(speed=5.0, steering=0.0)

    scenario = Scenario("world:meadow", {"traffic": 0}, DriveLimits(seconds=5))
    with pytest.raises(SystemUnderTestError):
        ScenarioDriver(tmp_path).drive(scenario, model(answer, "breaks"))  # type: ignore[arg-type]
    (path,) = (tmp_path / "drives").glob("*.parquet")
    assert read_recorded(path).ended.startswith("the model failed: ")
    with pytest.raises(InputError, match="expected a Scenario to drive through, got str"):
        ScenarioDriver().drive("world:meadow", Truth())


def test_frames_of_a_drive_come_back_in_their_order(tmp_path: Path) -> None:
    frames = CameraFrames()
    for grey, time in ((10, 0.0), (90, 0.5), (200, 0.5), (170, 1.0)):
        frames.add(Frame("f", np.full((16, 16, 3), grey, np.uint8)), time)
    frames.save(tmp_path / "a.zip")
    again = CameraFrames.read(tmp_path / "a.zip")
    assert len(again) == 3, "the third is not later than the second"
    assert [round(float(again._image(row).mean()) / 10) for row in range(3)] == [1, 9, 17]
    with pytest.raises(InputError, match=r"none.zip: cannot be read: No such file"):
        CameraFrames.read(tmp_path / "none.zip")
    for times, told in (
        ("[0, 0]", "must grow"),
        ('["x"]', "expected the frames of a drive"),
        ("[NaN]", "must grow"),
    ):
        with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
            archive.writestr("times.json", times)
            for number in range(2):
                archive.writestr(f"{number:06d}.jpg", b"")
        with pytest.raises(InputError, match=told):
            CameraFrames.read(tmp_path / "b.zip")


@pytest.mark.parametrize(
    ("simulator", "options", "track"),
    [
        ("world", {}, "meadow"),
        ("world:town", {"track": "x"}, "town"),
        ("udacity:h", {"track": "lake"}, "lake"),
        ("donkey:h:1", {"scene": "s"}, "s"),
        ("donkey:h:1", {}, ""),
    ],
)
def test_where_a_scenario_is_driven(simulator: str, options: dict[str, object], track: str) -> None:
    assert Scenario(simulator, options).track == track
