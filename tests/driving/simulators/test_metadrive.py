"""MetaDrive: the adapter against a stand-in with MetaDrive's public interface."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from roadworthy.driving.simulators import DriveLimits, drive, open_simulator
from roadworthy.driving.simulators.serving import MetaDrive
from roadworthy.models import load_model

METADRIVE = Path(__file__).parents[3] / ".venv-metadrive" / "bin" / "python"


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

    @staticmethod
    def default_config() -> set[str]:
        return {"image_observation", "sensors", "map", "start_seed", "horizon", "on_continuous_line_done"}

    def __init__(self, config: dict[str, Any]) -> None:
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
    Environment.made = []
    monkeypatch.setenv("DISPLAY", ":0")
    return Environment


def served(**options: Any) -> MetaDrive:
    return MetaDrive(**{"map": "3", "seed": 0, "traffic": 0.1, "width": 32, "height": 16, **options})


def driven(adapter: MetaDrive, steering: float, pedal: float = 1.0, most: int = 2000) -> list[dict[str, Any]]:
    told = [adapter.reset()[0]]
    while not told[-1]["ended"] and len(told) < most:
        told.append(adapter.step(steering, pedal)[0])
    return told


def test_a_drive_to_the_destination(metadrive: type[Environment]) -> None:
    adapter = served(map="SCS", seed=7)
    told = driven(adapter, 0.0)
    adapter.close()
    (env,) = metadrive.made
    assert (env.seed, env.config["map"], env.closed) == (7, "SCS", 1)
    assert env.config["vehicle_config"] == {"image_source": "rgb_camera"}
    assert told[-1]["ended"] == "destination reached"
    assert (told[0]["sector"], told[-1]["sector"]) == ("> >>", ">> >>>")
    np.testing.assert_allclose(np.diff([one["time"] for one in told]), 0.1)
    assert told[0]["signals"]["lane_offset"] == -0.5  # half a metre to the left
    assert told[0]["signals"]["lateral_clearance"] == pytest.approx(1.75 - 0.5 - 0.9)
    assert env.actions[0] == [0.0, 1.0]
    assert adapter.full_lock == 40.0


def test_the_image_is_the_newest_in_rgb(metadrive: type[Environment]) -> None:
    _, image = served().reset()
    assert image.shape == (16, 32, 3)
    assert image[0, 0].tolist() == [255, 0, 0]


def test_steering_to_the_right_leaves_the_road_to_the_right(metadrive: type[Environment]) -> None:
    told = driven(served(), 0.5)
    assert told[-1]["ended"] == "crash"
    assert told[-1]["signals"]["lane_offset"] > 1.75
    assert told[-1]["signals"]["steering"] == 20.0
    assert metadrive.made[0].actions[0] == [-0.5, 1.0]
    assert not any(one["events"]["collision"] for one in told)
    # Half a metre to the left at the start; both lines lie 0.85 m from the middle for a car of this width.
    crossing = [one["events"]["line crossing"] for one in told]
    assert crossing == [abs(one["signals"]["lane_offset"]) > 0.85 for one in told]
    assert 0 < sum(crossing) < len(told)


def test_drives_are_not_cut_off_at_a_horizon(metadrive: type[Environment]) -> None:
    told = driven(served(), 0.0, pedal=0.0, most=1100)
    assert (len(told), told[-1]["ended"]) == (1100, "")


@pytest.mark.parametrize(
    ("over", "info", "ended"),
    [
        ([False, False], {}, ""),
        ([True, True], {"arrive_dest": True}, "destination reached"),
        ([True, True], {}, "time over"),
        ([True, False], {"crash_object": True}, "crash"),
        ([True, False], {}, "ended by MetaDrive"),
        ([True], {"out_of_road": True}, "crash"),  # before 0.4
        ([True], {}, "ended by MetaDrive"),
    ],
)
def test_why_a_drive_ended(
    metadrive: type[Environment],
    monkeypatch: pytest.MonkeyPatch,
    over: list[bool],
    info: dict[str, Any],
    ended: str,
) -> None:
    adapter = served()
    adapter.reset()
    monkeypatch.setattr(
        Environment,
        "step",
        lambda self, action: (self._observed(), 0.0, *over, {"steering": action[0], **info}),
    )
    assert adapter.step(0.25, 0.5)[0]["ended"] == ended


def test_options_that_a_version_does_not_have_are_left_out(
    metadrive: type[Environment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Environment, "default_config", lambda: {"map": 3, "horizon": 1000})
    served(seed=4)
    assert set(metadrive.made[0].config) == {*DEFAULTS, "map", "vehicle_config"}
    assert metadrive.made[0].config["vehicle_config"] == {
        "image_source": "rgb_camera",
        "rgb_camera": (32, 16),
    }


@pytest.mark.slow
@pytest.mark.skipif(not METADRIVE.exists(), reason="make metadrive sets it up")
def test_ten_seconds_in_metadrive_itself() -> None:
    simulator = open_simulator("metadrive:SCS", python=str(METADRIVE), traffic=0.1)
    seen: list[Any] = []
    driven = drive(
        load_model("dave2"), simulator, limits=DriveLimits(seconds=10.0, events=()), watch=seen.append
    )
    simulator.close()
    np.testing.assert_allclose(np.diff(driven.time), 0.1)
    assert driven.time[-1] >= 10 or driven.ended in ("crash", "ended by MetaDrive")
    assert driven.signals["speed"].max() > 1
    assert driven.signals["distance"][-1] > 1
    images = np.stack([one.frame.image for one in seen])
    assert images.shape[1:] == (160, 320, 3)
    # Sky above, road below, and something that moves.
    assert images[:, :40].mean() > images[:, 120:].mean() + 20
    assert images.std(axis=0).mean() > 1
