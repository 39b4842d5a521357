"""Faults in training data: how much of what they change, and what they leave alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadworthy.errors import InputError
from roadworthy.training.mutants.faults import changed_samples, kinds_of
from roadworthy.training.mutants.operators import TrainingMutation
from roadworthy.training.samples import Samples


def samples(count: int = 400, seed: int = 0) -> Samples:
    rng = np.random.default_rng(seed)
    return Samples(
        "made",
        rng.integers(0, 256, (count, 3, 6, 8), np.uint8),
        np.arange(count)[:, None],
        rng.normal([0.0, 12.0], [2.0, 3.0], (count, 2)).astype(np.float32),
        np.zeros(count, np.int64),
    )


def changed(operator: str, value: float, seed: int = 0) -> Samples:
    return changed_samples(samples(), TrainingMutation(operator, value=value, seed=seed))


@pytest.mark.parametrize("operator", ["TCL", "TRD", "TUD", "TAN", "TCO"])
def test_nothing_of_a_fault_is_no_fault(operator: str) -> None:
    assert changed(operator, 0.0).sha256 == samples().sha256


@pytest.mark.parametrize("operator", ["TCL", "TRD", "TUD", "TAN", "TCO"])
def test_the_same_seed_makes_the_same_fault_and_leaves_the_data_alone(operator: str) -> None:
    data = samples()
    before = data.sha256
    one, two = (changed_samples(data, TrainingMutation(operator, value=60.0)) for _ in range(2))
    assert one.sha256 == two.sha256 != before
    assert samples().sha256 == before
    assert changed(operator, 60.0, seed=1).sha256 != one.sha256


def test_kinds_are_nine_for_two_signals() -> None:
    targets = np.array([[x, y] for x in (-5.0, 0.0, 5.0) for y in (7.0, 12.0, 17.0)])
    assert kinds_of(targets).tolist() == list(range(9))


def test_labels_get_noise_in_percent_of_their_spread() -> None:
    data = samples()
    noise = changed("TCL", 50.0).targets - data.targets
    assert noise.std(axis=0) == pytest.approx(0.5 * data.targets.std(axis=0), rel=0.1)


@settings(max_examples=20, deadline=None)
@given(percent=st.floats(1, 99), seed=st.integers(0, 99))
def test_every_kind_loses_its_share(percent: float, seed: int) -> None:
    data, left = samples(), changed("TRD", percent, seed)
    for kind, count in zip(*np.unique(kinds_of(data.targets), return_counts=True), strict=True):
        # Kinds are told by the spread of the whole data, so the samples are found again by their image.
        kept = {one.tobytes() for one in left.images}
        own = data.images[kinds_of(data.targets) == kind]
        assert sum(one.tobytes() in kept for one in own) == count - int(percent / 100 * count)


def test_unbalancing_takes_from_rare_kinds_alone() -> None:
    data, left = samples(), changed("TUD", 100.0)
    kinds, counts = np.unique(kinds_of(data.targets), return_counts=True)
    frequent = counts[counts >= counts.mean()].sum()
    assert 0 < len(left) == frequent < len(data)
    assert len(kinds) == 9


def test_kinds_as_frequent_as_the_average_are_not_rare() -> None:
    data = samples(9)
    data.targets[:] = np.repeat([[-5.0, 12.0], [0.0, 12.0], [5.0, 12.0]], 3, axis=0)
    assert len(changed_samples(data, TrainingMutation("TUD", value=100.0))) == 9


def test_noise_comes_into_so_many_images_and_so_strong() -> None:
    data, noisy = samples(), changed("TAN", 25.0)
    differs = (noisy.images != data.images).any(axis=(1, 2, 3))
    assert differs.sum() == 100
    error = noisy.images[differs].astype(float) - data.images[differs]
    # Clipping at black and white takes some of it away.
    assert 0.7 < error.std() / (0.25 * data.images.std()) < 1.05


def test_repeated_samples_get_labels_of_the_second_kind() -> None:
    data, overlapping = samples(), changed("TCO", 40.0)
    kinds = kinds_of(data.targets)
    numbers, counts = np.unique(kinds, return_counts=True)
    first, second = numbers[np.argsort(-counts, kind="stable")[:2]]
    added = len(overlapping) - len(data)
    assert added == int(0.4 * counts.max())
    assert (kinds[overlapping.windows[len(data) :, 0]] == first).all()
    allowed = {tuple(one) for one in data.targets[kinds == second].tolist()}
    assert {tuple(one) for one in overlapping.targets[len(data) :].tolist()} <= allowed


def test_more_of_a_fault_holds_less_of_it() -> None:
    """A search needs that: what a smaller value removes, a larger one removes too."""
    small, large = changed("TRD", 20.0), changed("TRD", 70.0)
    kept = {one.tobytes() for one in small.images}
    assert all(one.tobytes() in kept for one in large.images)


def test_no_percentage_and_nothing_left_are_refused() -> None:
    with pytest.raises(InputError, match="percentage from 0 to 100, got 120"):
        changed("TRD", 120.0)
    with pytest.raises(InputError, match="leaves nothing to learn from"):
        changed("TRD", 100.0)
    alike = samples()
    alike.targets[:] = 1.0
    with pytest.raises(InputError, match="two kinds"):
        changed_samples(alike, TrainingMutation("TCO", value=10.0))
