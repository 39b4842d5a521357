"""Words that say when: which are read, as what, and which are refused."""

from __future__ import annotations

import pytest

from roadworthy.errors import InputError
from roadworthy.rules import RuleError, parse
from roadworthy.rules.generation import plan_for
from roadworthy.rules.language.times import motion_of

WALKER = "If a pedestrian appears on the roadside, "


@pytest.mark.parametrize(
    ("sentence", "formula"),
    [
        (WALKER + "slow down within 2 s.", "eventually[0, 2 s] always (x1 > x2)"),
        (WALKER + "slow down within two seconds.", "eventually[0, 2 s] always (x1 > x2)"),
        (WALKER + "slow down in less than 500 ms.", "eventually[0, 0.5 s] always (x1 > x2)"),
        (WALKER + "slow down no later than 1.5 s after he appears.", "eventually[0, 1.5 s] always (x1 > x2)"),
        (WALKER + "within 1 s the car should slow down.", "eventually[0, 1 s] always (x1 > x2)"),
        (
            "Slow down within 1 s of seeing it when a stop sign appears.",
            "eventually[0, 1 s] always (x1 > x2)",
        ),
        (WALKER + "slow down for at least half a second.", "eventually always[0, 0.5 s] (x1 > x2)"),
        (
            "If it rains, slow down within 1 s for at least 2 s.",
            "eventually[0, 1 s] always[0, 2 s] (x1 > x2)",
        ),
        (WALKER + "slow down while he is visible.", "always (x1 > x2)"),
        (WALKER + "slow down as long as the pedestrian is in view.", "always (x1 > x2)"),
        (WALKER + "the car must never accelerate while it is visible.", "always (x1 >= x2)"),
        (WALKER + "you must never exceed 30 km/h at any time.", "always (x2 <= 8.33 m/s)"),
        ("If it rains, the steering should stay the same throughout.", "always (|x1 - x2| <= 1.39 degrees)"),
        (
            "If it rains, the steering should stay the same for at least 1 s.",
            "always[0, 1 s] (|x1 - x2| <= 1.39 degrees)",
        ),
        (WALKER + "never accelerate for at least 2 s.", "always[0, 2 s] (x1 >= x2)"),
        (WALKER + "slow down within one second and a half.", "eventually[0, 1.5 s] always (x1 > x2)"),
        (WALKER + "slow down within 2 and a half seconds.", "eventually[0, 2.5 s] always (x1 > x2)"),
    ],
)
def test_times_are_read(sentence: str, formula: str) -> None:
    rule = parse(sentence)
    assert [block.formula for block in rule.blocks] == [formula]
    assert not [one.text for one in rule.words if not one.gives and one.text not in ("a", "the", "A")]


@pytest.mark.parametrize(
    ("sentence", "at_fault", "reason"),
    [
        (
            "If a pedestrian appears within 2 s, slow down.",
            "within 2 s",
            "a time is said of what should happen",
        ),
        (
            "If a pedestrian appears within 2 s on the road, slow down.",
            "within 2 s",
            "a time is said of what",
        ),
        ("If it rains, slow down within 2 s and stop within 3 s.", "within 2 s", "of what else this is said"),
        (
            "If it rains, slow down within 1 s while it is visible.",
            "while it is visible",
            "a rule has one time",
        ),
        ("If it rains, slow down within 100 s.", "within 100 s", r"a time must be from 0\.2 to 30 s"),
        ("If it rains, slow down after 2 s.", "after 2 s", "one time says after how long it changes"),
        ("If it rains, slow down for at most 2 s.", "for", "'for' is not understood"),
        ("If it rains, slow down within 2 hours.", "2 hours", "'hours' is no unit"),
        ("If it rains, slow down while the deer is visible.", "deer", "is not understood"),
        ("If it rains, slow down until it stops.", "until", "is not understood"),
        (
            "If it rains, never accelerate within 2 s.",
            "within 2 s",
            "from the beginning on, not within a time",
        ),
        (
            "If it rains, the speed must not exceed 30 km/h within 2 s.",
            "within 2 s",
            "from the beginning on, not within a time",
        ),
        (
            "If it rains, slow down for at least 2 s. If it snows, the steering should stay the same.",
            "for at least 2 s",
            "write a rule for each",
        ),
        ("If it rains, slow down within a second or two.", "within a second or two", "a time has one number"),
        ("If it rains, slow down within 2 s or 3 s.", "within 2 s or 3 s", "a time has one number"),
        (
            "If it rains, slow down within 500 ms and a half.",
            "within 500 ms and a half",
            "a time has one number",
        ),
        (
            "If it rains, slow down within half a second and a half.",
            "within half a second and a half",
            "a time has one number",
        ),
        ("If it rains, slow down within 1 s and half.", "within 1 s and half", "a time has one number"),
    ],
)
def test_other_times_are_refused_where_they_stand(sentence: str, at_fault: str, reason: str) -> None:
    with pytest.raises(RuleError, match=reason) as refused:
        parse(sentence)
    assert refused.value.text[slice(*refused.value.span)] == at_fault


def test_all_blocks_of_a_rule_have_its_time_and_a_rule_without_one_has_none() -> None:
    rule = parse(WALKER + "slow down within 2 s. If it rains too, slow down more.")
    assert [str(block.timing) for block in rule.blocks] == ["within 2 s"] * 2
    assert parse("If it rains, slow down.").timing is None
    assert parse("If it rains, slow down within 2 s.") != parse("If it rains, slow down within 3 s.")


@pytest.mark.parametrize(
    ("condition", "motion"),
    [
        ("If pedestrians cross the road", "across"),
        ("If two pedestrians cross", "across"),
        ("If a pedestrian crosses", "across"),
        ("If a pedestrian is crossing", "across"),
        ("If a pedestrian starts to cross the road", "across"),
        ("If a man and a woman run across the road", "across"),
        ("If a pedestrian walks on the crosswalk", "across"),
        ("If a car appears and a pedestrian crosses the road", "across"),
        ("When you see a pedestrian crossing the road", "across"),
        ("If a pedestrian marches along the sidewalk", "along"),
        ("If a walking pedestrian appears", "along"),
        ("If a car appears and a walking pedestrian is on the road", "along"),
        ("When there is a pedestrian walking along the sidewalk", "along"),
        ("If a pedestrian appears while a car runs", ""),
        ("If a pedestrian waits to cross the road", ""),
        ("If a pedestrian stands on the crossing", ""),
        ("If a pedestrian is at a pedestrian crossing", ""),
    ],
)
def test_how_pedestrians_go_is_what_their_own_verb_says(condition: str, motion: str) -> None:
    rule = parse(f"{condition}, slow down within 1 s.")
    assert motion_of(rule, rule.blocks[0]) == motion


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("a pedestrian stands on the sidewalk and a bicyclist crosses the road", "only pedestrians cross"),
        ("a pedestrian is on the sidewalk and a pedestrian crosses the road", "go the same way"),
    ],
)
def test_motion_that_a_clip_does_not_show_is_refused(condition: str, reason: str) -> None:
    rule = parse(f"If {condition}, slow down within 1 s.")
    with pytest.raises(InputError, match=reason):
        plan_for(rule).over(0.0)
