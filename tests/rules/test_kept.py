"""What rules expect and change (expectation, reading, generation, counterfactual) is what it was.

``kept.txt`` is no truth of its own: it was written by the code and looked through. Who means something to
change writes it again with ``python -m tests.rules.test_kept`` and reads the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from tests.kept import as_kept, defaults_of

from roadworthy.errors import InputError, NotApplicable
from roadworthy.rules.counterfactual import find_spot
from roadworthy.rules.expectation import (
    Expectation,
    ExpectedChange,
    Measure,
    Modifier,
    Quantity,
    read_tolerance,
)
from roadworthy.rules.generation import operation_of
from roadworthy.rules.reading import (
    Position,
    SceneChange,
    change_in_brief,
    change_in_words,
    reaction_in_brief,
)
from roadworthy.world import Camera, Conditions, Scene, add, make_scene

KEPT = Path(__file__).with_name("kept.txt")
PAIRS = ((10.0, 7.0), (10.0, 10.0), (10.0, 10.9), (-4.0, -6.0), (0.0, 1.0))
PLACES: tuple[tuple[Position | None, str | None], ...] = (
    (None, None),
    *product(get_args(Position), (None, "road", "sidewalk", "ego-vehicle", "crosswalk", "vehicle", "tree")),
)
THINGS: tuple[tuple[str, dict[str, str]], ...] = (
    ("pedestrian", {}),
    ("vehicle", {"type": "truck", "color": "red"}),
    ("traffic sign", {"type": "stop"}),
    ("tree", {}),
)


def lines() -> Iterator[str]:
    """Yield all that is kept."""
    quantities = (None, Quantity(3.0), Quantity(0.3, relative=True))
    for output, change, modifier, quantity, measure, negated in product(
        ("speed", "steering"), (None, *get_args(ExpectedChange)), (None, *get_args(Modifier)), quantities,
        get_args(Measure), (False, True),
    ):  # fmt: skip
        if quantity is None and modifier not in (None, "at least"):
            continue  # each is refused alike
        upper = None
        if modifier == "between" and quantity is not None:
            upper = Quantity(2 * quantity.value, quantity.relative)
        asked = f"{output} {change} {modifier} {quantity and quantity.text(output)} {measure} {negated}"
        try:
            one = Expectation(output, change, modifier, quantity, upper, measure, negated)
        except InputError as error:
            yield f"{asked}: {error}"
            continue
        yield f"{asked}: {one.formula}; {one.words}; {' '.join(_judged(one, *pair) for pair in PAIRS)}"
    yield from _changes()


def _judged(one: Expectation, before: float, after: float) -> str:
    try:
        said = f"{one.margin(before, after):.4g}{'' if one.holds(before, after) else '!'}"
        return f"{said} ({reaction_in_brief(one, before, after)})"
    except NotApplicable:
        return "-"


def _changes() -> Iterator[str]:
    scene, camera = _street(), Camera()
    for (target, properties), (position, reference) in product(THINGS, PLACES):
        sides = ({}, {"position": "left"}) if reference in (None, "road", "sidewalk") and position else ({},)
        for side in sides:
            change = SceneChange(
                "add", target, properties, position, reference, reference_properties=side if reference else {}
            )
            yield f"{change} ({change_in_brief(change)}): {_asked(change)}; {_spot(scene, change, camera)}"
    for change in (
        SceneChange("remove", "vehicle", {"color": "blue"}),
        SceneChange("remove", "tree", {}, "beside", "building"),
        SceneChange("replace", "building", {}, replacement="tree"),
        SceneChange(
            "replace", "vehicle", {"type": "truck"}, replacement="vehicle", target_properties={"type": "car"}
        ),
        SceneChange("replace", "weather", {"level": "heavy"}, replacement="rainy", comparative="heavier"),
        SceneChange("replace", "time", {}, replacement="night"),
    ):
        yield f"{change_in_words(change)} ({change_in_brief(change)}): {_asked(change)} {change.chooses}"


def _asked(change: SceneChange) -> str:
    try:
        return f"{operation_of(change)} {operation_of(change, 'left') == operation_of(change)}"
    except InputError as error:
        return str(error)


def _spot(scene: Scene, change: SceneChange, camera: Camera) -> str:
    try:
        spot = find_spot(scene, change, np.random.default_rng(4), camera)
    except (InputError, NotApplicable) as error:
        return f"{type(error).__name__} {error}"
    details = {key: round(one, 3) if isinstance(one, float) else one for key, one in spot.details.items()}
    return f"{spot.ahead:.2f} {spot.across:.2f} {details}"


def _street() -> Scene:
    scene = make_scene("town", 120, seed=5, conditions=Conditions("sunny", time="day"))
    return add(add(scene, "vehicle", ahead=25.0, place="lane"), "tree", ahead=18.0, place="sidewalk")


def test_what_is_expected_and_changed_is_what_it_was() -> None:
    for now, then in zip(lines(), KEPT.read_text("utf-8").splitlines(), strict=True):
        assert now == then


@pytest.mark.parametrize(
    ("value", "quantity"),
    [
        ("10%", Quantity(0.1, True)),
        (" 0.07 % ", Quantity(0.0007, True)),
        (1.5, Quantity(1.5)),
        (0, Quantity(0)),
    ],
)
def test_tolerances_as_people_write_them(value: float | str, quantity: Quantity) -> None:
    assert read_tolerance(value) == quantity
    for wrong in ("ten", "", "-5%", "inf%"):
        with pytest.raises(InputError):
            read_tolerance(wrong)


def test_expectations_as_data() -> None:
    one = Expectation("speed", "decrease", "between", Quantity(1.0), Quantity(2.0), tolerance=Quantity(0.5))
    assert Expectation.from_dict(one.to_dict()).to_dict() == one.to_dict()
    for data, message in (
        ({"output": "speed"}, "an expectation needs change"),
        ({}, "an expectation needs output, change"),
        (
            {"output": "speed", "change": "same", "much": 1, "a": 2},
            "an expectation has no a, much; it has change",
        ),
        (
            {"output": "speed", "change": "same", "quantity": {"size": 1}},
            "quantity must be {'value': …, 'relative'",
        ),
    ):
        with pytest.raises(InputError, match=message):
            Expectation.from_dict(data)
    same = Expectation("speed", "decrease", "at least", Quantity(0.3, relative=True))
    assert same == Expectation("speed", "decrease", "more than", Quantity(0.3, relative=True))
    assert hash(same) == hash(Expectation("speed", "decrease", None, Quantity(0.3, relative=True)))
    assert same != Expectation("speed", "decrease", "at least", Quantity(0.3))
    assert same != "the speed should decrease by at least 30%"
    assert same.implies(Expectation("speed", "decrease"))
    assert not Expectation("speed", "decrease").implies(same)


def test_what_is_done_when_nothing_is_said_stays() -> None:
    as_kept(KEPT.with_name("defaults.txt"), defaults_of("rules"))


if __name__ == "__main__":
    KEPT.write_text("\n".join(lines()) + "\n", "utf-8")
