"""Predictions from recordings: files of earlier answers, and the driver who was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from roadworthy._files import is_file, is_folder, naming, read_json, read_text
from roadworthy._tables import Table
from roadworthy.cases import Prediction
from roadworthy.errors import InputError, SystemUnderTestError, told_as
from roadworthy.frames import Boxes, Frame, PlannedPath, Signals
from roadworthy.models.detection import DetectionOutput
from roadworthy.models.network import ModelSpec
from roadworthy.models.outputs import PathOutput, RegressionOutput
from roadworthy.models.protocols import Task
from roadworthy.registry import models

_ID_COLUMNS = ("id", "frame_id", "frame", "filename", "image")
_SIGNALS = ("speed", "steering", "acceleration", "throttle", "brake")


@dataclass(eq=False)
class Recorded:
    """Answers with what was recorded for the frame of the same id.

    Attributes:
        name: What it is called in rows and reports.
        task: What the predictions are.
        records: What was recorded, by frame id.
        source: Where the records come from, for messages.
        read: Makes the prediction of a record when it is asked for; None where records are predictions.
        files: The files that the records come from.

    Example:
        >>> import numpy as np
        >>> from roadworthy.frames import Signals
        >>> model = Recorded("yesterday", "regression", {"a": Signals(speed=8.0)}, "a list")
        >>> model.predict([Frame("a", np.zeros((4, 6, 3), np.uint8))])[0].speed
        8.0
        >>> model.unmatched(["b"])
        ['a']
    """

    name: str
    task: Task
    records: Mapping[str, Any] = field(repr=False)
    source: str
    read: Callable[[Any], Prediction] | None = field(default=None, kw_only=True)
    files: tuple[Path, ...] = field(default=(), kw_only=True)

    def __len__(self) -> int:
        return len(self.records)

    def predict(self, frames: Sequence[Frame], /) -> list[Prediction]:
        """Return what was recorded for each frame.

        Raises:
            SystemUnderTestError: Nothing was recorded for a frame, the frame was changed, or its record
                cannot be read.
        """
        return [self._record(frame) for frame in frames]

    def unmatched(self, ids: Iterable[str]) -> list[str]:
        """Return the records that belong to none of the frames with these ids."""
        known = set(ids)
        return [one for one in self.records if one not in known]

    def _record(self, frame: Frame) -> Prediction:
        if frame.visual_change:
            raise SystemUnderTestError(
                f"frame {frame.id!r} was changed (Δv {frame.visual_change:.3f}), but {self.source} has what "
                "the model answered for the original; use the model itself"
            )
        if frame.id not in self.records:
            shown = ", ".join(repr(one) for one in list(self.records)[:2])
            raise SystemUnderTestError(
                f"nothing is recorded for frame {frame.id!r} in {self.source}, which has "
                f"{len(self)} records{f', such as {shown}' if shown else ''}"
            )
        record: Prediction = self.records[frame.id]
        with told_as(SystemUnderTestError, f"the record for frame {frame.id!r} cannot be used", InputError):
            return record if self.read is None else self.read(record)


@models.register(
    "recorded",
    summary="recorded predictions: a CSV file, a folder of KITTI results, a JSON of COCO results or of paths",
)
def recorded_model(
    path: Path,
    *,
    spec: ModelSpec[Any] | None = None,
    name: str | None = None,
    id_column: str | None = None,
    annotations: Path | None = None,
    on_unknown: Literal["error", "skip"] = "error",
    on_invalid: Literal["error", "skip"] = "error",
) -> Recorded:
    """Open recorded predictions.

    Args:
        path: ``.csv`` with an id and signals in each row; ``.json`` with COCO results, or with planned paths,
            ``{"times": [0.5, …], "paths": {"ID": [[ahead, right], …], …}}``, in metres and seconds; or a
            folder with a KITTI result file ``ID.txt`` for each frame.
        spec: For CSV, which columns are which signals, and their units: ``outputs`` are the columns,
            ``signals`` what they are. For boxes, ``class_names``.
        name: What it is called in rows and reports.
        id_column: The column of a CSV file with the frame ids; "id", "frame_id", "frame", "filename" or
            "image" when left out.
        annotations: The COCO annotations of the images: their names and the categories.
        on_unknown: What to do with a box of a class that is not in the ontology: "error", or "skip" it.
        on_invalid: What to do with a box whose corners are in the wrong order, as detectors give them now and
            then: "error", or "skip" it.

    Raises:
        InputError: The file is missing or cannot be used.
    """
    path = Path(path)
    label = name or f"recorded:{path}"
    output = None if spec is None else spec.output
    if path.suffix.lower() == ".csv":
        return _csv(label, path, output, id_column)
    if path.suffix.lower() == ".json" and isinstance(found := read_json(path), dict):
        return _paths(label, path, found, output)
    boxes = {"on_unknown": on_unknown, "on_invalid": on_invalid, **_detection(label, output)}
    if is_folder(path):
        return _kitti(label, path, boxes)
    if path.suffix.lower() == ".json":
        return _coco(label, path, annotations, boxes)
    if not is_file(path):
        raise InputError(f"cannot read the recorded predictions {path}: there is no such file or folder")
    raise InputError(f"{path} must be a .csv file, a .json file of COCO results or a folder of KITTI results")


def _paths(label: str, path: Path, found: Mapping[str, Any], output: object) -> Recorded:
    if output is not None and not isinstance(output, PathOutput):
        raise InputError(f"{label} holds paths, so its output must have task: path")
    known = found.get("paths")
    if not isinstance(known, dict) or not known or not isinstance(found.get("times"), list):
        raise InputError(
            f"{path} must hold planned paths, {{'times': […], 'paths': {{'ID': [[ahead, right]]}}}}, or be "
            "a list of COCO results"
        )
    records: dict[str, PlannedPath] = {}
    for id, points in known.items():
        with naming(f"{path}: frame {id!r}"):
            if isinstance(output, PathOutput):
                records[id] = output.path_of(np.asarray(points, np.float64).ravel())
            else:
                records[id] = PlannedPath(points, found["times"])
    return Recorded(label, "path", records, str(path), files=(path,))


def _detection(label: str, output: object) -> dict[str, Any]:
    """Return what the readers of boxes need of a declared output."""
    if output is None:
        return {}
    if not isinstance(output, DetectionOutput):
        raise InputError(f"{label} holds boxes, so its output must have task: detection")
    return {"class_names": output.class_names}


def _csv(label: str, path: Path, output: object, id_column: str | None) -> Recorded:
    table = Table.read(path)
    header = table.columns
    key = id_column or next((one for one in _ID_COLUMNS if one in header), None)
    if key not in header:
        expected = repr(id_column) if id_column else " or ".join(map(repr, _ID_COLUMNS))
        raise InputError(f"{path}: expected a column {expected} with frame ids, got {', '.join(header)}")
    if output is None:
        found = dict.fromkeys(one for one in header if one in _SIGNALS)
        output = RegressionOutput(tuple(found) or ("steering",))
    if not isinstance(output, RegressionOutput):
        raise InputError(f"{label} holds signals, so its output must have task: regression")
    columns = output.outputs or output.signals
    if len(columns) != len(output.signals):
        raise InputError(f"{label}: outputs must name a column for each of {', '.join(output.signals)}")
    table.require(*columns)
    records: dict[str, Signals] = {}
    # Converted at once, so that a broken file is told when it is named and not in the middle of a run.
    for index, row in enumerate(table.rows):
        with naming(f"{path}: line {row.line}"):
            id = table.text(index, key)
            if id in records:
                raise InputError(f"frame {id!r} is recorded twice")
            records[id] = output.signals_of([table.number(index, column) for column in columns])
    if not records:
        raise InputError(f"{path} has no rows: expected a row with an id and signals for each frame")
    return Recorded(label, "regression", records, str(path), files=(path,))


def _kitti(label: str, folder: Path, options: Mapping[str, Any]) -> Recorded:
    files = sorted(folder.glob("*.txt"))
    if not files:
        raise InputError(f"{folder} has no KITTI results: expected a file ID.txt for each frame")
    records = {file.stem: file for file in files}
    read = partial(_kitti_boxes, options=options)
    return Recorded(label, "detection", records, str(folder), read=read, files=tuple(files))


def _kitti_boxes(file: Path, options: Mapping[str, Any]) -> Boxes:
    with naming(file):
        return Boxes.from_kitti(read_text(file), **options)


def _coco(label: str, path: Path, annotations: Path | None, options: Mapping[str, Any]) -> Recorded:
    if annotations is None:
        raise InputError(
            f"{label}: COCO results have only numbers for images and classes: name the file of the "
            "annotations with annotations=instances.json"
        )
    results, known = read_json(path), read_json(annotations)
    if not isinstance(known, dict) or not {"images", "categories"} <= set(known):
        raise InputError(f"{annotations} must be COCO annotations with 'images' and 'categories'")
    if not isinstance(results, list):
        raise InputError(f"{path} must be a list of COCO results, got a {type(results).__name__}")
    for key in ("images", "categories"):
        if not isinstance(known[key], list):
            raise InputError(f"{annotations}: {key!r} must be a list, got a {type(known[key]).__name__}")
    for image in known["images"]:
        told = image if isinstance(image, dict) else {}
        name = told.get("file_name")
        if not isinstance(told.get("id"), int | str) or not isinstance(name, str) or not Path(name).name:
            raise InputError(f"{annotations}: images need 'id', a number, and 'file_name', got {image!r:.80}")
    found: dict[object, list[Mapping[str, Any]]] = {image["id"]: [] for image in known["images"]}
    for number, result in enumerate(results):
        image = result.get("image_id") if isinstance(result, dict) else None
        if not isinstance(image, int | str) or image not in found:
            raise InputError(
                f"{path}: result {number} is for image {image!r}, which {annotations} does not have "
                f"(it has {len(found)} images)"
            )
        found[image].append(result)
    # Named as the reader of COCO data names its frames; an image without results has no boxes.
    records = {}
    for one in known["images"]:
        records[Path(one["file_name"]).with_suffix("").as_posix()] = found[one["id"]]
    read = partial(_coco_boxes, path=path, categories=known["categories"], options=options)
    return Recorded(label, "detection", records, str(path), read=read, files=(path, annotations))


def _coco_boxes(results: list[Any], path: Path, categories: list[Any], options: Mapping[str, Any]) -> Boxes:
    # An image without results has nothing to complain about.
    with naming(f"{path}: image {results[0]['image_id']!r}" if results else path):
        return Boxes.from_coco(results, categories, **options)


SEES_NO_CHANGE = (
    "truth answers with the recorded signals, which a changed image keeps, so no rule can say anything about "
    "it: `roadworthy rules truth` tries rules on drivers of the built-in world, who see what has changed"
)
"""Why rules cannot be tried on it."""


@models.register(
    "truth", summary="answers with each frame's own signals, which a changed image keeps: to check data with"
)
class Truth:
    """Answers with each frame's own signals.

    On frames of the built-in world these are what the careful driver did, so a requirement about frames as
    they are, or about drives, that this system violates is either wrong or wrongly tested. It does not look
    at images, so it is no system to test by changed ones.

    Example:
        >>> import numpy as np
        >>> frame = Frame("drive/17", np.zeros((4, 6, 3), np.uint8), signals=Signals(steering=-2.0))
        >>> Truth().predict([frame, frame.mirrored()])[1].steering
        2.0
    """

    name = "truth"

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        """Return each frame's own signals.

        Raises:
            SystemUnderTestError: A frame has no signals.
        """
        for frame in frames:
            if set(frame.signals.as_dict()) <= {"timestamp"}:
                raise SystemUnderTestError(
                    f"frame {frame.id!r} must have signals for the model 'truth', got none; use data with "
                    "recorded signals, such as the built-in world, or another model"
                )
        return [frame.signals for frame in frames]
