"""Margins of random conditions have the sign of what evaluation says, and safe sizes."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.bbsl.test_encoding import PLAIN, VALUES, conditions
from tests.bbsl.typed_strategies import HEIGHT, WIDTH

from roadworthy.bbsl.evaluation import Evaluator
from roadworthy.bbsl.margins import MarginContext, Margins
from roadworthy.bbsl.specification import CaseClause, Spec
from roadworthy.bbsl.syntax import (
    AxisProjection,
    BoxRelation,
    Combination,
    Expression,
    FunctionCall,
    Name,
    Quantified,
    Ratio,
    RealNumber,
    Width,
    walk,
)
from roadworthy.bbsl.values import Coordinates, Interval

MOVING = ("box", "boxes", "others")


def read(condition: Expression, values: dict[str, Any]) -> tuple[bool | None, float | None]:
    spec = Spec(PLAIN, None, (CaseClause("it", (), condition),))
    turned = {**values, "near": Interval(*values["near"])}
    evaluator = Evaluator(spec.prepared, turned, Coordinates(HEIGHT, WIDTH))
    return evaluator.condition(condition, {}), Margins(evaluator, MOVING).condition(
        condition, MarginContext()
    )


BOX, BOXES = FunctionCall("box"), FunctionCall("boxes")
WIDE = Width(AxisProjection("x", BOX))


@pytest.mark.parametrize(
    ("condition", "margin"),
    [
        # The box is 7 wide; both of its edges move, each by half of what is missing.
        (BoxRelation(">", WIDE, RealNumber(4.0)), 1.5),
        (BoxRelation("<", WIDE, RealNumber(4.0)), -1.5),
        # Something that stays where it is, 1 from the left edge of the box.
        (BoxRelation("overlaps", AxisProjection("x", BOX), FunctionCall("near")), -1.0),
        # One of several moves as well as the box: they meet half way.
        (Quantified("exists", "one", BOXES, BoxRelation("overlaps", Name("one"), BOX)), -2.0),
    ],
)
def test_margins_of_a_box_that_is_7_wide(condition: Expression, margin: float) -> None:
    values = {"flag": True, "number": 1.0, "near": (0.0, 1.0), "box": (2.0, 0.0, 9.0, 4.0), "others": []}
    values["boxes"] = [(13.0, 0.0, 15.0, 4.0), (20.0, 0.0, 30.0, 4.0)]
    assert read(condition, values)[1] == margin


def test_what_is_inside_a_relation_must_not_vanish() -> None:
    common = Combination("intersection", AxisProjection("x", BOX), FunctionCall("near"))
    narrow = BoxRelation("<", Width(common), RealNumber(5.0))
    values = {
        "flag": True,
        "number": 1.0,
        "near": (0.0, 3.0),
        "box": (2.0, 0.0, 9.0, 4.0),
        "others": [],
        "boxes": [],
    }
    # They have 2 to 3 in common: 1 wide, far below 5, but gone once the edge of the box is off by 1.
    assert read(narrow, values) == (True, 1.0)


def test_what_a_quantifier_runs_over_must_not_vanish() -> None:
    common = Combination("intersection", BOXES, FunctionCall("others"))
    some = Quantified(
        "exists", "one", common, BoxRelation("<", Width(AxisProjection("x", Name("one"))), RealNumber(50.0))
    )
    values: dict[str, Any] = {"flag": True, "number": 1.0, "near": (0.0, 3.0), "box": (2.0, 0.0, 9.0, 4.0)}
    values |= {"boxes": [(2.0, 0.0, 9.0, 4.0)], "others": [(8.0, 0.0, 15.0, 4.0)]}
    # They overlap by 1, which is gone when both edges are off by a half: then there is none any more.
    assert read(some, values) == (True, 0.5)


@settings(max_examples=150)
@given(conditions(), VALUES)
def test_margins_have_the_sign_of_the_outcome(condition: Expression, values: dict[str, Any]) -> None:
    assume(all(not part.arguments for part in walk(condition) if isinstance(part, FunctionCall)))
    held, margin = read(condition, values)
    if held is None:
        assert margin is None
    else:
        assert margin is not None
        assert margin >= 0 if held else margin <= 0


@settings(max_examples=150)
@given(conditions(), VALUES, st.lists(st.sampled_from([-1.0, 1.0]), min_size=24, max_size=24))
def test_no_error_of_edges_below_the_margin_changes_the_outcome(
    condition: Expression, values: dict[str, Any], errors: list[float]
) -> None:
    """Edges are off by as much as they may, this way or that: in between nothing breaks that holds there.

    Shares of areas are left out: their margins are right to first order only.
    """
    assume(not any(isinstance(part, Ratio) for part in walk(condition)))
    assume(all(not part.arguments for part in walk(condition) if isinstance(part, FunctionCall)))
    held, margin = read(condition, values)
    assume(margin)
    assert margin is not None
    size = min(abs(margin), 60.0) * 0.999

    def off(box: tuple[float, ...], first: int) -> list[float]:
        return [edge + size * errors[first + number] for number, edge in enumerate(box)]

    moved = dict(values)
    moved["box"] = off(values["box"], 0)
    moved["boxes"] = [off(box, 4 + 4 * number) for number, box in enumerate(values["boxes"])]
    moved["others"] = [off(box, 16 + 4 * number) for number, box in enumerate(values["others"])]
    edges = [moved["box"], *moved["boxes"], *moved["others"]]
    assume(all(box[0] <= box[2] and box[1] <= box[3] for box in edges))
    assert read(condition, moved)[0] == held
