"""Coverage of specifications, margins, and the nearest boxes that make a difference."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bbsl.published_specs import mended

from roadworthy.bbsl import parse
from roadworthy.bbsl.coverage import SpecCoverage, nearest_changes
from roadworthy.bbsl.evaluation import Evaluator
from roadworthy.bbsl.margins import Margins
from roadworthy.bbsl.values import Box, Coordinates, Interval
from roadworthy.errors import InputError

ZONES = {"stoppingDistance": [275, 375], "directionAreaDistance": [420, 821], "vehicleExists": True}


def values(x1: float, y1: float, x2: float, y2: float) -> dict[str, object]:
    return {**ZONES, "vehicle": [x1, y1, x2, y2]}


def covered(*boxes: tuple[float, float, float, float]) -> SpecCoverage:
    coverage = SpecCoverage(mended(4), near=5.0, grid=(3, 4))
    for box in boxes:
        place = ((box[0] + box[2]) / 2, box[3])
        coverage.add(values(*box), moving=["vehicle"], height=375, width=1242, place=place)
    return coverage


def test_cases_conditions_borders_and_positions_are_counted() -> None:
    one = covered((500, 180, 600, 278))
    assert one.cases == {"x_ystop": 1, "ysafe_xwarning": 0, "xsafe_ywarning": 0, "NOT warning": 0}
    assert (one.case_share, one.condition_share, one.border_share) == (0.25, 0.0, 0.0)
    both = covered((500, 180, 600, 278), (500, 180, 600, 271), (100, 180, 300, 200))
    assert both.case_share == 0.75
    distance = [atom for atom in both.atoms if "stoppingDistance" in atom.text]
    assert {(atom.true, atom.false, atom.nearest_true, atom.nearest_false) for atom in distance} == {
        (1, 2, 3.0, 4.0)
    }
    assert all(atom.border_covered(5.0) and not atom.border_covered(3.5) for atom in distance)
    # vehicleExists() = true is never false here, and has no border.
    assert [atom.text for atom in both.atoms if not atom.covered] == ["vehicleExists() = true"]
    assert not both.atoms[0].has_border
    assert both.border_share == 0.5
    assert both.positions.tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [0, 2, 0, 0]]
    assert both.as_dict()["conditions"]["atoms"][0]["border_covered"] is None


def test_what_is_out_of_scope_is_counted_apart() -> None:
    coverage = SpecCoverage(mended(1))
    gone = {**ZONES, "vehicle": None, "vehicleExists": False}
    coverage.add(gone, moving=["vehicle"], height=375, width=1242)
    assert (coverage.inputs, coverage.outside, coverage.case_share) == (1, 1, 0.0)


def test_atoms_inside_quantifiers_are_tried_once_for_every_box() -> None:
    spec = parse(
        "exfunction cars(): setBB endexfunction case stop exists x in cars(). (PROJ_y(x) ~ [0, 9]) endcase"
    )
    coverage = SpecCoverage(spec)
    coverage.add({"cars": [[0, 0, 1, 95], [0, 0, 1, 50]]}, moving=["cars"], height=100, width=100)
    (atom,) = coverage.atoms
    assert (atom.true, atom.false, atom.nearest_true, atom.nearest_false) == (1, 1, 4.0, 41.0)


def test_settings_that_cannot_be_used() -> None:
    with pytest.raises(InputError, match="near must be 0 or more, got -1"):
        SpecCoverage(mended(1), near=-1)
    with pytest.raises(InputError, match="the grid must have a row and a column or more"):
        SpecCoverage(mended(1), grid=(0, 4))
    with pytest.raises(InputError, match="speaks of several"):
        SpecCoverage(parse("exfunction v(): bb endexfunction case go always (v() = v()) endcase"))


def test_the_nearest_change_is_exact_and_leaves_other_edges_alone() -> None:
    changes = nearest_changes(mended(3), values(500, 180, 600, 300), "vehicle", height=375, width=1242)
    (change,) = changes
    assert change.before == ("stop",)
    assert change.after == ("NOT stop",)
    # The bottom edge is 25 pixels inside; the right edge would have to move 180.
    assert change.distance == pytest.approx(25, abs=0.011)
    assert change.box == pytest.approx((500, 180, 600, 275), abs=0.02)


def test_the_nearest_change_of_a_share_of_an_area() -> None:
    """Half of a box lies in the lane: for only 0.3 of it to lie there, both upright edges move."""
    spec = parse(
        """
        exfunction car(): bb lane(): setBB endexfunction
        case in lane RAT(lane() intersect {car()}, {car()}) > 0.3 endcase
        case beside RAT(lane() intersect {car()}, {car()}) <= 0.3 endcase
        """
    )
    bound = {"car": [50, 100, 150, 200], "lane": [[0, 0, 100, 300]]}
    (change,) = nearest_changes(spec, bound, "car", height=300, width=300)
    assert change.after == ("beside",)
    # (50 - d) / 100 = 0.3 when both edges move to the right by d.
    assert change.distance == pytest.approx(20.0, abs=0.05)


def test_a_case_that_no_box_leads_to_is_left_out() -> None:
    spec = parse(
        """
        exfunction v(): bb near(): interval endexfunction
        case stop PROJ_y(v()) ~ near() or PROJ_y(v()) > near() endcase
        case never PROJ_y(v()) < near() and PROJ_y(v()) > near() endcase
        """
    )
    assert nearest_changes(spec, {"v": [0, 0, 1, 90], "near": [90, 95]}, "v", height=100, width=100) == []


def test_where_no_nearest_change_can_be_looked_for() -> None:
    spec = parse("exfunction f(bb): bb v(): bb endexfunction case go f(v()) = v() endcase")
    with pytest.raises(InputError, match="takes arguments"):
        nearest_changes(spec, {"f": lambda box: box, "v": [0, 0, 1, 1]}, "v", height=9, width=9)
    with pytest.raises(InputError, match="'car' must be an external function of type bb"):
        nearest_changes(mended(1), values(0, 0, 1, 1), "car", height=9, width=9)
    gone = {**ZONES, "vehicle": None, "vehicleExists": False}
    with pytest.raises(InputError, match=r"vehicle\(\) has no box to start from"):
        nearest_changes(mended(1), gone, "vehicle", height=9, width=9)


def margin_of(text: str, **bound: object) -> float | None:
    head = "exfunction v(): bb u(): bb near(): interval lane(): setBB far(): setBB yes(): bool endexfunction"
    spec = parse(f"{head} case it {text} endcase")
    known = {
        "v": [10, 20, 40, 80],
        "u": [0, 0, 100, 100],
        "near": [60, 100],
        "lane": [[0, 0, 25, 100]],
        "far": [[45, 0, 60, 100]],
        "yes": True,
    }
    evaluator = Evaluator(spec.prepared, {**known, **bound}, Coordinates(100, 100))
    return Margins(evaluator, ["v"]).case(spec.case_blocks[0])


@pytest.mark.parametrize(
    ("text", "margin"),
    [
        ("PROJ_y(v()) ~ near()", 20.0),
        ("PROJ_y(v()) > near()", -20.0),
        ("v() subseteq u()", 10.0),
        ("PROJ_x(v()) = PROJ_x(u())", -60.0),
        ("w(PROJ_x(v())) > 20", 5.0),
        ("PROJ_x.lower(v()) <= 4", -6.0),
        ("yes() = true", math.inf),
        ("yes() = false or PROJ_x.lower(v()) <= 4", -6.0),
        ("(PROJ_y(v()) ~ near()) = true", 20.0),
        ("u() subseteq IMG", math.inf),
        ("forall x in lane(). (x ~ v())", 15.0),
        ("let far: bool = PROJ_y(v()) > near() in not far", 20.0),
        ("let side: interval = PROJ_y(v()), far: bool = side > near() in far", -20.0),
        # 15 pixels of the box lie in the lane: with an error of that size nothing is left to compare.
        ("exists x in lane() intersect {v()}. (PROJ_x(x) < [1000, 1000])", 15.0),
        ("forall x in far() intersect {v()}. (PROJ_x(x) < [0, 0])", 5.0),
        ("PROJ_x(v()) intersect [45, 50] < [0, 0]", 5.0),
        ("RAT(far() intersect {v()}, {v()}) > 0.3", -5.0),
        # [10, 40] is an interval as long as the left edge stays left of 40.
        ("[PROJ_x.lower(v()), 40] ~ [0, 1000]", 30.0),
    ],
)
def test_margins_of_atoms(text: str, margin: float) -> None:
    assert margin_of(text) == pytest.approx(margin)


def test_the_margin_of_a_share_is_safe_for_small_errors() -> None:
    margin = margin_of("RAT(lane() intersect {v()}, {v()}) > 0.45")
    assert margin is not None
    assert 0 < margin < 1
    for off in (-0.99 * margin, 0.99 * margin):
        for edges in ((1, 0, 0, 0), (0, 0, 1, 0), (1, 0, 1, 0), (-1, 0, 1, 0), (1, -1, 1, 1)):
            moved = [place + off * edge for place, edge in zip([10, 20, 40, 80], edges, strict=True)]
            assert (margin_of("RAT(lane() intersect {v()}, {v()}) > 0.45", v=moved) or 0) >= 0


EDGES = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 40), st.integers(0, 40))
SHIFTS = st.tuples(*[st.floats(-1, 1)] * 4)


@given(EDGES, SHIFTS)
def test_no_error_below_the_margin_changes_a_case(
    edges: tuple[int, int, int, int], shifts: tuple[float, ...]
) -> None:
    x, y, wide, tall = edges
    spec = mended(4)
    bound = {
        "stoppingDistance": Interval(20, 40),
        "directionAreaDistance": Interval(30, 50),
        "vehicleExists": True,
    }
    box = Box(Interval(x, x + wide), Interval(y, y + tall))
    read = Margins(Evaluator(spec.prepared, {**bound, "vehicle": box}, Coordinates(100, 100)), ["vehicle"])
    before = spec.cases({**bound, "vehicle": box}, height=100)
    for case in spec.case_blocks:
        margin = read.case(case)
        assert margin is not None
        assert margin >= 0 if case.label in before else margin <= 0
        off = [shift * abs(margin) * 0.999 for shift in shifts]
        sides = (x + off[0], x + wide + off[1], y + off[2], y + tall + off[3])
        if sides[0] <= sides[1] and sides[2] <= sides[3] and margin:
            moved = Box(Interval(sides[0], sides[1]), Interval(sides[2], sides[3]))
            after = spec.cases({**bound, "vehicle": moved}, height=100)
            assert (case.label in after) == (case.label in before)
