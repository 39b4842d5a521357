"""Writing files, with errors that name them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from roadworthy.errors import InputError

__all__ = ["make_writable", "write_text", "writing"]


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the system's complaint about a file or folder that is written inside into one that names it.

    Raises:
        InputError: It cannot be written.
    """
    try:
        yield
    except OSError as error:
        told = error.strerror or type(error).__name__
        raise InputError(f"cannot write {path}: {told}; choose another place") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file.

    Raises:
        InputError: It cannot be written.
    """
    with writing(path):
        path.write_text(text, "utf-8")


def make_writable(folder: Path) -> None:
    """Make a folder, and make sure that files can be written into it: better now than after hours of work.

    Raises:
        InputError: They cannot.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".part-probe"
        probe.touch()
        probe.unlink()
