from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.coverage_search import paired_difference
from tests.coverage.search.searching import Drive, network

from roadworthy.coverage.criteria import NeuronCoverage
from roadworthy.coverage.parameter_sets import parameter_sets
from roadworthy.coverage.search.findings import findings_of, growth_of, most_different
from roadworthy.errors import InputError
from roadworthy.papers.deeptest.comparison import GuidedStudy, Reached, add_every_change, distinct_failures


def row(error: float, *seen: float, status: str = "violated") -> dict[str, Any]:
    numbers = {f"measure.seen.{place}": value for place, value in enumerate(seen)}
    return {"case": "try 000001", "status": status, "margin": -(error**2), "measure.error": error, **numbers}


def test_distinct_failures_are_measured_by_one_yardstick_for_all() -> None:
    near = [row(1.0 + number / 1e4, 1.0, 1.0) for number in range(50)]
    wide = [row(1.0, 1.0, 1.0), row(1.0, 50.0, 1.0), row(-1.0, 1.0, 1.0)]
    assert distinct_failures({"near": near, "wide": wide, "none": []}) == {"near": 1, "wide": 3, "none": 0}
    assert distinct_failures({"passed": [{**row(1.0), "status": "passed"}]}) == {"passed": 0}


def test_the_interval_covers_the_true_difference_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        apart = rng.normal(0.5, 1.0, 20)
        base = rng.normal(0, 5, 20)
        found = paired_difference(list(base + apart), list(base))
        assert found.mean == pytest.approx(apart.mean())
        covered += found.low <= 0.5 <= found.high
    # Student's interval of normal numbers is exact: of 200, two standard deviations around 95%.
    assert 184 <= covered <= 196


def test_a_difference_is_above_zero_only_with_its_whole_interval() -> None:
    # Three differences around 2 with a deviation of 1 reach 2.48 to both sides: 4.303 / √3.
    assert not paired_difference([2.0, 3.0, 4.0], [1.0, 1.0, 1.0]).above
    found = paired_difference([2.5, 3.5, 4.5], [1.0, 1.0, 1.0])
    assert found.above
    assert (found.low, found.high) == pytest.approx((2.5 - 2.4841, 2.5 + 2.4841), abs=1e-4)


@pytest.mark.parametrize(("first", "second"), [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([], [])])
def test_a_difference_needs_pairs(first: list[float], second: list[float]) -> None:
    with pytest.raises(InputError, match="two or more pairs"):
        paired_difference(first, second)


def test_a_finding_is_told_by_its_worst_try_and_by_its_simplest() -> None:
    def tried(number: int, error: float, depth: int, place: int, change: str) -> dict[str, Any]:
        facts = {"param.depth": depth, "param.place": place, "param.transform": change}
        return {**row(error, 1.0, 1.0), "case": f"try {number:06d}", **facts}

    rows = [
        tried(1, 1.01, 4, 0, "blur(size=3) + rotation(angle=3)"),
        tried(2, 1.02, 2, 0, "rotation(angle=3)"),
        tried(3, 1.03, 3, 7, "shear(x=-1) + rotation(angle=3) + rotation(angle=6)"),
    ]
    (found,) = findings_of(rows)
    assert (found.case, found.simplest, found.failures, found.originals) == ("try 000003", "try 000002", 3, 2)
    assert found.transformations[0] == ("rotation", 1.0)
    assert dict(found.transformations) == {"rotation": 1.0, "blur": 1 / 3, "shear": 1 / 3}


def test_the_most_different_findings_are_the_worst_and_those_far_from_it() -> None:
    rows = [row(3.0, 0.0, 0.0), row(2.9, 9.0, 0.0), row(2.8, 9.5, 0.0), row(-1.0, 4.0, 30.0)]
    found = findings_of(rows, radius=1e-6)
    assert [one.error for one in found] == [3.0, 2.9, 2.8, -1.0]
    assert [one.error for one in most_different(found, 2)] == [3.0, -1.0]
    assert [one.error for one in most_different(found, 3)] == [3.0, -1.0, 2.8]


def test_growth_begins_with_the_originals_and_stays_where_a_try_was_not_answered() -> None:
    def tried(status: str, coverage: float | None = None, gain: float | None = None) -> dict[str, Any]:
        numbers = {"measure.coverage": coverage, "measure.gain": gain}
        return {"param.transform": "blur(size=3)", "status": status, **numbers}

    original = {"param.transform": None, "status": "not applicable", "measure.coverage": None}
    rows = [
        original,
        tried("error"),
        tried("passed", 0.5, 0.25),
        tried("not applicable"),
        tried("violated", 0.75, 0.25),
        tried("error"),
    ]
    grown = growth_of(rows, 0.75)
    assert grown.coverage == [0.25, 0.25, 0.5, 0.5, 0.75, 0.75]
    assert grown.failures == [0, 0, 0, 0, 1, 1], "a crash is no violation of Equation 2"
    nothing = growth_of([original, tried("error")], 0.3)
    assert (nothing.coverage, nothing.failures) == ([0.3, 0.3], [0, 0])


def test_every_change_is_added() -> None:
    system = network()
    sets = parameter_sets(["rotation", "brightness(bias=20)"])
    coverage = NeuronCoverage(system.observe([Drive()[0]])[1].layers)
    assert add_every_change(system, Drive(2), sets, coverage) == 2 * 11
    images = [choice.transform(frame) for frame in Drive(2) for one in sets for choice in one]
    alone = NeuronCoverage(coverage.layers)
    alone.update(system.observe(images)[1])
    assert (coverage.seen == alone.seen).all()


def test_the_table_tells_increases_over_seeds_and_over_all_transformations() -> None:
    study = GuidedStudy(
        (
            Reached("epoch", "seed images", 100, 621, 2500),
            Reached("epoch", "all transformations", 7000, 1034, 2500),
            Reached("epoch", "algorithm-1", 864, 1266, 2500, kept=221, failures=65, findings=9),
        )
    )
    # The numbers of Epoch in Table 6 of the paper, with its percentages.
    assert [cells[5:8] for cells in study.table().rows] == [
        ("24.8%", "-", "-"),
        ("41.4%", "+66.5%", "-"),
        ("50.6%", "+103.9%", "+22.4%"),
    ]
