from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from roadworthy.coverage import Activations
from roadworthy.coverage.criteria import TopKCoverage, TopKPatterns
from roadworthy.errors import InputError

Make = Callable[..., Activations]


def test_the_most_active_of_each_layer(batch_of: Make) -> None:
    batch = batch_of([[1.0, 3.0, 2.0]], [[-1.0, -2.0]])
    coverage = TopKCoverage(batch.layers, k=1)
    coverage.update(batch)
    assert coverage.seen.tolist() == [False, True, False, True, False]
    coverage = TopKCoverage(batch.layers, k=2)
    coverage.update(batch)
    assert coverage.seen.tolist() == [False, True, True, True, True]


def test_a_constant_layer_has_no_most_active_neurons(batch_of: Make) -> None:
    batch = batch_of([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    coverage = TopKCoverage(batch.layers, k=1)
    coverage.update(batch)
    assert coverage.seen.tolist() == [True, False, False]
    assert TopKPatterns(batch.layers, k=1).gains(batch).round(9).tolist() == [0.0, round(1 / 65536, 9)]


def test_patterns_are_sets_over_all_layers(batch_of: Make) -> None:
    batch = batch_of(
        [[3.0, 2.0, 1.0], [2.0, 3.0, 1.0], [3.0, 2.0, 1.0], [1.0, 2.0, 3.0]],
        [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]],
    )
    coverage = TopKPatterns(batch.layers, k=2)
    coverage.update(batch.take([0, 1]))
    assert coverage.covered == 1, "the same two neurons"
    coverage.update(batch.take([2]))
    assert coverage.covered == 1, "both of the second layer's two are among its two most active"
    coverage.update(batch.take([3]))
    assert coverage.covered == 2
    single = TopKPatterns(batch.layers, k=1)
    single.update(batch)
    assert single.covered == 4


def test_the_number_of_patterns_is_estimated(batch_of: Make) -> None:
    values = np.random.default_rng(0).normal(size=(3000, 40))
    batch = batch_of(values.tolist())
    true = len({tuple(sorted(np.argsort(-row)[:3])) for row in values})
    coverage = TopKPatterns(batch.layers, k=3, buckets=4096)
    coverage.update(batch)
    assert coverage.covered < true, "some share a bucket"
    assert coverage.patterns == pytest.approx(true, rel=0.04)
    full = TopKPatterns(batch.layers, k=3, buckets=1)
    full.update(batch)
    assert full.patterns == np.inf


def test_bad_arguments(batch_of: Make) -> None:
    layers = batch_of([[1.0]]).layers
    for kind in (TopKCoverage, TopKPatterns):
        with pytest.raises(InputError, match="k must be 1 or more, got 0"):
            kind(layers, k=0)
    with pytest.raises(InputError, match="buckets must be 1 or more"):
        TopKPatterns(layers, buckets=0)
