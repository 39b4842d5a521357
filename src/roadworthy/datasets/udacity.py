"""Recordings of Udacity: challenge 2's real drive, and the driving log of the simulator."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path, PureWindowsPath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import is_file, is_folder, naming
from roadworthy._tables import Table, csv_file, read_rows
from roadworthy.datasets._base import OnError, RecordedDataset, by_stem, drives_by_time, file_names, stem_of
from roadworthy.errors import FrameError, InputError, UnknownNameError, suggest
from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.images import read_image
from roadworthy.registry import datasets

Camera = Literal["center", "left", "right"]

_ANGLES = ("steering_angle_rad", "steering_angle", "angle")
_FURTHER = ("torque", "lat", "long", "alt")
_TIME = re.compile(r"[0-9]{1,19}")  # nanoseconds since 1970
_SPLITS = {1.0: "public", 0.0: "private"}
_NO_PREDICTIONS = frozenset(
    {*_ANGLES, *_FURTHER}
    | {"", "index", "timestamp", "width", "height", "frame_id", "filename", "speed", "public_split"}
)


@datasets.register("udacity-ch2", summary="Udacity challenge 2: a real drive with its steering")
class UdacityCh2Dataset(RecordedDataset):
    """Frames of a real drive. The time is in the names of the frames, in nanoseconds.

    Args:
        path: The CSV file, or the folder in which it lies; the images are in a folder beside it called
            frames, images or like the camera.
        camera: Which camera, where the file has several.
        steering_ratio: Degrees of the steering wheel for one degree at the wheels. The data set does not give
            it; 14.4 is what the RMT paper takes for it.
        on_error: What iteration does with a frame that cannot be read; see `BaseDataset`.

    Attributes:
        units: The units of the file. ``units.encode_steering`` turns degrees at the wheels into them.
        predictors: The columns with predictions of models, in the units of the file.

    Raises:
        InputError: The file cannot be read, or a column is missing.
    """

    def __init__(
        self,
        path: str,
        *,
        camera: Camera = "center",
        steering_ratio: float = 14.4,
        on_error: OnError = "raise",
    ) -> None:
        """Read the CSV file and list the images; none is read yet."""
        self.units = SignalUnits(steering="rad", steering_positive="left", steering_ratio=steering_ratio)
        table = _of_camera(Table.read(csv_file(path, "interpolated.csv")), camera)
        table.require("frame_id")
        self._angle = next((name for name in _ANGLES if name in table.columns), _ANGLES[1])
        table.require(self._angle)
        self._table = table
        self.predictors = tuple(name for name in table.columns if name not in _NO_PREDICTIONS)
        self._files = _files(table, camera)
        super().__init__(f"udacity-ch2:{path}", [stem_of(one) for one in self._files], on_error=on_error)
        self._drives = drives_by_time([_nanoseconds(id) for id in self.all_ids])

    def read(self, number: int) -> Frame:
        """Read a frame with its signals."""
        signals = self._signals(number)
        metadata = {}
        if "public_split" in self._table.columns:
            metadata["split"] = _SPLITS.get(self._table.number(number, "public_split"), "unknown")
        file = self._table.path.parent / self._files[number]
        with naming(self._table.path):
            return Frame.from_file(file, id=self.all_ids[number], signals=signals, metadata=metadata)

    def recorded_steering(self) -> NDArray[np.float64]:
        """Return what the driver steered in every frame, in the units of the file."""
        return self._column(self._angle)

    def predictions(self, predictor: str) -> NDArray[np.float64]:
        """Return what a published model predicted for every frame, in the units of the file.

        Raises:
            UnknownNameError: The file has no predictions of this model.
        """
        if predictor not in self.predictors:
            hint = suggest(predictor, self.predictors)
            raise UnknownNameError(f"{self._table.path} has no predictions of {predictor!r}; {hint}")
        return self._column(predictor)

    def _column(self, name: str) -> NDArray[np.float64]:
        numbers = (self.number(index) for index in range(len(self)))
        return np.array([self._table.number(number, name) for number in numbers], np.float64)

    def _signals(self, number: int) -> Signals:
        table = self._table
        angle = table.number(number, self._angle)
        further = {name: table.number(number, name) for name in _FURTHER if name in table.columns}
        with naming(table.path):
            return Signals.from_units(
                self.units,
                steering=angle,
                speed=table.number(number, "speed") if "speed" in table.columns else None,
                timestamp=_nanoseconds(self.all_ids[number]),
                extra={self._angle: angle, **further},
            )


def _nanoseconds(id: str) -> float | None:
    """Return the seconds that the name of an image tells."""
    return int(id) / 1e9 if _TIME.fullmatch(id) else None


def _of_camera(table: Table, camera: Camera) -> Table:
    """Return the lines of one camera; a plain list of frames has only one."""
    if "filename" not in table.columns:
        return table
    table.require("filename", "frame_id")
    seen = [table.key(index, "frame_id") for index in range(len(table.rows))]
    chosen = [row for row, by in zip(table.rows, seen, strict=True) if by.removesuffix("_camera") == camera]
    if not chosen:
        others = ", ".join(sorted(set(seen)))
        raise InputError(f"{table.path} has no frames of the {camera} camera, only of {others}")
    return Table(table.path, table.columns, chosen)


def _files(table: Table, camera: Camera) -> list[str]:
    """Return the image of every row, relative to the CSV file, whether it exists or not."""
    if "filename" in table.columns:
        return [table.key(index, "filename") for index in range(len(table.rows))]
    folders = [name for name in ("frames", camera, "images") if is_folder(table.path.parent / name)]
    folder = folders[0] if folders else "."
    known = by_stem(file_names(table.path.parent / folder))
    ids = (table.key(index, "frame_id") for index in range(len(table.rows)))
    return [f"{folder}/{known.get(id, f'{id}.jpg')}" for id in ids]


COLUMNS = ("center", "left", "right", "steering", "throttle", "brake", "speed")
UNITS = SignalUnits(speed="mph", steering=25.0)
_UDACITY_SIM_TIME = re.compile(r"(\d{4}(?:_\d{2}){5})_(\d{1,6})$")


@datasets.register("udacity-sim", summary="a driving_log.csv of the Udacity simulator, and its images")
class UdacitySimDataset(RecordedDataset):
    """Frames of a drive in the Udacity simulator. Signals are those of the vehicle, whichever the camera.

    The images are looked for in the folder IMG beside the log, beside the log itself, and where the log says.
    They may be absent: `signals` needs none.

    Args:
        path: The log, or the folder in which it lies.
        camera: Which of the three cameras.
        on_error: What iteration does with a frame that cannot be read; see `BaseDataset`.

    Attributes:
        units: The units of the log.

    Raises:
        InputError: There is no log, it is empty, or it has a header in which a column is missing.
    """

    def __init__(self, path: str, *, camera: Camera = "center", on_error: OnError = "raise") -> None:
        """Read the log; no image is read yet."""
        self.units = UNITS
        self._camera = camera
        self._table = _log(csv_file(path, "driving_log.csv"))
        written = (self._table.key(index, camera) for index in range(len(self._table.rows)))
        super().__init__(f"udacity-sim:{path}", [stem_of(one) for one in written], on_error=on_error)
        self._drives = drives_by_time([_timestamp(id) for id in self.all_ids])

    def read(self, number: int) -> Frame:
        """Read a frame with its signals."""
        return Frame(self.all_ids[number], read_image(self._file(number)), signals=self._signals(number))

    def _file(self, number: int) -> Path:
        written = PureWindowsPath(self._table.text(number, self._camera))
        folder = self._table.path.parent
        places = [folder / "IMG" / written.name, folder / written.name, folder / written.as_posix()]
        if (found := next((place for place in places if is_file(place)), None)) is None:
            line = self._table.rows[number].line
            raise FrameError(
                f"cannot read the image {places[0]}: no such file "
                f"(line {line} of {self._table.path} calls it {written}); signals() needs no image"
            )
        return found

    def _signals(self, number: int) -> Signals:
        return _row_signals(self._table, number, self.all_ids[number])


def logged_signals(path: str) -> Iterator[Signals | FrameError]:
    """Yield the signals of every row of a log, or what is wrong with the row; rows may repeat each other.

    Args:
        path: The log, or the folder in which it lies; no image is needed.

    Raises:
        InputError: There is no log, it is empty, or it has a header in which a column is missing.
    """
    table = _log(csv_file(path, "driving_log.csv"))
    for number in range(len(table.rows)):
        try:
            yield _row_signals(table, number, stem_of(table.key(number, "center")))
        except FrameError as error:
            yield error


def _row_signals(table: Table, number: int, id: str) -> Signals:
    steering = table.number(number, "steering")
    if abs(steering) > 1:
        line = table.rows[number].line
        raise FrameError(f"{table.path}: line {line}: steering must be from -1 to 1, got {steering:g}")
    others: dict[str, Any] = {name: table.number(number, name) for name in ("speed", "throttle", "brake")}
    return Signals.from_units(UNITS, steering=steering, timestamp=_timestamp(id), **others)


def _log(path: Path) -> Table:
    """Return the log with its columns named, by its header where it has one."""
    rows = read_rows(path)
    first = rows[0].cells
    if "center" not in first and "steering" not in map(str.lower, first):
        # Later simulators write position and rotation behind the seven columns.
        more = (f"column {place}" for place in range(len(COLUMNS) + 1, len(first) + 1))
        return Table(path, (*COLUMNS, *more), rows)
    table = Table(path, tuple(name.lower() for name in rows[0].cells), rows[1:])
    table.require(*COLUMNS)
    return table


def _timestamp(id: str) -> float | None:
    """Return the seconds that the name of an image tells; the simulator does not say in which time zone."""
    if (found := _UDACITY_SIM_TIME.search(id)) is None:
        return None
    try:
        second = datetime.strptime(found[1], "%Y_%m_%d_%H_%M_%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return second + float(f"0.{found[2]}")
