"""What a rule asks for becomes a transform."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from roadworthy import transforms
from roadworthy.errors import InputError, OntologyError
from roadworthy.frames import Frame
from roadworthy.transforms import Transform, make_transform, operations, parse_transform
from roadworthy.transforms.operations import (
    AddOperation,
    Engine,
    Operation,
    RemoveOperation,
    ReplaceOperation,
    transform_for,
)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (AddOperation("pedestrian"), "add(element=pedestrian)"),
        (AddOperation("speed limit sign", "on", "roadside"), "add(element=speed limit sign)"),
        (
            AddOperation("red car", "in front of", "ego-vehicle", distance=20),
            "add(element=red car, relation=in front of, reference=ego-vehicle, distance=20)",
        ),
        (RemoveOperation("lane lines"), "remove(element=lane lines)"),
        (ReplaceOperation("building", "tree"), "replace(element=building, by=tree)"),
        (ReplaceOperation("white car", "black car"), "replace(element=white car, by=black car)"),
        (ReplaceOperation("weather", "rainy"), "rain"),
        (ReplaceOperation("weather", "heavy rain"), "rain:heavy"),
        (ReplaceOperation("sunny", "drizzle"), "rain:light"),
        (ReplaceOperation("weather", "normal fog"), "fog:normal"),
        (ReplaceOperation("weather", "blizzard"), "snow:heavy"),
        (ReplaceOperation("weather", "overcast"), "cloudy"),
        (ReplaceOperation("time", "night"), "night"),
        (ReplaceOperation("day", "dusk"), "dusk"),
        (ReplaceOperation("season", "winter"), "winter"),
        (ReplaceOperation("summer", "wintertime"), "winter"),
        (AddOperation("fog"), "fog"),
    ],
)
def test_each_operation_has_its_transform(operation: Operation, expected: str) -> None:
    assert transform_for(operation) == parse_transform(expected)


@pytest.mark.parametrize("by", ["sunny", "clear sky"])
def test_nothing_built_in_makes_the_sun_shine(by: str) -> None:
    with pytest.raises(
        InputError, match=r"give an engine that supports \{operation: replace, element: weather"
    ):
        transform_for(ReplaceOperation("weather", by))
    with pytest.raises(InputError, match="no built-in engine makes it 'day'"):
        transform_for(ReplaceOperation("time", "day"))
    with pytest.raises(InputError, match=r"'summer': .* \{operation: replace, element: season, by: summer\}"):
        transform_for(ReplaceOperation("season", "summer"))
    with pytest.raises(InputError, match=r"no built-in engine removes 'fog'.* by another weather"):
        transform_for(RemoveOperation("fog"))
    with pytest.raises(InputError, match=r"no built-in engine removes 'winter'.* by another season"):
        transform_for(RemoveOperation("winter"))


def test_words_are_checked_at_once() -> None:
    with pytest.raises(OntologyError, match="did you mean 'pedestrian'"):
        AddOperation("pedestrain")
    with pytest.raises(OntologyError, match="did you mean 'line'"):
        RemoveOperation("lin")
    with pytest.raises(OntologyError, match="did you mean 'tree'"):
        ReplaceOperation("building", "tre")
    with pytest.raises(
        InputError, match="'building' cannot be replaced by 'rain': one is weather, the other is not"
    ):
        ReplaceOperation("building", "rain")
    with pytest.raises(InputError, match="one is weather"):
        ReplaceOperation("weather", "night")
    with pytest.raises(InputError, match="one is season"):
        ReplaceOperation("tree", "winter")


def test_words_say_elements_and_properties() -> None:
    operation = ReplaceOperation("red cars", "white trucks")
    assert (operation.what.element, dict(operation.what.properties)) == (
        "vehicle",
        {"type": "car", "color": "red"},
    )
    assert dict(operation.new.properties) == {"type": "truck", "color": "white"}
    assert RemoveOperation("a stop sign").what.words == "stop sign"
    assert ReplaceOperation("red cars", "white trucks") == operation
    assert hash(operation) == hash(ReplaceOperation("red cars", "white trucks"))


@dataclass
class Pretender:
    """An engine that says yes to one kind of operation and notes what it was asked."""

    name: str
    kind: str
    asked: list[Operation] = field(default_factory=list)

    def supports(self, operation: Operation) -> bool:
        return operation.kind == self.kind

    def transform(self, operation: Operation) -> Transform:
        self.asked.append(operation)
        return make_transform("brightness", bias=10)


def test_engines_win_over_what_is_built_in() -> None:
    first, second = Pretender("first", "remove"), Pretender("second", "remove")
    assert isinstance(first, Engine)
    assert transform_for(RemoveOperation("line"), [first, second]).name == "brightness"
    assert (first.asked, second.asked) == ([RemoveOperation("line")], [])
    assert transform_for(ReplaceOperation("building", "tree"), [first, second]).name == "replace"
    sunny = Pretender("sunny", "replace")
    assert transform_for(ReplaceOperation("weather", "sunny"), [sunny]).name == "brightness"


def test_a_transform_of_an_operation_works(town: Frame) -> None:
    changed = transform_for(RemoveOperation("vehicle"))(town, 1, measure=False)
    assert changed.labels is not None
    assert "vehicle" not in changed.labels.present()
    assert not np.array_equal(changed.image, town.image)


def test_one_name_means_one_thing() -> None:
    """An operation is what a rule asks for, a transform is what does it: `Remove` must not be both."""
    both = set(vars(operations)) & set(transforms.__all__)
    assert {"AddOperation", "RemoveOperation", "ReplaceOperation", "transform_for"} <= both
    assert all(getattr(operations, name) is getattr(transforms, name) for name in both)
    assert not {"Add", "Remove", "Replace"} & set(vars(operations))


def test_a_transform_is_no_operation() -> None:
    with pytest.raises(
        InputError,
        match=r"must be one of AddOperation, RemoveOperation, ReplaceOperation, got Remove\(.*element='line'",
    ):
        transform_for(transforms.Remove(element="line"))  # type: ignore[arg-type]
