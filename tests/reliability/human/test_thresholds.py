"""Thresholds from counted answers."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from roadworthy.errors import InputError
from roadworthy.reliability.human import RULES, HumanData, SimulatedHumans, estimate_threshold
from roadworthy.reliability.human.answers import Bins, UnchangedAccuracy
from roadworthy.reliability.human.thresholds import estimate_thresholds, write_study
from roadworthy.result_tables import ResultTable
from roadworthy.seeding import rng_for
from roadworthy.visual_change.tolerance import human_study

EDGES = np.round(np.arange(1, 101) / 100, 2)
STEP = float("inf")


def exact(shares: np.ndarray, count: int = 1000, requirement: str = "correctness") -> Bins:
    kept = np.rint(shares * count).astype(int)
    counts = np.full(100, count)
    return Bins("frost", requirement, EDGES, counts, kept, UnchangedAccuracy(0.97))  # type: ignore[arg-type]


def test_without_noise_the_threshold_is_where_the_drop_is_significant() -> None:
    # 960 of 1000 differ from a share of 0.97 (one-sided, 5%) and 961 do not: the binomial distribution.
    assert binom.cdf(960, 1000, 0.97) < 0.05 < binom.cdf(961, 1000, 0.97)
    shares = np.where(EDGES <= 0.6, 0.97, 0.97 - 0.2 * (EDGES - 0.6))
    found = estimate_threshold(exact(shares), rule="careful", samples=0)
    first = EDGES[np.argmax(np.rint(1000 * shares) <= 960)]
    assert found.value == pytest.approx(
        first + 0.01, abs=0.011
    )  # the second in a row, and the spline is smooth
    assert found.found
    assert found.spread is None
    assert found.stable is None


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_sudden_drop_is_found_by_every_rule(name: str) -> None:
    bins = SimulatedHumans(0.62, steepness=STEP, images=4000).answer(seed=4)
    found = estimate_threshold(bins, rule=name, samples=200)
    assert found.interval is not None
    assert found.interval[0] <= 0.62 <= found.interval[1]
    assert found.value == pytest.approx(0.63, abs=0.04)


def test_prediction_is_measured_against_the_least_changed() -> None:
    bins = SimulatedHumans(0.5, originals=0.9, steepness=STEP, images=3000).answer(
        requirement="prediction", seed=2
    )
    found = estimate_threshold(bins, rule="careful", samples=200)
    so_far = np.cumsum(bins.counts)
    last = int(np.argmax(so_far >= 0.05 * so_far[-1]))
    assert found.baseline == pytest.approx(bins.kept[: last + 1].sum() / so_far[last])
    assert found.value == pytest.approx(0.51, abs=0.05)
    half = estimate_threshold(bins, rule="cifar10", samples=0)
    assert half.baseline == pytest.approx(0.9, abs=0.03)


def test_people_who_never_do_worse_have_no_drop() -> None:
    bins = SimulatedHumans(0.9, at_most=0.97).answer(seed=1)
    found = estimate_threshold(bins, rule="careful", samples=200)
    assert not found.found
    assert found.value == bins.edges[-1]


def test_the_spread_is_wider_the_fewer_answers_there_are() -> None:
    widths = []
    for images in (400, 1600, 6400):
        people = SimulatedHumans(0.6, images=images)
        found = estimate_threshold(people.answer(seed=3), rule="careful", samples=300)
        assert found.spread is not None
        widths.append(found.spread[1] - found.spread[0])
    assert widths[0] > widths[2]


def test_answers_that_are_alike_are_noticed() -> None:
    def dispersion(alike: float) -> float:
        people = SimulatedHumans(0.6, alike=alike)
        return float(
            np.mean([estimate_threshold(people.answer(seed=n), samples=0).dispersion for n in range(9)])
        )

    assert dispersion(0.0) == pytest.approx(1.0, abs=0.15)
    # The variance of five answers that correlate by 0.3 is 1 + 4 · 0.3 = 2.2 times that of independent ones.
    assert dispersion(0.3) == pytest.approx(2.2, abs=0.3)


def test_the_same_seed_gives_the_same_and_another_does_not() -> None:
    bins = SimulatedHumans(0.6, alike=0.2).answer(seed=1)
    one, same, other = (estimate_threshold(bins, samples=150, seed=seed) for seed in (1, 1, 2))
    assert (one.spread, one.interval) == (same.spread, same.interval)
    assert one.value == other.value
    assert (one.spread, one.interval) != (other.spread, other.interval)


def test_an_unstable_threshold_says_so() -> None:
    stable = estimate_threshold(
        SimulatedHumans(0.6, steepness=STEP, images=4000).answer(seed=1), rule="careful"
    )
    assert stable.stable
    people = SimulatedHumans(0.3, at_most=0.9, alike=0.3)
    shaky = estimate_threshold(people.answer(seed=1), rule="imagenet")
    assert shaky.stable is False


@pytest.mark.parametrize(
    ("count", "message"), [(3, "at least 4 intervals .* got 3: collect more answers"), (0, "got 0")]
)
def test_too_few_intervals(count: int, message: str) -> None:
    bins = Bins(
        "frost", "correctness", EDGES[:count], np.full(count, 20), np.full(count, 19), UnchangedAccuracy(0.97)
    )
    with pytest.raises(InputError, match=message):
        estimate_threshold(bins)


def test_fewer_answers_than_an_interval_needs() -> None:
    changes = np.repeat(EDGES - 0.005, 10)
    bins = Bins.counted("frost", "correctness", changes, np.ones(1000), UnchangedAccuracy(0.97))
    with pytest.raises(InputError, match="with more than 10 answers each, got 0"):
        estimate_threshold(bins)


def test_no_originals() -> None:
    bins = dataclasses.replace(exact(np.full(100, 0.97)), originals=None)
    with pytest.raises(InputError, match="give the share, such as"):
        estimate_threshold(bins)
    assert estimate_threshold(bins, originals=UnchangedAccuracy(0.97), samples=0).baseline == 0.97
    # t_p is measured against changed images, so it needs none.
    estimate_threshold(dataclasses.replace(bins, requirement="prediction"), samples=0)


def test_a_share_of_a_few_originals_spreads_the_threshold_more_than_an_exact_one() -> None:
    bins = SimulatedHumans(0.5, images=4000).answer(seed=3)

    def spread(count: int | None, samples: int = 100, seed: int = 0) -> tuple[float, float]:
        share = UnchangedAccuracy(0.97, count)
        found = estimate_threshold(bins, originals=share, samples=samples, seed=seed)
        assert found.spread is not None
        return found.spread

    assert np.ptp(spread(40)) > 1.3 * np.ptp(spread(None))
    assert spread(40) == spread(40)
    assert len({spread(None, 4, seed) for seed in range(8)}) > 1


def test_bad_settings() -> None:
    bins = exact(np.full(100, 0.97))
    with pytest.raises(InputError, match="confidence must be between 0 and 1"):
        estimate_threshold(bins, confidence=1.0)
    with pytest.raises(InputError, match="0 or more, got -1"):
        estimate_threshold(bins, samples=-1)


def test_one_slip_is_no_drop_where_nobody_was_wrong_about_a_few_originals() -> None:
    kept = np.full(100, 20)
    kept[[30, 31]] = 19
    bins = Bins("frost", "correctness", EDGES, np.full(100, 20), kept, UnchangedAccuracy(1.0, 60))
    found = estimate_threshold(bins, samples=100)
    assert found.baseline == pytest.approx(1 - 0.5 / 60)
    assert not found.found


def recovered(
    *, simulations: int, rule: str, steepness: float = 1.0, alike: float, samples: int
) -> tuple[int, int]:
    """Return how many intervals, and how many spreads, hold the known threshold of simulated people."""
    covered = in_spread = 0
    for number in range(simulations):
        known = round(float(rng_for(0, "known threshold", number).uniform(0.3, 0.85)), 2)
        bins = SimulatedHumans(known, steepness=steepness, alike=alike).answer(seed=number)
        found = estimate_threshold(bins, rule=rule, samples=samples, seed=number)
        assert found.interval is not None
        assert found.spread is not None
        covered += found.interval[0] - 1e-9 <= known <= found.interval[1] + 1e-9
        in_spread += found.spread[0] - 1e-9 <= known <= found.spread[1] + 1e-9
    return covered, in_spread


@pytest.mark.parametrize(("rule", "alike"), [("imagenet", 0.0), ("careful", 0.25)])
def test_known_thresholds_are_recovered(rule: str, alike: float) -> None:
    covered, _ = recovered(simulations=12, rule=rule, alike=alike, samples=150)
    assert covered >= 11


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "steepness", "alike"),
    [("imagenet", 1.0, 0.0), ("imagenet", STEP, 0.0), ("careful", 2.0, 0.25), ("careful", STEP, 0.25)],
)
def test_known_thresholds_are_recovered_in_nine_of_ten_experiments(
    rule: str, steepness: float, alike: float
) -> None:
    covered, in_spread = recovered(simulations=200, rule=rule, steepness=steepness, alike=alike, samples=200)
    assert covered >= 180
    # The plain bootstrap would not do: it repeats the lateness of the threshold.
    assert in_spread < covered


def test_bad_people() -> None:
    with pytest.raises(InputError, match="from 0 to below 1"):
        SimulatedHumans(1.0)
    with pytest.raises(InputError, match="must not grow"):
        SimulatedHumans(0.5, originals=0.4)
    with pytest.raises(InputError, match="alike"):
        SimulatedHumans(0.5, alike=1.0)


def test_the_thresholds_of_all_transformations_at_once() -> None:
    drop, flat = SimulatedHumans(0.62, steepness=STEP, images=2000).answer(seed=4), exact(np.full(100, 0.97))
    drop, flat = (
        dataclasses.replace(one, transformation=name) for one, name in ((drop, "rain"), (flat, "jpeg"))
    )
    few = Bins("fog", "correctness", EDGES[:2], np.ones(2, int), np.ones(2, int), UnchangedAccuracy(0.97))
    data = HumanData((drop, flat, few), without=("snow: too few answers",))
    study = estimate_thresholds(data, rule="careful", samples=0)
    alone = [estimate_threshold(one, rule="careful", samples=0).value for one in (drop, flat)]
    assert [one.value for one in study.thresholds] == alone
    assert study.document()["not_counted"] == ["snow: too few answers", *study.troubles]
    assert study.troubles[0].startswith("fog, t_c: ")
    table, rule, *left_out = study.lines()
    assert isinstance(table, ResultTable)
    assert [(row[0], row[-1]) for row in table.rows] == [("rain", ""), ("jpeg", "no drop found")]
    assert rule == f"Rule careful: {RULES['careful'].summary}."
    assert left_out == ["not counted: snow: too few answers", f"not counted: {study.troubles[0]}"]


def test_thresholds_become_a_study_of_ones_own(tmp_path: Path) -> None:
    people = SimulatedHumans(0.6, images=2000)
    both = [
        estimate_threshold(people.answer(requirement=kind, seed=1), samples=samples)  # type: ignore[arg-type]
        for kind, samples in (("correctness", 20), ("prediction", 0))
    ]
    name = both[0].bins.transformation
    alone = dataclasses.replace(both[0], bins=dataclasses.replace(both[0].bins, transformation="rain"))
    assert write_study([*both, alone], tmp_path / "mine.yaml") == ["rain"]
    study = human_study(str(tmp_path / "mine.yaml"))
    written = (tmp_path / "mine.yaml").read_text().splitlines()
    assert written[0] == "mine:"
    assert [line.strip().partition(":")[0] for line in written if line[:3].count(" ") == 2] == [
        "source", "originals", "transformations",
    ]  # fmt: skip
    assert study.originals == both[0].baseline
    (found,) = study.tolerances.values()
    assert (found.transformation, found.correctness, found.prediction) == (name, both[0].value, both[1].value)
    assert found.note.startswith("t_c spreads from ")
    assert "t_p" not in found.note
    with pytest.raises(InputError, match=r"must name a file that ends in .yaml, got .*mine.json"):
        write_study(both, tmp_path / "mine.json")
    with pytest.raises(InputError, match="no transformation has both t_c and t_p"):
        write_study([alone], tmp_path / "mine.yml")
