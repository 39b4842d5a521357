"""One thread for torch, and a network so small that training it takes no time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from roadworthy.models.zoo import architecture
from roadworthy.training import Settings
from roadworthy.training.mutants.training import TrainingMaterial
from roadworthy.training.samples import Samples

torch.set_num_threads(1)


def _samples(count: int, seed: int) -> Samples:
    """Images that are the brighter on one side, the more is steered to it."""
    rng = np.random.default_rng(seed)
    steering = rng.uniform(-3, 3, count)
    slope = np.linspace(-1, 1, 80)
    images = 128 + 30 * steering[:, None, None, None] * slope + rng.normal(0, 5, (count, 3, 66, 80))
    targets = np.stack([steering, 10 - abs(steering)], axis=1)
    return Samples(
        f"made {seed}",
        np.clip(images, 0, 255).astype(np.uint8),
        np.arange(count)[:, None],
        targets.astype(np.float32),
        np.zeros(count, np.int64),
    )


@pytest.fixture(scope="session")
def material() -> TrainingMaterial:
    variant = architecture("dave2").variant(None, {"width": 80, "height": 66, "crop": (0, 0)})
    settings = Settings(
        epochs=2, batch=16, learning_rate=1e-3, mirror=0.0, seed=1, device="cpu", precision="float32"
    )
    return TrainingMaterial(variant, settings, _samples(64, 0), _samples(16, 1))
