"""Values at the door, rows and tables: every form, every border, every message."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from roadworthy.bbsl import parse
from roadworthy.bbsl.bindings import (
    BoxesOf,
    Exists,
    FrameView,
    Lane,
    Lead,
    LeadExists,
    StoppingDistance,
    read_value,
    source_of,
)
from roadworthy.bbsl.comparing import Count, LabelledFrames, compare
from roadworthy.bbsl.evaluation import SpecificationOutcome
from roadworthy.bbsl.syntax import Type
from roadworthy.bbsl.testing import (
    ObjectRole,
    TestRow,
    check_labels,
    find_role,
    joined,
    labels_of,
    match,
    object_values,
    out_of_scope,
    row_of,
    split,
    verdict_margin,
)
from roadworthy.bbsl.values import (
    EMPTY,
    Box,
    Coordinates,
    Interval,
    area,
    as_numbers,
    common_boxes,
    meet,
    overlap,
    within,
)
from roadworthy.cases import Case, RecordDrive, Status, Verdict
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, LabelMap, Signals

IMAGE = Coordinates(100, 200)


@pytest.mark.parametrize(
    ("value", "kind", "axis", "turned"),
    [
        (None, Type.BB, "open", None),
        (True, Type.BOOL, "open", True),
        (np.bool_(False), Type.BOOL, "open", False),
        (math.nan, Type.BOOL, "open", None),
        (3, Type.REAL, "open", 3.0),
        (math.nan, Type.REAL, "open", None),
        ((10, 30), Type.INTERVAL, "x", Interval(10, 30)),
        ((10, 30), Type.INTERVAL, "y", Interval(70, 90)),
        ((10, 10), Type.INTERVAL, "open", Interval(10, 10)),
        (Interval(10, 30), Type.INTERVAL, "y", Interval(10, 30)),
        (Interval(10, 30), Type.INTERVAL, "both", Interval(10, 30)),
        ((10, math.nan), Type.INTERVAL, "both", None),
        ((math.nan, 10), Type.INTERVAL, "x", None),
        ([1, 2, 3, 4], Type.BB, "open", Box(Interval(1, 3), Interval(96, 98))),
        ([1, 2, None, 4], Type.BB, "open", None),
        (Box(Interval(1, 3), Interval(2, 4)), Type.BB, "open", Box(Interval(1, 3), Interval(2, 4))),
        (Boxes([[1, 2, 3, 4]], ["car"]), Type.BB, "open", Box(Interval(1, 3), Interval(96, 98))),
        ([], Type.SET_BB, "open", ()),
        (Boxes.empty(), Type.SET_BB, "open", ()),
        ([[1, 2, 3, 4]], Type.SET_BB, "open", (Box(Interval(1, 3), Interval(96, 98)),)),
    ],
)
def test_what_comes_in(value: Any, kind: Type, axis: Any, turned: object) -> None:
    assert IMAGE.inward(value, kind, "f", axis) == turned


@pytest.mark.parametrize(
    ("value", "kind", "axis", "message"),
    [
        (1, Type.BOOL, "open", "f() must be true or false, or None where that is not known, got 1"),
        (True, Type.REAL, "open", "f() is real: expected one number, got True"),
        ("3", Type.REAL, "open", "f() is real: expected one number, got '3'"),
        ([3], Type.REAL, "open", "f() is real: expected one number, got [3]"),
        (math.inf, Type.REAL, "open", "f() must be finite, got inf"),
        ([1, 2, 3], Type.INTERVAL, "x", "f() is interval: expected two numbers, lower and upper, got [1"),
        ([3, 2], Type.INTERVAL, "x", "f() has a lower end above its upper end: [3, 2]"),
        (Interval(3, 2), Type.INTERVAL, "x", "f() has a lower end above its upper end: [3, 2]"),
        ([2, 3], Type.INTERVAL, "both", "f() is compared on both axes: bind a roadworthy.bbsl.Interval"),
        ([2, 3], Type.INTERVAL, "unsaid", "f() is compared with numbers alone, which does not say"),
        ([1, 2, 3], Type.BB, "open", "f() is bb: expected four numbers x1, y1, x2, y2, got [1, 2, 3]"),
        ([3, 2, 1, 4], Type.BB, "open", "f() has a lower end above its upper end: [3, 1]"),
        ([1, 4, 3, 2], Type.BB, "open", "f() has a lower end above its upper end: [4, 2]"),
        (Boxes.empty(), Type.BB, "open", "f() must be one box, got 0: select one of them"),
        (Box(Interval(3, 1), Interval(2, 4)), Type.BB, "open", "f() has a lower end above its upper end"),
        ("car", Type.SET_BB, "open", "f() must be a set of boxes, of shape (n, 4), got 'car'"),
        (np.array(3), Type.SET_BB, "open", "f() must be a set of boxes, of shape (n, 4), got array(3)"),
        (3, Type.SET_BB, "open", "f() must be a set of boxes, of shape (n, 4), got 3"),
        (
            Box(Interval(1, 3), Interval(2, 4)), Type.SET_BB, "open",
            "f() must be a set of boxes, of shape (n, 4), got Box(x=",
        ),
        ([[1, 2, 3, 4], [1, 2, 3, None]], Type.SET_BB, "open", "box 1 of f() has a number that is NaN"),
        ([[1, 2, 3, 4], [1, 2]], Type.SET_BB, "open", "box 1 of f() is bb: expected four numbers"),
    ],
)  # fmt: skip
def test_what_cannot_come_in(value: Any, kind: Type, axis: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        IMAGE.inward(value, kind, "f", axis)
    assert str(caught.value).startswith(message)


def test_without_a_size_nothing_is_turned() -> None:
    bare = Coordinates()
    assert bare.inward((10, 30), Type.INTERVAL, "f", "x") == Interval(10, 30)
    for value, kind, axis in (((10, 30), Type.INTERVAL, "y"), ([1, 2, 3, 4], Type.BB, "open")):
        with pytest.raises(
            InputError, match=r"turning f\(\) to y upward needs the height of the image: give"
        ):
            bare.inward(value, kind, "f", axis)  # type: ignore[arg-type]
    for half in (Coordinates(height=5), Coordinates(width=5)):
        with pytest.raises(InputError, match="IMG needs the size of the image: give width=… and height=…"):
            half.image()
    assert IMAGE.image() == Box(Interval(0, 200), Interval(0, 100))
    for wrong in (0, -1, math.inf, math.nan):
        with pytest.raises(InputError, match=f"height must be above 0 and finite, got {wrong}"):
            Coordinates(height=wrong)
        with pytest.raises(InputError, match=f"width must be above 0 and finite, got {wrong}"):
            Coordinates(width=wrong)


def test_what_goes_out_is_in_pixels() -> None:
    box = Box(Interval(1, 3), Interval(96, 98))
    assert IMAGE.outward(box) == (1, 2, 3, 4)
    assert IMAGE.outward((box, box)) == [(1, 2, 3, 4)] * 2
    assert IMAGE.outward(Interval(70, 90), "y") == (10, 30)
    assert IMAGE.outward(Interval(70, 90), "x") == (70, 90)
    assert IMAGE.outward(None) is None
    assert IMAGE.outward(2.5) == 2.5
    with pytest.raises(InputError, match="a function is called with intervals of both axes: declare two"):
        IMAGE.outward(Interval(70, 90), "both")


def test_intervals_and_boxes_that_touch() -> None:
    a, b, c = Interval(0, 2), Interval(2, 3), Interval(2.5, 4)
    assert (overlap(a, b), overlap(b, a), overlap(a, c)) == (True, True, False)
    assert (within(a, a), within(b, Interval(2, 4)), within(b, a)) == (True, True, False)
    assert (meet(a, b), meet(a, c)) == (Interval(2, 2), EMPTY)
    assert (overlap(EMPTY, a), within(EMPTY, a)) == (False, True)
    beside = Box(c, a)
    assert common_boxes([Box(a, a)], [beside]) == ()
    assert common_boxes([Box(a, a)], [Box(a, c)]) == ()
    assert area([]) == 0
    assert area([Box(a, a), Box(Interval(1, 3), Interval(1, 3))]) == 7
    assert area([Box(a, Interval(0, 1)), Box(a, Interval(3, 4))]) == 4
    assert area([Box(a, Interval(0, 4)), Box(a, Interval(1, 2)), Box(a, Interval(3, 5))]) == 10


def test_numbers_are_numbers() -> None:
    assert as_numbers([True, False], truth=True).tolist() == [1, 0]
    for value, truth in (("3", False), ("3", True), (True, False)):
        with pytest.raises(TypeError):
            as_numbers(value, truth=truth)


def test_a_match_needs_more_than_the_least_iou() -> None:
    truth = Boxes([[0, 0, 10, 10], [50, 0, 60, 10]], ["car", "car"])
    found = Boxes([[0, 0, 10, 5], [50, 0, 60, 8]], ["car", "car"])
    for how in ("best", "greedy", "optimal"):
        assert match(truth, found, how).index.tolist() == [0, 1]
        half = match(truth, found, how, least=0.5)
        assert (half.index.tolist(), half.iou.tolist()) == ([-1, 1], [0.0, pytest.approx(0.8)])
        assert len(half) == 2
        assert match(truth, found, how, least=0.49).index.tolist() == [0, 1]
    with pytest.raises(InputError, match=r"least must be from 0 to below 1, got -0\.1"):
        match(truth, found, least=-0.1)


def test_the_role_of_an_object_and_its_values() -> None:
    spec = parse(
        "exfunction CarExists(): bool car(): bb carExists(bb): bool others(): setBB endexfunction "
        "case go car() = car() endcase"
    )
    role = find_role(spec, [], classes=["truck", "car", "pedestrian"])
    assert role is not None
    assert role.exists[0] == "CarExists"
    assert role.names == ("car", *role.exists)
    assert role.elements == ("vehicle", "pedestrian")
    assert find_role(spec, ["CarExists", "carExists"]) == ObjectRole("car")
    assert find_role(spec, ["car"], function="car") == ObjectRole("car", role.exists)
    plain = ObjectRole("car", ("there",))
    assert object_values(plain, (0, 0, 1, 1)) == {"car": (0, 0, 1, 1), "there": True}


def test_rows_there_and_back() -> None:
    case = Case("000007#0", "R1", (RecordDrive("-"),))
    rows = [
        TestRow("f", ("stop", "go"), (), False, -2.0, 0.5, (0, 1, 2, 3), None, "why"),
        TestRow("f", (), ("stop",), False, 0.0),
        TestRow("f", ("stop",), ("stop",), True, 0.0, 0.0, (0, 1, 2, 3), (4, 5, 6, 7)),
    ]
    for row in rows:
        verdict = row.verdict(case)
        assert verdict.status is (Status.PASSED if row.passed else Status.VIOLATED)
        assert row_of(verdict) == row
    assert rows[0].expectation == "stop + go"
    assert rows[0].measures() == {
        "frame": "f", "expected": "stop + go", "found": "(none)", "iou": 0.5,
        "truth.x1": 0, "truth.y1": 1, "truth.x2": 2, "truth.y2": 3,
    }  # fmt: skip
    apart = TestRow("f", ("stop",), None, None, math.nan, reason="unclear")
    verdict = apart.verdict(case)
    assert (verdict.status, verdict.reason, verdict.margin) == (Status.NOT_APPLICABLE, "unclear", None)
    again = row_of(verdict)
    assert again is not None
    assert math.isnan(again.margin)
    assert (again.passed, again.found, again.expected) == (None, None, ("stop",))
    for status in (Status.ERROR, Status.ENGINE_ERROR):
        assert row_of(Verdict("a", "R", status, reason="crash")) is None
    assert (joined(()), split("(none)"), split(""), split("a + b")) == ("(none)", (), (), ("a", "b"))
    for label in ('"(none)"', '"a + b"'):
        with pytest.raises(InputError, match="would be read as several or none in rows: rename it"):
            check_labels(parse(f"exfunction v(): bb endexfunction case {label} v() = v() endcase"))


def test_why_a_specification_says_nothing() -> None:
    def told(applies: bool | None, **values: bool | None) -> str:
        return out_of_scope(SpecificationOutcome(applies, values), "the boxes")

    assert told(None, stop=None) == "the precondition has no value for the boxes"
    assert told(False, stop=None) == "the precondition does not hold for the boxes"
    assert told(True, stop=None, go=None, wait=True) == "'go' and 'stop' have no value for the boxes"
    assert told(True, stop=None, wait=True) == "'stop' has no value for the boxes"
    assert told(True, stop=True, go=False) == ""
    assert labels_of(SpecificationOutcome(True, {"b": True, "a": False, "c": True})) == ("b", "c")
    assert verdict_margin(("a",), ("b",), {"a": 1.0, "b": None}) == -math.inf


def test_a_table_beside_iou() -> None:
    rows = [
        TestRow("c", ("stop",), ("stop",), True, 1.0, 0.9),
        TestRow("a", ("stop",), ("stop",), True, 1.0, 0.7),
        TestRow("b", ("stop",), ("stop",), True, 1.0, 0.7),
        TestRow("d", ("go",), None, False, -1.0, 0.0, reason="lost"),
        TestRow("e", ("go",), None, None, 0.0, 0.9, reason="unclear"),
        TestRow("g", ("go",), None, None, 0.0, 0.9, reason="unclear"),
        TestRow("h", ("go",), ("go",), True, 2.0),
    ]
    table = compare(rows, expectations=["stop", "never"])
    assert table.as_dict() == {
        "specification": {"passed": 4, "failed": 1, "share": 0.8},
        "iou": {
            "0.6": {"passed": 3, "failed": 1, "share": 0.75},
            "0.8": {"passed": 1, "failed": 3, "share": 0.25},
        },
        "cells": {
            threshold: [
                {
                    "expectation": name,
                    "iou": iou,
                    "specification": passed,
                    "count": counts.get((name, iou), 0),
                }
                for name in ("stop", "never", "go")
                for passed, counts in ((True, right), (False, {("go", False): 1}))
                for iou in (True, False)
            ]
            for threshold, right in (
                ("0.6", {("stop", True): 3}),
                ("0.8", {("stop", True): 1, ("stop", False): 2}),
            )
        },
        "apart": {"unclear": 2},
    }
    assert [row.frame for row in table.cell(0.6, "stop", True, True).examples(2)] == ["c", "b"]
    assert [row.frame for row in table.cell(0.8, "stop", False, True).examples(1)] == ["a"]
    whole = compare([rows[-1]])
    assert (whole.iou, whole.cells, str(whole.specification)) == ({}, {}, "1/(1+0) = 100.0%")
    assert (str(Count()), Count().share, Count(1, 2).total) == ("no test cases", None, 3)


def test_frames_without_images() -> None:
    class Two:
        name, ids, clusters = "two", ("a", "b"), ("drive", "drive")

        def __len__(self) -> int:
            return 2

        def boxes(self, index: int) -> Boxes:
            return Boxes([[index, 0, 3, 4]], ["car"])

    data = LabelledFrames(Two(), 9, 8)
    assert (data.name, data.ids, data.clusters) == ("two", ("a", "b"), ("drive", "drive"))
    assert [(frame.id, frame.image.shape) for frame in data] == [("a", (8, 9, 3)), ("b", (8, 9, 3))]
    assert [frame.boxes.xyxy[0, 0] for frame in data if frame.boxes is not None] == [0, 1]
    with pytest.raises(InputError, match="1x1 or more, got 5x0"):
        LabelledFrames(Two(), 5, 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [("TRUE", True), (" false ", False), ("3.5", 3.5), ("[1, 2]", [1, 2]), ("(1,2,3,4)", [1, 2, 3, 4])],
)
def test_values_as_people_type_them(text: str, value: object) -> None:
    assert read_value(text) == value
    for wrong in ("", "one", "1,,2", "inf", "1, nan"):
        with pytest.raises(InputError, match="a value is true, false, a number, two numbers"):
            read_value(wrong)


def test_sources_at_their_borders(tmp_path: Any) -> None:
    boxes = Boxes([[0, 0, 10, 10], [50, 0, 60, 20]], ["car", "pedestrian"], scores=[0.5, 0.9])
    view = FrameView("a", 100, 90, boxes, Signals(speed=0.0))
    assert len(BoxesOf("vehicle", 0.5).value(view)) == 1
    assert len(BoxesOf("vehicle", 0.51).value(view)) == 0
    assert Exists(["vehicle", "pedestrian"], 0.6).value(view) is True
    assert Exists("vehicle", 0.6).value(view) is False
    assert Lead("vehicle").value(view) is None
    assert Lead("pedestrian").value(view).tolist() == [50, 0, 60, 20]
    assert LeadExists("vehicle").value(view) is False
    assert LeadExists("vehicle", corridor=(10, 20)).value(view) is True
    assert Lead(["vehicle", "pedestrian"], corridor=[0, 99]).corridor == (0.0, 99.0)
    assert Lead(["vehicle", "pedestrian"], corridor=[0, 99]).value(view).tolist() == [50, 0, 60, 20]
    still = StoppingDistance(focal_length=100, horizon=50)
    assert still.value(view) == (100.0, 100.0)
    assert StoppingDistance(100, 50, speed=10.0, columns=(1, 2)).value(view) == (1, 50 + 165 / 20, 2, 100.0)
    assert StoppingDistance(100, 50, 2.0, 0.0, 2.0).metres(4.0) == 4.0
    with pytest.raises(InputError, match="frame 'b': the stopping distance needs the height of the image"):
        StoppingDistance(100, 50, speed=1.0).value(FrameView("b"))
    for wrong, message in (
        ({"lead": "vehicle", "corridor": [3, 2]}, r"corridor must go from left to right, got \[3, 2\]"),
        ({"lead": "vehicle", "corridor": [3]}, r"corridor must be two numbers, got \[3\]"),
        ({"lead": "vehicle", "corridor": 3}, "corridor must be two numbers, got 3"),
        ({"boxes": "vehicle", "min_score": 1.1}, r"min_score must be from 0 to 1, got 1\.1"),
        ({"boxes": []}, "expected at least one class, such as vehicle"),
        ({"lane": "road", "which": "mine"}, "which must be one of ego, all, got 'mine'"),
        ({"lane": "road", "strip": 1.5}, r"strip must be a whole number of rows and share in \(0, 1\]"),
        ({"lane": "road", "share": 0}, r"share in \(0, 1\]"),
        ({"stopping_distance": {"horizon": 1}}, "stopping_distance needs focal_length"),
        ({"stopping_distance": {"focal_length": 0, "horizon": 1}}, "focal_length must be above 0, got 0"),
        (
            {"stopping_distance": {"focal_length": 1, "horizon": 1, "reaction_time": -1}},
            "reaction_time must be 0 or more, got -1",
        ),
        (
            {"stopping_distance": {"focal_length": 1, "horizon": 1, "speed": math.inf}},
            "speed must be finite, got inf",
        ),
        ({"boxes": "vehicle", "lead": "vehicle"}, "expected one source, got 'boxes'"),
        ({"signal": "speed", "folder": "x"}, "signal has no option 'folder'"),
        ("speed", "got 'speed': write {signal: speed} for a signal"),
        ([1, math.inf], "expected true, false, numbers, or a mapping that names a source, got inf$"),
    ):
        with pytest.raises(InputError, match=message):
            source_of(wrong, tmp_path)
    assert source_of([1, [None, True]], tmp_path) == [1, [None, True]]


def test_of_lanes_the_runs_of_a_strip() -> None:
    ids = np.zeros((4, 8), np.uint8)
    ids[:2, 1:7] = 1  # road in the upper half
    ids[2:, :] = 1
    ids[2:, 3] = 2  # a line in the lower half
    labels = LabelMap(ids, ("void", "road", "line"))
    view = FrameView("a", 4, 8, Boxes.empty(), Signals(), labels)
    assert Lane("road", strip=2).value(view) == [(4, 2, 8, 4), (1, 0, 7, 2)]
    assert Lane("road", "all", strip=2).value(view) == [(0, 2, 3, 4), (4, 2, 8, 4), (1, 0, 7, 2)]
    assert Lane("road", "all", strip=2, parted_by="").value(view) == [
        (0, 2, 3, 4),
        (4, 2, 8, 4),
        (1, 0, 7, 2),
    ]
    assert Lane(["road", "line"], "all", strip=4, parted_by=()).value(view) == [(0, 0, 8, 4)]
    assert Lane(["road", "line"], "all", strip=4, share=0.6, parted_by=()).value(view) == [(1, 0, 7, 4)]
    assert Lane("road", strip=3).value(view)[-1][1:4:2] == (0, 1), "the last strip is what is left"  # type: ignore[index]
