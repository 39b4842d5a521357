"""Several processes on this machine, each with its own copy of the systems."""

from __future__ import annotations

import os
import pickle
import signal
import weakref
from collections.abc import Iterator, Sequence
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
from roadworthy.runs.executors.faults import Limits, Piece
from roadworthy.runs.executors.memory import machine_megabytes, process_megabytes
from roadworthy.runs.executors.pickling import pack, pack_job, pack_unit, unpack
from roadworthy.runs.executors.pinning import environment
from roadworthy.runs.executors.sharing import Shipment
from roadworthy.runs.executors.work import Job
from roadworthy.runs.executors.worker import Begun, Failed, Finished, NewJob, NewUnit, Ready, serve

__all__ = ["ProcessExecutor"]

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
            hand.process.pid for hand in self._crew.hands if isinstance(hand, _Worker) and hand.process.pid
        )


@dataclass(eq=False, kw_only=True)
class _Worker(Hand):
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

    def begin(self, job: Job) -> None:
        packed, self._known = pack_job(job)
        self._job = Shipment(pack(packed))
        for hand in tuple(self.hands):
            assert isinstance(hand, _Worker)
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
        worker = _Worker(process=process, connection=ours)
        self.hands.append(worker)
        self._open(worker)

    def _open(self, hand: Hand) -> None:
        assert self._job is not None
        self._number += 1
        self._send(hand, NewJob(self._number, self._job.note))

    def give(self, hand: Hand, piece: Piece) -> None:
        """Send a piece to a worker."""
        assert isinstance(hand, _Worker)
        shipment = Shipment(pack_unit(piece.unit, self._known))
        self._number += 1
        hand.shipments[self._number] = shipment
        self._send(hand, NewUnit(self._number, shipment.note))

    def _send(self, hand: Hand, message: object) -> None:
        assert isinstance(hand, _Worker)
        # One that is gone is found out by who waits for it.
        with suppress(OSError):
            hand.connection.send_bytes(pickle.dumps(message, protocol=5))

    def wait(self, seconds: float) -> Sequence[Event]:
        """Return what happened, waiting so long for something."""
        workers = [hand for hand in self.hands if isinstance(hand, _Worker)]
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

    def _received(self, worker: _Worker) -> list[Event]:
        events: list[Event] = []
        try:
            while worker.connection.poll():
                events.append(self._event(worker, pickle.loads(worker.connection.recv_bytes())))
        except (EOFError, OSError, pickle.UnpicklingError):
            events.append(Died(worker))
        return events

    def _event(self, worker: _Worker, message: object) -> Event:
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
        assert isinstance(hand, _Worker)
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
        assert isinstance(hand, _Worker)
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
