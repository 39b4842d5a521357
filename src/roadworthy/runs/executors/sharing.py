"""Parcels in shared memory: who sends one owns it, and everyone else only looks at it.

Only the driver makes segments and only the driver deletes them, so a worker that is killed leaves none
behind. When the driver itself is killed, Python's resource tracker deletes what is left.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any

from roadworthy.runs.executors.pickling import Parcel

__all__ = ["Looking", "Note", "Shipment"]

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
        views = [memory[begin : begin + size] for begin, size, _ in note.buffers]
        return Parcel(
            bytes(memory[: note.content]),
            [
                view.toreadonly() if fixed else view
                for view, (_, _, fixed) in zip(views, note.buffers, strict=True)
            ],
        )

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
