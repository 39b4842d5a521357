"""MetaDrive: the adapter against a stand-in with MetaDrive's public interface."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from roadworthy.driving.simulators import DriveLimits, drive, open_simulator
from roadworthy.driving.simulators.metadrive import MetaDriveSimulator
from roadworthy.errors import InputError, SimulatorError
from roadworthy.frames import Frame, Signals
from roadworthy.models import callable_model


class Lane:
    """A straight lane along x. The world has y to the left, but lanes count to the right, as in 0.4."""

    width = 3.5

    def local_coordinates(self, position: Any) -> tuple[float, float]:
        return float(position[0]), -float(position[1])


DEFAULTS = {
    "physics_world_step_size": 0.02,
    "decision_repeat": 5,
    "horizon": 1000,
    "on_continuous_line_done": True,
}


class Environment:
    """MetaDriveEnv 0.4: gymnasium's reset and step, an agent, a config, images stacked last in BGR.

    As there, images are bytes in floats after a reset, positive steering is to the left, a line that is
    touched counts as out of the road unless it is told otherwise, and episodes are cut off at the horizon.
    """

    made: ClassVar[list[Environment]] = []
    trouble: ClassVar[dict[str, Exception]] = {}

    def __init__(self, config: dict[str, Any]) -> None:
        if "start" in self.trouble:
            raise self.trouble["start"]
        self.config = {**DEFAULTS, **config}
        self.actions: list[list[float]] = []
        self.closed = 0
        self.made.append(self)

    def reset(self, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
        self.seed = seed
        self.agent = SimpleNamespace(
            position=np.array([0.0, 0.5]), speed=0.0, max_steering=40.0, WIDTH=1.8, lane=Lane(),
            lane_index=(">", ">>", 0), on_yellow_continuous_line=False, on_white_continuous_line=False,
            on_broken_line=False,
        )  # fmt: skip
        return self._observed(), {}

    def step(self, action: list[float]) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        if "step" in self.trouble and len(self.actions) == 2:
            raise self.trouble["step"]
        self.actions.append(action)
        self.agent.speed = min(10.0, self.agent.speed + max(0.0, action[1]))
        self.agent.position = self.agent.position + np.array([self.agent.speed * 0.1, 0.4 * action[0]])
        if self.agent.position[0] > 1:
            self.agent.lane_index = (">>", ">>>", 0)
        aside = abs(self.agent.position[1])
        self.agent.on_white_continuous_line = aside + 0.9 > 1.75
        out = aside > 1.75 or (self.config["on_continuous_line_done"] and self.agent.on_white_continuous_line)
        arrived = self.agent.position[0] > 8
        late = self.config["horizon"] is not None and len(self.actions) >= self.config["horizon"]
        info = {
            "steering": action[0], "acceleration": action[1], "velocity": self.agent.speed,
            "out_of_road": out, "crash_vehicle": False, "arrive_dest": arrived,
        }  # fmt: skip
        return self._observed(), 0.0, out or arrived, late, info

    def close(self) -> None:
        self.closed += 1

    def _observed(self) -> dict[str, Any]:
        width, height = self.config["sensors"]["rgb_camera"][1:]
        image = np.zeros((height, width, 3, 1), np.float32)
        image[..., 2, 0] = 255  # red, in BGR
        return {"image": image, "state": np.zeros(9)}


@pytest.fixture
def metadrive(monkeypatch: pytest.MonkeyPatch) -> type[Environment]:
    names = ("metadrive", "metadrive.component", "metadrive.component.sensors")
    for name in (*names, "metadrive.component.sensors.rgb_camera"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(sys.modules["metadrive"], "MetaDriveEnv", Environment, raising=False)
    camera = sys.modules["metadrive.component.sensors.rgb_camera"]
    monkeypatch.setattr(camera, "RGBCamera", type("RGBCamera", (), {}), raising=False)
    Environment.made, Environment.trouble = [], {}
    return Environment


def steering(angle: float) -> Any:
    return callable_model(lambda frames: [Signals(steering=angle) for _ in frames], name="net")


def test_a_drive_to_the_destination(metadrive: type[Environment]) -> None:
    simulator = open_simulator("metadrive:SCS", seed=7, width=32, height=16)
    seen: list[Frame] = []
    driven = drive(steering(0.0), simulator, watch=lambda situation: seen.append(situation.frame))
    simulator.close()
    simulator.close()
    (env,) = metadrive.made
    assert (env.seed, env.config["map"], env.closed) == (7, "SCS", 1)
    assert env.config["vehicle_config"] == {"image_source": "rgb_camera"}
    assert driven.ended == "destination reached"
    assert driven.sector_names == ("> >>", ">> >>>")
    np.testing.assert_allclose(np.diff(driven.time), 0.1)
    assert seen[0].size == (32, 16)
    assert seen[0].image[0, 0].tolist() == [255, 0, 0]
    assert driven.signals["lane_offset"][0] == -0.5  # half a metre to the left
    assert driven.signals["lateral_clearance"][0] == pytest.approx(1.75 - 0.5 - 0.9)
    assert env.actions[0] == [0.0, 1.0]


def test_steering_to_the_right_leaves_the_road_to_the_right(metadrive: type[Environment]) -> None:
    simulator = MetaDriveSimulator(width=8, height=8)
    driven = drive(steering(20.0), simulator, limits=DriveLimits(seconds=5.0))
    assert driven.ended == "crash"
    assert driven.signals["lane_offset"][-1] > 1.75
    assert driven.signals["steering"][-1] == 20.0
    assert metadrive.made[0].actions[0] == [-0.5, 0.75]
    assert not driven.events["collision"].any()
    # Half a metre to the left at the start; both lines lie 0.85 m from the middle for a car of this width.
    offset = driven.signals["lane_offset"]
    assert driven.events["line crossing"].tolist() == (np.abs(offset) > 0.85).tolist()
    assert 0 < driven.events["line crossing"].sum() < len(driven)


def test_an_episode_that_a_crash_ended_is_not_driven_on(metadrive: type[Environment]) -> None:
    driven = drive(steering(20.0), MetaDriveSimulator(width=8, height=8), limits=DriveLimits(events=()))
    assert (driven.ended, driven.events["crash"].sum()) == ("crash", 1)


def test_drives_are_as_long_as_their_limits_say(metadrive: type[Environment]) -> None:
    stands = callable_model(lambda frames: [Signals(steering=0.0, speed=0.0) for _ in frames], name="stands")
    simulator = MetaDriveSimulator(width=4, height=4)
    driven = drive(stands, simulator, limits=DriveLimits(seconds=101.0, standing=200.0))
    assert (driven.ended, len(driven)) == ("time over", 1011)


def test_failures_say_what_metadrive_needs(metadrive: type[Environment]) -> None:
    metadrive.trouble = {"start": OSError("cannot open display")}
    with pytest.raises(SimulatorError, match=r"could not start: OSError: cannot open .* its assets, .*GPU"):
        MetaDriveSimulator().reset()
    metadrive.trouble = {"step": RuntimeError("GPU lost")}
    simulator = MetaDriveSimulator(width=8, height=8)
    with pytest.raises(SimulatorError, match="MetaDrive could not step: RuntimeError: GPU lost"):
        drive(steering(0.0), simulator)


def test_an_observation_without_an_image(metadrive: type[Environment], monkeypatch: Any) -> None:
    monkeypatch.setattr(Environment, "_observed", lambda self: np.zeros(259))
    with pytest.raises(SimulatorError, match="MetaDrive sent no camera image"):
        MetaDriveSimulator().reset()


def test_without_metadrive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "metadrive", None)
    with pytest.raises(SimulatorError, match=r"MetaDrive is not installed: pip install .* needs its assets"):
        MetaDriveSimulator().reset()


def test_options_that_make_no_sense() -> None:
    with pytest.raises(InputError, match="above 0, got 0x160"):
        MetaDriveSimulator(width=0)
    with pytest.raises(InputError, match="limit must be above 0"):
        MetaDriveSimulator(limit=-1.0)
