"""Methods, systems and data for tests of executors: at module level, so that they travel to workers."""

from __future__ import annotations

import ctypes
import hashlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from roadworthy.cases import (
    Answers,
    AwaitVerdicts,
    BaseMethod,
    Case,
    Dataset,
    FrameSource,
    FramewiseMethod,
    Predict,
    Requirement,
    Verdict,
)
from roadworthy.frames import Frame, Signals
from roadworthy.seeding import rng_for

REQUIREMENT = Requirement("R1", "It is bright enough", "bright")


def frame_of(number: int, size: tuple[int, int] = (8, 12)) -> Frame:
    rng = np.random.default_rng(number)
    return Frame(f"f{number}", rng.integers(0, 256, (*size, 3), dtype=np.uint8))


class Frames:
    """So many frames; reading one is cheap."""

    name = "frames"

    def __init__(self, length: int, size: tuple[int, int] = (8, 12)) -> None:
        self.length = length
        self.size = size

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int, /) -> Frame:
        return frame_of(index, self.size)

    def __iter__(self) -> Iterator[Frame]:
        return (self[index] for index in range(self.length))


class NamedFrames(Frames):
    """Frames that have ids before they are read, in drives of ten."""

    @property
    def ids(self) -> list[str]:
        return [f"f{number}" for number in range(self.length)]

    @property
    def clusters(self) -> list[str]:
        return [f"drive {number // 10}" for number in range(self.length)]


@dataclass(frozen=True)
class Source:
    """A frame of a data set that is read in the worker."""

    data: Dataset
    number: int

    def __call__(self) -> Frame:
        return self.data[self.number]


class Bright(BaseMethod):
    """One case per frame, which the worker reads, or which comes along."""

    name = "bright"

    def __init__(self, *, inline: bool = False) -> None:
        self.inline = inline

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        for number in range(len(data)):
            source = data[number] if self.inline else Source(data, number)
            yield Case(f"c{number}", requirement.id, (Predict((source,)),), {"draw": float(rng.random())})

    def judge(self, case: Case, answers: Answers) -> Verdict:
        (speed,) = answers.predicted().signal("speed")
        return Verdict.from_margin(case, speed - 127.0, measures={"speed": speed})


class Framewise(FramewiseMethod):
    """One case for each frame, or two, which workers can make."""

    name = "bright"
    judge = Bright.judge

    def frame_cases(
        self, requirement: Requirement, id: str, original: FrameSource, key: int
    ) -> Iterator[Case]:
        rng = rng_for(key, id)
        for number in range(int(rng.integers(1, 3))):
            draw = {"draw": float(rng.random())}
            yield Case(f"{id}#{number}", requirement.id, (Predict((original,)),), draw)


class Meter:
    """Answers with the mean of the image; frames named in `guilty` have a fault instead, as the file says.

    A fault is counted in a folder, a file for each time, so that a test can see how often it was met.
    """

    def __init__(
        self, name: str = "meter", fault: str = "", guilty: Sequence[str] = (), folder: Path | None = None
    ) -> None:
        self.name = name
        self.fault = fault
        self.guilty = tuple(guilty)
        self.folder = folder
        self.hoard: list[bytes] = []

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        for frame in frames:
            if frame.id in self.guilty:
                self._fail()
        return [Signals(speed=float(np.mean(frame.image))) for frame in frames]

    def _fail(self) -> None:
        if self.folder is not None:
            (self.folder / f"{time.monotonic_ns()}").touch()
        if self.fault == "hangs":
            time.sleep(3600)
        elif self.fault == "exits":
            os._exit(3)
        elif self.fault == "crashes":
            ctypes.string_at(0)  # where no memory is
        elif self.fault == "explodes":
            while True:
                self.hoard.append(b"\1" * 2**24)
                time.sleep(0.002)
        elif self.fault == "raises":
            raise ZeroDivisionError("no horizon")


