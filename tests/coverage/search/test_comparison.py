from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.coverage_search import paired_difference

from roadworthy.coverage.search.findings import findings_of, growth_of, most_different
from roadworthy.errors import InputError


def row(error: float, *seen: float, status: str = "violated") -> dict[str, Any]:
    numbers = {f"measure.seen.{place}": value for place, value in enumerate(seen)}
    return {"case": "try 000001", "status": status, "margin": -(error**2), "measure.error": error, **numbers}


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
