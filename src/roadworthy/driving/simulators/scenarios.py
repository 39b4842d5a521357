"""Scenarios: the drives that cases ask for, and what is kept of them."""

from __future__ import annotations

import json
import math
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import BROKEN_ZIP, check_zip, file_name, parse_json, replacing
from roadworthy._frozen import FrozenDict
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.drive import failing_sectors
from roadworthy.driving.drives.readers import read_typed, write_drive
from roadworthy.driving.drives.readers.logs import REST, is_log
from roadworthy.driving.simulators.loop import (
    DriveLimits,
    DriveRecorder,
    ScenarioChange,
    Situation,
    drive,
    open_simulator,
)
from roadworthy.errors import InputError, SimulatorError, SystemUnderTestError
from roadworthy.frames import Frame
from roadworthy.images import decode_image, encode_image
from roadworthy.models import SystemUnderTest

DRIVES = "drives"
"""The folder of a run that its drives are kept in."""

Kept = Literal["none", "failing", "all"]
"""Of which drives the frames are kept; a crash, a collision or a line crossing makes one a failing drive."""

WHOLE_DRIVE = "whole drive"
"""Instead of the name of a sector: all that is driven, in whichever sectors, is judged as one case."""

_LOG = "log:"
_TIMES, _FRAME = "times.json", "{:06d}.jpg"
_EVERY = 5.0  # seconds


class CameraFrames:
    """The frames of a drive, each as a JPEG.

    Example:
        >>> frames = CameraFrames()
        >>> frames.add(Frame("a", np.zeros((16, 32, 3), np.uint8)), time=0.0)
        >>> len(frames)
        1
    """

    def __init__(self) -> None:
        self._frames: list[bytes] = []
        self._times: list[float] = []
        self._where = ""  # the file that they come from, for messages

    def __len__(self) -> int:
        """Return how many frames are kept."""
        return len(self._frames)

    def add(self, frame: Frame, time: float) -> None:
        """Keep a frame; one that is not later than the last is left out, as in the recorded drive."""
        if self._times and not time > self._times[-1]:
            return
        self._frames.append(encode_image(frame.image, ".jpg"))
        self._times.append(time)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the frames as they are, a JPEG for each, into a ZIP file that `read` opens.

        Raises:
            InputError: The file cannot be written.
        """
        with replacing(Path(path)) as unfinished, zipfile.ZipFile(unfinished, "w") as archive:
            # An entry made from its name alone says nothing about when it was written.
            archive.writestr(zipfile.ZipInfo(_TIMES), json.dumps(self._times))
            for number, data in enumerate(self._frames):
                archive.writestr(zipfile.ZipInfo(_FRAME.format(number)), data)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Return the frames that `save` wrote.

        Raises:
            InputError: The file is missing, or is no such file.
        """
        film = cls()
        try:
            check_zip(Path(path))
            with zipfile.ZipFile(path) as archive:
                film._times = [float(one) for one in parse_json(archive.read(_TIMES))]
                film._frames = [archive.read(_FRAME.format(number)) for number in range(len(film._times))]
        except FileNotFoundError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        except (KeyError, TypeError, OverflowError, *BROKEN_ZIP) as error:
            raise InputError(
                f"{path}: expected the frames of a drive, as --frames keeps them: {error}"
            ) from error
        if not all(map(math.isfinite, film._times)) or any(
            not before < after for before, after in pairwise(film._times)
        ):
            raise InputError(f"{path}: the times in {_TIMES} must grow: record the drive again with --frames")
        film._where = f"{path}: "
        return film

    def image_at(self, time: float) -> NDArray[np.uint8]:
        """Return what was seen nearest to a time in seconds."""
        return self._image(int(np.argmin(np.abs(np.array(self._times) - time))))

    def _image(self, row: int) -> NDArray[np.uint8]:
        return decode_image(self._frames[row], f"{self._where}{_FRAME.format(row)}")


@dataclass(frozen=True)
class Scenario:
    """A drive to be asked for in a case: which simulator with which options, and when it ends.

    Attributes:
        simulator: Its name, or name:path, such as ``"world:town"``.
        options: Its options.
        limits: When the drive ends.
        frames: Whether what the camera saw is kept with the drive.
        sectors: The sectors of a recorded drive, which are known beforehand, each with the drive of the log
            that it is of, empty where there is only one.
    """

    simulator: str
    options: Mapping[str, object] = field(default_factory=dict)
    limits: DriveLimits = field(default_factory=DriveLimits)
    frames: Kept = "none"
    sectors: Mapping[str, str] = field(default_factory=dict)

    @property
    def log(self) -> str:
        """The recorded drive that stands for one in a simulator; empty where there is none.

        Example:
            >>> Scenario("log:comma2k19:Chunk_3").log, Scenario("world:town").log
            ('comma2k19:Chunk_3', '')
        """
        return self.simulator[len(_LOG) :] if self.simulator.startswith(_LOG) else ""

    def with_sectors(self) -> Scenario:
        """Return the scenario of a log with its sectors: pieces of drives, drives, or all of one.

        Raises:
            InputError: The log cannot be read, or no drive of it is as long as a piece.
        """
        names = read_typed(self.log, self.options).sector_names
        pieces = bool({"cut_seconds", "cut_metres"} & self.options.keys())
        known = {
            name: (name.rpartition(" ")[0] if pieces else name) if is_log(self.log) else ""
            for name in names
            if not (pieces and name.rpartition(" ")[2] == REST)
        }
        if not known:
            raise InputError(f"{self.log}: no drive is as long as a piece: cut it shorter")
        return replace(self, sectors=FrozenDict({WHOLE_DRIVE: ""} if len(names) == 1 else known))

    @property
    def key(self) -> tuple[str, int]:
        """What a kept drive is called: the requirement, and the number of the scenario in it."""
        return "drive", 1

    @property
    def track(self) -> str:
        """Where it is driven, as far as that is said; simulators call it track or scene.

        Example:
            >>> Scenario("world:town").track, Scenario("donkey:localhost", {"scene": "warehouse"}).track
            ('town', 'warehouse')
        """
        name, _, place = self.simulator.partition(":")
        if name == "world":
            return place or "meadow"
        return str(self.options.get("track", self.options.get("scene", "")))


