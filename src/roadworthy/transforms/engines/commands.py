"""Programs and Python functions as engines: no shell, a folder of their own, a limited time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from roadworthy._importing import imported
from roadworthy.errors import FrameError, InputError, NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.images import read_ids, read_image, read_pixels, write_image
from roadworthy.transforms.engines.backend import (
    WORDS,
    Backend,
    EngineResult,
    EngineTask,
    filled,
    placeholders,
)
from roadworthy.transforms.engines.pictures import labels_png, mask_png
from roadworthy.transforms.operations import Operation

PLACEHOLDERS: Mapping[str, str] = {
    "image": "the image to change, a PNG file",
    "labels": "its label map, a PNG file of one channel whose values are the ontology's label ids",
    "mask": "what may change, a PNG file of one channel: 255 where it may, 0 elsewhere",
    "output": "where the program writes the changed image, a PNG file",
    "labels_output": "where it may write the changed label map, like labels",
    **WORDS,
    "folder": "the folder of the file that describes the engine",
}
"""What a word of a command may hold in braces."""

TIMEOUT = 60.0
"""Seconds that a program or a service may take when nothing is said."""

_FILES = ("image", "labels", "mask", "output", "labels_output")
_LINES = 3  # of what a program complained, shown


@dataclass(frozen=True)
class ProgramBackend(Backend):
    """A program that reads an image and writes another.

    Attributes:
        name: What the engine is called, for messages.
        command: The program and its arguments, with words in braces.
        timeout: Seconds that it may take.
        folder: Where the files lie that it names.
    """

    name: str
    command: tuple[str, ...]
    timeout: float = TIMEOUT
    folder: Path = field(default_factory=Path)

    does: ClassVar[str] = "runs a command"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that lie beside the description and are named in the command."""
        return tuple(self.folder / word for word in self.command if _is_file(self.folder, word))

    @property
    def _wanted(self) -> set[str]:
        return {name for word in self.command for name in placeholders(word)}

    def needs(self, operation: Operation) -> tuple[str, ...]:
        return ("labels",) if "labels" in self._wanted else ()

    def made(self, task: EngineTask) -> EngineResult:
        # What the program leaves there may be beyond our rights to delete.
        with tempfile.TemporaryDirectory(prefix="roadworthy-engine-", ignore_cleanup_errors=True) as name:
            folder = Path(name).resolve()
            files = {one: folder / f"{one}.png" for one in _FILES}
            write_image(files["image"], task.frame.image)
            if "labels" in self._wanted:
                assert task.frame.labels is not None
                files["labels"].write_bytes(labels_png(task.frame.labels))
            if "mask" in self._wanted:
                files["mask"].write_bytes(mask_png(task.mask))
            values = {
                **task.words,
                **{one: str(path) for one, path in files.items()},
                "folder": str(self.folder.resolve()),
            }
            run_command(self.name, filled_in(self.command, values, self.folder), folder, self.timeout)
            image = self._read_image(files["output"])
            labels = None
            if task.written or files["labels_output"].exists():
                labels = self._read_labels(files["labels_output"])
        return EngineResult(image, labels)

    def _read_image(self, path: Path) -> NDArray[np.uint8]:
        if not path.exists():
            raise NotApplicable(f"engine {self.name!r} wrote no image")
        try:
            image = read_image(path)
            # Reading makes 8 bits of 16, and a program that writes 16 means something else by them.
            depth = read_pixels(path).dtype
        except FrameError as error:
            reason = str(error).partition(f"{path}: ")[2] or "it is no image"
            raise NotApplicable(
                f"engine {self.name!r} wrote an image that cannot be read: {reason}"
            ) from error
        if depth != np.uint8:
            raise NotApplicable(f"engine {self.name!r} wrote an image that has not 8 bits a channel")
        return image

    def _read_labels(self, path: Path) -> LabelMap:
        if not path.exists():
            raise NotApplicable(f"engine {self.name!r} wrote no label map")
        try:
            return LabelMap(read_ids(path))
        except FrameError as error:
            reason = str(error).replace(str(path), "it")
            raise NotApplicable(
                f"engine {self.name!r} wrote a label map that cannot be used: {reason}"
            ) from error


