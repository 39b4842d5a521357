"""Hands out batches to workers, and does something about workers that fail: the same for all executors."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, Self, TypeAlias, TypeVar

from roadworthy.errors import InputError, memory_advice
from roadworthy.runs.executors.faults import TRIES, Fault, Limits, Piece, Ticket, blame_of, divided, unmade
from roadworthy.runs.executors.pickling import SERIAL, Parcel, pack, pack_job
from roadworthy.runs.executors.work import BatchJob, Done, Session, WorkUnit

_TURN = 0.1  # seconds between two looks at clocks and memory
_PATIENCE = 600.0  # seconds without any worker that has opened the systems
_LOST = 20.0  # seconds without one that had, before the crew is asked whether there will ever be one again
_STARTS = 6  # workers that may die one after the other before they have opened the systems


@dataclass(eq=False)
class Hand:
    """A worker, as the dispatcher sees it.

    Attributes:
        is_open: Whether it has opened the systems of the job.
        pieces: What it has been given, the one it works on first.
        since: When it began with that one; None while it does not work.
        served: How many batches it has finished.
        pid: The id of its process, once that is known.
    """

    is_open: bool = False
    pieces: deque[Piece] = field(default_factory=deque)
    since: float | None = None
    served: int = 0
    pid: int = 0


What: TypeAlias = Literal["opened", "refused", "started", "returned", "died"]
"""What a worker did: opened the systems, or cannot; began with its first piece; finished it; is gone."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a worker did.

    Attributes:
        hand: The worker.
        what: What it did.
        content: Its process id where it opened the systems, as far as that is known; why it cannot open
            them; or what became of the piece.
    """

    hand: Hand
    what: What
    content: Any = None


H = TypeVar("H", bound=Hand)


class Crew(ABC, Generic[H]):
    """The workers of an executor.

    Attributes:
        hands: Those that live.
        size: How many there shall be.
        depth: How many pieces a worker may hold, so that it never waits for the driver.
        job: The job, as it is sent to workers.
        known: What of it cases are packed without, by its id.
    """

    depth = 2

    def __init__(self, size: int) -> None:
        self.size = size
        self.hands: list[H] = []
        self.job: Any = None
        self.known: dict[int, str] = {}

    def begin(self, job: BatchJob) -> None:
        """Prepare for the batches of a run; workers that live open its systems."""
        packed, self.known = pack_job(job)
        self.job = self.ship(pack(packed))
        for hand in tuple(self.hands):
            self.open(hand)

    def end(self) -> None:
        """Forget the job; who still works on it is dismissed."""
        for hand in tuple(self.hands):
            if hand.pieces or not hand.is_open:
                self.dismiss(hand)
            hand.is_open = False
        self.job = None

    def close(self) -> None:
        """Let go of all workers."""
        for hand in tuple(self.hands):
            self.dismiss(hand)
        self.end()

    @abstractmethod
    def ship(self, parcel: Parcel) -> Any:
        """Put a job where every worker gets at it."""

    @abstractmethod
    def open(self, hand: H) -> None:
        """Let a worker open the systems of the job."""

    @abstractmethod
    def hire(self) -> None:
        """Start one more worker, which opens the systems of the job."""

    @abstractmethod
    def give(self, hand: H, piece: Piece) -> None:
        """Send a piece to a worker."""

    @abstractmethod
    def wait(self, seconds: float) -> Sequence[Event]:
        """Return what happened, waiting so long for something."""

    @abstractmethod
    def dismiss(self, hand: H) -> None:
        """End a worker, whatever it does."""

    def lost(self) -> str:
        """Return why no worker can be started any more; nothing where one can."""
        return ""

    @abstractmethod
    def megabytes(self, hand: H) -> float | None:
        """Return how much memory a worker uses; None where that cannot be told now."""


class Dispatcher:
    """The batches of one run.

    Args:
        crew: The workers.
        job: What all batches have in common.
        limits: What a worker may take.
    """

    def __init__(self, crew: Crew[Any], job: BatchJob, limits: Limits) -> None:
        self.ahead = crew.size * (crew.depth + 1)
        self.makes_cases = id(job.data) in crew.known
        self._crew = crew
        self._job = job
        self._limits = limits
        self._waiting: deque[Piece] = deque()
        self._failed_starts = 0
        self._has_served = False
        self._looked = self._served = time.monotonic()

    def submit(self, unit: WorkUnit, /) -> Callable[[], Done]:
        """Begin with a batch as soon as a worker is free."""
        ticket = Ticket(unit)
        self._waiting.extend(ticket.pieces)
        self._turn(0)
        return lambda: self._result(ticket)

    def _result(self, ticket: Ticket) -> Done:
        while not ticket.is_done:
            self._turn(_TURN)
        self._turn(0)
        return ticket.done()

    def _turn(self, seconds: float) -> None:
        self._hand_out()
        for event in self._crew.wait(seconds):
            # One that was dismissed meanwhile has nothing to say.
            if event.hand in self._crew.hands:
                self._take(event)
        if time.monotonic() - self._looked >= _TURN:
            self._looked = time.monotonic()
            self._look_after()
        self._hand_out()

    def _hand_out(self) -> None:
        crew = self._crew
        busy = sum(bool(hand.pieces) for hand in crew.hands)
        while self._waiting and len(crew.hands) < min(crew.size, len(self._waiting) + busy):
            crew.hire()
        for piece in tuple(self._waiting):
            if (hand := self._free_hand(piece)) is not None:
                self._waiting.remove(piece)
                hand.pieces.append(piece)
                crew.give(hand, piece)
            # Who waits for a new worker lets others go first while one comes; where none does, one must end.
            elif not piece.wants_fresh or all(one.is_open for one in crew.hands):
                return

    def _free_hand(self, piece: Piece) -> Hand | None:
        """Return the worker that has least to do; None where none has room."""
        crew = self._crew
        free: list[Hand] = [hand for hand in crew.hands if hand.is_open and len(hand.pieces) < crew.depth]
        if not piece.wants_fresh:
            return min(free, key=lambda one: len(one.pieces), default=None)
        idle = [hand for hand in free if not hand.pieces]
        for hand in idle:
            if not hand.served:
                return hand
        if idle and all(hand.is_open for hand in crew.hands):
            crew.dismiss(idle[0])
            crew.hire()
        return None

    def _take(self, event: Event) -> None:
        hand = event.hand
        match event.what:
            case "opened":
                hand.is_open = True
                self._failed_starts = 0
            case "refused":
                advice = memory_advice(str(event.content)) or SERIAL
                raise InputError(f"a worker cannot open what it has to test ({event.content}): {advice}")
            case "started":
                hand.since = time.monotonic()
            case "returned":
                hand.pieces.popleft().result = event.content
                hand.since = None
                hand.served += 1
                # Where one answers, others that die as they begin, on nodes that do, stop no run.
                self._failed_starts = 0
            case "died":
                self._replace(hand, "died")

    def _look_after(self) -> None:
        """End workers that hang or take too much memory."""
        limits = self._limits
        waited = time.monotonic() - self._served
        if any(hand.is_open for hand in self._crew.hands):
            self._served, self._has_served = time.monotonic(), True
        elif self._has_served and waited > _LOST and (reason := self._crew.lost()):
            raise InputError(reason)
        elif waited > max(_PATIENCE, limits.seconds or 0.0):
            raise InputError(
                f"no worker has opened what it has to test for {waited:.0f} s: see "
                "whether the machine or cluster has room for one, or give a longer timeout"
            )
        for hand in tuple(self._crew.hands):
            spent = 0.0 if hand.since is None else time.monotonic() - hand.since
            if limits.seconds is not None and spent > limits.seconds:
                self._replace(hand, "hangs")
            # Between two batches it is nobody's fault, and the worker is replaced when it has nothing to do.
            elif limits.megabytes is not None and (hand.since is not None or not hand.pieces):
                used = self._crew.megabytes(hand) if hand.is_open else None
                if used is not None and used > limits.megabytes:
                    self._replace(hand, "memory")

    def _replace(self, hand: Hand, fault: Fault) -> None:
        self._crew.dismiss(hand)
        if not hand.is_open:
            self._failed_starts += 1
            if self._failed_starts >= _STARTS:
                raise InputError(
                    f"{_STARTS} workers died one after the other while they opened what they have to test: "
                    f"if memory is short use fewer --workers, else {SERIAL}, to see why; a script that "
                    "starts a run must do so under if __name__ == '__main__'"
                )
        pieces = tuple(hand.pieces)
        if pieces and hand.since is not None:
            guilty, pieces = pieces[0], pieces[1:]
            again = self._after(guilty, fault, fresh=not hand.served)
        else:
            again = []
        # The first to be waited for are the first to be tried again.
        self._waiting.extendleft(reversed([*again, *pieces]))

    def _after(self, piece: Piece, fault: Fault, *, fresh: bool) -> list[Piece]:
        """Return what is tried again after a worker failed on a piece."""
        if piece.unit.blame:
            # It was not the system.
            piece.result = unmade(piece, self._job)
            return []
        if fault == "memory" and not fresh:
            # What the batches before left behind may be too much, not what this one takes.
            piece.wants_fresh = True
            return [piece]
        piece.deaths += fault == "died"
        if not piece.is_single:
            again = piece.deaths == 1 and not (piece.unit.sizes or piece.unit.stretches)
            return [piece] if again else divided(piece, self._job)
        # What another system has left behind may end a process later, and nobody else is to blame for that.
        piece.wants_fresh = True
        if fault == "died" and piece.deaths < TRIES:
            return [piece]
        piece.unit = replace(piece.unit, blame=blame_of(fault, piece, self._limits))
        return [piece]


class CrewExecutor:
    """An executor that has a crew, which stays from run to run.

    Args:
        crew: The workers.
        limits: What a worker may take.
    """

    def __init__(self, crew: Crew[Any], limits: Limits) -> None:
        self.workers = crew.size
        self._crew = crew
        self._limits = limits

    @contextmanager
    def session(self, job: BatchJob, /) -> Iterator[Session]:
        """Prepare for the batches of a run."""
        self._crew.begin(job)
        try:
            yield Dispatcher(self._crew, job, self._limits)
        finally:
            self._crew.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._crew.close()

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the workers' processes that live, each on its own machine."""
        return tuple(hand.pid for hand in self._crew.hands if hand.pid)
