"""The rules by which thresholds are read off."""

import numpy as np
import pytest
from scipy.stats import binomtest

from roadworthy.errors import UnknownNameError
from roadworthy.reliability.human import RULES, rule_named


@pytest.mark.parametrize("name", sorted(RULES))
def test_p_values_are_those_of_exact_tests(name: str) -> None:
    rule = RULES[name]
    rng = np.random.default_rng(5)
    counts = rng.integers(11, 220, 12)
    shares = rng.uniform(0.6, 1.02, (12, 3))  # a spline may leave the range of shares
    baseline = np.array([0.97, 0.9, 1.0])
    found = rule.p_values(shares, counts, baseline, dispersion=2.0)
    trials = np.maximum(np.rint(counts / (2 if rule.dispersed else 1)), 1).astype(int)
    for row, size in enumerate(trials):
        for column in range(3):
            kept = min(int(np.rint(size * shares[row, column])), int(size))
            kind = "less" if rule.sides == 1 else "two-sided"
            exact = binomtest(kept, int(size), baseline[column], alternative=kind).pvalue
            assert found[row, column] == pytest.approx(exact, abs=1e-9)


def thresholds(name: str, *columns: str) -> list[tuple[float, bool]]:
    edges = np.round(np.arange(1, len(columns[0]) + 1) / 10, 1)
    significant = np.array([[letter == "x" for letter in column] for column in columns]).T
    values, found = RULES[name].thresholds(edges, significant)
    return list(zip(values.tolist(), found.tolist(), strict=True))


def test_one_interval_is_enough_for_some_and_two_in_a_row_for_others() -> None:
    columns = ("..x.xx.", "x......", "xx.....", "......x", ".......")
    assert thresholds("cifar10", *columns) == [
        (0.3, True), (0.1, True), (0.1, True), (0.7, True), (0.7, False),
    ]  # fmt: skip
    assert thresholds("imagenet", *columns) == [
        (0.6, True), (0.6, False), (0.2, True), (0.6, False), (0.6, False),
    ]  # fmt: skip
    assert thresholds("careful", *columns)[-1] == (0.7, False)


def test_doing_better_is_significant_only_for_two_sided_rules() -> None:
    shares, counts = np.array([[1.0]]), np.array([400])
    assert RULES["imagenet"].significant(shares, counts, np.array([0.97]))[0, 0]
    assert not RULES["careful"].significant(shares, counts, np.array([0.97]))[0, 0]


def test_answers_that_are_alike_count_as_fewer() -> None:
    shares, counts, baseline = np.array([[0.9]]), np.array([60]), np.array([0.97])
    assert RULES["careful"].significant(shares, counts, baseline, dispersion=1.0)[0, 0]
    assert not RULES["careful"].significant(shares, counts, baseline, dispersion=3.0)[0, 0]
    assert RULES["imagenet"].significant(shares, counts, baseline, dispersion=3.0)[0, 0]


def test_unknown_rules() -> None:
    with pytest.raises(UnknownNameError, match="no rule 'imagnet': did you mean 'imagenet'"):
        rule_named("imagnet")
