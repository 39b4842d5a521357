"""Several processes on this machine, each with its own copy of the systems."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from roadworthy.runs.executors.dispatching import (
    CrewExecutor,
    Died,
    Event,
    Hand,
    Opened,
    Refused,
    Returned,
    Started,
)
from roadworthy.runs.executors.faults import (
    Limits,
    Piece,
    environment,
    machine_megabytes,
    pin,
    process_megabytes,
)
from roadworthy.runs.executors.pickling import Looking, Note, Shipment, pack, pack_job, pack_unit, unpack
from roadworthy.runs.executors.work import BatchJob


@dataclass(frozen=True, slots=True)
class NewJob:
    """To a worker: what all batches from now on have in common."""

    number: int
    note: Note


@dataclass(frozen=True, slots=True)
class NewUnit:
    """To a worker: a batch."""

    number: int
    note: Note


@dataclass(frozen=True, slots=True)
class Ready:
    """From a worker: the systems are open."""

    number: int


@dataclass(frozen=True, slots=True)
class Begun:
    """From a worker: it works on a batch now."""

    number: int


@dataclass(frozen=True, slots=True)
class Finished:
    """From a worker: what became of a batch, packed."""

    number: int
    parcel: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """From a worker: the job cannot be opened there."""

    reason: str


def serve(connection: Connection, parent: int) -> None:
    """Work until the driver closes the connection or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setpgid"):
        # What a model starts belongs to this process and ends with it.
        os.setpgid(0, 0)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _die_with(parent)
    pin()
    # These say that the driver is gone.
    with suppress(EOFError, OSError):
        _Worker(connection).work()
    # Nothing here has to be tidied up, and what a model has left running must not hold the process.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class _Worker:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._systems: dict[str, Any] = {}
        self._known: dict[str, Any] = {}
        self._job: Any = None

    def work(self) -> None:
        """Do what the messages say."""
        handlers: dict[type, Callable[[Any], None]] = {NewJob: self._take_job, NewUnit: self._take_unit}
        while True:
            message = pickle.loads(self._connection.recv_bytes())
            handlers[type(message)](message)

    def _send(self, message: object) -> None:
        self._connection.send_bytes(pickle.dumps(message, protocol=5))

    def _take_job(self, message: NewJob) -> None:
        from roadworthy.runs.executors.pickling import unpack, unpack_job

        # The last job's data need not stay while this one's is read.
        self._job, self._known = None, {}
        try:
            with Looking(message.note) as parcel:
                # What is open here stays longer than the parcel.
                packed = unpack(parcel.copied())
            self._job, self._known = unpack_job(packed, self._systems)
        except Exception as error:
            self._send(Failed(f"{type(error).__name__}: {error}"))
            return
        self._send(Ready(message.number))

    def _take_unit(self, message: NewUnit) -> None:
        from roadworthy.runs.executors.pickling import pack_done, unpack
        from roadworthy.runs.executors.work import Done, carry

        self._send(Begun(message.number))
        with Looking(message.note) as parcel:
            try:
                done = carry(self._job, unpack(parcel, self._known))
            except Exception as error:
                done = Done(error=error)
            if done.error is not None:
                done.error.add_note("In a worker:\n" + "".join(traceback.format_exception(done.error)))
            packed = pack_done(done)
            del done, parcel
        self._send(Finished(message.number, packed.copied()))


def _die_with(parent: int) -> None:
    """End this process when the driver ends, in whatever way and whatever this process does then."""
    if sys.platform == "linux":
        death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None, use_errno=True).prctl(death_signal, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, name="watch the driver", daemon=True).start()


_SHARE = 0.8  # of the machine's memory, for all workers together


