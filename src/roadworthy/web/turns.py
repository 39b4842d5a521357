"""Work that only one request can do at a time: a few wait for it, and others are told to come again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock

from roadworthy.errors import InputError


class Turns:
    """Lets one request after the other do something.

    Each one that waits keeps a thread of the server. Were there no limit, many slow requests would keep all
    of them, and no page would be answered any more.

    Args:
        waiting: How many may wait at a time.

    Example:
        >>> turns = Turns(waiting=0)
        >>> with turns.taken():
        ...     with turns.taken():
        ...         pass
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: too much is asked for at once: try again in a moment
    """

    def __init__(self, waiting: int) -> None:
        self._places = BoundedSemaphore(waiting + 1)
        self._turn = Lock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a turn, and keep it.

        Raises:
            InputError: Too many wait already.
        """
        if not self._places.acquire(blocking=False):
            raise InputError("too much is asked for at once: try again in a moment")
        try:
            with self._turn:
                yield
        finally:
            self._places.release()
