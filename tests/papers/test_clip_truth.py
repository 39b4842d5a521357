"""Drivers whose faults show only over time."""

from __future__ import annotations

from roadworthy.papers.truth_matrix import CAREFUL, CLIP_RULES, clip_matrix


def test_every_fault_is_caught_by_its_rules_alone_and_the_careful_driver_by_none() -> None:
    matrix = clip_matrix(6, seed=2, rules=[one for one in CLIP_RULES if one.id != "rain"])
    assert matrix.false_alarms(CAREFUL)[0] == 0
    assert {row.rule.id for row in matrix.rows if row.rule.caught} == {"right", "left", "never", "steady"}
    for row in matrix.rows:
        assert row.qualify > 1, row.rule.id
        for fault in matrix.drivers[1:]:
            caught = 1.0 if fault in row.rule.caught else 0.0
            assert matrix.sensitivity(row.rule.id, fault) == caught, (row.rule.id, fault)
