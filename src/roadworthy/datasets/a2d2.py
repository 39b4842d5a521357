"""A2D2, the Audi Autonomous Driving Dataset: images, label maps in 55 colours, signals of the bus.

Files are found by their names, in whatever folders they lie::

    20180807145028_camera_frontcenter_000000091.png   image
    20180807145028_label_frontcenter_000000091.png    label map
    20180807145028_bus_signals.json                   signals of all frames of the drive
    class_list.json                                   class of each colour

The bus gives the angle of the steering wheel in degrees without its sign, and the sign as 0 for left and 1
for right; the speed in km/h. A frame has several values of each: the mean is taken. Frames get degrees at the
wheels, positive to the right, and m/s; the angle of the steering wheel, positive to the left, stays in
``signals.extra`` as ``steering_wheel_angle``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import naming, read_json, stamp_of
from roadworthy.datasets import _base
from roadworthy.errors import FrameError, InputError, told_as
from roadworthy.frames import Frame, LabelMap, Signals, SignalUnits
from roadworthy.images import Image, read_image
from roadworthy.registry import datasets

Camera = Literal["frontcenter", "frontleft", "frontright", "sideleft", "sideright", "rearcenter", "all"]


_EXAMPLE = "20180807145028_camera_frontcenter_000000091.png"
_NAME = re.compile(r"(\d+)_(camera|label)_([a-z]+)_(\d+)\.png")
_NO_ANGLE = 614.0  # degrees; the bus sends 614.10 before the first value and 614.25 for an error
_REVERSE = 2
_ORIGINAL = (1920, 1208)
_PAPER_TOP = 248  # rows
_PAPER_SIZE = (320, 160)


@datasets.register("a2d2", summary="A2D2: label maps in colours, steering and speed from the bus")
class A2D2Dataset(_base.RecordedDataset):
    """Images with label maps and signals, as far as their files are there.

    Args:
        path: The folder with class_list.json, images and label maps, in the folders of the download or flat.
        camera: Which camera; "all" for all of them.
        bus: A folder with the signals, where they do not lie below the path.
        prepare: "paper" prepares frames as the RMT paper does, section 4: the top 248 rows are dropped and
            the rest, 1920x960, is made 320x160. Label maps move with the images.
        steering_ratio: Degrees of the steering wheel for one degree at the wheels. A2D2 does not give it;
            14.4 is what the paper takes.
        class_names: What classes mean, where that shall differ; as text ``Curbstone=road``.
        unknown_colors: What to do with a pixel whose colour has no class.
        on_error: What iteration does with a frame that cannot be read; see `BaseDataset`.

    Attributes:
        units: The units of the signals, with the sign that left is positive.

    Raises:
        InputError: There are no frames, or class_list.json cannot be read or has an unknown class.
    """

    def __init__(
        self,
        path: str,
        *,
        camera: Camera = "frontcenter",
        bus: Path | None = None,
        prepare: Literal["none", "paper"] = "none",
        steering_ratio: float = 14.4,
        class_names: _base.ClassNames | str | None = None,
        unknown_colors: _base.UnknownColors = "error",
        on_error: _base.OnError = "raise",
    ) -> None:
        """List the files; no image and no signal is read yet."""
        root = _base.existing_folder(path, "the A2D2 data set")
        self.units = SignalUnits("km/h", steering_positive="left", steering_ratio=steering_ratio)
        self._root = root
        self._prepare = prepare
        self._unknown_colors: _base.UnknownColors = unknown_colors
        self._files = _found(root, camera)
        ids = sorted(self._files["camera"].keys() | self._files["label"].keys())
        if not ids:
            raise InputError(f"{root} holds no images of A2D2: expected names such as {_EXAMPLE}")
        self._classes: dict[_base.Color, str | None] = {}
        if self._files["label"]:
            self._classes = _classes(root, class_names)
        place = root if bus is None else _base.existing_folder(bus, "the bus signals of A2D2")
        # By the time at which the drive began, with which the names of its frames begin too.
        self._bus = {file.name.split("_")[0]: file for file in sorted(place.rglob("*_bus_signals.json"))}
        super().__init__(f"a2d2:{path}", ids, on_error=on_error)

    def cluster(self, number: int) -> str:
        """Return the drive of a frame: when it began, with which the name of a frame begins."""
        return self.all_ids[number].split("_")[0]

    def read(self, number: int) -> Frame:
        """Read a frame with its label map and signals."""
        id = self.all_ids[number]
        file = self._root / self._files["camera"].get(id, _file_name("camera", id))
        image = read_image(file)
        signals = self._signals(number)
        label_map = None
        if self._files["label"]:
            label_file = self._root / self._files["label"].get(id, _file_name("label", id))
            label_map = _base.read_label_map(label_file, self._classes, self._unknown_colors)
            if label_map.shape != image.shape[:2]:
                raise FrameError(
                    f"{label_file}: the label map must have the shape {image.shape[:2]} of its image, "
                    f"got {label_map.shape}"
                )
        if self._prepare == "paper":
            with naming(file):
                image, label_map = _as_in_the_paper(image, label_map)
        return Frame(id, image, labels=label_map, signals=signals)

    def _signals(self, number: int) -> Signals:
        id = self.all_ids[number]
        if (file := self._bus.get(id.split("_")[0])) is None:
            return Signals()
        if (record := _drive(file, stamp_of([file])).get(id)) is None:
            raise FrameError(f"{file} has no signals of the frame {id!r}")
        with naming(file):
            return _decoded(id, record, self.units)


def _found(root: Path, camera: Camera) -> dict[str, dict[str, str]]:
    """Return images and label maps by the id of their frame: time of the drive, camera and number."""
    found: dict[str, dict[str, str]] = {"camera": {}, "label": {}}
    for name in _base.file_names(root, recursive=True):
        if (match := _NAME.fullmatch(name.rpartition("/")[2])) and camera in (match[3], "all"):
            found[match[2]][f"{match[1]}_{match[3]}_{match[4]}"] = name
    return found


def _file_name(kind: Literal["camera", "label"], id: str) -> str:
    drive, _, rest = id.partition("_")
    return f"{drive}_{kind}_{rest}.png"


def _classes(root: Path, given: _base.ClassNames | str | None) -> dict[_base.Color, str | None]:
    path = root / "class_list.json"
    names = read_json(path)
    try:
        colors = {
            (int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)): str(name)
            for code, name in names.items()
        }
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path}: expected colours and classes like '#ff0000': 'Car 1': {error}") from error
    return _base.classes_by_color(path, colors, _base.known_classes("a2d2"), given)


def _as_in_the_paper(image: Image, labels: LabelMap | None) -> tuple[Image, LabelMap | None]:
    import cv2

    height, width = image.shape[:2]
    if (width, height) != _ORIGINAL:
        raise FrameError(f"the preparation of the paper is for images of 1920x1208, got {width}x{height}")
    small = cv2.resize(image[_PAPER_TOP:], _PAPER_SIZE, interpolation=cv2.INTER_AREA)
    if labels is None:
        return np.asarray(small, np.uint8), None
    # Exact, because the plain nearest takes the corner of each block of pixels rather than its middle.
    ids = cv2.resize(labels.ids[_PAPER_TOP:], _PAPER_SIZE, interpolation=cv2.INTER_NEAREST_EXACT)
    return np.asarray(small, np.uint8), LabelMap(ids.astype(labels.ids.dtype), labels.classes)


# At module level, so that data sets travel to worker processes without it.
@lru_cache(maxsize=4)
def _drive(path: Path, stamp: str) -> Mapping[str, Mapping[str, Any]]:  # noqa: ARG001 - of this content
    """Return the records of a drive's bus signals by the id of their frame."""
    expected = f"{path}: expected a list of records with frame_name and flexray"
    records = read_json(path)
    if not isinstance(records, list):
        raise FrameError(f"{expected}, got {type(records).__name__}: A2D2's sensor fusion part is not read")
    with told_as(FrameError, f"{expected}", TypeError, KeyError, AttributeError):
        return {Path(record["frame_name"]).stem.replace("_camera_", "_"): record for record in records}


