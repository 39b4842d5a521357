from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from roadworthy.coverage import Activations, recorder
from roadworthy.coverage.activations import Counting
from roadworthy.coverage.criteria import NeuronCoverage
from roadworthy.errors import InputError
from roadworthy.models.zoo import architecture

Make = Callable[..., Activations]


def test_scaling_within_a_layer_for_each_image(batch_of: Make) -> None:
    batch = batch_of([[0.0, 1.9, 2.1, 10.0]], [[5.0, 6.0]])
    coverage = NeuronCoverage(batch.layers)
    coverage.update(batch)
    assert coverage.seen.tolist() == [False, False, True, True, False, True]
    assert (coverage.covered, coverage.total) == (3, 6)
    assert coverage.value == 0.5


def test_the_threshold_itself_is_not_above_it(batch_of: Make) -> None:
    batch = batch_of([[0.0, 1.0, 4.0]])
    coverage = NeuronCoverage(batch.layers, threshold=0.25)
    coverage.update(batch)
    assert coverage.seen.tolist() == [False, False, True]


def test_a_constant_layer_covers_nothing(batch_of: Make) -> None:
    batch = batch_of([[7.0, 7.0]], [[0.0, 1.0]])
    for threshold in (0.2, -1.0):
        coverage = NeuronCoverage(batch.layers, threshold=threshold)
        coverage.update(batch)
        assert not coverage.seen[:2].any()


def test_a_feature_map_is_scaled_before_it_is_averaged() -> None:
    """The layer gives 0 to 10, its channels have the means 1 and 5.05: scaled, that is 0.1 and 0.505."""
    module = nn.Conv2d(2, 2, 1, bias=False)
    with torch.no_grad():
        module.weight.copy_(torch.eye(2).reshape(2, 2, 1, 1))
    images = np.array([[[[0.0, 2.0]], [[0.1, 10.0]]]], np.float32)
    _, found = recorder(module).run(images)
    before, after, without = (
        NeuronCoverage(found.layers, threshold=0.2, scaling=one) for one in ("outputs", "neurons", "none")
    )
    for one in (before, after, without):
        one.update(found)
    assert before.seen.tolist() == [False, True]
    assert after.seen.tolist() == [False, True]
    assert without.seen.tolist() == [True, True]
    # The least mean is 0 after averaging, and 0.1 before.
    assert NeuronCoverage(found.layers, threshold=0.09).gain(found) == 1.0
    assert NeuronCoverage(found.layers, threshold=0.09, scaling="neurons").gain(found) == 0.5


def test_an_lstm_in_both_countings() -> None:
    class Passing(nn.Module):
        """An LSTM whose output at each step is about tanh(tanh(x)): nothing is remembered."""

        def __init__(self) -> None:
            super().__init__()
            self.memory = nn.LSTM(2, 2, batch_first=True)
            with torch.no_grad():
                for name, one in self.memory.named_parameters():
                    one.zero_()
                    if name == "weight_ih_l0":
                        one[4:6] = torch.eye(2)
                    if name == "bias_ih_l0":
                        one.copy_(torch.tensor([50.0, 50, -50, -50, 0, 0, 50, 50]))

        def forward(self, steps: torch.Tensor) -> torch.Tensor:
            return self.memory(steps)[0]  # type: ignore[no-any-return]

    steps = np.array([[[0.0, 3.0], [0.0, 0.1], [3.0, 0.0]]], np.float32)
    top, small = (math.tanh(math.tanh(one)) for one in (3.0, 0.1))
    _, unrolled = recorder(Passing()).run(steps)
    np.testing.assert_allclose(unrolled.values, [[0, top, 0, small, top, 0]], atol=1e-6)
    coverage = NeuronCoverage(unrolled.layers)
    coverage.update(unrolled)
    assert coverage.seen.tolist() == [False, True, False, False, True, False]
    # The public code averages each unit over its steps, in a layer that goes from 0 to top.
    _, averaged = recorder(Passing(), Counting(unrolled=False)).run(steps)
    coverage = NeuronCoverage(averaged.layers, threshold=0.34)
    coverage.update(averaged)
    assert (top + small) / 3 / top > 0.34 > 1 / 3
    assert coverage.seen.tolist() == [False, True]


def public_code(outputs: list[np.ndarray], threshold: float) -> set[tuple[int, int]]:
    """What DeepTest's public code marks for one image, written down again, channels last."""
    covered = set()
    for number, output in enumerate(outputs):
        spread = output.max() - output.min()
        scaled = (output - output.min()) / spread if spread else np.zeros_like(output)
        for neuron in range(scaled.shape[-1]):
            if np.mean(scaled[..., neuron]) > threshold:
                covered.add((number, neuron))
    return covered


def test_epoch_is_covered_as_by_the_public_code() -> None:
    variant = architecture("epoch").variant(["steering"], {"width": 32, "height": 16})
    module = variant.build().eval()
    layers = [*module.features, *module.dense]  # type: ignore[misc]
    # Where a layer of Keras ends: the input, convolutions and dense layers with their ReLU, and dropout.
    ends = [0, 2, 4, 6, 8, 10, 12, 15, 16, 17]
    rng = np.random.default_rng(3)
    for _ in range(3):
        images = rng.random((1, 3, 16, 32), np.float32)
        outputs = []
        for end in ends:
            with torch.no_grad():
                output = nn.Sequential(*layers[:end])(torch.from_numpy(images))[0].numpy()
            outputs.append(np.moveaxis(output, 0, -1))
        wanted = public_code(outputs, 0.2)
        _, found = recorder(module, "deeptest").run(images)
        coverage = NeuronCoverage(found.layers)
        coverage.update(found)
        marked = {
            (number, int(neuron))
            for number, where in enumerate(found.slices)
            for neuron in np.flatnonzero(coverage.seen[where])
        }
        assert marked == wanted
        assert 0 < len(wanted) < coverage.total == 2500


def test_bad_arguments(batch_of: Make) -> None:
    layers = batch_of([[1.0]]).layers
    with pytest.raises(InputError, match="threshold must be a number"):
        NeuronCoverage(layers, threshold=math.nan)
    with pytest.raises(InputError, match="threshold must be below 1, got 1"):
        NeuronCoverage(layers, threshold=1)
    assert NeuronCoverage(layers, threshold=1, scaling="none").threshold == 1
    with pytest.raises(InputError, match="scaling must be one of outputs, neurons, none"):
        NeuronCoverage(layers, scaling="layer")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs layers with neurons"):
        NeuronCoverage(())
