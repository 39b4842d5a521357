"""Captions from which a verdict can be checked."""

from __future__ import annotations

import pytest

from roadworthy.errors import RuleError
from roadworthy.rules import parse
from roadworthy.rules.reading import reaction_in_brief, reading_in_lines


@pytest.mark.parametrize(
    ("then", "before", "after", "caption"),
    [
        ("slow down", 10.0, 11.0, "+3.6 km/h, violates"),
        ("slow down by at least 10 km/h", 10.0, 9.0, "-3.6 km/h, violates"),
        ("slow down by at least 30%", 10.0, 8.3, "-17.0%, violates at least 30%"),
        ("slow down by at least 30%", 10.0, 5.0, "-50.0%"),
        ("slow down by between 10% and 20%", 10.0, 7.0, "-30.0%, violates between 10% and 20%"),
        ("slow down to at most half your speed", 10.0, 8.3, "83.0% of what it was, violates at most 50%"),
        ("keep the same speed", 10.0, 11.5, "+15.0%, violates at most 10%"),
        # There is no share of nothing.
        ("keep the same speed", 0.0, 1.0, "+3.6 km/h, violates"),
        ("the steering must not change", -4.0, -1.0, "+3.0°, violates"),
        ("the steering angle should change by at most 50%", -4.0, -1.0, "+75.0%, violates at most 50%"),
    ],
)
def test_a_caption_has_the_unit_of_what_is_asked_for(
    then: str, before: float, after: float, caption: str
) -> None:
    (block,) = parse(f"If it is night, {then}.").blocks
    assert reaction_in_brief(block.expectation, before, after) == caption


def test_a_reading_is_told_to_people_and_to_scripts() -> None:
    rule = parse("If it is night, slow down. If it also rains, slow down by at least 30%.")
    lines = reading_in_lines(rule)
    assert [line for line in lines if line.startswith("Block")] == ["Block 1", "Block 2"]
    assert [line for line in lines if "compared with" in line][1].endswith("the image of the block before")
    document = rule.document()
    assert (document["rule"], document["reading"]) == (rule.text, str(rule))
    first, second = document["blocks"]
    assert first["changes"][0]["in_words"] == str(rule.blocks[0].changes[0])
    assert second["expectation"]["formula"] == rule.blocks[1].expectation.formula
    with pytest.raises(RuleError) as caught:
        parse("If a unicorn appears, slow down.")
    assert caught.value.document()["words"] == "unicorn"
