"""One thread for torch, and the one way in which the tests train a network for a moment.

More threads only get in each other's way where several tests run at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from roadworthy.frames import Frame
from roadworthy.models.zoo import Variant
from roadworthy.training.tasks import task_for

torch.set_num_threads(1)

Learned = tuple[torch.nn.Module, list[float]]


@pytest.fixture
def learned_by_heart() -> Callable[..., Learned]:
    """Trains a network on a handful of frames; returns it in evaluation mode, and its losses."""

    def learn(variant: Variant, frames: Sequence[Frame], *, rate: float, steps: int) -> Learned:
        task, taken = task_for(variant), variant.spec.input
        views = [taken.view(frame) for frame in frames]
        images = torch.from_numpy(taken.tensor(views))
        targets = torch.from_numpy(np.stack([task.target(view) for view in views]))
        module = variant.build(seed=0)
        optimizer = torch.optim.Adam(module.parameters())
        losses = []
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = rate * (1 - step / steps)
            value = task.loss(module, module(images), targets)
            optimizer.zero_grad()
            torch.autograd.backward(value)
            optimizer.step()
            losses.append(value.item())
        return module.eval(), losses

    return learn
