"""The frames of the Udacity simulator's wire: Engine.IO packets that hold Socket.IO events, as text.

The simulator's plugin says EIO=4 in the address but speaks the older protocol: it sends pings and never asks
for a namespace. So packets are made and read here, by hand; there are few kinds of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from roadworthy.errors import SimulatorError

__all__ = ["CONNECTED", "PONG", "Packet", "event", "opening", "parse"]

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
