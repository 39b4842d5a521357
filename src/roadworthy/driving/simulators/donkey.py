"""Driving in the Donkey simulator, by its own TCP protocol; we connect to it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving.simulators import _remote
from roadworthy.driving.simulators._remote import TELEMETRY
from roadworthy.driving.simulators.loop import Controls, Situation
from roadworthy.errors import FrameError, InputError, SimulatorError
from roadworthy.frames import Frame, Signals
from roadworthy.registry import simulators


@simulators.register("donkey", summary="the Donkey simulator, to which we connect over TCP")
class DonkeySimulator(_remote.RemoteSimulator):
    """A drive in the Donkey simulator, which must be running.

    The simulator sends telemetry all the time; each step takes the newest. Where it says no time, the clock
    does.

    Args:
        path: The simulator's address.
        scene: The scene to load, such as generated_track or warehouse; the one that is loaded if left out.
        width: Of the camera's images; 0 leaves it to the simulator.
        height: Of the camera's images.
        limit: The speed in m/s that is not passed.
        full_lock: The degrees at the wheels that steering 1 stands for.
        half_lane: Metres from the middle of the lane to its lines; with it, a cross-track error beyond is a
            line crossing.
        max_offset: Metres from the middle of the lane beyond which the vehicle has left the road; None where
            only hits count. gym-donkeycar ends episodes at 8.
        settle: Seconds that the simulator takes to put the car at the start.
        wait: Seconds to wait for the scene, and for a simulator that went away.
        stall: Seconds without telemetry after which the simulator has stopped answering.

    Raises:
        InputError: The address or an option makes no sense.
    """

    def __init__(
        self,
        path: str = "127.0.0.1:9091",
        *,
        scene: str | None = None,
        width: int = 0,
        height: int = 0,
        limit: float = 5.0,
        full_lock: float = 16.0,
        half_lane: float | None = None,
        max_offset: float | None = None,
        settle: float = 1.0,
        wait: float = 60.0,
        stall: float = 10.0,
    ) -> None:
        if (width > 0) != (height > 0) or width < 0:
            raise InputError(f"give width and height of the camera, or neither, got {width}x{height}")
        super().__init__(f"donkey:{scene}" if scene else "donkey", limit, full_lock, half_lane, wait, stall)
        self._scene = scene
        self._size = (width, height)
        self._max_offset = max_offset
        self._settle = settle
        self._client = _remote.LineClient(*_remote.address_of(path, 9091), patience=stall)

    def _forget(self) -> None:
        super()._forget()
        self._first_stamp: float | None = None
        self._line: object = None
        self._line_passed = 0
        self._ended = ""
        self._told = {"msg_type": "control", "steering": "0", "throttle": "0", "brake": "0"}

    def reset(self) -> Situation:
        """Connect and load the scene where that is needed, put the car at the start, and look.

        Raises:
            SimulatorError: There is no simulator, it has no such scene, or it sends nothing.
        """
        self._forget()
        if not self._client.connected:
            self._load()
        # What was sent before the car stands at the start shows the drive before.
        self._client.drop_waiting()
        self._client.send({"msg_type": "reset_car"})
        if self._settle:
            time.sleep(self._settle)
            self._client.drop_waiting()
        self._start = time.monotonic()
        return self._next()

    def step(self, controls: Controls, /) -> Situation:
        """Steer, and return what the simulator shows next.

        Raises:
            SimulatorError: It stopped answering, went away for good, or sends nothing but broken images.
        """
        share, pedal = self._wanted(controls)
        self._told = {
            "msg_type": "control",
            "steering": f"{share:.6g}",
            "throttle": f"{max(0.0, pedal):.6g}",
            "brake": f"{max(0.0, -pedal):.6g}",
        }
        self._client.send(self._told)
        return self._next()

    def close(self) -> None:
        """Stop the car and let go of the connection."""
        if self._client.connected:
            self._client.send({"msg_type": "control", "steering": "0", "throttle": "0", "brake": "1"})
        self._client.close()

    def _load(self) -> None:
        """Connect, choose the scene and set the camera."""
        self._client.connect(self._wait)
        try:
            self._wait_for_car(time.monotonic() + self._wait)
        except SimulatorError:
            self._client.close()
            raise
        self._configure_camera()

    def _wait_for_car(self, deadline: float) -> None:
        if self._scene is not None:
            self._client.send({"msg_type": "get_scene_names"})
        while True:
            message = self._client.receive(deadline - time.monotonic())
            kind = message.get("msg_type") if message else None
            if message is None and not self._client.connected:
                raise SimulatorError(f"the Donkey simulator hung up: {self._client.lost}")
            if message is None:
                waiting = f"scene {self._scene!r}" if self._scene else "scene"
                raise SimulatorError(f"the Donkey simulator loaded no {waiting} within {self._wait:g} s")
            if kind == "scene_selection_ready" and self._scene is None:
                raise SimulatorError(
                    "the Donkey simulator shows its menu: choose a scene there, or with the option scene"
                )
            if kind == "scene_names":
                self._choose(message)
            elif kind in ("car_loaded", "need_car_config") or (kind == "telemetry" and self._scene is None):
                return

    def _choose(self, message: Mapping[str, Any]) -> None:
        names = message.get("scene_names")
        names = names if isinstance(names, list) else []
        if self._scene not in names:
            raise SimulatorError(f"Donkey has no scene {self._scene!r}: it has {', '.join(map(str, names))}")
        self._client.send({"msg_type": "load_scene", "scene_name": str(self._scene)})

    def _configure_camera(self) -> None:
        width, height = self._size
        if width:
            self._client.send(
                {
                    "msg_type": "cam_config",
                    "img_w": str(width),
                    "img_h": str(height),
                    "img_d": "3",
                    "img_enc": "JPG",
                    **dict.fromkeys(("fov", "fish_eye_x", "fish_eye_y"), "0"),
                    **dict.fromkeys(("offset_x", "offset_y", "offset_z", "rot_x", "rot_y", "rot_z"), "0"),
                }
            )

    def _next(self) -> Situation:
        """Return the next situation; what can be mended is mended and noted."""
        deadline = time.monotonic() + self._stall
        broken = 0
        while True:
            message = self._client.receive(deadline - time.monotonic())
            if not self._client.connected:
                self._came_back()
            elif message is None:
                raise SimulatorError(
                    f"the Donkey simulator sent no telemetry for {self._stall:g} s: it stands still, loads a "
                    "scene, or hangs"
                )
            else:
                found = self._heard(message)
                if isinstance(found, Situation):
                    return found
                if found is None:
                    continue
                broken += 1
                if broken > _remote.BROKEN_IN_A_ROW:
                    raise SimulatorError(f"{broken} messages of the Donkey simulator in a row: {found}")
                self._mended[f"left out: {found}"] += 1
            deadline = time.monotonic() + self._stall

    def _came_back(self) -> None:
        """Connect again to a simulator that went away."""
        try:
            self._load()
        except SimulatorError as error:
            raise SimulatorError(
                f"the Donkey simulator went away ({self._client.lost}) and did not come back: {error}"
            ) from None
        self._mended["the simulator went away and was connected again"] += 1
        self._client.send(self._told)

    def _heard(self, message: Mapping[str, Any]) -> Situation | str | None:
        """Return the situation of telemetry, why it cannot be used, or None for anything else."""
        kind = message.get("msg_type")
        if kind == "unreadable":
            return str(message["why"])
        if kind == "need_car_config":
            self._configure_camera()
        elif kind == "collision_with_starting_line":
            index = message.get("starting_line_index")
            self._line = index if self._line is None else self._line
            self._line_passed += index == self._line
        elif kind in ("DQ", "missed_checkpoint"):
            self._ended = "disqualified" if kind == "DQ" else "missed a checkpoint"
        if kind != "telemetry":
            return None
        message = self._client.newest(message)
        try:
            image = _remote.decoded_image(message.get("image"))
        except FrameError as error:
            return str(error)
        return self._situation(message, image)

    def _situation(self, message: Mapping[str, Any], image: NDArray[np.uint8]) -> Situation:
        self._frames += 1
        now = time.monotonic() - self._start
        stamp = _number(message, "time")
        if not math.isnan(stamp):
            self._first_stamp = stamp if self._first_stamp is None else self._first_stamp
            now = stamp - self._first_stamp
        signals = {name: _number(message, key) for key, name in TELEMETRY["donkey"].items() if key in message}
        if "steering_angle" in message:
            signals["steering"] = _number(message, "steering_angle") * self._full_lock
        speed = signals.get("speed", math.nan)
        self._speed = self._speed if math.isnan(speed) else speed
        events = {}
        if "hit" in message:
            hit = str(message["hit"]).lower() not in ("", "none")
            events = {"collision": hit, "crash": hit}
        offset = signals.get("lane_offset", math.nan)
        if self._max_offset is not None and not math.isnan(offset):
            events["crash"] = events.get("crash", False) or abs(offset) > self._max_offset
        if self._half_lane is not None and not math.isnan(offset):
            events["line crossing"] = abs(offset) > self._half_lane
        known = Signals(speed=_remote.known(speed), timestamp=now)
        return Situation(
            now,
            Frame(f"donkey-{self._frames:06d}", image, signals=known),
            signals,
            events,
            # The line is passed once when the first lap begins.
            laps=max(0, self._line_passed - 1),
            ended=self._ended,
        )


def _number(message: Mapping[str, Any], key: str) -> float:
    # A Unity that speaks another language writes a comma.
    return _remote.number(message.get(key), comma=".")
