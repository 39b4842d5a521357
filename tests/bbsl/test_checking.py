"""The static checks: published mistakes, proofs, bounds, and agreement with trying inputs one by one."""

from itertools import product

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bbsl.published_specs import mended, published

from roadworthy.bbsl import SpecificationError, parse
from roadworthy.bbsl.checking import check
from roadworthy.bbsl.checking.results import ProofStatus
from roadworthy.bbsl.checking.solving import sufficient_sizes
from roadworthy.bbsl.checking.symbols import disjunction
from roadworthy.bbsl.values import Box, Interval
from roadworthy.errors import InputError

PROVED, REFUTED = ProofStatus.PROVED, ProofStatus.REFUTED


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_papers_listings_mended_have_all_three_properties(number: int) -> None:
    result = check(mended(number))
    assert (result.exhaustive, result.exclusionary, result.non_redundant) == (PROVED, PROVED, PROVED)
    assert result.ok


@pytest.mark.parametrize("number", [1, 2, 5])
def test_published_specifications_without_mistakes_are_proved(number: int) -> None:
    assert check(published(number)).ok


@pytest.mark.parametrize("number", [6, 7, 12])
def test_a_published_case_that_can_never_hold_is_found(number: int) -> None:
    found = [one for one in check(published(number)).problems if one.concerns == "non-redundant"]
    assert [(one.labels, one.status, one.up_to) for one in found] == [(("decelerate",), REFUTED, None)]
    assert str(found[0]) == "'decelerate' can never hold"


@pytest.mark.parametrize(
    ("number", "pairs"),
    [
        (3, {("follow vehicle", "decelerate")}),
        (4, {("decelerate", "accelerate")}),
        (6, {("stop", "follow lead vehicle"), ("follow lead vehicle", "yield")}),
        (8, {("decelerate", "yield")}),
        pytest.param(
            9, {("stop", "decelerate"), ("stop", "yield"), ("decelerate", "yield")}, marks=pytest.mark.slow
        ),
    ],
)
def test_published_cases_that_hold_at_once_are_found(number: int, pairs: set[tuple[str, str]]) -> None:
    spec = published(number)
    found = [one for one in check(spec).problems if one.concerns == "exclusionary"]
    assert {one.labels for one in found} == pairs
    for one in found:
        assert one.witness is not None
        shown = one.witness
        assert spec.cases(shown.bindings, height=shown.height, width=shown.width) >= set(one.labels)


def test_a_published_name_with_two_types_is_found() -> None:
    with pytest.raises(SpecificationError, match="'dA' must be setBB, got bb"):
        check(published(11))


def test_listing_1_needs_intervals_whose_lower_end_is_not_above_the_upper() -> None:
    """The facts say so: an interval the wrong way round is before and after a box at once."""
    turned = parse(
        """
        exfunction
          vehicle(): bb
          near(): real
          far(): real
        endexfunction
        case stop
          not (PROJ_y.lower(vehicle()) > far())
        endcase
        case NOT stop
          PROJ_y.upper(vehicle()) < near() or PROJ_y.lower(vehicle()) > far()
        endcase
        """
    )
    assert check(turned).exclusionary is REFUTED


def test_a_witness_of_a_gap_is_in_no_case_and_has_round_numbers() -> None:
    spec = parse(
        """
        exfunction
          vehicle(): bb
          zone(): interval
        endexfunction
        case before
          PROJ_y(vehicle()) < zone()
        endcase
        case after
          PROJ_y(vehicle()) > zone()
        endcase
        """
    )
    finding = check(spec).of("exhaustive")[0]
    assert finding.status is REFUTED
    assert finding.witness is not None
    assert spec.evaluate(finding.witness.bindings, height=375).cases == set()
    box = finding.witness.bindings["vehicle"]
    assert all(end % 25 == 0 for end in (*box.x, *box.y))
    assert 0 <= box.x.lower < box.x.upper <= finding.witness.width


def test_a_specification_without_boxes_is_checked_too() -> None:
    spec = parse(
        "exfunction wet(): bool endexfunction case slow wet() = true endcase case go wet() = false endcase"
    )
    result = check(spec)
    assert result.ok
    witness = result.of("non-redundant")[0].witness
    assert witness is not None
    assert str(witness) == "wet() = true"


