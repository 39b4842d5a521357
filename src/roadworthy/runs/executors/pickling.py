"""How jobs and batches travel: pickled, with their arrays beside the pickle or in shared memory."""

from __future__ import annotations

import io
import pickle
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from multiprocessing.shared_memory import SharedMemory
from types import FunctionType
from typing import Any, TypeAlias

from roadworthy._importing import imported, is_of_file
from roadworthy.errors import InputError
from roadworthy.models import Network
from roadworthy.models.network import device_of
from roadworthy.runs.executors.work import BatchJob, Done, WorkUnit, carry
from roadworthy.runs.store.digests import digest_of_model

SERIAL = "use --executor serial (executor=None), which sends nothing"

Buffer: TypeAlias = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Parcel:
    """Something that travels.

    Attributes:
        content: The pickle.
        buffers: The arrays, as bytes, in the order in which the pickle speaks of them.
    """

    content: bytes
    buffers: Sequence[Buffer] = ()

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return len(self.content) + sum(memoryview(one).nbytes for one in self.buffers)

    def copied(self) -> Parcel:
        """Return it with buffers of its own, which may be written as before."""
        views: list[memoryview] = [memoryview(one) for one in self.buffers]
        return Parcel(self.content, [bytes(one) if one.readonly else bytearray(one) for one in views])

    def digest(self) -> str:
        """Return the SHA-256 of it all."""
        known = sha256(self.content)
        for one in self.buffers:
            known.update(one)
        return known.hexdigest()


@dataclass(frozen=True, slots=True)
class PackedJob:
    """A job that travels: its parts one by one, so that a worker keeps the systems that it has.

    Attributes:
        parts: What the job consists of, by name; later ones may speak of earlier ones.
        digests: Of each system, by the name of its part: the SHA-256 of what travels and of its files.
        rest: Everything else about the job.
    """

    parts: Mapping[str, Parcel]
    digests: Mapping[str, str]
    rest: Mapping[str, Any] = field(default_factory=dict)


class _Pickler(pickle.Pickler):
    """Leaves out what the other side has, and says of users' files where they are."""

    def __init__(
        self, file: io.BytesIO, known: Mapping[int, str], buffers: list[pickle.PickleBuffer]
    ) -> None:
        super().__init__(file, protocol=5, buffer_callback=buffers.append)
        self._known = known

    def reducer_override(self, thing: Any) -> Any:
        """Return what the other side has by its name, and what is of a user's file by the file's path."""
        if (name := self._known.get(id(thing))) is not None:
            return _on_the_other_side, (name,)
        if not isinstance(thing, FunctionType | type):
            return NotImplemented
        if not is_of_file(thing.__module__) or "<locals>" in thing.__qualname__:
            return NotImplemented
        return imported, (f"{sys.modules[thing.__module__].__file__}:{thing.__qualname__}", "", "function")


class _Unpickler(pickle.Unpickler):
    def __init__(self, parcel: Parcel, known: Mapping[str, Any]) -> None:
        super().__init__(io.BytesIO(parcel.content), buffers=parcel.buffers)
        self._known = known

    def find_class(self, module: str, name: str) -> Any:
        """Return what a pickle speaks of; here, what it has left out is known by name."""
        is_known = (module, name) == (__name__, _on_the_other_side.__name__)
        return self._known.__getitem__ if is_known else super().find_class(module, name)


def _on_the_other_side(name: str) -> Any:
    """Stand for something in a pickle that whoever reads it has, see `_Unpickler.find_class`."""
    raise NotImplementedError(name)


def pack(thing: object, known: Mapping[int, str] | None = None) -> Parcel:
    """Return something as it travels.

    Args:
        thing: What travels.
        known: What the other side has, by `id`, with its name there: objects, not plain lists, dicts or text.

    Example:
        >>> import numpy as np
        >>> parcel = pack(np.arange(5))
        >>> unpack(parcel).tolist(), len(parcel.buffers)
        ([0, 1, 2, 3, 4], 1)
    """
    file = io.BytesIO()
    buffers: list[pickle.PickleBuffer] = []
    _Pickler(file, known or {}, buffers).dump(thing)
    return Parcel(file.getvalue(), [one.raw() for one in buffers])


