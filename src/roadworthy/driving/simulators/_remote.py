"""What adapters of simulators share that run in a process of their own: addresses, lines of JSON over TCP."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import math
import queue
import re
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._tables import as_float
from roadworthy._yaml import read_yaml
from roadworthy.driving.simulators.loop import Controls, pedals
from roadworthy.errors import FrameError, InputError, SimulatorError, check_number
from roadworthy.images import decode_image

TELEMETRY: Mapping[str, Mapping[str, str]] = read_yaml(
    Path(__file__).with_name("telemetry.yaml"), "file of telemetry", "signals by simulator"
).data
"""The signals of each simulator by what it calls them."""


def address_of(text: str, port: int) -> tuple[str, int]:
    """Return the host and port of an address.

    Args:
        text: "host:port", a host or a port.
        port: Where no port is given.

    Raises:
        InputError: It is no address.

    Example:
        >>> address_of("127.0.0.1:4567", 1), address_of("localhost", 9091), address_of("4000", 1)
        (('127.0.0.1', 4567), ('localhost', 9091), ('127.0.0.1', 4000))
    """
    host, colon, tail = text.rpartition(":")
    if not colon:
        host, tail = ("127.0.0.1", text) if text.isdigit() else (text, str(port))
    if not host or not tail.isdigit() or not 0 <= int(tail) < 65536:
        raise InputError(f"expected an address such as 127.0.0.1:{port}, got {text!r}")
    return host, int(tail)


BROKEN_IN_A_ROW = 10
"""How many messages in a row may be broken before the drive ends."""


class RemoteSimulator:
    """What all simulators have in common that run in a process of their own.

    Args:
        name: What drives in it are called.
        limit: The speed in m/s that is not passed.
        full_lock: The degrees at the wheels that steering 1 stands for.
        half_lane: Metres from the middle of the lane to its lines, beyond which a line is crossed.
        wait: Seconds to wait for a simulator that is not there.
        stall: Seconds without telemetry after which the simulator has stopped answering.

    Raises:
        InputError: An option is not above 0.
    """

    def __init__(
        self, name: str, limit: float, full_lock: float, half_lane: float | None, wait: float, stall: float
    ) -> None:
        check_above_0(limit=limit, full_lock=full_lock, wait=wait, stall=stall)
        self.name = name
        self._limit, self._full_lock, self._half_lane = limit, full_lock, half_lane
        self._wait, self._stall = wait, stall
        self._forget()

    def _forget(self) -> None:
        """Forget the drive before."""
        self._mended: Counter[str] = Counter()
        self._start = time.monotonic()
        self._speed = 0.0
        self._frames = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What went wrong since the last reset and was mended."""
        return tuple(f"{count} × {what}" for what, count in self._mended.items())

    def _wanted(self, controls: Controls) -> tuple[float, float]:
        """Return the share of the full lock and the pedal, below 0 for the brake, that controls ask for."""
        share = controls.share(self._full_lock)
        return share, pedals(controls, share, self._speed, self._limit)


def check_above_0(**options: float) -> None:
    """Make sure that options are numbers above 0.

    Raises:
        InputError: One is not.
    """
    for name, value in options.items():
        check_number(name, value, above=0)


def number(value: Any, *, comma: str = "") -> float:
    """Return a number as a simulator writes it; NaN for what is none.

    Args:
        value: What it wrote.
        comma: What a comma stands for: nothing in ``1,024.5``, a point in ``1,5``.

    Example:
        >>> number("1,024.5000"), number("1,5", comma="."), number("wet")
        (1024.5, 1.5, nan)
    """
    if isinstance(value, bool) or value is None:
        return math.nan
    found = as_float(str(value).replace(",", comma))
    return found if math.isfinite(found) else math.nan


def known(value: float | None) -> float | None:
    """Return a number, None for what is none.

    Example:
        >>> known(1.5), known(math.nan), known(None)
        (1.5, None, None)
    """
    return value if value is not None and math.isfinite(value) else None


def decoded_image(text: Any) -> NDArray[np.uint8]:
    """Return the image of a message, which is base64.

    Raises:
        FrameError: There is none, or it is broken.
    """
    if not isinstance(text, str) or not text:
        raise FrameError("the message has no image")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise FrameError("the image is no base64") from None
    return decode_image(data, "of the telemetry")


_LARGEST = 32 * 2**20  # bytes of a line
_RETRY = 0.2  # seconds
_DECIMAL_COMMA = re.compile(r'("\w+"\s*:\s*-?\d+),(\d+)(?=\s*[,}\]])')