@dataclass(frozen=True, kw_only=True)
class CaseScenario(Scenario):
    """A scenario of a requirement's case.

    Attributes:
        requirement: The requirement's id.
        number: The number of the drive in it.
        change: What changes on the way.
    """

    requirement: str
    number: int
    change: ScenarioChange | None = None

    @property
    def key(self) -> tuple[str, int]:
        """What a kept drive is called."""
        return self.requirement, self.number


def kept_drive(folder: Path, requirement: str, system: str, number: int = 1) -> tuple[Path, Path]:
    """Return where a drive of a run is kept, and the frames of it.

    Example:
        >>> [one.as_posix() for one in kept_drive(Path("run"), "R1", "onnx:mine.onnx")]
        ['run/drives/r1-onnx-mine.onnx-1.parquet', 'run/drives/r1-onnx-mine.onnx-1.frames.zip']
    """
    name = f"{file_name(requirement)}-{file_name(system)}-{number}"
    return folder / DRIVES / f"{name}.parquet", folder / DRIVES / f"{name}.frames.zip"


@dataclass(frozen=True)
class ScenarioDriver:
    """Answers cases that ask for a drive through a `Scenario`; give it to a runner as its simulator.

    Attributes:
        keep: The folder of a run in which drives are kept, also those that end in a failure; None keeps none.

    Example:
        >>> from roadworthy.models import Truth
        >>> scenario = Scenario("world:meadow", {"traffic": 0}, DriveLimits(seconds=0.2))
        >>> ScenarioDriver().drive(scenario, Truth()).ended
        'time over'
    """

    keep: Path | None = None

    def drive(self, scenario: object, system: SystemUnderTest, /) -> Drive:
        """Open the simulator, let the system drive and close it again; or read what was recorded.

        Raises:
            InputError: It is no scenario, or the simulator cannot be opened.
            SystemUnderTestError: The system failed.
            SimulatorError: The simulator failed.
        """
        if not isinstance(scenario, Scenario):
            raise InputError(f"expected a Scenario to drive through, got {type(scenario).__name__}")
        if scenario.log:
            recorded = read_typed(scenario.log, scenario.options)
            if self.keep is not None:
                file, _ = kept_drive(self.keep, scenario.key[0], system.name, scenario.key[1])
                file.parent.mkdir(parents=True, exist_ok=True)
                write_drive(recorded, file)
            return recorded
        simulator = open_simulator(scenario.simulator, **scenario.options)
        change = getattr(scenario, "change", None)
        driven_so = partial(drive, system, simulator, limits=scenario.limits, change=change)
        try:
            if self.keep is None:
                return driven_so(recorder=DriveRecorder(system.name, scenario.track))
            keeper = _Keeper(self.keep, scenario, system.name)
            try:
                driven = driven_so(recorder=keeper.recorder, watch=keeper.watch)
            except BaseException as error:
                keeper.write(_failure(error), simulator.notes)
                raise
            keeper.finish(driven)
            return driven
        finally:
            simulator.close()


class _Keeper:
    """Writes a drive, now and then while it lasts: whoever hangs is killed, and writes nothing then."""

    def __init__(self, folder: Path, scenario: Scenario, system: str) -> None:
        self.recorder = DriveRecorder(system, scenario.track)
        requirement, number = scenario.key
        self._path, self._frames_path = kept_drive(folder, requirement, system, number)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._wanted = scenario.frames
        self._frames = CameraFrames()
        self._written = -math.inf

    def watch(self, situation: Situation) -> None:
        if self._wanted != "none":
            self._frames.add(situation.frame, situation.time)
        if time.monotonic() - self._written > _EVERY:
            self.write("the drive was cut off")
            self._written = time.monotonic()

    def write(self, ended: str, notes: tuple[str, ...] = ()) -> None:
        if len(self.recorder):
            write_drive(self.recorder.finished(ended, notes), self._path)

    def finish(self, driven: Drive) -> None:
        write_drive(driven, self._path)
        if self._wanted == "all" or (self._wanted == "failing" and failing_sectors(driven)):
            self._frames.save(self._frames_path)


def _failure(error: BaseException) -> str:
    """Return why a drive ended that was not driven to its end."""
    if isinstance(error, KeyboardInterrupt):
        return "the drive was interrupted"
    if isinstance(error, SystemUnderTestError):
        return f"the model failed: {error}"
    what = "the simulator failed" if isinstance(error, SimulatorError) else type(error).__name__
    return f"{what}: {error}" if str(error) else what
