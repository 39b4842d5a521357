"""One copy of a network on its device for all workers of a machine.

Workers make frames and judge answers, each on a core; what a network computes on a GPU is computed in one
process that they share, the holder. A worker waits for its answers, so never more batches are under way than
there are workers. The first worker that asks starts the holder, which ends with it; where a batch ends the
holder, the next to ask starts another.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field
from hashlib import sha256
from multiprocessing import get_context
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.errors import DeviceError, InputError, RoadworthyError, SystemUnderTestError, words_of
from roadworthy.frames import Frame
from roadworthy.models import Network
from roadworthy.models.network import OpensLater, Runtime, Tensor, breaks_device, device_of
from roadworthy.runs.executors.faults import TIMEOUT

_LONGEST = 80  # characters of the folder of sockets: systems take paths of 104 and more
_POLL = 0.05  # seconds between two looks whether the holder has opened the network
_ENDS = (EOFError, OSError)  # what is raised where the other side of a connection is gone


def held(network: Network[Any], digest: str) -> Network[Any]:
    """Return a network that is on its device once for all workers of a machine.

    Args:
        network: The network.
        digest: The SHA-256 of what it consists of: what is pickled may say no more than where its files are.
    """
    runtime = network.runtime
    packed = pickle.dumps(runtime, protocol=5)
    name = sha256(digest.encode() + packed).hexdigest()[:32]
    network = copy(network)
    network.runtime = HeldRuntime(
        packed, name, device_of(network), runtime.input, runtime.outputs, runtime.files
    )
    return network


@dataclass(frozen=True, eq=False)
class HeldRuntime(OpensLater):
    """Asks the process that holds a network on its device.

    Attributes:
        network: What runs it, pickled.
        name: What it is known by on its machine: no other has the same.
        device: Where it runs.
        input: The network's input.
        outputs: The network's outputs.
        files: The files that it consists of.
    """

    network: bytes = field(repr=False)
    name: str
    device: str
    input: Tensor | None
    outputs: tuple[Tensor, ...]
    files: tuple[Path, ...]

    def run(self, images: NDArray[Any], frames: Sequence[Frame], /) -> Any:  # noqa: ARG002
        """Return the outputs for a batch of images.

        Raises:
            SystemUnderTestError: It ended the holder, again and again while nobody else was asking.
            DeviceError: No holder can open it.
        """
        reason = f"it ended its process on {self.device}"
        # The second time it may be given to a holder that is ending, because of who asked before.
        for alone in (False, True, True):
            with self._turn(alone=alone):
                connection = self._connection()
                try:
                    connection.send((images.shape, images.dtype.str))
                    connection.send_bytes(np.ascontiguousarray(images).data)
                    found = connection.recv()
                except _ENDS:
                    found = None
                if found is None or isinstance(found, DeviceError):
                    self.__dict__.pop("_open").close()
                    reason = str(found or reason)
                    continue
            if isinstance(found, Exception):
                raise found
            return found
        raise SystemUnderTestError(reason)

    @contextmanager
    def _turn(self, *, alone: bool) -> Iterator[None]:
        """Ask while others may, or while nobody does: so it is seen whose batch ends the holder."""
        with self._socket.with_suffix(".turn").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            yield

    @property
    def _socket(self) -> Path:
        # Ray gives each of its actors a part of the machine's GPUs by this variable.
        seen = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        return _own_folder() / sha256(f"{self.name} {seen}".encode()).hexdigest()[:16]

    def _connection(self) -> Connection:
        """Return a connection to the holder, which is started where there is none."""
        known: Connection | None = self.__dict__.get("_open")
        if known is not None:
            return known
        with self._socket.with_suffix(".start").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            connection = _connected(self._socket) or self._started()
        self.__dict__["_open"] = connection
        return connection

    def _started(self) -> Connection:
        holder = get_context("spawn").Process(
            target=hold, args=(self.network, self._socket, os.getpid()), daemon=False
        )
        self._socket.unlink(missing_ok=True)
        holder.start()
        end = time.monotonic() + TIMEOUT
        while (found := _connected(self._socket)) is None:
            is_late = time.monotonic() > end
            if is_late or not holder.is_alive():
                why = f"in {TIMEOUT:.0f} s" if is_late else "as was said before"
                raise DeviceError(
                    f"no process can open it on {self.device}, {why}: see that the device is "
                    "there and has room, and give the same command again, which goes on"
                )
            time.sleep(_POLL)
        return found


def _own_folder() -> Path:
    """Return a folder in which nobody else can put a socket."""
    folder = Path(tempfile.gettempdir()) / f"roadworthy-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o077:
        raise InputError(f"{folder} must be a folder that only you can open: delete it")
    if len(str(folder)) > _LONGEST:
        raise InputError(f"{folder} is too long a path for sockets: let TMPDIR name a shorter one")
    return folder


def _connected(socket: Path) -> Connection | None:
    """Return a connection to a holder that greets: one that is ending still takes connections, silently."""
    with suppress(*_ENDS):
        connection = Client(str(socket), "AF_UNIX")
        connection.recv_bytes()
        return connection
    return None


def hold(network: bytes, socket: Path, starter: int) -> None:
    """Open a network and answer for it, until the worker that wanted it is gone.

    Args:
        network: What runs it, pickled.
        socket: Where workers ask.
        starter: The process of that worker.
    """
    runtime: Runtime = pickle.loads(network)
    try:
        # What opens later says only then that its device is not there.
        getattr(runtime, "opened", None)
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {words_of(error)}")
    turn, asking = threading.Lock(), list[Connection]()
    with Listener(str(socket), "AF_UNIX", backlog=64) as listener:
        threading.Thread(target=_watch, args=(starter, asking), daemon=True).start()
        while True:
            given = listener.accept(), runtime, turn, asking
            threading.Thread(target=_answer, args=given, daemon=True).start()


def _watch(starter: int, asking: list[Connection]) -> None:
    """End this process with the worker that started it, or with the one whose batch it works on.

    Who waits for an answer says nothing: what can be read from him is his end. His batch hangs, perhaps.
    """
    while os.getppid() == starter and not any(one.poll() for one in asking):
        time.sleep(0.2)
    os._exit(1)


def _answer(connection: Connection, runtime: Runtime, turn: threading.Lock, asking: list[Connection]) -> None:
    """Answer the questions of one worker, one batch of all workers at a time."""
    with suppress(*_ENDS), connection:
        connection.send_bytes(b"ready")
        while True:
            shape, kind = connection.recv()
            images = np.frombuffer(bytearray(connection.recv_bytes()), kind).reshape(shape)
            with turn:
                asking.append(connection)
                try:
                    found: Any = runtime.run(images, ())
                except Exception as error:
                    is_plain = type(error).__module__ == "builtins" or isinstance(error, RoadworthyError)
                    found = error if is_plain else RuntimeError(f"{type(error).__name__}: {error}")
                    if breaks_device(error):
                        connection.send(DeviceError(words_of(error).partition("\n")[0]))
                        os._exit(1)
                asking.clear()
            connection.send(found)
