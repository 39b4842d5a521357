"""The parts of the static checks: areas as terms against areas of boxes, and how many boxes are enough."""

from collections.abc import Sequence

import pytest
import z3
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from roadworthy.bbsl import parse
from roadworthy.bbsl.checking.encoding import Encoding
from roadworthy.bbsl.checking.solving import sufficient_sizes
from roadworthy.bbsl.checking.symbols import (
    Areas,
    ExactAreas,
    GridAreas,
    Member,
    OpaqueAreas,
    SymbolicBox,
    SymbolicInterval,
    SymbolicSet,
    TooManyBoxes,
    intersection,
)
from roadworthy.bbsl.values import Box, Interval, area, common_boxes

YES = z3.BoolVal(True)
SIDES = st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda ends: Interval(min(ends), max(ends)))
BOXES = st.lists(st.builds(Box, SIDES, SIDES), max_size=4)


def symbolic(boxes: Sequence[Box]) -> SymbolicSet:
    def side(one: Interval) -> SymbolicInterval:
        return SymbolicInterval(z3.RealVal(one.lower), z3.RealVal(one.upper), YES, YES)

    return SymbolicSet(tuple(Member(YES, SymbolicBox(side(box.x), side(box.y))) for box in boxes), YES)


def number(term: z3.ArithRef) -> float:
    return float(z3.simplify(term).as_fraction())


@given(BOXES)
def test_exact_and_grid_areas_are_the_area_of_the_union(boxes: list[Box]) -> None:
    expected = area(boxes)
    assert number(ExactAreas().area(symbolic(boxes))) == expected
    assert number(GridAreas(range(7), range(7)).area(symbolic(boxes))) == expected


def shared(left: SymbolicSet, right: SymbolicSet) -> SymbolicSet:
    members = []
    for one in left.members:
        for other in right.members:
            box = SymbolicBox(intersection(one.box.x, other.box.x), intersection(one.box.y, other.box.y))
            members.append(Member(box.filled, box))
    return SymbolicSet(tuple(members), YES, parts=(left, right))


@given(BOXES, BOXES)
def test_what_is_said_of_opaque_areas_is_true_of_areas(first: list[Box], second: list[Box]) -> None:
    """Else a proof might rest on a falsehood."""
    left, right = symbolic(first), symbolic(second)
    areas = OpaqueAreas()
    union = SymbolicSet((*left.members, *right.members), YES, covers=(left, right))
    terms = {
        areas.area(left): area(first),
        areas.area(right): area(second),
        areas.area(shared(left, right)): area(common_boxes(first, second)),
        areas.area(union): area([*first, *second]),
    }
    solver = z3.Solver()
    solver.add(*areas.facts, *(term == z3.RealVal(str(value)) for term, value in terms.items()))
    assert solver.check() == z3.sat


def test_unions_of_very_many_boxes_are_not_written_out() -> None:
    with pytest.raises(TooManyBoxes):
        ExactAreas().area(symbolic([Box(Interval(0, 1), Interval(0, 1))] * 7))


ATOMS = st.sampled_from(
    [
        "PROJ_x({a}) < PROJ_x({b})",
        "PROJ_y({a}) ~ PROJ_y({b})",
        "{a} = {b}",
        "RAT(p() intersect {{{a}}}, {{{a}}}) > 0.3",
        "RAT({{{a}, {b}}} intersect q(), q()) > 0.5",
    ]
)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2, names: tuple[str, ...] = ("v()",)) -> str:
    kind = draw(st.sampled_from(["atom", "not", "and", "or", "forall", "exists"])) if depth else "atom"
    if kind == "atom":
        one, other = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        return draw(ATOMS).format(a=one, b=other)
    if kind == "not":
        return f"not ({draw(conditions(depth - 1, names))})"
    if kind in ("and", "or"):
        sides = [draw(conditions(depth - 1, names)) for _ in range(2)]
        return f"({sides[0]}) {kind} ({sides[1]})"
    name = f"x{len(names)}"
    around = f"{{{names[-1]}}}"
    boxes = draw(st.sampled_from(["p()", "q()", "p() union q()", around, f"q() intersect {around}"]))
    return f"{kind} {name} in {boxes}. ({draw(conditions(depth - 1, (*names, name)))})"


