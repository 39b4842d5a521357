"""Several processes on this machine, each with its own copy of the systems."""

from __future__ import annotations

import ctypes
import gc
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
from multiprocessing import current_process, get_context, spawn
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from roadworthy.runs.executors import faults
from roadworthy.runs.executors.dispatching import Crew, CrewExecutor, Event, Hand, What
from roadworthy.runs.executors.pickling import Looking, Note, OpenJob, Parcel, Shipment, pack_unit, unpack


def serve(connection: Connection, parent: int, main: dict[str, Any]) -> None:
    """Work until the driver closes the connection or is gone.

    Args:
        connection: To the driver.
        parent: The process of the driver.
        main: Where the driver's main module is, which this process has not imported yet.
    """
    if hasattr(os, "setpgid"):
        # What a model starts belongs to this process and ends with it.
        os.setpgid(0, 0)
    _die_with(_kept(connection, parent))
    own: Any = current_process()
    # As Python itself does: a script that starts a run wherever it is imported is refused by this.
    own._inheriting = True
    spawn.prepare(main)
    del own._inheriting
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    faults.pin()
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
        gc.unfreeze()
        with Looking(note) as parcel:
            refusal = bench.open(parcel.copied())
        # What is open stays: Python need not look through all of it for garbage again and again.
        gc.freeze()
        tell("refused" if refusal else "opened", refusal or own)

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


_DEATH_SIGNAL, _SUBREAPER = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER


def _kept(connection: Connection, parent: int) -> int:
    """Go on in a child; this process ends it when the driver ends, and with it all that it has started.

    What a model starts can leave its parent and its group (os.setsid, a second fork), but on Linux not the
    nearest process that wants such orphans. Threads, which a fork would lose, let everything be as it is;
    there are none before the main module is imported, unless Python itself is made to start some.

    Returns:
        The process that this one has to end with.
    """
    own = os.getpid()
    children = Path(f"/proc/self/task/{own}/children")
    if sys.platform != "linux" or not children.exists() or len(list(children.parents[1].iterdir())) > 1:
        return parent
    prctl = ctypes.CDLL(None).prctl
    heard = {signal.SIGTERM, signal.SIGCHLD}
    # A driver that ignores it would leave that to this process, which could wait for nobody.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    prctl(_SUBREAPER, 1)
    worker = os.fork()
    if not worker:
        prctl(_DEATH_SIGNAL, signal.SIGKILL)
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return own
    connection.close()
    # No signal tells of the driver's end: Linux sends it when the thread ends that has hired this one.
    while os.getppid() == parent and worker not in _ended():
        told = signal.sigtimedwait(heard, 1)
        if told is not None and told.si_signo == signal.SIGTERM:
            break
    with suppress(ChildProcessError):
        while True:
            # The children of those that end become children of this process.
            for pid in children.read_text().split():
                with suppress(OSError):
                    os.kill(int(pid), signal.SIGKILL)
            os.waitpid(-1, 0)
    os._exit(0)


def _ended() -> Iterator[int]:
    with suppress(ChildProcessError):
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            yield pid


def _die_with(parent: int) -> None:
    """End this process when its parent ends, in whatever way."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, name="watch the driver", daemon=True).start()


_GRACE = 5 if sys.platform == "linux" else 0  # seconds in which a worker ends with all that it has started
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
        self, workers: int, *, timeout_s: float | None = faults.TIMEOUT, memory_mb: float | None = None
    ) -> None:
        total = faults.machine_megabytes()
        share = None if total is None else total * _SHARE / workers
        super().__init__(_Crew(workers), faults.Limits(timeout_s, share if memory_mb is None else memory_mb))
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
        with _starting() as main:
            process = self._context.Process(target=serve, args=(theirs, os.getpid(), main))
            process.start()
        theirs.close()
        self.hands.append(_ProcessHand(process=process, connection=ours, pid=process.pid))
        self.open(self.hands[-1])

    def open(self, hand: _ProcessHand) -> None:
        if hand.process.is_alive():
            self._send(hand, self.job, is_job=True)
        else:
            self.dismiss(hand)

    def give(self, hand: _ProcessHand, piece: faults.Piece) -> None:
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
                if what == "opened":
                    hand.pid = content
                elif what == "returned":
                    hand.shipments.popleft().delete()
                    content = unpack(content)
                yield Event(hand, what, content)
        except (EOFError, OSError, pickle.UnpicklingError):
            has_ended = True
        if has_ended:
            yield Event(hand, "died")

    def dismiss(self, hand: _ProcessHand) -> None:
        self.hands.remove(hand)
        # With all that it started; it may be too young for that, or gone.
        hand.process.terminate()
        for _ in range(100 * _GRACE):
            # Its sentinel alone waits for what the process has started too.
            if wait([hand.process.sentinel], 0.01) or hand.process.exitcode is not None:
                break
        if hasattr(os, "killpg") and hand.process.pid:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(hand.process.pid, signal.SIGKILL)
        hand.process.kill()
        hand.process.join()
        # Where the driver ignores SIGCHLD, as Ray lets it, nobody is told that a process has ended.
        with suppress(ValueError):
            hand.process.close()
        hand.connection.close()
        for shipment in hand.shipments:
            shipment.delete()

    def megabytes(self, hand: _ProcessHand) -> float | None:
        return faults.process_megabytes(hand.pid)


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


_STARTING = threading.Lock()


@contextmanager
def _starting() -> Iterator[dict[str, Any]]:
    """Let a process that is started now have one thread, not see Ctrl-C, and leave the main module for later.

    Ctrl-C is for the driver, and the process cannot say so yet. Python would import the main module before
    anything else, and what that imports may start threads.

    Yields:
        What its target prepares the main module with, once it is started.
    """
    with _STARTING, faults.environment():
        whole, thread, main = spawn.get_preparation_data, threading.get_ident(), dict[str, Any]()

        def without_main(name: str) -> dict[str, Any]:
            data = whole(name)
            if threading.get_ident() == thread:
                main.update((key, data.pop(key)) for key in tuple(data) if key.startswith("init_main"))
            return data

        before = hasattr(signal, "pthread_sigmask") and signal.pthread_sigmask(
            signal.SIG_BLOCK, [signal.SIGINT]
        )
        try:
            spawn.get_preparation_data = without_main
            yield main
        finally:
            spawn.get_preparation_data = whole
            if before is not False:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
