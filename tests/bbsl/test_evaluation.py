"""What specifications mean: Definitions 1 to 9, y upward, and what is not known."""

from __future__ import annotations

import itertools
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.bbsl import Box, Interval, SpecificationError, load, parse
from roadworthy.bbsl.evaluation import SpecificationOutcome
from roadworthy.bbsl.type_checking import find_axes
from roadworthy.bbsl.values import EMPTY, area, common_boxes, meet, overlap, within
from roadworthy.errors import InputError
from roadworthy.frames import Boxes

LISTING1 = load(Path(__file__).parent / "listings" / "listing1.bbsl")
HEIGHT = 375
EDGES = st.integers(0, 12)
SIDES = st.tuples(EDGES, EDGES).map(lambda pair: Interval(*sorted(pair)))
BOXES = st.builds(Box, SIDES, SIDES)


def holds(condition: str, **bindings: Any) -> bool | None:
    """Whether a condition holds, of functions with the types that their names begin with."""
    types = {"b": "bb", "i": "interval", "s": "setBB", "r": "real", "t": "bool"}
    functions = " ".join(f"{name}(): {types[name[0]]}" for name in bindings)
    spec = parse(f"exfunction {functions} endexfunction case go: {condition} endcase")
    return spec.evaluate(bindings, height=100, width=100).values["go"]


def listing1(vehicle: Any, exists: Any = True, zone: Any = (275, 375)) -> SpecificationOutcome:
    return LISTING1.evaluate(
        {"vehicleExists": exists, "vehicle": vehicle, "stoppingDistance": zone}, height=HEIGHT
    )


