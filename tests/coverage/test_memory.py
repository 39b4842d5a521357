"""Coverage of more images takes no more memory."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from torch import nn

from roadworthy.coverage import recorder
from roadworthy.coverage.criteria import learn_ranges, learn_reference
from roadworthy.coverage.criteria.named import CRITERIA, Training, parse_criterion

BATCH = 20


@pytest.fixture
def network() -> nn.Module:
    layers = [nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 512), nn.Linear(512, 1)]
    return nn.Sequential(*layers)


def test_memory_does_not_grow_with_the_number_of_images(network: nn.Module) -> None:
    images = np.random.default_rng(0).random((BATCH, 3, 16, 16), np.float32)
    watched = recorder(network)

    def batch(number: int):  # type: ignore[no-untyped-def]
        return watched.run(images * np.float32(1 + number / 100))[1]

    first = [batch(0), batch(1)]
    training = Training(learn_ranges(first), learn_reference(first))
    peaks, sizes = [], []
    for count in (200, 2000):
        criteria = [parse_criterion(name).make(first[0].layers, training) for name in CRITERIA]
        tracemalloc.start()
        for number in range(count // BATCH):
            activations = batch(number)
            for one in criteria:
                one.update(activations)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        sizes.append([len(pickle.dumps(one)) for one in criteria])
    # To keep a number per neuron of 1800 images takes 3.7 MB; Python's own free lists take some kB.
    assert peaks[1] - peaks[0] < 0.5e6
    assert sizes[0] == sizes[1]
