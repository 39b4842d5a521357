"""The wire of the Udacity simulator: Engine.IO packets, and the websocket server that it connects to."""

from __future__ import annotations

import itertools
import json
import queue
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from roadworthy._importing import required
from roadworthy.errors import InputError, SimulatorError

if TYPE_CHECKING:
    from websockets.http11 import Request, Response
    from websockets.sync.server import Server, ServerConnection


CONNECTED = "40"
"""Says that the default namespace is open; the plugin then raises its "open" event and begins to send."""
PONG = "3"


@dataclass(frozen=True)
class Packet:
    """What came in.

    Attributes:
        kind: An event, a ping, the end of the connection, or something that needs no answer.
        name: Of the event.
        data: Of the event; None if it has none.
    """

    kind: Literal["event", "ping", "close", "other"]
    name: str = ""
    data: Any = None


def opening(sid: str) -> str:
    """Return the packet that opens a connection.

    Example:
        >>> opening("a1")
        '0{"sid": "a1", "upgrades": [], "pingInterval": 25000, "pingTimeout": 60000}'
    """
    return "0" + json.dumps({"sid": sid, "upgrades": [], "pingInterval": 25000, "pingTimeout": 60000})


def event(name: str, data: Mapping[str, str] | None = None) -> str:
    """Return the packet of an event.

    Example:
        >>> event("steer", {"steering_angle": "0.1", "throttle": "0.3"})
        '42["steer",{"steering_angle":"0.1","throttle":"0.3"}]'
        >>> event("pause_sim")
        '42["pause_sim"]'
    """
    return "42" + json.dumps([name] if data is None else [name, data], separators=(",", ":"))


def parse(text: str | bytes) -> Packet:
    """Return what a packet says.

    Raises:
        SimulatorError: It is no packet of this protocol.

    Example:
        >>> parse('42["telemetry",{"speed":"1,024.5"}]')
        Packet(kind='event', name='telemetry', data={'speed': '1,024.5'})
        >>> parse("2").kind
        'ping'
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="replace")
    kind = text[:1]
    if kind == "2":
        return Packet("ping")
    if kind == "1" or text.startswith("41"):
        return Packet("close")
    if kind in ("0", "3", "5", "6") or text.startswith("40"):
        return Packet("other")
    if not text.startswith("42"):
        raise SimulatorError(f"expected a Socket.IO packet such as 42[…], got {_short(text)}")
    # Between the type and the event, a number may ask for an acknowledgement, which no simulator waits for.
    body = text[2:].lstrip("0123456789")
    try:
        parts = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SimulatorError(f"expected an event as JSON, got {_short(text)}: {error}") from None
    if not isinstance(parts, list) or not parts or not isinstance(parts[0], str):
        raise SimulatorError(f"expected an event with its name, got {_short(text)}")
    return Packet("event", parts[0], parts[1] if len(parts) > 1 else None)


def _short(text: str) -> str:
    return repr(text if len(text) < 80 else f"{text[:77]}…")


_PATH = "/socket.io/"
_LARGEST = 32 * 2**20  # bytes; an image and its segmentation are far below


@dataclass(frozen=True)
class Message:
    """What came from the simulator.

    Attributes:
        connection: The number of the connection that it came over.
        kind: "connected", "event", "broken" or "gone".
        name: Of the event.
        data: Of the event; for "broken" and "gone", what happened.
    """

    connection: int
    kind: str
    name: str = ""
    data: Any = None


class EventServer:
    """Listens for one simulator; a newer connection takes the place of an older one.

    Args:
        host: The address to listen on.
        port: The port; 0 takes any that is free.

    Raises:
        InputError: The address cannot be listened on.
        MissingExtraError: The websockets package is not installed.
    """

    def __init__(self, host: str, port: int) -> None:
        library = required("websockets.sync.server", extra="sim", purpose="use the Udacity simulator")
        self._inbox: queue.Queue[Message] = queue.Queue()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._current: tuple[int, ServerConnection] | None = None
        try:
            # Pings of the websocket are left out: a game that loads a scene answers none for long.
            self._server: Server = library.serve(
                self._serve,
                host,
                port,
                process_request=_checked,
                compression=None,
                max_size=_LARGEST,
                ping_interval=None,
                close_timeout=1.0,
            )
        except (OSError, OverflowError) as error:
            raise InputError(
                f"cannot listen on {host}:{port}: {error}; stop what uses the port, or choose another"
            ) from error
        self.host, self.port = self._server.socket.getsockname()[:2]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def connection(self) -> int:
        """The number of the present connection; 0 if there is none."""
        current = self._current
        return current[0] if current else 0

    def receive(self, timeout: float) -> Message | None:
        """Return the next message, or None when nothing comes in time."""
        try:
            return self._inbox.get(timeout=max(timeout, 0.0))
        except queue.Empty:
            return None

    def newest(self, message: Message) -> Message:
        """Return the last of the same events that wait already: in a stream, older pictures are of no use."""
        with self._inbox.mutex:
            waiting = self._inbox.queue
            while waiting and (waiting[0].connection, waiting[0].kind, waiting[0].name) == (
                message.connection,
                "event",
                message.name,
            ):
                message = waiting.popleft()
        return message

    def drop_waiting(self) -> None:
        """Forget the messages that were not looked at."""
        with self._inbox.mutex:
            self._inbox.queue.clear()

    def emit(self, name: str, data: Mapping[str, str] | None = None) -> bool:
        """Send an event; return whether there was somebody to send it to."""
        from websockets.exceptions import ConnectionClosed

        current = self._current
        if current is None:
            return False
        try:
            current[1].send(event(name, data))
        except (ConnectionClosed, OSError):
            return False
        return True

    def close(self) -> None:
        """Close the connection and stop listening."""
        current, self._current = self._current, None
        if current is not None:
            current[1].close()
        self._server.shutdown()
        self._thread.join(timeout=5.0)

    def _serve(self, connection: ServerConnection) -> None:
        """Carry one connection from its handshake to its end."""
        from websockets.exceptions import ConnectionClosed

        number = next(self._numbers)
        reason = "it closed the connection"
        try:
            connection.send(opening(uuid.uuid4().hex))
            with self._lock:
                older, self._current = self._current, (number, connection)
            if older is not None:
                older[1].close()
            self._inbox.put(Message(number, "connected"))
            connection.send(CONNECTED)
            for text in connection:
                if not self._answered(number, connection, text):
                    break
        except (ConnectionClosed, OSError) as error:
            reason = f"the connection broke: {error}"
        finally:
            with self._lock:
                if self._current is not None and self._current[0] == number:
                    self._current = None
            self._inbox.put(Message(number, "gone", data=reason))

    def _answered(self, number: int, connection: ServerConnection, text: str | bytes) -> bool:
        """Take in one packet; return whether the connection goes on."""
        try:
            packet = parse(text)
        except SimulatorError as error:
            self._inbox.put(Message(number, "broken", data=str(error)))
            return True
        if packet.kind == "ping":
            connection.send(PONG)
        elif packet.kind == "event":
            self._inbox.put(Message(number, "event", packet.name, packet.data))
        return packet.kind != "close"


def _checked(connection: ServerConnection, request: Request) -> Response | None:
    """Refuse everything but the path of Socket.IO."""
    if request.path.startswith(_PATH):
        return None
    return connection.respond(404, f"expected a simulator at {_PATH}?EIO=4&transport=websocket\n")