CIRCLE = """
exfunction
  a(): setBB
  b(): setBB
endexfunction
case one
  (forall x in a(). exists y in b(). (PROJ_x(x) < PROJ_x(y)))
  and (forall y in b(). exists x in a(). (PROJ_x(y) < PROJ_x(x)))
  and (exists x in a(). (x = x))
endcase
case two
  not (exists x in a(). (x = x))
endcase
"""


def test_quantifiers_in_a_circle_are_answered_up_to_a_number_of_boxes() -> None:
    """Ever larger boxes on both sides: only infinite sets do it, so no finite number is ever found."""
    spec = parse(CIRCLE)
    assert sufficient_sizes(spec, [(spec.case_blocks[0], True)]) is None
    result = check(spec, boxes=2)
    (one,) = [finding for finding in result.of("non-redundant") if finding.labels == ("one",)]
    assert (one.status, one.up_to) == (ProofStatus.BOUNDED, 2)
    assert not one.ok
    assert "with up to 2 boxes in each set" in str(one)


def test_a_proof_for_sets_is_for_any_number_of_boxes() -> None:
    spec = parse(
        """
        exfunction
          cars(): setBB
          lane(): setBB
        endexfunction
        case stop
          exists x in cars(). (RAT(lane() intersect {x}, {x}) > 0.3)
        endcase
        case go
          forall x in cars(). (RAT(lane() intersect {x}, {x}) <= 0.3)
        endcase
        """
    )
    result = check(spec)
    assert result.ok
    assert [one.up_to for one in result.findings] == [None] * 4


@pytest.mark.slow
def test_boxes_that_areas_point_at_are_counted_through_other_variables() -> None:
    """Three boxes, a part of each in the lane, and no box of the lane is wide enough for two of them."""
    parts = (f"exists x in cars(). (PROJ_x(x) subseteq [{low}, {low + 1}])" for low in (0, 10, 20))
    spec = parse(
        f"""
        exfunction cars(): setBB lane(): setBB endexfunction
        case three
          ({") and (".join(parts)})
          and (forall x in cars(), forall y in {{x}}. (RAT(lane() intersect {{y}}, {{y}}) > 0.3))
          and (forall z in lane(). (w(PROJ_x(z)) < 5))
        endcase
        """
    )
    (three,) = check(spec).of("non-redundant")
    assert three.status is PROVED
    assert three.witness is not None
    assert len(three.witness.bindings["lane"]) == 3


def test_quantifiers_that_are_compared_as_truth_values() -> None:
    pair = "(exists x in p(), exists y in p(). (RAT({x}, {y}) > 2))"
    spec = parse(
        f"exfunction p(): setBB endexfunction case a {pair} = true endcase case b {pair} = false endcase"
    )
    assert check(spec).ok


def test_sets_with_the_same_boxes_are_the_same_argument() -> None:
    spec = parse(
        """
        exfunction f(setBB): real v(): bb u(): bb p(): setBB endexfunction
        precondition [v() = u()] endprecondition
        case same f({v(), u()}) = f({u()}) endcase
        case other f({v(), u()}) < f({u()}) endcase
        case less f(p()) < f({u()}) endcase
        """
    )
    result = check(spec, seconds=5)
    labels = {one.labels[0]: one.status for one in result.of("non-redundant")}
    # Of sets as arguments only so many boxes are tried.
    assert labels == {"same": PROVED, "other": ProofStatus.BOUNDED, "less": PROVED}


