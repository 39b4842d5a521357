"""Frames of data sets as pictures to train with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Dataset
from roadworthy.errors import InputError
from roadworthy.frames import Frame, LabelMap
from roadworthy.transforms.learned.network import channel_table, edges_of
from roadworthy.transforms.learned.training.pictures import Arrays, Pictures, prepared

__all__ = ["channels_of", "classes_in", "read_pictures", "resized"]

_CHUNK = 32  # frames per job


def read_pictures(
    data: Dataset | Sequence[Dataset],
    size: tuple[int, int],
    *,
    classes: Sequence[str] = (),
    edges: bool = False,
    name: str | None = None,
    workers: int = 1,
    folder: Path | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Pictures:
    """Read or render the frames of one or several data sets, and keep them as arrays of one size.

    Args:
        data: The data; a data set that skips what it cannot read may do so.
        size: Height and width.
        classes: Of the label maps, in the order of the channels; without them no labels are kept.
        edges: Whether the edges between instances are kept, or between classes where instances are not known.
        name: What to call the data.
        workers: How many processes read.
        folder: Where to keep the arrays; nothing is kept when left out.
        progress: Is called with the parts that are read and the number of all.

    Raises:
        InputError: A frame has no label map though labels are asked for, or there is no frame.

    Example:
        >>> from roadworthy.datasets import load
        >>> pictures = read_pictures(load("world:town", count=2), (32, 64), classes=["road", "sky"])
        >>> {name: array.shape for name, array in pictures.arrays.items()}
        {'image': (2, 32, 64, 3), 'labels': (2, 32, 64)}
    """
    sets = (data,) if isinstance(data, Dataset) else tuple(data)
    called = name or " + ".join(one.name for one in sets)
    jobs = [
        _Stretch(number, start, min(start + _CHUNK, len(one)))
        for number, one in enumerate(sets)
        for start in range(0, len(one), _CHUNK)
    ]
    identity = {
        "data": called,
        "frames": [len(one) for one in sets],
        "size": size,
        "classes": list(classes),
        "edges": edges,
    }
    reader = _Reader(sets, size, tuple(classes), edges)
    return prepared(
        called, jobs, reader, workers=workers, folder=folder, identity=identity, progress=progress
    )


class _Stretch(NamedTuple):
    """Frames of one of the data sets that follow each other."""

    data: int
    start: int
    stop: int


@dataclass(frozen=True)
class _Reader:
    """Turns a stretch of frames into arrays, in any process."""

    sets: tuple[Dataset, ...]
    size: tuple[int, int]
    classes: tuple[str, ...]
    edges: bool

    def __call__(self, job: _Stretch) -> Arrays:
        data = self.sets[job.data]
        lists: dict[str, list[NDArray[np.uint8]]] = {}
        for number in range(job.start, job.stop):
            try:
                frame = data[number]
            except InputError:
                if getattr(data, "on_error", "raise") == "raise":
                    raise
                continue
            for key, one in self._arrays(frame).items():
                lists.setdefault(key, []).append(one)
        return {key: np.stack(found) for key, found in lists.items()}

    def _arrays(self, frame: Frame) -> dict[str, NDArray[np.uint8]]:
        found = {"image": resized(frame.image, self.size)}
        if not self.classes:
            return found
        if frame.labels is None:
            raise InputError(
                f"frame {frame.id} has no label map: an engine that paints from labels needs data with them"
            )
        labels = LabelMap(resized(frame.labels.ids, self.size, cv2.INTER_NEAREST), frame.labels.classes)
        found["labels"] = channels_of(labels, self.classes)
        if self.edges:
            things = frame.instances
            if things is not None:
                things = resized(things.astype(np.int32), self.size, cv2.INTER_NEAREST)
            found["edges"] = edges_of(labels, things)[0].astype(np.uint8)
        return found


def resized(image: NDArray[Any], size: tuple[int, int], how: int = cv2.INTER_AREA) -> NDArray[Any]:
    """Return an image at another size, given as height and width.

    Example:
        >>> resized(np.zeros((4, 8, 3), np.uint8), (2, 4)).shape
        (2, 4, 3)
    """
    if image.shape[:2] == size:
        return np.ascontiguousarray(image)
    if how == cv2.INTER_AREA and image.shape[0] < size[0]:
        how = cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, (size[1], size[0]), interpolation=how))


def channels_of(labels: LabelMap, classes: Sequence[str]) -> NDArray[np.uint8]:
    """Return the channel of each pixel: the number of its class, or one beyond the last for all else.

    Example:
        >>> labels = LabelMap(np.array([[0, 1, 2]], np.uint8), ("void", "road", "sky"))
        >>> channels_of(labels, ["sky", "road"]).tolist()
        [[2, 1, 0]]
    """
    return channel_table(labels.classes, tuple(classes)).astype(np.uint8)[labels.ids]


def classes_in(frames: Iterable[Frame], names: Sequence[str]) -> tuple[str, ...]:
    """Return those of some classes that frames show, in their order.

    Raises:
        InputError: A frame has no label map, or none shows any of them.
    """
    seen: Mapping[str, None] = {}
    for frame in frames:
        if frame.labels is None:
            raise InputError(
                f"frame {frame.id} has no label map: an engine that paints from labels needs data with them"
            )
        seen = {**seen, **dict.fromkeys(frame.labels.present())}
    found = tuple(one for one in names if one in seen)
    if not found:
        raise InputError("the label maps of the data show nothing but void")
    return found
