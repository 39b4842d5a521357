"""Bounds, intervals and tests over clusters: closed forms, brute force, scipy, simulated truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.simulating import LARGEST, STATEMENTS, drawn_weighted, simulate
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import binomtest, norm

from roadworthy.errors import InputError
from roadworthy.selftest.simulating import LEAST, KnownClusters
from roadworthy.statistics import (
    ClusteredRate,
    ClusterTally,
    SequentialRate,
    clopper_pearson_upper,
    clusters_needed,
    mean_bounds,
    median_interval,
    student_interval,
)
from roadworthy.statistics.bounds import paired_difference

COUNTS = st.integers(0, 300)
CLUSTERS = st.lists(
    st.integers(1, 12).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size))),
    min_size=2,
    max_size=15,
)


def brute_upper(sizes: list[int], failing: list[int], confidence: float) -> float:
    """Return the bound by drawing the weights of clusters, and of one that fails wholly."""
    weights = np.random.default_rng(7).exponential(size=(40_000, len(sizes) + 1))
    size, failed = np.array([*sizes, max(sizes)]), np.array([*failing, max(sizes)])
    return float(np.quantile((weights @ failed) / (weights @ size), confidence))


def share_below(values: list[float]) -> float:
    """Return the chance that a mean with Dirichlet weights of 1 is at most 0: the closed form for any values.

    Each is weighed by divided differences (Curry and Schoenberg, J. d'Analyse Math. 17, 1966: a B-spline).
    """
    above = 0.0
    for one in values:
        rest = [other for other in values if other != one]
        above += max(0.0, one) ** len(rest) / math.prod(one - other for other in rest)
    return 1 - above


SMALL = [
    ([5, 5], [1, 3]),
    ([10, 10, 10], [1, 4, 7]),
    ([7, 20, 12], [1, 2, 9]),
    ([30, 11, 13, 4], [1, 5, 3, 3]),
]


@pytest.mark.parametrize(("sizes", "failing"), SMALL)
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_of_a_few_unlike_clusters_bounds_are_those_of_the_closed_form(
    sizes: list[int], failing: list[int], confidence: float
) -> None:
    """A bound is wide, so simulations do not notice an error of a percent in it; this notices any."""
    largest = max(sizes)

    def known(failing: list[int], confidence: float) -> float:
        def below(at: float) -> float:
            clusters = zip([*failing, largest], [*sizes, largest], strict=True)
            return share_below([failed - at * size for failed, size in clusters])

        return float(brentq(lambda at: below(at) - confidence, 0, 1, xtol=1e-12))

    rate, passing = ClusteredRate.of(sizes, failing), [n - k for n, k in zip(sizes, failing, strict=True)]
    lower, upper = 1 - known(passing, confidence), known(failing, confidence)
    assert (rate.lower(confidence), rate.upper(confidence)) == pytest.approx((lower, upper), abs=1e-8)
    means = [k / n for n, k in zip(sizes, failing, strict=True)]
    bounds = mean_bounds(means, weights=sizes, least=0, most=1, confidence=confidence)
    assert bounds == pytest.approx((lower, upper), abs=1e-8)
    # Two tests share what a two-sided interval leaves open: each of its ends has a quarter of it. A
    # difference can be -1 as well: it is a rate on twice the scale, as the simulations have it.
    found = paired_difference(sizes, failing, [1] * len(sizes), confidence=confidence)
    side = 1 - (1 - confidence) / 4
    assert found.interval.upper == pytest.approx(known(failing, side), abs=1e-8)
    scaled = ClusteredRate.of([2 * n for n in sizes], [n + k for n, k in zip(sizes, failing, strict=True)])
    assert found.interval == pytest.approx(
        [2 * end - 1 for end in (scaled.lower(side), scaled.upper(side))], abs=1e-8
    )
    bounds = mean_bounds(means, weights=sizes, least=-1, most=1, confidence=confidence)
    ends = [2 * end - 1 for end in (scaled.lower(confidence), scaled.upper(confidence))]
    assert bounds == pytest.approx(ends, abs=1e-8)


@pytest.mark.parametrize("number", [1, 7, 40])
def test_early_bounds_are_where_the_bets_have_grown_twentyfold(number: int) -> None:
    good, bad = SequentialRate(0.1), SequentialRate(0.1)
    for _ in range(number):
        good.add(cases=20, failures=0)
        bad.add(cases=20, failures=20)
    stakes = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99])
    # Nothing fails: a fair bet at a rate of r wins r / (1 - r) of what is staked; and the reverse.
    for bound in (good.upper(), 1 - bad.lower()):
        if number > 1:
            assert np.mean((1 + stakes * bound / (1 - bound)) ** number) == pytest.approx(20, rel=1e-5)
    if number == 40:
        assert good.upper() > 1 - 0.05 ** (1 / 40)


@given(CLUSTERS)
def test_the_bound_of_a_rate_is_the_quantile_of_drawn_weights(clusters: list[tuple[int, int]]) -> None:
    sizes, failing = [one[0] for one in clusters], [one[1] for one in clusters]
    rate = ClusteredRate.of(sizes, failing)
    assert rate.upper(0.9) == pytest.approx(brute_upper(sizes, failing, 0.9), abs=0.02)
    passing = [size - failed for size, failed in clusters]
    assert rate.lower(0.9) == pytest.approx(1 - brute_upper(sizes, passing, 0.9), abs=0.02)
    assert rate.lower() <= rate.rate <= rate.upper()
    assert rate.shows_at_most(min(1.0, rate.upper() + 1e-6))
    assert not rate.shows_at_most(rate.upper() - 1e-6)


@pytest.mark.parametrize(("failures", "cases"), [(0, 1), (0, 30), (4, 20), (7, 7), (15, 300)])
def test_where_every_case_is_a_cluster_it_is_that_of_clopper_and_pearson(failures: int, cases: int) -> None:
    singles = ClusteredRate.of([1] * cases, [1] * failures + [0] * (cases - failures))
    # The same numbers as clusters of two cases that always go together: twice the cases say nothing more.
    pairs = ClusteredRate.of([2] * cases, [2] * failures + [0] * (cases - failures))
    for rate in (singles, pairs):
        assert rate.upper() == pytest.approx(clopper_pearson_upper(failures, cases), abs=2e-9)
        known = binomtest(failures, cases).proportion_ci(0.95, method="exact")
        assert rate.interval() == pytest.approx((known.low, known.high), abs=2e-9)
    assert singles.effective == pairs.effective == pytest.approx(cases)
    assert singles.correlation is None


@pytest.mark.parametrize("confidence", [0.05, 0.5, 0.999])
def test_the_bound_of_many_clusters_of_many_sizes_is_that_of_the_normal_distribution(
    confidence: float,
) -> None:
    rng = np.random.default_rng(4)
    sizes = rng.permutation(np.arange(1, 20_001))
    failing = rng.binomial(sizes, rng.beta(0.5, 1.5, len(sizes)))
    rate = ClusteredRate.of(sizes, failing)
    off = failing - rate.rate * sizes
    deviation = math.sqrt(float(off @ off)) / sizes.sum()
    expected = rate.rate + norm.ppf(confidence) * deviation
    # The cluster that is added moves it by a little, and so does how skewed rates are.
    assert rate.upper(confidence) == pytest.approx(expected, abs=0.1 * deviation)


@given(CLUSTERS, st.floats(0.01, 0.99))
def test_the_share_below_a_rate_has_all_its_digits(clusters: list[tuple[int, int]], rate: float) -> None:
    """Against the characteristic function, inverted along the real line (Gil-Pelaez, Biometrika 38, 1951)."""
    sizes, failing = (np.array(column) for column in zip(*clusters, strict=True))
    values = np.append(failing - rate * sizes, (1 - rate) * sizes.max()) / sizes.max()

    def integrand(at: float) -> float:
        angle = float(np.arctan(at * values).sum())
        return math.exp(-0.5 * float(np.log1p((at * values) ** 2).sum())) * math.sin(angle) / at

    found = quad(integrand, 0, np.inf, limit=2000, epsabs=1e-10)[0]
    assert ClusteredRate.of(sizes, failing)._below(rate) == pytest.approx(0.5 - found / math.pi, abs=1e-8)


def test_where_nothing_fails_it_is_exact_for_any_likeness_of_a_cluster() -> None:
    for clusters in (5, 60, 1000):
        bound = ClusteredRate.of([30] * clusters, [0] * clusters).upper()
        assert bound == pytest.approx(1 - 0.05 ** (1 / clusters), abs=2e-9)


def test_correlation_and_effective_number_by_hand() -> None:
    # Two clusters of two: between 0.5 with one degree, within 0; so all cases of a cluster are alike.
    alike = ClusteredRate.of([2, 2], [2, 0])
    assert (alike.correlation, alike.effective) == (1.0, 2.0)
    # Failures spread evenly: less alike than chance, which counts as not at all.
    spread = ClusteredRate.of([2, 2], [1, 1])
    assert (spread.correlation, spread.effective) == (0.0, 4.0)
    rng = np.random.default_rng(3)
    chances = rng.beta(0.3 * 4, 0.7 * 4, 20_000)  # a correlation of 1 / (1 + 4)
    drawn = ClusteredRate.of(np.full(20_000, 10), rng.binomial(10, chances))
    assert drawn.correlation == pytest.approx(0.2, abs=0.01)
    assert drawn.effective == pytest.approx(200_000 / (1 + 9 * 0.2), rel=0.05)


def test_four_clusters_are_few_but_four_cases_are_just_few_cases() -> None:
    assert ClusteredRate.of([30] * 4, [0] * 4).few
    assert not ClusteredRate.of([30] * 5, [0] * 5).few
    assert not ClusteredRate.of([1] * 4, [0] * 4).few


@pytest.mark.parametrize(("sizes", "failing"), [([], []), ([0], [0]), ([3], [4]), ([3], [-1])])
def test_what_is_no_rate_is_refused(sizes: list[int], failing: list[int]) -> None:
    with pytest.raises(InputError, match="clusters of at least one case"):
        ClusteredRate.of(sizes, failing)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1))
def test_a_tally_counts_clusters_in_any_order(cases: list[tuple[str, bool]]) -> None:
    whole, first, second = ClusterTally(), ClusterTally(), ClusterTally()
    for place, (cluster, failed) in enumerate(cases):
        whole.add(cluster, failed=failed)
        (first if place % 2 else second).add(cluster, failed=failed)
    first.merge(second)
    names = sorted({cluster for cluster, _ in cases})
    sizes = [sum(cluster == name for cluster, _ in cases) for name in names]
    failing = [sum(failed for cluster, failed in cases if cluster == name) for name in names]
    expected = ClusteredRate.of(sizes, failing)
    for tally in (whole, first):
        found = tally.rate()
        assert (found.cases, found.clusters, found.failures) == (
            expected.cases, expected.clusters, expected.failures,
        )  # fmt: skip
        assert found.upper() == expected.upper()


@settings(max_examples=20)
@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.booleans())), min_size=1, max_size=3))
def test_clusters_that_do_not_fit_into_memory_are_counted_alike(parts: list[list[tuple[int, bool]]]) -> None:
    def tallied() -> ClusterTally:
        whole = ClusterTally()
        for part in parts:
            one = ClusterTally()
            for number, failed in part:
                one.add(f"drive {number}", failed=failed)
            whole.merge(one)
        whole.add("drive 3", failed=True)
        return whole

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("roadworthy.statistics.bounds._IN_MEMORY", 2)
        filed = tallied()
    found = [
        (one.sizes.tolist(), one.failing.tolist(), one.counts.tolist())
        for one in (filed.rate(), filed.rate(), tallied().rate())
    ]
    assert found[0] == found[1] == found[2]
    filed.add("drive 3", failed=False)
    assert filed.rate().cases == sum(map(len, parts)) + 2


@given(COUNTS, COUNTS, COUNTS)
def test_of_single_cases_the_test_is_that_of_mcnemar(broken: int, fixed: int, same: int) -> None:
    if broken + fixed + same == 0:
        return
    found = paired_difference([1, 1, 1], [1, -1, 0], [broken, fixed, same])
    expected = binomtest(broken, broken + fixed, 0.5).pvalue if broken + fixed else 1.0
    assert found.p == pytest.approx(expected, abs=1e-6)
    assert (found.p < 0.05) == (found.interval.lower > 0 or found.interval.upper < 0)
    assert found.interval.lower <= found.difference <= found.interval.upper


def test_of_many_cases_the_interval_is_that_of_the_closed_form() -> None:
    n, broken, fixed = 20_000, 1600, 400
    found = paired_difference([1, 1, 1], [-1, 0, 1], [fixed, n - broken - fixed, broken])
    mean = (broken - fixed) / n
    deviation = math.sqrt(((broken + fixed) / n - mean**2) / n)
    assert found.interval == pytest.approx(
        (mean - 1.96 * deviation, mean + 1.96 * deviation), abs=deviation / 10
    )


def test_cases_that_go_together_count_once() -> None:
    together = paired_difference([8, 8], [0, 8], [54, 6])
    alone = paired_difference([1, 1], [0, 1], [54, 6])
    # Clusters are tested in two ways, which share what may go wrong.
    assert together.p == pytest.approx(2 * alone.p)
    wider = paired_difference([1, 1], [0, 1], [54, 6], confidence=0.975)
    assert together.interval == pytest.approx(wider.interval, abs=1e-7)


@pytest.mark.parametrize(("worse", "better", "same"), [(50, 0, 0), (0, 9, 3), (25, 25, 0), (40, 12, 8)])
def test_a_small_change_in_most_drives_is_found_by_the_sign_test(worse: int, better: int, same: int) -> None:
    found = paired_difference([30, 30, 30], [1, -1, 0], [worse, better, same])
    # It shares the 5% with the test of the rates, which so small a change does not move.
    assert found.p == pytest.approx(min(1.0, 2 * binomtest(worse, worse + better).pvalue))
    assert found.interval.lower < 0 < found.interval.upper


def test_an_interval_knows_that_few_drives_may_outweigh_many() -> None:
    """One case more in nine drives of ten and nine fewer in the tenth: no difference, whatever most say."""
    rng = np.random.default_rng(2)
    for _ in range(60):
        changes = np.where(rng.random(10) < 0.1, -9, 1)
        lower, upper = paired_difference([30] * 10, changes, [1] * 10).interval
        assert lower <= 0 <= upper


def test_where_nothing_changed_there_is_no_certainty() -> None:
    found = paired_difference([1], [0], [100])
    edge = 1 - 0.025 ** (1 / 100)
    assert (found.p, *found.interval) == pytest.approx((1.0, -edge, edge))
    assert paired_difference([2], [2], [9]).interval.upper == 1.0
    assert paired_difference([2], [-2], [9]).interval.lower == -1.0
    with pytest.raises(InputError, match="at least one case"):
        paired_difference([], [], [])


def test_a_mean_of_ones_and_zeros_has_the_bounds_of_a_rate() -> None:
    low, high = mean_bounds([1.0] * 4 + [0.0] * 16, least=0, most=1)
    assert (low, high) == pytest.approx(
        (1 - clopper_pearson_upper(16, 20), clopper_pearson_upper(4, 20)), abs=1e-7
    )
    assert mean_bounds([1.0, 1.0], least=0, most=1).upper == 1.0
    with pytest.raises(InputError, match="values from 0 to 1, got"):
        mean_bounds([1.5], least=0, most=1)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_the_interval_of_many_values_is_as_wide_as_the_normal_distribution_says(confidence: float) -> None:
    values = np.random.default_rng(1).normal(10, 2, 2000)
    low, high = student_interval(values, confidence=confidence)
    half = norm.ppf((1 + confidence) / 2) * values.std() / np.sqrt(2000)
    assert ((low + high) / 2, (high - low) / 2) == pytest.approx((values.mean(), half), rel=0.01)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_median_interval_holds_the_median_of_numpy(values: list[float]) -> None:
    middle, interval = median_interval(values)
    assert middle == pytest.approx(np.median(values))
    assert (interval is None) == (len(values) < 6)
    if interval is not None:
        assert interval[0] <= middle <= interval[1]
        assert set(interval) <= {float(one) for one in values}


def test_median_interval_of_infinite_values() -> None:
    assert median_interval([-math.inf, math.inf]) == (0.0, None)
    middle, interval = median_interval([-math.inf] * 10)
    assert (middle, interval) == (-math.inf, (-math.inf, -math.inf))


FEW_TRUTHS = (
    KnownClusters(5, 0.3, 0.03),
    KnownClusters(10, 0.0, 0.17),
    KnownClusters(20, 0.3, 0.005),
    KnownClusters(60, 0.1, 0.17),
)


# Those of a distance are drawn in tests/reliability/test_bounds.py, and here by the slow test below.
@pytest.mark.parametrize("statement", [one for one in STATEMENTS if "distance" not in one])
def test_what_is_stated_with_95_percent_confidence_is_true(statement: str) -> None:
    for one in simulate(statement, 50, FEW_TRUTHS):
        # Of 50 repetitions, three standard deviations less than what is stated.
        assert one.true >= LEAST - 0.07, one


def test_a_weighted_rate_has_the_bounds_of_its_mean() -> None:
    truth, rng = KnownClusters(300, 0.1, 0.17), np.random.default_rng(5)
    sizes, failing = drawn_weighted(truth, rng)
    found, means = ClusteredRate.of(sizes, failing), LARGEST * failing / sizes
    assert LARGEST * found.rate == pytest.approx(truth.rate, abs=0.03)
    low, high = mean_bounds(means, weights=sizes, least=0, most=LARGEST)
    assert (LARGEST * found.lower(), LARGEST * found.upper()) == pytest.approx((low, high), abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_is_stated_is_true_whatever_is(statement: str) -> None:
    found = list(simulate(statement, 100 if "distance" in statement else 400))
    assert [one for one in found if one.true < LEAST] == []


def test_taking_frames_of_a_drive_for_independent_is_what_was_wrong() -> None:
    rng, covered = np.random.default_rng(0), 0
    for _ in range(200):
        sizes, failing = KnownClusters(20, 0.3, 0.17).drawn(rng)
        covered += clopper_pearson_upper(int(failing.sum()), int(sizes.sum())) >= 0.17
    assert covered < 0.8 * 200


def test_a_rate_may_be_looked_at_after_every_cluster() -> None:
    rng, wrong, decided = np.random.default_rng(1), 0, []
    for _ in range(100):
        at_limit, good = SequentialRate(0.1), SequentialRate(0.1)
        seen = 0
        while not good.shows_at_most and seen < 400:
            seen += 1
            good.add(cases=10, failures=int(rng.binomial(10, 0.02)))
        decided.append(seen)
        for _ in range(200):
            at_limit.add(cases=10, failures=int(rng.binomial(10, 0.1)))
            if at_limit.shows_at_most:
                wrong += 1
                break
    assert wrong <= 9
    assert np.median(decided) < 60, "and it is decided early where the rate is far from the limit"


def test_the_bounds_of_every_look_fit_its_decision() -> None:
    watched = SequentialRate(0.1)
    assert (watched.lower(), watched.upper()) == (0.0, 1.0)
    for _ in range(60):
        watched.add(cases=10, failures=0)
        assert watched.shows_at_most == (watched.upper() <= 0.1)
    failing = SequentialRate(0.1)
    for _ in range(10):
        failing.add(cases=10, failures=9)
        assert failing.shows_at_least == (failing.lower() >= 0.1)
    assert failing.shows_at_least
    assert watched.shows_at_most


@pytest.mark.parametrize(
    ("rate", "confidence", "needed"), [(0.05, 0.95, 59), (0.01, 0.95, 299), (0.1, 0.99, 44)]
)
def test_without_failures_as_many_are_needed_as_the_closed_form_says(
    rate: float, confidence: float, needed: int
) -> None:
    assert clusters_needed(rate, confidence=confidence) == needed
    assert (
        clopper_pearson_upper(0, needed, confidence)
        <= rate
        < clopper_pearson_upper(0, needed - 1, confidence)
    )


def test_a_plan_is_kept_by_what_is_drawn() -> None:
    needed = clusters_needed(0.1, expected=0.03, size=20, correlation=0.2)
    assert needed > clusters_needed(0.1, expected=0.03, size=20, correlation=0.0)
    rng, passed = np.random.default_rng(9), 0
    for _ in range(200):
        chances = rng.beta(0.03 * 4, 0.97 * 4, needed)
        passed += ClusteredRate.of(np.full(needed, 20), rng.binomial(20, chances)).shows_at_most(0.1)
    assert passed / 200 == pytest.approx(0.8, abs=0.1)
    with pytest.raises(InputError, match="must be below the accepted one"):
        clusters_needed(0.05, expected=0.05)


@pytest.mark.parametrize(("expected", "size"), [(0.0499, 1), (0.049, 1), (0.0495, 30)])
def test_what_takes_too_many_clusters_is_refused_at_once(
    expected: float, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(*_: object) -> None:
        pytest.fail("it needs no draws to be refused")

    monkeypatch.setattr(np.random, "default_rng", draw)
    with pytest.raises(
        InputError, match=r"more than 100,000 clusters are needed: 0\.04\d+ is too near to 0\.05"
    ):
        clusters_needed(0.05, expected=expected, size=size, correlation=0.9)


def test_what_comes_after_a_merge_is_no_part_of_the_last_cluster() -> None:
    one, other = ClusterTally(), ClusterTally()
    one.add("a", failed=True)
    other.add("b", failed=False)
    one.merge(other)
    one.add("a", failed=True)
    found = one.rate()
    assert sorted(zip(found.sizes.tolist(), found.failing.tolist(), strict=True)) == [(1, 0), (2, 2)]
