from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.coverage import Activations, Layer
from roadworthy.coverage.criteria import (
    BoundaryCoverage,
    MultisectionCoverage,
    StrongActivationCoverage,
    learn_ranges,
)
from roadworthy.errors import InputError

Make = Callable[..., Activations]


def test_sections_by_hand(batch_of: Make) -> None:
    ranges = learn_ranges([batch_of([[0.0, 5.0]]), batch_of([[10.0, 5.0]])])
    coverage = MultisectionCoverage(ranges, sections=4)
    coverage.update(batch_of([[0.0, 5.0], [2.4, 5.0], [7.5, 6.0], [-0.1, 5.0], [10.1, 4.0]]))
    # The second neuron never changed, so it has no sections.
    assert coverage.seen.tolist() == [True, False, False, True, False, False, False, False]


def test_corners_by_hand(batch_of: Make) -> None:
    ranges = learn_ranges([batch_of([[0.0, 5.0], [10.0, 5.0]])])
    coverage = BoundaryCoverage(ranges)
    coverage.update(batch_of([[-0.1, 5.1], [10.0, 5.0]]))
    assert coverage.seen.tolist() == [True, False, False, True]
    strict = BoundaryCoverage(ranges, margin=1.0)  # the first neuron's deviation is 5, the second's 0
    strict.update(batch_of([[-4.9, 4.9], [15.1, 5.0]]))
    assert strict.seen.tolist() == [False, True, True, False]


def test_strong_activation_by_hand(batch_of: Make) -> None:
    ranges = learn_ranges([batch_of([[0.0, 5.0], [10.0, 5.0]])])
    coverage = StrongActivationCoverage(ranges)
    coverage.update(batch_of([[10.0, 5.1], [-9.0, 0.0]]))
    assert coverage.seen.tolist() == [False, True]
    assert StrongActivationCoverage(ranges, margin=2.0).gain(batch_of([[19.9, 5.0]])) == 0.0
    assert StrongActivationCoverage(ranges, margin=2.0).gain(batch_of([[20.1, 5.0]])) == 0.5


def test_the_data_themselves_reach_no_corner(batch_of: Make) -> None:
    batch = batch_of(np.random.default_rng(0).normal(size=(30, 4)).tolist())
    ranges = learn_ranges([batch])
    assert BoundaryCoverage(ranges).gain(batch) == 0
    assert StrongActivationCoverage(ranges).gain(batch) == 0
    assert MultisectionCoverage(ranges, sections=1).gain(batch) == 1


@given(
    rows=st.lists(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2), min_size=2, max_size=12),
    cut=st.integers(1, 11),
    shift=st.sampled_from([0.0, 1e8]),
)
def test_ranges_learned_in_parts_are_those_of_all(rows: list[list[float]], cut: int, shift: float) -> None:
    values = np.array(rows) + shift

    def batch(part: np.ndarray) -> Activations:
        layers = (Layer("a", "dense", 2),)
        return Activations(layers, part, part.min(1, keepdims=True), part.max(1, keepdims=True))

    found = learn_ranges(batch(part) for part in (values[:cut], values[cut:]))
    np.testing.assert_array_equal(found.lows, values.min(axis=0))
    np.testing.assert_array_equal(found.highs, values.max(axis=0))
    np.testing.assert_allclose(found.stds, values.std(axis=0), rtol=1e-6, atol=1e-6)
    assert found.images == len(values)


def test_bad_input(batch_of: Make) -> None:
    with pytest.raises(InputError, match="got no image"):
        learn_ranges([])
    with pytest.raises(InputError, match="different networks"):
        learn_ranges([batch_of([[1.0]]), batch_of([[1.0, 2.0]])])
    ranges = learn_ranges([batch_of([[1.0], [2.0]])])
    with pytest.raises(InputError, match="sections must be 1 or more, got 0"):
        MultisectionCoverage(ranges, sections=0)
    for kind in (BoundaryCoverage, StrongActivationCoverage):
        with pytest.raises(InputError, match="margin must be 0 or more"):
            kind(ranges, margin=-1)
