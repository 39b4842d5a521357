"""What engines are trained with: frames of data sets as arrays of one size, kept in files."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from roadworthy._files import make_writable, read_json, replacing, write_text
from roadworthy.cases import Dataset
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.runs.store.digests import content_of_dataset
from roadworthy.training.samples import Job, Stretch, in_processes, readable, stretches
from roadworthy.transforms.learned.network import channel_table, edges_of

Arrays = dict[str, NDArray[Any]]

_NOTE = "data.json"


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images of one size, and what belongs to each.

    Attributes:
        name: Of the data.
        arrays: By what they show, each with one entry per picture: ``image``, ``truth`` and ``filled`` are
            RGB, height × width × 3, uint8; ``labels`` are numbers of channels, ``differs`` and ``edges``
            masks, ``opacity`` goes from 0 to 255, height × width.

    Example:
        >>> two = Pictures("two", {"image": np.zeros((2, 4, 8, 3), np.uint8)})
        >>> len(two), two.size, len(two.take([1]))
        (2, (4, 8), 1)
    """

    name: str
    arrays: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.arrays["image"])

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        height, width = self.arrays["image"].shape[1:3]
        return height, width

    @cached_property
    def sha256(self) -> str:
        """The hash of all arrays."""
        digest = sha256()
        for name, array in sorted(self.arrays.items()):
            digest.update(f"{name} {array.shape} {array.dtype}".encode())
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()

    def take(self, numbers: Sequence[int] | slice) -> Pictures:
        """Return some of the pictures."""
        return Pictures(self.name, {key: array[numbers] for key, array in self.arrays.items()})

    def split(self, share: float) -> tuple[Pictures, Pictures]:
        """Return what comes first, and this share, which comes last.

        Frames that follow each other are nearly the same, so they are never divided at random.

        Raises:
            InputError: There are too few.
        """
        cut = round(len(self) * (1 - share))
        if not 0 < cut < len(self):
            noun = "picture" if len(self) == 1 else "pictures"
            raise InputError(
                f"{self.name} has {len(self)} {noun}, too few to keep {share:.0%} for validation: use more "
                "data"
            )
        return self.take(slice(cut)), self.take(slice(cut, None))


def prepared(
    name: str,
    jobs: Sequence[Job],
    work: Callable[[Job], Arrays],
    *,
    workers: int = 1,
    folder: Path | None = None,
    identity: Mapping[str, object] | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Pictures:
    """Make pictures in several processes, and keep them in a folder.

    Each job leaves a file. Where that is there already the job is not done again, so that what was
    interrupted goes on. The result is the same for any number of workers.

    Args:
        name: What to call the data.
        jobs: What to do.
        work: Does a job, and returns its arrays; they may be empty. It travels to other processes.
        workers: How many processes.
        folder: Where to keep the files; nothing is kept when left out.
        identity: What the files depend on. A folder with files of other data is refused.
        progress: Is called with the jobs that are done and the number of all.

    Raises:
        InputError: The folder holds other data or cannot be written, or there is no picture at all.
    """
    if folder is not None:
        _claim(folder, dict(identity or {}))
    parts: list[Arrays] = []
    for part in in_processes(partial(_done, work, folder), list(enumerate(jobs)), workers):
        parts.append(part)
        progress(len(parts), len(jobs))
    parts = [part for part in parts if part and len(part["image"])]
    if not parts:
        raise InputError(f"{name} has no frame that can be used: none shows what is to be learned")
    return Pictures(name, {key: np.concatenate([part[key] for part in parts]) for key in parts[0]})


def _claim(folder: Path, identity: dict[str, object]) -> None:
    """Note what a folder is for."""
    note = folder / _NOTE
    if not note.is_file():
        make_writable(folder)
        write_text(note, json.dumps(identity, indent=1) + "\n")
    elif read_json(note) != json.loads(json.dumps(identity)):
        raise InputError(
            f"{folder} holds pictures made from other data or at another size: choose another folder, or "
            "delete it"
        )


def _done(work: Callable[[Job], Arrays], folder: Path | None, numbered: tuple[int, Job]) -> Arrays:
    """Do a job, or take what is kept of it."""
    number, job = numbered
    if folder is None:
        return work(job)
    path = folder / f"part-{number:05d}.npz"
    if path.is_file():
        with np.load(path) as stored:
            return {key: stored[key] for key in stored.files}
    arrays = work(job)
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    return arrays


class PictureMaker(ABC):
    """Makes arrays of a stretch of frames, in any process."""

    @abstractmethod
    def arrays(self, job: Stretch, number: int) -> Arrays:
        """Return the arrays of a frame; none where it is of no use.

        Raises:
            NotApplicable: It is of no use.
        """

    def __call__(self, job: Stretch) -> Arrays:
        """Return the arrays of all frames, stacked."""
        lists: dict[str, list[NDArray[Any]]] = {}
        for number in range(job.start, job.stop):
            with suppress(NotApplicable):
                for key, array in self.arrays(job, number).items():
                    lists.setdefault(key, []).append(array)
        return {key: np.stack(arrays) for key, arrays in lists.items()}


_CHUNK = 32  # frames per job


def read_pictures(
    data: Dataset | Sequence[Dataset],
    size: tuple[int, int],
    *,
    classes: Sequence[str] = (),
    edges: bool = False,
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
    name = " + ".join(data_set.name for data_set in sets)
    jobs = stretches(sets, _CHUNK)
    identity = {
        "data": name,
        "content": [content_of_dataset(data_set) for data_set in sets] if folder else [],
        "size": size,
        "classes": list(classes),
        "edges": edges,
    }
    reader = _Reader(sets, size, tuple(classes), edges)
    return prepared(name, jobs, reader, workers=workers, folder=folder, identity=identity, progress=progress)


@dataclass(frozen=True)
class _Reader(PictureMaker):
    """Keeps frames as they are."""

    sets: tuple[Dataset, ...]
    size: tuple[int, int]
    classes: tuple[str, ...]
    edges: bool

    def arrays(self, job: Stretch, number: int) -> Arrays:
        frame = readable(self.sets[job.data], number)
        if frame is None:
            return {}
        arrays = {"image": resized(frame.image, self.size)}
        if not self.classes:
            return arrays
        known = labels_of(frame)
        labels = LabelMap(resized(known.ids, self.size, cv2.INTER_NEAREST_EXACT), known.classes)
        arrays["labels"] = channels_of(labels, self.classes)
        if self.edges:
            things = frame.instances
            if things is not None:
                things = resized(things.astype(np.int32), self.size, cv2.INTER_NEAREST_EXACT)
            arrays["edges"] = edges_of(labels, things)[0].astype(np.uint8)
        return arrays


def labels_of(frame: Frame) -> LabelMap:
    """Return the label map of a frame.

    Raises:
        InputError: It has none.
    """
    if frame.labels is None:
        raise InputError(
            f"frame {frame.id} has no label map: an engine that paints from labels needs data with them"
        )
    return frame.labels


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
    seen = {name for frame in frames for name in labels_of(frame).present()}
    shown = tuple(name for name in names if name in seen)
    if not shown:
        raise InputError("the label maps of the data show nothing but void")
    return shown
