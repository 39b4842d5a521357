"""The Udacity simulator, by its own wire protocol; it connects to us."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving.simulators import _remote
from roadworthy.driving.simulators._remote import TELEMETRY
from roadworthy.driving.simulators._udacity_wire import EventServer, Message
from roadworthy.driving.simulators.loop import Controls, Situation
from roadworthy.errors import FrameError, InputError, SimulatorError
from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.registry import simulators

_SPEEDS = {"telemetry": SignalUnits(speed="mph"), "car_telemetry": SignalUnits(speed="m/s")}


@dataclass(frozen=True, eq=False)
class Telemetry:
    """What one message says.

    Attributes:
        image: What the camera saw; None if it cannot be read.
        wrong: Why it cannot be read.
        signals: In our names and units.
        flags: Whether the vehicle crashed or hit something, where the version says so.
        counts: Of crashes and of leaving the road so far, where the version counts them.
        sector: The number of the waypoint or sector.
        lap: The number of the lap.
    """

    image: NDArray[np.uint8] | None
    wrong: str
    signals: Mapping[str, float]
    flags: Mapping[str, bool] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)
    sector: str | None = None
    lap: int | None = None


def read_telemetry(event: str, data: Mapping[str, Any], *, full_lock: float) -> Telemetry:
    """Return what a telemetry message says.

    Args:
        event: "telemetry" of the original and most forks, or "car_telemetry" of udacity-gym.
        data: Its fields.
        full_lock: The largest angle of the wheels in degrees.
    """
    image, wrong = None, ""
    try:
        image = _remote.decoded_image(data.get("image"))
    except FrameError as error:
        wrong = str(error)
    signals = {name: _remote.number(data[key]) for key, name in TELEMETRY["udacity"].items() if key in data}
    if "speed" in data:
        signals["speed"] = _SPEEDS[event].decode_speed(_remote.number(data["speed"]))
    if "steering_angle" in data:
        angle = _remote.number(data["steering_angle"])
        # udacity-gym answers with what it was told, a share of the full lock.
        signals["steering"] = angle * full_lock if event == "car_telemetry" else angle
    sector = data.get("currentWayPoint", data.get("sector"))
    kind = "waypoint" if "currentWayPoint" in data else "sector"
    lap = _remote.number(data.get("lapNumber", data.get("lap")))
    return Telemetry(
        image,
        wrong,
        signals,
        _flags(data),
        {
            key: count
            for key in ("tot_crashes", "tot_obes")
            if not math.isnan(count := _remote.number(data.get(key)))
        },
        None if sector is None else f"{kind} {sector}",
        None if math.isnan(lap) else int(lap),
    )


def _flags(data: Mapping[str, Any]) -> dict[str, bool]:
    """Return the events that the message tells of."""
    flags: dict[str, bool] = {}
    if "crash" in data:
        flags["crash"] = _remote.number(data["crash"]) > 0
    if "hit" in data:
        hit = str(data["hit"]).strip().lower() not in ("", "none", "null", "0", "false")
        flags["collision"] = hit
        flags["crash"] = hit or flags.get("crash", False)
    return flags


_REPLY = {"telemetry": "steer", "car_telemetry": "action"}


@simulators.register(
    "udacity", summary="the Udacity simulator and its research versions, which connect to us over a websocket"
)
class UdacitySimulator(_remote.RemoteSimulator):
    """A drive in the Udacity simulator. Start it in autonomous mode while this listens.

    Time is that of the clock, for the simulator runs on by itself. The original version cannot be reset from
    outside: a drive starts where the vehicle is.

    Args:
        path: The address to listen on.
        version: "original" also for SelfOracle and ThirdEye; "research" for forks with the events track and
            reset; "gym" for udacity-gym.
        track: The track that a research version shall load, as that version spells it.
        weather: For udacity-gym.
        daytime: For udacity-gym.
        limit: The speed in m/s that is not passed.
        full_lock: The largest angle of the wheels in degrees.
        half_lane: Metres from the middle of the lane to its lines; with it, a cross-track error beyond is a
            line crossing.
        wait: Seconds to wait for the simulator to connect, at first and after it went away.
        stall: Seconds without telemetry after which the simulator has stopped answering.

    Raises:
        InputError: The address cannot be listened on, or an option makes no sense.
        MissingExtraError: The websockets package is not installed.
    """

    def __init__(
        self,
        path: str = "127.0.0.1:4567",
        *,
        version: Literal["original", "research", "gym"] = "original",
        track: str | None = None,
        weather: str = "sunny",
        daytime: str = "day",
        limit: float = 13.4,
        full_lock: float = 25.0,
        half_lane: float | None = None,
        wait: float = 60.0,
        stall: float = 10.0,
    ) -> None:
        if track is not None and version == "original":
            raise InputError("the original version loads the track that its menu chose: leave out track")
        super().__init__("udacity", limit, full_lock, half_lane, wait, stall)
        self._version = version
        self._episode = {"track_name": track or "lake", "weather_name": weather, "daytime_name": daytime}
        self._track = track
        self._reply = "action" if version == "gym" else "steer"
        self._owed = False
        self._connection = 0
        self._server = EventServer(*_remote.address_of(path, 4567))

    def _forget(self) -> None:
        """Begin a drive with nothing known."""
        super()._forget()
        self._told = {"steering_angle": "0", "throttle": "0"}
        self._metres: float | None = None
        self._first_lap: int | None = None
        self._counts: dict[str, float] = {}
        self._happened: set[str] = set()

    @property
    def address(self) -> tuple[str, int]:
        """The host and port that are listened on."""
        return self._server.host, self._server.port

    def reset(self) -> Situation:
        """Wait for the simulator, let it begin anew where its version can, and return what it shows first.

        Raises:
            SimulatorError: It did not connect, or did not send.
        """
        self._forget()
        self._connected()
        self._connection = self._server.connection
        self._begin()
        if self._owed:
            # The simulator waits for the answer to what it showed at the end of the drive before.
            self._answer()
        self._start = time.monotonic()
        return self._next()

    def step(self, controls: Controls, /) -> Situation:
        """Steer, and return what the simulator shows next.

        Raises:
            SimulatorError: It stopped answering, went away for good, or sends nothing but broken images.
        """
        share, throttle = self._wanted(controls)
        self._told = {"steering_angle": f"{share:.6g}", "throttle": f"{throttle:.6g}"}
        self._answer()
        return self._next()

    def close(self) -> None:
        """End the episode and stop listening."""
        if self._version == "gym":
            self._server.emit("end_episode")
        self._server.close()

    def _begin(self) -> None:
        if self._version == "gym":
            self._server.emit("end_episode")
            self._server.drop_waiting()
            self._server.emit("start_episode", self._episode)
        elif self._version == "research":
            if self._track is not None:
                self._server.emit("track", {"track_string": self._track})
            # The forks ignore the content, but their parser wants one.
            self._server.emit("reset", {"nothing": "wow"})

    def _connected(self) -> None:
        """Wait until a simulator is connected."""
        deadline = time.monotonic() + self._wait
        while not self._server.connection:
            if self._server.receive(min(0.2, deadline - time.monotonic())) is None and (
                time.monotonic() >= deadline
            ):
                host, port = self.address
                raise SimulatorError(
                    f"no Udacity simulator connected to {host}:{port} within {self._wait:g} s: start it and "
                    "choose autonomous mode"
                )

    def _next(self) -> Situation:
        """Return the next situation; what can be mended is mended and noted."""
        deadline = time.monotonic() + self._stall
        by_hand: float | None = None
        broken = 0
        while True:
            message = self._server.receive(deadline - time.monotonic())
            self._notice_connection()
            if message is None:
                raise SimulatorError(
                    f"the Udacity simulator sent no telemetry for {self._stall:g} s: it stands still, shows "
                    "its menu, or hangs"
                )
            if message.kind == "gone" and not self._server.connection:
                self._came_back(message)
            elif message.connection != self._server.connection:
                continue
            elif message.kind == "event" and message.name not in _REPLY:
                self._happened |= _episode_events(message)
                continue
            elif message.kind == "event" and not message.data:
                by_hand = time.monotonic() if by_hand is None else by_hand
                self._drive_by_hand(by_hand)
            elif message.kind != "connected":
                found = self._read(self._server.newest(message))
                if isinstance(found, Telemetry):
                    self._owed = True
                    return self._situation(found)
                broken += 1
                if broken > _remote.BROKEN_IN_A_ROW:
                    raise SimulatorError(f"{broken} messages of the Udacity simulator in a row: {found}")
                self._mended[f"answered with the last controls: {found}"] += 1
                self._answer()
            deadline = time.monotonic() + self._stall

    def _notice_connection(self) -> None:
        present = self._server.connection
        if present and present != self._connection:
            self._mended["the simulator went away and connected again"] += 1
            self._connection = present
            self._owed = False

    def _came_back(self, lost: Message) -> None:
        """Wait for a simulator that went away."""
        try:
            self._connected()
        except SimulatorError:
            raise SimulatorError(
                f"the Udacity simulator went away ({lost.data}) and did not come back within {self._wait:g} s"
            ) from None

    def _drive_by_hand(self, since: float) -> None:
        """Answer a simulator that is driven by hand."""
        if time.monotonic() - since > self._wait:
            raise SimulatorError(f"somebody has driven the Udacity simulator by hand for {self._wait:g} s")
        self._mended["somebody drove by hand"] += 1
        self._server.emit("manual", {})

    def _read(self, message: Message) -> Telemetry | str:
        """Return the telemetry of a message, or why the model cannot be asked about it."""
        if message.kind == "broken":
            return str(message.data)
        if not isinstance(message.data, Mapping):
            return f"expected the fields of the telemetry, got {type(message.data).__name__}"
        self._reply = _REPLY[message.name]
        found = read_telemetry(message.name, message.data, full_lock=self._full_lock)
        return found.wrong if found.image is None else found

    def _answer(self) -> None:
        self._server.emit(self._reply, self._told)
        self._owed = False

    def _situation(self, found: Telemetry) -> Situation:
        assert found.image is not None
        now = time.monotonic() - self._start
        self._frames += 1
        signals = dict(found.signals)
        if (speed := _remote.known(signals.get("speed"))) is not None:
            self._speed = speed
        if (metres := _remote.known(signals.get("distance"))) is not None:
            self._metres = metres if self._metres is None else self._metres
            signals["distance"] = metres - self._metres
        if self._first_lap is None:
            self._first_lap = found.lap
        laps = max(0, found.lap - self._first_lap) if found.lap and self._first_lap is not None else 0
        known: dict[str, Any] = {
            name: _remote.known(signals.get(name)) for name in ("speed", "steering", "throttle", "brake")
        }
        frame = Frame(f"udacity-{self._frames:06d}", found.image, signals=Signals(**known, timestamp=now))
        sector = found.sector if laps == 0 or found.sector is None else f"{found.sector} lap {laps + 1}"
        return Situation(now, frame, signals, self._events(found), sector=sector, laps=laps)

    def _events(self, found: Telemetry) -> dict[str, bool]:
        events = dict(found.flags)
        for key, total in found.counts.items():
            # Only what came since the drive began is this drive's.
            events["crash"] = events.get("crash", False) or total > self._counts.setdefault(key, total)
            self._counts[key] = max(total, self._counts[key])
        if self._version == "gym":
            events = {"crash": False, "collision": False} | events
        events |= dict.fromkeys(self._happened, True)
        self._happened = set()
        offset = _remote.known(found.signals.get("lane_offset"))
        if self._half_lane is not None and offset is not None:
            events["line crossing"] = abs(offset) > self._half_lane
        return events


def _episode_events(message: Message) -> set[str]:
    """Return what an event of an episode tells of; its spelling differs from version to version."""
    if not message.name.startswith("episode_event"):
        return set()
    told = json.dumps(message.data, default=str).lower()
    if "collision" in told or "crash" in told:
        return {"crash", "collision"}
    return {"crash"} if "out_of" in told or "offtrack" in told or "off_track" in told else set()
