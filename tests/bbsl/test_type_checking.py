"""Names that nothing binds and parts of the wrong type, all at once and where they stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.bbsl.strategies import SPECS
from tests.bbsl.typed_strategies import specs

from roadworthy.bbsl import Spec, SpecificationError, load, parse
from roadworthy.bbsl.syntax import place
from roadworthy.bbsl.type_checking import find_problems

LISTINGS = Path(__file__).parent / "listings"
FUNCTIONS = """
exfunction
  flag(): bool  number(): real  near(): interval  box(): bb  boxes(): setBB  size(bb, real): real
endexfunction
"""


def found(condition: str) -> list[str]:
    return [one.message for one in find_problems(parse(f"{FUNCTIONS} case go: {condition} endcase"))]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, []),
        (2, [(15, "lVehicle()", "no external function is called 'lVehicle'; did you mean 'Vehicle'?")]),
        (3, [(24, "stoppingDistance", "no let or quantifier binds 'stoppingDistance' here")]),
        (
            4,
            [
                (line, name, f"no let or quantifier binds '{name}' here")
                for line, name in [
                    (23, "vehicle"),
                    (24, "vehicle"),
                    (30, "vehicle"),
                    (31, "vehicle"),
                    (38, "stoppingDistance"),
                ]
            ],
        ),
    ],
)
def test_the_papers_listings(number: int, expected: list[tuple[int, str, str]]) -> None:
    spec = load(LISTINGS / f"listing{number}.bbsl")
    problems = find_problems(spec)
    assert [
        (place(spec.source, one.span.start)[0], spec.source[one.span.start : one.span.stop])
        for one in problems
    ] == [(line, text) for line, text, _ in expected]
    for one, (_, _, message) in zip(problems, expected, strict=True):
        assert message in one.message


def test_all_mistakes_are_raised_together() -> None:
    spec = load(LISTINGS / "listing4.bbsl")
    with pytest.raises(SpecificationError) as error:
        spec.check_types()
    assert len(error.value.problems) == 5
    assert str(error.value).count("^^^^^^^") >= 5
    assert "listing4.bbsl:23:16:" in str(error.value)
    with pytest.raises(SpecificationError):
        spec.cases({}, height=375)


def test_of_very_many_mistakes_the_first_are_shown() -> None:
    text = "".join(f"case c{number}: x{number} endcase\n" for number in range(53))
    with pytest.raises(SpecificationError) as error:
        parse(text).check_types()
    assert len(error.value.problems) == 53
    assert str(error.value).count("no let or quantifier") == 50
    assert str(error.value).endswith("… and 3 more")


@pytest.mark.parametrize(
    "condition",
    [
        "PROJ_y.lower(box()) ~ near()",
        "PROJ_y.lower(box()) ≤ 3 and number() ≥ PROJ_x.upper(box())",
        "PROJ_y.lower(box()) ∈ near() and number() ∈ [0, PROJ_y.upper(box())]",
        "near() < 3 and 3 ~ near() and near() = 3",
        "size(box(), PROJ_y.lower(box())) > 0",
        "RAT(boxes() ∩ {box(), IMG} ∪ {}, boxes()) > w(near() ∩ [0, 1])",
        "box() ⊆ IMG and ([0, 1], near()) ⊂ box() and flag() and flag() = true",
        "forall x ∈ boxes(), exists y ∈ {x}. (x = y) and exists x ∈ boxes(). (x ~ IMG)",
        "always[0, 3] not (flag() until previous flag()) and eventually flag()",
    ],
)
def test_what_is_right(condition: str) -> None:
    assert found(condition) == []


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("near()", "the condition of a case must be bool, got interval"),
        ("not box()", "what 'not' is said of must be bool, got bb"),
        ("flag() and 1", "what 'and' joins must be bool, got real"),
        ("box() ~ near()", "got bb and interval: project the box with PROJ_x(…) or PROJ_y(…)"),
        ("boxes() ~ box()", "got setBB and bb: speak of its boxes with forall or exists"),
        ("boxes() = boxes()", "got two setBBs: speak of its boxes with forall or exists"),
        ("box() < box()", "'<' compares two reals or two intervals, got two bbs"),
        ("flag() < flag()", "'<' compares two reals or two intervals, got two bools"),
        ("1 ~ 2", "'≈' compares two intervals or two bbs, got two reals"),
        ("near() ≤ near()", "'≤' compares two reals, got interval and interval"),
        ("near() ∈ near()", "what lies in an interval must be real, got interval"),
        (
            "RAT({box()}, box()) > 1",
            "the second argument of RAT must be setBB, got bb: put it in braces, {…}",
        ),
        ("w(box()) > 1", "what w measures must be interval, got bb: project it"),
        ("w(3) > 1", "what w measures must be interval, got real: write [r, r]"),
        ("PROJ_x(near()) ~ near()", "the box that PROJ_x projects must be bb, got interval"),
        ("[near(), 1] ~ near()", "the lower end of an interval must be real, got interval: take its width"),
        ("[2, 1] ~ near()", "the lower end of an interval must not be above its upper end, got [2, 1]"),
        ("box() ∪ boxes() = {}", "∪ joins setBB, got bb: put it in braces, {…}"),
        ("near() ∩ boxes() ~ near()", "the two sides of ∩ must have one type, got interval and setBB"),
        ("exists x ∈ box(). (true)", "what 'x' is taken from must be setBB, got bb"),
        ("exists x ∈ boxes(). (exists x ∈ boxes(). (true))", "'x' is bound already"),
        ("exists x ∈ boxes(). (x ~ IMG) and x ~ IMG", "no let or quantifier binds 'x' here"),
        ("size(box()) > 1", "'size' takes 2 arguments, got 1"),
        ("flag(1)", "'flag' takes no arguments, got 1"),
        ("size(1, 2) > 1", "argument 1 of 'size' must be bb, got real"),
        ("bocks() ~ IMG", "no external function is called 'bocks'; did you mean 'box"),
        ("flag = true", "no let or quantifier binds 'flag' here: write flag(), or bind it with let"),
        ("nearr ~ near()", "did you mean 'near()'?"),
        ("PROJ_z(box()) ~ near()", "did you mean 'PROJ_"),
    ],
)
def test_what_is_wrong(condition: str, message: str) -> None:
    assert any(message in one for one in found(condition)), found(condition)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("case a let b : bb = b in true endcase", "'b' is defined by itself"),
        ("exfunction b(): bb endexfunction case a let b : bb = b in true endcase", "did you mean b()?"),
        ("case a let b : real = 1, b : real = 2 in true endcase", "'b' is bound twice in this case"),
        ("case a let b : bool = c, c : bool = true in b endcase", "binds 'c' here"),
        ("case a let b : real = true in true endcase", "'b' must be real, got bool"),
        ("case a let b : real = 1 in b endcase", "the condition of a case must be bool, got real"),
        ("case a let b : real = 1 in b() > 1 endcase", "'b' is a name and no function"),
        ("case a: true endcase case a: false endcase", "there are two cases 'a'"),
        ("exfunction a(): bb a(): real endexfunction case a: true endcase", "'a' is declared twice"),
        ("precondition [1] endprecondition case a: true endcase", "the precondition must be bool, got real"),
        ("exfunction PROJ_x(): bb endexfunction case a: true endcase", "is built in: choose another name"),
    ],
)
def test_names_and_blocks(text: str, message: str) -> None:
    with pytest.raises(SpecificationError) as error:
        parse(text).check_types()
    assert message in str(error.value)


@settings(max_examples=60)
@given(spec=SPECS)
def test_no_tree_upsets_the_checker(spec: Spec) -> None:
    again = parse(spec.format())
    assert all(0 <= one.span.start <= one.span.stop <= len(again.source) for one in find_problems(again))


@settings(max_examples=60)
@given(spec=specs())
def test_well_typed_specifications_have_no_problems(spec: Spec) -> None:
    assert find_problems(spec) == ()
