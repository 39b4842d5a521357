"""One run at a time in a folder.

The lock is one of the operating system's, so it ends with the process, however that ends. Where the file
system has none, a warning says so and nothing is locked.
"""

from __future__ import annotations

import errno
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from roadworthy.errors import InputError
from roadworthy.places import is_address
from roadworthy.runs.store.writing import storing

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
    release = hold(folder)
    held = _HELD.set((*_HELD.get(), folder.resolve()))
    try:
        yield
    finally:
        _HELD.reset(held)
        release()


_PATIENCE = 0.1  # seconds: who held it before may delete the file between our opening and locking it
_UNLOCKABLE = (errno.ENOTSUP, errno.ENOLCK, errno.ENOSYS)


def hold(folder: Path) -> Callable[[], None]:
    """Take the lock of a folder, which is made if it does not exist; return what gives it up.

    Raises:
        InputError: Another run holds the folder, or it cannot be written.
    """
    from filelock import FileLock, Timeout

    if is_address(folder):
        raise InputError(f"{folder} is an address: write `with roadworthy.places.kept(…) as folder` round it")
    path = folder / LOCK
    with storing(folder):
        if folder.exists() and not folder.is_dir():
            raise InputError(f"a run needs a folder, got the file {folder}")
        folder.mkdir(parents=True, exist_ok=True)
        place = folder.resolve()
        if any(place.is_relative_to(held) for held in _HELD.get()):
            return lambda: None
        lock = FileLock(path, _PATIENCE, thread_local=False, poll_interval=0.01, fallback_to_soft=False)
        try:
            lock.acquire()
        except Timeout:
            raise InputError(f"another run is writing to {folder}: wait, or choose another folder") from None
        except OSError as error:
            if error.errno not in _UNLOCKABLE:
                raise
            warnings.warn(
                f"{folder} cannot be locked ({error.strerror}): make sure that only one run writes to it",
                stacklevel=4,
            )
            return lambda: None

    def release() -> None:
        # While it is still locked: who waits with the old file open sees that it is gone.
        with suppress(OSError):
            path.unlink()
        lock.release()

    return release
