"""Deciding early and planning: each number against the formula written out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from roadworthy.errors import InputError
from roadworthy.statistics import SequentialRate, clusters_needed

STAKES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def wealth(clusters: Sequence[tuple[int, int]], rate: float, *, less: bool) -> float:
    """Return what a bet on failing less, or more, often than at a rate has grown to; a mixture of stakes."""
    grown, largest = [1.0] * len(STAKES), 0
    for cases, failures in clusters:
        largest = max(largest, cases)
        surplus = (rate * cases - failures) / largest
        gain = surplus / (1 - rate) if less else -surplus / rate
        grown = [money * (1 + stake * gain) for money, stake in zip(grown, STAKES, strict=True)]
    return sum(grown) / len(grown)


MIXED = [(10, 0), (4, 1), (20, 0), (7, 0), (20, 3), (20, 0)]


@pytest.mark.parametrize(
    "clusters", [[(1, 0)] * 90, [(3, 3)] * 4, MIXED * 6, [(5, 4), (9, 9), (2, 1)] * 3, [(1, 1)]]
)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_both_answers_are_those_of_the_bets(clusters: list[tuple[int, int]], confidence: float) -> None:
    watched = SequentialRate(0.1, confidence)
    for number, (cases, failures) in enumerate(clusters, 1):
        watched.add(cases=cases, failures=failures)
        seen = clusters[:number]
        assert watched.shows_at_most == (wealth(seen, 0.1, less=True) >= 1 / (1 - confidence))
        assert watched.shows_at_least == (wealth(seen, 0.1, less=False) >= 1 / (1 - confidence))
    upper, lower = watched.upper(), watched.lower()
    assert 0 <= lower <= upper <= 1
    if upper < 1:
        assert wealth(clusters, upper, less=True) == pytest.approx(1 / (1 - confidence), rel=1e-6)
    if lower > 0:
        assert wealth(clusters, lower, less=False) == pytest.approx(1 / (1 - confidence), rel=1e-6)


def test_nothing_is_known_at_first_and_impossible_limits_are_never_decided() -> None:
    watched = SequentialRate(0.1)
    assert (watched.upper(), watched.lower()) == (1.0, 0.0)
    assert not watched.shows_at_most
    assert not watched.shows_at_least
    for limit in (0.0, 1.0):
        watched = SequentialRate(limit)
        for _ in range(50):
            watched.add(cases=3, failures=3)
        assert (watched.shows_at_most, watched.shows_at_least) == (False, False)
        assert watched.upper() == 1.0
        assert watched.lower() > 0.85


def test_a_confidence_is_a_share() -> None:
    for confidence in (0.0, 1.0, 95.0, math.nan):
        with pytest.raises(InputError, match="confidence"):
            SequentialRate(0.1, confidence)
        with pytest.raises(InputError):
            clusters_needed(0.1, power=confidence)


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ({"accepted": 0.05}, 59),
        ({"accepted": 0.5}, 5),  # 4.3
        ({"accepted": 0.95}, 1),
        ({"accepted": 0.9, "size": 30}, 5),  # no fewer clusters say anything
        ({"accepted": 0.05, "size": 30, "correlation": 0.9}, 59),
        ({"accepted": 0.5, "confidence": 0.75}, 2),  # exactly 2
        ({"accepted": 0.01, "confidence": 0.99}, 459),
    ],
)
def test_without_expected_failures_the_number_is_exact(options: dict[str, float], needed: int) -> None:
    assert clusters_needed(**options) == needed  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"accepted": 0.0},
            "the expected rate must be below the accepted one, both from 0 to 1, got 0 and 0",
        ),
        ({"accepted": 1.0}, "both from 0 to 1, got 0 and 1"),
        ({"accepted": 0.1, "expected": -0.1}, "both from 0 to 1, got -0.1 and 0.1"),
        ({"accepted": 0.1, "expected": 0.1}, "both from 0 to 1, got 0.1 and 0.1"),
        ({"accepted": 0.1, "size": 0}, "clusters need 1 case or more and a correlation .*, got 0, 0"),
        ({"accepted": 0.1, "correlation": 1.0}, "a correlation from 0 to 1, got 1, 1"),
        ({"accepted": 0.1, "correlation": -0.5}, "a correlation from 0 to 1, got 1, -0.5"),
    ],
)
def test_numbers_out_of_their_range_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        clusters_needed(**options)  # type: ignore[arg-type]


def test_a_plan_needs_more_where_more_is_asked() -> None:
    base = clusters_needed(0.2, expected=0.05)
    assert base > clusters_needed(0.2)
    assert clusters_needed(0.2, expected=0.05, power=0.95) > base
    assert clusters_needed(0.2, expected=0.05, confidence=0.99) > base
    assert clusters_needed(0.2, expected=0.1) > base
    assert clusters_needed(0.2, expected=0.05, seed=3) == pytest.approx(base, abs=8), (
        "another draw, near to it"
    )
