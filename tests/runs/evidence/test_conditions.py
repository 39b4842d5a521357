from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from roadworthy.cases import Scalar
from roadworthy.runs.evidence.conditions import FEW, Catalogue, Condition, band_of, changes_in
from roadworthy.transforms import make_transform


def exact(failures: int, cases: int) -> tuple[float, float]:
    known = binomtest(failures, cases).proportion_ci(0.95, "exact")
    return known.low, known.high


@given(st.floats(-1e6, 1e6))
def test_every_amount_is_in_its_band(amount: float) -> None:
    low, high = band_of(amount)
    assert low < high
    assert low - 1e-9 <= amount <= high + 1e-9


@given(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6))
def test_bands_do_not_overlap(one: float, other: float) -> None:
    first, second = sorted([band_of(one), band_of(other)])
    assert first == second or first[1] <= second[0] + 1e-9


def test_bands_start_with_their_first_amount() -> None:
    assert [band_of(tenth / 10)[0] for tenth in range(10)] == [tenth / 10 for tenth in range(10)]
    assert [band_of(float(edge))[0] for edge in (2, 5, 10, 20, 50, 1000)] == [2, 5, 10, 20, 50, 1000]


def row(status: str = "passed", margin: float | None = 1.0, **more: Scalar) -> dict[str, Scalar]:
    known = {name.replace("__", "."): value for name, value in more.items()}
    return {"requirement": "R", "system": "m", "case": "c", "status": status, "margin": margin, **known}


def test_what_transforms_print_is_understood() -> None:
    for transform, condition, quantity, amount in (
        (make_transform("rotation", angle=15), "rotation", "angle", 15.0),
        (make_transform("rain", amount=0.4), "rain", "amount", 0.4),
        (make_transform("brightness", bias=-20), "brightness", "bias", -20.0),
        (make_transform("add", element="stop sign"), "add(element=stop sign)", "", None),
    ):
        (found,) = changes_in(row(param__transform=str(transform)))
        assert (found.condition, found.quantity, found.amount) == (condition, quantity, amount), str(
            transform
        )


def test_several_changes_at_once_are_ranked_by_how_much_is_seen() -> None:
    (found,) = changes_in(row(param__transform="rain(amount=1) + fog(amount=0.5)", visual_change=0.7))
    assert found[:3] == ("fog + rain", "visual change", 0.7)
    (again,) = changes_in(row(param__transform="fog(amount=1) + rain(amount=1) + fog(amount=0.2)"))
    assert again.condition == found.condition


def test_what_was_added_counts_by_its_distance() -> None:
    added = row(param__change__1="add(element=pedestrian)", measure__margin__1=1.0, measure__distance__1=12.5)
    (found,) = changes_in(added)
    assert found[:3] == ("add(element=pedestrian)", "distance (m)", 12.5)


def test_of_a_composed_rule_only_the_relation_that_broke_has_failed() -> None:
    both = row(
        "violated",
        -2.0,
        param__change__1="add(element=pedestrian)",
        param__change__2="add(element=pedestrian), 0.6 times as far away",
        measure__margin__1=0.5,
        measure__margin__2=-2.0,
    )
    first, second = changes_in(both)
    assert (first.failed, second.failed) == (False, True)
    assert second.condition == "add(element=pedestrian), 0.6 times as far away"


def test_a_strict_relation_is_broken_at_exactly_0() -> None:
    equal = row("violated", 0.0, param__change__1="night(amount=1)", measure__margin__1=0.0)
    assert [one.failed for one in changes_in(equal)] == [True]


def test_an_error_fails_under_every_change() -> None:
    crashed = row("error", None, param__change__1="night(amount=1)", param__change__2="rain(amount=1)")
    assert [one.failed for one in changes_in(crashed)] == [True, True]


def test_specifications_count_by_the_size_of_the_object() -> None:
    seen = row(measure__expected="stop", measure__truth__y1=100.0, measure__truth__y2=130.0)
    (found,) = changes_in(seen)
    assert found[:3] == ("the ground truth leads to stop", "height of the object (pixels)", 30.0)


def test_drives_count_by_where_they_take_place() -> None:
    drive = row(
        param__option__rain=0.5, param__sector="bend", param__simulator="world:town", param__option__x=None
    )
    (found,) = changes_in(drive)
    assert found[:3] == ("simulator world:town, rain 0.5, sector bend", "", None)


def test_few_amounts_are_bands_of_their_own_and_many_are_not() -> None:
    for many in (FEW, FEW + 1):
        catalogue = Catalogue()
        for number in range(many):
            catalogue.add(row(param__transform=f"rain(amount={number / 20})"))
        found = catalogue.conditions()
        exact = [one.low == one.high for one in found]
        assert all(exact) == (many == FEW)
        assert sum(one.cases for one in found) == many


def test_what_is_measured_has_bands_however_few_cases_there_are() -> None:
    catalogue = Catalogue()
    for distance in (6.78, 7.2, 19.02):
        catalogue.add(row(param__change__1="add(element=tree)", measure__distance__1=distance))
    assert [(one.low, one.high, one.cases) for one in catalogue.conditions()] == [(5, 10, 2), (10, 20, 1)]


