"""Connections of browsers: how many there may be, and for how long the server waits for one.

What is decided here is decided before anybody has shown a token, and before a request has cost more than the
bytes of its head.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from roadworthy.web.settings import ServerLimits


class Connection(H11Protocol):
    """A connection that the server does not wait for longer than its limits say.

    It waits for the head of a request, from the start or from the end of the last answer, and for an answer
    to be read. One that takes too long is dropped; so is the one it has waited for longest, when there are
    too many, so that whoever asks at once is answered however many others say nothing.

    Attributes:
        limits: How long, and how many.
        waits_since: The loop's time since when the server waits for this one; None while it works for it.
    """

    limits: ClassVar[ServerLimits]
    waits_since: float | None = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection in, in place of another where there are too many."""
        super().connection_made(transport)
        self._wait(self.limits.head_seconds)
        if len(self.connections) > self.limits.connections:
            waited_for = {
                one: one.waits_since
                for one in self.connections
                if isinstance(one, Connection) and one.waits_since is not None
            }
            min(waited_for, key=lambda one: waited_for[one]).drop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._work()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Begin with a request whose head is there."""
        cycle = self.cycle
        super().handle_events()
        if self.cycle is not cycle:
            self._work()

    def on_response_complete(self) -> None:
        """Wait for the next request, and for the answer to be read."""
        unread = self.transport.get_write_buffer_size() > 0
        self._wait(self.limits.read_seconds if unread else self.limits.head_seconds)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait until what was sent is read."""
        super().pause_writing()
        self._wait(self.limits.read_seconds)

    def resume_writing(self) -> None:
        """Send on."""
        super().resume_writing()
        if self.cycle is not None and not self.cycle.response_complete:
            self._work()

    def send_400_response(self, msg: str) -> None:
        """Say that this is no HTTP, unless an answer has begun already: then there is nothing more to say."""
        if self.cycle is not None:
            # Or the app would answer as well, on a line that is closed.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.drop()

    def drop(self) -> None:
        """End it now; to close it would be to wait until everything is read."""
        self._work()
        self.connections.discard(self)
        self.transport.abort()

    def _wait(self, seconds: float) -> None:
        self._work()
        self.waits_since = self.loop.time()
        self._timer = self.loop.call_later(seconds, self.drop)

    def _work(self) -> None:
        self.waits_since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
