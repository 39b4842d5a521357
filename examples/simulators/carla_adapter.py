"""CARLA as a simulator: a start for your own adapter, written for CARLA 0.9 and never run here.

Needs ``pip install carla`` and a CARLA server on a machine with a GPU.
"""

from __future__ import annotations

import queue
from typing import Any

import carla
import numpy as np

from roadworthy.driving.simulators import Controls, Situation, pedals
from roadworthy.errors import SimulatorError
from roadworthy.frames import Frame
from roadworthy.registry import simulators


@simulators.register("carla", summary="CARLA in synchronous mode")
class Carla:
    """A town of CARLA, in which a car is driven step by step."""

    def __init__(
        self, path: str = "Town01", *, host: str = "127.0.0.1", port: int = 2000, limit: float = 8.3
    ) -> None:
        self.name, self.notes, self._limit = f"carla:{path}", (), limit
        client = carla.Client(host, port)
        client.set_timeout(20.0)
        try:
            self._world = client.load_world(path)
        except RuntimeError as error:
            raise SimulatorError(f"no CARLA server on {host}:{port}: {error}; start it first") from error
        settings = self._world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, 1 / 15
        self._world.apply_settings(settings)
        self._actors: list[carla.Actor] = []

    def reset(self) -> Situation:
        """Put the car at the start."""
        self._destroy()
        library = self._world.get_blueprint_library()
        self._images: queue.Queue[Any] = queue.Queue()
        self._hit = self._lines = False
        start = self._world.get_map().get_spawn_points()[0]
        self._car = self._world.spawn_actor(library.find("vehicle.tesla.model3"), start)
        look = library.find("sensor.camera.rgb")
        for key, value in (("image_size_x", "320"), ("image_size_y", "160"), ("fov", "70")):
            look.set_attribute(key, value)
        camera = self._attach(look, carla.Transform(carla.Location(x=1.5, z=1.4)))
        camera.listen(self._images.put)
        self._attach(library.find("sensor.other.collision")).listen(lambda _: setattr(self, "_hit", True))
        self._attach(library.find("sensor.other.lane_invasion")).listen(
            lambda _: setattr(self, "_lines", True)
        )
        self._lock = max(wheel.max_steer_angle for wheel in self._car.get_physics_control().wheels)
        self._steps = 0
        return self._tick()

    def step(self, controls: Controls) -> Situation:
        """Steer, press the pedals, and let 1/15 s pass."""
        share = max(-1.0, min(1.0, controls.steering / self._lock))  # to the right is positive here too
        pedal = pedals(controls, share, self._speed(), self._limit)
        self._car.apply_control(
            carla.VehicleControl(throttle=max(0.0, pedal), steer=share, brake=max(0.0, -pedal))
        )
        self._steps += 1
        return self._tick()

    def _tick(self) -> Situation:
        self._hit = self._lines = False
        self._world.tick()
        try:
            seen = self._images.get(timeout=20.0)
        except queue.Empty:
            raise SimulatorError("CARLA sent no image for 20 s") from None
        image = np.frombuffer(seen.raw_data, np.uint8).reshape(seen.height, seen.width, 4)[..., 2::-1]  # BGRA
        place = self._car.get_transform()
        lane = self._world.get_map().get_waypoint(place.location)
        aside, right = place.location - lane.transform.location, lane.transform.get_right_vector()
        signals = {
            "speed": self._speed(),
            "lane_offset": aside.x * right.x + aside.y * right.y,
            "x": place.location.x,
            "y": -place.location.y,  # y is to the south in CARLA
        }
        events = {"collision": self._hit, "crash": self._hit, "line crossing": self._lines}
        sector = f"road {lane.road_id}"
        frame = Frame(f"carla-{self._steps:06d}", np.ascontiguousarray(image))
        return Situation(self._steps / 15, frame, signals, events, sector=sector)

    def _speed(self) -> float:
        velocity = self._car.get_velocity()
        return float(np.hypot(velocity.x, velocity.y))

    def _attach(self, blueprint: Any, place: Any = None) -> Any:
        place = place or carla.Transform()
        self._actors.append(self._world.spawn_actor(blueprint, place, attach_to=self._car))
        return self._actors[-1]

    def _destroy(self) -> None:
        for actor in self._actors:
            actor.destroy()
        if self._actors:
            self._car.destroy()
        self._actors = []

    def close(self) -> None:
        """Let go of the car and give the server its clock back."""
        self._destroy()
        settings = self._world.get_settings()
        settings.synchronous_mode = False
        self._world.apply_settings(settings)