def test_bands_below_1_are_coarse_where_amounts_go_beyond() -> None:
    catalogue = Catalogue()
    for number in range(40):
        catalogue.add(row(param__transform=f"rotation(angle={number / 10})"))
    for case, margin in (("0.3", -1.0), ("0.4", -5.0)):
        catalogue.add(row("violated", margin, case=case, param__transform=f"rotation(angle={case})"))
    found = catalogue.conditions()
    bands = [(one.low, one.high) for one in found]
    assert bands == [(0, 0.1), (0.1, 0.2), (0.2, 0.5), (0.5, 1.0), (1, 2), (2, 5)]
    assert [(one.cases, one.failures) for one in found[1:3]] == [(1, 0), (3 + 2, 2)]
    assert (found[2].worst_case, found[2].worst_margin) == ("0.4", -5.0)


def test_counts_agree_with_counting_by_hand_and_the_worst_case_is_named() -> None:
    rng = np.random.default_rng(1)
    catalogue, failed = Catalogue({"R": 0.2}), dict.fromkeys((0.5, 1.0), 0)
    worst: dict[float | None, tuple[float, str]] = {0.5: (0.0, ""), 1.0: (0.0, "")}
    for number in range(200):
        amount, margin = (0.5, 1.0)[number % 2], float(rng.normal())
        failed[amount] += margin < 0
        worst[amount] = min(worst[amount], (margin, str(number)))
        status = "violated" if margin < 0 else "passed"
        catalogue.add(
            row(
                status,
                margin,
                case=str(number),
                images=f"i{number}",
                param__transform=f"fog(amount={amount})",
            )
        )
    assert {one.low: one.failures for one in catalogue.conditions()} == failed
    for one in catalogue.conditions():
        assert (one.worst_margin, one.worst_case) == worst[one.low]
        assert one.worst_images == f"i{one.worst_case}"
        assert one.standing == "above"
        assert one.lower is not None
        assert one.upper is not None
        assert one.lower < one.failures / 100 < one.upper


def test_a_margin_without_a_border_is_the_worst() -> None:
    catalogue = Catalogue()
    for case, margin in (("near", -1.0), ("missed", -float("inf"))):
        catalogue.add(row("violated", margin, case=case, param__transform="a(b=1)"))
    (found,) = catalogue.conditions()
    assert (found.worst_case, found.record()["worst_margin"]) == ("missed", "-inf")


def test_where_the_interval_lies_against_what_is_accepted() -> None:
    # Two-sided: of 36 cases without a failure the upper end is 9.7%, of 35 it is 10.0…%.
    for accepted, failures, cases, standing in (
        (0.1, 0, 36, "within"),
        (0.1, 0, 35, "undecided"),
        (0.1, 60, 100, "above"),
        (0.1, 1, 5, "undecided"),
        (0.0, 0, 100, "undecided"),  # no number of cases shows that none fails
        (0.0, 1, 100, "above"),
    ):
        (found,) = _conditions(failures, cases, lambda number: f"f{number}", accepted)
        assert (found.standing, found.clusters) == (standing, cases)
        assert (found.lower, found.upper) == pytest.approx(exact(failures, cases), abs=1e-7)


def _conditions(
    failures: int, cases: int, cluster: Callable[[int], str], accepted: float = 0.1
) -> list[Condition]:
    catalogue = Catalogue({"R": accepted})
    for number in range(cases):
        bad = number < failures
        facts = {"param__transform": "a(b=1)", "cluster": cluster(number)}
        catalogue.add(row("violated" if bad else "passed", -1.0 if bad else 1.0, **facts))
    return catalogue.conditions()


def test_cases_of_one_drive_are_one_cluster_of_a_condition() -> None:
    (found,) = _conditions(0, 100, lambda number: f"drive {number % 10}")
    # As ten independent cases would say, not a hundred.
    assert (found.cases, found.clusters, found.standing) == (100, 10, "undecided")
    assert (found.lower, found.upper) == pytest.approx(exact(0, 10), abs=1e-7)
    assert found.record()["clusters"] == 10


def test_fewer_than_five_drives_decide_about_no_rate() -> None:
    for drives, accepted, standing in ((4, 0.1, "undecided"), (5, 0.1, "above"), (1, 0.0, "above")):
        names = [f"drive {number % drives}" for number in range(40)]
        (found,) = _conditions(40, 40, names.__getitem__, accepted)
        assert found.lower is not None
        assert (found.clusters, found.lower > accepted, found.standing) == (drives, True, standing)


def test_of_a_search_nothing_is_said_about_a_rate() -> None:
    catalogue = Catalogue({"R": 0.1}, {"R"})
    for number in range(40):
        catalogue.add(row("violated" if number % 2 else "passed", -1.0 if number % 2 else 1.0))
    (found,) = catalogue.conditions()
    assert (found.cases, found.failures, found.standing) == (40, 20, "undecided")
    unknown = ("rate", "lower", "upper", "confidence", "effective_cases")
    assert {found.record()[name] for name in unknown} == {None}


def test_its_size_does_not_grow_with_the_number_of_amounts() -> None:
    catalogue = Catalogue()
    for amount, status in itertools.product(np.linspace(0, 1, 2000), ("passed", "not applicable")):
        margin = 1.0 if status == "passed" else None
        catalogue.add(row(status, margin, param__transform=f"rain(amount={amount})"))
    found = catalogue.conditions()
    assert len(found) == 10
    assert sum(one.cases for one in found) == sum(one.not_applicable for one in found) == 2000
