"""Pairs of the world as pictures to train with, rendered in processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from roadworthy.datasets import WorldDataset
from roadworthy.runs.store.digests import content_of_dataset
from roadworthy.training.engines.pairs import PairSource, WorldChange, pair_of
from roadworthy.training.engines.pictures import Arrays, PictureMaker, Pictures, channels_of, prepared
from roadworthy.training.samples import Stretch, stretches
from roadworthy.transforms.engines import EngineTransform, UserEngine
from roadworthy.transforms.engines.backend import Backend, EngineResult, EngineTask
from roadworthy.transforms.operations import Operation

_CHUNK = 16  # scenes per job


def pairs(
    change: WorldChange,
    source: PairSource,
    *,
    classes: Sequence[str] = (),
    workers: int = 1,
    folder: Path | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Pictures:
    """Render pairs of a change, as pictures to train with.

    Args:
        change: The change.
        source: Where from.
        classes: Of the label maps, in the order of the channels, for edits.
        workers: How many processes render.
        folder: Where to keep the arrays; nothing is kept when left out.
        progress: Is called with the jobs that are done and the number of all.

    Raises:
        InputError: No scene shows anything of the change.

    Example:
        >>> from roadworthy.training.engines.pairs import CHANGES
        >>> night = pairs(CHANGES["day-to-night"], PairSource("town", count=2, size=(32, 64)))
        >>> bool(night.arrays["truth"].mean() < 0.7 * night.arrays["image"].mean())
        True
    """
    sets = source.data(change)
    jobs = stretches(sets, _CHUNK)
    contents = [content_of_dataset(data) for data in sets]
    identity = {"change": change.name, "data": source.name, "content": contents, "classes": list(classes)}
    maker = _Maker(change, sets, source.size, tuple(classes))
    return prepared(
        source.name, jobs, maker, workers=workers, folder=folder, identity=identity, progress=progress
    )


@dataclass(frozen=True)
class _Maker(PictureMaker):
    """Renders scenes before and after a change."""

    change: WorldChange
    sets: tuple[WorldDataset, ...]
    size: tuple[int, int]
    classes: tuple[str, ...]

    def arrays(self, job: Stretch, number: int) -> Arrays:
        pair = pair_of(self.change, self.sets[job.data], number, self.size)
        found: Arrays = {"image": pair.before.image, "truth": pair.truth.image}
        if not self.change.is_edit:
            return found
        task = _asked(self.change.operation).task(pair.before, np.random.default_rng(0))
        opacity = task.opacity
        assert opacity is not None
        return found | {
            "labels": channels_of(task.edited, self.classes),
            "opacity": np.asarray(np.rint(255 * opacity), np.uint8),
            "differs": pair.differs,
            "filled": self.change.transform()(pair.before, number, measure=False).image,
        }


class _Learning(Backend):
    """Stands where the network will be once it has learned."""

    def made(self, task: EngineTask) -> EngineResult:
        return EngineResult(task.frame.image)


def _asked(operation: Operation) -> EngineTransform:
    """Return what an engine is asked when it shall change a frame: the same as when it is used."""
    return UserEngine("learning", (), _Learning()).transform(operation)
