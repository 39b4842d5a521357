"""KITTI object detection: images, boxes, calibration, and the results of a detector.

::

    training/image_2/000001.png   left colour camera
    training/label_2/000001.txt   one box per line; see roadworthy.frames.formats.files
    training/calib/000001.txt     projection matrices

Frames are those with an image or a label file. Labels and results can be read where there are no images, as
evaluations of detectors need no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import is_folder, naming, read_text
from roadworthy._frozen import FrozenDict
from roadworthy.datasets import _base
from roadworthy.errors import FrameError, InputError, shortened
from roadworthy.frames import Boxes, Frame
from roadworthy.images import read_image
from roadworthy.registry import datasets

_SHAPES = {12: (3, 4), 9: (3, 3)}


@datasets.register("kitti", summary="KITTI object detection: images with boxes and calibration")
class KittiDataset(_base.BaseDataset):
    """Images with boxes. Metadata holds the projection P2 of the camera and the regions without labels.

    Args:
        path: The folder with image_2, label_2 and calib, or some of them; usually called training.
        results: A folder with the results of a detector, one file per frame, for `detections`.
        class_names: What class names mean, where it shall differ; None leaves boxes of that class out; as
            text ``Misc=none,Van=truck``.
        on_unknown: What to do with a class that is not in the ontology: "error", or "skip" its boxes.
        on_invalid: What to do with a result whose corners are in the wrong order.
        outside: What to do with a label that reaches more than a pixel beyond its image: "error", or "clip"
            and count it.
        on_error: What iteration does with a frame that cannot be read; see `BaseDataset`. With "skip",
            results for images that do not exist are left out too.

    Raises:
        InputError: There are no frames, or results for images that do not exist.
    """

    def __init__(
        self,
        path: str,
        *,
        results: Path | None = None,
        class_names: _base.ClassNames | str | None = None,
        on_unknown: _base.OnUnknown = "error",
        on_invalid: _base.OnUnknown = "error",
        outside: _base.Outside = "error",
        on_error: _base.OnError = "raise",
    ) -> None:
        """List the files; none is read yet."""
        self._folder = _base.existing_folder(path, "the KITTI data set")
        self._reading = _base.box_reading(class_names, on_unknown, on_invalid)
        self._outside: _base.Outside = outside
        images = self._folder / "image_2"
        self._images = _base.by_stem(_base.file_names(images)) if is_folder(images) else {}
        self._has = {name: is_folder(self._folder / name) for name in ("label_2", "calib")}
        ids = sorted(self._images.keys() | _stems(self._folder / "label_2"), key=_base.natural_order)
        if not ids:
            raise InputError(f"{self._folder} has no frames: expected images in image_2 or labels in label_2")
        self._results = results and _base.existing_folder(results, "the results of a detector")
        super().__init__(f"kitti:{path}", ids, on_error=on_error)
        if self._results is not None and on_error == "raise":
            _check_results(self._results, set(ids), self._folder)

    def read(self, number: int) -> Frame:
        """Read a frame with its boxes and calibration."""
        id = self.all_ids[number]
        if not self._images:
            raise FrameError(
                f"cannot read an image of {id}: {self._folder / 'image_2'} has none; "
                "boxes() and detections() need no image"
            )
        image = read_image(self._folder / "image_2" / self._images.get(id, f"{id}.png"))
        metadata: dict[str, object] = {}
        if self._has["calib"]:
            if (matrix := self._calibration(number).get("P2")) is None:
                file = self._file("calib", number)
                raise FrameError(f"{file} has no P2: expected the matrix of the left colour camera")
            metadata["P2"] = tuple(tuple(row) for row in matrix.tolist())
        if not self._has["label_2"]:
            return Frame(id, image, metadata=metadata)
        metadata["dont_care"] = tuple(tuple(region) for region in self._dont_care(number).tolist())
        with naming(self._file("label_2", number)):
            boxes, counted = _base.placed(self._boxes(number), image.shape[1], image.shape[0], self._outside)
            return Frame(id, image, boxes=boxes, metadata={**metadata, **counted})

    def boxes(self, index: SupportsIndex) -> Boxes:
        """Return the labelled boxes of a frame as they are in the file, without reading its image.

        Raises:
            FrameError: The label file is missing or broken; names file and line.
        """
        return self._boxes(self.number(index))

    def dont_care(self, index: SupportsIndex) -> NDArray[np.float32]:
        """Return the regions of a frame in which things are not labelled: x1, y1, x2, y2, shape (n, 4)."""
        return self._dont_care(self.number(index))

    def detections(self, index: SupportsIndex) -> Boxes:
        """Return the results of the detector for a frame as they are in the file, without reading its image.

        Raises:
            InputError: The data set was opened without results.
            FrameError: The result file is missing or broken; names file and line.
        """
        if self._results is None:
            raise InputError(f"{self.name} was opened without results: pass results=path/to/results")
        file = self._results / f"{self.all_ids[self.number(index)]}.txt"
        text = read_text(file)
        with naming(file):
            boxes = Boxes.from_kitti(text, **self._reading)
            if boxes.scores is None and len(boxes):
                raise FrameError("expected 16 columns, the last one a score, got 15: are these labels?")
        return boxes

    def calibration(self, index: SupportsIndex) -> Mapping[str, NDArray[np.float64]]:
        """Return the matrices of a frame by name: P0 to P3 and transforms 3 × 4, rotations 3 × 3.

        Raises:
            FrameError: The calibration file is missing or broken; names file and line.
        """
        return self._calibration(self.number(index))

    def _file(self, folder: str, number: int) -> Path:
        return self._folder / folder / f"{self.all_ids[number]}.txt"

    def _boxes(self, number: int) -> Boxes:
        file = self._file("label_2", number)
        text = read_text(file)
        with naming(file):
            return Boxes.from_kitti(text, **{**self._reading, "on_invalid": "error"})

    def _dont_care(self, number: int) -> NDArray[np.float32]:
        file = self._file("label_2", number)
        regions = []
        for line, text in enumerate(read_text(file).splitlines(), 1):
            columns = text.split()
            if columns[:1] != ["DontCare"]:
                continue
            try:
                left, top, right, bottom = (float(value) for value in columns[4:8])
            except ValueError:
                raise FrameError(
                    f"{file}: line {line}: expected four corners in columns 5 to 8, got {text!r}"
                ) from None
            regions.append((left, top, right, bottom))
        with np.errstate(over="ignore"):
            return np.array(regions, np.float32).reshape(-1, 4)

    def _calibration(self, number: int) -> Mapping[str, NDArray[np.float64]]:
        file = self._file("calib", number)
        matrices = {}
        for line, text in enumerate(read_text(file).splitlines(), 1):
            if not text.strip():
                continue
            name, _, numbers = text.partition(":")
            try:
                values = np.array(numbers.split(), np.float64)
            except ValueError:
                values = np.zeros(0)
            if values.size not in _SHAPES or not np.isfinite(values).all():
                raise FrameError(f"{file}: line {line}: expected `name: 9 or 12 numbers`, got {text!r}")
            matrices[name.strip()] = values.reshape(_SHAPES[values.size])
            matrices[name.strip()].setflags(write=False)
        return FrozenDict(matrices)


def _stems(folder: Path) -> set[str]:
    return {file.stem for file in folder.glob("*.txt")}


def _check_results(results: Path, ids: set[str], folder: Path) -> None:
    if unknown := sorted(_stems(results) - ids, key=_base.natural_order):
        raise InputError(
            f"{results} has results for images that do not exist in {folder}: {shortened(unknown, 1)}; "
            "on_error=skip leaves them out"
        )
