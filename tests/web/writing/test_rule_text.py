"""How rules are shown while they are typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.rules import RuleError, parse
from roadworthy.rules.files import read_rules
from roadworthy.web.rule_text import ROLES, read_rule, roles_of
from roadworthy.web.write import examples

PEDESTRIAN = "If a pedestrian appears on the roadside, then the ego-vehicle should slow down at least 30%."


def words(text: str) -> list[tuple[str, str]]:
    return [(text[one["start"] : one["stop"]], one["role"]) for one in read_rule(text)["marks"]]


def test_words_have_the_colour_of_their_role() -> None:
    assert words(PEDESTRIAN) == [
        ("a pedestrian", "object"),
        ("appears", "condition"),
        ("on the roadside", "place"),
        ("the ego-vehicle should slow down", "outcome"),
        ("at least 30%", "quantity"),
    ]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Drive more slowly at night.", [("Drive more slowly", "outcome"), ("at night", "object")]),
        (
            "The car must slow down by 10 km/h when it rains.",
            [("The car must slow down by", "outcome"), ("10 km/h", "quantity"), ("it rains", "condition")],
        ),
    ],
)
def test_the_outcome_may_come_first(text: str, marked: list[tuple[str, str]]) -> None:
    assert words(text) == marked


def test_all_rules_of_the_paper_and_of_handbooks_are_coloured() -> None:
    for file in ("paper", "handbooks"):
        for rule in read_rules(f"examples/rules/{file}.rules"):
            marks = roles_of(parse(rule.text))
            assert {one.role for one in marks} <= set(ROLES)
            assert any(one.role == "outcome" for one in marks), rule.text
            assert any(one.role in ("condition", "object") for one in marks), rule.text
            places = [place for one in marks for place in (one.start, one.stop)]
            assert places == sorted(places), rule.text


def test_a_reading_is_in_plain_words() -> None:
    (block,) = read_rule(PEDESTRIAN)["blocks"]
    assert block["changes"] == ["add a pedestrian on the sidewalk"]
    assert block["expectation"] == "the speed should decrease by at least 30%"
    assert block["formula"] == "(x1 - x2)/x1 >= 30%"
    assert read_rule(PEDESTRIAN)["outputs"] == ["speed"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("pedestrain", "pedestrian"), ("apears", "appears"), ("dwon", "down"), ("leest", "least")],
)
def test_a_slip_is_underlined_and_mended_by_one_click(wrong: str, right: str) -> None:
    text = PEDESTRIAN.replace(right, wrong)
    answer = read_rule(text)
    trouble = answer["trouble"]
    assert answer["state"] == "refused"
    assert wrong in text[trouble["start"] : trouble["stop"]]
    assert [one["text"] for one in trouble["fixes"]] == [PEDESTRIAN]


def test_what_is_missing_is_put_at_the_end() -> None:
    for text in ("If a pedestrian appears on the roadside", "If a pedestrian appears on the roadside."):
        (fix,) = read_rule(text)["trouble"]["fixes"]
        assert (
            fix["text"] == "If a pedestrian appears on the roadside, then the ego-vehicle should slow down."
        )


def test_of_two_slips_the_first_can_be_mended_before_the_second() -> None:
    text = PEDESTRIAN.replace("pedestrian", "pedestrain").replace("slow", "slwo")
    fix = read_rule(text)["trouble"]["fixes"][0]
    again = read_rule(fix["text"])["trouble"]["fixes"][0]
    assert again["text"] == PEDESTRIAN


@pytest.mark.parametrize(
    "text",
    [
        "If a unicorn appears, the car should slow down.",
        "If a pedestrian or a car appears, slow down.",
        "If there are ten pedestrians, slow down.",
        "If it rains, honk.",
    ],
)
def test_after_every_fix_that_is_offered_more_is_understood(text: str) -> None:
    with pytest.raises(RuleError) as before:
        parse(text)
    trouble = read_rule(text)["trouble"]
    assert trouble["fixes"] or trouble["examples"]
    for fix in trouble["fixes"]:
        assert read_rule(fix["text"]).get("trouble", {}).get("reason") != before.value.reason


def test_what_nothing_here_can_change_is_said() -> None:
    answer = read_rule("If the trees beside the building are removed, the car should slow down.")
    assert answer["state"] == "untried"
    assert answer["reason"]


def test_places_are_counted_as_a_browser_counts_them() -> None:
    text = "If it rains 🌧 and a pedestrain appears, slow down."
    trouble = read_rule(text)["trouble"]
    assert text.encode("utf-16-le")[2 * trouble["start"] : 2 * trouble["stop"]].decode("utf-16-le")


def test_nothing_typed_is_no_mistake() -> None:
    assert read_rule("  \n")["state"] == "empty"


def test_examples_of_the_page_are_read() -> None:
    for one in examples():
        if one["kind"] == "rules":
            assert read_rule(one["text"])["state"] == "read", one["title"]


@given(st.text(max_size=60))
def test_whatever_is_typed_gets_an_answer(text: str) -> None:
    assert read_rule(text)["state"] in ("empty", "read", "refused", "untried")
