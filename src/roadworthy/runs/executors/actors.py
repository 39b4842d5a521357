"""What lives in the actors of a Ray cluster."""

from __future__ import annotations

import os
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.runs.batches import distinct_sources, make_frames
from roadworthy.runs.executors.memory import process_megabytes
from roadworthy.runs.executors.pickling import PackedJob, Parcel, pack, pack_done, unpack, unpack_job
from roadworthy.runs.executors.pinning import pin
from roadworthy.runs.executors.work import Done, carry

__all__ = ["Actor", "Sent", "received", "sent"]


@dataclass(frozen=True, slots=True)
class Sent:
    """A parcel as Ray's object store holds it: arrays there are looked at by everyone on a node.

    Attributes:
        content: The pickle.
        arrays: The buffers.
        fixed: Whether each of them may not be written.
    """

    content: bytes
    arrays: tuple[NDArray[np.uint8], ...]
    fixed: tuple[bool, ...]


def sent(parcel: Parcel) -> Sent:
    """Return a parcel for the object store."""
    views: list[Any] = [memoryview(one) for one in parcel.buffers]
    arrays = tuple(np.frombuffer(one, np.uint8) if one.nbytes else np.empty(0, np.uint8) for one in views)
    return Sent(parcel.content, arrays, tuple(bool(one.readonly) for one in views))


def received(found: Sent, *, copied: bool = False) -> Parcel:
    """Return a parcel from the object store.

    Args:
        found: What was there.
        copied: Whether what is unpacked from it shall outlive it.

    Example:
        >>> received(sent(Parcel(b"pickle", [b"array"]))).buffers[0].tobytes()
        b'array'
    """
    parcel = Parcel(
        found.content,
        [
            array.data.toreadonly() if fixed else bytearray(array)
            for array, fixed in zip(found.arrays, found.fixed, strict=True)
        ],
    )
    return parcel.copied() if copied else parcel


class Actor:
    """Holds the systems of a job and carries out batches; one may also only make frames for others."""

    def __init__(self) -> None:
        pin()
        self._systems: dict[str, Any] = {}
        self._known: dict[str, Any] = {}
        self._job: Any = None

    def open(self, found: Sent, folder: str) -> tuple[str, int]:
        """Open the systems.

        Args:
            found: The job.
            folder: Where the driver is: paths may be relative to it.

        Returns:
            Why that cannot be done, if so; and the id of the process.
        """
        with suppress(OSError):
            os.chdir(folder)
        # The last job's data need not stay while this one's is read.
        self._job, self._known = None, {}
        try:
            packed: PackedJob = unpack(received(found, copied=True))
            self._job, self._known = unpack_job(packed, self._systems)
        except Exception as error:
            return f"{type(error).__name__}: {error}", os.getpid()
        return "", os.getpid()

    def make(self, found: Sent) -> Sent:
        """Return the frames of a batch."""
        try:
            made: Any = make_frames(distinct_sources(unpack(received(found), self._known).cases))
        except Exception:
            # Who judges meets it again, and tells.
            made = None
        return sent(pack(made))

    def carry(self, found: Sent, made: list[Any], patience: float | None) -> Sent:
        """Return what became of a batch.

        Args:
            found: The batch.
            made: Where the frames are, if others make them.
            patience: Seconds that they are waited for.
        """
        done = self._carried(received(found), made, patience)
        if done.error is not None:
            done.error.add_note("In a worker:\n" + "".join(traceback.format_exception(done.error)))
        return sent(pack_done(done))

    def _carried(self, parcel: Parcel, made: list[Any], patience: float | None) -> Done:
        try:
            frames = None
            if made:
                import ray

                # Frames that others fail to make are made here, where it is seen which case is to blame.
                with suppress(Exception):
                    frames = unpack(received(ray.get(made[0], timeout=patience)))
            return carry(self._job, unpack(parcel, self._known), frames)
        except Exception as error:
            return Done(error=error)

    def megabytes(self) -> float | None:
        """Return how much memory it uses."""
        return process_megabytes(os.getpid())
