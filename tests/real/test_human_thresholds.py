"""Thresholds from the answers of people that Hu et al. published, against their Table 1."""

import dataclasses
from pathlib import Path

import pytest

from roadworthy.papers.reliability import study_bins
from roadworthy.reliability.human import RULES, Threshold, estimate_threshold
from roadworthy.reliability.human.answers import read_human
from roadworthy.visual_change.tolerance import human_studies

NAMES = sorted(human_studies()["imagenet"].tolerances)
# What the published answers give where it is not what Table 1 says.
OTHERS = {"rgb-shift": 0.41, "frost": 0.88, "gaussian-noise": 0.96, "colour-jitter": 0.77}


@pytest.fixture(scope="module")
def found(real_data: Path) -> dict[tuple[str, str], Threshold]:
    data = read_human(real_data / "human" / "imagenet")
    assert len(data.bins) == 16
    return {(one.transformation, one.requirement): estimate_threshold(one, samples=400) for one in data.bins}


@pytest.mark.parametrize("name", NAMES)
def test_all_eight_t_c_of_table_1(found: dict[tuple[str, str], Threshold], name: str) -> None:
    one = found[name, "correctness"]
    assert one.bins.published is not None
    assert one.value == pytest.approx(one.bins.published)
    assert one.baseline == 0.97
    # For two of them, Table 1 has the end of what was shown: there are no two drops in a row.
    assert one.found == (name not in ("rgb-shift", "jpeg"))


@pytest.mark.parametrize("name", NAMES)
def test_t_p_and_where_it_differs_from_table_1(found: dict[tuple[str, str], Threshold], name: str) -> None:
    one = found[name, "prediction"]
    assert one.bins.published is not None
    assert one.value == pytest.approx(OTHERS.get(name, one.bins.published))
    assert (name in OTHERS) == (abs(one.value - one.bins.published) > 0.005)


def test_intervals_hold_the_thresholds(found: dict[tuple[str, str], Threshold]) -> None:
    for one in found.values():
        assert one.interval is not None
        assert one.interval[0] <= one.value <= one.interval[1]


def test_colour_jitter_is_unstable_and_gaussian_noise_is_not(found: dict[tuple[str, str], Threshold]) -> None:
    jitter, noise = found["colour-jitter", "correctness"], found["gaussian-noise", "correctness"]
    assert jitter.fit.degrees[0] > 20  # the spline follows single intervals
    assert jitter.stable is False
    assert jitter.spread is not None
    assert jitter.spread[0] < 0.5 < 0.7 < jitter.spread[1]
    assert noise.stable
    values = study_bins(jitter.bins, pairs=10).values
    assert min(values) < 0.5
    assert max(values) >= 0.7


def test_answers_to_one_image_are_not_independent(found: dict[tuple[str, str], Threshold]) -> None:
    dispersed = [one.dispersion for one in found.values() if one.bins.requirement == "correctness"]
    assert sum(one > 1.4 for one in dispersed) >= 5


def test_a_one_sided_test_gives_the_same_t_c(found: dict[tuple[str, str], Threshold]) -> None:
    one_sided = dataclasses.replace(RULES["imagenet"], sides=1)
    for one in found.values():
        value = estimate_threshold(one.bins, rule=one_sided, samples=0).value
        frost = one.bins.transformation == "frost" and one.bins.requirement == "prediction"
        assert value == pytest.approx(0.87 if frost else one.value)


@pytest.mark.parametrize(("rule", "agreeing"), [("released", 5), ("text", 0)])
def test_other_rules_give_other_numbers(real_data: Path, rule: str, agreeing: int) -> None:
    data = read_human(real_data / "human" / "imagenet")
    close = [
        estimate_threshold(one, rule=rule, samples=0).value == pytest.approx(one.published)
        for one in data.bins
        if one.requirement == "correctness"
    ]
    assert sum(close) == agreeing
