"""Text and JSON files in, with errors that name the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from roadworthy.errors import FrameError, InputError

__all__ = ["naming", "read_json", "read_text"]


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
