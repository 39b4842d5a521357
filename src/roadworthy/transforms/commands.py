"""Running a user's program: without a shell, in a folder of its own, for a limited time."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from roadworthy.errors import InputError, NotApplicable, suggest

__all__ = ["PLACEHOLDERS", "check_words", "filled_in", "placeholders", "run_command"]

PLACEHOLDERS: Mapping[str, str] = {
    "image": "the image to change, a PNG file",
    "labels": "its label map, a PNG file of one channel whose values are the ontology's label ids",
    "output": "where the program writes the changed image, a PNG file",
    "labels_output": "where it may write the changed label map, like labels",
    "operation": "add, remove or replace",
    "element": "what is added, removed or replaced, in the words of the rule without article",
    "by": "what comes in its place",
    "relation": "how it stands to the reference",
    "reference": "where it is added",
    "side": "on which side",
    "distance": "metres from the camera, 0 where it is open",
    "seed": "a number from 0 to 2147483647; the same seed must give the same image",
    "width": "of the image in pixels",
    "height": "of the image in pixels",
    "folder": "the folder of the file that describes the engine",
}
"""What a word of a command may hold in braces."""

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
_LINES = 3  # of what a program complained, shown


def placeholders(word: str) -> list[str]:
    """Return the names in braces in a word of a command.

    Example:
        >>> placeholders("--size={width}x{height}"), placeholders("{{literally}}")
        (['width', 'height'], [])
    """
    return [found[1] for found in _BRACES.finditer(word) if found[1] is not None]


def check_words(words: Sequence[str], where: str) -> None:
    """Refuse names in braces that stand for nothing.

    Raises:
        InputError: There is one; suggests others.
    """
    for word in words:
        for name in placeholders(word):
            if name not in PLACEHOLDERS:
                raise InputError(
                    f"{where}: {{{name}}} stands for nothing: {suggest(name, PLACEHOLDERS)}; "
                    "write {{ and }} for braces"
                )


def filled_in(words: Sequence[str], values: Mapping[str, str], folder: Path) -> list[str]:
    """Return the words of a command with their values; a file beside the description gets its whole path.

    Each value stays in its word, whatever is in it.

    Example:
        >>> filled_in(["blur", "--out={output}"], {"output": "/tmp/a b;c.png"}, Path("."))
        ['blur', '--out=/tmp/a b;c.png']
    """

    def value(found: re.Match[str]) -> str:
        return found[0][0] if found[1] is None else values[found[1]]

    words = [_BRACES.sub(value, word) for word in words]
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
