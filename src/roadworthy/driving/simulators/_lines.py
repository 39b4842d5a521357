"""A TCP client of a simulator that writes one JSON object a line, read in a thread of its own."""

from __future__ import annotations

import contextlib
import json
import queue
import re
import select
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any

from roadworthy.errors import SimulatorError

__all__ = ["LineClient"]

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
                raise TimeoutError(f"it took in nothing for {self._patience:g} s")
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
    if not isinstance(message, dict) or not isinstance(message.get("msg_type"), str):
        return {"msg_type": "unreadable", "why": f"expected an object with msg_type, got {text[:60]!r}"}
    return message