class TestTheDoor:
    def test_table_2_in_an_image_of_height_375(self) -> None:
        # [275, 375] becomes [0, 100]: a box whose lower edge is at row 275 touches it.
        assert listing1([600, 180, 700, 300]).cases == {"stop"}
        assert listing1([600, 180, 700, 275]).cases == {"stop"}
        assert listing1([600, 180, 700, 274.9]).cases == {"NOT stop"}

    def test_an_interval_along_x_is_not_turned(self) -> None:
        for text in ("PROJ_x(b()) ~ i()", "i() ~ PROJ_x(b())", "w(PROJ_x(b()) ∩ i()) > 0"):
            assert holds(text, b=[10, 0, 20, 5], i=[15, 30]) is True
            assert holds(text, b=[80, 0, 85, 5], i=[15, 30]) is False

    def test_an_interval_whose_axis_nothing_says_is_refused(self) -> None:
        with pytest.raises(InputError, match=r"i\(\) is compared with numbers alone.*PROJ_y\(IMG\) ⊇ i\(\)"):
            holds("i() ~ [0, 30]", i=[80, 95])
        # In an image of height 100, rows 80 to 95 are 5 to 20 above its lower edge.
        assert holds("PROJ_y(IMG) ⊇ i() and i() ~ [0, 30]", i=[80, 95]) is True
        assert holds("PROJ_x(IMG) ⊇ i() and i() ~ [0, 30]", i=[80, 95]) is False
        # How wide it is says no axis, and needs none.
        assert holds("w(i()) > 10", i=[80, 95]) is True

    def test_the_axis_is_found_through_lets_and_other_functions(self) -> None:
        spec = parse(
            """
            exfunction
              near(): interval far(): interval wide(): interval both(): interval v(): bb cut(interval): bool
            endexfunction
            case a
              let n : interval = near() in
              n ∩ far() ~ PROJ_y.lower(v()) and w(wide()) > 1 and both() ~ PROJ_x(v())
              and both() ~ PROJ_y(v()) and cut(PROJ_y(v()))
            endcase
            """
        )
        axes = find_axes(spec)
        assert {name: axes["function", name] for name in ("near", "far", "wide", "both")} == {
            "near": "y",
            "far": "y",
            "wide": "open",
            "both": "both",
        }
        assert axes["parameter", "cut", "0"] == "y"

    @pytest.mark.parametrize(
        "case",
        [
            ": PROJ_y.lower(b()) ∈ i()",
            "let low : real = PROJ_y.lower(b()) in low ∈ i()",
            ": [PROJ_y.lower(b()), PROJ_y.lower(b())] ⊆ i()",
            "let ends : interval = [PROJ_y.lower(b()), PROJ_y.lower(b())] in ends ⊆ i()",
        ],
    )
    def test_an_interval_is_turned_when_only_ends_as_reals_tell_its_axis(self, case: str) -> None:
        spec = parse(f"exfunction b(): bb i(): interval endexfunction case go {case} endcase")
        for bottom, expected in ((90, {"go"}), (70, set())):
            # Rows 85 to 95 of an image of height 100 are [5, 15]; the lower end is 100 - bottom.
            values = {"b": [0, 60, 10, bottom], "i": [85, 95]}
            assert spec.cases(values, height=100) == expected
            assert spec.evaluate_many(values, height=100).cases(0) == expected

    def test_a_function_of_intervals_of_both_axes_is_refused(self) -> None:
        spec = parse(
            """
            exfunction b(): bb f(interval): bool endexfunction
            case go: f(PROJ_x(b())) and f(PROJ_y(b())) endcase
            """
        )
        with pytest.raises(InputError, match="intervals of both axes"):
            spec.cases({"b": [0, 0, 1, 1], "f": lambda _: True}, height=100)

    def test_an_interval_on_both_axes_is_refused_unless_it_points_up_already(self) -> None:
        text = "PROJ_x(b()) ~ i() and PROJ_y(b()) ~ i()"
        with pytest.raises(InputError, match="on both axes"):
            holds(text, b=[0, 90, 10, 100], i=[0, 10])
        assert holds(text, b=[0, 90, 10, 100], i=Interval(0, 10)) is True

    def test_values_that_point_up_pass_as_they_are(self) -> None:
        box = Box(Interval(0, 10), Interval(0, 20))
        assert holds("PROJ_y(b()) = [0, 20]", b=box) is True
        assert holds("exists x ∈ s(). (x = b())", b=box, s=[box, [0, 0, 1, 1]]) is True

    def test_img_is_the_whole_image(self) -> None:
        assert holds("IMG = ([0, 100], [0, 100]) and b() ⊂ IMG", b=[0, 0, 50, 100]) is True
        with pytest.raises(InputError, match="IMG needs the size"):
            parse("case go: IMG = IMG endcase").cases({}, height=100)

    def test_boxes_of_frames_are_taken(self) -> None:
        boxes = Boxes([[0, 0, 5, 5], [10, 10, 20, 90]], ["car", "car"])
        assert holds("exists x ∈ s(). (PROJ_y(x) ~ [0, 10])", s=boxes) is True
        assert holds("PROJ_y(b()) ~ [0, 10]", b=boxes[1]) is True
        with pytest.raises(InputError, match="one box, got 2"):
            holds("b() ~ b()", b=boxes)

    def test_an_empty_interval_does_not_go_out(self) -> None:
        spec = parse("exfunction f(interval): bool endexfunction case go: f([0, 1] ∩ [2, 3]) endcase")
        assert spec.evaluate({"f": lambda _: True}).values == {"go": None}
        assert spec.evaluate_many({"f": lambda _: True}).values["go"].tolist() == [-1]

    def test_arguments_go_out_in_image_pixels(self) -> None:
        seen: list[Any] = []
        spec = parse(
            """
            exfunction v(): bb s(): setBB f(bb, setBB, interval, interval, real): bool endexfunction
            case go: f(v(), s(), PROJ_y(v()), PROJ_x(v()), PROJ_y.lower(v())) endcase
            """
        )

        def function(*arguments: Any) -> bool:
            seen.extend(arguments)
            return True

        values = {"v": [1, 2, 3, 40], "s": lambda: [[5, 6, 7, 8]], "f": function}
        assert spec.cases(values, height=100) == {"go"}
        # Only the real, which has no axis, keeps the value that it has in the language.
        assert seen == [(1, 2, 3, 40), [(5, 6, 7, 8)], (2, 40), (1, 3), 60]

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ([600, 300, 700, 200], r"vehicle\(\) has a lower end above its upper end: \[300, 200\]"),
            ([600, 300, 700], "expected four numbers x1, y1, x2, y2"),
            ("here", "expected four numbers"),
            ([600, 300, math.inf, 400], "must be finite"),
        ],
    )
    def test_boxes_that_are_none(self, value: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            listing1(value)

    def test_other_values_that_are_none(self) -> None:
        with pytest.raises(InputError, match="must be true or false"):
            listing1([0, 0, 1, 1], exists="yes")
        with pytest.raises(InputError, match="two numbers, lower and upper"):
            listing1([0, 0, 1, 1], zone=3)
        with pytest.raises(InputError, match=r"box 1 of s\(\) has a number that is NaN"):
            holds("exists x ∈ s(). (true)", s=[[0, 0, 1, 1], [0, math.nan, 1, 1]])
        with pytest.raises(InputError, match="must be a set of boxes"):
            holds("exists x ∈ s(). (true)", s=7)
        with pytest.raises(InputError, match="two numbers, lower and upper"):
            listing1([0, 0, 1, 1], zone=["275", "375"])
        with pytest.raises(InputError, match="one number, got True"):
            holds("r() > 0", r=True)
        with pytest.raises(InputError, match="needs the height"):
            LISTING1.cases({"vehicleExists": True, "vehicle": [0, 0, 1, 1], "stoppingDistance": [0, 1]})

    @pytest.mark.parametrize("height", [0, -3, math.nan, math.inf])
    def test_heights_that_are_none(self, height: float) -> None:
        with pytest.raises(InputError, match="height must be above 0 and finite"):
            parse("case go: true endcase").cases({}, height=height)

    def test_unbound_functions_are_named(self) -> None:
        with pytest.raises(InputError, match=r"nothing is bound to vehicle\(\); did you mean 'vehicl'\?"):
            LISTING1.cases(
                {"vehicl": [0, 0, 1, 1], "vehicleExists": True, "stoppingDistance": [0, 1]}, height=9
            )

    def test_functions_with_arguments_need_a_callable(self) -> None:
        spec = parse("exfunction f(real): bool endexfunction case go: f(1) endcase")
        with pytest.raises(InputError, match="bind it to a callable, got True"):
            spec.cases({"f": True})

    def test_specifications_over_time_need_a_track(self) -> None:
        spec = parse("exfunction t(): bool endexfunction case go: previous t() endcase")
        assert spec.is_temporal
        for ask in (spec.evaluate, spec.evaluate_many):
            with pytest.raises(InputError, match=r"use bbsl\.tracks\.evaluate_track"):
                ask({"t": True})

    def test_mistakes_in_types_come_first(self) -> None:
        with pytest.raises(SpecificationError):
            parse("case go: v() ~ IMG endcase").cases({})


class TestRelations:
    @pytest.mark.parametrize(
        ("left", "right", "true"),
        [
            ([0, 2], [3, 5], {"<"}),
            ([0, 3], [3, 5], {"≈"}),
            ([3, 5], [0, 2], {">"}),
            ([0, 5], [0, 5], {"=", "≈", "⊆", "⊇"}),
            ([1, 5], [0, 5], {"≈", "⊆", "⊂"}),
            ([0, 5], [1, 4], {"≈", "⊇", "⊃"}),
            ([0, 3], [1, 5], {"≈"}),
        ],
    )
    def test_of_intervals(self, left: list[int], right: list[int], true: set[str]) -> None:
        relations = ["<", ">", "=", "≈", "⊂", "⊃", "⊆", "⊇"]
        assert {sign for sign in relations if holds(f"{left} {sign} {right}")} == true
        # Of boxes: on the other axis both are alike, so that nothing changes but < and >, which boxes lack.
        boxes = [f"({side}, [0, 1])" for side in (left, right)]
        assert {sign for sign in relations[2:] if holds(f"{boxes[0]} {sign} {boxes[1]}")} == true - {"<", ">"}

    @pytest.mark.parametrize("sign", ["<", ">", "=", "≤", "≥"])
    def test_of_reals(self, sign: str) -> None:
        python = {"=": "==", "≤": "<=", "≥": ">="}.get(sign, sign)
        for a, b in itertools.product((1, 2), repeat=2):
            assert holds(f"r() {sign} {b}", r=a) is eval(f"{a} {python} {b}")

    def test_reals_and_intervals(self) -> None:
        assert holds("2 ∈ [0, 2] and 0 ∈ [0, 2] and not (2.1 ∈ [0, 2])") is True
        assert holds("PROJ_y.lower(b()) = 10 and PROJ_y.upper(b()) ≈ [15, 30]", b=[0, 80, 5, 90]) is True
        assert holds("PROJ_y.upper(b()) ≤ 20 and PROJ_y.upper(b()) < 20.5", b=[0, 80, 5, 90]) is True
        assert holds("3 > [0, 2] and [0, 2] < 3 and 1 ⊂ [0, 2]") is True

    def test_nothing(self) -> None:
        nothing = "([0, 1] ∩ [2, 3])"
        assert holds(f"{nothing} ⊆ [0, 1] and {nothing} < [0, 1] and {nothing} > [0, 1]") is True
        assert holds(f"{nothing} ≈ [-99, 99] or [0, 1] ⊆ {nothing}") is False
        assert holds(f"w({nothing}) = 0 and {nothing} = {nothing}") is True

    @given(SIDES, SIDES)
    def test_against_the_points_of_the_intervals(self, a: Interval, b: Interval) -> None:
        # Ends are whole numbers, so that the whole and half numbers between tell everything.
        points = [half / 2 for half in range(25)]
        inside = [{p for p in points if one.lower <= p <= one.upper} for one in (a, b)]
        assert overlap(a, b) == bool(inside[0] & inside[1])
        assert within(a, b) == (inside[0] <= inside[1])
        both = meet(a, b)
        assert {p for p in points if both.lower <= p <= both.upper} == inside[0] & inside[1]
        assert (both == EMPTY) == (not inside[0] & inside[1])


class TestAreas:
    @given(st.lists(BOXES, max_size=7))
    def test_a_union_against_a_count_of_pixels(self, boxes: list[Box]) -> None:
        assert area(boxes) == _mask(boxes).sum()

    @given(st.lists(BOXES, max_size=4), st.lists(BOXES, max_size=4))
    def test_an_intersection_against_a_count_of_pixels(self, left: list[Box], right: list[Box]) -> None:
        assert area(common_boxes(left, right)) == (_mask(left) & _mask(right)).sum()

    def test_three_equal_boxes(self) -> None:
        square = [0, 0, 2, 2]
        assert holds("RAT(s(), {b()}) = 1", s=[square] * 3, b=square) is True

    def test_the_ratio_of_the_condensed_specifications(self) -> None:
        # A car of 10 x 10 of which the lane covers a strip of 4 columns.
        text = "RAT(s() ∩ {b()}, {b()})"
        for limit, expected in ((0.3, True), (0.4, False)):
            assert (
                holds(f"{text} > {limit}", s=[[0, 0, 4, 50], [0, 50, 4, 100]], b=[0, 40, 10, 60]) is expected
            )


def _mask(boxes: list[Box]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    mask = np.zeros((12, 12), np.bool_)
    for box in boxes:
        mask[int(box.y.lower) : int(box.y.upper), int(box.x.lower) : int(box.x.upper)] = True
    return mask


class TestWhatIsNotKnown:
    def test_a_precondition_that_does_not_hold(self) -> None:
        outcome = listing1(None, exists=False)
        assert outcome == SpecificationOutcome(False, {"stop": None, "NOT stop": None})
        assert outcome.cases == set()
        assert outcome.unknown == set()

    @pytest.mark.parametrize("nothing", [None, math.nan])
    def test_a_precondition_that_is_not_known(self, nothing: Any) -> None:
        assert listing1([0, 0, 1, 1], exists=nothing).applies is None

    @pytest.mark.parametrize("nothing", [None, [math.nan] * 4, [0, 0, math.nan, 1]])
    def test_a_box_without_a_value(self, nothing: Any) -> None:
        outcome = listing1(nothing)
        assert outcome == SpecificationOutcome(True, {"stop": None, "NOT stop": None})
        assert outcome.unknown == {"stop", "NOT stop"}

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("t() and false", False),
            ("t() and true", None),
            ("t() or true", True),
            ("t() or false", None),
            ("not t()", None),
            ("t() = t()", None),
            ("forall x ∈ {}. (t())", True),
            ("exists x ∈ {}. (t())", False),
            ("forall x ∈ {IMG}. (t())", None),
            ("forall x ∈ {IMG, IMG}. (t() and x ⊂ IMG)", False),
            ("exists x ∈ s(). (true)", None),
            ("forall x ∈ s(). (true)", None),
            ("RAT({}, {}) > 0", None),
            ("RAT({IMG}, {([0, 0], [0, 9])}) > 0", None),
            ("[r(), 3] ~ [0, 1]", None),
            ("[4, w([0, 1])] ~ [0, 1]", None),
            ("RAT({b(), IMG} ∪ {}, {IMG}) > 0", None),
            ("exists x ∈ {b(), IMG}. (true)", None),
            ("(PROJ_x(b()), [5, 6]) ~ ([0, 1], [0, 1])", None),
            ("([0, 1] ∩ [2, 3], [0, 1]) ⊆ IMG", None),
            ("RAT({([0, 1], [0, 1] ∩ [2, 3])}, {IMG}) > 0", None),
            ("b() ~ IMG or r() ∈ [0, 1] or w(i()) > 1", None),
        ],
    )
    def test_kleene(self, text: str, expected: bool | None) -> None:
        assert holds(text, t=None, s=None, r=None, b=None, i=None) is expected