@pytest.mark.parametrize(
    ("cases", "answers"),
    [
        (("PROJ_y.lower(v()) > 100", "PROJ_y.lower(v()) < 100"), (REFUTED, PROVED, PROVED)),
        (("PROJ_y.lower(v()) >= 100", "PROJ_y.lower(v()) <= 100"), (PROVED, REFUTED, PROVED)),
        (("PROJ_y(v()) ~ [0, 100]", "PROJ_y.lower(v()) >= 100"), (PROVED, REFUTED, PROVED)),
        (("PROJ_y.upper(v()) > 10", "PROJ_y.upper(v()) <= 10"), (PROVED, PROVED, REFUTED)),
        (("RAT(S, {v()}) > 0.5", "RAT(S, {v()}) < 0.5"), (REFUTED, PROVED, PROVED)),
        (("RAT(S, {v()}) >= 0.5", "RAT(S, {v()}) <= 0.5"), (PROVED, REFUTED, PROVED)),
        (("RAT(S, {v()}) <= 1", "RAT(S, {v()}) > 1"), (PROVED, PROVED, REFUTED)),
        # Only what lies inside has all of its area inside.
        (("RAT(S, {v()}) < 1", "v() subseteq u()"), (PROVED, PROVED, PROVED)),
    ],
)
def test_flaws_of_one_point_are_found(cases: tuple[str, str], answers: tuple[ProofStatus, ...]) -> None:
    """A gap, an overlap, a case that the precondition rules out, thresholds of shares."""
    first, second = (text.replace("S", "{v()} intersect {u()}") for text in cases)
    spec = parse(
        f"""
        exfunction v(): bb u(): bb endexfunction
        precondition [PROJ_y.upper(v()) > 20 and RAT({{v()}}, {{v()}}) = 1] endprecondition
        case first {first} endcase
        case second {second} endcase
        """
    )
    result = check(spec)
    assert (result.exhaustive, result.exclusionary, result.non_redundant) == answers


def test_boxes_made_of_intervals_from_outside_have_their_areas_too() -> None:
    """On the grid as well, where the area of a box is only known between lines."""
    spec = parse(
        """
        exfunction v(): bb d(): interval endexfunction
        case half RAT({(d(), PROJ_y(v()))} intersect {v()}, {v()}) = 0.5 endcase
        """
    )
    (half,) = check(spec).of("non-redundant")
    assert half.status is PROVED


def test_shares_of_areas_of_single_boxes_are_decided() -> None:
    """What linear facts tell, what a grid shows, and what only the areas themselves tell: equal boxes."""
    spec = parse(
        """
        exfunction
          v(): bb
          u(): bb
        endexfunction
        case larger than both
          RAT({v()} intersect {u()}, {v()}) >= 0.5 and RAT({v()}, {u()}) > 2
        endcase
        case half
          RAT({v()} intersect {u()}, {v()}) >= 0.5 and RAT({v()}, {u()}) > 1.5
        endcase
        case equal
          v() = u() and RAT({u()}, {v()}) > 1.1
        endcase
        """
    )
    labels = {one.labels[0]: one.status for one in check(spec).of("non-redundant")}
    assert labels == {"larger than both": REFUTED, "half": PROVED, "equal": REFUTED}


def test_shares_that_are_compared_with_each_other_are_guessed_or_left_open() -> None:
    spec = parse(
        """
        exfunction
          a(): setBB
          b(): setBB
        endexfunction
        case less
          RAT(a(), b()) < RAT(b(), a())
        endcase
        case other
          RAT(a(), b()) > RAT(b(), a())
        endcase
        case never
          RAT(a(), b()) < RAT(a() intersect b(), b())
        endcase
        """
    )
    result = check(spec, boxes=1, seconds=3)
    labels = {one.labels[0]: one.status for one in result.of("non-redundant")}
    assert labels["less"] is PROVED
    assert labels["other"] is PROVED
    assert labels["never"] is not PROVED


def test_the_same_arguments_have_the_same_value() -> None:
    spec = parse(
        """
        exfunction
          speed(bb): real
          a(): bb
          b(): bb
        endexfunction
        precondition [a() = b()] endprecondition
        case same
          speed(a()) = speed(b())
        endcase
        case other
          not (speed(a()) = speed(b()))
        endcase
        """
    )
    result = check(spec)
    assert result.exhaustive is PROVED
    assert [one.labels[0] for one in result.problems] == ["other"]


def test_a_precondition_that_can_never_hold_is_said() -> None:
    spec = parse(
        """
        exfunction v(): bb endexfunction
        precondition [PROJ_x(v()) < PROJ_x(v())] endprecondition
        case go v() = v() endcase
        """
    )
    result = check(spec)
    assert result.vacuous
    assert not result.ok
    # No case can hold; that every input is in one is true of no input at all.
    assert result.non_redundant is REFUTED
    assert (result.exhaustive, result.exclusionary) == (PROVED, PROVED)


