"""The paper's rule: the decision is its own, batches are what they say, and a baseline is no 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadworthy.errors import InputError
from roadworthy.reliability import Accuracy, Bootstrap, Pairs
from roadworthy.reliability.checking import MeasureEstimate, Reliability, check, z_value
from roadworthy.reliability.scenes import BoxPrecision


def pairs_of(
    before: np.ndarray, after: np.ndarray, *, versions: int = 1, change: np.ndarray | None = None
) -> Pairs:
    """Pairs of a classifier whose answers to originals and changed images are right or not."""
    image = np.repeat(np.arange(len(before)), versions)
    similarity = (after == before[image]).astype(float)
    changes = np.linspace(0, 1, len(after)) if change is None else change
    return Pairs(image, changes, similarity, before.astype(float).tolist(), after.astype(float).tolist())


def test_by_the_papers_rule_a_model_that_nothing_disturbs_holds_however_few_images_there_are() -> None:
    right = np.ones(60)
    for kind in ("correctness", "prediction"):
        found = check(pairs_of(right, right), kind, Accuracy())
        assert (found.distance, found.deviation, found.bound) == (0, 0, 0)
        assert found.satisfied
        assert found.converged


def test_the_example_of_the_paper_is_not_satisfied() -> None:
    """ResNet50 under Gaussian noise: Δm = 0.0045 with σ = 0.0061, Δs = 0.0011 with σ = 0.0045."""
    for distance, deviation in ((0.0045, 0.0061), (0.0011, 0.0045)):
        found = Reliability(
            "correctness", MeasureEstimate(0.99, 0.0),
            MeasureEstimate(0.99 - distance, deviation), z_value(0.95),
            (0, 0), 0.01, None, 100, 100, 200, 50,
        )  # fmt: skip
        assert found.distance == pytest.approx(distance)
        assert found.bound == pytest.approx(distance + 1.645 * deviation, abs=1e-5)
        assert not found.satisfied


@pytest.mark.parametrize(
    ("other", "converged"),
    [
        ((-0.10, -0.05), True),
        ((-0.12, -0.07), True),
        ((-0.125, -0.07), False),  # too far from the first seed
        ((-0.10, 0.01), False),  # as near as can be, and it says the opposite
        ((-0.10, 0.0), True),  # 0 is still within
    ],
)
def test_another_seed_must_be_near_and_decide_alike(other: tuple[float, float], converged: bool) -> None:
    found = Reliability(
        "correctness", MeasureEstimate(0.8, 0.0), MeasureEstimate(0.9, 0.01), z_value(0.95),
        other, 0.02 + 1e-9, None, 100, 100, 200, 50,
    )  # fmt: skip
    assert found.satisfied
    assert found.converged is converged


def test_an_estimate_is_that_of_a_sample_and_leaves_out_what_is_not_known() -> None:
    found = MeasureEstimate.of(np.array([0.1, np.nan, 0.3]))
    assert (found.mean, found.deviation) == pytest.approx((0.2, math.sqrt(0.02)))


def test_the_deviation_is_that_of_the_difference_of_two_independent_batches() -> None:
    found = Reliability(
        "correctness", MeasureEstimate(0.9, 0.03), MeasureEstimate(0.9, 0.04), z_value(0.95),
        (0, 0), 0.01, None, 100, 100, 200, 50,
    )  # fmt: skip
    assert found.deviation == pytest.approx(0.05)
    assert found.bound == pytest.approx(1.645 * 0.05, abs=1e-5)


def test_a_model_that_does_better_on_changed_images_has_some_to_spare() -> None:
    before = np.arange(400) % 2
    found = check(pairs_of(before, np.ones(400)), "correctness", Accuracy())
    assert found.distance == pytest.approx(-0.5, abs=0.02)
    assert found.bound == pytest.approx(-0.5 + 1.645 * math.sqrt(0.25 / 50), abs=0.04)
    assert found.satisfied


def test_the_median_as_epsilon_gives_the_example_of_figure_3() -> None:
    """Six brightened images of three: the first three keep their label, of the others one does not."""
    pairs = Pairs(np.array([0, 1, 2, 0, 1, 2]), np.arange(6) / 10, np.array([1, 1, 1, 1, 0, 1.0]))
    found = check(pairs, "prediction", Accuracy(), Bootstrap(baseline=0.5, batches=4000))
    assert found.epsilon == pytest.approx(0.2)
    assert found.required.mean == 1
    assert found.reached.mean == pytest.approx(5 / 6, abs=0.02)
    assert found.distance == pytest.approx(1 / 6, abs=0.02)


def test_the_baseline_is_the_likeness_under_hardly_any_change_and_not_1() -> None:
    """A model whose answers flicker by chance alone is as reliable as its flicker."""
    rng = np.random.default_rng(1)
    flicker = (rng.random(4000) < 0.8).astype(float)
    pairs = Pairs(np.arange(4000) % 1000, rng.random(4000), flicker)
    found = check(pairs, "prediction", Accuracy(), Bootstrap(batches=2000))
    assert found.required.mean == pytest.approx(0.8, abs=0.06)
    assert abs(found.distance) < 0.06
    assert found.epsilon == pytest.approx(0.05, abs=0.01)


@given(st.floats(0.5, 0.98), st.integers(10, 60), st.integers(0, 1000))
@settings(max_examples=20)
def test_the_deviation_is_that_of_a_batch(share: float, size: int, seed: int) -> None:
    """Of k draws with replacement from a share p, it is √(p (1 - p) / k)."""
    rng = np.random.default_rng(seed)
    after = (rng.random(400) < share).astype(float)
    found = check(
        pairs_of(np.ones(400), after), "correctness", Accuracy(), Bootstrap(batches=3000, images=size)
    )
    mean = after.mean()
    assert found.reached.mean == pytest.approx(mean, abs=0.02)
    assert found.reached.deviation == pytest.approx(math.sqrt(mean * (1 - mean) / size), rel=0.15)
    assert found.required == MeasureEstimate(1.0, 0.0)


def test_two_seeds_agree_when_there_are_enough_batches() -> None:
    rng = np.random.default_rng(3)
    after = (rng.random(200) < 0.7).astype(float)
    pairs = pairs_of(np.ones(200), after)
    assert check(pairs, "correctness", Accuracy(), Bootstrap(batches=4000)).converged
    few = [
        check(pairs, "correctness", Accuracy(), Bootstrap(batches=2, images=5, seed=seed)).converged
        for seed in range(10)
    ]
    assert not all(few)


def test_the_same_seed_draws_the_same_batches() -> None:
    rng = np.random.default_rng(4)
    pairs = pairs_of(np.ones(80), (rng.random(80) < 0.7).astype(float))
    one, same, other = (check(pairs, "correctness", Accuracy(), Bootstrap(seed=seed)) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_a_drawn_image_comes_with_one_of_its_own_changed_versions() -> None:
    rng = np.random.default_rng(0)
    image = rng.permutation(np.repeat(np.arange(7), [1, 2, 3, 1, 5, 2, 1]))
    pairs = Pairs(image, np.zeros(15), np.zeros(15))
    drawn = rng.integers(0, 7, (50, 40))
    chosen = pairs.drawn(drawn, rng)
    np.testing.assert_array_equal(image[chosen], drawn)
    assert set(chosen.ravel()) == set(range(15))


def test_precision_is_measured_batch_by_batch_and_empty_batches_do_not_count() -> None:
    seen, lost, nothing = '{"vehicle":[1,[0.9,true]]}', '{"vehicle":[1]}', "{}"
    before = [seen] * 4 + [nothing] * 36
    after = [seen, seen, lost, lost] + [nothing] * 36
    pairs = Pairs(np.arange(40), np.linspace(0, 1, 40), np.ones(40), before, after)
    found = check(pairs, "correctness", BoxPrecision(), Bootstrap(batches=400, images=10))
    assert found.required.mean == 1
    assert found.reached.mean == pytest.approx(0.5, abs=0.08)
    empty = Pairs(np.arange(40), np.linspace(0, 1, 40), np.ones(40), [nothing] * 40, [nothing] * 40)
    with pytest.raises(InputError, match="there is nothing to find in them"):
        check(empty, "correctness", BoxPrecision())


def test_too_few_images_are_refused() -> None:
    pairs = pairs_of(np.ones(12), np.ones(12))
    assert check(pairs, "correctness", Accuracy()).batch == 12
    with pytest.raises(InputError, match="a batch of 50 images needs at least as many, got 12"):
        check(pairs, "correctness", Accuracy(), Bootstrap(images=50))
    with pytest.raises(InputError, match="at least 2 images that count, got 1"):
        check(pairs_of(np.ones(1), np.ones(1)), "correctness", Accuracy())
    with pytest.raises(InputError, match="at least 2 images that count, got 0"):
        check(Pairs(np.zeros(0, np.intp), np.zeros(0), np.zeros(0)), "prediction", Accuracy())


def test_correctness_needs_the_truth_and_prediction_does_not() -> None:
    pairs = Pairs(np.arange(10), np.linspace(0, 1, 10), np.ones(10))
    assert check(pairs, "prediction", Accuracy()).satisfied
    with pytest.raises(InputError, match="where the truth is known, and no image tells it"):
        check(pairs, "correctness", Accuracy())


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"batches": 1}, "batches must be 2 or more"),
        ({"images": 0}, "images in a batch must be 1 or more"),
        ({"confidence": 1.0}, "confidence must be between 0 and 1"),
        ({"baseline": 0.0}, "baseline must be between 0 and 1"),
        ({"similar": 0.0}, "similar must be above 0"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(settings_: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Bootstrap(**settings_)  # type: ignore[arg-type]


def test_how_the_range_was_covered_is_told() -> None:
    changes = np.repeat([0.05, 0.45], 10)
    found = check(pairs_of(np.ones(20), np.ones(20), change=changes), "correctness", Accuracy(), limit=0.5)
    assert found.spread == (0, 10, 0, 0, 0, 0, 0, 0, 0, 10)
