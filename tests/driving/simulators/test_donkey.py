"""The Donkey simulator: a server that speaks its protocol line by line, well and badly."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.driving.simulators import Controls, DriveLimits, DriveRecorder, drive, open_simulator
from roadworthy.driving.simulators._remote import LineClient, _parsed
from roadworthy.driving.simulators.donkey import DonkeySimulator
from roadworthy.errors import InputError, SimulatorError
from roadworthy.frames import Signals
from roadworthy.images import encode_image
from roadworthy.models import callable_model

IMAGE = base64.b64encode(encode_image(np.full((12, 16, 3), 80, np.uint8), ".jpg")).decode()
STEERS = callable_model(lambda frames: [Signals(steering=4.0) for _ in frames], name="steers")


class Server:
    """The simulator's side: a menu, scenes, a car, telemetry for every control message.

    Args:
        fields: What is different in the telemetry, by its number.
        trouble: What goes wrong, by the number of the telemetry: "broken image", "garbage", "stall", "die"
            (for good) or "leave" (hangs up, and can be connected to again).
        menu: Whether a scene must be chosen first.
    """

    def __init__(
        self,
        fields: Callable[[int], dict[str, Any]] = lambda _: {},
        *,
        trouble: dict[int, str] | None = None,
        menu: bool = True,
    ) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.fields = fields
        self.trouble = trouble or {}
        self.menu = menu
        self.sent = 0
        self.heard: list[dict[str, Any]] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        again = True
        while again:
            try:
                wire, _ = self.listener.accept()
            except OSError:
                return
            with wire, wire.makefile("rb") as lines:
                try:
                    again = self._play(wire, lines)
                except OSError:
                    again = True
        self.listener.close()

    def _play(self, wire: socket.socket, lines: Any) -> bool:
        self._say(wire, {"msg_type": "scene_selection_ready" if self.menu else "need_car_config"})
        for line in lines:
            message = json.loads(line)
            self.heard.append(message)
            kind = message["msg_type"]
            if kind == "get_scene_names":
                self._say(wire, {"msg_type": "scene_names", "scene_names": ["warehouse", "generated_track"]})
            elif kind == "load_scene":
                self.menu = False
                self._say(wire, {"msg_type": "car_loaded"})
            elif kind in ("reset_car", "control"):
                trouble = self._telemetry(wire)
                if trouble == "die":
                    self.listener.close()  # before anybody can connect again
                if trouble in ("leave", "die"):
                    return trouble == "leave"
        return True

    def _telemetry(self, wire: socket.socket) -> str:
        number = self.sent
        self.sent += 1
        trouble = self.trouble.get(number, "")
        message = {
            "msg_type": "telemetry", "image": IMAGE, "speed": 3.0, "cte": 0.5, "hit": "none", "pos_x": 1.0,
            "pos_y": 0.0, "pos_z": 2.0, "steering_angle": 0.25, "throttle": 0.3, "time": 10 + number / 20,
        }  # fmt: skip
        message.update(self.fields(number))
        if trouble == "broken image":
            message["image"] = IMAGE[:40]
        if trouble == "garbage":
            wire.sendall(b'{"msg_type":"telemetry","im\n')
        elif trouble not in ("stall", "die", "leave"):
            self._say(wire, message)
        return trouble

    @staticmethod
    def _say(wire: socket.socket, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        # A message may come in pieces, and two in one.
        wire.sendall(data[:7])
        wire.sendall(data[7:])


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.listener.close()


def seconds(count: int) -> DriveLimits:
    """Return limits after which so many telemetry messages have come, at 20 a second."""
    return DriveLimits(seconds=(count - 1) / 20 - 0.01, laps=None)


def test_a_scene_is_loaded_the_camera_set_and_the_car_driven(server: Server) -> None:
    simulator = open_simulator(
        f"donkey:{server.address}", scene="generated_track", width=160, height=120, half_lane=0.4, settle=0.0
    )
    driven = drive(STEERS, simulator, limits=seconds(6))
    simulator.close()
    kinds = [message["msg_type"] for message in server.heard]
    assert kinds[:4] == ["get_scene_names", "load_scene", "cam_config", "reset_car"]
    assert server.heard[1]["scene_name"] == "generated_track"
    assert (server.heard[2]["img_w"], server.heard[2]["img_h"]) == ("160", "120")
    control = server.heard[4]
    assert control["steering"] == "0.25"  # 4 of 16 degrees
    assert float(control["throttle"]) == pytest.approx(1 - 0.25**2 - (3 / 5) ** 2)
    assert all(isinstance(value, str) for value in control.values())
    assert (len(driven), driven.notes) == (6, ())
    assert driven.time == pytest.approx(np.arange(6) / 20)
    assert driven.signals["steering"].tolist() == [4.0] * 6
    assert driven.signals["lane_offset"].tolist() == [0.5] * 6
    assert driven.events["line crossing"].all()
    assert not driven.events["crash"].any()
    deadline = time.monotonic() + 5
    while server.heard[-1].get("brake") != "1" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.heard[-1]["brake"] == "1"


def test_a_second_drive_resets_the_car_and_nothing_else(server: Server) -> None:
    simulator = DonkeySimulator(server.address, settle=0.0, scene="warehouse")
    for _ in range(2):
        assert len(drive(STEERS, simulator, limits=seconds(3))) == 3
    simulator.close()
    kinds = [message["msg_type"] for message in server.heard]
    assert kinds.count("reset_car") == 2
    assert kinds.count("load_scene") == 1


def test_hits_end_the_drive_and_numbers_may_have_commas() -> None:
    server = Server(lambda n: {"hit": "Cone" if n == 2 else "none", "speed": "3,5"}, menu=False)
    simulator = DonkeySimulator(server.address, settle=0.0)
    driven = drive(STEERS, simulator)
    simulator.close()
    assert driven.ended == "crash"
    assert driven.events["collision"].tolist() == [False, False, True]
    assert driven.signals["speed"].tolist() == [3.5] * 3


def test_bare_decimal_commas_are_understood() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def play() -> None:
        wire, _ = listener.accept()
        with wire:
            wire.sendall(b'{"msg_type":"need_car_config"}\n')
            wire.recv(1000)
            wire.sendall(
                b'{"msg_type":"telemetry","speed":1,25,"cte":-0,5,"image":"' + IMAGE.encode() + b'"}\n'
            )
            wire.recv(1000)

    threading.Thread(target=play, daemon=True).start()
    simulator = DonkeySimulator(f"127.0.0.1:{listener.getsockname()[1]}", settle=0.0)
    situation = simulator.reset()
    assert (situation.signals["speed"], situation.signals["lane_offset"]) == (1.25, -0.5)
    simulator.close()
    listener.close()


def test_leaving_the_road_is_a_crash_where_it_is_said_how_far() -> None:
    server = Server(lambda n: {"cte": float(n)}, menu=False)
    simulator = DonkeySimulator(server.address, settle=0.0, max_offset=2.5)
    assert len(drive(STEERS, simulator)) == 4
    simulator.close()


@pytest.mark.parametrize(
    ("trouble", "note"),
    [
        ("broken image", "1 × left out: cannot read the image of the telemetry"),
        ("garbage", "1 × left out: expected a JSON object, got"),
        ("leave", "1 × the simulator went away and was connected again"),
    ],
)
def test_what_can_be_mended_is_mended_and_noted(trouble: str, note: str) -> None:
    class Streaming(Server):
        """Sends the next telemetry by itself after one that is broken, as the simulator does."""

        def _telemetry(self, wire: socket.socket) -> str:
            found = super()._telemetry(wire)
            if found not in ("broken image", "garbage"):
                return found
            time.sleep(0.2)  # a newer one would take its place
            return self._telemetry(wire)

    server = Streaming(trouble={2: trouble}, menu=False)
    simulator = DonkeySimulator(server.address, settle=0.0, wait=10.0)
    driven = drive(STEERS, simulator, limits=seconds(6))
    simulator.close()
    assert len(driven) == 5
    assert len(driven.notes) == 1
    assert driven.notes[0].startswith(note)


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("stall", "sent no telemetry for 0.5 s: it stands still, loads a scene, or hangs"),
        ("die", r"went away \(.*\) and did not come back: no simulator listens on"),
    ],
)
def test_what_cannot_be_mended_ends_the_drive_and_the_recording_survives(trouble: str, message: str) -> None:
    server = Server(trouble={3: trouble}, menu=False)
    simulator = DonkeySimulator(
        server.address, settle=0.0, wait=0.6, stall=0.5 if trouble == "stall" else 10.0
    )
    recorder = DriveRecorder("lap")
    with pytest.raises(SimulatorError, match=message):
        drive(STEERS, simulator, recorder=recorder)
    simulator.close()
    assert len(recorder.finished("simulator failed", simulator.notes)) == 3


def test_nothing_but_broken_images_ends_the_drive() -> None:
    class Broken(Server):
        def _telemetry(self, wire: socket.socket) -> str:
            for _ in range(12):
                super()._telemetry(wire)
            return ""

    server = Broken(trouble=dict.fromkeys(range(99), "garbage"), menu=False)
    simulator = DonkeySimulator(server.address, settle=0.0)
    with pytest.raises(SimulatorError, match="11 messages of the Donkey simulator in a row: expected a JSON"):
        simulator.reset()
    simulator.close()


def test_laps_are_counted_at_the_line() -> None:
    class Laps(Server):
        def _telemetry(self, wire: socket.socket) -> str:
            if self.sent in (1, 2, 3):  # a track may have several lines; only the first that is met counts
                line = 1 if self.sent == 2 else 0
                self._say(wire, {"msg_type": "collision_with_starting_line", "starting_line_index": line})
            return super()._telemetry(wire)

    server = Laps(menu=False)
    simulator = DonkeySimulator(server.address, settle=0.0)
    driven = drive(STEERS, simulator)
    simulator.close()
    assert (driven.ended, len(driven)) == ("lap complete", 4)


def test_a_stream_is_read_at_its_newest_and_not_before_the_car_stands_at_the_start() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def play() -> None:
        wire, _ = listener.accept()
        wire.setblocking(False)
        with wire:
            number, put_back = 0, 0
            while not over.wait(0.002):
                number += 1
                with contextlib.suppress(BlockingIOError):
                    put_back = put_back or (number if b"reset_car" in wire.recv(9999) else 0)
                # It takes ten messages until the car is at the start.
                speed = 0.0 if put_back and number > put_back + 10 else 9.0
                message = {"msg_type": "telemetry", "image": IMAGE, "speed": speed, "cte": number}
                wire.setblocking(True)
                wire.sendall(json.dumps(message).encode() + b"\n")
                wire.setblocking(False)

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    simulator = DonkeySimulator(f"127.0.0.1:{listener.getsockname()[1]}", settle=0.5)
    first = simulator.reset()
    assert first.signals["speed"] == 0.0
    time.sleep(0.1)
    second = simulator.step(Controls(0.0))
    assert second.signals["lane_offset"] > first.signals["lane_offset"] + 5
    over.set()
    thread.join()
    simulator.close()
    listener.close()


def test_simulators_that_are_not_ready(server: Server) -> None:
    with pytest.raises(SimulatorError, match="has no scene 'moon': it has warehouse, generated_track"):
        DonkeySimulator(server.address, settle=0.0, scene="moon").reset()
    with pytest.raises(SimulatorError, match="shows its menu: choose a scene"):
        DonkeySimulator(server.address, settle=0.0).reset()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(SimulatorError, match=rf"no simulator listens on 127.0.0.1:{port} .*: start it first"):
        DonkeySimulator(f"127.0.0.1:{port}", wait=0.1, stall=0.1).reset()


def test_a_simulator_that_takes_in_nothing_is_gone_after_a_while() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = LineClient("127.0.0.1", listener.getsockname()[1], patience=0.2)
        client.connect(5.0)
        wire, _ = listener.accept()
        for _ in range(10**6):
            client.send({"msg_type": "control", "steering": "0" * 400})
            if not client.connected:
                break
        assert client.lost == "it read nothing for 0.2 s"
        wire.close()


@given(st.binary())
def test_no_line_breaks_the_reader(line: bytes) -> None:
    message = _parsed(line)
    assert message is None or isinstance(message["msg_type"], str)


def test_nonsense_that_breaks_parsers_is_told() -> None:
    for line in (b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}", b'"x"', b"{}"):
        message = _parsed(line)
        assert message is not None
        assert (message["msg_type"], "expected" in message["why"]) == ("unreadable", True)


def test_options_that_make_no_sense() -> None:
    with pytest.raises(InputError, match="give width and height of the camera, or neither, got 160x0"):
        DonkeySimulator(width=160)
    with pytest.raises(InputError, match="full_lock must be above 0"):
        DonkeySimulator(full_lock=0)
    with pytest.raises(InputError, match="expected an address"):
        DonkeySimulator("")