def test_a_precondition_that_needs_more_boxes_than_were_tried_may_still_hold() -> None:
    apart = (f"exists x in a(). (PROJ_x(x) subseteq [{low}, {low + 1}])" for low in (0, 10, 20))
    circle = "forall x in a(). exists y in a(). (x = y)"
    spec = parse(
        f"""
        exfunction a(): setBB endexfunction
        precondition [({") and (".join(apart)}) and ({circle})] endprecondition
        case go exists x in a(). (x = x) endcase
        """
    )
    few = check(spec, boxes=2)
    assert (few.vacuous, few.non_redundant) == (False, ProofStatus.BOUNDED)
    assert check(spec, boxes=3).non_redundant is PROVED


def test_without_time_there_is_no_answer_and_the_reason_says_so() -> None:
    result = check(published(10), seconds=0.001)
    open_ones = [one for one in result.findings if one.status is ProofStatus.UNKNOWN]
    assert open_ones
    assert "no answer within 0.001 s" in str(open_ones[0])
    assert not result.ok


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"boxes": 0}, "boxes must be 1 or more, got 0"),
        ({"seconds": 0}, "seconds must be above 0, got 0"),
        ({"image": (0, 10)}, "image must have a width and a height above 0"),
    ],
)
def test_limits_that_cannot_be_used(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check(mended(1), **options)  # type: ignore[arg-type]


def test_specifications_over_time_are_refused_with_advice() -> None:
    spec = parse("exfunction v(): bb endexfunction case go always[0, 3] (v() = v()) endcase")
    with pytest.raises(InputError, match="leave out always, eventually, until and previous"):
        check(spec)


def test_the_image_may_have_a_size() -> None:
    spec = parse(
        "exfunction v(): bb endexfunction case inside v() subseteq IMG endcase "
        "case big w(PROJ_x(IMG)) > 1000 endcase"
    )
    labels = {one.labels[0]: one.status for one in check(spec, image=(640, 480)).of("non-redundant")}
    assert labels == {"inside": PROVED, "big": REFUTED}


ATOMS = st.builds(
    "{} {} {}".format,
    st.sampled_from(
        ["PROJ_y(v())", "PROJ_y.lower(v())", "PROJ_x(v())", "[1, 2]", "PROJ_y(v()) intersect d()"]
    ),
    st.sampled_from(["<", ">", "=", "~", "subset", "superseteq", "subseteq"]),
    st.sampled_from(["d()", "[1, 1]", "PROJ_y.upper(v())", "[0, 2] intersect d()"]),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("not ({})".format, inner),
        st.builds("({}) and ({})".format, inner, inner),
        st.builds("({}) or ({})".format, inner, inner),
    ),
    max_leaves=4,
)
INTERVALS = [Interval(low, high) for low, high in product(range(4), repeat=2) if low <= high]


@settings(max_examples=40)
@given(CONDITIONS, CONDITIONS)
def test_answers_agree_with_trying_every_small_input(first: str, second: str) -> None:
    """What a small input shows, z3 must know too; and what z3 shows was evaluated before it was reported."""
    spec = parse(
        f"exfunction v(): bb d(): interval endexfunction case a {first} endcase case b {second} endcase"
    )
    result = check(spec)
    seen = {
        frozenset(spec.cases({"v": Box(Interval(0, 1), side), "d": other}, height=10))
        for side, other in product(INTERVALS, repeat=2)
    }
    if frozenset() in seen:
        assert result.exhaustive is REFUTED
    if frozenset({"a", "b"}) in seen:
        assert result.exclusionary is REFUTED
    for one in result.of("non-redundant"):
        if any(one.labels[0] in labels for labels in seen):
            assert one.status is PROVED
    for one in result.findings:
        assert one.status in (PROVED, REFUTED)


def test_nothing_to_choose_from_never_holds() -> None:
    assert z3.is_false(disjunction([]))
    assert z3.is_true(disjunction([z3.BoolVal(False), z3.BoolVal(True)]))
    assert str(disjunction([z3.BoolVal(False), z3.Bool("a")])) == "a"