def possible(text: str, sizes: dict[str, int], areas: Areas) -> bool | None:
    encoding = Encoding(parse(text), sizes, areas)
    solver = z3.Solver()
    solver.set("timeout", 3000)
    solver.add(*encoding.known, encoding.cases["a"].true, encoding.cases["b"].false)
    outcome = solver.check()
    return None if outcome == z3.unknown else outcome == z3.sat


@settings(max_examples=60)
@given(conditions(depth=3), conditions(depth=3))
def test_more_boxes_than_are_enough_change_nothing(first: str, second: str) -> None:
    """What no sets of the sufficient sizes do, larger sets do not do either."""
    head = "exfunction v(): bb p(): setBB q(): setBB endexfunction"
    text = f"{head} case a {first} endcase case b {second} endcase"
    spec = parse(text)
    sizes = sufficient_sizes(spec, [(spec.case_blocks[0], True), (spec.case_blocks[1], False)])
    assume(sizes is not None and max(sizes.values()) <= 3)
    assert sizes is not None
    larger = {name: size + 1 for name, size in sizes.items()}
    if possible(text, sizes, OpaqueAreas()) is False:
        assert possible(text, larger, OpaqueAreas()) is not True


def test_a_box_with_an_area_is_counted_for_every_box_that_a_variable_comes_from() -> None:
    spec = parse(
        """
        exfunction p(): setBB q(): setBB endexfunction
        case a
          (exists x in p(), exists y in p(). (PROJ_x(x) < PROJ_x(y)))
          and (forall x in p(), forall y in {x}, forall z in {y}. (RAT(q() intersect {z}, {z}) > 0.5))
        endcase
        """
    )
    # Two boxes of p; in q one for each of them that is shared, and one because q has an area.
    assert sufficient_sizes(spec, [(spec.case_blocks[0], True)]) == {"p": 2, "q": 3}


def test_a_pair_of_boxes_of_one_set_counts_twice() -> None:
    spec = parse(
        """
        exfunction p(): setBB endexfunction
        case a exists x in p(), exists y in p(). (PROJ_x(x) < PROJ_x(y)) endcase
        case b forall x in p(), exists y in p(). (PROJ_x(x) < PROJ_x(y)) endcase
        """
    )
    a, b = spec.case_blocks
    assert sufficient_sizes(spec, [(a, True)]) == {"p": 2}
    assert sufficient_sizes(spec, [(a, False)]) == {"p": 0}
    assert sufficient_sizes(spec, [(b, True)]) is None
    assert sufficient_sizes(spec, [(b, False)]) == {"p": 1}


@pytest.mark.parametrize(
    ("name", "value", "condition"),
    [
        ("s: setBB", "p() union q()", "RAT(s, q()) > 0.5"),
        ("s: setBB", "p()", "exists x in s, exists y in s. (PROJ_x(x) < PROJ_x(y))"),
        ("s: setBB", "p() intersect {v()}", "RAT(s, {v()}) > 0.3 and RAT(s, {v()}) < 0.9"),
        ("s: bool", "exists x in p(). (RAT(q() intersect {x}, {x}) > 0.5)", "s"),
        ("s: bool", "exists x in p(). (x = x)", "s = true"),
        ("s: setBB", "p()", "forall x in s. (RAT(q() intersect {x}, {x}) > 0.5)"),
    ],
)
@pytest.mark.parametrize("wanted", [True, False])
def test_a_let_needs_as_many_boxes_as_what_it_stands_for(
    name: str, value: str, condition: str, wanted: bool
) -> None:
    head = "exfunction v(): bb p(): setBB q(): setBB endexfunction case a"
    word = name.partition(":")[0]
    plain = condition.replace("RAT(s", f"RAT({value}").replace("in s", f"in {value}")
    plain = f"({value}){plain[1:]}" if condition in (word, "s = true") else plain
    found = []
    for text in (f"let {name} = {value} in {condition}", plain):
        spec = parse(f"{head} {text} endcase")
        found.append(sufficient_sizes(spec, [(spec.case_blocks[0], wanted)]))
    assert found[0] == found[1]
    assert found[0] is not None
