"""Tries that are drawn from the operating domain: their rate is that of the domain, however often."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.coverage.search.searching import Drive, requirement, searched, tried

from roadworthy.cases import Acceptance, Case, Decision, OutcomeStatus, RecordDrive, Requirement, Verdict
from roadworthy.coverage.method import CoverageMethod
from roadworthy.coverage.search.settings import SearchSettings
from roadworthy.coverage.search.strategies import Sampled
from roadworthy.errors import InputError
from roadworthy.statistics import mean_bounds

TRANSFORMS = ("rotation", "brightness", "translation")
UNEVEN = (0.6, 0.3, 0.1)


def sampled(seed: int, seeds: int = 4, shares: tuple[float, ...] = UNEVEN) -> Sampled:
    strategy = SearchSettings(search="sampled", transforms=TRANSFORMS, shares=shares).make(
        seeds, np.random.default_rng(seed)
    )
    assert isinstance(strategy, Sampled)
    return strategy


def test_the_weighted_rate_is_that_of_the_domain_whatever_the_shares() -> None:
    """A model that fails on all translations, and on the strong half of rotations of the first original."""
    space = SearchSettings(transforms=TRANSFORMS).space()
    half = len(space.sets[0]) // 2

    def fails(place: int, transformation: int, parameter: int) -> bool:
        return transformation == 2 or (transformation == 0 and place == 0 and parameter >= half)

    domain = [
        np.mean([fails(place, kind, one) for one in range(len(space.sets[kind]))])
        for place in range(4)
        for kind in range(3)
    ]
    truth = float(np.mean(domain))
    plain, weighed = [], []
    for seed in range(200):
        strategy, losses, failed = sampled(seed), [], []
        for _ in range(40):
            (trial,) = strategy.propose(1)
            pick = trial.picks[0]
            failed.append(fails(trial.image.seed, pick.transformation, pick.parameter))
            losses.append(strategy.weight(trial) * failed[-1])
        plain.append(np.mean(failed))
        weighed.append(np.mean(losses))
    deviation = float(np.std(weighed)) / np.sqrt(200)
    assert np.mean(weighed) == pytest.approx(truth, abs=3.5 * deviation)
    assert abs(np.mean(plain) - truth) > 10 * deviation, "what is drawn more often is no rate"


def test_originals_take_turns_and_transformations_their_shares() -> None:
    strategy = sampled(3, seeds=5)
    trials = strategy.propose(2000)
    places = [trial.image.seed for trial in trials]
    for first in range(0, 2000, 5):
        assert sorted(places[first : first + 5]) == [0, 1, 2, 3, 4]
    drawn = Counter(trial.picks[0].transformation for trial in trials)
    assert [drawn[kind] / 2000 for kind in range(3)] == pytest.approx(UNEVEN, abs=0.04)
    assert {len(trial.picks) for trial in trials} == {1}
    assert np.mean([strategy.weight(trial) for trial in trials]) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.5, 0.5, 0.0), (0.5, 0.3, 0.3), (1.2, -0.1, -0.1)])
def test_shares_are_one_for_each_transformation(shares: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="shares must be 3 numbers above 0 that add up to 1"):
        SearchSettings(search="sampled", transforms=TRANSFORMS, shares=shares)


def verdicts(failing: list[int], weight: float = 1.0, each: int = 10) -> list[Verdict]:
    found = []
    for drive, failed in enumerate(failing):
        for place in range(each):
            case = Case(f"try {drive}/{place}", "C1", (RecordDrive("-"),), cluster=f"drive {drive}")
            margin = -1.0 if place < failed else 1.0
            found.append(
                Verdict(
                    case.id,
                    "C1",
                    Verdict.from_margin(case, margin).status,
                    margin,
                    measures={"weight": weight},
                    cluster=case.cluster,
                )
            )
    return found


def of_sample(accepted: float = 0.0, **options: Any) -> Requirement:
    parameters = {"search": "sampled", "transforms": list(TRANSFORMS), "shares": list(UNEVEN)}
    return Requirement("C1", "It holds", "coverage", parameters, acceptance=Acceptance(accepted, **options))


def test_bounds_are_those_of_a_weighted_mean_over_clusters() -> None:
    failing = [4, 0, 1, 0, 0, 2, 0, 0]
    outcome = CoverageMethod().conclude(of_sample(0.3), verdicts(failing, 1.5))
    assert outcome.rate == pytest.approx(1.5 * sum(failing) / 80)
    # The rarest transformation is drawn in a tenth of the tries, of three: a try can count 10/3.
    low, high = mean_bounds([0.15 * one for one in failing], least=0, most=10 / 3)
    assert (outcome.measures["lower_bound"], outcome.measures["upper_bound"]) == pytest.approx(
        (max(0, low), min(1, high))
    )
    assert outcome.measures["clusters"] == 8
    assert "of the operating domain fails" in outcome.summary
    assert "80 tries on 8 clusters" in outcome.summary


def test_each_bound_decides() -> None:
    def status(accepted: float, failing: list[int], **options: Any) -> OutcomeStatus:
        return CoverageMethod().conclude(of_sample(accepted, **options), verdicts(failing)).status

    measured = CoverageMethod().conclude(of_sample(0.5), verdicts([3] * 60)).measures
    low, high = float(str(measured["lower_bound"])), float(str(measured["upper_bound"]))
    assert 0 < low < 0.3 < high < 1
    assert status(high, [3] * 60) is OutcomeStatus.PASSED
    assert status(high - 1e-6, [3] * 60) is OutcomeStatus.INCONCLUSIVE
    assert status(low, [3] * 60) is OutcomeStatus.INCONCLUSIVE
    assert status(low - 1e-6, [3] * 60) is OutcomeStatus.VIOLATED
    assert status(0.29, [3] * 60, decide=Decision.ESTIMATE) is OutcomeStatus.VIOLATED
    assert status(0.3, [3] * 60, decide=Decision.ESTIMATE) is OutcomeStatus.INCONCLUSIVE
    assert status(0.0, [0] * 60) is OutcomeStatus.PASSED
    assert status(0.0, [1] + [0] * 59) is OutcomeStatus.VIOLATED
    assert status(0.99, [0] * 4) is OutcomeStatus.INCONCLUSIVE, "four clusters are too few to pass"
    assert status(0.01, [10] * 4) is OutcomeStatus.INCONCLUSIVE, "and too few to violate"
    assert status(0.01, [10] * 5) is OutcomeStatus.VIOLATED
    assert status(0.01, [10] * 4, decide=Decision.ESTIMATE) is OutcomeStatus.VIOLATED
    few = CoverageMethod().conclude(of_sample(0.01), verdicts([10] * 4)).summary
    assert few.endswith("4 clusters (drives, laps, scenes) say too little about a rate: 5 are needed")


def test_unequal_weights_cost_cases_as_kish_says() -> None:
    def effective(*weights: float) -> float:
        drawn = [
            replace(one, measures={"weight": weights[place % len(weights)]}, cluster=str(place))
            for place, one in enumerate(verdicts([1] * 8))
        ]
        return float(str(CoverageMethod().conclude(of_sample(0.5), drawn).measures["effective_cases"]))

    assert effective(1.0) == 80.0
    assert effective(0.5, 1.5) == 64.0  # 80 (0.5 + 1.5)² / (2 (0.5² + 1.5²))


def test_a_search_tells_no_rate(tmp_path: Path) -> None:
    outcome = searched(tmp_path, tries=12).outcome
    failing = sum(row["status"] == "violated" for row in tried(tmp_path))
    assert outcome.rate is None
    told = f"{failing} of 12 tries fail" if failing else "none of 12 tries fails"
    assert f"{told}; what a search finds is no rate" in outcome.summary
    assert not {"upper_bound", "effective_cases", "confidence"} & outcome.measures.keys()


def test_a_sample_runs_and_stores_its_weights(tmp_path: Path) -> None:
    outcome = searched(tmp_path, Drive(6), search="sampled", shares=list(UNEVEN), tries=48).outcome
    rows = tried(tmp_path)
    assert len(rows) == 48
    kinds = [str(row["param.transform"]).partition("(")[0] for row in rows]
    known = dict(zip(TRANSFORMS, UNEVEN, strict=True))
    for row, kind in zip(rows, kinds, strict=True):
        assert row["param.weight"] == row["measure.weight"] == pytest.approx(1 / 3 / known[kind])
        assert row["param.depth"] == 1
    assert set(Counter(row["cluster"] for row in rows).values()) == {8}
    expected = np.mean([row["measure.weight"] * (row["status"] == "violated") for row in rows])
    assert outcome.rate == pytest.approx(expected)
    again = tmp_path / "again"
    searched(again, Drive(6), search="sampled", shares=list(UNEVEN), tries=20)
    searched(again, Drive(6), search="sampled", shares=list(UNEVEN), tries=48, resume=True)
    assert tried(again) == rows


def test_what_is_asked_is_said() -> None:
    asked = SearchSettings.from_parameters(requirement(search="sampled").parameters)
    assert "changes drawn from the operating domain" in asked.text
