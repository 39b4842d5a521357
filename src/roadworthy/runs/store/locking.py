"""One run at a time in a folder.

The lock is one of the operating system's (flock), so it ends with the process, however that ends. Where the
system or the file system has none, as on Windows, a warning says so and nothing is locked.
"""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from roadworthy.errors import InputError
from roadworthy.runs.store.writing import storing

try:
    import fcntl
except ImportError:  # pragma: no cover - only where there is no flock
    fcntl = None  # type: ignore[assignment]


LOCK = ".lock"
"""The name of the file that is locked; it is there while a run goes on, and after one that was killed."""

_HELD: ContextVar[tuple[Path, ...]] = ContextVar("_HELD", default=())


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder, and of the folders below it.

    Whoever holds it may ask again: inside the block this and the stores below the folder take no lock of
    their own. Another process or thread is refused.

    Args:
        folder: The folder; it is made if it does not exist.

    Raises:
        InputError: Another run holds the folder, or it cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with locked(Path(folder)), locked(Path(folder, "runs", "R1")):
        ...         print("ours")
        ours
    """
    lock = FolderLock.of(folder)
    held = _HELD.set((*_HELD.get(), folder.resolve()))
    try:
        yield
    finally:
        _HELD.reset(held)
        lock.release()


class FolderLock:
    """The lock on a folder, for who cannot use a block; see :func:`locked`."""

    def __init__(self, path: Path, handle: int | None) -> None:
        self._path = path
        self._handle = handle

    @classmethod
    def of(cls, folder: Path) -> FolderLock:
        """Lock a folder.

        Raises:
            InputError: Another run holds the folder, or it cannot be written.
        """
        path = folder / LOCK
        with storing(folder):
            if folder.exists() and not folder.is_dir():
                raise InputError(f"a run needs a folder, got the file {folder}")
            folder.mkdir(parents=True, exist_ok=True)
            place = folder.resolve()
            if fcntl is None or any(place.is_relative_to(held) for held in _HELD.get()):
                return cls(path, None)
            while True:
                handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
                if not _flocked(handle, folder):
                    return cls(path, None)
                if _is_same(handle, path):
                    return cls(path, handle)
                # Who held it before deleted it between our two steps.
                os.close(handle)

    def release(self) -> None:
        """Let others in."""
        if self._handle is None:
            return
        # While it is still locked: who waits with the old file open sees that it is gone.
        self._path.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = None


def _flocked(handle: int, folder: Path) -> bool:
    """Lock an open file; False where that cannot be done here at all."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise InputError(
                f"another run is writing to {folder}: wait until it ends, or choose another folder"
            ) from error
        warnings.warn(
            f"{folder} cannot be locked ({error.strerror}): make sure that only one run writes to it",
            stacklevel=4,
        )
        return False
    return True


def _is_same(handle: int, path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    ours = os.fstat(handle)
    return (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)
