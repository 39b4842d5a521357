"""What a worker process does: it opens the systems once, then carries out one batch after the other."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from roadworthy.runs.executors.pinning import pin
from roadworthy.runs.executors.sharing import Looking, Note

__all__ = ["Begun", "Failed", "Finished", "NewJob", "NewUnit", "Ready", "serve"]


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
