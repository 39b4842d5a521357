"""Driving in MetaDrive, through its public interface. It needs its assets and a GPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving.simulators._remote import check_above_0
from roadworthy.driving.simulators.loop import Controls, Situation, pedals
from roadworthy.errors import InputError, RoadworthyError, SimulatorError
from roadworthy.frames import Frame, Signals
from roadworthy.registry import simulators

_NEEDS = (
    "MetaDrive needs its assets, which it fetches from its release page at first use, and a GPU to draw "
    "images in reasonable time"
)
_CRASHES = ("crash_vehicle", "crash_object", "crash_human", "crash_building", "crash_sidewalk")
_OTHERS = ("crash_vehicle", "crash_human")
_LINES = ("on_yellow_continuous_line", "on_white_continuous_line", "on_broken_line")


@simulators.register("metadrive", summary="MetaDrive; install it by itself, it needs its assets and a GPU")
class MetaDriveSimulator:
    """A drive on a generated map of MetaDrive 0.4.

    Sectors are the roads between two nodes of the map, named by them. Touching a line of the lanes is a line
    crossing; leaving all lanes, or hitting anything, is a crash.

    Args:
        path: The map: how many blocks, or their letters such as SCS.
        seed: Chooses the map and the traffic.
        traffic: Vehicles for every ten metres of lane.
        width: Of the camera's images.
        height: Of the camera's images.
        limit: The speed in m/s that is not passed.

    Raises:
        InputError: An option makes no sense.
    """

    notes: tuple[str, ...] = ()
    """Nothing is mended here."""

    def __init__(
        self,
        path: str = "3",
        *,
        seed: int = 0,
        traffic: float = 0.1,
        width: int = 320,
        height: int = 160,
        limit: float = 13.9,
    ) -> None:
        if width < 1 or height < 1:
            raise InputError(f"images must have a width and height above 0, got {width}x{height}")
        check_above_0(limit=limit)
        self.name = f"metadrive:{path}"
        self._map: int | str = int(path) if path.isdigit() else path
        self._seed = seed
        self._traffic = traffic
        self._size = (width, height)
        self._limit = limit
        self._env: Any = None
        self._steps = 0

    def reset(self) -> Situation:
        """Build the map where that is needed and put the vehicle at its start.

        Raises:
            SimulatorError: MetaDrive is not installed, has no assets or cannot draw.
        """
        if self._env is None:
            self._env = _guarded("start", self._built)
        observed, info = _guarded("be reset", lambda: self._env.reset(seed=self._seed))
        self._steps = 0
        return self._situation(observed, info, "")

    def step(self, controls: Controls, /) -> Situation:
        """Drive one decision step of MetaDrive, a tenth of a second as it comes.

        Raises:
            InputError: It was not reset before the first step.
            SimulatorError: MetaDrive failed.
        """
        if self._env is None:
            raise InputError("the simulator must be reset before the first step")
        vehicle = self._vehicle()
        share = controls.share(float(vehicle.max_steering))
        pedal = pedals(controls, share, float(vehicle.speed), self._limit)
        # MetaDrive steers to the left with positive numbers.
        observed, _, terminated, truncated, info = _guarded("step", lambda: self._env.step([-share, pedal]))
        self._steps += 1
        ended = ""
        if info.get("arrive_dest"):
            ended = "destination reached"
        elif truncated:
            ended = "time over"
        elif terminated:
            ended = "crash" if self._events(info)["crash"] else "ended by MetaDrive"
        return self._situation(observed, info, ended)

    def close(self) -> None:
        """Let go of MetaDrive's engine, of which a process can have only one."""
        if self._env is not None:
            self._env.close()
            self._env = None

    def _built(self) -> Any:
        try:
            # By name, because it is not among the packages that type checkers and installs know of.
            environment = import_module("metadrive").MetaDriveEnv
            camera = import_module("metadrive.component.sensors.rgb_camera").RGBCamera
        except ImportError as error:
            raise SimulatorError(
                f"MetaDrive is not installed: pip install metadrive-simulator==0.4.3 --no-deps and what it "
                f"asks for, except opencv-python, which would replace opencv-python-headless. {_NEEDS}"
            ) from error
        return environment(
            {
                "use_render": False,
                "image_observation": True,
                "norm_pixel": False,
                "stack_size": 1,
                "sensors": {"rgb_camera": (camera, *self._size)},
                "vehicle_config": {"image_source": "rgb_camera"},
                "map": self._map,
                "num_scenarios": 1,
                "start_seed": self._seed,
                "traffic_density": self._traffic,
                # How long a drive lasts is said by its limits; 1000 steps would be over after 100 s.
                "horizon": None,
                # Else a line that is touched would count as having left the road.
                "on_continuous_line_done": False,
                "log_level": 50,
            }
        )

    def _vehicle(self) -> Any:
        # Before 0.4, the only agent was called vehicle.
        return getattr(self._env, "agent", None) or self._env.vehicle

    def _situation(self, observed: Any, info: Mapping[str, Any], ended: str) -> Situation:
        vehicle = self._vehicle()
        config = self._env.config
        now = self._steps * float(config["physics_world_step_size"]) * float(config["decision_repeat"])
        speed = float(vehicle.speed)
        x, y = (float(value) for value in vehicle.position[:2])
        steering = -float(info.get("steering", 0.0)) * float(vehicle.max_steering)
        pedal = float(info.get("acceleration", math.nan))
        signals = {
            "speed": speed,
            "steering": steering,
            "throttle": max(0.0, pedal),
            "brake": max(0.0, -pedal),
            "x": x,
            "y": y,
        }
        start, end, lane = (*vehicle.lane_index, None, None, None)[:3]
        if lane is not None:
            signals["lane"] = float(lane)
        if vehicle.lane is not None:
            # To the right is positive in the lanes of MetaDrive, although it is negative in its steering.
            offset = float(vehicle.lane.local_coordinates(vehicle.position)[1])
            signals["lane_offset"] = offset
            half = float(vehicle.lane.width) / 2
            signals["lateral_clearance"] = half - abs(offset) - float(vehicle.WIDTH) / 2
        frame = Frame(
            f"metadrive-{self._steps:06d}",
            _image(observed),
            signals=Signals(speed=speed, steering=steering, timestamp=now),
        )
        sector = f"{start} {end}" if end is not None else None
        return Situation(now, frame, signals, self._events(info), sector=sector, ended=ended)

    def _events(self, info: Mapping[str, Any]) -> dict[str, bool]:
        vehicle = self._vehicle()
        return {
            "crash": bool(info.get("out_of_road")) or any(bool(info.get(key)) for key in _CRASHES),
            "collision": any(bool(info.get(key)) for key in _OTHERS),
            "line crossing": any(bool(getattr(vehicle, name)) for name in _LINES),
        }


def _image(observed: Any) -> NDArray[np.uint8]:
    """Return the newest image of an observation as RGB; MetaDrive stacks them last, in BGR."""
    try:
        stacked = np.asarray(observed["image"])
        return np.ascontiguousarray((stacked[..., -1] if stacked.ndim == 4 else stacked)[..., ::-1], np.uint8)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise SimulatorError(f"MetaDrive sent no camera image: {error!r}. {_NEEDS}") from error


def _guarded(what: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except RoadworthyError:
        raise
    except Exception as error:
        # Panda3D raises whatever it likes when it finds no display or no asset.
        raise SimulatorError(
            f"MetaDrive could not {what}: {type(error).__name__}: {error}. {_NEEDS}"
        ) from error
