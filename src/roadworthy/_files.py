"""Text and JSON files in, and files out whole or not at all, with errors that name the file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from roadworthy.errors import FrameError, InputError

__all__ = ["naming", "read_json", "read_text", "replacing", "write_text"]


def read_text(path: Path) -> str:
    """Return the text of a file; a byte order mark at its start is left out.

    Raises:
        FrameError: The file is missing or no UTF-8 text.
    """
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise FrameError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FrameError(f"cannot read {path}: it is no UTF-8 text: {error}") from error


def read_json(path: Path) -> Any:
    """Return the document in a JSON file.

    Raises:
        FrameError: The file is missing or no JSON; says where it stops being JSON.
    """
    text = read_text(path)
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise FrameError(f"{path} must be JSON: {error}") from error


@contextmanager
def naming(where: Path | str) -> Iterator[None]:
    """Put a file, or a place in one, in front of the message of an input error that is raised inside.

    Example:
        >>> with naming("label_2/000007.txt"):
        ...     raise FrameError("line 3: expected 15 columns, got 4")
        Traceback (most recent call last):
        ...
        roadworthy.errors.FrameError: label_2/000007.txt: line 3: expected 15 columns, got 4
    """
    try:
        yield
    except InputError as error:
        if str(where) in str(error):
            raise
        raise type(error)(f"{where}: {error}") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a place to write a file, and move what was written there to its path at the end.

    So a file is there whole or not at all, and one that stood there before stays if writing fails. The place
    is in the same folder, has the same ending, and is gone afterwards.

    Raises:
        InputError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing(Path(folder, "note.txt")) as unfinished:
        ...         _ = unfinished.write_text("whole")
        ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
        [('note.txt', 'whole')]
    """
    unfinished = path.with_name(f".part-{os.getpid()}-{path.name}")
    try:
        yield unfinished
        unfinished.replace(path)
    except OSError as error:
        told = error.strerror or str(error) or type(error).__name__
        raise InputError(f"cannot write {path}: {told}; choose another place") from error
    finally:
        unfinished.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    r"""Write a file of text as UTF-8, whole or not at all.

    What UTF-8 cannot hold, such as odd names of files, is written as an escape.

    Raises:
        InputError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_text(Path(folder, "note.txt"), "caf\u00e9 \udcff")
        ...     Path(folder, "note.txt").read_text("utf-8")
        'café \\udcff'
    """
    with replacing(path) as unfinished:
        unfinished.write_bytes(text.encode("utf-8", "backslashreplace"))