class ProcessExecutor(CrewExecutor):
    """Carries out batches in processes of their own, which stay from run to run.

    Images travel through shared memory. Every worker holds one copy of each system and uses one thread. A
    system that hangs, takes too much memory or ends its process costs the case it does so on.

    Args:
        workers: How many processes.
        timeout_s: Seconds that a batch may take; None for no limit.
        memory_mb: Megabytes that a worker may use; its share of the machine when left out.
    """

    name = "processes"

    def __init__(
        self, workers: int, *, timeout_s: float | None = None, memory_mb: float | None = None
    ) -> None:
        total = machine_megabytes()
        share = None if total is None else total * _SHARE / workers
        super().__init__(_Crew(workers), Limits(timeout_s, share if memory_mb is None else memory_mb))
        # Workers may have children, so they are no daemons, and Python would wait for them at its end.
        weakref.finalize(self, self._crew.close)

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the processes that live."""
        return tuple(
            hand.process.pid
            for hand in self._crew.hands
            if isinstance(hand, _ProcessesWorker) and hand.process.pid
        )


@dataclass(eq=False, kw_only=True)
class _ProcessesWorker(Hand):
    process: BaseProcess
    connection: Connection
    shipments: dict[int, Shipment] = field(default_factory=dict)


class _Crew:
    depth = 2

    def __init__(self, size: int) -> None:
        self.size = size
        self.hands: list[Hand] = []
        self._context: Any = get_context("spawn")
        self._number = 0
        self._job: Shipment | None = None
        self._known: dict[int, str] = {}

    def begin(self, job: BatchJob) -> None:
        packed, self._known = pack_job(job)
        self._job = Shipment(pack(packed))
        for hand in tuple(self.hands):
            assert isinstance(hand, _ProcessesWorker)
            if hand.process.is_alive():
                self._open(hand)
            else:
                self.dismiss(hand)

    def end(self) -> None:
        """Forget the job; who still works on it is dismissed."""
        for hand in tuple(self.hands):
            if hand.pieces or not hand.is_open:
                self.dismiss(hand)
            hand.is_open = False
        if self._job is not None:
            self._job.delete()
            self._job = None

    def close(self) -> None:
        for hand in tuple(self.hands):
            self.dismiss(hand)
        self.end()

    def hire(self) -> None:
        """Start one more worker, which opens the systems of the job."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(theirs, os.getpid()))
        with environment(), _no_interrupts():
            process.start()
        theirs.close()
        worker = _ProcessesWorker(process=process, connection=ours)
        self.hands.append(worker)
        self._open(worker)

    def _open(self, hand: Hand) -> None:
        assert self._job is not None
        self._number += 1
        self._send(hand, NewJob(self._number, self._job.note))

    def give(self, hand: Hand, piece: Piece) -> None:
        """Send a piece to a worker."""
        assert isinstance(hand, _ProcessesWorker)
        shipment = Shipment(pack_unit(piece.unit, self._known))
        self._number += 1
        hand.shipments[self._number] = shipment
        self._send(hand, NewUnit(self._number, shipment.note))

    def _send(self, hand: Hand, message: object) -> None:
        assert isinstance(hand, _ProcessesWorker)
        # One that is gone is found out by who waits for it.
        with suppress(OSError):
            hand.connection.send_bytes(pickle.dumps(message, protocol=5))

    def wait(self, seconds: float) -> Sequence[Event]:
        """Return what happened, waiting so long for something."""
        workers = [hand for hand in self.hands if isinstance(hand, _ProcessesWorker)]
        found: Sequence[Any] = wait(
            [*(one.connection for one in workers), *(one.process.sentinel for one in workers)], seconds
        )
        ready = set(found)
        events: list[Event] = []
        for worker in workers:
            has_ended = worker.process.sentinel in ready
            if has_ended or worker.connection in ready:
                # What it said before it died counts.
                said = self._received(worker)
                if has_ended and not any(isinstance(event, Died) for event in said):
                    said.append(Died(worker))
                events.extend(said)
        return events

    def _received(self, worker: _ProcessesWorker) -> list[Event]:
        events: list[Event] = []
        try:
            while worker.connection.poll():
                events.append(self._event(worker, pickle.loads(worker.connection.recv_bytes())))
        except (EOFError, OSError, pickle.UnpicklingError):
            events.append(Died(worker))
        return events

    def _event(self, worker: _ProcessesWorker, message: object) -> Event:
        if isinstance(message, Ready):
            return Opened(worker)
        if isinstance(message, Failed):
            return Refused(worker, message.reason)
        if isinstance(message, Begun):
            return Started(worker)
        assert isinstance(message, Finished)
        worker.shipments.pop(message.number).delete()
        return Returned(worker, unpack(message.parcel))

    def dismiss(self, hand: Hand) -> None:
        """End a worker, whatever it does."""
        assert isinstance(hand, _ProcessesWorker)
        self.hands.remove(hand)
        if hasattr(os, "killpg") and hand.process.pid:
            # With all that it started; it may be too young to have a group of its own, or gone.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(hand.process.pid, signal.SIGKILL)
        hand.process.kill()
        hand.process.join()
        hand.process.close()
        hand.connection.close()
        for shipment in hand.shipments.values():
            shipment.delete()

    def megabytes(self, hand: Hand) -> float | None:
        """Return how much memory a worker uses; None where that cannot be told."""
        assert isinstance(hand, _ProcessesWorker)
        return process_megabytes(hand.process.pid or 0)


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Let a process that is started now not see Ctrl-C, which is for the driver, before it can say so."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
