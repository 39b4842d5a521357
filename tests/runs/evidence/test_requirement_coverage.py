"""What was tried of requirements and of their tags."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from roadworthy.cases import Requirement, Status
from roadworthy.datasets import load
from roadworthy.runs.evidence.pairs import TestedPair as PairTried
from roadworthy.runs.evidence.requirement_coverage import (
    coverage_record,
    functional_coverage,
    functional_document,
    tag_coverage,
)


def pair(id: str, counts: dict[Status, int], *tags: str, system: str = "net") -> PairTried:
    return PairTried(Requirement(id, "text", "rules", tags=tags), system, None, counts, f"runs/{id}")


def test_a_requirement_without_an_applicable_case_was_not_tried() -> None:
    record: Any = coverage_record(pair("R1", {Status.NOT_APPLICABLE: 4}, "night", "rain"))
    assert (record["tried"], record["cases"], record["applicable"], record["rate"]) == ("no", 4, 0, None)
    assert (record["tags"], record["not_applicable"]) == ("night; rain", 4)
    counts = {Status.PASSED: 5, Status.VIOLATED: 2, Status.ERROR: 1, Status.NOT_APPLICABLE: 2}
    record = coverage_record(pair("R1", counts))
    assert (record["tried"], record["cases"], record["applicable"], record["failed"]) == ("yes", 10, 8, 3)
    assert (record["rate"], record["errors"]) == (3 / 8, 1)


def test_a_tag_has_what_its_requirements_have() -> None:
    night, rain = tag_coverage(
        [
            pair("R1", {Status.PASSED: 2}, "night", "rain"),
            pair("R1", {Status.PASSED: 3}, "night", "rain", system="other"),
            pair("R2", {Status.NOT_APPLICABLE: 9}, "night"),
        ]
    )
    assert asdict(night) == {
        **{"tag": "night", "requirements": ["R1", "R2"], "tried": ["R1"], "untried": ["R2"]},
        **{"applicable": 5, "violated": []},
    }
    assert (rain.tag, rain.requirements, rain.applicable) == ("rain", ["R1"], 5)


def test_the_operating_domain_is_that_of_all_data() -> None:
    town, meadow = (load(f"world:{name}", count=3, size="64x32") for name in ("town", "meadow"))
    both, one = functional_coverage([town, meadow]), functional_coverage([town])
    assert (both.frames, one.frames) == (6, 3)
    document = functional_document(both, ["a", "b"])
    assert (document["data"], document["frames"], document["covered"]) == (["a", "b"], 6, both.covered)
    assert document["share"] == document["covered"] / document["total"] > one.value
    assert len(document["rows"]) > 5
    assert any("is in no recorded frame" in hole for hole in document["never_touched"])
