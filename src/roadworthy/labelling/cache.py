"""What networks said about images, kept on disk by content, so that nothing is asked twice."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame
from roadworthy.images import Image
from roadworthy.places import cache_home

FOLDER = "ROADWORTHY_CACHE"
"""The variable that names the folder of the cache; "off" keeps nothing."""

_MOST = 2 * 2**30  # bytes
_CHECKED = 256  # files that are written between two looks at how much there is
Arrays = Mapping[str, NDArray[Any]]

_written = 0


def cached(
    identity: str, frames: Sequence[Frame], ask: Callable[[Sequence[Frame]], Sequence[Arrays]]
) -> list[Arrays]:
    """Return what somebody says about the images of frames; only about those that are new is anybody asked.

    Several processes may use the cache at a time: files are written under other names and moved into place,
    and one that is broken or gone counts as new. Beyond 2 GB, those that were not used for longest go.

    Args:
        identity: Who is asked and how, by content.
        frames: The frames.
        ask: Returns arrays for some frames.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     os.environ[FOLDER] = folder
        ...     asked = []
        ...     mean = lambda frames: [asked.append(1) or {"mean": one.image.mean()} for one in frames]
        ...     frame = Frame("a", np.full((2, 2, 3), 7, np.uint8))
        ...     twice = [cached("mean", [frame], mean)[0]["mean"].item() for _ in range(2)]
        >>> twice, len(asked)
        ([7.0, 7.0], 1)
    """
    folder = _folder()
    if folder is None:
        return list(ask(frames))
    names = [_key(identity, one.image) for one in frames]
    files = [folder / name[:2] / f"{name[2:]}.npz" for name in names]
    found = [_read(file) for file in files]
    new = [number for number, one in enumerate(found) if one is None]
    if new:
        for number, said in zip(new, ask([frames[one] for one in new]), strict=True):
            found[number] = said
            _write(files[number], said, folder)
    return [one for one in found if one is not None]


def _folder() -> Path | None:
    return None if os.environ.get(FOLDER, "").lower() == "off" else cache_home() / "labels"


def _key(identity: str, image: Image) -> str:
    digest = sha256(f"{identity} {image.shape}".encode())
    digest.update(np.ascontiguousarray(image).data)
    return digest.hexdigest()


def _read(file: Path) -> Arrays | None:
    try:
        with np.load(BytesIO(file.read_bytes()), allow_pickle=False) as stored:
            arrays = dict(stored.items())
        os.utime(file)
    except Exception:
        # Whatever is wrong with it, what it held can be made again.
        return None
    return arrays


def _write(file: Path, arrays: Arrays, folder: Path) -> None:
    global _written
    # A disk that is full or cannot be written costs time, and no answers.
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_name(f".{uuid4().hex}")
        try:
            with unfinished.open("wb") as out:
                np.savez_compressed(out, **arrays)  # type: ignore[arg-type]  # it takes no flags here
            unfinished.replace(file)
        finally:
            unfinished.unlink(missing_ok=True)
        if _written % _CHECKED == 0:
            _trim(folder)
        _written += 1


def _trim(folder: Path) -> None:
    """Delete what was not used for longest where there is too much."""
    known = []
    for file in folder.glob("*/*.npz"):
        with suppress(OSError):
            told = file.stat()
            known.append((told.st_mtime, told.st_size, file))
    total = sum(size for _, size, _ in known)
    for _, size, file in sorted(known):
        if total <= _MOST:
            return
        with suppress(OSError):
            file.unlink()
        total -= size
