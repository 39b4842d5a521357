"""Data and detectors to and from the protocols of MAITE (object detection).

MAITE is made of protocols, so nothing of it is needed here: a wrapper has the methods and attributes that
they ask for. Images are channels × height × width there, and height × width × channels here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import naming
from roadworthy.cases import Dataset, Prediction
from roadworthy.errors import FrameError, InputError, SystemUnderTestError
from roadworthy.frames import Boxes, Frame
from roadworthy.frames.formats.files import ClassNames, Names, by_number
from roadworthy.frames.formats.maite import MaiteTarget, as_numpy
from roadworthy.models import SystemUnderTest

Image = NDArray[np.uint8]


class MaiteDataset:
    """A data set of Roadworthy as MAITE's ``object_detection.Dataset``.

    Args:
        data: The data set; its frames must have boxes.
        names: The class names by their numbers.
        class_names: The ontology word for a class name, where the ontology does not know it.

    Example:
        >>> from roadworthy.datasets import load
        >>> things = ["vehicle", "pedestrian", "traffic sign", "traffic light", "bicyclist"]
        >>> image, target, metadata = MaiteDataset(load("world:town", count=2), things)[0]
        >>> image.shape, target.boxes.shape[1], metadata["id"]
        ((3, 160, 320), 4, 'town-000000')
    """

    def __init__(self, data: Dataset, names: Names, *, class_names: ClassNames | None = None) -> None:
        self._data = data
        self._names = names
        self._class_names = class_names
        self.metadata: dict[str, Any] = {"id": data.name, "index2label": by_number(names)}

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, index: int, /) -> tuple[Image, MaiteTarget, dict[str, Any]]:
        if not 0 <= index < len(self):
            # Iteration over a sequence without __iter__ ends by this.
            raise IndexError(index)
        frame = self._data[index]
        if frame.boxes is None:
            raise FrameError(f"frame {frame.id!r} of {self._data.name} has no boxes, and MAITE needs them")
        target = frame.boxes.to_maite(self._names, class_names=self._class_names)
        return _channels_first(frame.image), target, {"id": frame.id}


class FromMaiteDataset:
    """A data set of MAITE's object detection as one of Roadworthy.

    Args:
        data: The data set.
        names: The class names by their numbers; from its metadata when left out.
        class_names: The ontology word for a class name, where the ontology does not know it.

    Raises:
        InputError: It has no id, or nothing says what the classes are called.
    """

    def __init__(
        self, data: Any, names: Names | None = None, *, class_names: ClassNames | None = None
    ) -> None:
        self._data = data
        self.name = _id(data.metadata, "a data set")
        self._names = _known_names(data.metadata, names)
        self._class_names = class_names

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, index: int, /) -> Frame:
        with naming(f"{self.name}[{index}]"):
            match self._data[index]:
                case (image, target, metadata):
                    boxes = Boxes.from_maite(target, self._names, class_names=self._class_names)
                case other:
                    raise FrameError(f"expected an image, a target and metadata, got {other!r:.80}")
            # Ground truth has scores of 1 there and none here.
            known = Boxes(boxes.xyxy, boxes.classes, attributes=boxes.attributes)
            return Frame(_id(metadata, "an image"), _channels_last(image), boxes=known)

    def __iter__(self) -> Iterator[Frame]:
        return (self[index] for index in range(len(self)))


class MaiteModel:
    """A detector of Roadworthy as MAITE's ``object_detection.Model``.

    Args:
        system: The detector.
        names: The class names by their numbers.
        class_names: The ontology word for a class name, where the ontology does not know it.
    """

    def __init__(
        self, system: SystemUnderTest, names: Names, *, class_names: ClassNames | None = None
    ) -> None:
        self._system = system
        self._names = names
        self._class_names = class_names
        self.metadata: dict[str, Any] = {"id": system.name, "index2label": by_number(names)}

    def __call__(self, input_batch: Sequence[Any], /) -> list[MaiteTarget]:
        """Return the detections for a batch of images."""
        frames = [Frame(str(number), _channels_last(image)) for number, image in enumerate(input_batch)]
        found = []
        for answer in self._system.predict(frames):
            if not isinstance(answer, Boxes):
                raise SystemUnderTestError(f"expected Boxes, got {type(answer).__name__}: it is no detector")
            found.append(answer.to_maite(self._names, class_names=self._class_names))
        return found


class FromMaiteModel:
    """A detector of MAITE as a system under test.

    Args:
        model: The model.
        names: The class names by their numbers; from its metadata when left out.
        class_names: The ontology word for a class name, where the ontology does not know it.
        least: Detections with a lower score are left out; MAITE's models often give all of them.

    Raises:
        InputError: It has no id, or nothing says what the classes are called.
    """

    def __init__(
        self,
        model: Any,
        names: Names | None = None,
        *,
        class_names: ClassNames | None = None,
        least: float = 0.0,
    ) -> None:
        self._model = model
        self.name = _id(model.metadata, "a model")
        self._names = _known_names(model.metadata, names)
        self._class_names = class_names
        self._least = least

    def predict(self, frames: Sequence[Frame], /) -> Sequence[Prediction]:
        """Return the boxes for every frame."""
        targets = self._model([_channels_first(frame.image) for frame in frames])
        answers = [Boxes.from_maite(one, self._names, class_names=self._class_names) for one in targets]
        if not self._least:
            return answers
        return [one[one.scores >= self._least] if one.scores is not None else one for one in answers]


def _id(metadata: Any, what: str) -> str:
    if not isinstance(metadata, Mapping) or "id" not in metadata:
        raise InputError(f"{what} of MAITE must have metadata with an id, got {metadata!r:.80}")
    return str(metadata["id"])


def _known_names(metadata: Mapping[str, Any], names: Names | None) -> Names:
    if names is not None:
        return names
    known = metadata.get("index2label")
    if not known:
        raise InputError(f"{metadata.get('id')} has no class names: give some, such as ['person', 'car']")
    try:
        return {int(number): str(name) for number, name in known.items()}
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{metadata.get('id')}: index2label must have a name for each number, such as {{0: 'car'}}, got "
            f"{known!r:.80}"
        ) from error


def _channels_first(image: Image) -> Image:
    return np.ascontiguousarray(image.transpose(2, 0, 1))


def _channels_last(image: Any) -> Image:
    array = as_numpy(image, "an image")
    if array.ndim != 3 or array.shape[0] != 3:
        raise FrameError(f"an image must have shape (3, height, width), got {array.shape}")
    if not (array.size == 0 or (array.min() >= 0 and array.max() <= 255)):
        raise FrameError("an image must have values from 0 to 255, or from 0 to 1: give it unnormalised")
    if array.dtype.kind == "f":
        array = np.rint(array * (255 if array.max(initial=0.0) <= 1 else 1))
    return np.ascontiguousarray(array.transpose(1, 2, 0).astype(np.uint8))
