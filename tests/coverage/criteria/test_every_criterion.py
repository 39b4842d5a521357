"""What holds for every criterion: merging, gains, order, fixed memory, refusals."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from roadworthy.coverage import Activations, Layer
from roadworthy.coverage.criteria import (
    BoundaryCoverage,
    Cells,
    Criterion,
    DistanceSurpriseCoverage,
    LikelihoodSurpriseCoverage,
    MultisectionCoverage,
    NeuronCoverage,
    StrongActivationCoverage,
    TopKCoverage,
    TopKPatterns,
    learn_ranges,
    learn_reference,
)
from roadworthy.errors import InputError

LAYERS = (Layer("conv", "conv", 3), Layer("dense", "dense", 4), Layer("answer", "dense", 1))


def activations(values: NDArray[np.float64], layers: tuple[Layer, ...] = LAYERS) -> Activations:
    ends = np.cumsum([layer.neurons for layer in layers])[:-1]
    parts = np.split(values, ends, axis=1)
    lows = np.stack([part.min(axis=1) for part in parts], axis=1)
    highs = np.stack([part.max(axis=1) for part in parts], axis=1)
    return Activations(layers, values, lows - 0.5, highs + 0.5)


TRAINING = activations(np.random.default_rng(1).normal(size=(40, 8)))
RANGES = learn_ranges([TRAINING])
REFERENCE = learn_reference([TRAINING], size=20)
CRITERIA: dict[str, Callable[[], Cells]] = {
    "neuron": lambda: NeuronCoverage(LAYERS),
    "neuron of means": lambda: NeuronCoverage(LAYERS, scaling="neurons"),
    "multisection": lambda: MultisectionCoverage(RANGES, sections=7),
    "boundary": lambda: BoundaryCoverage(RANGES, margin=0.1),
    "strong activation": lambda: StrongActivationCoverage(RANGES),
    "top k": lambda: TopKCoverage(LAYERS, k=2),
    "top-k patterns": lambda: TopKPatterns(LAYERS, k=2, buckets=50),
    "kernels": lambda: LikelihoodSurpriseCoverage(REFERENCE, buckets=20),
    "gaussian": lambda: LikelihoodSurpriseCoverage(REFERENCE, density="gaussian", buckets=20),
    "distance": lambda: DistanceSurpriseCoverage(REFERENCE, buckets=20),
    "distance in groups": lambda: DistanceSurpriseCoverage(REFERENCE, groups="sign", buckets=20),
}
EVERY = pytest.mark.parametrize("name", CRITERIA)
# Few numbers, so that ties, constant layers and equal images occur.
NUMBERS = st.sampled_from([-3.0, -1.0, -0.25, 0.0, 0.25, 0.5, 1.0, 2.0, 4.0])
IMAGES = st.lists(st.lists(NUMBERS, min_size=8, max_size=8), min_size=1, max_size=6)


@EVERY
@given(images=IMAGES, cut=st.integers(0, 6))
def test_merging_is_as_if_one_had_seen_all(name: str, images: list[list[float]], cut: int) -> None:
    values = np.array(images)
    whole, one, two = (CRITERIA[name]() for _ in range(3))
    whole.update(activations(values))
    for criterion, part in ((one, values[:cut]), (two, values[cut:])):
        if len(part):
            criterion.update(activations(part))
    one.merge(two)
    assert one.value == whole.value
    assert np.array_equal(one.seen, whole.seen)


@EVERY
@given(first=IMAGES, second=IMAGES)
def test_gain_is_value_after_minus_value_before(
    name: str, first: list[list[float]], second: list[list[float]]
) -> None:
    criterion = CRITERIA[name]()
    criterion.update(activations(np.array(first)))
    before, batch = criterion.value, activations(np.array(second))
    gain, gains = criterion.gain(batch), criterion.gains(batch)
    assert criterion.value == before, "asking changes nothing"
    for number in range(len(batch)):
        assert gains[number] == criterion.gain(batch.take([number]))
    criterion.update(batch)
    assert gain == criterion.value - before
    assert criterion.gain(batch) == 0
    assert gains.max() <= gain + 1e-12 <= gains.sum() + 2e-12


@EVERY
@given(images=IMAGES, seed=st.integers(0, 99))
def test_neither_order_nor_batches_matter(name: str, images: list[list[float]], seed: int) -> None:
    values = np.array(images)
    one, two = CRITERIA[name](), CRITERIA[name]()
    one.update(activations(values))
    for row in np.random.default_rng(seed).permutation(values):
        two.update(activations(row[None]))
    assert np.array_equal(one.seen, two.seen)


@EVERY
def test_memory_does_not_grow_and_travels(name: str) -> None:
    criterion: Criterion = CRITERIA[name]()
    size = len(pickle.dumps(criterion))
    rng = np.random.default_rng(0)
    for _ in range(5):
        criterion.update(activations(rng.normal(size=(200, 8))))
    assert 0 < criterion.covered <= criterion.total
    again = pickle.loads(pickle.dumps(criterion))
    assert len(pickle.dumps(criterion)) <= size + 100
    assert again.value == criterion.value
    again.merge(criterion)
    assert again.value == criterion.value


@EVERY
def test_an_empty_batch_covers_nothing(name: str) -> None:
    criterion = CRITERIA[name]()
    nothing = TRAINING.take([])
    criterion.update(nothing)
    assert criterion.value == 0
    assert criterion.gain(nothing) == 0
    assert len(criterion.gains(nothing)) == 0


@EVERY
def test_activations_of_another_network_are_refused(name: str) -> None:
    criterion = CRITERIA[name]()
    other = activations(np.zeros((1, 2)), (Layer("other", "dense", 2),))
    for ask in (criterion.update, criterion.gain, criterion.gains):
        with pytest.raises(InputError, match="use one for each network"):
            ask(other)


@pytest.mark.parametrize(
    ("one", "two", "complaint"),
    [
        (
            NeuronCoverage(LAYERS),
            TopKCoverage(LAYERS),
            r"cannot merge TopKCoverage\(.*\) into NeuronCoverage",
        ),
        (NeuronCoverage(LAYERS), NeuronCoverage(LAYERS[:2]), "of the same kind, network and counting"),
        (NeuronCoverage(LAYERS), NeuronCoverage(LAYERS, threshold=0.3), "differ in threshold"),
        (TopKCoverage(LAYERS), TopKCoverage(LAYERS, k=1), "differ in k"),
        (MultisectionCoverage(RANGES), MultisectionCoverage(RANGES, sections=9), "differ in sections"),
        (
            BoundaryCoverage(RANGES),
            BoundaryCoverage(learn_ranges([TRAINING.take([0, 1])])),
            "differ in ranges.lows",
        ),
    ],
)
def test_what_measures_something_else_is_not_merged(one: Cells, two: Cells, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        one.merge(two)
