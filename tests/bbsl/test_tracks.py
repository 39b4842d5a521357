"""Specifications over time: against the definitions, written down once more as plainly as can be."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.bbsl import parse
from roadworthy.bbsl.syntax import Bounds, Expression, Junction, Not, Previous, Timed, Until
from roadworthy.bbsl.tracks import evaluate_track
from roadworthy.errors import InputError

HEAD = (
    "exfunction a(): bool b(): bool near(): interval vehicle(): bb seen(): bool cars(): setBB endexfunction "
)
KEPT = (
    HEAD
    + """
precondition [none] endprecondition
case kept
  not (seen() = true and PROJ_y(vehicle()) ~ near()) or always[0, 3] (seen() = true)
endcase
"""
)


def values(**others: object) -> dict[str, object]:
    known = {
        "a": True,
        "b": True,
        "near": [275, 375],
        "vehicle": [600, 180, 700, 300],
        "seen": True,
        "cars": [],
    }
    return {**known, **others}


def condition(text: str) -> str:
    return f"{HEAD} case it {text} endcase"


def held(text: str, frames: Sequence[dict[str, object]], ends: str = "cut") -> list[bool | None]:
    outcome = evaluate_track(parse(condition(text)), frames, height=375, ends=ends)  # type: ignore[arg-type]
    return [one.values["it"] for one in outcome.outcomes]


@pytest.mark.parametrize(
    ("applies", "holds", "always"),
    [
        ([True, True], [True, True], True),
        ([True, True], [True, False], False),
        ([True, False], [True, False], True),
        ([True, None], [True, True], None),
        ([None, True], [True, False], False),
        ([True, True], [None, True], None),
    ],
)
def test_a_case_always_holds_only_where_every_frame_that_may_count_says_so(
    applies: list[bool | None], holds: list[bool | None], always: bool | None
) -> None:
    spec = parse(f"{HEAD} precondition [a() = true] endprecondition case it b() = true endcase")
    frames = [values(a=one, b=other) for one, other in zip(applies, holds, strict=True)]
    assert evaluate_track(spec, frames, height=375).always("it") is always


def test_a_vehicle_in_the_stopping_zone_is_not_lost_within_three_frames() -> None:
    spec = parse(KEPT)
    lost = [values(seen=one, vehicle=[600, 180, 700, 300] if one else None) for one in (1, 1, 1, 1, 0, 1)]
    lost = [{**one, "seen": bool(one["seen"])} for one in lost]
    outcome = evaluate_track(spec, lost, height=375)
    # Frames 1 to 3 see the vehicle and lose it in frame 4, which sees none; frame 5 is the last.
    assert [one.values["kept"] for one in outcome.outcomes] == [True, False, False, False, True, True]
    assert outcome.always("kept") is False
    far = [{**one, "vehicle": one["vehicle"] and [600, 80, 700, 200]} for one in lost]
    assert evaluate_track(spec, far, height=375).always("kept") is True


def test_margins_over_time_are_the_smallest_and_the_largest() -> None:
    """The bottom edge lies 25, 5, 40 pixels inside the zone, then 10 outside."""
    frames = [values(vehicle=[600, 180, 700, bottom]) for bottom in (300, 280, 315, 265)]
    for text, expected in (
        ("always[0, 2] (PROJ_y(vehicle()) ~ near())", 5.0),
        ("eventually[0, 2] (PROJ_y(vehicle()) ~ near())", 40.0),
        ("always (PROJ_y(vehicle()) ~ near())", -10.0),
        ("(PROJ_y(vehicle()) ~ near()) until[3, 3] not (PROJ_y(vehicle()) ~ near())", 5.0),
        ("not previous (PROJ_y(vehicle()) ~ near())", math.inf),
    ):
        outcome = evaluate_track(parse(condition(text)), frames, height=375)
        assert outcome.margins[0]["it"] == pytest.approx(expected), text


def test_a_margin_on_the_border_is_0_also_beside_what_is_not_known() -> None:
    """The lower edge touches the zone: that is not above it, whatever the unknown truth value is."""
    frames = [values(vehicle=[600, 180, 700, 275], a=None)]
    text = "always (PROJ_y(vehicle()) > near()) and always (a() = true)"
    outcome = evaluate_track(parse(condition(text)), frames, height=375)
    assert outcome.outcomes[0].values["it"] is False
    assert outcome.margins[0]["it"] == 0.0


def test_an_open_end_is_not_known_where_it_matters() -> None:
    yes, no = values(a=True), values(a=False)
    assert held("always[0, 1] (a() = true)", [yes, no, yes], "open") == [False, False, None]
    assert held("eventually[0, 1] (a() = true)", [no, no, no], "open") == [False, False, None]
    assert held("eventually (a() = true)", [no, yes, no], "open") == [True, True, None]
    assert held("previous (a() = true)", [yes, no], "open") == [None, True]
    # Once the left side is broken, no later frame can mend it.
    assert held("(a() = true) until (b() = true)", [no | {"b": False}] * 2, "open") == [False, False]


def test_what_a_quantifier_picked_stays_picked() -> None:
    """One box that is there in every frame is more than a box in every frame."""
    here, there = [0, 0, 10, 10], [50, 0, 60, 10]
    frames = [values(cars=[here]), values(cars=[there])]
    picked = "exists x in cars(). always exists y in cars(). (x = y)"
    assert held(picked, frames) == [False, True]
    assert held("always exists y in cars(). (y = y)", frames) == [True, True]


def test_lets_are_read_in_the_frame_at_hand() -> None:
    text = f"{HEAD} case it let v: bb = vehicle(), ok: bool = always (PROJ_y(v) ~ near()) in ok endcase"
    frames = [values(vehicle=[0, 0, 1, 300]), values(vehicle=[0, 0, 1, 100])]
    outcome = evaluate_track(parse(text), frames, height=375)
    assert [one.values["it"] for one in outcome.outcomes] == [False, False]


def test_a_frame_with_a_bad_value_is_named() -> None:
    with pytest.raises(InputError, match=r"frame 1 of the track: seen\(\) must be true or false"):
        evaluate_track(parse(KEPT), [values(), values(seen=3)], height=375)
    with pytest.raises(InputError, match="ends must be one of cut, open"):
        evaluate_track(parse(KEPT), [values()], height=375, ends="shut")  # type: ignore[arg-type]


def test_no_frames_have_no_outcomes() -> None:
    assert len(evaluate_track(parse(KEPT), [], height=375)) == 0


def naive(part: Expression, trace: Sequence[dict[str, bool]], now: int) -> bool:
    """The definitions on finite traces, word by word."""
    match part:
        case Not():
            return not naive(part.operand, trace, now)
        case Junction(operator="and"):
            return all(naive(one, trace, now) for one in part.operands)
        case Junction():
            return any(naive(one, trace, now) for one in part.operands)
        case Timed(operator="always"):
            return all(naive(part.operand, trace, then) for then in reach(part.bounds, now, trace))
        case Timed():
            return any(naive(part.operand, trace, then) for then in reach(part.bounds, now, trace))
        case Until():
            return any(
                naive(part.right, trace, then)
                and all(naive(part.left, trace, between) for between in range(now, then))
                for then in reach(part.bounds, now, trace)
            )
        case Previous():
            return now > 0 and naive(part.operand, trace, now - 1)
    return trace[now][part.left.function]  # type: ignore[attr-defined]


def reach(bounds: Bounds, now: int, trace: Sequence[object]) -> list[int]:
    upper = len(trace) if bounds.upper is None else bounds.upper
    return [then for then in range(len(trace)) if bounds.lower <= then - now <= upper]


BOUNDS = st.sampled_from(["", "[0, 0]", "[0, 2]", "[1, 3]", "[2, 2]", "[1, inf]"])
FORMULAS = st.recursive(
    st.sampled_from(["a() = true", "b() = true"]),
    lambda inner: st.one_of(
        st.builds("not ({})".format, inner),
        st.builds("({}) and ({})".format, inner, inner),
        st.builds("({}) or ({})".format, inner, inner),
        st.builds("always{} ({})".format, BOUNDS, inner),
        st.builds("eventually{} ({})".format, BOUNDS, inner),
        st.builds("previous ({})".format, inner),
        st.builds("({}) until{} ({})".format, inner, BOUNDS, inner),
    ),
    max_leaves=5,
)


@given(FORMULAS, st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6))
def test_finite_traces_follow_the_definitions(text: str, trace: list[tuple[bool, bool]]) -> None:
    spec = parse(condition(text))
    frames = [values(a=a, b=b) for a, b in trace]
    plain = [{"a": a, "b": b} for a, b in trace]
    outcome = evaluate_track(spec, frames, height=375)
    expected = [naive(spec.case_blocks[0].condition, plain, now) for now in range(len(trace))]
    assert [one.values["it"] for one in outcome.outcomes] == expected
    assert [one["it"] == math.inf for one in outcome.margins] == expected


@given(FORMULAS, st.lists(st.integers(230, 330), min_size=1, max_size=5))
def test_margins_have_the_sign_of_the_outcome(text: str, bottoms: list[int]) -> None:
    """And no error of the edges below the margin changes the outcome."""
    text = text.replace("a() = true", "PROJ_y(vehicle()) ~ near()").replace(
        "b() = true", "PROJ_y(vehicle()) > near()"
    )
    spec = parse(condition(text))

    def outcome(error: float) -> tuple[bool | None, float | None]:
        frames = [values(vehicle=[0, 100, 9, bottom + error]) for bottom in bottoms]
        found = evaluate_track(spec, frames, height=375)
        return found.outcomes[0].values["it"], found.margins[0]["it"]

    truth, margin = outcome(0.0)
    assert margin is not None
    assert margin >= 0 if truth else margin <= 0
    error = min(abs(margin), 50.0) * 0.99
    if error:
        assert outcome(error)[0] == outcome(-error)[0] == truth
