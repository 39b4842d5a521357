"""Pairs of the world: frames, and what the world looks like after a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roadworthy.datasets import WorldDataset
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.transforms.learned.training.changes import Change
from roadworthy.transforms.learned.training.pictures import Arrays, Pictures, prepared
from roadworthy.transforms.learned.training.reading import channels_of
from roadworthy.world import Camera, frame_of

__all__ = ["Pair", "PairSource", "pair_of", "pairs"]

_CHUNK = 16  # scenes per job
_LEAST = 40  # pixels that must differ


class Pair(NamedTuple):
    """A frame, the truth after a change, and where both differ."""

    before: Frame
    truth: Frame
    differs: NDArray[np.bool_]


def pair_of(change: Change, data: WorldDataset, number: int, camera: Camera) -> Pair | None:
    """Return a pair; None where the change leaves the picture as it is."""
    scene = data.scene(number)
    before, truth = frame_of(scene, camera), frame_of(change.after(scene), camera)
    differs = np.any(before.image != truth.image, axis=2)
    assert before.labels is not None
    assert truth.labels is not None
    differs |= before.labels.ids != truth.labels.ids
    return Pair(before, truth, differs) if np.count_nonzero(differs) >= _LEAST else None


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

    def data(self, change: Change) -> list[tuple[int, WorldDataset]]:
        """Return data sets with how many of their scenes to use: for each seed one for each sky."""
        wanted = [(seed, sky, share / len(self.seeds)) for seed in self.seeds for share, sky in change.skies]
        # What is rounded off here comes in there: together they are as many as were asked for.
        ends = [round(self.count * done) for done in accumulate(share for _, _, share in wanted)]
        found = []
        for (seed, sky, _), (start, end) in zip(wanted, pairwise([0, *ends]), strict=True):
            if count := end - start:
                options: dict[str, Any] = {**sky, "count": count, "seed": seed, "jitter": self.jitter}
                found.append((count, WorldDataset(self.tracks, size=self.size[::-1], **options)))
        return found

    @property
    def name(self) -> str:
        """The data, for people."""
        height, width = self.size
        seeds = f"{self.seeds[0]}" if len(self.seeds) == 1 else f"{self.seeds[0]}..{self.seeds[-1]}"
        return f"world:{self.tracks} count={self.count} seed={seeds} size={width}x{height}"


def pairs(
    change: Change,
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
        >>> from roadworthy.transforms.learned.training.changes import CHANGES
        >>> night = pairs(CHANGES["day-to-night"], PairSource("town", count=2, size=(32, 64)))
        >>> bool(night.arrays["truth"].mean() < 0.7 * night.arrays["image"].mean())
        True
    """
    sets = [data for _, data in source.data(change)]
    jobs = [
        _Scenes(number, start, min(start + _CHUNK, len(data)))
        for number, data in enumerate(sets)
        for start in range(0, len(data), _CHUNK)
    ]
    identity = {"change": change.name, "data": source.name, "jitter": source.jitter, "classes": list(classes)}
    maker = _Maker(change, tuple(sets), source.size, tuple(classes))
    return prepared(
        source.name, jobs, maker, workers=workers, folder=folder, identity=identity, progress=progress
    )


class _Scenes(NamedTuple):
    """Scenes of one of the data sets that follow each other."""

    data: int
    start: int
    stop: int


@dataclass(frozen=True)
class _Maker:
    """Renders scenes before and after a change, in any process."""

    change: Change
    sets: tuple[WorldDataset, ...]
    size: tuple[int, int]
    classes: tuple[str, ...]

    def __call__(self, job: _Scenes) -> Arrays:
        camera = Camera(self.size[1], self.size[0])
        lists: dict[str, list[NDArray[Any]]] = {}
        for number in range(job.start, job.stop):
            pair = pair_of(self.change, self.sets[job.data], number, camera)
            if pair is None:
                continue
            found: dict[str, NDArray[Any]] = {"image": pair.before.image, "truth": pair.truth.image}
            if self.change.is_edit:
                try:
                    found |= self._edit(pair, number)
                except NotApplicable:
                    continue
            for key, one in found.items():
                lists.setdefault(key, []).append(one)
        return {key: np.stack(found) for key, found in lists.items()}

    def _edit(self, pair: Pair, number: int) -> Mapping[str, NDArray[Any]]:
        task = self.change.task(pair.before)
        opacity = task.opacity
        assert opacity is not None
        return {
            "labels": channels_of(task.edited, self.classes),
            "opacity": np.asarray(np.rint(255 * opacity), np.uint8),
            "differs": pair.differs,
            "filled": self.change.transform()(pair.before, number, measure=False).image,
        }
