"""Drivers whose faults show only over time."""

from __future__ import annotations

from roadworthy.papers.clip_truth import CLIP_RULES, clip_matrix
from roadworthy.papers.truth_matrix import CAREFUL


def test_late_forgetful_and_half_blind_drivers_are_caught_and_the_careful_one_is_not() -> None:
    rules = [one for one in CLIP_RULES if one.id in ("right", "left")]
    matrix = clip_matrix(6, seed=2, rules=rules)
    assert matrix.false_alarms(CAREFUL)[0] == 0
    for fault in ("late", "forgetful", "pedestrian-blind"):
        caught, qualify = matrix.caught(fault)
        assert caught == qualify > 2, fault
    assert matrix.sensitivity("left", "left-blind") in (1.0, None)
    assert matrix.sensitivity("right", "left-blind") == 0
