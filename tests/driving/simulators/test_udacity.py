"""The Udacity simulator: a client that speaks its protocol frame by frame, well and badly."""

from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from roadworthy.driving.simulators import Controls, DriveLimits, DriveRecorder, drive, open_simulator
from roadworthy.driving.simulators import _udacity_wire as packets
from roadworthy.driving.simulators._remote import number
from roadworthy.driving.simulators.udacity import UdacitySimulator, read_telemetry
from roadworthy.errors import InputError, SimulatorError
from roadworthy.frames import Frame, Signals
from roadworthy.images import encode_image
from roadworthy.models import callable_model

PICTURE = np.full((16, 32, 3), (200, 100, 50), np.uint8)
IMAGE = base64.b64encode(encode_image(PICTURE, ".png")).decode()
STEERS = callable_model(lambda frames: [Signals(steering=5.0) for _ in frames], name="steers")


class Game:
    """The simulator's side as its Unity plugin plays it: telemetry on open, then one for every answer.

    Args:
        address: Where our server listens.
        fields: What the version adds to the telemetry, by the number of the message.
        telemetry: The name of the event.
        trouble: What goes wrong, by the number of the message: "broken image", "garbage", "manual", "stall",
            "die" or "leave" (closes, and connects again).
    """

    def __init__(
        self,
        address: tuple[str, int],
        fields: Callable[[int], dict[str, str]] = lambda _: {},
        *,
        telemetry: str = "telemetry",
        trouble: dict[int, str] | None = None,
        begins: str = "40",
    ) -> None:
        self.url = f"ws://{address[0]}:{address[1]}/socket.io/?EIO=4&transport=websocket"
        self.fields = fields
        self.telemetry = telemetry
        self.trouble = trouble or {}
        self.begins = begins
        self.sent = 0
        self.opened: list[str] = []
        self.heard: list[tuple[str, Any]] = []
        self.pongs = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._play, daemon=True)
        self.thread.start()

    def _play(self) -> None:
        again = True
        while again:
            try:
                with connect(self.url, compression=None) as wire:
                    again = self._play_once(wire)
            except (ConnectionClosed, OSError):
                again = False

    def _play_once(self, wire: ClientConnection) -> bool:
        for text in wire:
            assert isinstance(text, str)
            if text.startswith("0"):
                self.opened.append(text)
                wire.send("2")
                continue
            if text == "3":
                self.pongs += 1
                continue
            name, data = "", None
            if text.startswith("42"):
                name, *rest = json.loads(text[2:])
                data = rest[0] if rest else None
                self.heard.append((name, data))
            if text == self.begins or name in ("steer", "action", "manual", "start_episode"):
                trouble = self._emit(wire)
                if trouble in ("leave", "die"):
                    return trouble == "leave"
        return False

    def _emit(self, wire: ClientConnection) -> str:
        number = self.sent
        self.sent += 1
        trouble = self.trouble.get(number, "")
        data = {"steering_angle": "1.2500", "throttle": "0.5000", "speed": "22.3694", "image": IMAGE}
        data.update(self.fields(number))
        if trouble == "broken image":
            data["image"] = IMAGE[: len(IMAGE) // 2]
        if trouble == "manual":
            data = {}
        if trouble == "garbage":
            wire.send('42["telemetry",{"speed')
        elif trouble not in ("stall", "die", "leave"):
            wire.send("42" + json.dumps([self.telemetry, data]))
        return trouble


@pytest.fixture
def simulator() -> Iterator[UdacitySimulator]:
    one = UdacitySimulator("127.0.0.1:0", wait=10.0, stall=5.0)
    yield one
    one.close()


def rows(count: int) -> DriveLimits:
    """Return limits after which so many rows are recorded: 10 m/s and 1 m a row in these games."""
    return DriveLimits(metres=float(count - 1), laps=None)


def metres(number: int) -> dict[str, str]:
    return {"distance": str(float(number))}


def test_the_original_version_is_driven_frame_by_frame(simulator: UdacitySimulator) -> None:
    seen: list[Frame] = []

    def look(frames: list[Frame]) -> list[Signals]:
        seen.extend(frames)
        return [Signals(steering=5.0) for _ in frames]

    game = Game(simulator.address, metres)
    driven = drive(callable_model(look, name="net"), simulator, limits=rows(6))
    assert json.loads(game.opened[0][1:])["upgrades"] == []
    assert game.pongs == 1
    assert (len(driven), driven.ended, driven.notes) == (6, "distance driven", ())
    assert driven.signals["speed"] == pytest.approx([10.0] * 6, abs=1e-3)  # 22.3694 mph
    assert driven.signals["steering"].tolist() == [1.25] * 6
    assert np.array_equal(seen[0].image, PICTURE)
    assert seen[0].signals.steering == 1.25
    names, told = zip(*game.heard, strict=True)
    assert set(names) == {"steer"}
    assert told[0]["steering_angle"] == "0.2"  # 5 of 25 degrees
    assert float(told[0]["throttle"]) == pytest.approx(1 - 0.2**2 - (10 / 13.4) ** 2, abs=1e-3)
    assert all(isinstance(value, str) for value in told[0].values())


def test_a_second_drive_goes_on_with_the_same_simulator(simulator: UdacitySimulator) -> None:
    Game(simulator.address, metres)
    first = drive(STEERS, simulator, limits=rows(3))
    second = drive(STEERS, simulator, limits=rows(3))
    assert len(first) == len(second) == 3
    assert second.time[0] < 1.0
    assert second.signals["distance"].tolist() == [0.0, 1.0, 2.0]


def test_selforacle_and_thirdeye_tell_sectors_crashes_and_laps(simulator: UdacitySimulator) -> None:
    def fields(number: int) -> dict[str, str]:
        return {
            "brake": "0.1000",
            "currentWayPoint": str(number // 3 % 4),
            "lapNumber": str(1 + number // 12),
            "crash": "0",
            "tot_obes": "2",
            "tot_crashes": "7" if number < 8 else "8",
            "cte": "-0.3000",
            "distance": f"{1_200 + number:,}",
            "sim_time": "3",
            "ang_diff": "1.5",
        }

    Game(simulator.address, fields)
    driven = drive(STEERS, simulator, limits=DriveLimits(events=()))
    assert driven.ended == "lap complete"
    assert driven.sector_names == ("waypoint 0", "waypoint 1", "waypoint 2", "waypoint 3")
    assert np.flatnonzero(driven.events["crash"]).tolist() == [8]
    assert driven.signals["distance"].tolist() == list(range(13))
    assert driven.signals["lane_offset"][0] == -0.3
    assert (np.diff(driven.time) > 0).all()


def test_later_forks_tell_hits_and_take_track_and_reset() -> None:
    simulator = UdacitySimulator("127.0.0.1:0", version="research", track="lake", half_lane=1.0)
    try:
        game = Game(
            simulator.address,
            lambda n: {"hit": "tree" if n == 3 else "none", "cte": str(n), "pos_x": "1", "pos_z": "2"},
        )
        driven = drive(STEERS, simulator)
    finally:
        simulator.close()
    assert driven.ended == "crash"
    assert driven.events["collision"].tolist() == [False, False, False, True]
    assert driven.events["line crossing"].tolist() == [False, False, True, True]
    assert (driven.signals["x"][0], driven.signals["y"][0]) == (1.0, 2.0)
    assert ("track", {"track_string": "lake"}) in game.heard
    assert "reset" in [name for name, _ in game.heard]


def test_udacity_gym_begins_and_ends_episodes() -> None:
    simulator = open_simulator(
        "udacity:127.0.0.1:0", version="gym", track="mountain", weather="fog", daytime="night"
    )
    assert isinstance(simulator, UdacitySimulator)
    game = Game(
        simulator.address,
        lambda n: {
            "speed": "5.0", "lap": "1", "sector": str(n // 2), "cte": "0.1", "next_cte": "0.2", **metres(n)
        },
        telemetry="car_telemetry",
        begins="never",
    )  # fmt: skip
    driven = drive(STEERS, simulator, limits=rows(5))
    simulator.close()
    game.thread.join(5.0)
    assert driven.signals["speed"][0] == 5.0  # already m/s
    assert driven.sector_names == ("sector 0", "sector 1", "sector 2")
    assert driven.signals["steering"].tolist() == [1.25 * 25] * 5  # a share of the full lock
    assert game.heard[1] == (
        "start_episode",
        {"track_name": "mountain", "weather_name": "fog", "daytime_name": "night"},
    )
    assert {name for name, _ in game.heard[2:]} == {"action", "end_episode"}


def test_events_of_an_episode_are_crashes() -> None:
    simulator = UdacitySimulator("127.0.0.1:0", version="gym")
    hits = '42["episode_event",{"key":"collision","value":"tree"}]'
    try:
        with connect(f"ws://127.0.0.1:{simulator.address[1]}/socket.io/?EIO=4") as wire:

            def telemetry() -> None:
                wire.send("42" + json.dumps(["car_telemetry", {"speed": "5", "image": IMAGE}]))

            def play() -> None:
                for text in wire:
                    if "start_episode" in str(text) or '"action"' in str(text):
                        if '"action"' in str(text):
                            wire.send(hits)
                        telemetry()

            threading.Thread(target=play, daemon=True).start()
            assert simulator.reset().events == {"crash": False, "collision": False}
            assert simulator.step(Controls(0.0)).events == {"crash": True, "collision": True}
    finally:
        simulator.close()


@pytest.mark.parametrize(
    ("trouble", "note"),
    [
        ("broken image", "1 × answered with the last controls: cannot read the image of the telemetry"),
        ("garbage", "1 × answered with the last controls: expected an event as JSON"),
        ("manual", "1 × somebody drove by hand"),
        ("leave", "1 × the simulator went away and connected again"),
    ],
)
def test_what_can_be_mended_is_mended_and_noted(simulator: UdacitySimulator, trouble: str, note: str) -> None:
    game = Game(simulator.address, metres, trouble={2: trouble})
    driven = drive(STEERS, simulator, limits=rows(6))
    assert len(driven) == 5  # one message was lost
    assert len(driven.notes) == 1
    assert driven.notes[0].startswith(note)
    assert game.sent >= 6


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ({3: "stall"}, "sent no telemetry for 0.5 s: it stands still, shows its menu, or hangs"),
        ({3: "die"}, r"went away \(it closed the connection\) and did not come back within 1.5 s"),
        (
            dict.fromkeys(range(3, 40), "broken image"),
            "11 messages of the Udacity simulator in a row: cannot",
        ),
        (
            dict.fromkeys(range(3, 40), "garbage"),
            "11 messages of the Udacity simulator in a row: expected an",
        ),
        (dict.fromkeys(range(3, 99999), "manual"), "driven the Udacity simulator by hand for 1.5 s"),
    ],
)
def test_what_cannot_be_mended_ends_the_drive_and_the_recording_survives(
    trouble: dict[int, str], message: str
) -> None:
    simulator = UdacitySimulator("127.0.0.1:0", wait=1.5, stall=0.5 if trouble == {3: "stall"} else 5.0)
    recorder = DriveRecorder("lap")
    try:
        Game(simulator.address, metres, trouble=trouble)
        with pytest.raises(SimulatorError, match=message):
            drive(STEERS, simulator, limits=rows(9), recorder=recorder)
    finally:
        simulator.close()
    assert len(recorder.finished("simulator failed", simulator.notes)) == 3


def test_nobody_connects() -> None:
    simulator = UdacitySimulator("127.0.0.1:0", wait=0.1)
    with pytest.raises(SimulatorError, match=r"no Udacity simulator connected to 127.0.0.1:\d+ within 0.1 s"):
        simulator.reset()
    simulator.close()
    simulator.close()


def test_addresses_and_options_that_cannot_be_used(simulator: UdacitySimulator) -> None:
    with pytest.raises(InputError, match="cannot listen on 127"):
        UdacitySimulator(f"127.0.0.1:{simulator.address[1]}")
    with pytest.raises(InputError, match=r"expected an address such as 127.0.0.1:4567, got 'here:there'"):
        UdacitySimulator("here:there")
    with pytest.raises(InputError, match="leave out track"):
        UdacitySimulator("127.0.0.1:0", track="lake")
    with pytest.raises(InputError, match="stall must be above 0"):
        UdacitySimulator("127.0.0.1:0", stall=0)
    with pytest.raises(InputError, match="'original' or 'research' or 'gym', got 'old'"):
        open_simulator("udacity:127.0.0.1:0", version="old")


def test_another_path_is_refused(simulator: UdacitySimulator) -> None:
    with pytest.raises(InvalidStatus, match="404"):
        connect(f"ws://127.0.0.1:{simulator.address[1]}/chat")


def test_a_client_that_speaks_no_websocket_hurts_nobody(simulator: UdacitySimulator) -> None:
    with socket.create_connection(simulator.address) as wire:
        wire.sendall(b"\x00\x01 hello\r\n\r\n")
    Game(simulator.address, metres)
    assert len(drive(STEERS, simulator, limits=rows(2))) == 2


def test_packets() -> None:
    assert packets.parse(b"2").kind == "ping"
    assert packets.parse("41").kind == packets.parse("1").kind == "close"
    assert packets.parse("40").kind == packets.parse("3").kind == "other"
    assert packets.parse('4217["telemetry",{}]') == packets.Packet("event", "telemetry", {})
    assert packets.parse('42["x"]').data is None
    for text in ("hello", "42{}", "42[]", "42[1]", "", "42[" + "x" * 200):
        with pytest.raises(SimulatorError):
            packets.parse(text)


@given(st.text() | st.text().map(lambda text: "42" + text) | st.binary())
def test_whatever_comes_is_a_packet_or_refused(text: str | bytes) -> None:
    try:
        kind = packets.parse(text).kind
    except SimulatorError:
        kind = "other"
    assert kind in ("event", "ping", "close", "other")


def test_nonsense_that_breaks_parsers_is_refused() -> None:
    for text in ("42" + "[" * 100_000, "42[" + "9" * 5000 + "]"):
        with pytest.raises(SimulatorError, match="expected an event"):
            packets.parse(text)


_words = st.text(st.characters(exclude_categories=["Cs"]))
_anything = st.recursive(
    st.none() | st.booleans() | st.floats() | _words,
    lambda inner: st.lists(inner) | st.dictionaries(_words, inner),
)


@given(_words.filter(bool), st.dictionaries(_words, _words))
def test_events_come_back_as_they_went(name: str, data: dict[str, str]) -> None:
    assert packets.parse(packets.event(name, data)) == packets.Packet("event", name, data)


@settings(max_examples=40)
@given(
    st.sampled_from(["telemetry", "car_telemetry"]),
    st.dictionaries(
        st.sampled_from(
            ["speed", "steering_angle", "image", "crash", "hit", "lap", "sector", "cte", "tot_obes"]
        ),
        _anything,
    ),
)
def test_no_telemetry_breaks_the_reader(event: str, data: dict[str, Any]) -> None:
    found = read_telemetry(event, data, full_lock=25.0)
    assert found.image is None
    assert all(isinstance(value, float) for value in found.signals.values())


def test_numbers_as_the_simulator_writes_them() -> None:
    assert number("1,234,567.5000") == 1234567.5
    assert number(3) == 3.0
    for text in ("", "wet", "inf", None, True):
        assert np.isnan(number(text))
    counted = {"tot_crashes": "many", "tot_obes": "1,002"}
    assert dict(read_telemetry("telemetry", counted, full_lock=25.0).counts) == {"tot_obes": 1002.0}
    odd = read_telemetry("telemetry", {"image": 3, "speed": "fast"}, full_lock=25.0)
    assert (odd.image, odd.wrong) == (None, "the message has no image")
    assert np.isnan(odd.signals["speed"])
    assert read_telemetry("telemetry", {"image": "!!!"}, full_lock=25.0).wrong == "the image is no base64"