class UnspeakableError(Exception):
    """Has no message."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Misbehaving(Meter):
    """Does on guilty frames what no model should do."""

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        answers: list[Any] = [Signals(speed=float(np.mean(frame.image))) for frame in frames]
        guilty = next((frame for frame in frames if frame.id in self.guilty), None)
        if guilty is None:
            return answers
        if self.fault == "leaves":
            sys.exit(0)
        if self.fault == "closes":
            raise GeneratorExit
        if self.fault == "starves":
            raise MemoryError("Unable to allocate 2.4 GiB")
        if self.fault == "interrupts":
            raise KeyboardInterrupt
        if self.fault == "stammers":
            raise UnspeakableError
        if self.fault == "forks":
            if not (child := os.fork()):
                sys.exit(0)
            os.waitpid(child, 0)
        if self.fault == "ends":
            os._exit(0)
        if self.fault == "shuts":
            os.closerange(0, 4096)
        if self.fault == "scribbles":
            for number in range(3, 64):
                with suppress(OSError):
                    os.write(number, b"WARN")  # for who reads it, the length of what follows
            time.sleep(3600)
        if self.fault == "ignores":
            with suppress(ValueError):  # in a thread, as on Ray, where nobody sees to signals
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(3600)
        if self.fault == "kills":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "miscounts":
            return answers[:-1]
        if self.fault == "babbles":
            return ["straight on" for _ in answers]  # type: ignore[misc]
        if self.fault == "writes":
            guilty.image.setflags(write=True)
            guilty.image[:] = 0
        self._fail()
        return answers


class Slow(Meter):
    """Takes its time."""

    def __init__(self, name: str, seconds: float = 0.005) -> None:
        super().__init__(name)
        self.seconds = seconds

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        time.sleep(self.seconds * len(frames))
        return super().predict(frames)


class Leaking(Meter):
    """Keeps something of every frame, for good."""

    def __init__(self) -> None:
        super().__init__("leaking")

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        self.hoard.extend(b"\1" * (2**23 + number) for number in range(len(frames)))
        return super().predict(frames)


class Hostile(Meter):
    """Ends the process of who opens it."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        os._exit(1)


def sleep() -> None:
    time.sleep(3600)


class Parent(Meter):
    """Starts a process of its own, which may leave its group and its parent, and notes its id."""

    def __init__(self, folder: Path, *, leaves: bool, ends: bool, hangs: bool = False) -> None:
        super().__init__("parent", folder=folder)
        self.leaves, self.ends, self.hangs = leaves, ends, hangs

    def _stay(self) -> None:
        if self.leaves:
            os.setsid()
            if os.fork():
                os._exit(0)
        assert self.folder is not None
        (self.folder / str(os.getpid())).touch()
        sleep()

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        assert self.folder is not None
        known = len(list(self.folder.iterdir()))
        get_context("fork").Process(target=self._stay).start()
        while len(list(self.folder.iterdir())) == known:
            time.sleep(0.01)
        if self.ends:
            os._exit(0)
        if self.hangs:
            sleep()
        return super().predict(frames)


@dataclass(frozen=True)
class Trap:
    """A frame that cannot be made without a fault."""

    fault: str

    def __call__(self) -> Frame:
        Meter(fault=self.fault)._fail()
        raise AssertionError


class Stubborn(Bright):
    """One of its frames is a trap."""

    def __init__(self, fault: str, number: int) -> None:
        super().__init__()
        self.fault = fault
        self.number = number

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        for number in range(len(data)):
            source = Trap(self.fault) if number == self.number else Source(data, number)
            yield Case(f"c{number}", requirement.id, (Predict((source,)),))


def frame_at(data: Dataset, number: int) -> Frame:
    return data[number]


class Told(Bright):
    """Says what the worker has."""

    def judge(self, case: Case, answers: Answers) -> Verdict:
        (speed,) = answers.predicted().signal("speed")
        (frame,) = answers.predicted().frames
        return Verdict.from_margin(
            case,
            speed,
            measures={
                "pid": os.getpid(),
                "threads": cv2.getNumThreads(),
                "omp": os.environ.get("OMP_NUM_THREADS", ""),
                "network": os.environ.get("ROADWORTHY_THREADS", ""),
                "writable": bool(frame.image.flags.writeable),
            },
        )


class Counted:
    """Counts how often it was opened in this process."""

    name = "counted"
    opened = 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        Counted.opened += 1

    def __getstate__(self) -> dict[str, Any]:
        return {"something": "so that it is called"}

    def predict(self, frames: Any, /) -> list[Signals]:
        return [Signals(speed=float(Counted.opened)) for _ in frames]


class Late(Bright):
    """A bug in the method, in the worker."""

    def judge(self, case: Case, answers: Answers) -> Verdict:
        if case.id == "c9":
            raise KeyError("a bug in the method")
        return super().judge(case, answers)


class Lambdas(Bright):
    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        yield Case("c0", requirement.id, (Predict((lambda: data[0],)),))


class Unloadable:
    name = "unloadable"

    def __reduce__(self) -> Any:
        return (open, ("/nowhere/net.bin",))

    def predict(self, frames: Any, /) -> list[Signals]:
        raise AssertionError


class Shared(Bright):
    """Ten cases about each frame, by sources that are only the same object: they are made once."""

    def cases(
        self, requirement: Requirement, data: Dataset, rng: np.random.Generator
    ) -> Iterator[Case | AwaitVerdicts]:
        for number in range(len(data)):
            source = partial(frame_at, data, number)
            for part in range(10):
                yield Case(f"{number}/{part}", requirement.id, (Predict((source,)),))


class Sizes(Meter):
    """Answers with the size of its batch."""

    def predict(self, frames: Any, /) -> list[Signals]:
        return [Signals(speed=float(len(frames))) for _ in frames]


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
