"""BeamNG.tech as a simulator: a start for your own adapter; never run here.

Needs ``pip install beamngpy`` and a running BeamNG.tech. Only what differs from carla_adapter.py is here:
``reset`` and ``close``, and what a step returns, are up to you.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from beamngpy import BeamNGpy, Scenario, Vehicle
from beamngpy.sensors import Camera, Damage, Electrics

from roadworthy.driving.simulators import Controls, pedals


class BeamNG:
    """A map of BeamNG.tech, in which a car is driven step by step."""

    def __init__(
        self, path: str = "west_coast_usa", *, host: str = "127.0.0.1", port: int = 25252, limit: float = 8.3
    ) -> None:
        self.name, self.notes, self._limit, self._speed = f"beamng:{path}", (), limit, 0.0
        self._game = BeamNGpy(host, port)
        self._game.open(launch=False)
        self._game.settings.set_deterministic(60)  # physics steps a second
        scenario = Scenario(path, "roadworthy")
        self._car = Vehicle("ego", model="etk800")
        self._car.sensors.attach("electrics", Electrics())
        self._car.sensors.attach("damage", Damage())
        scenario.add_vehicle(self._car, pos=(-717.1, 101.0, 118.7), rot_quat=(0, 0, 0.38, 0.92))
        scenario.make(self._game)
        self._game.scenario.load(scenario)
        self._game.scenario.start()
        self._game.control.pause()
        self._camera = Camera("front", self._game, self._car, pos=(0, -2, 1.4), resolution=(320, 160))

    def move(self, controls: Controls) -> Any:
        """Steer, press the pedals, let 1/15 s pass, and return what the camera sees."""
        share = max(-1.0, min(1.0, controls.steering / 35))
        pedal = pedals(controls, share, self._speed, self._limit)
        self._car.control(steering=share, throttle=max(0.0, pedal), brake=max(0.0, -pedal))
        self._game.control.step(4)  # 60 / 15
        self._car.sensors.poll()
        return np.asarray(self._camera.poll()["colour"].convert("RGB"))
