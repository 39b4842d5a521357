"""Several processes on this machine, each with its own copy of the systems."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import socket
import struct
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from roadworthy.runs.executors.dispatching import Crew, CrewExecutor, Event, Hand, What
from roadworthy.runs.executors.faults import (
    TIMEOUT,
    Limits,
    Piece,
    environment,
    machine_megabytes,
    pin,
    process_megabytes,
)
from roadworthy.runs.executors.pickling import Looking, Note, OpenJob, Parcel, Shipment, pack_unit, unpack


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
        _work(connection)
    # Nothing here has to be tidied up, and what a model has left running must not hold the process.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _work(connection: Connection) -> None:
    """Do what the messages say."""
    bench, own = OpenJob(), os.getpid()

    def tell(what: What, content: object = None) -> None:
        # A model may fork: its child has come here with this connection, and the driver waits for one answer.
        if os.getpid() != own:
            os._exit(1)
        connection.send_bytes(pickle.dumps((what, content), protocol=5))

    def open_job(note: Note) -> None:
        with Looking(note) as parcel:
            refusal = bench.open(parcel.copied())
        tell("refused" if refusal else "opened", refusal)

    def carry_unit(note: Note) -> None:
        tell("started")
        with Looking(note) as parcel:
            packed = bench.carry(parcel)
            # Memory that nobody looks at any more can be let go of.
            del parcel
        tell("returned", packed.copied())

    while True:
        is_job, note = pickle.loads(connection.recv_bytes())
        (open_job if is_job else carry_unit)(note)


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


_SILENCE = 20  # seconds between two parts of a message
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
        self, workers: int, *, timeout_s: float | None = TIMEOUT, memory_mb: float | None = None
    ) -> None:
        total = machine_megabytes()
        share = None if total is None else total * _SHARE / workers
        super().__init__(_Crew(workers), Limits(timeout_s, share if memory_mb is None else memory_mb))
        # Workers may have children, so they are no daemons, and Python would wait for them at its end.
        weakref.finalize(self, self._crew.close)


@dataclass(eq=False, kw_only=True)
class _ProcessHand(Hand):
    process: BaseProcess
    connection: Connection
    shipments: deque[Shipment] = field(default_factory=deque)


class _Crew(Crew[_ProcessHand]):
    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._context: Any = get_context("spawn")

    def ship(self, parcel: Parcel) -> Shipment:
        return Shipment(parcel)

    def end(self) -> None:
        job = self.job
        super().end()
        if job is not None:
            job.delete()

    def hire(self) -> None:
        ours, theirs = self._context.Pipe()
        _lose_patience(ours)
        process = self._context.Process(target=serve, args=(theirs, os.getpid()))
        with environment(), _no_interrupts():
            process.start()
        theirs.close()
        self.hands.append(_ProcessHand(process=process, connection=ours, pid=process.pid))
        self.open(self.hands[-1])

    def open(self, hand: _ProcessHand) -> None:
        if hand.process.is_alive():
            self._send(hand, self.job, is_job=True)
        else:
            self.dismiss(hand)

    def give(self, hand: _ProcessHand, piece: Piece) -> None:
        hand.shipments.append(Shipment(pack_unit(piece.unit, self.known)))
        self._send(hand, hand.shipments[-1], is_job=False)

    def _send(self, hand: _ProcessHand, shipment: Shipment, *, is_job: bool) -> None:
        # One that is gone is found out by who waits for it.
        with suppress(OSError):
            hand.connection.send_bytes(pickle.dumps((is_job, shipment.note), protocol=5))

    def wait(self, seconds: float) -> Sequence[Event]:
        hands = tuple(self.hands)
        found: Sequence[Any] = wait(
            [*(one.connection for one in hands), *(one.process.sentinel for one in hands)], seconds
        )
        ready = set(found)
        events: list[Event] = []
        for hand in hands:
            has_ended = hand.process.sentinel in ready
            if has_ended or hand.connection in ready:
                # What it said before it died counts.
                events += self._received(hand, has_ended=has_ended)
        return events

    def _received(self, hand: _ProcessHand, *, has_ended: bool) -> Iterator[Event]:
        try:
            while hand.connection.poll():
                what, content = _read(hand.connection.recv_bytes())
                if what == "returned":
                    hand.shipments.popleft().delete()
                    content = unpack(content)
                yield Event(hand, what, content)
        except (EOFError, OSError, pickle.UnpicklingError):
            has_ended = True
        if has_ended:
            yield Event(hand, "died")

    def dismiss(self, hand: _ProcessHand) -> None:
        self.hands.remove(hand)
        if hasattr(os, "killpg") and hand.pid:
            # With all that it started; it may be too young to have a group of its own, or gone.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(hand.pid, signal.SIGKILL)
        hand.process.kill()
        hand.process.join()
        hand.process.close()
        hand.connection.close()
        for shipment in hand.shipments:
            shipment.delete()

    def megabytes(self, hand: _ProcessHand) -> float | None:
        return process_megabytes(hand.pid)


def _read(message: bytes) -> tuple[What, Any]:
    """Return what a worker says.

    Raises:
        pickle.UnpicklingError: It is something else: a model may write into any file that is open.
    """
    try:
        what, content = pickle.loads(message)
    except Exception as error:
        raise pickle.UnpicklingError from error
    return what, content


def _lose_patience(connection: Connection) -> None:
    """Let a message that stops in its midst be an error, and not be waited for as long as it takes."""
    if sys.platform != "win32":
        with socket.socket(fileno=os.dup(connection.fileno())) as same:
            same.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", _SILENCE, 0))


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
