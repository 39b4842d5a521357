"""Changes of the built-in world whose truth can be rendered, and the classical transforms that make them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from roadworthy.frames import Frame
from roadworthy.transforms import Transform, make_transform
from roadworthy.transforms.engines import EngineTransform, UserEngine
from roadworthy.transforms.engines.backend import Backend, Made, Task
from roadworthy.transforms.operations import Operation, RemoveOperation, ReplaceOperation
from roadworthy.world import Scene, remove, replace, with_conditions

__all__ = ["CHANGES", "Change"]

_LEVEL = "normal"  # of a weather that is drawn


@dataclass(frozen=True)
class Change:
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

    def task(self, frame: Frame) -> Task:
        """Return what an engine is asked when it shall change a frame: the same as when it is used.

        Raises:
            NotApplicable: There is nothing to change.
        """
        return _asked(self.operation).task(frame, np.random.default_rng(0))


class _Learning(Backend):
    """Stands where the network will be once it has learned."""

    def made(self, task: Task) -> Made:
        return Made(task.frame.image)


def _asked(operation: Operation) -> EngineTransform:
    return UserEngine("learning", (), _Learning()).transform(operation)


_ANY: Mapping[str, str] = {"weather": "all", "time": "all", "level": "all"}


def _mostly_clear(others: str) -> tuple[tuple[float, Mapping[str, str]], ...]:
    """Return the skies from which a weather comes: clear days, dry weather, and some other weathers."""
    return (
        (0.5, {}),
        (0.35, {"weather": "sunny,cloudy", "level": "all", "time": "all"}),
        (0.15, {"weather": others, "level": "all", "time": "all"}),
    )


CHANGES: Mapping[str, Change] = {
    one.name: one
    for one in (
        Change(
            "remove-line", RemoveOperation("line"), "remove", {"element": "line"}, ((0.5, {}), (0.5, _ANY))
        ),
        Change(
            "building-to-tree",
            ReplaceOperation("building", "tree"),
            "replace",
            {"element": "building", "by": "tree"},
            ((0.5, {}), (0.5, _ANY)),
        ),
        Change(
            "day-to-night",
            ReplaceOperation("time", "night"),
            "night",
            skies=((0.5, {}), (0.5, {"weather": "all", "level": "all", "time": "day,dusk"})),
        ),
        Change(
            "clear-to-rain",
            ReplaceOperation("weather", "rainy"),
            "rain",
            {"lens": 0.0},  # the world's camera has a dry lens
            _mostly_clear("foggy,snowy"),
        ),
        Change(
            "clear-to-snow",
            ReplaceOperation("weather", "snowy"),
            "snow",
            skies=_mostly_clear("foggy,rainy"),
        ),
        Change(
            "summer-to-winter",
            ReplaceOperation("season", "winter"),
            "winter",
            skies=(
                (0.5, {}),
                (0.3, {"weather": "sunny,cloudy,rainy,foggy", "level": "all", "time": "all"}),
                (0.2, {"time": "all", "season": "spring,autumn"}),
            ),
        ),
    )
}
"""What engines can learn from the world, by their names; `RECIPES` says which of them ship.

Half of the frames are clear days, which is what most rules are tried on; the others are of all skies from
which the change leads somewhere else.
"""
