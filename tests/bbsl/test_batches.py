"""Many frames at once say what each of them says alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bbsl.typed_strategies import HEIGHT, SETS, WIDTH, frames, specs

from roadworthy.bbsl import Box, Interval, parse
from roadworthy.bbsl.arrays import RaggedBoxes, Sets, areas, many_values
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.syntax import Type
from roadworthy.bbsl.values import area
from roadworthy.errors import InputError

NUMBERS = {True: 1, False: 0, None: -1}


def _size(box: tuple[float, ...]) -> float | None:
    return None if box[0] == 0 else (box[2] - box[0]) * (box[3] - box[1])


def _grown(box: tuple[float, ...], amount: float) -> tuple[float, ...]:
    return (box[0], box[1], box[2] + abs(amount), box[3] + abs(amount))


def _around(boxes: list[tuple[float, ...]]) -> list[tuple[float, ...]] | None:
    return [_grown(box, 0.5) for box in boxes] if boxes else None


CALLABLES = {"size": _size, "grown": _grown, "around": _around}


@settings(max_examples=250, deadline=None)
@given(spec=specs(), data=frames())
def test_the_same_as_one_by_one(spec: Spec, data: list[dict[str, Any]]) -> None:
    many = {name: [frame[name] for frame in data] for name in data[0]}
    together = spec.evaluate_many({**many, **CALLABLES}, height=HEIGHT, width=WIDTH, count=len(data))
    assert len(together) == len(data)
    for row, frame in enumerate(data):
        alone = spec.evaluate({**frame, **CALLABLES}, height=HEIGHT, width=WIDTH)
        assert together.applies[row] == NUMBERS[alone.applies]
        assert {label: held[row] for label, held in together.values.items()} == {
            label: NUMBERS[held] for label, held in alone.values.items()
        }
        assert together.cases(row) == alone.cases


@settings(max_examples=100, deadline=None)
@given(st.lists(st.none() | SETS, max_size=6))
def test_areas_are_those_of_single_sets_to_the_last_digit(
    several: list[list[tuple[float, ...]] | None],
) -> None:
    made = [
        None if one is None else tuple(Box(Interval(b[0], b[2]), Interval(b[1], b[3])) for b in one)
        for one in several
    ]
    sets = many_values(made, Type.SET_BB)
    assert isinstance(sets, Sets)
    expected = [np.nan if one is None else area(one) for one in made]
    np.testing.assert_array_equal(areas(sets), expected)


def test_large_sets_are_measured_too() -> None:
    rng = np.random.default_rng(3)
    low = rng.integers(0, 50, (60, 2))
    high = low + rng.integers(1, 20, (60, 2))
    boxes = tuple(
        Box(Interval(a, c), Interval(b, d))
        for (a, b), (c, d) in zip(low.tolist(), high.tolist(), strict=True)
    )
    sets = many_values([boxes, boxes[:50]], Type.SET_BB)
    assert isinstance(sets, Sets)
    assert areas(sets).tolist() == [area(boxes), area(boxes[:50])]


SPEC = parse(
    """
    exfunction exists_(): bool vehicle(): bb zone(): interval cars(): setBB endexfunction
    precondition [exists_()] endprecondition
    case near PROJ_y(vehicle()) ~ zone() or exists x in cars().(PROJ_y(x) ~ zone()) endcase
    """
)
GOOD: dict[str, Any] = {
    "exists_": True,
    "vehicle": np.array([[0, 0, 5, 90], [0, 0, 5, 10.0]]),
    "zone": (80, 100),
    "cars": [[[0, 0, 1, 1]], None],
}


def test_values_for_all_frames_and_for_each_go_together() -> None:
    assert SPEC.evaluate_many(GOOD, height=100).values["near"].tolist() == [1, -1]
    for cars in (
        np.array([[0, 0, 1, 99.0]]),
        [[0, 0, 1, 99]],
        RaggedBoxes.of([[[0, 0, 1, 99]], [[0, 0, 1, 99]]]),
    ):
        assert SPEC.evaluate_many({**GOOD, "cars": cars}, height=100).values["near"].tolist() == [1, 1]
    assert SPEC.evaluate_many(GOOD, height=[100, 100]).values["near"].tolist() == [1, -1]


def test_each_frame_is_turned_at_its_own_height() -> None:
    spec = parse(
        """
        exfunction cars(): setBB vehicle(): bb endexfunction
        case near: exists x in cars(). (PROJ_y.lower(x) = 10) and PROJ_y.lower(vehicle()) = 10 endcase
        """
    )
    box = {height: [0, 0, 1, height - 10] for height in (100, 200)}
    values = {
        "cars": [[[0, 0, 1, 50], box[100]], [], [box[200]], [box[100]]],
        "vehicle": [box[100], *[box[200]] * 3],
    }
    assert spec.evaluate_many(values, height=[100, 200, 200, 200]).values["near"].tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("changed", "height", "message"),
    [
        ({"vehicle": np.zeros((3, 4))}, 100, "same number of frames, got vehicle\\(\\) 3, cars\\(\\) 2"),
        ({"vehicle": np.zeros((2, 3))}, 100, "expected shape \\(n, 4\\), got \\(2, 3\\)"),
        (
            {"vehicle": [[5, 0, 1, 9], [0, 0, 1, 1]]},
            100,
            "lower end above its upper end in row 0: \\[5, 1\\]",
        ),
        ({"vehicle": "car"}, 100, "expected numbers, got 'car'"),
        ({"vehicle": [[0, 0, np.inf, 1]] * 2}, 100, "must be finite"),
        ({"zone": [Interval(0, 1), Interval(0, 1)]}, 100, "image pixels, as numbers"),
        ({"exists_": [2, 1]}, 100, "true or false in each frame"),
        ({"exists_": ["1", "0"]}, 100, "expected numbers"),
        ({"zone": ["80", "100"]}, 100, "expected numbers"),
        ({"cars": [[[0, 0, np.inf, 1]], []]}, 100, "cars\\(\\) must be finite"),
        ({"cars": ["car", []]}, 100, "frame 0 must be numbers, got 'car'"),
        ({"cars": np.nan}, 100, "expected shape \\(k, 4\\)"),
        ({"cars": [[[0, 0, np.nan, 1]], []]}, 100, "box 0 of cars\\(\\) has a number that is NaN"),
        ({"cars": [[[0, 0, 1]], []]}, 100, "frame 0 must have shape"),
        ({}, None, "needs the height of the image"),
        ({}, [100, 100, 100], "same number of frames"),
        ({}, -3, "height must be a number of pixels"),
        ({}, np.inf, "height must be a number of pixels"),
        ({}, "tall", "height must be a number of pixels"),
    ],
)
def test_values_that_do_not_fit(changed: dict[str, Any], height: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SPEC.evaluate_many({**GOOD, **changed}, height=height)


def test_a_set_without_a_value_in_any_frame() -> None:
    values = {**GOOD, "vehicle": [0, 0, 5, 10], "cars": None}
    assert SPEC.evaluate_many(values, height=100, count=2).values["near"].tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("xyxy", "counts", "message"),
    [
        (np.zeros((3, 4)), [1, 1], "must have 3 boxes, as many as there are, got 2"),
        (np.zeros((3, 4)), [4, -1], "must have 3 boxes, as many as there are, got 4"),
        (np.zeros((3, 3)), [3], "shape \\(m, 4\\), got \\(3, 3\\)"),
        (np.zeros((3, 4)), [1.5, 1.5], "whole number of boxes"),
    ],
)
def test_boxes_end_to_end_that_are_none(xyxy: Any, counts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        RaggedBoxes(xyxy, counts)


def test_the_number_of_frames_is_not_negative() -> None:
    assert len(parse("case go: true endcase").evaluate_many({}, count=0)) == 0
    with pytest.raises(InputError, match="count of frames must be 0 or more, got -1"):
        parse("case go: true endcase").evaluate_many({}, count=-1)