def unpack(parcel: Parcel, known: Mapping[str, Any] | None = None) -> Any:
    """Return what travelled; its arrays are views of the parcel's buffers."""
    return _Unpickler(parcel, known or {}).load()


def pack_job(job: BatchJob) -> tuple[PackedJob, dict[int, str]]:
    """Return a job as it travels, and what of it batches need not carry, by `id`.

    Raises:
        InputError: A system or the method cannot travel.
    """
    parts: dict[str, Parcel] = {}
    digests: dict[str, str] = {}
    known: dict[int, str] = {}

    def add(name: str, thing: object, what: str, sent: object = None) -> None:
        try:
            # A copy, because the parts travel inside another pickle, which cannot hold views.
            parts[name] = pack(thing if sent is None else sent, known).copied()
        except Exception as error:
            raise InputError(
                f"{what} cannot be sent to other processes ({type(error).__name__}: {error}): {SERIAL}, or "
                "give it as something that can be pickled: of module level, without open files or sessions"
            ) from error
        known[id(thing)] = name

    if job.data is not None:
        try:
            parts["data"] = pack(job.data).copied()
            known[id(job.data)] = "data"
        except Exception:
            # Cases that bring their own frames need no data set.
            parts.pop("data", None)
    for name, system in job.systems.items():
        # What travels may say no more than where the files are.
        content = f"{digest_of_model(system).sha256}"
        add(f"system {name}", system, f"the system {name}", _on_device(system, content))
        digests[f"system {name}"] = f"{parts[f'system {name}'].digest()} {content}"
    if job.simulator is not None:
        add("simulator", job.simulator, "the simulator")
    add("method", job.method, f"the method {job.method.name}")
    names = ("tested", "batch_size", "retention", "gate", "rows", "requirements", "seed", "shard")
    return PackedJob(parts, digests, {name: getattr(job, name) for name in names}), known


def _on_device(system: Any, digest: str) -> Any:
    """Return a system as it travels: a network on a device is there once, not once for each worker."""
    if not isinstance(system, Network) or device_of(system) == "cpu" or sys.platform == "win32":
        return system
    from roadworthy.runs.executors.device import held

    return held(system, digest)


def unpack_job(packed: PackedJob, systems: dict[str, Any]) -> tuple[BatchJob, dict[str, Any]]:
    """Return a job that travelled, and what batches may speak of, by name.

    Args:
        packed: The job.
        systems: The systems that are open here, by digest; afterwards those of this job.
    """
    known: dict[str, Any] = {}
    fresh: dict[str, Any] = {}
    for name, parcel in packed.parts.items():
        digest = packed.digests.get(name)
        known[name] = systems[digest] if digest is not None and digest in systems else unpack(parcel, known)
        if digest is not None:
            fresh[digest] = known[name]
    systems.clear()
    systems.update(fresh)
    systems_of = {name.removeprefix("system "): known[name] for name in packed.digests}
    others = {"simulator": known.get("simulator"), "data": known.get("data"), **packed.rest}
    return BatchJob(known["method"], systems_of, **others), known


def pack_unit(unit: WorkUnit, known: Mapping[int, str]) -> Parcel:
    """Return a batch as it travels.

    Raises:
        InputError: A case cannot travel; names it.
    """
    try:
        return pack(unit, known)
    except Exception as error:
        for case in unit.cases:
            try:
                pack(case, known)
            except Exception as reason:
                raise InputError(
                    f"case {case.id!r} cannot be sent to other processes ({type(reason).__name__}: "
                    f"{reason}): {SERIAL}, or let it ask for frames by callables that can be pickled"
                ) from reason
        raise InputError(f"a batch cannot be sent to other processes ({error}): {SERIAL}") from error


def pack_done(done: Done) -> Parcel:
    """Return what became of a batch as it travels; an error that cannot travel is told in words."""
    try:
        parcel = pack(done)
        if done.error is not None:
            # Some exceptions can be pickled but not read again.
            unpack(parcel)
    except Exception as error:
        if done.error is not None:
            told = RuntimeError(f"{type(done.error).__name__}: {done.error}")
            told.__notes__ = list(getattr(done.error, "__notes__", ()))
            return pack_done(replace(done, error=told))
        told = InputError(f"verdicts cannot be sent back from a worker ({error}): {SERIAL}")  # type: ignore[assignment]
        return pack(Done(error=told))
    return parcel