def filled_in(words: Sequence[str], values: Mapping[str, str], folder: Path) -> list[str]:
    """Return the words of a command with their values; a file beside the description gets its whole path.

    Each value stays in its word, whatever is in it.

    Example:
        >>> filled_in(["blur", "--out={output}"], {"output": "/tmp/a b;c.png"}, Path("."))
        ['blur', '--out=/tmp/a b;c.png']
    """
    words = [filled(word, values) for word in words]
    return [str((folder / word).resolve()) if _is_file(folder, word) else word for word in words]


def _is_file(folder: Path, word: str) -> bool:
    with suppress(OSError, ValueError):
        return not Path(word).is_absolute() and (folder / word).is_file()
    return False


def run_command(name: str, command: Sequence[str], folder: Path, timeout: float) -> None:
    """Run a program and wait for it.

    It gets no input and runs in `folder`. When it ends, or when its time is over, all processes that it
    started in its group are ended.

    Args:
        name: What the engine is called, for messages.
        command: The program and its arguments.
        folder: Where it runs; what it writes to stdout and stderr goes there as well.
        timeout: Seconds that it may take.

    Raises:
        NotApplicable: It cannot be started, fails or takes too long.
    """
    complaints = folder / "stderr.txt"
    with (folder / "stdout.txt").open("wb") as stdout, complaints.open("wb") as stderr:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                # Its own session: all that it starts can be ended together, and Ctrl-C reaches only us.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise NotApplicable(f"engine {name!r}: cannot start {command[0]!r}: {reason}") from error
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise NotApplicable(f"engine {name!r} did not end within {timeout:g} s") from None
        finally:
            _end(process)
    if status:
        how = f"exit status {status}" if status > 0 else f"signal {_signal_name(-status)}"
        told = _last_lines(complaints, folder)
        raise NotApplicable(f"engine {name!r} failed with {how}" + (f": {told}" if told else ""))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started."""
    if sys.platform == "win32":
        process.kill()
    else:
        # The group outlives its first process as long as any other is in it.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _last_lines(path: Path, folder: Path) -> str:
    """Return what a program complained about last, without its folder, which is another each time."""
    try:
        data = path.read_bytes()[-4000:]
    except OSError:  # it is the program's folder, and the program may have emptied it
        return ""
    text = data.decode("utf-8", "replace").replace(str(folder), "…")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(lines[-_LINES:])


EntryPoint = Callable[[Frame, Operation, np.random.Generator], Frame | NDArray[np.uint8]]


@dataclass(frozen=True)
class EngineFunction(Backend):
    """A function that gets a frame, the operation and a random generator, and returns a frame or an image.

    Attributes:
        name: What the engine is called, for messages.
        entry: ``package.module:function`` or ``file.py:function``.
        folder: Where the file lies that it names.
        where: Where it is described, for messages.
    """

    name: str
    entry: str
    folder: Path = field(default_factory=Path)
    where: str = ""

    does: ClassVar[str] = "calls your code"

    @property
    def _file(self) -> Path | None:
        where, colon, _ = self.entry.rpartition(":")
        return self.folder / where if colon and where.endswith(".py") else None

    @property
    def files(self) -> tuple[Path, ...]:
        """The file that the function is in, if it is named."""
        return () if self._file is None else (self._file,)

    def check(self, operation: Operation) -> None:
        self.entry_point()

    def entry_point(self) -> EntryPoint:
        """Return the function.

        Raises:
            InputError: There is none.
        """
        name = self.entry.rpartition(":")[2]
        try:
            found: EntryPoint = imported(
                self.entry if self._file is None else f"{self._file}:{name}", "", "function"
            )
        except InputError as error:
            raise InputError(f"{self.where}: engine {self.name!r}: {error}") from error
        if not callable(found):
            raise InputError(
                f"{self.where}: engine {self.name!r}: {self.entry} must be a function, got {found!r}"
            )
        return found

    def made(self, task: EngineTask) -> EngineResult:
        try:
            found = self.entry_point()(task.frame, task.operation, task.rng)
        except NotApplicable:
            raise
        except (Exception, SystemExit) as error:
            # A script that was made a function may still call sys.exit, which must not end a run as passed.
            raise NotApplicable(f"engine {self.name!r} raised {type(error).__name__}: {error}") from error
        if isinstance(found, Frame):
            return EngineResult(found.image, found.labels, found)
        return EngineResult(found)
