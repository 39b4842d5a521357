"""What a rule asks for becomes a transform."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from roadworthy.errors import InputError, OntologyError
from roadworthy.frames import Frame
from roadworthy.transforms import Transform, make_transform, parse_transform
from roadworthy.transforms.operations import Add, Engine, Operation, Remove, Replace, transform_for


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (Add("pedestrian"), "add(element=pedestrian)"),
        (Add("speed limit sign", "on", "roadside"), "add(element=speed limit sign)"),
        (
            Add("red car", "in front of", "ego-vehicle", distance=20),
            "add(element=red car, relation=in front of, reference=ego-vehicle, distance=20)",
        ),
        (Remove("lane lines"), "remove(element=lane lines)"),
        (Replace("building", "tree"), "replace(element=building, by=tree)"),
        (Replace("white car", "black car"), "replace(element=white car, by=black car)"),
        (Replace("weather", "rainy"), "rain"),
        (Replace("weather", "heavy rain"), "rain:heavy"),
        (Replace("sunny", "drizzle"), "rain:light"),
        (Replace("weather", "normal fog"), "fog:normal"),
        (Replace("weather", "blizzard"), "snow:heavy"),
        (Replace("weather", "overcast"), "cloudy"),
        (Replace("time", "night"), "night"),
        (Replace("day", "dusk"), "dusk"),
        (Add("fog"), "fog"),
    ],
)
def test_each_operation_has_its_transform(operation: Operation, expected: str) -> None:
    assert transform_for(operation) == parse_transform(expected)


@pytest.mark.parametrize("by", ["sunny", "clear sky"])
def test_nothing_built_in_makes_the_sun_shine(by: str) -> None:
    with pytest.raises(
        InputError, match=r"give an engine that supports \{operation: replace, element: weather"
    ):
        transform_for(Replace("weather", by))
    with pytest.raises(InputError, match="nothing built in makes it 'day'"):
        transform_for(Replace("time", "day"))
    with pytest.raises(InputError, match="nothing built in takes away 'fog'"):
        transform_for(Remove("fog"))


def test_words_are_checked_at_once() -> None:
    with pytest.raises(OntologyError, match="did you mean 'pedestrian'"):
        Add("pedestrain")
    with pytest.raises(OntologyError, match="did you mean 'line'"):
        Remove("lin")
    with pytest.raises(OntologyError, match="did you mean 'tree'"):
        Replace("building", "tre")
    with pytest.raises(
        InputError, match="'building' cannot give way to 'rain': one is weather, the other is not"
    ):
        Replace("building", "rain")
    with pytest.raises(InputError, match="one is weather"):
        Replace("weather", "night")


def test_words_say_elements_and_properties() -> None:
    operation = Replace("red cars", "white trucks")
    assert (operation.what.element, dict(operation.what.properties)) == (
        "vehicle",
        {"type": "car", "color": "red"},
    )
    assert dict(operation.new.properties) == {"type": "truck", "color": "white"}
    assert Remove("a stop sign").what.words == "stop sign"
    assert Replace("red cars", "white trucks") == operation
    assert hash(operation) == hash(Replace("red cars", "white trucks"))


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
    assert transform_for(Remove("line"), [first, second]).name == "brightness"
    assert (first.asked, second.asked) == ([Remove("line")], [])
    assert transform_for(Replace("building", "tree"), [first, second]).name == "replace"
    sunny = Pretender("sunny", "replace")
    assert transform_for(Replace("weather", "sunny"), [sunny]).name == "brightness"


def test_a_transform_of_an_operation_works(town: Frame) -> None:
    changed = transform_for(Remove("vehicle"))(town, 1, measure=False)
    assert changed.labels is not None
    assert "vehicle" not in changed.labels.present()
    assert not np.array_equal(changed.image, town.image)