Message = Mapping[str, Any]


class LineClient:
    """Sends and receives JSON objects.

    Args:
        host: Of the simulator.
        port: Of the simulator.
        patience: Seconds after which a simulator that takes in nothing is gone.
    """

    def __init__(self, host: str, port: int, *, patience: float = 10.0) -> None:
        self._address = host, port
        self._patience = patience
        self._socket: socket.socket | None = None
        self._inbox: queue.Queue[Message | None] = queue.Queue()
        self.lost = ""

    @property
    def connected(self) -> bool:
        """Whether the connection stands."""
        return self._socket is not None

    def connect(self, wait: float) -> None:
        """Connect, trying again for so many seconds.

        Raises:
            SimulatorError: Nobody listens there.
        """
        deadline = time.monotonic() + wait
        self.close()
        while True:
            try:
                wire = socket.create_connection(self._address, timeout=max(0.1, deadline - time.monotonic()))
                break
            except OSError as error:
                if time.monotonic() + _RETRY > deadline:
                    host, port = self._address
                    raise SimulatorError(
                        f"no simulator listens on {host}:{port} ({error}): start it first"
                    ) from error
                time.sleep(_RETRY)
        wire.settimeout(None)
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._inbox = queue.Queue()
        self._socket = wire
        threading.Thread(target=self._read, args=(wire, self._inbox), daemon=True).start()

    def send(self, message: Message) -> None:
        """Send an object; when the connection is gone, `connected` says so."""
        wire = self._socket
        if wire is None:
            return
        try:
            # A message is far smaller than what a socket has room for once it has room at all.
            if not select.select([], [wire], [], self._patience)[1]:
                raise TimeoutError(f"it read nothing for {self._patience:g} s")
            wire.sendall(json.dumps(message).encode() + b"\n")
        except (OSError, ValueError) as error:  # select says ValueError of a socket that was just closed
            self._lose(wire, str(error))

    def receive(self, timeout: float) -> Message | None:
        """Return the next object; None when nothing comes in time or the connection is gone."""
        try:
            return self._inbox.get(timeout=max(0.0, timeout))
        except queue.Empty:
            return None

    def newest(self, message: Message) -> Message:
        """Return the last of the objects of the same type that wait already."""
        with self._inbox.mutex:
            waiting = self._inbox.queue
            while waiting and waiting[0] is not None and waiting[0].get("msg_type") == message["msg_type"]:
                message = waiting.popleft()
        return message

    def drop_waiting(self) -> None:
        """Forget what was not looked at, but not that the connection is gone."""
        with self._inbox.mutex:
            gone = None in self._inbox.queue
            self._inbox.queue.clear()
            if gone:
                self._inbox.queue.append(None)

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        if self._socket is not None:
            self._lose(self._socket, "closed")

    def _lose(self, wire: socket.socket, why: str) -> None:
        if self._socket is wire:
            self._socket = None
            self.lost = why
        with contextlib.suppress(OSError):
            # Closing alone does not wake the thread that reads.
            wire.shutdown(socket.SHUT_RDWR)
        wire.close()

    def _read(self, wire: socket.socket, inbox: queue.Queue[Message | None]) -> None:
        why = "it closed the connection"
        try:
            with wire.makefile("rb") as lines:
                while line := lines.readline(_LARGEST):
                    message = _parsed(line)
                    if message is not None:
                        inbox.put(message)
        except (OSError, ValueError) as error:
            why = str(error)
        self._lose(wire, why)
        inbox.put(None)


def _parsed(line: bytes) -> Message | None:
    """Return the object of a line, one that says why there is none, or None for an empty line."""
    text = line.decode("utf-8", errors="replace").strip()
    if not text:
        return None
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        try:
            # A Unity that speaks another language writes 1,5 for 1.5.
            message = json.loads(_DECIMAL_COMMA.sub(r"\1.\2", text))
        except (ValueError, RecursionError) as error:
            return {"msg_type": "unreadable", "why": f"expected a JSON object, got {text[:60]!r}: {error}"}
    kind = message.get("msg_type") if isinstance(message, dict) else None
    # Our own word for what cannot be read is nobody else's.
    if not isinstance(kind, str) or kind == "unreadable":
        return {"msg_type": "unreadable", "why": f"expected an object with msg_type, got {text[:60]!r}"}
    return dict(message)
