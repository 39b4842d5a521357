"""What a retraining works with: training data, frames and changed versions of them, as the network sees them.

All is made once and can be stored, so that the training itself may run on another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Dataset, Original
from roadworthy.datasets import BaseDataset
from roadworthy.errors import InputError, NotApplicable, check_number
from roadworthy.frames import Frame, SignalUnits
from roadworthy.models.zoo import Variant
from roadworthy.reliability.transformations import (
    PAPER_TRANSFORMATIONS,
    SampledFrame,
    Transformation,
    shares,
    transformation_named,
)
from roadworthy.runs.changed_images import StoredImage, check_searched, stored_images
from roadworthy.seeding import rng_for
from roadworthy.training import with_history
from roadworthy.training.samples import Samples, read_samples
from roadworthy.training.stored import Encoding, reading_material, write_material
from roadworthy.training.tasks import TrainingTask, task_for
from roadworthy.transforms import Transform, parse_transform
from roadworthy.visual_change.tolerance import tolerance_of

STEERING = "steering"
GUIDED = "guided"
CLEAN = "clean"

_FORMAT = "roadworthy retraining 1"
_CHUNK = 64  # frames that are held at full size
_MOMENT = 2.0  # seconds; frames that are nearer to each other are no independent evidence


@dataclass(frozen=True)
class ErrorUnit:
    """The unit in which errors are told: that of the recording, where it declares one.

    Attributes:
        name: What it is called.
        per_degree: How many of it one degree at the wheels is.
    """

    name: str = "°"
    per_degree: float = 1.0

    @classmethod
    def of(cls, data: Dataset) -> ErrorUnit:
        """Return the unit of a data set's steering.

        Example:
            >>> from roadworthy.datasets import load
            >>> ErrorUnit.of(load("world", count=1))
            ErrorUnit(name='°', per_degree=1.0)
        """
        units = getattr(data, "units", None)
        if not isinstance(units, SignalUnits):
            return cls()
        name = units.steering if isinstance(units.steering, str) else "units of the recording"
        if units.steering_ratio != 1:
            name += " at the steering wheel"
        return cls(name, abs(float(units.encode_steering(1.0))))


@dataclass(frozen=True, eq=False)
class RetrainingImages:
    """SampledFrame images of one kind, such as rain.

    Attributes:
        samples: The images with the labels of their originals.
        originals: Which frame each shows, by its number.
    """

    samples: Samples
    originals: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Material:
    """What a retraining works with.

    Attributes:
        variant: The network.
        training: The original training data.
        clean: The frames that images are made from, as they are.
        moments: A number for each of them, the same for frames that are near in time.
        changed: SampledFrame versions of them, by kind.
        unit: Of the errors of steering.
        left_out: How many frames could not be changed, by kind: those that a kind does not apply to.
    """

    variant: Variant
    training: Samples
    clean: Samples
    moments: NDArray[np.int64]
    changed: Mapping[str, RetrainingImages]
    unit: ErrorUnit
    left_out: Mapping[str, int]

    def __str__(self) -> str:
        return ", ".join(f"{count} {kind}" for kind, count in self.counts.items())

    @property
    def counts(self) -> dict[str, int]:
        """How many images there are of each kind."""
        changed = {kind: len(one.originals) for kind, one in self.changed.items()}
        return {"training": len(self.training), CLEAN: len(self.clean), **changed}

    def save(self, path: Path, encoding: Encoding = "png") -> None:
        """Write it to one file that `load` reads.

        Raises:
            InputError: It cannot be written.
        """
        parts, arrays = {"training": self.training, CLEAN: self.clean}, {"moments": self.moments}
        for kind, one in self.changed.items():
            parts[f"changed {kind}"], arrays[f"changed {kind} originals"] = one.samples, one.originals
        unit = [self.unit.name, self.unit.per_degree]
        header = {"unit": unit, "left_out": dict(self.left_out), "kinds": list(self.changed)}
        write_material(path, _FORMAT, self.variant, parts, header=header, arrays=arrays, encoding=encoding)

    @classmethod
    def load(cls, path: Path) -> Material:
        """Read what `save` wrote; nothing in the file can run.

        Raises:
            InputError: The file is missing, broken, or none of these.
        """
        told = "holds no material for a retraining", "roadworthy coverage retrain --prepare FILE"
        with reading_material(path, _FORMAT, *told) as found:
            header, arrays = found.header, found.arrays
            known = found.samples("training"), found.samples(CLEAN), arrays["moments"]
            changed = {
                kind: RetrainingImages(found.samples(f"changed {kind}"), arrays[f"changed {kind} originals"])
                for kind in header["kinds"]
            }
            unit = ErrorUnit(str(header["unit"][0]), float(header["unit"][1]))
            left_out = {str(kind): int(count) for kind, count in header["left_out"].items()}
            return cls(found.variant, *known, changed, unit, left_out)


def read_material(
    variant: Variant,
    training: Dataset | Sequence[Dataset],
    data: Dataset,
    changes: Mapping[str, Transform],
    *,
    guided: Sequence[StoredImage] = (),
    seed: int = 0,
    workers: int = 1,
    memory: float = 8.0,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Material:
    """Read training data and frames, and change the frames in each way.

    Args:
        variant: The network.
        training: The original training data.
        data: The frames that images are made from, in the order in which they were recorded.
        changes: What is done to them, by the name of the kind, such as "rain".
        guided: Images that a search found, of frames of the data; they get the kind "guided".
        seed: Chooses what is random in the changes.
        workers: Processes that read the training data.
        memory: Gibibytes that the images may take.
        progress: Called with the frames that were changed so far and the number of all.

    Raises:
        InputError: The network does not steer, a frame has no label, the images of a search are of other
            frames, or nothing is left to learn from.
    """
    if STEERING not in variant.outputs:
        raise InputError(
            f"{variant.name} answers with {', '.join(variant.outputs)}, and what the weather leaves as it is "
            "is the steering: give a network that steers"
        )
    if guided and variant.spec.input.history:
        raise InputError(
            f"{variant.name} sees {variant.spec.input.history} earlier frames, and a run stores one image of "
            "a case: images of a search can retrain networks that see one frame"
        )
    task = task_for(variant)
    learned = read_samples(training, task, variant.spec.input, workers=workers, memory=memory)
    reader = _Versions(variant, task, changes, guided, seed)
    done = 0
    frames = with_history(data, variant.spec.input.history)
    while chunk := list(islice(frames, _CHUNK)):
        reader.add(chunk)
        done += len(chunk)
        progress(done, len(data))
    if not done:
        raise InputError(f"{data.name} has no frame that {variant.name} can use")
    if guided and GUIDED not in reader.parts:
        raise InputError(
            f"none of the {len(guided)} images of the search is of a frame of {data.name}: give the data "
            f"that was searched; the first is of frame {guided[0].original!r}"
        )
    changed = {
        kind: RetrainingImages(
            Samples.joined(parts, f"{data.name}, {kind}"), np.array(reader.originals[kind], np.int64)
        )
        for kind, parts in reader.parts.items()
        if kind != CLEAN
    }
    if not changed:
        raise InputError(f"no frame of {data.name} could be changed by {', '.join(changes) or 'anything'}")
    clean = Samples.joined(reader.parts[CLEAN], data.name)
    moments = np.array(reader.moments, np.int64)
    return Material(variant, learned, clean, moments, changed, ErrorUnit.of(data), reader.left_out)


def material_of(
    variant: Variant,
    data: Dataset,
    training: Dataset | None = None,
    *,
    cut: float = 0.8,
    changes: Sequence[str] = ("rain", "fog"),
    run: Path | None = None,
    **how: Any,
) -> Material:
    """Read what a network is retrained with, by the names of changes and the folder of a search.

    Args:
        variant: The network.
        data: The frames to change; also the training data, where that is left out.
        training: The original training data.
        cut: Without it, the share of the data that is trained on.
        changes: How frames are changed.
        run: A search on the data, whose failing images are learned from too.
        how: As `read_material` takes it.
    """
    known, frames = (training, data) if training is not None else cut_in_two(data, cut)
    guided = [] if run is None else failing_images(run, frames)
    return read_material(variant, known, frames, named_changes(changes), guided=guided, **how)


def cut_in_two(data: Dataset, cut: float) -> tuple[Dataset, Dataset]:
    """Return the first part of a recording, as training data, and the rest, to make changed images from.

    Raises:
        InputError: The data set cannot be cut, or a part would be empty.
    """
    if not isinstance(data, BaseDataset):
        raise InputError(
            f"{data.name} cannot be cut into two parts: name the training data by --training DATA"
        )
    place = round(cut * len(data))
    if not 0 < place < len(data):
        raise InputError(
            f"--cut {cut:.0%} leaves {place} of {len(data)} frames for training and {len(data) - place} to "
            "change: both must have some"
        )
    return data[:place], data[place:]


def named_changes(texts: Sequence[str]) -> dict[str, Transform]:
    """Return changes by the names of their kinds.

    Raises:
        InputError: One cannot be read, or is there twice.
    """
    changes: dict[str, Transform] = {}
    for text in texts:
        change = parse_transform(text)
        if change in changes.values():
            raise InputError(f"the change {text!r} is given twice; leave one out")
        changes[str(change) if change.name in changes else change.name] = change
    return changes


def failing_images(run: Path, data: Dataset) -> list[StoredImage]:
    """Return the failing images of a run on the data.

    Raises:
        InputError: There are none, or the run is on other data.
    """
    failing = [one for one in stored_images(run) if one.failing]
    if not failing:
        raise InputError(f"the run {run} has no failing images to learn from")
    check_searched(run, data)
    return failing


class _Versions:
    """Collects frames and their changed versions as a network sees them."""

    def __init__(
        self,
        variant: Variant,
        task: TrainingTask,
        changes: Mapping[str, Transform],
        guided: Sequence[StoredImage],
        seed: int,
    ) -> None:
        self.variant, self.task, self.changes, self.seed = variant, task, changes, seed
        self.parts: dict[str, list[Samples]] = {}
        self.originals: dict[str, list[int]] = {}
        self.left_out: dict[str, int] = dict.fromkeys(changes, 0)
        self.moments: list[int] = []
        self._known: dict[object, int] = {}
        self._guided: dict[str, list[StoredImage]] = {}
        for one in guided:
            self._guided.setdefault(one.original, []).append(one)

    def add(self, frames: Sequence[Frame]) -> None:
        """Add frames and all their versions."""
        first = len(self.moments)
        self.moments += [self._moment(frame) for frame in frames]
        self._keep(CLEAN, list(enumerate(frames, first)))
        for kind, change in self.changes.items():
            made = []
            for number, frame in enumerate(frames, first):
                rng = rng_for(self.seed, "retraining", kind, frame.id)
                try:
                    made.append((number, change(frame, rng, measure=False)))
                except NotApplicable:
                    self.left_out[kind] += 1
            self._keep(kind, made)
        found = [
            (number, Frame.from_file(one.file, id=one.case, signals=frame.signals))
            for number, frame in enumerate(frames, first)
            for one in self._guided.get(frame.id, ())
        ]
        self._keep(GUIDED, found)

    def _keep(self, kind: str, frames: Sequence[tuple[int, Frame]]) -> None:
        if not frames:
            return
        data = _Listed(kind, [frame for _, frame in frames])
        self.parts.setdefault(kind, []).append(read_samples(data, self.task, self.variant.spec.input))
        self.originals.setdefault(kind, []).extend(number for number, _ in frames)

    def _moment(self, frame: Frame) -> int:
        time = frame.signals.timestamp
        # What has no time is taken to stand by itself.
        key = frame.id if time is None else int(time // _MOMENT)
        return self._known.setdefault((frame.metadata.get("sequence"), key), len(self._known))


class _Listed(BaseDataset):
    """Frames that are there already."""

    def __init__(self, name: str, frames: Sequence[Frame]) -> None:
        super().__init__(name, list(map(str, range(len(frames)))))
        self._frames = frames

    def read(self, number: int) -> Frame:
        """Return a frame."""
        return self._frames[number]


class WithChanges(BaseDataset):
    """The frames of a data set, each followed by changed versions of it; what is true of it stays true.

    With changes inside the tolerated range a model learns what a human still sees. The paper leaves open
    whether training with such data meets its requirements (section 7).

    Args:
        data: The frames.
        transformations: What changes them; versions take turns.
        limits: The largest Δv under each.
        versions: How many changed versions follow each frame; one for each transformation when left out.
        seed: The same seed gives the same bytes. One that is used for training must not be used for checking.

    Raises:
        InputError: There are no transformations, not as many limits, or no versions.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.reliability import transformation_named
        >>> data = WithChanges(load("world-crops", count=2), [transformation_named("jpeg")], [0.94])
        >>> [frame.metadata["class"] for frame in data]
        ['pedestrian', 'pedestrian', 'bicyclist', 'bicyclist']
        >>> data[1].visual_change <= 0.94
        True
    """

    def __init__(
        self,
        data: Dataset,
        transformations: Sequence[Transformation],
        limits: Sequence[float],
        versions: int | None = None,
        seed: int = 0,
    ) -> None:
        if not transformations or len(transformations) != len(limits):
            raise InputError(
                "expected at least one transformation and a limit for each, got "
                f"{len(transformations)} and {len(limits)} limits"
            )
        count = len(transformations) if versions is None else versions
        check_number("versions", count, least=1)
        self._data, self._seed, self._versions = data, seed, count
        self._changes = list(zip(transformations, limits, strict=True))
        self._places = shares(len(data), count, rng_for(seed, "places"))
        changes = ", ".join(f"{kind.name} up to {limit:g}" for kind, limit in self._changes)
        super().__init__(f"{data.name} with {changes}", list(map(str, range(len(data) * (1 + count)))))

    def read(self, number: int) -> Frame:
        """Return a frame, or a changed version; the frame itself where it cannot be changed so."""
        place, version = divmod(number, 1 + self._versions)
        original = Original(self._data, place)
        if not version:
            return original()
        kind, limit = self._changes[(place + version) % len(self._changes)]
        seed = int(rng_for(self._seed, "change", place, version).integers(2**63))
        try:
            # Shares of the range are even over all frames, whichever transformation has its turn.
            return SampledFrame(original, kind, limit, self._places[place][version - 1], seed)()
        except NotApplicable:
            return original()


def tolerated_changes(
    names: Sequence[str] | None, *, study: str, limit: float | None = None
) -> tuple[list[Transformation], list[float]]:
    """Return transformations and how far each may go: as far as people tolerate, or up to a limit.

    Args:
        names: Their names; the paper's eight if left out.
        study: Whose tolerated ranges.
        limit: The largest Δv, instead of what people tolerate.

    Raises:
        InputError: There is no such transformation, or nobody has measured it.
    """
    kinds = [transformation_named(one) for one in names or PAPER_TRANSFORMATIONS]
    if limit is not None:
        return kinds, [limit] * len(kinds)
    known = [tolerance_of(one.name, study=study) for one in kinds]
    return kinds, [max(one.correctness, one.prediction) for one in known]
