from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import gaussian_kde, multivariate_normal

from roadworthy.coverage import Activations
from roadworthy.coverage.criteria import DistanceSurpriseCoverage, LikelihoodSurpriseCoverage, learn_reference
from roadworthy.coverage.criteria.named import Training, parse_criterion
from roadworthy.coverage.criteria.surprise import Density
from roadworthy.errors import InputError

Make = Callable[..., Activations]
RNG = np.random.default_rng(5)
TRAINING = RNG.normal(size=(60, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.3, 0.0, 2.0]])
TESTED = RNG.normal(size=(9, 3)) * 2


def with_answer(make: Make, hidden: np.ndarray, answers: object = None) -> Activations:
    last = (
        np.zeros((len(hidden), 1)) if answers is None else np.asarray(answers, float).reshape(len(hidden), -1)
    )
    return make(hidden.tolist(), last.tolist())


def test_kernels_give_scipys_density(batch_of: Make) -> None:
    reference = learn_reference([with_answer(batch_of, TRAINING)])
    coverage = LikelihoodSurpriseCoverage(reference)
    wanted = -gaussian_kde(TRAINING.T).logpdf(TESTED.T)
    np.testing.assert_allclose(coverage.surprise(with_answer(batch_of, TESTED)), wanted, rtol=1e-3)


def test_buckets_reach_twice_as_far_as_training_data_lie_from_one_another(batch_of: Make) -> None:
    coverage = LikelihoodSurpriseCoverage(learn_reference([with_answer(batch_of, TRAINING)]))
    kernel = multivariate_normal(np.zeros(3), np.cov(TRAINING.T) * 60 ** (-2 / 7))  # Scott's rule
    surprise = [
        -np.log(kernel.pdf(np.delete(TRAINING, place, axis=0) - TRAINING[place]).mean())
        for place in range(60)
    ]
    low, high = min(surprise), max(surprise)
    assert coverage.limits == pytest.approx((low, low + 2 * (high - low)), rel=1e-3)


def test_the_normal_distribution_gives_scipys_density(batch_of: Make) -> None:
    reference = learn_reference([with_answer(batch_of, TRAINING)])
    coverage = LikelihoodSurpriseCoverage(reference, density="gaussian")
    wanted = -multivariate_normal(TRAINING.mean(0), np.cov(TRAINING.T)).logpdf(TESTED)
    np.testing.assert_allclose(coverage.surprise(with_answer(batch_of, TESTED)), wanted, rtol=1e-3)


@pytest.mark.parametrize("density", ["kde", "gaussian"])
def test_a_classifier_is_surprised_at_images_of_the_class_it_gives(density: Density, batch_of: Make) -> None:
    """Kim et al. (2019): per-class LSA takes the training inputs of the same predicted class."""
    near, far = TRAINING, TRAINING[:40] * 0.5 + 30
    hidden = np.concatenate([near, far, TRAINING[:1] - 50])
    classes = np.eye(4)[[0] * len(near) + [1] * len(far) + [2]]
    reference = learn_reference([with_answer(batch_of, hidden, classes)])
    coverage = LikelihoodSurpriseCoverage(reference, density=density, groups="argmax")

    def told(number: int) -> np.ndarray:
        return coverage.surprise(with_answer(batch_of, TESTED, np.tile(np.eye(4)[number], (len(TESTED), 1))))

    for number, members in enumerate((near, far)):
        if density == "kde":
            wanted = -gaussian_kde(members.T).logpdf(TESTED.T)
        else:
            wanted = -multivariate_normal(members.mean(0), np.cov(members.T)).logpdf(TESTED)
        np.testing.assert_allclose(told(number), wanted, rtol=1e-3)
    # One image has no density, and nothing is known of a class that none has.
    assert np.isinf([told(2), told(3)]).all()
    assert coverage.limits[1] < np.inf
    lonely = learn_reference([with_answer(batch_of, TRAINING[:3], np.eye(3))])
    with pytest.raises(InputError, match="no two training images of one class differ"):
        LikelihoodSurpriseCoverage(lonely, groups="argmax")


def test_groups_of_likelihood_are_an_option(batch_of: Make) -> None:
    batch = with_answer(batch_of, TRAINING, TRAINING[:, :1])
    choice = parse_criterion("likelihood-surprise(groups=sign, density=gaussian)")
    made = choice.make(batch.layers, Training(reference=learn_reference([batch])))
    assert isinstance(made, LikelihoodSurpriseCoverage)
    assert (made.groups, made.density) == ("sign", "gaussian")


