"""Serves a simulator over its standard input and output, in the simulator's own environment.

    PYTHON serving.py metadrive '{"map": "SCS"}'

It is run by its path and needs nothing of Roadworthy, so that the simulator may have any version of numpy and
gym. `docs/bring/simulator.md` has the protocol: each request is a line of JSON; each answer is a line of JSON
and behind it the bytes of the camera's image.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import sys
import traceback
from functools import partialmethod
from typing import Any

PROTOCOL = 1


class MetaDrive:
    """A generated map of MetaDrive, 0.3 or later.

    Sectors are the roads between two nodes of the map, named by them. Touching a line of the lanes is a line
    crossing; leaving all lanes, or hitting anything, is a crash.
    """

    def __init__(self, *, map: str, seed: int, traffic: float, width: int, height: int) -> None:
        self._by_processor = not os.environ.get("DISPLAY")
        if self._by_processor:
            _draw_without_a_screen()
        environment = importlib.import_module("metadrive").MetaDriveEnv
        known = environment.default_config()
        wanted = {
            "use_render": False,
            "image_observation": True,
            "rgb_clip": False,
            "norm_pixel": False,
            "stack_size": 1,
            # Another thread would draw with OpenGL ES, which has no shaders.
            "multi_thread_render": False,
            "show_interface": False,
            "show_logo": False,
            "map": int(map) if map.isdigit() else map,
            "num_scenarios": 1,
            "environment_num": 1,
            "start_seed": seed,
            "traffic_density": traffic,
            # How long a drive lasts is said by its limits.
            "horizon": None,
            # Else a line that is touched would count as having left the road.
            "on_continuous_line_done": False,
            "log_level": 50,
        }
        config: dict[str, Any] = {name: value for name, value in wanted.items() if name in known}
        camera: dict[str, Any] = {"image_source": "rgb_camera"}
        if "sensors" in known:
            sensors = importlib.import_module("metadrive.component.sensors.rgb_camera")
            config["sensors"] = {"rgb_camera": (sensors.RGBCamera, width, height)}
        else:
            camera["rgb_camera"] = (width, height)
        self._env = environment({**config, "vehicle_config": camera})
        self._seed = seed
        self._steps = 0
        self.full_lock = 40.0

    def reset(self) -> tuple[dict[str, Any], Any]:
        """Put the vehicle at the start of the map."""
        self._steps = 0
        found = self._env.reset(self._seed)
        observed, info = found if isinstance(found, tuple) else (found, {})
        if self._by_processor:
            # With the ground's anisotropic filter a frame takes seconds, or minutes, instead of 0.03 s.
            for texture in importlib.import_module("panda3d.core").TexturePool.find_all_textures():
                texture.set_anisotropic_degree(1)
        self.full_lock = float(self._vehicle().max_steering)
        return self._told(observed, info, "")

    def step(self, steering: float, pedal: float) -> tuple[dict[str, Any], Any]:
        """Drive one decision step, a tenth of a second as it comes."""
        # MetaDrive steers to the left with positive numbers.
        observed, _, *over, info = self._env.step([-steering, pedal])
        self._steps += 1
        ended = ""
        if info.get("arrive_dest"):
            ended = "destination reached"
        elif len(over) > 1 and over[1]:
            ended = "time over"
        elif over[0]:
            ended = "crash" if self._events(info)["crash"] else "ended by MetaDrive"
        return self._told(observed, info, ended)

    def close(self) -> None:
        """Let go of the engine."""
        self._env.close()

    def _vehicle(self) -> Any:
        # Before 0.4, the only agent was called vehicle.
        return getattr(self._env, "agent", None) or self._env.vehicle

    def _told(self, observed: Any, info: Any, ended: str) -> tuple[dict[str, Any], Any]:
        vehicle = self._vehicle()
        config = self._env.config
        x, y = (float(value) for value in vehicle.position[:2])
        pedal = float(info.get("acceleration", math.nan))
        signals = {
            "speed": float(vehicle.speed),
            "steering": -float(info.get("steering", 0.0)) * float(vehicle.max_steering),
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
            width = getattr(vehicle.lane, "width", None) or vehicle.lane.width_at(0)
            signals["lateral_clearance"] = float(width) / 2 - abs(offset) - float(vehicle.WIDTH) / 2
        told = {
            "time": self._steps * float(config["physics_world_step_size"]) * float(config["decision_repeat"]),
            "signals": signals,
            "events": self._events(info),
            "sector": None if end is None else f"{start} {end}",
            "ended": ended,
        }
        image = observed["image"]
        # Stacked images have the newest last, in BGR.
        return told, (image[..., -1] if image.ndim == 4 else image)[..., ::-1]

    def _events(self, info: Any) -> dict[str, bool]:
        vehicle = self._vehicle()
        others = any(bool(info.get(f"crash_{one}")) for one in ("vehicle", "human"))
        things = any(bool(info.get(f"crash_{one}")) for one in ("object", "building", "sidewalk"))
        lines = ("yellow_continuous", "white_continuous", "broken")
        return {
            "crash": others or things or bool(info.get("out_of_road")),
            "collision": others,
            "line crossing": any(bool(getattr(vehicle, f"on_{one}_line")) for one in lines),
        }


def _draw_without_a_screen() -> None:
    """Let Panda3D draw into memory, by the processor, which has no multisampling."""
    panda = importlib.import_module("panda3d.core")
    panda.load_prc_file_data("", "load-display p3headlessgl\naux-display p3headlessgl")
    importlib.import_module("metadrive.engine.core.engine_core")
    # After that module, which asks for eight samples as it is imported.
    panda.load_prc_file_data("", "framebuffer-multisample 0\nmultisamples 0")
    for name in ("our_pbr", "our_pipeline"):  # as 0.3 and 0.4 call it
        with contextlib.suppress(ImportError):
            core = importlib.import_module(f"metadrive.engine.core.{name}")
            core.OurPipeline.__init__ = partialmethod(_without_samples, core.OurPipeline.__init__)


def _without_samples(pipeline: Any, made: Any, *given: Any, **named: Any) -> None:
    made(pipeline, *given, **{**named, "msaa_samples": 0})


class Gymnasium:
    """An environment of Gymnasium with pictures, by a mapping of what its numbers mean."""

    def __init__(self, *, id: str, seed: int, mapping: dict[str, Any]) -> None:
        gymnasium = importlib.import_module("gymnasium")
        self._mapping = mapping
        drawn = {"render_mode": "rgb_array"} if mapping["image"] is None else {}
        self._env = gymnasium.make(id, **drawn, **mapping["make"])
        self._seed = seed
        self._steps = 0
        self.full_lock = float(mapping["full_lock"])
        self._step = float(mapping["step"] or 1.0 / self._env.metadata["render_fps"])
        low, high = self._env.action_space.low.ravel(), self._env.action_space.high.ravel()
        if len(low) != len(mapping["action"]):
            raise ValueError(f"{id} has {len(low)} numbers of action, the mapping {len(mapping['action'])}")
        self._range = [(float(least), float(most)) for least, most in zip(low, high, strict=True)]

    def reset(self) -> tuple[dict[str, Any], Any]:
        """Start an episode, of the same seed each time."""
        self._steps = 0
        observed, info = self._env.reset(seed=self._seed)
        return self._told(observed, info, "")

    def step(self, steering: float, pedal: float) -> tuple[dict[str, Any], Any]:
        """Drive one step of the environment."""
        numpy = importlib.import_module("numpy")
        given = {"steering": steering, "throttle": max(0.0, pedal), "brake": max(0.0, -pedal), "pedal": pedal}
        given |= {f"-{name}": -value for name, value in given.items()}
        action = [
            max(least, min(most, given[name]))
            for name, (least, most) in zip(self._mapping["action"], self._range, strict=True)
        ]
        space = self._env.action_space
        observed, _, terminated, truncated, info = self._env.step(
            numpy.array(action, space.dtype).reshape(space.shape)
        )
        self._steps += 1
        ended = "ended by the environment" if terminated else "time over" if truncated else ""
        for name, path in self._mapping["ends"].items():
            if self._value(path, info):
                ended = name
        return self._told(observed, info, ended)

    def close(self) -> None:
        """Let go of the environment."""
        self._env.close()

    def _told(self, observed: Any, info: Any, ended: str) -> tuple[dict[str, Any], Any]:
        told = {
            "time": self._steps * self._step,
            "signals": self._signals(info),
            "events": self._events(info),
            "ended": ended,
        }
        key = self._mapping["image"]
        return told, self._env.render() if key is None else observed[key] if key else observed

    def _signals(self, info: Any) -> dict[str, float]:
        found = {name: self._value(path, info) for name, path in self._mapping["signals"].items()}
        return {name: _number(value) for name, value in found.items() if value is not None}

    def _events(self, info: Any) -> dict[str, bool]:
        return {name: bool(self._value(path, info)) for name, path in self._mapping["events"].items()}

    def _value(self, path: str, info: Any) -> Any:
        """Return what stands at a path in the step's info or in the environment."""
        first, *rest = path.split(".")
        found = info if first == "info" else self._env.unwrapped
        for name in rest:
            if isinstance(found, dict):
                found = found.get(name)
            else:
                found = found[int(name)] if name.isdigit() else getattr(found, name)
        return found


