"""Udacity challenge 2: frames of a real drive with the angle of the steering wheel.

The angle is in radians at the steering wheel, positive to the left. Frames get degrees at the wheels,
positive to the right; the recorded number stays in ``signals.extra`` under the name of its column, because
errors on this data are compared in its own unit.

Two layouts are read: a list of frames, ``frame_id,steering_angle`` with images named by ``frame_id``, as the
challenge published it, and the ``interpolated.csv`` that is extracted from the recordings, with a
``filename`` in each line and the lines of three cameras.
"""

from __future__ import annotations

import re
from typing import Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import naming
from roadworthy._tables import Table, csv_file
from roadworthy.datasets._base import BaseDataset, OnError
from roadworthy.datasets._files import by_stem, image_names, stem_of
from roadworthy.errors import InputError, UnknownNameError, suggest
from roadworthy.frames import Frame, Signals, SignalUnits
from roadworthy.registry import datasets

__all__ = ["UdacityCh2Dataset"]

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
class UdacityCh2Dataset(BaseDataset):
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

    def read(self, number: int) -> Frame:
        """Read a frame with its signals."""
        signals = self._signals(number)
        metadata = {}
        if "public_split" in self._table.columns:
            metadata["split"] = _SPLITS.get(self._table.number(number, "public_split"), "unknown")
        file = self._table.path.parent / self._files[number]
        return Frame.from_file(file, id=self.all_ids[number], signals=signals, metadata=metadata)

    def signals(self, index: SupportsIndex) -> Signals:
        """Return the signals of a frame without reading its image."""
        return self._signals(self.number(index))

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
        nanoseconds = self.all_ids[number]
        with naming(table.path):
            return Signals.from_units(
                self.units,
                steering=angle,
                speed=table.number(number, "speed") if "speed" in table.columns else None,
                timestamp=int(nanoseconds) / 1e9 if _TIME.fullmatch(nanoseconds) else None,
                extra={self._angle: angle, **further},
            )


def _of_camera(table: Table, camera: Camera) -> Table:
    """Return the lines of one camera; a plain list of frames has only one."""
    if "filename" not in table.columns:
        return table
    table.require("filename", "frame_id")
    chosen = [
        row
        for index, row in enumerate(table.rows)
        if table.key(index, "frame_id").removesuffix("_camera") == camera
    ]
    if not chosen:
        seen = sorted({table.key(index, "frame_id") for index in range(len(table.rows))})
        raise InputError(f"{table.path} has no frames of the {camera} camera, only of {', '.join(seen)}")
    return Table(table.path, table.columns, chosen)


def _files(table: Table, camera: Camera) -> list[str]:
    """Return the image of every row, relative to the CSV file, whether it exists or not."""
    if "filename" in table.columns:
        return [table.key(index, "filename") for index in range(len(table.rows))]
    folders = [name for name in ("frames", camera, "images") if (table.path.parent / name).is_dir()]
    folder = folders[0] if folders else "."
    known = by_stem(image_names(table.path.parent / folder))
    ids = (table.key(index, "frame_id") for index in range(len(table.rows)))
    return [f"{folder}/{known.get(id, f'{id}.jpg')}" for id in ids]
