"""How near an engine comes to the world's truth, beside the classical transform that does the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.datasets import WorldDataset
from roadworthy.errors import InputError
from roadworthy.statistics import ConfidenceInterval, student_interval
from roadworthy.training.engines.pairs import CHANGES, REMOVED_VEHICLES, PairSource, WorldChange, pair_of
from roadworthy.training.engines.pictures import Arrays, PictureMaker, prepared
from roadworthy.training.samples import Stretch, stretches
from roadworthy.transforms import Transform
from roadworthy.transforms.engines import UserEngine
from roadworthy.transforms.learned.card import APART, EngineMetric
from roadworthy.visual_change import look_distance, ssim

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