@pytest.mark.parametrize(
    ("before", "inner", "after"),
    [
        ("not ", "t()", ""),
        ("(true and (false or ", "t()", "))"),
        ("exists x# ∈ {IMG}. ", "t()", ""),
        ("w([0, ", "r()", ""),
    ],
)
def test_the_deepest_that_can_be_read_can_be_evaluated(before: str, inner: str, after: str) -> None:
    """Everything that walks a tree recurses, so the limit of the parser must be low enough for all of it."""
    spec, depth = None, 0
    while True:
        depth += 1
        if before.startswith("w"):
            text = "w([0, " * depth + inner + "])" * depth + " > 0"
        else:
            text = "".join(before.replace("#", str(level)) for level in range(depth)) + inner + after * depth
        try:
            spec = parse(f"exfunction t(): bool r(): real endexfunction case go: {text} endcase")
        except SpecificationError as error:
            reason = str(error)
            break
    assert "nested more than 100 deep" in reason
    assert spec is not None
    assert depth > 30
    values = {"t": True, "r": 3.0}
    outcome = spec.evaluate(values, height=9, width=9)
    held = spec.evaluate_many(values, height=9, width=9).values["go"]
    assert held.tolist() == [1 if outcome.values["go"] else 0]
    again = parse(spec.format())
    assert again == spec
    assert hash(again) == hash(spec)
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert repr(spec)
