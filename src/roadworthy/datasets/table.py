"""Images listed in a CSV file with what the vehicle did, whoever wrote it; Thunderhill and TORCS by name."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy._files import is_file, naming
from roadworthy._frozen import FrozenDict
from roadworthy._tables import SECONDS, Table, TimeUnit, csv_file, read_rows
from roadworthy.datasets import _base, _recordings
from roadworthy.errors import InputError, check_number
from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.registry import datasets

_FOLDERS = (".", "images", "IMG", "frames")


@datasets.register("table", summary="images listed in a CSV file, with time, speed and steering")
class TableDataset(_base.RecordedDataset):
    """Frames as the rows of a table. Names of columns count in any case; other columns may be there.

    Args:
        path: The CSV file, or the folder in which it lies.
        columns: The names of the columns, in order, of a file that begins without them: ``image,speed``.
        image: The column of the image files, or of their names without the ending.
        images: The folder of the images; where there is no such column, they belong to the rows in order.
        time: The column of time stamps, or "name" where the last digits in the name of an image tell it.
        time_unit: The unit of the time.
        rate: Rows in a second, where no column tells the time.
        speed: The column of the speed; several with a plus between them are the parts of a velocity.
        steering: The column of the steering.
        speed_unit: The unit of the speed.
        steering_unit: The unit of the steering, or the degrees that 1 stands for.
        steering_positive: The side to which steering is positive.
        steering_ratio: Degrees of the steering wheel for one at the wheels, where it is that of the wheel.
        unknown: Numbers that stand for an unknown value, in all columns or in one: ``9999,speed=-1``. Blank
            cells and nan always do.
        drive: The column that says which drive a row is of; otherwise a pause begins another one.
        on_error: What iteration does with a frame that cannot be read; see `BaseDataset`.

    Raises:
        InputError: The table cannot be read, or has no such column.
    """

    names: Mapping[str, str] = FrozenDict({name: name for name in _recordings.SIGNAL_COLUMNS})
    """The column of each signal; a bar is between names of which a file has one."""

    def __init__(
        self,
        path: str,
        *,
        columns: str | None = None,
        image: str = "image|img|filename|file|path|frame_id|center",
        images: Path | None = None,
        time: str = "time|timestamp",
        time_unit: TimeUnit = "s",
        rate: float | None = None,
        speed: str | None = None,
        steering: str | None = None,
        speed_unit: _recordings.SpeedUnit = "m/s",
        steering_unit: _recordings.SteeringUnit = "deg",
        steering_positive: _recordings.Side = "right",
        steering_ratio: float = 1.0,
        unknown: str = "",
        drive: str | None = None,
        on_error: _base.OnError = "raise",
    ) -> None:
        """Read the table and list the images; none is read yet."""
        check_number("rate", rate, above=0, below=math.inf)
        self.units = SignalUnits(speed_unit, steering_unit, steering_positive, steering_ratio)
        self._table = _named(csv_file(path, "driving_log.csv"), columns)
        self._unknown = _sentinels(unknown)
        asked = {"speed": speed, "steering": steering}
        self._signal_columns = {
            name: found
            for name, usual in self.names.items()
            if (found := self._columns(asked.get(name) or usual, needed=asked.get(name) is not None))
        }
        self._files = self._listed(image, images)
        self._time = "name" if time == "name" else next(iter(self._columns(time, needed=False)), "")
        self._seconds, self._rate = SECONDS[time_unit], rate
        super().__init__(f"table:{path}", _distinct([one.stem for one in self._files]), on_error=on_error)
        rows = range(len(self._files))
        if drive is not None:
            (named,) = self._columns(drive)
            self._drives = [self._table.key(row, named) for row in rows]
        else:
            self._drives = _base.drives_by_time([self._timestamp(row) for row in rows])

    def read(self, number: int) -> Frame:
        """Read a frame with its signals."""
        with naming(self._table.path):
            return Frame.from_file(
                self._files[number], id=self.all_ids[number], signals=self._signals(number)
            )

    def _columns(self, asked: str, *, needed: bool = True) -> tuple[str, ...]:
        """Return the columns that a name stands for; none where there is none and none is needed."""
        wanted = [one.strip().lower() for one in asked.split("+")]
        found = [next((one for one in name.split("|") if one in self._table.columns), "") for name in wanted]
        if all(found):
            return tuple(found)
        if needed:
            self._table.require(*(name.split("|")[0] for name in wanted))
        return ()

    def _listed(self, image: str, images: Path | None) -> list[Path]:
        """Return the image of each row, whether it exists or not."""
        beside = self._table.path.parent
        if (column := next(iter(self._columns(image, needed=images is None)), None)) is None:
            folder = _base.existing_folder(images or beside, "the images of a table without their names")
            names = _base.file_names(folder)
            if len(names) != len(self._table.rows):
                raise InputError(
                    f"{self._table.path} has {len(self._table.rows)} rows and {folder} {len(names)} images: "
                    "name the column of the images with image="
                )
            return [folder / name for name in names]
        folders = [images] if images else [beside / name for name in _FOLDERS]
        known = {
            _base.stem_of(name): folder / name
            for folder in reversed(folders)
            for name in _base.file_names(folder)
        }
        told = [self._table.key(row, column).replace("\\", "/") for row in range(len(self._table.rows))]
        return [
            beside / one if is_file(beside / one) else known.get(_base.stem_of(one), folders[0] / one)
            for one in told
        ]

    def _timestamp(self, row: int) -> float | None:
        if self._time == "name":
            digits = re.findall(r"\d+", self._files[row].stem)
            return int(digits[-1][-19:]) * self._seconds if digits else None
        if self._time:
            value = self._table.known(row, self._time, self._unknown.get("", ()))
            return None if value is None else value * self._seconds
        return None if self._rate is None else row / self._rate

    def _signals(self, number: int) -> Signals:
        told: dict[str, Any] = {}
        for name, columns in self._signal_columns.items():
            unknown = self._unknown.get("", ()) + self._unknown.get(name, ())
            values = [self._table.known(number, column, unknown) for column in columns]
            known = [value for value in values if value is not None]
            if len(known) == len(values):
                told[name] = known[0] if len(known) == 1 else float(np.linalg.norm(known))
        with naming(self._table.path):
            return Signals.from_units(self.units, timestamp=self._timestamp(number), **told)


def _named(path: Path, columns: str | None) -> Table:
    """Return a table with the names of its columns in small letters."""
    rows = read_rows(path)
    names = [cell.strip().lower() for cell in (columns.split(",") if columns else rows[0].cells)]
    rows = rows if columns else rows[1:]
    if not rows:
        raise InputError(f"{path} has no rows")
    # What comes after the named columns has no meaning, and no name is needed for it.
    more = [f"column {place + 1}" for place in range(len(names), len(rows[0].cells))] if columns else []
    return Table(path, (*names, *more), rows)


def _sentinels(text: str) -> dict[str, tuple[float, ...]]:
    """Return the numbers that stand for unknown, by signal; those of all signals have no name."""
    found: dict[str, tuple[float, ...]] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, number = part.rpartition("=")
        try:
            found[name] = (*found.get(name, ()), float(number))
        except ValueError:
            raise InputError(f"unknown must be like 9999,speed=-1, got {text!r}") from None
        if equals and name not in _recordings.SIGNAL_COLUMNS:
            raise InputError(
                f"unknown: {name!r} is no signal: expected {', '.join(_recordings.SIGNAL_COLUMNS)}"
            )
    return found


def _distinct(ids: list[str]) -> list[str]:
    """Return ids of which no two are alike: an image may stand in several rows."""
    times = Counter(ids)
    return [f"{id}-row{row}" if times[id] > 1 else id for row, id in enumerate(ids)]


@datasets.register("thunderhill", summary="the Thunderhill race track: a real car's PolySync recording")
class ThunderhillDataset(TableDataset):
    """Frames of laps of the Thunderhill track: ``output.txt`` of a PolySync recording, and IMG beside it.

    The steering is that of the wheel in radians, positive to the left. What its simulator wrote, a
    driving_log.csv with positions behind the usual columns, is read by udacity-sim.

    Args:
        path: The file, or the folder in which it lies.
        steering_ratio: Degrees of the steering wheel for one at the wheels; the data does not give it.
        on_error: What iteration does with a frame that cannot be read; see `BaseDataset`.

    Raises:
        InputError: The file cannot be read, or a column is missing.
    """

    names = FrozenDict({**TableDataset.names, "speed": "vel0+vel1+vel2"})

    def __init__(self, path: str, *, steering_ratio: float = 14.4, on_error: _base.OnError = "raise") -> None:
        """Read the table; no image is read yet."""
        super().__init__(
            str(csv_file(path, "output.txt")),
            image="path",
            time="name",
            time_unit="us",
            speed=self.names["speed"],
            steering="steering",
            steering_unit="rad",
            steering_positive="left",
            steering_ratio=steering_ratio,
            unknown="throttle=-200531542013902848",  # what stands there before the pedal was first read
            on_error=on_error,
        )


@datasets.register("torcs", summary="TORCS: images beside a table of the racing server's sensors and actions")
class TorcsDataset(TableDataset):
    """Frames of a drive in TORCS, with the numbers of its racing server under their own names.

    A steering of 1 is 21 degrees to the left, and speeds are in km/h, as the server's manual has it.

    Args:
        path: The CSV file, or the folder in which it lies.
        images: The folder of the images; where no column names them, they belong to the rows in order.
        rate: Rows in a second; the server takes 50 steps in a second.
        on_error: What iteration does with a frame that cannot be read; see `BaseDataset`.

    Raises:
        InputError: The table cannot be read, or has neither steering nor images.
    """

    names = FrozenDict(
        speed="speedx|speed", steering="steer|steering", throttle="accel|acceleration", brake="brake"
    )

    def __init__(
        self, path: str, *, images: Path | None = None, rate: float = 50.0, on_error: _base.OnError = "raise"
    ) -> None:
        """Read the table; no image is read yet."""
        super().__init__(
            path,
            images=images,
            time="",
            rate=rate,
            steering=self.names["steering"],
            speed_unit="km/h",
            steering_unit=21.0,
            steering_positive="left",
            on_error=on_error,
        )
