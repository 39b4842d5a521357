"""What a rule asks for: a thing is added, removed or replaced; and the transform that does it.

The three operations are those of the RMT paper (Table 4). Weather, time and season are replaced like things:
"the weather becomes rainy" is the replacement of weather by rainy.

::

    transform_for(RemoveOperation("lane lines"))               # remove(element="lane lines")
    transform_for(ReplaceOperation("weather", "heavy rain"))   # rain:heavy
    transform_for(ReplaceOperation("building", "tree"), read_engines("engines.yaml", allow_commands=True))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar, Protocol, get_args, runtime_checkable

from roadworthy.errors import InputError
from roadworthy.ontology import CONDITIONS
from roadworthy.transforms.making import make_transform
from roadworthy.transforms.transform import Transform
from roadworthy.transforms.wording import ElementDescription, described

# Which transform makes a condition: a weather, a time of day or a season.
_MADE_BY: Mapping[str, str] = {
    "rainy": "rain", "snowy": "snow", "foggy": "fog", "cloudy": "cloudy",
    "night": "night", "dusk": "dusk", "winter": "winter",
}  # fmt: skip


@dataclass(frozen=True)
class _OnElement:
    """What all operations have in common: the element that they are about, in words."""

    element: str
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        described(self.element)

    @property
    def settings(self) -> dict[str, float | int | str]:
        """What it says, by name; what it leaves open is not there."""
        open_ = {"part": "all", "within": 0.0, "company": "any", "pose": "any"}
        said = {key: value for key, value in asdict(self).items() if open_.get(key, ...) != value}
        return {"operation": self.kind, **said}

    @property
    def what(self) -> ElementDescription:
        """What comes, goes or gives way."""
        return described(self.element)


@dataclass(frozen=True)
class AddOperation(_OnElement):
    """A thing comes into the scene.

    Attributes:
        element: What comes: a word of the ontology with or without properties, such as "red car".
        relation: How it stands to the reference: "on", "in front of", "behind", "beside", "closer" or
            "farther".
        reference: Where: "roadside", "lane", "sidewalk", "ego-vehicle", or things in the frame.
        side: "left", "right" or "either".
        distance: Metres from the camera; 0 leaves it open.
        within: Metres from the camera at most; 0 leaves it open.
        company: "any", or "group" where it stands close to what was added so before.
        pose: What somebody does: "crossing", "waiting", "stepping onto the road", "walking along"; or
            "any".

    Example:
        >>> AddOperation("pedestrian", "on", "roadside").what.element
        'pedestrian'
    """

    relation: str = "on"
    reference: str = "roadside"
    side: str = "either"
    distance: float = 0.0
    within: float = 0.0
    company: str = "any"
    pose: str = "any"

    kind: ClassVar[str] = "add"


@dataclass(frozen=True)
class RemoveOperation(_OnElement):
    """Things go out of the scene.

    Attributes:
        element: What goes.
        part: Which of them: "all", about "half", the "nearest", those on the "left" or "right"; of lines also
            those at the "centre" or "edge" of the road.

    Example:
        >>> RemoveOperation("dashed lane lines").what.properties["type"]
        'dash'
    """

    part: str = "all"

    kind: ClassVar[str] = "remove"


@dataclass(frozen=True)
class ReplaceOperation(_OnElement):
    """Things give way to others, or the weather, the time of day or the season changes.

    Attributes:
        element: What goes: things, "weather", "time", "season", or one of these by its name.
        by: What comes: "tree", "heavy rain", "night", "winter".
        part: Which of the things, as for `RemoveOperation`.

    Example:
        >>> ReplaceOperation("weather", "heavy rain").new.properties["level"]
        'heavy'
        >>> ReplaceOperation("time", "rain")
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: 'time' cannot be replaced by 'rain': one is weather, the other is not
    """

    by: str
    part: str = "all"

    kind: ClassVar[str] = "replace"

    def __post_init__(self) -> None:
        old, new = self.what.condition, self.new.condition
        if old != new:
            category = next(one for one in CONDITIONS if one in (old, new))
            why = f"one is {category}, the other is not"
            raise InputError(f"{self.element!r} cannot be replaced by {self.by!r}: {why}")

    @property
    def new(self) -> ElementDescription:
        """What comes."""
        return described(self.by)


Operation = AddOperation | RemoveOperation | ReplaceOperation


@runtime_checkable
class Engine(Protocol):
    """What makes images in which an operation was done: a user's program, or a learned model."""

    @property
    def name(self) -> str:
        """What it is called."""

    def supports(self, operation: Operation) -> bool:
        """Return whether it can do an operation."""

    def transform(self, operation: Operation) -> Transform:
        """Return the transform that does an operation it supports.

        Raises:
            InputError: It may not be used, or something that it needs is missing.
        """


def transform_for(operation: Operation, engines: Iterable[Engine] = (), *, gallery: str = "own") -> Transform:
    """Return the transform that does an operation.

    Args:
        operation: What to do.
        engines: What users bring; the first that supports the operation is taken, before what is built in.
        gallery: Where the cut-outs of things come from, as `Add` and `Replace` take it.

    Raises:
        InputError: Nothing does it, or it is no operation.

    Example:
        >>> str(transform_for(RemoveOperation("lane lines")))
        'remove(element=lane lines)'
        >>> transform_for(ReplaceOperation("time", "day"))
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: no built-in engine makes it 'day': give an engine that supports \
{operation: replace, element: time, by: day}
    """
    if not isinstance(operation, Operation):
        kinds = ", ".join(one.__name__ for one in get_args(Operation))
        raise InputError(f"an operation must be one of {kinds}, got {operation!r}")
    for engine in engines:
        if engine.supports(operation):
            return engine.transform(operation)
    if isinstance(operation, AddOperation):
        if condition := _condition(operation.what):
            return condition
        return make_transform("add", **asdict(operation), gallery=gallery)
    if isinstance(operation, RemoveOperation):
        if category := operation.what.condition:
            raise InputError(
                f"no built-in engine removes {str(operation.what)!r}: give an engine that supports "
                f"{{operation: remove, element: {operation.what}}}, or replace it by another {category}"
            )
        return make_transform("remove", element=operation.element, part=operation.part)
    others = {"part": operation.part, **({} if gallery == "own" else {"gallery": gallery})}
    return _condition(operation.new) or make_transform(
        "replace", element=operation.element, by=operation.by, **others
    )


def _condition(what: ElementDescription) -> Transform | None:
    """Return the transform that makes a weather, a time of day or a season; None for things."""
    if what.condition is None:
        return None
    if what.element not in _MADE_BY:
        raise InputError(
            f"no built-in engine makes it {str(what)!r}: give an engine that supports "
            f"{{operation: replace, element: {what.condition}, by: {what}}}"
        )
    level = what.properties.get("level")
    name = _MADE_BY[what.element]
    return make_transform(f"{name}:{level}" if level else name)