class OpenJob:
    """Where a worker works: the job that is open, and the systems that stay open from job to job."""

    def __init__(self) -> None:
        self._systems: dict[str, Any] = {}
        self._known: dict[str, Any] = {}
        self._job: Any = None

    def open(self, parcel: Parcel) -> str:
        """Open the systems of a job; return why that cannot be done, if so.

        Args:
            parcel: The job, in buffers of its own: what is open stays longer than what it travelled in.
        """
        # The last job's data need not stay while this one's is read.
        self._job, self._known = None, {}
        try:
            self._job, self._known = unpack_job(unpack(parcel), self._systems)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def unit(self, parcel: Parcel) -> WorkUnit:
        """Return a batch of the job."""
        unit: WorkUnit = unpack(parcel, self._known)
        return unit

    def carry(self, parcel: Parcel) -> Parcel:
        """Carry out batches of the job; return what became of them, packed."""
        try:
            done = carry(self._job, self.unit(parcel))
        except Exception as error:
            done = Done(error=error)
        if done.error is not None:
            done.error.add_note("In a worker:\n" + "".join(traceback.format_exception(done.error)))
        return pack_done(done)


SMALL = 2**14
"""Bytes up to which a parcel goes through the pipe, which holds a few of them."""

_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Note:
    """Says where a parcel lies; small enough for a pipe.

    Attributes:
        segment: The name of the shared memory; empty when the parcel is in the note.
        parcel: The parcel, if it is small.
        content: How many bytes the pickle has.
        buffers: Where each buffer begins, how many bytes it has, and whether it may not be written.
    """

    segment: str
    parcel: Parcel | None = None
    content: int = 0
    buffers: tuple[tuple[int, int, bool], ...] = ()


class Shipment:
    """A parcel that waits to be looked at, until it is deleted.

    Example:
        >>> parcel = Parcel(b"pickle", [bytes(100_000)])
        >>> shipment = Shipment(parcel)
        >>> with Looking(shipment.note) as seen:
        ...     (seen.content, len(seen.buffers[0]))
        (b'pickle', 100000)
        >>> shipment.delete()
    """

    def __init__(self, parcel: Parcel) -> None:
        self._memory: SharedMemory | None = None
        if parcel.size <= SMALL:
            self.note = Note("", parcel.copied())
            return
        places: list[tuple[int, int, bool]] = []
        end = len(parcel.content)
        views = [memoryview(one) for one in parcel.buffers]
        for view in views:
            begin = -(-end // _ALIGNMENT) * _ALIGNMENT
            places.append((begin, view.nbytes, view.readonly))
            end = begin + view.nbytes
        self._memory = SharedMemory(create=True, size=end)
        memory: Any = self._memory.buf
        memory[: len(parcel.content)] = parcel.content
        for view, (begin, size, _) in zip(views, places, strict=True):
            memory[begin : begin + size] = view.cast("B") if view.nbytes else b""
        self.note = Note(self._memory.name, None, len(parcel.content), tuple(places))

    def delete(self) -> None:
        """Delete the shared memory; a second call does nothing."""
        if self._memory is not None:
            self._memory.close()
            # Someone may have cleaned /dev/shm.
            with suppress(FileNotFoundError):
                self._memory.unlink()
            self._memory = None


class Looking:
    """A parcel as another process looks at it; a context manager.

    What was unpacked from it may outlive it, for example in a model that keeps frames: then the memory stays
    until that is gone.
    """

    _kept: list[SharedMemory] = []  # noqa: RUF012 - one for the process

    def __init__(self, note: Note) -> None:
        self._note = note
        self._memory: SharedMemory | None = None

    def __enter__(self) -> Parcel:
        note = self._note
        if note.parcel is not None:
            return note.parcel
        self._memory = SharedMemory(note.segment)
        memory: Any = self._memory.buf
        buffers = []
        for begin, size, fixed in note.buffers:
            view = memory[begin : begin + size]
            buffers.append(view.toreadonly() if fixed else view)
        return Parcel(bytes(memory[: note.content]), buffers)

    def __exit__(self, *_: object) -> None:
        if self._memory is not None:
            Looking._kept.append(self._memory)
            self._memory = None
        waiting, Looking._kept[:] = Looking._kept[:], []
        for memory in waiting:
            try:
                memory.close()
            except BufferError:
                Looking._kept.append(memory)
