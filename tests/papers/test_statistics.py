from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import InputError
from roadworthy.papers.deeptest.statistics import cohens_d, magnitude, p_text, rank_sum, signed_rank, spearman

numbers = st.lists(st.integers(-5, 5), min_size=3, max_size=12)


def test_spearman_without_ties_is_the_closed_form() -> None:
    one, two = [1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5]
    # 1 - 6 * sum of d^2 / (n (n^2 - 1))
    assert spearman(one, two).value == pytest.approx(1 - 6 * 6 / (6 * 35))


@given(numbers, st.integers(0, 1000))
def test_spearman_is_pearson_of_mean_ranks(values: list[int], seed: int) -> None:
    others = np.random.default_rng(seed).integers(-5, 5, len(values)).tolist()
    found = spearman(values, others)
    if len(set(values)) == 1 or len(set(others)) == 1:
        assert (found.value, found.p) == (None, None)
        return
    ranks = [[sum(x < y for x in row) + (row.count(y) + 1) / 2 for y in row] for row in (values, others)]
    assert found.value == pytest.approx(np.corrcoef(ranks)[0, 1], abs=1e-12)
    assert found.p is not None
    assert 0 <= found.p <= 1


@given(numbers, numbers)
def test_the_rank_sum_is_the_share_of_larger_members(one: list[int], two: list[int]) -> None:
    found = rank_sum(one, two)
    if len({*one, *two}) == 1:
        assert found.reason == "all values are the same"
        return
    wins = sum((x > y) + (x == y) / 2 for x, y in product(one, two))
    assert found.value == pytest.approx(wins / (len(one) * len(two)))


def test_the_exact_p_of_the_rank_sum() -> None:
    # Of the 20 ways to choose three of six ranks, one is as far to either side.
    assert rank_sum([4, 5, 6], [1, 2, 3]).p == pytest.approx(2 / 20)


@given(numbers, st.integers(0, 1000))
def test_signed_ranks_by_hand(before: list[int], seed: int) -> None:
    after = np.random.default_rng(seed).integers(-5, 5, len(before)).tolist()
    found = signed_rank(before, after)
    differences = [y - x for x, y in zip(before, after, strict=True) if x != y]
    if len(differences) < 3:
        assert found.value is None
        assert found.reason
        return
    sizes = [abs(one) for one in differences]
    ranks = [sum(x < y for x in sizes) + (sizes.count(y) + 1) / 2 for y in sizes]
    up = sum(rank for rank, one in zip(ranks, differences, strict=True) if one > 0)
    assert found.value == pytest.approx((2 * up - sum(ranks)) / sum(ranks))


def test_the_exact_p_of_signed_ranks() -> None:
    # All n differences have one sign in two of 2^n cases.
    assert signed_rank([0] * 6, [1, 2, 3, 4, 5, 6]).p == pytest.approx(2 / 2**6)
    # All of 25 pairs up is one of 2^25 signs, and as many down; beyond 25 the normal distribution stands in.
    assert signed_rank([0] * 25, list(range(1, 26))).p == pytest.approx(2 / 2**25)
    assert (signed_rank([0] * 26, list(range(1, 27))).p or 0) > 1e-6


def test_cohens_d_by_hand() -> None:
    # Means 4 and 1, squares 8 and 2, pooled sqrt(10 / 4).
    assert cohens_d([2, 4, 6], [0, 1, 2]) == pytest.approx(3 / math.sqrt(2.5))
    assert cohens_d([1, 1], [1, 1]) is None
    assert cohens_d([1], [1, 2]) is None


@pytest.mark.parametrize(
    ("d", "word"), [(0.19, "negligible"), (-0.2, "small"), (0.5, "medium"), (-0.8, "large")]
)
def test_words_for_effects(d: float, word: str) -> None:
    assert magnitude(d) == word


def test_too_few_are_said_to_be_so() -> None:
    assert spearman([1, 2], [1, 2]).reason == "needs at least 3 images, got 2"
    assert rank_sum([1, 2], [1, 2, 3]).reason == "needs at least 3 images in each group, got 2 and 3"
    assert signed_rank([1, 2, 3], [1, 2, 4]).reason == "needs at least 3 pairs that differ, got 1"
    assert signed_rank([], []).reason == "needs at least 3 pairs that differ, got 0"
    assert signed_rank([1, 2], [1, 2]).reason == "nothing changed in any pair"
    assert p_text(None) == "-"


@pytest.mark.parametrize("function", [spearman, signed_rank])
def test_pairs_must_be_pairs(function: Any) -> None:
    with pytest.raises(InputError):
        function([1, 2, 3], [1, 2])
    with pytest.raises(InputError, match="finite"):
        function([1, 2, math.nan], [1, 2, 3])
