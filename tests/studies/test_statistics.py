"""Agreement, correlation and independence against published examples, closed forms and the paper's table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from roadworthy.driving.sectors import SectorTable, variance_scores
from roadworthy.errors import InputError
from roadworthy.studies.statistics import (
    Agreement,
    Correlation,
    correlate,
    fleiss_kappa,
    krippendorff_alpha,
    summarise,
)

# Fourteen raters, ten subjects, five categories: the worked example of the literature on Fleiss' kappa.
WORKED_EXAMPLE = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def test_the_worked_example_of_fleiss_kappa() -> None:
    found = fleiss_kappa(WORKED_EXAMPLE)
    assert found.kappa == pytest.approx(0.20993, abs=1e-5)
    assert found.words == "fair"
    assert found.p_value < 0.001


@pytest.mark.parametrize(
    ("kappa", "words"),
    [(-0.01, "poor"), (0.0, "slight"), (0.2, "slight"), (0.21, "fair"), (0.4, "fair"), (0.6, "moderate"),
     (0.8, "substantial"), (0.81, "almost perfect"), (1.0, "almost perfect")],
)  # fmt: skip
def test_the_words_of_landis_and_koch(kappa: float, words: str) -> None:
    assert Agreement(kappa, 0.5).words == words


def test_full_agreement_is_1_and_raters_who_guess_are_near_0() -> None:
    assert fleiss_kappa([[3, 0], [0, 3]]).kappa == 1
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(300):
        guesses = rng.integers(0, 3, (40, 5))
        counts = np.stack([(guesses == one).sum(axis=1) for one in range(3)], axis=1)
        p_values.append(fleiss_kappa(counts).p_value)
    # A p-value is below 5% in about 5% of the cases where there is nothing to find.
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.09


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, 2], [3, 1]], "equally many ratings"),
        ([[1, 0], [0, 1]], "at least two"),
        ([[3, 0], [3, 0]], "not defined"),
        ([[3, 0]], "subjects × categories"),
        ([[1.5, 0.5], [1, 1]], "whole"),
    ],
)
def test_ratings_that_have_no_kappa(counts: list[list[float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fleiss_kappa(counts)


@pytest.mark.parametrize(
    ("coefficient", "count", "p_value"),
    [(-0.44, 33, 0.01), (-0.57, 21, 0.01), (0.22, 33, 0.21), (-0.41, 42, 0.01), (-0.15, 96, 0.15)],
)
def test_p_values_of_table_2_follow_from_their_coefficients(
    coefficient: float, count: int, p_value: float
) -> None:
    # Values with exactly that correlation: a part along the scores, a part across them.
    rng = np.random.default_rng(1)
    scores = rng.normal(size=count)
    scores = (scores - scores.mean()) / scores.std()
    noise = rng.normal(size=count)
    noise -= noise.mean() + scores * (noise @ scores) / count
    values = coefficient * scores + math.sqrt(1 - coefficient**2) * noise / noise.std()
    found = correlate(values, scores)
    assert found is not None
    assert found.coefficient == pytest.approx(coefficient)
    # The paper rounds both to two places.
    assert found.p_value == pytest.approx(p_value, abs=0.012)


def test_a_constant_metric_has_no_correlation_and_bad_scores_are_refused() -> None:
    assert correlate([1, 1, 1], [1, 2, 3]) is None
    with pytest.raises(InputError, match="at least three"):
        correlate([1, 2], [1, 2])
    with pytest.raises(InputError, match="are known"):
        correlate([1, 2, math.nan], [1, 2, 3])


def test_variance_scores_of_independent_metrics_and_of_copies() -> None:
    """Standardised columns that are orthogonal have all ratios alike, and copies share one component."""
    angle = np.arange(64) * 2 * np.pi / 64
    waves = {"a": np.sin(angle), "b": np.cos(angle), "c": np.sin(2 * angle) * 7 + 3}
    found = variance_scores(SectorTable.of(waves), explained=1.0)
    assert found.ratios == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    copies = SectorTable.of({"a": waves["a"], "b": -5 * waves["a"], "still": np.ones(64)})
    found = variance_scores(copies)
    assert found.constant == ("still",)
    assert found.ratios == pytest.approx((1.0,))
    assert dict(found.scores) == pytest.approx({"a": math.sqrt(0.5), "b": math.sqrt(0.5)})


def test_no_component_more_is_taken_than_explains_the_share() -> None:
    # Ten waves that have nothing in common explain a tenth each: nine explain 90% but for the rounding.
    angle = np.arange(64) * 2 * np.pi / 64
    waves = {f"m{k}": np.sin((k + 1) * angle) for k in range(10)}
    assert len(variance_scores(SectorTable.of(waves), explained=0.9).ratios) == 9
    assert len(variance_scores(SectorTable.of(waves), explained=0.91).ratios) == 10


def test_variance_scores_from_the_correlation_matrix() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(96, 6)) @ rng.normal(size=(6, 6))
    table = SectorTable.of(values)
    weights, vectors = np.linalg.eigh(np.corrcoef(values.T))
    ratios = weights[::-1] / weights.sum()
    count = int(np.argmax(np.cumsum(ratios) >= 0.9)) + 1
    expected = (np.abs(vectors[:, ::-1][:, :count]) * ratios[:count]).sum(axis=1)
    found = variance_scores(table)
    assert len(found.ratios) == count
    assert [found.scores[name] for name in table.metrics] == pytest.approx(expected.tolist())
    assert list(found.scores.values()) == sorted(found.scores.values(), reverse=True)


def test_the_table_has_a_column_for_each_track_and_one_for_all() -> None:
    rng = np.random.default_rng(5)
    scores = rng.uniform(1, 5, 30)
    table = SectorTable.of({"Mean(LP)": -scores + rng.normal(0, 0.1, 30), "Max(Speed)": np.ones(30)})
    summary = summarise(table, scores.tolist(), groups=["lake"] * 15 + ["jungle"] * 15)
    assert list(summary.correlations) == ["jungle", "lake", "all tracks"]
    whole = summary.correlations["all tracks"]["Mean(LP)"]
    assert whole is not None
    assert whole.coefficient == pytest.approx(stats.pearsonr(table.values[:, 0], scores).statistic)
    shown = summary.table()
    assert shown.columns[:3] == ("metric", "jungle cc", "jungle p")
    assert shown.columns[3:] == ("lake cc", "lake p", "all tracks cc", "all tracks p", "VS")
    first = summary.correlations["jungle"]["Mean(LP)"]
    assert first is not None
    assert shown.rows[0][:3] == ("Mean(LP)", f"{first.coefficient:+.2f}*", "0.00")
    assert shown.rows[0][-1] == "1.0000"  # the only metric that varies
    assert shown.rows[1] == ("Max(Speed)", *["N/A"] * 6, "–")


def test_a_track_with_two_drives_has_no_column_of_its_own() -> None:
    table = SectorTable.of({"Mean(LP)": [1.0, 2.0, 4.0, 3.0, 5.0]})
    summary = summarise(table, [5.0, 4.0, 2.0, 3.0, 1.0], groups=["lake"] * 3 + ["jungle"] * 2)
    assert list(summary.correlations) == ["lake", "all tracks"]


def test_scores_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="a score and a group for each of 3 drives"):
        summarise(SectorTable.of({"a": [1.0, 2.0, 3.0]}), [1.0])


def test_alpha_is_none_where_there_is_nothing_to_agree_on() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([[1], [2], [3]]) is None  # nobody rated the same thing
    assert krippendorff_alpha([[4, 4], [4, 4, 4]]) is None
    assert krippendorff_alpha([[4, 4], [4, 4], [1]]) is None  # who rated alone does not count
    assert krippendorff_alpha([[1, 2], [2, 1]]) == pytest.approx(-0.5)


def test_the_p_value_of_kappa_by_its_closed_form() -> None:
    """With two categories chosen equally often, κ is normal with a variance of 1 / (pairs of ratings)."""
    counts = [[3, 1], [1, 3], [4, 0], [0, 4], [2, 2]]
    found = fleiss_kappa(counts)
    observed = (0.5 + 0.5 + 1 + 1 + 1 / 3) / 5
    assert found.kappa == pytest.approx((observed - 0.5) / 0.5)
    assert found.p_value == pytest.approx(2 * stats.norm.sf(found.kappa * math.sqrt(5 * 4 * 3 / 2)))
    against = fleiss_kappa([[2, 2]] * 5)
    assert against.kappa == pytest.approx(-1 / 3)
    assert against.p_value == pytest.approx(2 * stats.norm.sf(math.sqrt(30) / 3))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[3], [3]], r"at least two of each, got shape \(2, 1\)"),
        ([1, 2, 3], r"got shape \(3,\)"),
        ([[3, -1], [1, 1]], "whole and not negative"),
        ([["a", "b"], ["c", "d"]], "whole and not negative"),
        ([[2, 1], [2, 2]], "at least two, got 3 to 4: leave out subjects or raters with missing answers"),
    ],
)
def test_tables_that_are_none(counts: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fleiss_kappa(counts)


def test_two_of_each_are_enough_for_kappa_and_three_drives_for_a_correlation() -> None:
    assert fleiss_kappa([[2, 0], [1, 1]]).kappa == pytest.approx(-1 / 3)
    found = correlate([1, 2, 4], [1, 2, 3])
    assert found is not None
    assert found.count == 3
    assert found.coefficient == pytest.approx(stats.pearsonr([1, 2, 4], [1, 2, 3])[0])
    assert correlate([1, 2, 3], [2, 2, 2]) is None
    with pytest.raises(InputError, match="are known"):
        correlate([1, 2, 3], [1, 2, math.inf])
    with pytest.raises(InputError, match=r"one score for each value, got shapes \(3,\) and \(4,\)"):
        correlate([1, 2, 3], [1, 2, 3, 4])
    with pytest.raises(InputError, match="got shapes"):
        correlate([[1, 2, 3]], [[1, 2, 3]])


def test_a_correlation_is_significant_below_its_level() -> None:
    assert not Correlation(0.5, 0.05, 9).significant()
    assert Correlation(0.5, 0.049, 9).significant()
    assert Correlation(0.5, 0.05, 9).significant(0.1)


def test_a_summary_is_a_row_for_each_metric_the_most_independent_first() -> None:
    table = SectorTable.of({"a": [1.0, 2.0, 4.0, 3.0], "b": [5.0, 5.0, 5.0, 5.0], "c": [4.0, 1.0, 2.0, 2.0]})
    scores = [5.0, 4.0, 2.0, 3.0]
    whole = summarise(table, scores)
    assert list(whole.correlations) == ["all tracks"]
    rows = whole.rows()
    assert [row["metric"] for row in rows][2:] == ["b"]
    assert rows[2] == {"metric": "b"} | dict.fromkeys(
        ["all tracks cc", "all tracks p", "all tracks n", "variance score"]
    )
    (first,) = (row for row in rows if row["metric"] == "a")
    assert first["all tracks cc"] == pytest.approx(-1.0)
    assert (first["all tracks n"], first["variance score"]) == (4, whole.independence.scores["a"])
    ranked = summarise(table, scores, groups=["x", "x", "y", "x"], ranked=["c"])
    assert list(ranked.correlations) == ["x", "all tracks"]
    assert list(ranked.independence.scores) == ["c"]
    assert [row["metric"] for row in ranked.rows()] == ["c", "a", "b"]
    shown = ranked.table("Metrics")
    assert (shown.title, shown.note) == (
        "Metrics",
        "A star marks p < 0.05 of one metric alone, of independent clips; VS is the variance score.",
    )
    assert shown.rows[1][:3] == ("a", "-1.00*", "0.00")
    assert [row[-1] for row in shown.rows] == ["1.0000", "–", "–"]
    with pytest.raises(InputError, match="each of 4 drives, got 4 and 3"):
        summarise(table, scores, groups=["x"] * 3)
