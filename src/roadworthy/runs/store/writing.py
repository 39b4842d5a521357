"""Files that are on disk whole or not at all, and images named by their content."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from roadworthy._files import FULL
from roadworthy.cases import Scalar
from roadworthy.errors import InputError
from roadworthy.images import encode_image

UNFINISHED = ".part-"
"""How the names of files begin that are not whole yet."""


@contextmanager
def storing(folder: Path) -> Iterator[None]:
    """Turn what the disk refuses into an error that says what to do.

    Raises:
        InputError: Something could not be written below the folder.

    Example:
        >>> with storing(Path("runs/night")):
        ...     raise OSError(errno.ENOSPC, "No space left on device")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: cannot write the run to runs/night: No space left on device; what was \
stored before is whole: make room and run again
    """
    try:
        yield
    except OSError as error:
        told = error.strerror or str(error) or type(error).__name__
        if error.errno in FULL:
            told += "; what was stored before is whole: make room and run again"
        elif error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            told += "; choose a folder that may be written to"
        raise InputError(f"cannot write the run to {folder}: {told}") from error


def write_whole(
    path: Path, content: bytes, *, wait_for_disk: bool = True, unfinished_in: Path | None = None
) -> None:
    """Write a file under another name and move it into place.

    Args:
        path: Where it shall be.
        content: What is in it.
        wait_for_disk: Whether it shall be there after a power cut as well.
        unfinished_in: The folder in which it is written, of the same disk; that of the path when left out.
    """
    unfinished = (unfinished_in or path.parent) / f"{UNFINISHED}{uuid4().hex}"
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            if wait_for_disk:
                # Without this a power cut could leave the new name with no content.
                file.flush()
                os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def append_at(path: Path, size: int, content: bytes, *, wait_for_disk: bool) -> None:
    """Add to a file, after so many bytes of it that are good; if that fails it has these and no more.

    Args:
        path: The file; it is made if it does not exist.
        size: How many bytes are good: what comes after them was torn in an earlier life.
        content: What to add.
        wait_for_disk: Whether it shall be there after a power cut as well.
    """
    # Where files of text differ from others, this is one of the others.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        os.ftruncate(handle, size)
        os.lseek(handle, size, os.SEEK_SET)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(handle, rest) :]
            if wait_for_disk:
                os.fsync(handle)
        except OSError:
            os.ftruncate(handle, size)
            raise
    finally:
        os.close(handle)


def clear_unfinished(folder: Path) -> None:
    """Delete what a killed process left half written in a folder."""
    for path in folder.glob(f"{UNFINISHED}*"):
        path.unlink(missing_ok=True)


_PNG = b"\x89PNG\r\n\x1a\n"


def image_path(images: Path, digest: str) -> Path:
    """Return where an image is stored, in the folder for images, by the SHA-256 that rows name it by."""
    return images / digest[:2] / f"{digest}.png"


def clip_images(row: Mapping[str, Scalar]) -> list[list[str]]:
    """Return the images of a row by the frames of its clip, each original before its follow-ups.

    A case that is no clip has one frame.

    Example:
        >>> clip_images({"images": "a b c d", "param.change.1": "rain", "param.clip": 1.5})
        [['a', 'b'], ['c', 'd']]
    """
    images = str(row.get("images") or "").split()
    if row.get("param.clip") is None:
        return [images]
    each = 1 + sum(name.startswith("param.change.") and row[name] is not None for name in row)
    return [images[place : place + each] for place in range(0, len(images), each)]


def shown_images(row: Mapping[str, Scalar]) -> list[str]:
    """Return the images by which a case is shown: of a clip, where it decides, or its first ones."""
    by_frame, decides = clip_images(row), row.get("measure.decides")
    return by_frame[int(str(decides or 0))] if by_frame else []


def add_image(images: Path, image: npt.NDArray[np.uint8] | bytes) -> str:
    """Store an image as PNG, once, and return the SHA-256 of the file, which is its name.

    Several processes may do so at once, for the same image too.

    Args:
        images: The folder for images.
        image: RGB, height × width × 3, uint8; or a PNG file.

    Raises:
        InputError: The image is neither.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     digest = add_image(Path(folder), np.zeros((2, 3, 3), np.uint8))
        ...     content = image_path(Path(folder), digest).read_bytes()
        ...     add_image(Path(folder), content) == digest
        True
    """
    content = image if isinstance(image, bytes) else encode_image(image, ".png")
    if not content.startswith(_PNG):
        raise InputError(f"an image that comes as bytes must be a PNG file, got {content[:8]!r}…")
    digest = hashlib.sha256(content).hexdigest()
    place = image_path(images, digest)
    if not _is_whole(place, len(content)):
        place.parent.mkdir(parents=True, exist_ok=True)
        # Not waiting for the disk, which would take most of the time of a run: what a power cut spoils is
        # of another size and written again.
        write_whole(place, content, wait_for_disk=False, unfinished_in=images)
    return digest


def _is_whole(place: Path, size: int) -> bool:
    try:
        return place.stat().st_size == size
    except FileNotFoundError:
        return False
