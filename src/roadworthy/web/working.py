"""Work that pages wait for: computations in the background, and what only one request does at a time."""

from __future__ import annotations

import math
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import BoundedSemaphore, Event, Lock, Semaphore, Thread
from typing import Any, Generic, TypeVar

from roadworthy._files import stamp_of
from roadworthy.errors import InputError

T = TypeVar("T")
_CANCELLED = "it was cancelled: ask for it again"
_PAUSE = 0.2  # seconds between two looks whether whoever waits for a turn still wants it


class Progress:
    """How far a computation has come; by it, the computation is also told to end.

    Args:
        patience: Seconds after which it ends where nobody asks any more how far it has come.

    Example:
        >>> progress = Progress()
        >>> progress("Reading.", 0.5)
        >>> progress.said, progress.share
        ('Reading.', 0.5)
    """

    def __init__(self, patience: float = math.inf) -> None:
        self.said = ""
        self.share: float | None = None
        self.asked = time.monotonic()
        self._patience = patience
        self._cancelled = Event()
        self._lock = Lock()
        self._stops: list[Callable[[], None]] = []

    def __call__(self, said: str, share: float | None) -> None:
        """Say what is done just now, and which share is done already where that is known.

        Raises:
            InputError: Nobody wants the result any more.
        """
        self.check()
        self.said, self.share = said, share

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody wants the result any more."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """End the computation where nobody wants its result any more.

        Raises:
            InputError: Nobody does.
        """
        if time.monotonic() - self.asked > self._patience:
            self._cancelled.set()
        if self.is_cancelled:
            raise InputError(_CANCELLED)

    @contextmanager
    def interrupted_by(self, stop: Callable[[], None]) -> Iterator[None]:
        """Let something that takes long, such as a query, be interrupted while it goes on."""
        with self._lock:
            self.check()
            self._stops.append(stop)
        try:
            yield
        finally:
            with self._lock:
                self._stops.remove(stop)

    def cancel(self) -> None:
        """Let the computation end as soon as it can."""
        with self._lock:
            self._cancelled.set()
        Thread(target=self._insist, name="cancelling", daemon=True).start()

    def _insist(self) -> None:
        """Interrupt what goes on until nothing does: between two queries an interruption is not heard."""
        while True:
            with self._lock:
                stops = list(self._stops)
                for stop in stops:
                    stop()
            if not stops:
                return
            time.sleep(_PAUSE)


class Computation(Generic[T]):
    """One computation.

    Args:
        make: What makes the result; it is told where to say how far it has come.
        turn: Whoever has it may compute.
        patience: Seconds after which it ends where nobody asks for it any more.
    """

    def __init__(self, make: Callable[[Progress], T], turn: Semaphore, patience: float = math.inf) -> None:
        self.progress = Progress(patience)
        self.progress("Waiting for its turn.", None)
        self._make = make
        self._turn = turn
        self._began = time.monotonic()
        self._over = Event()
        self._found: T | None = None
        self._error: Exception | None = None
        # A server that is told to end does not wait for it.
        Thread(target=self._work, name="computing", daemon=True).start()

    @property
    def is_over(self) -> bool:
        """Whether there is a result, or a reason why there is none."""
        return self._over.is_set()

    @property
    def is_broken(self) -> bool:
        """Whether it was cancelled, or ended by an error that may not come again, such as a full disk."""
        failed = self.is_over and self._error is not None and not isinstance(self._error, InputError)
        return failed or self.progress.is_cancelled

    def result(self, seconds: float) -> T | None:
        """Return the result; None where it takes longer than so many seconds.

        Raises:
            InputError: There is none; says why.
        """
        self.progress.asked = time.monotonic()
        if not self._over.wait(seconds):
            return None
        if self._error is not None:
            raise self._error
        return self._found

    def as_dict(self) -> dict[str, Any]:
        """Return how far it has come, as JSON can hold it."""
        now = self.progress
        now.asked = time.monotonic()
        return {
            "over": self.is_over,
            "cancelled": now.is_cancelled,
            "said": now.said,
            "share": now.share,
            "seconds": round(time.monotonic() - self._began, 1),
        }

    def cancel(self) -> None:
        """Let it end without a result; one that is over stays as it is."""
        if not self.is_over:
            self.progress.cancel()

    def _work(self) -> None:
        try:
            while not self._turn.acquire(timeout=_PAUSE):
                self.progress.check()
            try:
                self.progress.check()
                self._found = self._make(self.progress)
            finally:
                self._turn.release()
        except Exception as error:  # told to whoever asks for the result
            # What is interrupted says so in words of its own.
            self._error = InputError(_CANCELLED) if self.progress.is_cancelled else error
        finally:
            self._over.set()


class Workbench:
    """The computations that pages asked for last.

    Args:
        at_a_time: How many are worked on at a time.
        kept: How many are kept; those that are not over are kept in any case.
        waiting: How many may wait or be worked on.

    Example:
        >>> bench = Workbench()
        >>> id = bench.ask(("sum", 1, 2), lambda progress: 1 + 2)
        >>> bench.get(id).result(5.0), bench.ask(("sum", 1, 2), lambda progress: 4) == id
        (3, True)
    """

    def __init__(self, *, at_a_time: int = 2, kept: int = 16, waiting: int = 8) -> None:
        self._turn = Semaphore(at_a_time)
        # What is computed while somebody looks at it does not wait for what takes long, nor holds it up.
        self._watched = Semaphore(1)
        self._kept_at_most = kept
        self._waiting = waiting
        self._lock = Lock()
        self._works: OrderedDict[str, Computation[Any]] = OrderedDict()

    def ask(self, key: tuple[object, ...], make: Callable[[Progress], T], patience: float = math.inf) -> str:
        """Return the id of a computation, which is begun if nobody has asked for it yet.

        Args:
            key: What is computed, and from what: an equal one has the same result.
            make: Computes it.
            patience: Seconds after which it ends where nobody asks for it any more.

        Raises:
            InputError: Too many wait already.
        """
        id = sha256(repr(key).encode("utf-8", "backslashreplace")).hexdigest()[:24]
        with self._lock:
            if id not in self._works or self._works[id].is_broken:
                if sum(not one.is_over for one in self._works.values()) >= self._waiting:
                    raise InputError("the server is busy: try again in a moment")
                turn = self._turn if patience == math.inf else self._watched
                self._works[id] = Computation(make, turn, patience)
                for other in [one for one, work in self._works.items() if work.is_over]:
                    if len(self._works) > self._kept_at_most:
                        del self._works[other]
            self._works.move_to_end(id)
        return id

    def get(self, id: str) -> Computation[Any]:
        """Return a computation.

        Raises:
            InputError: It is not kept any more.
        """
        with self._lock:
            if id not in self._works:
                raise InputError("this result has expired: ask for it again")
            return self._works[id]


def stamp_of_run(folder: Path) -> str:
    """Return what changes when a file below a folder does, pictures aside."""
    return stamp_of(_files_below(folder))


def _files_below(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "images")
        yield from (Path(place, file) for file in sorted(files))


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
        roadworthy.errors.InputError: the server is busy: try again in a moment
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
            raise InputError("the server is busy: try again in a moment")
        try:
            with self._turn:
                yield
        finally:
            self._places.release()