class CarRacing(Gymnasium):
    """CarRacing, which knows where its car is on the track, but does not say it."""

    def _signals(self, info: Any) -> dict[str, float]:
        env = self._env.unwrapped
        x, y = env.car.hull.position
        _, heading, at, beside = min(env.track, key=lambda one: (one[2] - x) ** 2 + (one[3] - y) ** 2)
        aside = (x - at) * math.cos(heading) + (y - beside) * math.sin(heading)
        return {**super()._signals(info), "lane_offset": float(aside)}

    def _events(self, info: Any) -> dict[str, bool]:
        # It falls onto the track with the first step.
        on = [bool(wheel.tiles) or not self._steps for wheel in self._env.unwrapped.car.wheels]
        return {**super()._events(info), "crash": not any(on), "line crossing": not all(on)}


def _number(value: Any) -> float:
    """Return a number, or the length of a vector."""
    try:
        return float(value)
    except TypeError:
        return math.sqrt(sum(float(one) ** 2 for one in value))


SERVED = {"metadrive": MetaDrive, "gymnasium": Gymnasium, "car-racing": CarRacing}


def main(kind: str, options: str) -> None:
    """Answer requests until one says close, or the pipe ends."""
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever a simulator prints must not stand between answers.
    os.dup2(2, 1)
    simulator: Any = None

    def answer(told: dict[str, Any], image: Any = None) -> None:
        pixels = b""
        if image is not None:
            numpy = importlib.import_module("numpy")
            drawn = numpy.asarray(image)
            pixels = numpy.ascontiguousarray(drawn, dtype=numpy.uint8).tobytes()
            told["image"] = list(drawn.shape)
        answers.write(json.dumps({**told, "bytes": len(pixels)}).encode() + b"\n" + pixels)
        answers.flush()

    for line in sys.stdin:
        request = json.loads(line)
        number = {"answers": request["request"]}
        try:
            if request["do"] == "close":
                break
            if simulator is None:
                simulator = SERVED[kind](**json.loads(options))
            if request["do"] == "reset":
                told, image = simulator.reset()
                told.update(protocol=PROTOCOL, full_lock=simulator.full_lock)
            else:
                told, image = simulator.step(request["steering"], request["pedal"])
            answer({**number, **told}, image)
        except Exception as error:
            traceback.print_exc()
            answer({**number, "error": f"{type(error).__name__}: {error}"})
    if simulator is not None:
        simulator.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
