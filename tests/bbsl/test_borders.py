"""Borders and ties of bindings, margins and rows of many frames."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.bbsl import FrameView, parse
from roadworthy.bbsl.arrays import Intervals, Kleene, Sets, areas, common, joined, many_values
from roadworthy.bbsl.bindings import (
    Bindings,
    BoxesOf,
    Lane,
    Lead,
    StoppingDistance,
    TableValue,
    _most_shared,
    _runs,
    read_value,
    source_of,
)
from roadworthy.bbsl.margins import _distance
from roadworthy.bbsl.syntax import Type
from roadworthy.bbsl.testing import ObjectRole, find_role, judge, match, split, verdict_margin
from roadworthy.bbsl.testing import joined as joined_labels
from roadworthy.bbsl.tracks import evaluate_track
from roadworthy.bbsl.values import EMPTY, Box, Interval
from roadworthy.errors import InputError
from roadworthy.frames import Boxes, LabelMap, Signals

A, B = Interval(0, 4), Interval(6, 9)
SMALL, LARGE = Box(Interval(2, 4), Interval(2, 5)), Box(Interval(0, 10), Interval(1, 10))


class TestDistances:
    @pytest.mark.parametrize(
        ("operator", "left", "right", "distance"),
        [
            ("<", A, B, 2), ("<", B, A, -9), (">", B, A, 2), (">", A, B, -9), ("=", A, B, -6), ("=", A, A, 0),
            ("overlaps", A, B, -2), ("overlaps", A, Interval(3, 9), 1), ("subseteq", Interval(1, 3), A, 1),
            ("subseteq", A, Interval(1, 3), -1), ("subset", Interval(0, 3), A, 0), ("subset", A, A, 0),
            ("superseteq", A, Interval(1, 2), 1), ("superset", A, Interval(1, 2), 1),
            ("<", A, EMPTY, math.inf),
            ("in", 3.0, A, 1), ("in", 5.0, A, -1), ("<=", 3.0, 5.0, -2), (">=", Interval(7, 7), 5.0, 2),
            ("<", 3.0, 5.0, -2), ("=", 3.0, 5.0, -2), ("<", 3.0, B, 3), ("overlaps", B, 7.0, 1),
            ("subseteq", SMALL, LARGE, 1), ("subset", SMALL, LARGE, 1), ("superset", LARGE, SMALL, 1),
            ("superseteq", LARGE, SMALL, 1), ("overlaps", SMALL, LARGE, 4), ("=", SMALL, LARGE, -6),
            ("subset", LARGE, LARGE, 0), ("subset", Box(Interval(1, 9), Interval(1, 10)), LARGE, 0),
        ],
    )  # fmt: skip
    def test_how_far_a_relation_is_from_where_it_begins_or_ends(
        self, operator: str, left: Any, right: Any, distance: float
    ) -> None:
        assert _distance(operator, left, right) == distance

    def test_a_verdict_is_as_safe_as_the_precondition(self) -> None:
        spec = parse(
            "exfunction v(): bb endexfunction precondition [PROJ_x.lower(v()) >= 7] endprecondition "
            "case stop PROJ_y(v()) ~ [0, 100] endcase case go not (PROJ_y(v()) ~ [0, 100]) endcase"
        )
        seen = {"v": [10, 100, 50, 300]}
        assert judge(spec, seen, seen, height=375, moving=("v",)).margin == 3
        far = {"v": [200, 100, 250, 300]}
        assert judge(spec, seen, far, height=375, moving=("v",)).margin == 25
        assert judge(spec, seen, seen, height=375).margin == math.inf, "nothing moves"

    def test_margins_of_verdicts(self) -> None:
        margins = {"a": -3.0, "b": 5.0, "c": None}
        assert verdict_margin(("a", "b"), ("a", "c"), margins) == -math.inf
        assert verdict_margin(("a",), (), margins) == -3
        assert verdict_margin((), (), {"a": -0.5}) == 0.5


class TestNames:
    def test_cases_are_joined_and_split(self) -> None:
        assert [split(joined_labels(one)) for one in ((), ("a",), ("a", "b c"))] == [(), ("a",), ("a", "b c")]
        assert (joined_labels(()), joined_labels(("a", "b")), split("")) == ("(none)", "a + b", ())

    def test_the_object_and_whether_it_is_there(self) -> None:
        spec = parse(
            "exfunction VEHICLEEXISTS(): bool vehicle(): bb vehicleExists(): real f(bb): bb endexfunction "
            "case a true endcase"
        )
        assert find_role(spec, ()) == ObjectRole("vehicle", ("VEHICLEEXISTS",))
        assert find_role(spec, ["VEHICLEEXISTS"]) == ObjectRole("vehicle")
        assert find_role(spec, ["vehicle"]) is None
        assert find_role(spec, ["vehicle"], function="vehicle", classes=["truck"]) == ObjectRole(
            "vehicle", ("VEHICLEEXISTS",), ("truck",)
        )
        role = ObjectRole("v", ("e",), ("truck", "pedestrian", "car"))
        assert (role.elements, role.names) == (("vehicle", "pedestrian"), ("v", "e"))
        with pytest.raises(InputError, match=r"no function of type bb is called 'f'"):
            find_role(spec, (), function="f")

    @pytest.mark.parametrize(("least", "index"), [(0.0, [0]), (0.49, [0]), (0.5, [-1]), (0.9, [-1])])
    def test_a_match_needs_more_than_the_least(self, least: float, index: list[int]) -> None:
        truth, found = Boxes([[0, 0, 10, 10]], ["car"]), Boxes([[0, 0, 10, 5]], ["car"])
        for how in ("best", "greedy", "optimal"):
            matched = match(truth, found, how, least=least)
            assert matched.index.tolist() == index
            assert matched.iou.tolist() == [0.5 if index == [0] else 0.0]
            assert len(matched) == 1
        with pytest.raises(InputError, match=r"least must be from 0 to below 1, got -0\.1"):
            match(truth, found, least=-0.1)


class TestBindings:
    @pytest.mark.parametrize(
        ("text", "value"),
        [(" 275, 375 ", [275.0, 375.0]), ("[1,2,3,4]", [1.0, 2.0, 3.0, 4.0]), ("(0.5)", 0.5), ("TRUE", True),
         ("false", False), ("-3", -3.0), ("", None), ("nan", None), ("1, inf", None), ("car", None),
         ("1,,2", None)],
    )  # fmt: skip
    def test_values_as_people_type_them(self, text: str, value: Any) -> None:
        if value is None:
            with pytest.raises(
                InputError, match=r"a value is true, false, a number, two numbers \(an interval\)"
            ):
                read_value(text)
        else:
            assert read_value(text) == value
            assert type(read_value(text)) is type(value)

    def test_values_as_files_write_them(self) -> None:
        assert source_of([1, [2.5, None]], Path()) == [1, [2.5, None]]
        assert source_of(None, Path()) is None
        with pytest.raises(InputError, match=r"got 'speed': write \{signal: speed\} for a signal"):
            source_of("speed", Path())
        with pytest.raises(InputError, match="expected one source, got ''"):
            source_of({}, Path())
        with pytest.raises(InputError, match="stopping_distance needs focal_length and horizon"):
            source_of({"stopping_distance": {}}, Path())
        assert source_of({"lane": {"classes": "road", "strip": 3}}, Path()) == Lane("road", strip=3)

    def test_scores_have_borders(self) -> None:
        for least in (0.0, 1.0):
            assert BoxesOf("car", least).min_score == least
        for wrong in (-0.01, 1.01, math.nan):
            with pytest.raises(InputError, match="min_score must be from 0 to 1, got"):
                BoxesOf("car", wrong)
        plain = FrameView("a", boxes=Boxes([[0, 0, 1, 1]], ["car"]))
        assert len(BoxesOf("car", 1.0).value(plain)) == 1, "true boxes have no score"
        with pytest.raises(InputError, match="expected at least one class, such as vehicle"):
            BoxesOf(())

    def test_the_corridor_has_two_sides(self) -> None:
        for box, reached in (
            ([60, 0, 90, 9], True),
            ([60.1, 0, 90, 9], False),
            ([0, 0, 30, 9], True),
            ([0, 0, 29.9, 9], False),
        ):
            view = FrameView("a", 50, 90, Boxes([box], ["car"]))
            assert (Lead("car").value(view) is not None) is reached
        for wrong in ([5, 4], [0, math.nan], [1, 2, 3], "ab", 7):
            with pytest.raises(InputError, match="corridor must"):
                Lead("car", corridor=wrong)  # type: ignore[arg-type]
        assert Lead("car", corridor=[4, 4]).corridor == (4, 4)

    def test_stopping(self) -> None:
        at_once = StoppingDistance(focal_length=100, horizon=10, reaction_time=0, deceleration=2, speed=4)
        assert at_once.metres(4) == 4
        assert at_once.value(FrameView("a", 100)) == (10 + 100 * 1.65 / 4, 100)
        assert StoppingDistance(focal_length=100, horizon=10, camera_height=2, speed=0.1).value(
            FrameView("a", 100)
        ) == (100, 100)
        seen = FrameView("a", 100, signals=Signals(speed=4.0))
        assert StoppingDistance(focal_length=100, horizon=10, reaction_time=0, deceleration=2).value(
            seen
        ) == at_once.value(seen)
        with pytest.raises(InputError, match="reaction_time must be 0 or more, got -1"):
            StoppingDistance(focal_length=1, horizon=1, reaction_time=-1)
        for name in ("focal_length", "camera_height", "deceleration"):
            for wrong in (0, -1, math.inf, math.nan):
                with pytest.raises(InputError, match=f"{name} must be above 0, got {wrong}"):
                    StoppingDistance(**{"focal_length": 1, "horizon": 1, name: wrong})  # type: ignore[arg-type]
        with pytest.raises(
            InputError, match="frame 'a': the stopping distance needs the height of the image"
        ):
            at_once.value(FrameView("a"))

    def test_strips_of_lanes(self) -> None:
        ids = np.zeros((5, 6), np.uint8)
        ids[2:, :] = 1
        ids[1, 3] = 1
        view = FrameView("a", 5, 6, labels=LabelMap(ids, ("sky", "road")))
        # From below: rows 3 and 4, then 1 and 2, of which half are road, then row 0.
        assert Lane("road", strip=2).value(view) == [(0, 3, 6, 5), (0, 1, 6, 3)]
        assert Lane("road", strip=2, share=0.51).value(view) == [(0, 3, 6, 5), (3, 1, 4, 3)]
        assert Lane("road", strip=4, share=1.0).value(view) == [(3, 1, 4, 5)]
        for wrong in ({"share": 0}, {"share": 1.01}, {"strip": 0.5}, {"strip": -1}):
            with pytest.raises(
                InputError, match=r"strip must be a whole number of rows and share in \(0, 1\]"
            ):
                Lane("road", **wrong)
        assert _runs(np.array([1, 0, 0, 1, 1], np.bool_)) == [(0, 1), (3, 5)]
        assert _most_shared([(0, 4), (4, 9), (9, 12)], (2, 7)) == (4, 9)
        assert _most_shared([(0, 2), (7, 9)], (2, 7)) is None
        assert _most_shared([(0, 4), (5, 7)], (2, 7)) == (0, 4), "the first of two that share as much"

    def test_tables(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("id,a,b,c,d,e\nx,1,2,3,4,5\ny,1,2,3,4,TRUE\n")
        assert TableValue("t.csv", list("abcd"), "id", tmp_path).value(FrameView("x")) == [1, 2, 3, 4]
        assert TableValue("t.csv", "e", "id", tmp_path).value(FrameView("y")) is True
        with pytest.raises(InputError, match="a table gives 1, 2 or 4 columns, got 3"):
            TableValue("t.csv", list("abc"), "id", tmp_path)

    def test_columns_of_many_frames(self) -> None:
        views = [FrameView("a"), FrameView("b")]
        assert Bindings({"s": [], "t": [[]], "n": 3}).columns(views) == {"s": [[], []], "t": [[]], "n": 3}


class TestMany:
    def test_truth_values(self) -> None:
        known = many_values([True, False, None], Type.BOOL)
        assert isinstance(known, Kleene)
        assert known.numbers(3).tolist() == [1, 0, -1]
        assert (~known).numbers(3).tolist() == [0, 1, -1]
        for other, both, either, same in (
            (Kleene.constant(True), [1, 0, -1], [1, 1, 1], [1, 0, -1]),
            (Kleene.constant(False), [0, 0, 0], [1, 0, -1], [0, 1, -1]),
        ):
            assert (known & other).numbers(3).tolist() == both
            assert (known | other).numbers(3).tolist() == either
            assert known.same(other).numbers(3).tolist() == same
        assert Kleene.constant(True).numbers(2).tolist() == [1, 1]

    def test_numbers_and_intervals(self) -> None:
        one, two = Intervals.points(np.array([1.0, 2.0, 3.0, np.nan])), Intervals.points(np.array(2.0))
        assert one.below(two).numbers(4).tolist() == [1, 0, 0, -1]
        assert one.at_most(two).numbers(4).tolist() == [1, 1, 0, -1]
        assert one.same(two).numbers(4).tolist() == [0, 1, 0, -1]
        many = Intervals(np.array([0.0, 3.0, 5.0, np.nan]), np.array([2.0, 4.0, 9.0, np.nan]))
        zone = Intervals(np.array(2.0), np.array(4.0))
        assert many.below(zone).numbers(4).tolist() == [0, 0, 0, -1]
        assert zone.below(many).numbers(4).tolist() == [0, 0, 1, -1]
        assert many.overlaps(zone).numbers(4).tolist() == [1, 1, 0, -1]
        assert many.within(zone).numbers(4).tolist() == [0, 1, 0, -1]
        assert many.same(zone).numbers(4).tolist() == [0, 0, 0, -1]
        met = many.meet(zone)
        assert met.lower[:3].tolist() == [2, 3, math.inf]
        assert met.upper[:3].tolist() == [2, 4, -math.inf]

    def test_sets(self) -> None:
        sets = many_values([(SMALL,), (), None, (SMALL, LARGE)], Type.SET_BB)
        other = many_values([(LARGE,), (LARGE,), (LARGE,), (SMALL,)], Type.SET_BB)
        assert isinstance(sets, Sets)
        assert isinstance(other, Sets)
        both, shared = joined([sets, other]), common(sets, other)
        assert (both.counts.tolist(), both.known.tolist()) == ([2, 1, 0, 3], [True, True, False, True])
        assert (shared.counts.tolist(), shared.known.tolist()) == ([1, 0, 0, 2], [True, True, False, True])
        assert areas(sets).tolist()[:2] + areas(sets).tolist()[3:] == [6, 0, 90]
        assert np.isnan(areas(sets)[2])
        assert areas(both).tolist()[3] == 90
        assert both.taken(np.array([3, 0])).counts.tolist() == [3, 2]
        assert both.owners().tolist() == [0, 0, 1, 3, 3, 3]

    def test_the_image_is_a_box_of_every_frame(self) -> None:
        spec = parse(
            "exfunction v(): bb endexfunction case inside v() subseteq IMG endcase "
            "case low PROJ_y.lower(v()) = PROJ_y.lower(IMG) endcase case wide w(PROJ_x(IMG)) > 55 endcase"
        )
        boxes = {"v": [[0, 0, 50, 100], [0, 0, 51, 100], [0, 0, 50, 101], [0, 5, 9, 90]]}
        found = spec.evaluate_many(boxes, height=100, width=50).values
        assert found["inside"].tolist() == [1, 0, 0, 1]
        assert found["low"].tolist() == [1, 1, 0, 0]
        assert found["wide"].tolist() == [0] * 4
        each = spec.evaluate_many(boxes, height=[100, 100, 200, 90], width=[50, 60, 50, 60]).values
        assert each["inside"].tolist() == [1, 1, 1, 1]
        assert each["low"].tolist() == [1, 1, 0, 1]
        assert each["wide"].tolist() == [0, 1, 0, 1]
        for sizes in ({"height": 100}, {"width": 50}):
            with pytest.raises(InputError, match=r"size of the image|height of the image|width"):
                spec.evaluate_many(boxes, **sizes)

    def test_sizes_of_images_reach_functions_with_arguments(self) -> None:
        spec = parse("exfunction f(bb): bool v(): bb endexfunction case go f(v()) endcase")
        seen: list[Any] = []

        def asked(box: Any) -> bool:
            seen.append([float(one) for one in box])
            return True

        values = {"f": asked, "v": [[0, 0, 1, 10], [0, 0, 1, 20]]}
        assert spec.evaluate_many(values, height=[100, 200], width=[50, 60]).values["go"].tolist() == [1, 1]
        assert seen == [[0, 0, 1, 10], [0, 0, 1, 20]]


def test_a_case_holds_always_where_it_is_never_false() -> None:
    spec = parse(
        "exfunction on(): bool b(): bool endexfunction precondition [on()] endprecondition "
        "case go b() endcase"
    )
    for frames, held in (
        ([(True, True), (False, False)], True),
        ([(True, True), (True, False)], False),
        ([(True, True), (True, None)], None),
        ([(True, None), (True, False)], False),
        ([(None, True)], None),
        ([], True),
    ):
        track = evaluate_track(spec, [{"on": on, "b": b} for on, b in frames])
        assert (track.always("go"), len(track)) == (held, len(frames))
