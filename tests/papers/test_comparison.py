from __future__ import annotations

from typing import Any

from tests.coverage.search.searching import Drive, network

from roadworthy.coverage.criteria import NeuronCoverage
from roadworthy.coverage.parameter_sets import parameter_sets
from roadworthy.papers.deeptest.comparison import GuidedStudy, Reached, add_every_change, distinct_failures


def row(error: float, *seen: float) -> dict[str, Any]:
    numbers = {f"measure.seen.{place}": value for place, value in enumerate(seen)}
    return {
        "case": "try 000001",
        "status": "violated",
        "margin": -(error**2),
        "measure.error": error,
        **numbers,
    }


def test_distinct_failures_are_measured_by_one_yardstick_for_all() -> None:
    near = [row(1.0 + number / 1e4, 1.0, 1.0) for number in range(50)]
    wide = [row(1.0, 1.0, 1.0), row(1.0, 50.0, 1.0), row(-1.0, 1.0, 1.0)]
    assert distinct_failures({"near": near, "wide": wide, "none": []}) == {"near": 1, "wide": 3, "none": 0}
    apart = [row(1.0, 1.0, 1.0), row(1.0, 1.5, 1.0), row(1.0, 50.0, 1.0)]
    counts = [distinct_failures({"some": apart}, radius=radius)["some"] for radius in (1e-9, 1.0, 1e9)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] == 1
    assert distinct_failures({"passed": [{**row(1.0), "status": "passed"}]}) == {"passed": 0}


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
