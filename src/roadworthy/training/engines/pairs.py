"""Pairs of the world: frames, and what the world looks like after a change whose truth can be rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roadworthy._yaml import read_yaml
from roadworthy.datasets import WorldDataset
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.transforms import Transform, make_transform
from roadworthy.transforms.operations import RemoveOperation, ReplaceOperation
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
    for name, one in read_yaml(
        Path(__file__).with_suffix(".yaml"), "table of changes", "changes"
    ).data.items():
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