def test_distance_by_hand(batch_of: Make) -> None:
    hidden = np.array([[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [9.0, 9.0]])
    reference = learn_reference([with_answer(batch_of, hidden, [-0.2, -0.1, 0.0, 1.0])])
    coverage = DistanceSurpriseCoverage(reference, groups="sign")
    # Nearest alike is (0, 0), whose nearest that is answered otherwise is (4, 0).
    found = coverage.surprise(with_answer(batch_of, np.array([[3.0, 0.0], [3.0, 0.0]]), [-0.5, 0.5]))
    np.testing.assert_allclose(found, [3 / 4, 1 / 4])
    plain = DistanceSurpriseCoverage(reference)
    np.testing.assert_allclose(plain.surprise(with_answer(batch_of, np.array([[3.0, 0.0]]))), [1 / 4])


def test_classes_are_the_largest_answer(batch_of: Make) -> None:
    hidden = np.array([[0.0], [1.0], [5.0]])
    answers = [[2.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 0.5]]
    coverage = DistanceSurpriseCoverage(
        learn_reference([with_answer(batch_of, hidden, answers)]), groups="argmax"
    )
    asked = with_answer(batch_of, np.array([[2.0], [2.0], [2.0]]), [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    # No training image has the third class.
    assert coverage.surprise(asked).tolist() == [1 / 4, 3 / 4, np.inf]
    coverage.update(asked.take([2]))
    assert coverage.covered == 0


def test_buckets_by_hand(batch_of: Make) -> None:
    hidden = np.array([[0.0], [1.0]])
    coverage = DistanceSurpriseCoverage(learn_reference([with_answer(batch_of, hidden)]), buckets=4)
    coverage.limits = (0.5, 2.5)
    coverage.update(with_answer(batch_of, np.array([[1.1], [2.9], [3.5], [9.0]])))  # 0.1, 1.9, 2.5, 8
    assert coverage.seen.tolist() == [True, False, True, True]


@pytest.mark.parametrize("density", ["kde", "gaussian"])
def test_training_data_lie_in_the_lower_half(density: str, batch_of: Make) -> None:
    batch = with_answer(batch_of, TRAINING)
    reference = learn_reference([batch])
    for coverage in (
        LikelihoodSurpriseCoverage(reference, density=density, buckets=10),  # type: ignore[arg-type]
        DistanceSurpriseCoverage(reference, buckets=10),
    ):
        coverage.update(batch)
        assert coverage.seen[0]
        assert not coverage.seen[6:].any()
        assert coverage.gain(with_answer(batch_of, TRAINING + 1000)) == 0


def test_dependent_neurons_can_be_used(batch_of: Make) -> None:
    doubled = np.concatenate([TRAINING, TRAINING, TRAINING * 2], axis=1)
    reference = learn_reference([with_answer(batch_of, doubled)])
    for density in ("kde", "gaussian"):
        coverage = LikelihoodSurpriseCoverage(reference, density=density)
        assert np.isfinite(coverage.surprise(with_answer(batch_of, doubled))).all()


def test_the_sample_is_of_fixed_size_and_fair(batch_of: Make) -> None:
    numbers = np.arange(2000.0)[:, None]
    batches = [with_answer(batch_of, part) for part in np.split(numbers, 20)]
    one, two = (learn_reference(batches, size=200, seed=seed) for seed in (0, 1))
    assert one.values.shape == (200, 1)
    assert len(np.unique(one.values)) == 200
    assert not np.array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.values, learn_reference(batches, size=200).values)
    assert one.values.mean() == pytest.approx(1000, abs=150)


def test_layers_are_chosen_by_name(batch_of: Make) -> None:
    batch = with_answer(batch_of, TRAINING, TRAINING[:, :2])
    assert learn_reference([batch]).columns.tolist() == [0, 1, 2]
    assert learn_reference([batch], layers=["layer1"]).columns.tolist() == [3, 4]
    with pytest.raises(InputError, match="there is no layer 'layer9'"):
        learn_reference([batch], layers=["layer9"])


def test_bad_input(batch_of: Make) -> None:
    batch = with_answer(batch_of, TRAINING)
    with pytest.raises(InputError, match="two images of training data or more to learn from, got 1"):
        learn_reference([batch.take([0])])
    with pytest.raises(InputError, match="size must be 2 or more"):
        learn_reference([batch], size=1)
    with pytest.raises(InputError, match="none of the chosen neurons varies"):
        learn_reference([batch], layers=["layer1"])
    with pytest.raises(InputError, match="different networks"):
        learn_reference([batch, batch_of([[1.0]])])
    reference = learn_reference([batch])
    with pytest.raises(InputError, match="answers all training images alike"):
        DistanceSurpriseCoverage(reference, groups="argmax")
    with pytest.raises(InputError, match="groups must be one of argmax, none, sign"):
        DistanceSurpriseCoverage(reference, groups="class")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="density must be one of kde, gaussian"):
        LikelihoodSurpriseCoverage(reference, density="normal")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="buckets must be 1 or more"):
        LikelihoodSurpriseCoverage(reference, buckets=0)
