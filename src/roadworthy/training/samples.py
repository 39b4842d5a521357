"""The data of a training: what the network sees of every frame, resized once and kept in memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence, Sized
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b, sha256
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Dataset
from roadworthy.errors import InputError, check_number
from roadworthy.frames import Frame
from roadworthy.frames.frame import with_history
from roadworthy.models.images import ImageInput
from roadworthy.models.torch_module import imported_torch
from roadworthy.training.evaluation import nothing_to_use
from roadworthy.training.loop import Settings
from roadworthy.training.tasks import TrainingTask

if TYPE_CHECKING:
    import torch


_CHUNK = 64  # frames per job: large enough that sending them costs little, small enough to share the work
_HISTORIES = 4  # at least so long is a job: each reads the history of its first frames once more
_SHARES = (0.5, 2.0)  # of the validation data that was asked for: what a cut between drives may come to


@dataclass(frozen=True, eq=False)
class Samples:
    """What a network is trained with.

    Attributes:
        name: Of the data.
        images: Every image once: images × channels × height × width, uint8, in the colours of the input.
        windows: Which images a sample shows, oldest first: samples × time.
        targets: What the network should answer, a row per sample.
        drives: A number for the drive that a sample belongs to; it changes from drive to drive.
    """

    name: str
    images: NDArray[np.uint8]
    windows: NDArray[np.int64]
    targets: NDArray[np.float32]
    drives: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.windows)

    @cached_property
    def sha256(self) -> str:
        """The hash of all that the network sees and learns."""
        digest = sha256()
        for array in (self.images, self.windows, self.targets):
            digest.update(str(array.shape).encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def take(self, numbers: NDArray[np.integer], name: str) -> Samples:
        """Return the samples with these numbers, in this order, with those images that they show.

        Example:
            >>> images = np.arange(3, dtype=np.uint8).reshape(3, 1, 1, 1)
            >>> windows, targets = np.arange(3)[:, None], np.zeros((3, 1), np.float32)
            >>> drive = Samples("drive", images, windows, targets, np.zeros(3, np.int64))
            >>> some = drive.take(np.array([2, 0]), "some")
            >>> some.images[some.windows].ravel().tolist()
            [2, 0]
        """
        shown, windows = np.unique(self.windows[numbers], return_inverse=True)
        windows = windows.reshape(self.windows[numbers].shape)
        return Samples(name, self.images[shown], windows, self.targets[numbers], self.drives[numbers])

    def split(self, share: float) -> tuple[Samples, Samples]:
        """Return what comes first, and this share of the samples, which comes last.

        Neighbouring frames are nearly the same, so the cut is made in time and never at random: between two
        drives where that gives about the share, otherwise inside a drive. No image is in both parts: samples
        after the cut whose earlier frames lie before it are left out.

        Raises:
            InputError: There is too little data for two parts.

        Example:
            >>> images = np.arange(9, dtype=np.uint8).repeat(4).reshape(9, 1, 2, 2)
            >>> windows = np.arange(8)[:, None] + [0, 1]
            >>> one = Samples("drive", images, windows, np.zeros((8, 1), np.float32), np.zeros(8, np.int64))
            >>> before, after = one.split(0.5)
            >>> len(before), len(before.images), len(after), len(after.images)
            (4, 5, 3, 4)
        """
        cut = round(len(self) * (1 - share))
        borders = np.flatnonzero(np.diff(self.drives)) + 1
        held_out = (len(self) - borders) / (len(self) * share)
        borders = borders[(held_out >= _SHARES[0]) & (held_out <= _SHARES[1])]
        if len(borders):
            cut = int(borders[np.abs(borders - cut).argmin()])
        start = self._first_apart(cut)
        if not 0 < cut < len(self) or start >= len(self):
            noun = "sample" if len(self) == 1 else "samples"
            raise InputError(
                f"{self.name} has {len(self)} {noun}, too few to keep {share:.0%} for validation: use more "
                "data, or give validation data"
            )
        first, last = np.arange(cut), np.arange(start, len(self))
        return self.take(first, f"{self.name}[:{cut}]"), self.take(last, f"{self.name}[{start}:]")

    def _first_apart(self, cut: int) -> int:
        """Return the first sample from the cut on that shows no image of those before it.

        Images are compared by what they show: where jobs meet, both have read the same frames.
        """
        earlier = int(self.windows.shape[1]) - 1
        shown = {self.images[image].tobytes() for image in self.windows[max(0, cut - earlier) : cut].ravel()}
        for start in range(cut, min(cut + earlier, len(self))):
            if not any(self.images[image].tobytes() in shown for image in self.windows[start]):
                return start
        return min(cut + earlier, len(self))

    @classmethod
    def joined(cls, parts: Sequence[Samples], name: str) -> Samples:
        """Return all samples of several parts, in order."""
        starts = np.cumsum([0, *(len(part.images) for part in parts)])
        return cls(
            name,
            np.concatenate([part.images for part in parts]),
            np.concatenate([part.windows + start for part, start in zip(parts, starts, strict=False)]),
            np.concatenate([part.targets for part in parts]),
            np.concatenate([part.drives for part in parts]),
        )


Job = TypeVar("Job")
Result = TypeVar("Result")


class Stretch(NamedTuple):
    """Frames that follow each other, of one of some data sets."""

    data: int
    start: int
    stop: int


def stretches(sets: Sequence[Sized], length: int) -> list[Stretch]:
    """Return all frames of some data sets in stretches of at most this length.

    Example:
        >>> [tuple(one) for one in stretches(["abc", "d"], 2)]
        [(0, 0, 2), (0, 2, 3), (1, 0, 1)]
    """
    starts = ((number, start) for number, data in enumerate(sets) for start in range(0, len(data), length))
    return [Stretch(number, start, min(start + length, len(sets[number]))) for number, start in starts]


def in_processes(
    work: Callable[[Job], Result], jobs: Sequence[Job], workers: int, *, ordered: bool = True
) -> Iterator[Result]:
    """Yield the results of all jobs, in their order or as they come.

    Args:
        work: Does a job, in any process; it is sent once to each, and not with every job.
        jobs: What to do.
        workers: How many processes; with one, all is done in this.
        ordered: Whether results come in the order of the jobs.

    Raises:
        InputError: There are no workers.
    """
    check_number("workers", workers, least=1)
    count = min(workers, len(jobs))
    if count < 2:
        yield from map(work, jobs)
        return
    # Fresh processes: a fork of one in which torch runs threads or a GPU may hang.
    pool = ProcessPoolExecutor(count, get_context("spawn"), _start, (work,))
    try:
        if ordered:
            yield from pool.map(_work, jobs)
        else:
            for done in as_completed([pool.submit(_work, job) for job in jobs]):
                yield done.result()
    finally:
        pool.shutdown(cancel_futures=True)


_of_this_process: list[Any] = []


def _start(work: Any) -> None:
    import cv2

    cv2.setNumThreads(1)
    _of_this_process[:] = [work]


def _work(job: Any) -> Any:
    return _of_this_process[0](job)


def readable(data: Dataset, number: int) -> Frame | None:
    """Return a frame; None where the data set leaves out what cannot be read."""
    try:
        return data[number]
    except InputError:
        if getattr(data, "on_error", "raise") == "raise":
            raise
        return None


def read_samples(
    data: Dataset | Sequence[Dataset],
    task: TrainingTask,
    taken: ImageInput,
    *,
    workers: int = 1,
    memory: float = 8.0,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Samples:
    """Read or render all frames of one or several data sets, and keep what the network sees of them.

    The result is the same for any number of workers.

    Args:
        data: The data; a data set that skips what it cannot read may do so.
        task: Says what the network should answer.
        taken: What it takes.
        workers: How many processes read. They start afresh, so data and task must be picklable.
        memory: Gibibytes that the images may take; while they are put together it is twice that.
        progress: Called with the frames that were read so far and the number of all.

    Raises:
        InputError: A frame cannot be used, none has the history that is needed, or all need too much memory.
    """
    sets = [data] if isinstance(data, Dataset) else list(data)
    total = sum(map(len, sets))
    name = " + ".join(data_set.name for data_set in sets)
    assert taken.width is not None
    assert taken.height is not None
    jobs = stretches(sets, max(_CHUNK, _HISTORIES * taken.history))
    readers = tuple(_Reader(data, task, taken) for data in sets)
    images = sum(readers[job.data].images(job.start, job.stop) for job in jobs)
    needed = images * taken.channels * taken.width * taken.height / 2**30
    if needed > memory:
        raise InputError(
            f"{name} needs {needed:.2g} GiB of memory for {images} images of {taken.width}x{taken.height}, "
            f"and {memory:g} are allowed: use fewer frames, or allow more memory"
        )
    parts: list[Samples] = []
    counts = [0] * len(sets)
    done = 0
    for job, part in zip(jobs, in_processes(partial(_read, readers), jobs, workers), strict=True):
        parts.append(part)
        counts[job.data] += len(part)
        done += job.stop - job.start
        progress(done, total)
    for data_set, count in zip(sets, counts, strict=True):
        if not count:
            raise InputError(nothing_to_use("the network", taken.history, data_set.name))
    return Samples.joined([part for part in parts if len(part)], name)


def _read(readers: Sequence[_Reader], job: Stretch) -> Samples:
    return readers[job.data].read(job.start, job.stop)


@dataclass(frozen=True)
class _Reader:
    """Turns a stretch of a data set into samples, in any process."""

    data: Dataset
    task: TrainingTask
    taken: ImageInput

    def read(self, start: int, stop: int) -> Samples:
        history = self.taken.history
        single = dataclasses.replace(self.taken, history=0)
        images: list[NDArray[np.uint8]] = []
        # A frame that was changed, and its history with it, still has the ids of the original.
        places: dict[tuple[str, bytes], int] = {}
        windows, targets, drives = [], [], []
        for frame in with_history(self._frames(start, stop), history):
            view = single.view(frame)
            seen = [*map(single.view, frame.previous[len(frame.previous) - history :]), view]
            pixels = (np.ascontiguousarray(shown.images).data for shown in seen)
            keys = [(shown.frame.id, blake2b(own).digest()) for shown, own in zip(seen, pixels, strict=True)]
            for key, shown in zip(keys, seen, strict=True):
                if key not in places:
                    places[key] = len(images)
                    images.append(np.moveaxis(shown.images[0], -1, 0))
            windows.append([places[key] for key in keys])
            targets.append(self.task.target(view))
            drives.append(_number(frame.metadata.get("sequence")))
        shape = (0, self.taken.channels, self.taken.height or 0, self.taken.width or 0)
        known = np.stack(images) if images else np.zeros(shape, np.uint8)
        truth = np.stack(targets) if targets else np.zeros((0, 0), np.float32)
        rows = np.array(windows, np.int64).reshape(-1, history + 1)
        return Samples(self.data.name, known, rows, truth, np.array(drives, np.int64))

    def images(self, start: int, stop: int) -> int:
        """Return how many images a stretch has at most."""
        if self._brings_history:
            return (stop - start) * (self.taken.history + 1)
        return stop - max(0, start - self.taken.history)

    @cached_property
    def _brings_history(self) -> bool:
        """Whether frames come with the earlier ones that the network sees."""
        if not self.taken.history:
            return False
        # The first frames of a drive may have none.
        frames = (readable(self.data, number) for number in reversed(range(len(self.data))))
        last = next(filter(None, frames), None)
        return last is not None and len(last.previous) >= self.taken.history

    def _frames(self, start: int, stop: int) -> Iterator[Frame]:
        if not self._brings_history:
            # What was recorded before the stretch is the history of its first frames.
            start = max(0, start - self.taken.history)
        yield from filter(None, (readable(self.data, number) for number in range(start, stop)))


def _number(drive: object) -> int:
    """Return a number for what a data set calls a drive: its own, or one made from its name."""
    return drive if isinstance(drive, int) else crc32(str(drive).encode())


_MOST_OF_THE_DEVICE = 0.5  # of its free memory, for images; the rest is for the network


class SampleFeed:
    """Gives the samples of a training as tensors.

    Args:
        samples: The samples. Their images go to the device at once if they fit well.
        taken: What the network takes.
        task: Says what the targets of mirrored images are.
        settings: How much images are changed.
        device: Where the tensors are wanted.
    """

    def __init__(
        self,
        samples: Samples,
        taken: ImageInput,
        task: TrainingTask,
        settings: Settings,
        device: torch.device,
    ) -> None:
        self._torch = imported_torch("train a network")
        self._taken, self._task, self._settings, self._device = taken, task, settings, device
        images = self._torch.from_numpy(samples.images)
        self._images = images.to(device) if _fits(self._torch, samples.images.nbytes, device) else images
        self._windows = self._torch.from_numpy(samples.windows).to(self._images.device)
        self._targets = self._torch.from_numpy(samples.targets).to(device)
        # Colours are scaled image by image, also where the images of a history are stacked as channels.
        factor, shift = dataclasses.replace(taken, history=0).scaling(np.float32)
        self._factor, self._shift = (
            self._torch.from_numpy(numbers.copy()).to(device) for numbers in (factor, shift)
        )
        grey = [0.0, 128.0, 128.0] if taken.color == "yuv" else [0.0]
        self._black = self._torch.tensor(grey, device=device).reshape(-1, 1, 1)

    def __len__(self) -> int:
        return len(self._windows)

    def plain(self, chosen: NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return images and targets of some samples as they are."""
        images, targets = self._raw(chosen)
        return self._scaled(images), targets

    def changed(
        self, chosen: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return images and targets of some samples, some of them mirrored, all brighter or darker."""
        images, targets = self._raw(chosen)
        gains = 1 + self._settings.brightness * rng.uniform(-1, 1, len(chosen))
        mirrored = rng.random(len(chosen)) < self._settings.mirror
        if self._settings.brightness:
            gain = self._torch.from_numpy(gains.astype(np.float32)).to(self._device).reshape(-1, 1, 1, 1, 1)
            images = ((images - self._black) * gain + self._black).clamp(0, 255)
        if mirrored.any():
            flags = self._torch.from_numpy(mirrored).to(self._device)
            images = self._torch.where(flags.reshape(-1, 1, 1, 1, 1), images.flip(-1), images)
            other = self._task.mirrored(targets)
            targets = self._torch.where(flags.reshape(-1, *[1] * (targets.ndim - 1)), other, targets)
        return self._scaled(images), targets

    def _raw(self, chosen: NDArray[np.int64]) -> tuple[Any, Any]:
        """Return samples × time × channels × height × width from 0 to 255, and the targets."""
        numbers = self._torch.from_numpy(np.ascontiguousarray(chosen))
        images = self._images[self._windows[numbers.to(self._windows.device)]].to(self._device).float()
        return images, self._targets[numbers.to(self._device)]

    def _scaled(self, images: Any) -> Any:
        """Return what the network takes."""
        images = images * self._factor + self._shift
        if self._taken.stacking == "channels":
            return images.flatten(1, 2)
        return images if self._taken.history else images[:, 0]


def _fits(torch: Any, size: int, device: torch.device) -> bool:
    if device.type != "cuda":
        return device.type == "cpu"
    free, _ = torch.cuda.mem_get_info(device)
    return bool(size < _MOST_OF_THE_DEVICE * free)
