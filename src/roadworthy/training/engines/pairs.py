"""The world before and after a change whose truth can be rendered, and how near an engine comes to that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roadworthy._yaml import read_yaml
from roadworthy.datasets import WorldDataset
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.statistics import ConfidenceInterval, student_interval
from roadworthy.training.engines.pictures import Arrays, PictureMaker, prepared
from roadworthy.training.samples import Stretch, stretches
from roadworthy.transforms import Transform, make_transform
from roadworthy.transforms.engines import UserEngine
from roadworthy.transforms.learned.card import APART, EngineMetric
from roadworthy.transforms.operations import RemoveOperation, ReplaceOperation
from roadworthy.visual_change import look_distance, ssim
from roadworthy.world import Camera, Scene, frame_of, remove, replace, with_conditions

_LEVEL = "normal"  # of a weather that is drawn


@dataclass(frozen=True)
class WorldChange:
    """A change of the world.

    Attributes:
        name: Of the engine that learns it.
        operation: What is done.
        classical: The transform that does the same, by its name.
        options: Of that transform.
        skies: What frames look like before: options of the world's data set, each with its share of frames.
    """

    name: str
    operation: RemoveOperation | ReplaceOperation
    classical: str
    options: Mapping[str, float | str] = field(default_factory=dict)
    skies: tuple[tuple[float, Mapping[str, str]], ...] = ((1.0, {}),)

    @property
    def is_edit(self) -> bool:
        """Whether things change, rather than the weather, the time or the season."""
        return self.operation.what.condition is None

    @property
    def supports(self) -> dict[str, str]:
        """The operation as a card has it: of a weather, the level that is drawn, and no other.

        Example:
            >>> CHANGES["clear-to-rain"].supports["by"]
            'normal rainy'
        """
        said = {"operation": self.operation.kind, "element": self.operation.element}
        if isinstance(self.operation, RemoveOperation):
            return said
        level = f"{_LEVEL} " if self.operation.element == "weather" else ""
        return {**said, "by": f"{level}{self.operation.by}"}

    def after(self, scene: Scene) -> Scene:
        """Return the scene after the change.

        Example:
            >>> from roadworthy.world import make_scene
            >>> CHANGES["remove-line"].after(make_scene("town", s=40, seed=1)).lines
            False
        """
        element = self.operation.element
        if isinstance(self.operation, RemoveOperation):
            return remove(scene, element)
        by = self.operation.by
        if element == "weather":
            return with_conditions(scene, weather=by, level=_LEVEL)
        return replace(scene, element, by) if self.is_edit else with_conditions(scene, **{element: by})

    def transform(self) -> Transform:
        """Return the classical transform."""
        return make_transform(self.classical, **self.options)


def _changes() -> dict[str, WorldChange]:
    """Return the changes of the table."""
    found = {}
    file = read_yaml(Path(__file__).with_suffix(".yaml"), "table of changes", "changes")
    for name, one in file.data.items():
        by, options = one.get("by"), one.get("options", {})
        operation = ReplaceOperation(one["element"], by) if by else RemoveOperation(one["element"])
        found[name] = WorldChange(name, operation, one["classical"], options, tuple(map(tuple, one["skies"])))
    return found


CHANGES: Mapping[str, WorldChange] = _changes()
"""What engines can learn from the world, by their names."""

REMOVED_VEHICLES = WorldChange("remove-vehicle", RemoveOperation("vehicle"), "remove", {"element": "vehicle"})
"""What networks that fill holes do, and no engine learns from the world; people are rare and small in it."""

_LEAST = 40  # pixels that must differ


class WorldPair(NamedTuple):
    """A frame, the truth after a change, and where both differ."""

    before: Frame
    truth: Frame
    differs: NDArray[np.bool_]


def pair_of(change: WorldChange, data: WorldDataset, number: int, size: tuple[int, int]) -> WorldPair:
    """Return a pair of a height and a width.

    Raises:
        NotApplicable: The change leaves the picture as it is.
    """
    scene, camera = data.scene(number), Camera(size[1], size[0])
    before, truth = frame_of(scene, camera), frame_of(change.after(scene), camera)
    differs = np.any(before.image != truth.image, axis=2)
    assert before.labels is not None
    assert truth.labels is not None
    differs |= before.labels.ids != truth.labels.ids
    if np.count_nonzero(differs) < _LEAST:
        raise NotApplicable("the frame shows next to nothing of the change")
    return WorldPair(before, truth, differs)


@dataclass(frozen=True)
class PairSource:
    """Where pairs come from.

    Attributes:
        tracks: Of the world, joined by commas, or "all".
        seeds: Of the data set: each has its own scenery, traffic and places.
        count: Scenes, before those are left out that show nothing of the change; divided over the seeds and
            the skies of the change.
        size: Height and width.
        jitter: How far from the middle of the lane the camera is.
    """

    tracks: str = "all"
    seeds: tuple[int, ...] = (0,)
    count: int = 100
    size: tuple[int, int] = (160, 320)
    jitter: float = 1.0

    def data(self, change: WorldChange) -> tuple[WorldDataset, ...]:
        """Return data sets whose scenes to use: for each seed one for each sky."""
        wanted = [(seed, sky, share / len(self.seeds)) for seed in self.seeds for share, sky in change.skies]
        # What is rounded off here comes in there: together they are as many as were asked for.
        ends = [round(self.count * done) for done in accumulate(share for _, _, share in wanted)]
        found = []
        for (seed, sky, _), (start, end) in zip(wanted, pairwise([0, *ends]), strict=True):
            if count := end - start:
                options: dict[str, Any] = {**sky, "count": count, "seed": seed, "jitter": self.jitter}
                found.append(WorldDataset(self.tracks, size=self.size[::-1], **options))
        return tuple(found)

    @property
    def name(self) -> str:
        """The data, for people."""
        height, width = self.size
        seeds = f"{self.seeds[0]}" if len(self.seeds) == 1 else f"{self.seeds[0]}..{self.seeds[-1]}"
        return f"world:{self.tracks} count={self.count} seed={seeds} size={width}x{height}"


Floats = NDArray[np.float64]

_CHUNK = 8  # scenes per job


def interval(values: Floats) -> ConfidenceInterval:
    """Return the interval of a mean at 95%, over scenes."""
    return student_interval(values)


@dataclass(frozen=True, eq=False)
class EngineComparison:
    """Distances to the truth, frame by frame.

    Attributes:
        name: Of the data.
        distances: By who made the image ("learned", "classical", "unchanged"), the look distance.
        likeness: Likewise, the structural similarity.
    """

    name: str
    distances: dict[str, Floats]
    likeness: dict[str, Floats]

    def __len__(self) -> int:
        return len(self.distances["learned"])

    @property
    def is_better(self) -> bool:
        """Whether the engine is nearer to the truth than the classical transform, beyond chance."""
        return interval(self.distances["learned"] - self.distances["classical"])[1] < 0

    def document(self) -> dict[str, Any]:
        """Return the means and how far apart the two are, as what JSON can hold."""
        apart = self.distances["learned"] - self.distances["classical"]
        return {
            "frames": len(self),
            "distance": {key: float(one.mean()) for key, one in self.distances.items()},
            "ssim": {key: float(one.mean()) for key, one in self.likeness.items()},
            "learned_minus_built_in": {"mean": float(apart.mean()), "interval": list(interval(apart))},
            "learned_is_nearer": self.is_better,
        }

    def metrics(self) -> list[EngineMetric]:
        """Return what a card says about it."""
        unchanged = self.distances["unchanged"].mean()
        gone = {key: 1 - values / unchanged for key, values in self.distances.items()}
        return [
            _metric("look distance to the world's truth", self.distances),
            _metric(APART, {"learned": self.distances["learned"] - self.distances["classical"]}),
            _metric("share of the distance that is gone", gone, better="higher"),
            _metric("SSIM with the world's truth", self.likeness, better="higher"),
        ]


_NAMES = {"learned": ("value", "low", "high"), "classical": ("classical", "classical_low", "classical_high")}


def _metric(name: str, values: dict[str, Floats], **more: Any) -> EngineMetric:
    """Return means with their intervals, of what was learned and, where it is known, of what is classical."""
    facts: dict[str, Any] = {}
    for maker, names in _NAMES.items():
        if maker in values:
            numbers = (float(values[maker].mean()), *interval(values[maker]))
            facts |= {key: round(number, 5) for key, number in zip(names, numbers, strict=True)}
    return EngineMetric(name=name, frames=len(values["learned"]), **facts, **more)


def changes_of(engine: UserEngine) -> list[WorldChange]:
    """Return the changes that an engine makes and whose truth the world can draw.

    Raises:
        InputError: There is none.
    """
    every = (*CHANGES.values(), REMOVED_VEHICLES)
    changes = [one for one in every if engine.supports(one.operation)]
    if not changes:
        known = ", ".join(" ".join(one.supports.values()) for one in every)
        raise InputError(
            f"the engine {engine.name!r} makes none of the changes whose truth is drawn here: {known}"
        )
    return changes


def compared(
    change: WorldChange,
    engine: UserEngine,
    source: PairSource,
    *,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> EngineComparison:
    """Compare an engine with the classical transform on frames of the world.

    For things, the distance is taken where the truth differs from the frame; for weather, time and season,
    everywhere. Frames that either of them refuses are left out.

    Args:
        change: What they do.
        engine: The engine.
        source: The frames; not those that the engine learned from.
        workers: How many processes.
        progress: Is called with the jobs that are done and the number of all.

    Raises:
        InputError: The engine cannot be used, or no frame shows anything of the change.
    """
    comparing = _Comparing(change, engine, source.data(change), source.size)
    jobs = stretches(comparing.sets, _CHUNK)
    found = prepared(source.name, jobs, comparing, workers=workers, progress=progress)
    makers = ("learned", "classical", "unchanged")
    values = {key: array.astype(np.float64) for key, array in found.arrays.items()}
    return EngineComparison(
        source.name,
        {key: values[f"{key} distance"] for key in makers},
        {key: values[f"{key} likeness"] for key in makers},
    )


@dataclass(frozen=True)
class _Comparing(PictureMaker):
    """Measures distances."""

    change: WorldChange
    engine: UserEngine
    sets: tuple[WorldDataset, ...]
    size: tuple[int, int]

    @cached_property
    def _engine(self) -> Transform:
        return self.engine.transform(self.change.operation)

    def arrays(self, job: Stretch, number: int) -> Arrays:
        pair = pair_of(self.change, self.sets[job.data], number, self.size)
        images = {
            "learned": self._engine(pair.before, number, measure=False).image,
            "classical": self.change.transform()(pair.before, number, measure=False).image,
            "unchanged": pair.before.image,
        }
        part = pair.differs if self.change.is_edit else None
        # All pictures have an image, and nobody needs it here.
        found: Arrays = {"image": np.zeros((), np.uint8)}
        for key, image in images.items():
            found[f"{key} distance"] = np.array(look_distance(image, pair.truth.image, part))
            found[f"{key} likeness"] = np.array(ssim(image, pair.truth.image, part))
        return found
