"""The driving log of the Udacity simulator, as the simulator writes it.

``driving_log.csv`` has no header, paths with back-slashes that may be absolute paths of another computer, and
blanks after the commas: centre, left and right image, steering from -1 to 1 (25 degrees at the wheels,
positive to the right), throttle, brake, speed in miles per hour. The time is in the names of the images:
``center_2018_07_16_17_16_31_685.jpg``. Logs to which somebody has given a header are read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path, PureWindowsPath
from typing import Literal, SupportsIndex

from roadworthy._files import is_file
from roadworthy._tables import Row, Table, csv_file, read_rows
from roadworthy.datasets._base import BaseDataset, OnError
from roadworthy.datasets._files import stem_of
from roadworthy.errors import FrameError
from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.images import read_image
from roadworthy.registry import datasets

__all__ = ["UdacitySimDataset", "logged_signals"]

Camera = Literal["center", "left", "right"]

COLUMNS = ("center", "left", "right", "steering", "throttle", "brake", "speed")
UNITS = SignalUnits(speed="mph", steering=25.0)
_TIME = re.compile(r"(\d{4}(?:_\d{2}){5})_(\d{1,6})$")


@datasets.register("udacity-sim", summary="a driving_log.csv of the Udacity simulator, and its images")
class UdacitySimDataset(BaseDataset):
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

    def read(self, number: int) -> Frame:
        """Read a frame with its signals."""
        signals = self._signals(number)
        return Frame(self.all_ids[number], read_image(self._file(number)), signals=signals)

    def signals(self, index: SupportsIndex) -> Signals:
        """Return the signals of a frame without reading its image."""
        return self._signals(self.number(index))

    def _file(self, number: int) -> Path:
        written = PureWindowsPath(self._table.text(number, self._camera))
        folder = self._table.path.parent
        places = [folder / "IMG" / written.name, folder / written.name, folder / written.as_posix()]
        found = next((place for place in places if is_file(place)), None)
        if found is None:
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
    return Signals.from_units(
        UNITS,
        steering=steering,
        speed=table.number(number, "speed"),
        throttle=table.number(number, "throttle"),
        brake=table.number(number, "brake"),
        timestamp=_timestamp(id),
    )


def _log(path: Path) -> Table:
    """Return the log with its columns named, by its header where it has one."""
    rows = read_rows(path)
    if not _is_header(rows[0]):
        return Table(path, COLUMNS, rows)
    table = Table(path, tuple(name.lower() for name in rows[0].cells), rows[1:])
    table.require(*COLUMNS)
    return table


def _is_header(row: Row) -> bool:
    return "steering" in (cell.lower() for cell in row.cells) or "center" in row.cells


def _timestamp(id: str) -> float | None:
    """Return the seconds that the name of an image tells; the simulator does not say in which time zone."""
    found = _TIME.search(id)
    if found is None:
        return None
    try:
        second = datetime.strptime(found[1], "%Y_%m_%d_%H_%M_%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return second + float(f"0.{found[2]}")
