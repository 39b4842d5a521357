from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.coverage.oracle import BrokenRelation, Cluster, cluster
from roadworthy.errors import InputError


def failure(**other: Any) -> BrokenRelation:
    given: dict[str, Any] = {"frame": "a", "transformation": "blur", "parameter": 3, "error": 0.5}
    return BrokenRelation(**{**given, "margin": -0.1, **other})


def noisy(fault: float, count: int, seed: int) -> list[BrokenRelation]:
    """Copies of one fault: features around one point, errors around one value."""
    rng = np.random.default_rng(seed)
    return [
        failure(
            frame=f"{fault}/{number}",
            error=float(0.5 + rng.normal(0, 0.01)),
            margin=-float(rng.uniform(0.1, 0.2)),
            features=tuple((fault + rng.normal(0, 0.02, 8)).tolist()),
        )
        for number in range(count)
    ]


def test_ten_thousand_copies_are_one_finding_in_little_memory() -> None:
    copies = noisy(1.0, 10_000, seed=1)
    tracemalloc.start()
    found = cluster(copies)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [one.size for one in found] == [10_000]
    assert found[0].representative.margin == min(one.margin for one in copies)
    # A matrix of all distances would take 800 MB.
    assert peak < 50e6


def test_a_rare_fault_is_not_lost_among_copies_of_another() -> None:
    common, rare = noisy(1.0, 3000, seed=1), noisy(3.0, 5, seed=2)
    found = cluster([*common, *rare])
    assert sorted(one.size for one in found) == [5, 3000]
    (small,) = (one for one in found if one.size == 5)
    assert sorted(small.members) == [3000, 3001, 3002, 3003, 3004]


def test_distances_by_hand() -> None:
    # Parameters 0, 1, 9, 10: mean 5, deviation sqrt(20.5) = 4.53; 0 to 1 is 0.22 and 0 to 9 is 1.99.
    four = [failure(parameter=value, margin=-0.2 + value / 100) for value in (0, 1, 9, 10)]
    assert [one.members for one in cluster(four)] == [(0, 1), (2, 3)]
    assert [one.members for one in cluster(four, radius=2)] == [(0, 1, 2), (3,)]
    assert [one.members for one in cluster(four, radius=0.2)] == [(0,), (1,), (2,), (3,)]


@pytest.mark.parametrize(
    "other",
    [
        {"transformation": "rain"},
        {"error": -0.5},
        {"parameter": "heavy"},
        {"parameter": (3, 3)},
        {"parameter": True},
        {"parameter": math.nan},
    ],
)
def test_what_keeps_failures_apart(other: dict[str, Any]) -> None:
    assert len(cluster([failure(), failure(**other)])) == 2
    assert len(cluster([failure(**other), failure(**other)])) == 1


def test_nothing_gives_nothing() -> None:
    assert cluster([]) == []


@pytest.mark.parametrize("radius", [0, -1, math.nan, math.inf])
def test_bad_radius(radius: float) -> None:
    with pytest.raises(InputError, match="radius must be above 0"):
        cluster([failure()], radius=radius)


def test_bad_failures() -> None:
    with pytest.raises(InputError, match="equally many features, got 0, 2"):
        cluster([failure(), failure(features=(1.0, 2.0))])
    for margin in (0.0, 0.1, math.nan, -math.inf):
        with pytest.raises(InputError, match="frame 'a' under blur 3: expected a failure"):
            failure(margin=margin)
    with pytest.raises(InputError, match="finite error"):
        failure(error=math.nan)
    with pytest.raises(InputError, match="finite features"):
        failure(features=(math.inf,))


number = st.floats(-1e9, 1e9)
some = st.lists(
    st.builds(
        BrokenRelation,
        st.sampled_from("abc"),
        st.sampled_from(["blur", "rain"]),
        st.one_of(st.integers(0, 30), st.sampled_from(["x", "y"])),
        number,
        st.floats(-10, -0.001),
        st.tuples(number, number),
    ),
    max_size=25,
)


def shown(found: list[Cluster]) -> list[tuple[BrokenRelation, int]]:
    return [(one.representative, one.size) for one in found]


@given(some, st.randoms(), st.floats(0.1, 3))
def test_a_partition_led_by_the_worst_whatever_the_order(
    failures: list[BrokenRelation], random: Any, radius: float
) -> None:
    found = cluster(failures, radius=radius)
    assert sorted(member for one in found for member in one.members) == list(range(len(failures)))
    for one in found:
        members = [failures[member] for member in one.members]
        assert one.representative.margin == min(member.margin for member in members)
        assert len({(member.transformation, member.error > 0) for member in members}) == 1
    mixed = list(failures)
    random.shuffle(mixed)
    assert shown(cluster(mixed, radius=radius)) == shown(found)


@given(some)
def test_copies_add_no_findings(failures: list[BrokenRelation]) -> None:
    # A radius that no distance between whole numbers meets exactly: the last bit of a deviation may change.
    assert len(cluster(failures * 2, radius=0.9731)) == len(cluster(failures, radius=0.9731))


def test_words_in_a_parameter_part_and_numbers_are_compared() -> None:
    sizes = [failure(parameter=("gaussian", size)) for size in (3, 4, 30)]
    assert len(cluster(sizes)) == 2, "sizes are compared by distance"
    assert len(cluster([sizes[0], failure(parameter=("median", 3))])) == 2, "filters by their names"
    assert len(cluster([sizes[0], failure(parameter=("gaussian", 3), frame="b")])) == 1
