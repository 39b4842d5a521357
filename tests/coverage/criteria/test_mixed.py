from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.coverage import Activations, Layer
from roadworthy.coverage.criteria import Criterion, NeuronCoverage, TopKCoverage, parse_mixture
from roadworthy.coverage.criteria.named import Mixed
from roadworthy.errors import InputError

LAYERS = (Layer("dense", "dense", 4),)


def batch(*rows: list[float]) -> Activations:
    values = np.array(rows, np.float64).reshape(-1, 4)
    return Activations(LAYERS, values, values.min(axis=1)[:, None], values.max(axis=1)[:, None])


def mix() -> Mixed:
    return Mixed([NeuronCoverage(LAYERS), TopKCoverage(LAYERS, k=1)], [3, 1])


def test_it_is_the_weighted_mean_of_its_parts() -> None:
    mixed: Criterion = mix()
    # 1, 2 and 4 are above a fifth of 4; the most active is the last.
    shown = batch([0.0, 1.0, 2.0, 4.0])
    assert mixed.gain(shown) == pytest.approx(0.75 * 3 / 4 + 0.25 * 1 / 4)
    mixed.update(shown)
    assert (mixed.value, mixed.covered, mixed.total) == (0.625, 4, 8)
    assert mixed.gain(shown) == 0


ROWS = st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=4, max_size=4), max_size=5)


@given(ROWS, ROWS)
def test_merging_is_doing_it_in_one_go_and_gains_are_differences(
    first: list[list[float]], second: list[list[float]]
) -> None:
    one, two, both = mix(), mix(), mix()
    one.update(batch(*first))
    two.update(batch(*second))
    both.update(batch(*first, *second))
    before = one.value
    gain = one.gain(batch(*second))
    gains = one.gains(batch(*second))
    assert one.value == before
    assert all(0 <= single <= gain + 1e-12 for single in gains)
    one.merge(two)
    assert one.value == both.value
    assert one.value - before == pytest.approx(gain)
    assert pickle.loads(pickle.dumps(one)).value == one.value


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: Mixed([NeuronCoverage(LAYERS)]), "same criteria"),
        (lambda: NeuronCoverage(LAYERS), "same criteria"),
        (lambda: Mixed([NeuronCoverage(LAYERS), TopKCoverage(LAYERS, k=1)]), "weights"),
        (lambda: Mixed([NeuronCoverage(LAYERS), TopKCoverage(LAYERS, k=2)], [3, 1]), "differ in k"),
    ],
)
def test_what_cannot_be_merged_changes_nothing(other: Callable[[], Any], message: str) -> None:
    mixed, theirs = mix(), other()
    theirs.update(batch([0.0, 1.0, 2.0, 4.0]))
    with pytest.raises(InputError, match=message):
        mixed.merge(theirs)
    assert mixed.value == 0


@pytest.mark.parametrize(
    ("parts", "weights", "message"),
    [
        ([], None, "a weight for each criterion"),
        (1, [1, 2], "a weight for each criterion"),
        (1, [0], "above 0"),
        (1, [np.nan], "above 0"),
    ],
)
def test_refuses_weights_that_make_no_sense(parts: Any, weights: Any, message: str) -> None:
    given = [NeuronCoverage(LAYERS)] * parts if isinstance(parts, int) else parts
    with pytest.raises(InputError, match=message):
        Mixed(given, weights)


def test_a_mix_is_read_from_text() -> None:
    mixture = parse_mixture("0.7*neuron(threshold=0.5) + 0.3 * boundary")
    assert str(mixture) == "0.7*neuron(threshold=0.5) + 0.3*boundary"
    assert mixture.needs == {"layers", "ranges"}
    with pytest.raises(InputError, match="training data"):
        mixture.make(LAYERS)
    single = parse_mixture("neuron").make(LAYERS)
    assert isinstance(single, NeuronCoverage)
    several = parse_mixture("2*neuron + top-k").make(LAYERS)
    assert isinstance(several, Mixed)
    assert several.weights == pytest.approx([2 / 3, 1 / 3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("neurn", "did you mean 'neuron'"),
        ("x*neuron", "cannot read the weight 'x'"),
        ("-1*neuron", "cannot read the weight '-1'"),
        ("0*neuron + top-k", "cannot read the weight '0'"),
        ("neuron +", "cannot read the criterion"),
    ],
)
def test_a_mix_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_mixture(text)