def _decoded(id: str, record: Mapping[str, Any], units: SignalUnits) -> Signals:
    angle, sign = _values(id, record, "steering_angle_calculated"), None
    extra = {}
    if angle.size:
        sign = _values(id, record, "steering_angle_calculated_sign")
        if sign.shape != angle.shape or not np.isin(sign, (0, 1)).all():
            raise FrameError(f"frame {id!r}: each steering_angle_calculated needs a sign, 0 or 1, got {sign}")
        signed = np.where(sign == 1, -angle, angle)[angle < _NO_ANGLE]
        if signed.size:
            extra["steering_wheel_angle"] = float(signed.mean())
    speed = _values(id, record, "vehicle_speed")
    direction = _values(id, record, "driving_direction")
    backwards = direction.size and np.median(direction) == _REVERSE
    forwards = float(speed.mean()) * (-1 if backwards else 1) if speed.size else None
    time, angle_of_wheel = record.get("timestamp"), extra.get("steering_wheel_angle")
    seconds = time / 1e6 if isinstance(time, int | float) else None
    return Signals.from_units(units, steering=angle_of_wheel, speed=forwards, timestamp=seconds, extra=extra)


def _values(id: str, record: Mapping[str, Any], name: str) -> NDArray[np.float64]:
    """Return the values of a signal during a frame; none where it was not recorded."""
    try:
        values = np.asarray(record["flexray"].get(name, {}).get("values", ()), np.float64)
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise FrameError(f"frame {id!r}: cannot read the signal {name}: {error!r}") from error
    # The mean of larger ones would overflow.
    if values.ndim != 1 or not (np.abs(values) < 1e100).all():
        raise FrameError(f"frame {id!r}: {name} must be a list of finite numbers, got {values}")
    return values
