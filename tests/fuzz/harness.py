"""What a fuzz target is, and what counts as a crash.

A target reads one file that may hold anything. It may end in two ways: it has read the file, or it refuses it
with a `RoadworthyError` that names the file. All else is a crash: another exception, a warning, too much
time, too much memory, or a refusal that does not say which file is meant.
"""

from __future__ import annotations

import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Literal

from tests.fuzz.mutating import Mutator, mutated_bytes

from roadworthy.errors import InputError, RoadworthyError

__all__ = ["CORPUS", "Crash", "Outcome", "Target", "attempt", "corpus_of"]

CORPUS = Path(__file__).with_name("corpus")
"""A folder for each target, with seeds that we wrote and what once crashed."""

SECONDS = 5.0
"""The most that reading one small file may take, in seconds of processor time."""
MEMORY = 768 * 2**20
"""The most memory in bytes that reading one small file may add to the highest use so far."""

Outcome = Literal["read", "refused"]
_numbers = count()
_warm: set[str] = set()


@dataclass(frozen=True)
class Target:
    """A reader that is fuzzed.

    Attributes:
        name: What it is called, and the folder of its corpus.
        file: Where the bytes are written, below the folder that `read` gets.
        read: Reads the folder, and does with what was read what its users do first.
        mutate: Changes the bytes of a seed.
        around: The other files of the folder.
        names: What the message of a refusal must hold; the name of the file when left out, nothing at all
            when empty, for what comes in without a file.
        examples: How many mutants each run of the tests tries.
    """

    name: str
    file: str
    read: Callable[[Path], object]
    mutate: Mutator = mutated_bytes
    around: Mapping[str, bytes] = field(default_factory=dict)
    names: str | None = None
    examples: int = 30


class Crash(Exception):  # noqa: N818 - the word of the trade
    """A target ended in another way than it may.

    Args:
        message: What happened.
        signature: The same for two crashes that are probably one mistake.
    """

    def __init__(self, message: str, signature: str) -> None:
        super().__init__(message)
        self.signature = signature


class _TooLong(BaseException):
    """No `except Exception` may take it for something else."""


def corpus_of(target: Target) -> list[Path]:
    """Return the files of a target's corpus, in order."""
    return sorted((CORPUS / target.name).iterdir())


def attempt(target: Target, data: bytes) -> Outcome:
    """Give a target bytes, and return how it ended.

    Raises:
        Crash: It ended in another way than it may.
    """
    _warm_up(target)
    with _folder(target, data) as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            with _limited():
                target.read(folder)
            outcome: Outcome = "read"
        except RoadworthyError as error:
            _check_refusal(target, folder, error)
            outcome = "refused"
        except _TooLong as error:
            raise Crash(f"it took more than {SECONDS:g} s", _signature("hang", error)) from error
        except Exception as error:
            told = "".join(traceback.format_exception_only(error)).strip()
            raise Crash(told, _signature(type(error).__name__, error)) from error
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    if grown > MEMORY:
        raise Crash(f"it took {grown >> 20} MiB for {len(data)} bytes", f"memory:{target.name}")
    return outcome


def _warm_up(target: Target) -> None:
    """Let a target read once without limits: what it imports then takes longer than any file may."""
    if target.name in _warm:
        return
    _warm.add(target.name)
    with _folder(target, corpus_of(target)[-1].read_bytes()) as folder, suppress(Exception):
        target.read(folder)


def _check_refusal(target: Target, folder: Path, error: RoadworthyError) -> None:
    wanted = Path(target.file).name if target.names is None else target.names
    try:
        told = str(error)
    except Exception as another:
        raise Crash("the message of the error cannot be made", _signature("message", another)) from another
    if not isinstance(error, InputError):
        # What a model or a simulator does wrong is told of by their names.
        return
    # Another file of the folder may be at fault, such as an image that the file names and that is not there,
    # or how two of them go together.
    if wanted not in told and str(folder) not in told:
        raise Crash(f"the refusal does not name {wanted}: {told}", _signature("unnamed", error)) from error


@contextmanager
def _folder(target: Target, data: bytes) -> Iterator[Path]:
    """Give a folder of its own: what was read before may be kept by path and time of change."""
    folder = Path(_scratch(), f"{next(_numbers)}")
    try:
        for name, content in {**target.around, target.file: data}.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_kept: list[tempfile.TemporaryDirectory[str]] = []


def _scratch() -> str:
    if not _kept:
        _kept.append(tempfile.TemporaryDirectory(prefix="roadworthy-fuzz-"))
    return _kept[0].name


@contextmanager
def _limited() -> Iterator[None]:
    """Stop what takes too long; processor time is counted, so that a busy machine is no hang."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _signature(kind: str, error: BaseException) -> str:
    """Return the kind and the innermost function of ours that was running."""
    own = Path(sys.modules["roadworthy"].__file__ or "").parent
    frames = [one for one in traceback.extract_tb(error.__traceback__) if own in Path(one.filename).parents]
    if not frames:
        return kind
    # Which line of `errors` or `_files` raised says less than who called it.
    return f"{kind}:{Path(frames[-1].filename).relative_to(own).as_posix()}:{frames[-1].name}"
