"""Cityscapes: images, label maps, instances, odometry and cameras in folders per split and city.

::

    leftImg8bit/val/lindau/lindau_000000_000019_leftImg8bit.png
    gtFine/val/lindau/lindau_000000_000019_gtFine_labelIds.png      the class of every pixel
    gtFine/val/lindau/lindau_000000_000019_gtFine_instanceIds.png   class * 1000 + number, where told apart
    vehicle/val/lindau/lindau_000000_000019_vehicle.json            speed, yaw rate, position, temperature
    camera/val/lindau/lindau_000000_000019_camera.json              intrinsic and extrinsic parameters

Only the images must be there. The annotations of the test split are not public; its files mark the bonnet
and the border alone, so its frames have no boxes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import is_file, is_folder, naming, read_json
from roadworthy._frozen import FrozenDict
from roadworthy.class_lists import class_list
from roadworthy.datasets import _base
from roadworthy.errors import FrameError, InputError, check_known
from roadworthy.frames import Boxes, Frame, LabelMap, Signals
from roadworthy.images import read_ids, read_image
from roadworthy.ontology import VOID, ontology
from roadworthy.registry import datasets

_LIST = "cityscapes-34"


def label_classes() -> tuple[tuple[str, str], ...]:
    """Return Cityscapes' name and the ontology's class of every label id, in order.

    Void are what was not recognised and what the ontology has no class for, such as walls and fences.
    """
    return _base.listed_classes(_LIST)


@cache
def _instance_meanings() -> Mapping[int, _base.Meaning]:
    """Return class and attributes of the boxes of every label id that has instances."""
    words = list(class_list(_LIST).words.values())
    found = {number: _base.meaning_of(words[number] or VOID) for number in range(24, 33)}
    # The rider of a bicycle, if there is one, is an instance of its own and the bicyclist.
    return FrozenDict({**found, 33: _base.BICYCLE})


SPLITS = ("train", "val", "test", "train_extra", "demoVideo")
IMAGE_ENDING = "_leftImg8bit.png"


@datasets.register("cityscapes", summary="Cityscapes: label maps, instances, boxes and odometry of cities")
class CityscapesDataset(_base.BaseDataset):
    """Frames of Cityscapes with label maps, instances, boxes, speed and yaw rate.

    A track id is the number in the instance map, such as 26001 for the second car. Groups that were not told
    apart have labels but no box. Speed is in m/s; the other numbers of ``vehicle/`` are extra signals under
    their own names. Metadata has the city, the split and, where it is there, the camera.

    Args:
        path: The folder of the data set.
        split: One of the folders in leftImg8bit/, such as "val"; all of them when left out.
        annotations: "gtFine" or "gtCoarse".
        on_error: What iteration does with a frame that cannot be read.
    """

    def __init__(
        self,
        path: str,
        *,
        split: str | None = None,
        annotations: Literal["gtFine", "gtCoarse"] = "gtFine",
        on_error: _base.OnError = "raise",
    ) -> None:
        """Find the images; nothing is opened yet."""
        self._root = _base.existing_folder(path, "Cityscapes")
        folder = _base.existing_folder(self._root / "leftImg8bit", "leftImg8bit of Cityscapes")
        self._annotations = annotations
        self._places = _places(folder, split)
        super().__init__(f"cityscapes:{path}", [name for _, _, name in self._places], on_error=on_error)

    def cluster(self, number: int) -> str:
        """Return the city and recording that a frame is of."""
        return self.all_ids[number].rpartition("_")[0] or self.all_ids[number]

    def read(self, number: int) -> Frame:
        """Read an image and what there is about it."""
        split, city, name = self._places[number]
        image = read_image(self._root / "leftImg8bit" / split / city / f"{name}{IMAGE_ENDING}")
        metadata: dict[str, object] = {"city": city, "split": split}
        camera = self._path("camera", number, "_camera.json")
        if is_file(camera):
            metadata["camera"] = _camera(camera)
        frame = Frame(name, image, signals=self._signals(number), metadata=metadata)
        labels = self._path(self._annotations, number, f"_{self._annotations}_labelIds.png")
        if is_file(labels):
            frame = _with_labels(frame, labels)
        instances = self._path(self._annotations, number, f"_{self._annotations}_instanceIds.png")
        return _with_instances(frame, instances) if is_file(instances) and split != "test" else frame

    def _path(self, kind: str, number: int, ending: str) -> Path:
        split, city, name = self._places[number]
        return self._root / kind / split / city / f"{name}{ending}"

    def _signals(self, number: int) -> Signals:
        file = self._path("vehicle", number, "_vehicle.json")
        if not is_file(file):
            return Signals()
        with naming(file):
            found = _numbers(read_json(file), "the vehicle")
            return Signals(speed=found.pop("speed", None), extra=found)


def _places(folder: Path, split: str | None) -> list[tuple[str, str, str]]:
    """Return split, city and name of every image, in order."""
    known = [one.name for one in folder.iterdir() if is_folder(one)]
    if split is not None:
        check_known(f"{folder} has no split", split, known)
    order = {name: index for index, name in enumerate(SPLITS)}
    chosen = [split] if split else sorted(known, key=lambda name: (order.get(name, len(order)), name))
    places = [
        (part, file.parent.name, file.name.removesuffix(IMAGE_ENDING))
        for part in chosen
        for file in sorted((folder / part).glob(f"*/*{IMAGE_ENDING}"), key=_by_name)
    ]
    if not places:
        where = folder / (split or "<split>")
        raise InputError(f"expected images {where}/<city>/*{IMAGE_ENDING}, found none")
    return places


def _by_name(file: Path) -> tuple[tuple[int, int, str], ...]:
    return _base.natural_order(file.name)


def _with_labels(frame: Frame, file: Path) -> Frame:
    ids = read_ids(file)
    with naming(file):
        classes = label_classes()
        if (largest := int(ids.max(initial=0))) >= len(classes):
            raise FrameError(
                f"label ids of Cityscapes must be 0 to {len(classes) - 1}, got {largest}: "
                "expected *_labelIds.png, not *_labelTrainIds.png"
            )
        table = np.array([ontology().label_id(word) for _, word in classes], np.uint8)
        return frame.replace(labels=LabelMap(table[ids]))


def _with_instances(frame: Frame, file: Path) -> Frame:
    values = read_ids(file)
    with naming(file):
        # Numbers below are classes: things without instances, and groups that were not told apart.
        instances = np.where(values >= 1000, values, 0).astype(np.uint16)
        return frame.replace(instances=instances, boxes=_boxes(instances))


def _boxes(instances: NDArray[np.uint16]) -> Boxes:
    """Return the box round the pixels of each instance, in the order of their ids."""
    rows, columns = np.nonzero(instances)
    values = instances[rows, columns]
    order = np.argsort(values, kind="stable")
    ids, starts = np.unique(values[order], return_index=True)
    if not len(ids):
        return Boxes.empty()
    rows, columns = rows[order], columns[order]
    corners = np.stack(
        [
            np.minimum.reduceat(columns, starts),
            np.minimum.reduceat(rows, starts),
            np.maximum.reduceat(columns, starts) + 1,
            np.maximum.reduceat(rows, starts) + 1,
        ],
        axis=1,
    )
    known = _instance_meanings()
    if wrong := [value for value in ids.tolist() if value // 1000 not in known]:
        raise FrameError(
            f"instance {wrong[0]} has the label id {wrong[0] // 1000}: "
            f"expected one with instances, {min(known)} to {max(known)}"
        )
    names, facts = zip(*(known[value // 1000] for value in ids.tolist()), strict=True)
    return Boxes(corners, names, track_ids=ids.astype(np.int64), attributes=facts)


def _camera(file: Path) -> dict[str, dict[str, float]]:
    document = read_json(file)
    with naming(file):
        if not isinstance(document, dict):
            raise FrameError(f"the camera must be a JSON object, got {document!r:.60}")
        return {part: _numbers(values, f"{part} of the camera") for part, values in document.items()}


def _numbers(document: Any, what: str) -> dict[str, float]:
    if not isinstance(document, dict):
        raise FrameError(f"{what} must be a JSON object, got {document!r:.60}")
    for key, value in document.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise FrameError(f"{what}: {key} must be a number, got {value!r}")
    return {key: float(value) for key, value in document.items()}
